import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.random_networks import streams
from timesurf.errors import EventError
from timesurf.events import MOST_ENTRIES, Recordings


def three():
    return Recordings(
        [[0, 1, 2, 3, 0, 1], [0, 0, 1, 1, 0, 1]],
        t=[5, 5, 9, 0, 2, 7],
        p=[0, 1, 1, 0, 0, 1],
        offsets=[0, 3, 3, 6],
        field=(4, 2),
        polarities=2,
        labels=["a", "b", "a"],
    )


def fields(recordings):
    return [*recordings.coords, recordings.t, recordings.p, recordings.offsets]


def test_arrays_are_taken_without_a_copy():
    x, t, p = np.zeros(5, np.uint8), np.arange(5, dtype=np.uint32), np.zeros(5, bool)
    recordings = Recordings([x], t, p, field=(1,), polarities=2)
    assert np.shares_memory(recordings.t, t)
    assert np.shares_memory(recordings.coords[0], x)
    assert np.shares_memory(recordings.p, p)


def test_selecting_recordings_copies_no_event():
    all_ = three()
    chosen = all_[[2, 0]]
    assert np.shares_memory(chosen._t, all_._t)
    assert chosen.t.tolist() == [0, 2, 7, 5, 5, 9]
    assert chosen.labels.tolist() == ["a", "a"]
    assert chosen.offsets.tolist() == [0, 3, 6]


@pytest.mark.parametrize("key", [1, -2, slice(1, 2), [1], np.array([1]), np.array([False, True, False])])
def test_every_way_to_select_one_recording(key):
    assert len(three()[key]) == 1
    assert three()[key].labels.tolist() == ["b"]
    assert three()[key, ...].labels.tolist() == ["b"]


def test_no_recordings_is_a_selection_too():
    assert len(three()[[]]) == 0
    assert len(three()[[]].t) == 0


@given(recordings=streams((3, 4), 2))
def test_structured_arrays_and_back(recordings):
    again = Recordings.from_structured(recordings.to_structured(), field=(3, 4), polarities=2)
    for one, other in zip(fields(again), fields(recordings), strict=True):
        np.testing.assert_array_equal(one, other)


def test_one_structured_array_is_used_without_a_copy():
    events = np.zeros(4, dtype=[("x", "i2"), ("t", "i8"), ("p", "?")])
    assert np.shares_memory(Recordings.from_structured([events]).t, events)


@given(recordings=streams((3, 4), 2), data=st.data())
def test_entries_are_ravelled_coordinates(recordings, data):
    expected = np.ravel_multi_index((*recordings.coords, recordings.p), (3, 4, 2))
    np.testing.assert_array_equal(recordings.entries(), expected)


def test_sorting_keeps_the_order_of_equal_times():
    recordings = Recordings([[0, 1, 2, 3]], t=[5, 3, 5, 1], offsets=[0, 3, 4], field=(4,), sort=True)
    assert recordings.coords[0].tolist() == [1, 0, 2, 3]


def test_a_recording_may_begin_before_the_last_one_ended():
    Recordings([[0, 0]], t=[9, 1], offsets=[0, 1, 2], field=(1,))


def test_errors_name_the_recording_and_the_event():
    with pytest.raises(EventError, match=r"recording 2, event 1: time 2 us comes before 7 us(?s:.*)sort=True"):
        Recordings([np.zeros(5, int)], t=[1, 2, 3, 7, 2], offsets=[0, 2, 3, 5], field=(1,))
    with pytest.raises(EventError, match=r"recording 1, event 0: y = 2 is off the field \(0 to 1\)"):
        Recordings([[0, 0], [1, 2]], t=[0, 0], offsets=[0, 1, 2], field=(1, 2))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"t": [3, 2, 4]}, "time 2 us comes before 3 us"),
        ({"t": [-1, 2, 4]}, "time -1 us is negative"),
        ({"t": [0, 2, 2**62]}, "beyond 2.*62 us"),
        ({"t": [0.0, 1.0, 2.0]}, "t has dtype float64: integers"),
        ({"t": [0.0, np.nan, 2.0]}, "holds NaN"),
        ({"t": [0, 1]}, "x has 3 values but t has 2|p has"),
        ({"coords": [[0, 1, 5]]}, "x = 5 is off the field"),
        ({"coords": [[0, -1, 2]]}, "x = -1 is off the field"),
        ({"coords": [[0, 1, 2], [0, 0, 0]]}, "2 coordinates for a field .*one size per coordinate"),
        ({"coords": [[[0, 1, 2]]]}, "shape"),
        ({"p": [0, 1, 0]}, "polarity 1 is not one of the 1"),
        ({"p": ["a", "b", "c"]}, "p has dtype"),
        ({"offsets": [0, 2]}, "offsets run from 0 to 2"),
        ({"offsets": [0, 3, 2, 3]}, "recording 1 ends"),
        ({"offsets": [3]}, "No recordings"),
        ({"labels": [1, 2]}, "labels for 1 recording:"),
        ({"labels": [0.5]}, "labels are floating-point"),
        ({"field": (0,)}, "at least 1"),
        ({"field": (2.5,)}, "whole numbers"),
        ({"polarities": 0}, "at least 1"),
    ],
)
def test_bad_events_are_refused(change, message):
    good = {"coords": [[0, 1, 2]], "t": [0, 2, 4], "field": (4,)}
    Recordings(**good)
    with pytest.raises(ValueError, match=message):
        Recordings(**(good | change))


def test_bad_structured_arrays_are_refused():
    with pytest.raises(EventError, match="named fields"):
        Recordings.from_structured([np.zeros(3)])
    with pytest.raises(EventError, match="No recordings"):
        Recordings.from_structured([])


