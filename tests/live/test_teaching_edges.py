"""Marks and the latest events where a comparison turns, and what a recording leaves in a history."""

import numpy as np
import pytest

from timesurf import EventError, Full, Network, Recordings, SettingError
from timesurf.engines.cpu.bundles import Counts
from timesurf.live import teaching
from timesurf.live.teaching import Marks, Recent, figures

NETWORK = Network([Full(tau=1)], (9,), 2, ["a"])


def rows(t, x=None):
    """A packet: rows of x, polarities and times."""
    t = np.asarray(t)
    return np.stack([np.arange(len(t)) if x is None else np.full(len(t), x), np.ones(len(t), int), t])


def latest(recent):
    found = recent.recordings(NETWORK, "dog", None)
    assert (found.labels.tolist(), found.field, found.polarities) == (["dog"], (9,), 2)
    assert set(found.p.tolist()) == {1}
    return found.t.tolist()


def test_marks_go_back_as_far_as_they_are_remembered():
    marks = Marks(3)
    for n in range(5):
        marks.add(n, -n)
    assert (len(marks), marks.count) == (3, 5)
    for wrong in (0, 4):
        with pytest.raises(SettingError, match=f"undo {wrong}: there are 3 changes"):
            marks.back(wrong)
    assert marks.back(2) == (3, -3)
    assert (len(marks), marks.count) == (1, 3)
    assert marks.back(1) == (2, -2)
    marks.add(7, 7)
    marks.clear()
    assert (len(marks), marks.count) == (0, 0)
    marks.add(1, 1)
    marks.add(2, 2)
    for wrong in (1.5, "x", None):
        with pytest.raises(SettingError, match="must be a whole number"):
            marks.back(wrong)
    assert (len(marks), marks.count) == (2, 2)
    none = Marks(0)
    none.add(1, 1)
    assert (len(none), none.count) == (0, 1)
    with pytest.raises(SettingError, match="marks = -1"):
        Marks(-1)


def test_recent_events_are_those_of_the_span_with_its_first_moment():
    recent = Recent(10)
    recent.add(rows([1, 2, 5]))
    recent.add(rows([]))
    recent.add(rows([12]))
    assert latest(recent) == [2, 5, 12]
    recent.add(rows([15]))
    assert len(recent._packets) == 3  # the first still has an event of the span
    recent.add(rows([16]))
    assert len(recent._packets) == 3
    assert latest(recent) == [12, 15, 16]
    recent.clear()
    assert recent._events == 0
    with pytest.raises(EventError, match="show it first"):
        latest(recent)
    with pytest.raises(EventError, match="holds them"):
        latest(Recent(0))


def test_recent_events_are_copies():
    recent, packet = Recent(10), rows([1, 2])
    recent.add(packet)
    packet[:] = 0
    assert latest(recent) == [1, 2]


def test_no_more_recent_events_than_there_is_room_for(monkeypatch):
    assert teaching.MOST_EVENTS == 1 << 20
    monkeypatch.setattr(teaching, "MOST_EVENTS", 4)
    recent = Recent(100)
    recent.add(rows([1, 2, 3, 4, 5, 6]))
    assert latest(recent) == [3, 4, 5, 6]  # of one packet the last
    recent.add(rows([7]))
    assert latest(recent) == [3, 4, 5, 6, 7]  # until the others alone are as many
    recent.add(rows([8, 9]))
    assert latest(recent) == [3, 4, 5, 6, 7, 8, 9]
    recent.add(rows([10]))
    assert latest(recent) == [3, 4, 5, 6, 7, 8, 9, 10]
    recent.add(rows([11]))
    assert latest(recent) == [7, 8, 9, 10, 11]


def test_single_events_are_held_as_packets_are(monkeypatch):
    assert teaching._MOST_NUMBERS == 1 << 12
    monkeypatch.setattr(teaching, "_MOST_NUMBERS", 6)
    recent = Recent(10)
    for t in (1, 2, 3):  # two of them are a packet
        recent.add_one((t, 1, t))
    assert len(recent._packets) == 1
    recent.add(rows([4, 5]))
    recent.add_one((6, 1, 6))
    assert latest(recent) == [1, 2, 3, 4, 5, 6]
    recent.add_one((7, 1, 13))
    assert latest(recent) == [3, 4, 5, 6, 13]
    recent.add_one((8, 1, 14))
    recent.clear()
    with pytest.raises(EventError, match="show it first"):
        latest(recent)


def test_events_that_are_given_go_before_recent_ones():
    recent = Recent(10)
    recent.add(rows([1]))
    some = Recordings([[3, 4]], [5, 6], field=(9,), polarities=2)
    for given in (some, some.to_structured()[0]):
        assert recent.recordings(NETWORK, "dog", given).coords[0].tolist() == [3, 4]


def test_the_entry_of_a_history():
    counts = Counts(np.array([[6, 3]]), np.array([[1, 2]]))
    assert figures(counts, 1, 8) == {"recordings": 1, "event_accuracy": 2 / 3, "kept": 0.375}
