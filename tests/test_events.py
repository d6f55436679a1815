import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.random_networks import streams
from timesurf.errors import EventError
from timesurf.events import Recordings


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
        ({"coords": [[0, 1, 2], [0, 0, 0]]}, "2 coordinates for a field of 1 dimensions"),
        ({"coords": [[[0, 1, 2]]]}, "shape"),
        ({"p": [0, 1, 0]}, "polarity 1 is not one of the 1"),
        ({"p": ["a", "b", "c"]}, "p has dtype"),
        ({"offsets": [0, 2]}, "offsets run from 0 to 2"),
        ({"offsets": [0, 3, 2, 3]}, "recording 1 ends"),
        ({"offsets": [3]}, "No recordings"),
        ({"labels": [1, 2]}, "labels for 1 recordings"),
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
        Recordings.from_structured([np.zeros((3, 4))])
    with pytest.raises(EventError, match="No recordings"):
        Recordings.from_structured([])


def test_times_beyond_32_bits_are_kept_whole():
    late = 2**53 + np.array([1, 2, 4])
    assert Recordings([[0, 0, 0]], late, field=(1,)).t.tolist() == late.tolist()
