"""Recordings at their edges: checks in parts, files that change under us, fingerprints."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesurf.engines import data
from timesurf.engines.data import Batch, pack
from timesurf.errors import EventError
from timesurf.events import Recordings, checks
from timesurf.io import npz


def at_times(t, offsets=None):
    return Recordings([np.zeros(len(t), int)], t, offsets=offsets, field=(1,))


@given(at=st.integers(1, 11), size=st.integers(1, 12))
def test_a_step_back_is_found_wherever_checks_are_cut(at, size):
    t = np.arange(12)
    t[at] = t[at - 1] - 1 if at > 1 else 0
    t[0] = 0 if at > 1 else 5
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(checks, "_CHECKED_AT_ONCE", size)
        with pytest.raises(EventError, match=rf"recording 0, event {at}: time {t[at]} us comes before {t[at - 1]} us"):
            at_times(t)


@given(cuts=st.lists(st.integers(0, 12), max_size=4), size=st.integers(1, 12))
def test_a_recording_may_begin_anywhere_among_the_parts_of_a_check(cuts, size):
    offsets = np.array([0, *sorted(cuts), 12])
    t = np.concatenate([np.arange(n) for n in np.diff(offsets)])  # each clock begins at 0
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(checks, "_CHECKED_AT_ONCE", size)
        assert at_times(t, offsets).t.tolist() == t.tolist()


@given(at=st.integers(0, 11), size=st.integers(1, 12))
def test_an_event_off_the_field_is_named_wherever_checks_are_cut(at, size):
    x = np.zeros(12, int)
    x[at] = 3
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(checks, "_CHECKED_AT_ONCE", size)
        with pytest.raises(EventError, match=f"recording {at // 4}, event {at % 4}: x = 3 is off the field"):
            Recordings([x], np.arange(12), offsets=[0, 4, 8, 12], field=(3,))


def test_the_last_values_inside_every_limit_are_accepted_and_the_next_refused():
    latest = checks.LATEST - 1
    Recordings([[2], [4]], [latest], [1], field=(3, 5), polarities=2)
    for change in ({"x": 3}, {"y": 5}, {"t": latest + 1}, {"p": 2}):
        values = {"x": 2, "y": 4, "t": latest, "p": 1} | change
        with pytest.raises(EventError, match="recording 0, event 0"):
            Recordings([[values["x"]], [values["y"]]], [values["t"]], [values["p"]], field=(3, 5), polarities=2)


# ------------------------------------------------------------------ mapped files are checked again


def checked_again(t, entry, offsets, size=3):
    batch = Batch(np.array(entry, np.int32), np.array(t, np.int32), np.array(offsets), np.zeros(len(offsets) - 1, int))
    data._check_again(batch, slice(0, len(offsets) - 1), size)


@pytest.mark.parametrize("offsets", [[0, 4], [0, 2, 4], [0, 0, 2, 2, 4, 4]])
def test_events_inside_the_field_and_in_order_are_accepted_again(offsets):
    times = [0, 5, 0, 5] if len(offsets) > 2 else [0, 0, 5, 5]  # a clock may go back where a recording begins
    checked_again(times, [0, 2, 1, 2], offsets)
    checked_again([], [], [0, 0])


@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("wrong", [-1, 3])
def test_an_entry_one_off_the_field_is_refused(at, wrong):
    entry = [0, 2, 1, 2]
    entry[at] = wrong
    with pytest.raises(EventError, match="written to while it was in use"):
        checked_again([0, 1, 2, 3], entry, [0, 2, 4])


@pytest.mark.parametrize(("at", "offsets"), [(1, [0, 4]), (2, [0, 4]), (3, [0, 4]), (1, [0, 2, 4]), (3, [0, 2, 2, 4])])
def test_an_event_out_of_order_is_refused_unless_a_recording_begins_there(at, offsets):
    t = [10, 20, 30, 40]
    t[at] = t[at - 1] - 1
    with pytest.raises(EventError, match="written to while it was in use"):
        checked_again(t, [0] * 4, offsets)


@pytest.mark.parametrize("at", [0, 3])
def test_a_file_that_changes_after_it_was_opened_is_refused(tmp_path, at):
    path = tmp_path / "a.npz"
    x, t = np.array([1, 2, 0, 1], np.int64), np.arange(10, 14)
    npz.write(path, Recordings([x], t, offsets=[0, 2, 4], field=(3,)))
    mapped = npz.read(path)
    assert mapped.mapped
    pack(mapped)
    raw = path.read_bytes()
    stored = mapped.coords[0].tobytes()
    place = raw.index(stored) + at * mapped.coords[0].itemsize
    with path.open("r+b") as file:
        file.seek(place)
        file.write(np.array([3], mapped.coords[0].dtype).tobytes())
    with pytest.raises(EventError, match="written to while it was in use"):
        pack(mapped)


# ------------------------------------------------------------------ fingerprints


def fingerprint(*, recordings=3, change=None):
    """Of recordings of three events each; `change` names an array, an event and its new value."""
    n = 3 * recordings
    arrays = {"x": np.ones(n, int), "y": np.ones(n, int), "t": np.tile([5, 6, 7], recordings), "p": np.ones(n, int)}
    if change:
        name, event, value = change
        arrays[name][event] = value
    offsets = np.arange(recordings + 1) * 3
    coords = [arrays["x"], arrays["y"]]
    return Recordings(coords, arrays["t"], arrays["p"], offsets, field=(3, 3), polarities=3).fingerprint()


@pytest.mark.parametrize("recording", range(3))
@pytest.mark.parametrize(
    ("name", "event", "value"),
    [("x", 0, 2), ("y", 0, 2), ("p", 0, 2), ("t", 0, 4), ("x", 2, 2), ("y", 2, 2), ("p", 2, 2), ("t", 2, 8)],
)
def test_a_fingerprint_sees_the_first_and_the_last_event_of_each_recording(recording, name, event, value):
    assert fingerprint() == fingerprint()
    assert fingerprint(change=(name, 3 * recording + event, value)) != fingerprint()


def test_a_fingerprint_sees_sizes_and_labels():
    r = Recordings([[0, 1]], [0, 1], field=(2,), labels=["a"])
    others = [
        r.with_labels(["b"]), r.with_labels(None), r.on_field((3,), 1), r.on_field((2,), 2), r[[0, 0]],
        Recordings([[0, 1]], [0, 1], offsets=[0, 1, 2], field=(2,)),
    ]  # fmt: skip
    assert len({r.fingerprint(), *(other.fingerprint() for other in others)}) == 7


def test_a_fingerprint_of_many_recordings_samples_some_of_them():
    assert fingerprint(recordings=600, change=("x", 0, 2)) != fingerprint(recordings=600)
    assert fingerprint(recordings=600, change=("x", 3, 2)) == fingerprint(recordings=600)  # every second is looked at
    assert fingerprint(recordings=511, change=("x", 3, 2)) != fingerprint(recordings=511)


# ------------------------------------------------------------------ selections, other processes, labels


def test_recordings_of_another_process_are_the_same_one_by_one():
    r = Recordings([[0, 1, 2, 0]], [5, 6, 1, 2], offsets=[0, 2, 2, 4], field=(3,), labels=["a", "b", "c"])
    for some in (r, r[1:], r[[2, 0]]):
        again = pickle.loads(pickle.dumps(some))
        assert [one.t.tolist() for one in again] == [one.t.tolist() for one in some]
        assert [one.coords[0].tolist() for one in again] == [one.coords[0].tolist() for one in some]
        assert again.labels.tolist() == some.labels.tolist()


def test_adjacent_recordings_are_views_and_others_are_not():
    r = Recordings([np.zeros(6, int)], np.arange(6), offsets=[0, 2, 4, 6], field=(1,))
    for adjacent in (r, r[1:], r[:1]):
        assert np.shares_memory(adjacent.t, r.source)
    for apart in (r[[0, 2]], r[::-1]):
        assert not np.shares_memory(apart.t, r.source)
    assert r[[0, 2]].t.tolist() == [0, 1, 4, 5]


def test_the_largest_label_beside_unknown_ones_is_the_largest_of_64_bits():
    largest = np.uint64(2**63 - 1)
    r = Recordings([[0, 0]], [0, 1], offsets=[0, 1, 2], field=(1,), labels=[largest, None])
    assert r.labels.tolist() == [2**63 - 1, -1]


def test_a_mapped_file_travels_by_its_name_and_other_recordings_by_their_events(tmp_path):
    one = Recordings(
        [np.zeros(30_000, int)], np.arange(30_000), offsets=[0, 9, 29_000, 30_000], field=(1,), labels=[4, 5, 6]
    )
    npz.write(tmp_path / "a.npz", one)
    for some, most in ((npz.read(tmp_path / "a.npz")[1:], 3_000), (one[2:], 30_000)):
        sent = pickle.dumps(some)
        assert len(sent) < most
        again = pickle.loads(sent)
        assert again.fingerprint() == some.fingerprint()
        assert again.labels.tolist() == some.labels.tolist()
    assert pickle.loads(pickle.dumps(npz.read(tmp_path / "a.npz"))).mapped
