"""What is told of a stream where a comparison turns: its rate, its drift, the log, and alarms."""

import json

import numpy as np
import pytest

from timesurf.live.decision import Decision
from timesurf.live.drift import Drift
from timesurf.live.log import Log
from timesurf.live.rate import Rate
from timesurf.live.watch import Watch


def decision(*S, label="a", confidence=0.5):
    return Decision(np.zeros(len(S)), np.zeros(len(S)), np.array(S, float), label, confidence)


# ------------------------------------------------------------------ rate


def rates(*notes):
    """What the rate is at each time, after so many events."""
    now = [0.0]
    rate, found = Rate(lambda: now[0]), []
    for at, total in notes:
        now[0] = at
        found.append(round(rate.now(total), 6))
    return found


def test_the_rate_is_that_of_the_latest_second():
    assert rates((0.5, 100), (1.0, 200), (1.5, 200), (2.0, 200), (3.0, 200)) == [200, 200, 100, 0, 0]
    assert rates((0.25, 100), (1.25, 100)) == [400, 0]  # a note that is a second old is where the count begins


def test_notes_are_taken_20_times_a_second():
    # 0.04 s after the first there is no new note; 0.05 s after it there is.
    assert rates((0.04, 100), (1.045, 100)) == [2500, round(100 / 1.045, 6)]
    assert rates((0.05, 100), (1.055, 100)) == [2000, 0]


def test_a_clock_that_stands_still_divides_by_nothing():
    assert rates((0.0, 3)) == [3e9]


# ------------------------------------------------------------------ drift


def window(drift, t, rejected=0.3, S=0.5, events=1000):
    return drift.update(t, events, np.full(round(events * (1 - rejected)), S))


def begun():
    """A drift whose first window begins at 0, with nothing in it."""
    drift = Drift()
    drift.update(0, 0, np.zeros(0))
    return drift


def settled(rejected=0.3, S=0.5):
    """A drift that knows what is usual, at 10 s."""
    drift = begun()
    for i in range(1, 11):
        assert drift.usual is None
        window(drift, i * 1_000_000, rejected, S)
    np.testing.assert_allclose(drift.usual, [[rejected, S], [0, 0]], atol=1e-12)
    return drift


@pytest.mark.parametrize(("span", "events", "enough"), [(500_000, 200, 1), (499_999, 200, 0), (500_000, 199, 0)])
def test_a_window_is_half_a_second_and_200_events(span, events, enough):
    drift = Drift()
    drift.update(7, 0, np.zeros(0))
    drift.update(7 + span, events, np.zeros(100))
    assert len(drift._windows) == enough


@pytest.mark.parametrize(
    ("rejected", "S", "alarm"),
    [(0.351, 0.5, True), (0.349, 0.5, False), (0.249, 0.5, True), (0.3, 0.551, True), (0.3, 0.549, False)],
)
def test_a_figure_is_unusual_from_5_points_on(rejected, S, alarm):
    drift = settled()
    found = [window(drift, (11 + i) * 1_000_000, rejected, S) for i in range(2)]
    assert [change is not None for change in found] == [False, alarm]


def test_a_stream_that_varies_may_vary_by_four_standard_deviations():
    drift = begun()
    for i in range(1, 11):
        window(drift, i * 1_000_000, 0.3 + 0.02 * (-1) ** i)  # a standard deviation of 2 points
    found = [window(drift, (11 + i) * 1_000_000, share) for i, share in enumerate([0.379, 0.379, 0.381, 0.381])]
    assert [change is not None for change in found] == [False, False, False, True]


def test_the_range_that_is_told_is_that_of_shares():
    drift = settled(rejected=0.02, S=0.98)
    text = [window(drift, (11 + i) * 1_000_000, 0.5, -0.5) for i in range(2)][1].text
    assert text == (
        "50.0% of events are rejected, usually 0.0% to 7.0%; mean S is -0.50, usually +0.93 to +1.00"
    )  # neither below none nor above all
    drift = settled(rejected=0.98, S=-0.98)
    text = [window(drift, (11 + i) * 1_000_000, 0.5, 0.5) for i in range(2)][1].text
    assert text == "50.0% of events are rejected, usually 93.0% to 100.0%; mean S is +0.50, usually -1.00 to -0.93"


def test_windows_without_outputs_do_not_count_for_separability():
    drift = begun()
    for i in range(1, 11):
        window(drift, i * 1_000_000, 1.0 if i % 2 else 0.0, 0.5)
    assert drift.usual[0].tolist() == pytest.approx([0.5, 0.5])
    silent = begun()
    for i in range(1, 11):
        window(silent, i * 1_000_000, 1.0)
    assert silent.usual.tolist() == [[1, 0], [0, 0]]


