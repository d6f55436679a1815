"""The queue where a comparison turns, and that nobody waits for the clock."""

import threading
from collections import deque

import numpy as np
import pytest

from timesurf import SettingError
from timesurf.live import backlog as queue
from timesurf.live.backlog import Backlog


def test_room_is_for_so_many_events_in_so_many_packets():
    some = Backlog([], events=10)
    assert some._has_room(99)  # nothing waits: a packet is never refused for good
    some._queue, some.waiting = deque([None]), 4
    assert [some._has_room(n) for n in (5, 6, 7)] == [True, True, False]
    some.waiting = 0
    some._queue = deque(range(262_143))
    assert some._has_room(1)
    some._queue.append(1)
    assert not some._has_room(1)


def test_defaults_and_the_smallest_room():
    assert (Backlog([]).events, Backlog([]).if_behind) == (4_194_304, "block")
    assert Backlog([], events=1).events == 1
    with pytest.raises(SettingError, match="events = 0"):
        Backlog([], events=0)


def test_the_oldest_make_room_and_are_counted():
    some = Backlog([], events=10, if_behind="drop")
    some._queue, some.waiting = deque([np.arange(4), np.arange(5)]), 9
    assert len(some._without_oldest(np.arange(1))) == 1
    assert (some.waiting, some.dropped, len(some._queue)) == (9, 0, 2)
    assert len(some._without_oldest(np.arange(2))) == 2
    assert (some.waiting, some.dropped, len(some._queue)) == (5, 4, 1)
    assert some._without_oldest(np.arange(13)).tolist() == list(range(3, 13))
    assert (some.waiting, some.dropped, len(some._queue)) == (0, 12, 0)


def test_counts_follow_every_packet():
    sent = threading.Event()

    def source():
        yield from (np.zeros(n) for n in (3, 0, 4))
        sent.set()

    with Backlog(source()) as some:
        assert sent.wait(10)
        assert (some.waiting, some.taken) == (7, 0)
        came = iter(some)
        next(came)
        assert (some.waiting, some.taken) == (4, 3)
        assert [len(packet) for packet in came] == [4]
        assert (some.waiting, some.taken, some.dropped) == (0, 7, 0)


@pytest.mark.parametrize("ends_by", ["packet", "end", "error", "stop"])
def test_whoever_waits_is_woken(monkeypatch, ends_by):
    """Patience is for signals alone: here a wait that nobody ends would last a minute."""
    monkeypatch.setattr(queue, "_PATIENCE", 60)
    waits, go, got = threading.Event(), threading.Event(), []

    def source():
        go.wait(60)
        if ends_by == "packet":
            yield np.zeros(3)
            threading.Event().wait(60)
        if ends_by == "error":
            raise OSError("unplugged")
        if ends_by == "stop":
            threading.Event().wait(60)

    def consume():
        waits.set()
        try:
            got.append(len(next(iter(some), ())))
        except OSError:
            got.append("error")

    with Backlog(source()) as some:
        consumer = threading.Thread(target=consume, daemon=True)
        consumer.start()
        assert waits.wait(10)
        consumer.join(0.1)  # it waits by now, or finds what it waits for at once
        go.set()
        if ends_by == "stop":
            some.stop()
        consumer.join(10)
        assert got == [{"packet": 3, "error": "error"}.get(ends_by, 0)]


def test_a_source_that_waits_for_room_is_woken_by_room_and_by_the_end():
    passed = threading.Event()

    def source():
        yield np.zeros(5)
        yield np.zeros(5)
        passed.set()

    with Backlog(source(), events=5) as some:
        came = iter(some)
        assert len(next(came)) == 5
        assert passed.wait(10)
    with Backlog((np.zeros(5) for _ in range(9)), events=5) as some:
        pass
    some._reader.join(10)
    assert not some._reader.is_alive()
