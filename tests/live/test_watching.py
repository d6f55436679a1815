"""What is told of a stream: its rate, its drift, and a log of decisions; and files that are played and sent."""

import json

import numpy as np
import pytest

from tests.memory import peak
from timesurf import EventError, Recordings, Session, SettingError
from timesurf.bench import workloads
from timesurf.io import camera
from timesurf.io.playback import in_turn, paced, repeated
from timesurf.io.send import Sender
from timesurf.live.decision import Decision
from timesurf.live.drift import Drift
from timesurf.live.log import Log
from timesurf.live.watch import Watch


def seconds(drift, shares, S=0.5, start=0):
    """One packet of 1000 events per second with these shares of rejected events: what the drift says of each."""
    return [
        drift.update((start + i) * 1_000_000, 1000, np.full(round(1000 * (1 - share)), S))
        for i, share in enumerate(shares)
    ]


def usual(n=11):
    return [0.30 + 0.002 * (i % 3) for i in range(n)]


def test_a_usual_stream_raises_no_alarm():
    drift = Drift()
    assert seconds(drift, usual(60)) == [None] * 60
    assert (drift.alarms, drift.drifting) == (0, False)


@pytest.mark.parametrize(("share", "S", "text"), [(0.6, 0.5, "60.0% of events are rejected"), (0.3, 0.1, "mean S is")])
def test_two_unusual_seconds_raise_the_alarm_and_two_usual_ones_end_it(share, S, text):
    drift = Drift()
    seconds(drift, usual())
    first, second, third = seconds(drift, [share] * 3, S, start=11)
    assert (first, third) == (None, None)
    assert second.drifting
    assert second.text.startswith(text)
    assert (drift.alarms, drift.drifting) == (1, True)
    assert seconds(drift, [0.3], start=14) == [None]
    (again,) = seconds(drift, [0.3], start=15)
    assert (again.drifting, drift.drifting, drift.alarms) == (False, False, 1)


def test_one_unusual_second_is_an_outlier():
    drift = Drift()
    seconds(drift, usual())
    assert seconds(drift, [0.9, 0.3, 0.9, 0.3, 0.33], start=11) == [None] * 5


def test_small_changes_are_no_drift():
    drift = Drift()
    seconds(drift, [0.3] * 11)
    assert seconds(drift, [0.34] * 5, start=11) == [None] * 5


def test_seconds_without_enough_events_are_joined():
    drift = Drift()
    for i in range(400):
        drift.update(i * 1_000_000, 10, np.full(7, 0.5))
    assert drift.usual is not None
    assert drift.usual[0].tolist() == pytest.approx([0.3, 0.5])


def test_a_stream_that_outputs_nothing_any_more_is_drift():
    drift = Drift()
    seconds(drift, usual())
    assert seconds(drift, [1.0, 1.0], start=11)[1].drifting


@pytest.fixture(scope="module")
def model():
    return workloads.started(workloads.NMNIST, workloads.strokes(4, events=300, field=(8, 8)))


@pytest.mark.parametrize("adapt", [True, False])
def test_a_session_begins_to_adapt_when_the_stream_drifts(model, adapt):
    session, said = Session(model), []
    watch = Watch(session, adapt=adapt, report=said.append)
    events = np.zeros(300, [("x", int), ("y", int), ("t", int)])
    for i in range(14):
        events["t"] = np.arange(300) * 2_000 + i * 600_000
        session.push(events)
        drifted = i >= 12
        watch.update(Decision(*(np.zeros(n) for n in (1, 1, 0 if drifted else 200)), None, 0.0))
    assert session.adapts == adapt
    assert len(said) == 1
    assert "drift: 100.0% of events are rejected, usually 28.3% to 38.3%" in said[0]
    assert ("adapting from here on" in said[0]) == adapt
    assert watch.text


def test_the_log_holds_a_line_per_stretch_of_time(tmp_path):
    S = np.array([0.5, 0.25])
    with Log(tmp_path / "d.jsonl", "1 ms") as log:
        for i in range(8):
            log.add(i * 400, 10 * (i + 1), Decision(S, S, S, 7 if i else None, 0.75))
        assert len((tmp_path / "d.jsonl").read_text("utf-8").splitlines()) == 3  # as soon as they are made
    lines = [json.loads(line) for line in (tmp_path / "d.jsonl").read_text("utf-8").splitlines()]
    assert [line["t"] for line in lines] == [0, 1200, 2400, 2800]
    assert lines[0]["decision"] is None
    assert lines[1] == {"t": 1200, "decision": "7", "confidence": 0.75, "events": 30, "outputs": 6, "S": 0.375}
    assert sum(line["events"] for line in lines) == 80
    with pytest.raises(SettingError, match="log_every"):
        Log(tmp_path / "e.jsonl", "soon")