def test_a_clock_that_goes_back_begins_a_window():
    drift = Drift()
    drift.update(1_000_000, 300, np.zeros(300))
    drift.update(999_999, 100, np.zeros(0))  # what was before is forgotten
    assert drift.update(999_999 + 500_000, 100, np.zeros(0)) is None
    assert drift._windows[0][0] == 1.0
    drift.update(10_000_000, 199, np.zeros(0))
    drift.restart()
    drift.update(10_000_001, 1, np.zeros(0))
    assert len(drift._windows) == 1


# ------------------------------------------------------------------ the log


def logged(tmp_path, *notes, every="1 ms"):
    with Log(tmp_path / "d.jsonl", every) as log:
        for note in notes:
            log.add(*note)
    return [json.loads(line) for line in (tmp_path / "d.jsonl").read_text("utf-8").splitlines()]


def test_a_line_is_written_when_it_is_due(tmp_path):
    lines = logged(
        tmp_path, (0, 1, decision(0.5)), (999, 2, decision(0.5)), (1000, 3, decision()), (1999, 4, decision())
    )
    assert [(line["t"], line["events"], line["outputs"]) for line in lines] == [(0, 1, 1), (1000, 2, 1), (1999, 1, 0)]
    assert [line["S"] for line in lines] == [0.5, 0.5, None]


@pytest.mark.parametrize(("back", "lines"), [(8_999, 2), (9_000, 1)])
def test_a_clock_that_jumps_back_writes_at_once(tmp_path, back, lines):
    """The next line is due at 11000, and 2 ms before that the clock was set back."""
    path = tmp_path / "d.jsonl"
    with Log(path, "1 ms") as log:
        log.add(10_000, 1, decision())
        log.add(back, 2, decision())
        assert len(path.read_text("utf-8").splitlines()) == lines


def test_numbers_are_written_to_six_digits(tmp_path):
    (line,) = logged(tmp_path, (0, 1, decision(1 / 3, confidence=2 / 3)))
    assert (line["S"], line["confidence"]) == (0.333333, 0.666667)
    assert logged(tmp_path) == []


# ------------------------------------------------------------------ alarms of a session


class Stream:
    """What a watch reads of a session, and whether it was told to adapt."""

    def __init__(self):
        self.events = self.restarts = self.latest = 0
        self.first, self.adapts = 500_000, False

    def start_adapting(self):
        self.adapts = True


def watched(*, adapt, rejected):
    stream, said = Stream(), []
    stream.events = 77  # that passed before it was watched
    watch = Watch(stream, adapt=adapt, report=said.append)
    for i, share in enumerate(rejected):
        stream.latest, stream.events = i * 1_000_000, stream.events + 1000
        watch.update(decision(*[0.5] * round(1000 * (1 - share))))
    return stream, watch, said


@pytest.mark.parametrize("adapt", [True, False])
def test_an_alarm_is_told_with_the_time_since_the_stream_began(adapt):
    stream, watch, said = watched(adapt=adapt, rejected=[0.3] * 11 + [0.6] * 2)
    more = "; adapting from here on" if adapt else ""
    assert said == [f"11.5 s: drift: 60.0% of events are rejected, usually 25.0% to 35.0%{more}"]
    assert (stream.adapts, watch.text) == (adapt, "60.0% of events are rejected, usually 25.0% to 35.0%")


def test_adapting_begins_once_and_the_end_of_an_alarm_is_told():
    stream, watch, said = watched(adapt=True, rejected=[0.3] * 11 + [0.6] * 2 + [0.3] * 2 + [0.6] * 2)
    assert said[1] == "13.5 s: the stream is as usual again"
    assert said[2] == "15.5 s: drift: 60.0% of events are rejected, usually 25.0% to 35.0%"
    assert (watch.drift.alarms, stream.adapts) == (2, True)
    assert watched(adapt=True, rejected=[0.3] * 11 + [0.6] * 2 + [0.3] * 2)[1].text == ""


def test_packets_of_one_time_are_of_one_window():
    drift = Drift()
    for _ in range(3):
        drift.update(7, 100, np.zeros(100))
    drift.update(500_007, 100, np.zeros(0))
    assert drift._windows[0][0] == 0.25


def test_a_restart_of_the_stream_begins_a_window():
    stream = Stream()
    watch = Watch(stream)
    stream.latest, stream.events = 1_000_000, 300
    watch.update(decision())
    stream.latest, stream.events, stream.restarts = 2_000_000, 600, 1
    watch.update(decision())
    assert watch.drift._windows == []
    stream.latest, stream.events = 3_000_000, 900
    watch.update(decision())
    assert len(watch.drift._windows) == 1
