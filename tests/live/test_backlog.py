"""A queue in front of a session: bounded, in order, and nothing is lost without being counted."""

import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesurf import SettingError
from timesurf.live.backlog import Backlog


def packets(sizes):
    first = 0
    for n in sizes:
        yield np.arange(first, first + n)
        first += n


@given(
    st.lists(st.integers(0, 30), max_size=30), st.integers(1, 40), st.sampled_from(["block", "drop"]),
    st.integers(0, 2**32),
)  # fmt: skip
def test_events_come_in_order_and_counts_add_up(sizes, room, if_behind, seed):
    rng, most, came = np.random.default_rng(seed), 0, []
    with Backlog(packets(sizes), events=room, if_behind=if_behind) as backlog:
        for packet in backlog:
            came.append(packet)
            most = max(most, backlog.waiting)
            if rng.random() < 0.2:
                time.sleep(1e-4)
    got = np.concatenate([[], *came])
    assert (np.diff(got) > 0).all()
    assert (backlog.taken, backlog.taken + backlog.dropped) == (len(got), sum(sizes))
    assert backlog.dropped == 0 or if_behind == "drop"
    assert most <= max(room, max(sizes, default=0) if if_behind == "block" else 0)


def test_what_is_dropped_is_the_oldest():
    read = threading.Event()

    def burst():
        yield from packets([10, 10, 10, 25])
        read.set()

    with Backlog(burst(), events=20, if_behind="drop") as backlog:
        assert read.wait(5)
        (kept,) = backlog
    np.testing.assert_array_equal(kept, np.arange(35, 55))
    assert backlog.dropped == 35


def test_a_source_that_can_wait_waits():
    sent = []

    def source():
        for packet in packets([5] * 10):
            sent.append(len(packet))
            yield packet

    with Backlog(source(), events=10) as backlog:
        until = time.monotonic() + 10
        while len(sent) < 3 and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(0.05)  # for more, if they came
        assert len(sent) == 3  # two wait, the third has no room
        assert sum(len(packet) for packet in backlog) == 50


def test_an_error_of_the_source_comes_through_after_what_it_sent():
    def source():
        yield np.arange(3)
        raise OSError("the camera was unplugged")

    with Backlog(source()) as backlog:
        came = iter(backlog)
        assert len(next(came)) == 3
        with pytest.raises(OSError, match="unplugged"):
            next(came)


def test_leaving_ends_the_thread_of_a_source_that_would_go_on_for_ever():
    def source():
        while True:
            yield np.zeros(10)

    with Backlog(source(), events=30) as backlog:
        next(iter(backlog))
    backlog._reader.join(5)
    assert not backlog._reader.is_alive()


def test_bad_settings_are_refused():
    with pytest.raises(SettingError, match="at least one"):
        Backlog([], events=0)
    with pytest.raises(SettingError, match="block, drop"):
        Backlog([], if_behind="hope")


def test_packets_that_wait_are_limited_in_number_too(monkeypatch):
    monkeypatch.setattr("timesurf.live.backlog._MOST_PACKETS", 10)
    read = threading.Event()

    def burst():
        yield from packets([1, 0] * 100)
        read.set()

    with Backlog(burst(), if_behind="drop") as backlog:
        assert read.wait(5)
        assert np.concatenate(list(backlog)).tolist() == list(range(90, 100))
    assert backlog.dropped == 90


def test_a_stopped_backlog_ends_at_once():
    silent = threading.Event()

    def source():
        yield np.arange(3)
        silent.wait(10)

    with Backlog(source()) as backlog:
        came = iter(backlog)
        next(came)
        threading.Timer(0.1, backlog.stop).start()
        assert list(came) == []
    silent.set()