# ---------------------------------------------------------------------- files as streams


class Time:
    """A clock that passes only while somebody waits."""

    def __init__(self):
        self.now = 0.0

    def sleep(self, seconds):
        self.now += seconds


def recordings():
    t = np.array([100, 3_000, 12_000, 5, 1_000])
    return Recordings([[0, 1, 2, 3, 4]], t, offsets=[0, 3, 5], field=(5,))


def test_recordings_follow_one_another_and_repeat():
    once = np.concatenate(list(in_turn(recordings())))["t"].tolist()
    assert once == [0, 2_900, 11_900, 11_901, 12_896]
    twice = np.concatenate(list(repeated(lambda: in_turn(recordings()), 2)))["t"].tolist()
    assert twice == once + [12_897 + t for t in once]
    assert list(repeated(lambda: iter(()), None)) == []


def test_a_long_recording_is_played_in_stretches_that_change_nothing():
    n = 500_000
    rng = np.random.default_rng(0)
    t = np.concatenate([np.sort(rng.integers(7, 10**7, n)), [3, 9]])
    long = Recordings([rng.integers(0, 9, n + 2).astype(np.uint8)], t, offsets=[0, n, n, n + 2], field=(9,))
    most, times = peak(lambda: [int(packet["t"][-1]) for packet in in_turn(long)])
    assert most < 8 * n  # as one array of 64-bit numbers it would be 24 per event, beside a copy
    assert next(in_turn(long)).itemsize == 10  # those that wait to be run are no larger than they must be
    played = list(in_turn(long))
    assert [int(packet["t"][-1]) for packet in played] == times
    later = int(t[n - 1]) - int(t[0]) + 1
    joined = np.concatenate(played)
    np.testing.assert_array_equal(joined["t"], np.concatenate([t[:n] - t[0], [later, later + 6]]))
    np.testing.assert_array_equal(joined["x"], long.coords[0])
    assert {len(packet) for packet in played} == {1000, 2}


@pytest.mark.parametrize("speed", [1, 4])
def test_events_come_when_they_are_due(speed):
    time = Time()
    came = []
    for packet in paced(in_turn(recordings()), speed, clock=lambda: time.now, sleep=time.sleep):
        came += [(t, round(time.now * speed * 1e6)) for t in packet["t"].tolist()]
        time.now += 0.0001  # taking them takes a while
    assert [t for t, _ in came] == [0, 2_900, 11_900, 11_901, 12_896]
    assert all(0 <= at - t <= 5_000 for t, at in came)


def test_speed_0_does_not_wait_and_other_numbers_are_refused():
    assert [len(packet) for packet in paced(in_turn(recordings()), 0, sleep=None)] == [3, 2]
    for wrong in (-1, float("nan"), float("inf")):
        with pytest.raises(SettingError, match="speed"):
            next(paced([], wrong))


def test_what_is_sent_is_received():
    events = np.zeros(1000, camera.DTYPE)
    events["x"], events["y"], events["p"] = np.arange(1000) % 346, np.arange(1000) % 260, np.arange(1000) % 2
    events["t"] = 2**40 + np.arange(1000) * 7
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        url = f"udp://127.0.0.1:{free.getsockname()[1]}"
    with camera.packets(url) as packets, Sender(url) as sender:
        sender.send(events)
        received = []
        while sum(map(len, received)) < 1000:
            received.append(next(packets))
    np.testing.assert_array_equal(np.concatenate(received), events)
    assert (sender.events, sender.datagrams, max(map(len, received))) == (1000, 10, 107)


def test_what_does_not_fit_in_a_datagram_is_refused():
    with Sender("udp://127.0.0.1:9") as sender, pytest.raises(EventError, match="x = 70000 does not fit"):
        sender.send(np.array([(70_000, 1)], [("x", int), ("t", int)]))
    with pytest.raises(EventError, match="names no host and port"):
        Sender("udp://nowhere")


def test_time_that_opening_a_file_takes_is_not_made_up_for():
    now = [0.0]

    def slow():
        now[0] += 5  # seconds until the first packet is there
        yield from in_turn(recordings())

    def sleep(seconds):
        now[0] += seconds

    packets = list(paced(slow(), 1.0, clock=lambda: now[0], sleep=sleep))
    span = (int(packets[-1]["t"][-1]) - int(packets[0]["t"][0])) / 1e6
    assert now[0] == pytest.approx(5 + span)