def test_times_beyond_32_bits_are_kept_whole():
    late = 2**53 + np.array([1, 2, 4])
    assert Recordings([[0, 0, 0]], late, field=(1,)).t.tolist() == late.tolist()


@pytest.mark.parametrize(
    ("field", "polarities"), [((2**32, 2**32), 1), ((2**31,), 1), ((2**16, 2**15), 2), ((3,), 2**63), ((10**30,), 1)]
)
def test_a_field_beyond_32_bits_is_refused_before_anything_indexes_memory(field, polarities):
    coords = [[0] for _ in field]
    with pytest.raises(EventError, match="more than 2,147,483,647 entries"):
        Recordings(coords, t=[0], field=field, polarities=polarities)
    with pytest.raises(EventError, match="more than 2,147,483,647 entries"):
        Recordings(coords, t=[0], field=[1] * len(field)).on_field(field, polarities)


def test_the_largest_field_is_accepted():
    largest = Recordings([[MOST_ENTRIES - 1]], t=[0], field=(MOST_ENTRIES,))
    assert largest.entries().tolist() == [MOST_ENTRIES - 1]


def labelled(labels):
    n = len(labels)
    return Recordings([np.zeros(n, int)], t=np.arange(n), offsets=np.arange(n + 1), field=(1,), labels=labels)


@pytest.mark.parametrize(
    ("labels", "stored", "known", "classes"),
    [
        (["a", None, "b"], ["a", "", "b"], [True, False, True], ["a", "b"]),
        (["a", "", "b"], ["a", "", "b"], [True, False, True], ["a", "b"]),
        ([3, None, 1], [3, -1, 1], [True, False, True], [1, 3]),
        (np.array([3, -1, 1], np.int8), [3, -1, 1], [True, False, True], [1, 3]),
        ([np.uint8(200), None, np.uint8(7)], [200, -1, 7], [True, False, True], [7, 200]),
        (np.array([200, None, 7], dtype=object), [200, -1, 7], [True, False, True], [7, 200]),
        (np.array([2**63, 1, 2], np.uint64), [2**63, 1, 2], [True, True, True], [1, 2, 2**63]),
        ([True, False, True], [1, 0, 1], [True, True, True], [0, 1]),
        ([True, None, False], [1, -1, 0], [True, False, True], [0, 1]),
        ([np.True_, 0, None], [1, 0, -1], [True, True, False], [0, 1]),
        ((np.str_("a"), "b", None), ["a", "b", ""], [True, True, False], ["a", "b"]),
        ([-1, -1, -1], [-1, -1, -1], [False, False, False], []),
        (["", "", ""], ["", "", ""], [False, False, False], []),
    ],
)
def test_unknown_labels_have_one_form(labels, stored, known, classes):
    recordings = labelled(labels)
    assert recordings.labels.tolist() == stored
    assert recordings.labelled.tolist() == known
    assert recordings.classes.tolist() == classes
    assert recordings[[2, 1]].labelled.tolist() == [known[2], known[1]]


def test_recordings_of_which_none_is_labelled_have_no_labels():
    for nothing in (labelled([None, None]), three().with_labels(None), three().with_labels([None] * 3)):
        assert nothing.labels is None
        assert not nothing.labelled.any()
        assert len(nothing.classes) == 0


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1, "a"], r"several kinds \(int and str\)"),
        ([1, None, "a"], "several kinds"),
        ([1, 2.5], "several kinds"),
        (["a", b"b"], "several kinds"),
        ([1.0, 2.0], "floating-point"),
        ([1.0, None], "floating-point"),
        (np.array([0.5, np.nan]), "floating-point"),
        ([b"a", b"b"], "bytes"),
        (np.array([b"a", b"b"]), "bytes"),
        ([1j, 2], "several kinds"),
        (np.array([1j, 2]), "complex"),
        (np.array(["2026-01-01", "2026-01-02"], "M8[D]"), "dates"),
        ([np.datetime64("2026-01-01"), None], "dates"),
        (np.array([1, 2], "m8[s]"), "durations"),
        ([2**70, 1], "objects"),
        ([object(), object()], "objects"),
        ([{}, {}], "objects"),
        ([[1], [2, 3]], "not one flat sequence"),
        ([[1, 2], [3, 4]], "one per recording"),
        ([2**63, None], "does not fit in 64 bits"),
    ],
)
def test_labels_of_other_kinds_are_refused(labels, message):
    with pytest.raises(EventError, match=message):
        labelled(labels)
    with pytest.raises(EventError, match=message):
        labelled([1, 2, 3][: len(labels)]).with_labels(labels)


def test_text_or_a_number_is_no_sequence_of_labels():
    for wrong in ("abc", 3, np.array(3)):
        with pytest.raises(EventError, match="one per recording"):
            three().with_labels(wrong)


def test_one_polarity_copies_no_event():
    both = three()
    merged = both[[2, 0]].with_one_polarity()
    assert np.shares_memory(merged._t, both._t)
    assert merged.p.tolist() == [0] * 6
    assert merged.polarities == 1


@given(recordings=streams((3, 4), 2), events=st.integers(1, 40))
def test_parts_cover_all_recordings_and_are_small(recordings, events):
    parts = list(recordings.parts(events))
    assert [r for part in parts for r in range(part.start, part.stop)] == list(range(len(recordings)))
    for part in parts:
        assert part.stop - part.start == 1 or recordings[part].counts.sum() < events


def test_spans_are_the_first_and_last_times():
    first, last = three().spans()
    assert (first.tolist(), last.tolist()) == ([5, 0, 0], [9, 0, 7])
