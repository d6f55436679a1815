"""A session on hostile input: what is refused is counted, and changes nothing."""

import numpy as np
import pytest

from timesurf import EventError, Recordings, Rule, SettingError
from timesurf.bench import workloads
from timesurf.errors import DivergedError
from timesurf.events import LATEST
from timesurf.live.intake import Refusals, decisions
from timesurf.live.session import Session

HOUR = 3_600_000_000
EVENT = [("x", "<u2"), ("y", "<u2"), ("t", "<i8"), ("p", "u1")]


@pytest.fixture(scope="module")
def network():
    data = workloads.strokes(4, events=300, field=(8, 8))
    return workloads.started(workloads.NMNIST, data)


def at(*times, x=3):
    packet = np.zeros(len(times), EVENT)
    packet["x"], packet["t"] = x, times
    return packet


def stream(seed=0, n=400, start=1000):
    rng = np.random.default_rng(seed)
    packet = np.zeros(n, EVENT)
    packet["x"], packet["y"] = rng.integers(0, 8, (2, n))
    packet["t"] = start + np.cumsum(rng.integers(0, 300, n))
    return packet


def parameters_of(session):
    return [array for units in session.adapted().parameters for array in (units.centroids, units.thresholds)]


def test_bad_packets_are_refused_and_the_good_ones_decide_alone(network):
    events = stream()
    good = np.split(events, 8)
    bad = [at(5, x=99), at(2**63 - 1), at(LATEST), at(-5), at(int(events["t"][-1]) + 2 * HOUR), at(0)]
    mixed = [good[0], *(packet for pair in zip(good[1:], [*bad, bad[0]], strict=True) for packet in pair)]
    alone, among = Session(network, adapt=True), Session(network, adapt=True)
    reported, refusals = [], Refusals(lambda r: reported.append((r.count, r.reason)))
    assert len(list(decisions(alone, good, refusals))) == 8
    assert refusals.count == 0
    assert refusals.reason is None
    assert len(list(decisions(among, mixed, refusals))) == 8
    assert refusals.count == 7
    assert [count for count, _ in reported] == list(range(1, 8))
    assert "x = 99 is off the field" in refusals.reason
    np.testing.assert_array_equal(among.votes, alone.votes)
    for a, b in zip(parameters_of(among), parameters_of(alone), strict=True):
        assert a.tobytes() == b.tobytes()


def test_events_that_were_sent_one_by_one_are_refused_one_by_one(network):
    packet = at(*range(10, 20))
    packet["x"][4] = 99
    session, refusals = Session(network), Refusals()
    list(decisions(session, [packet], refusals, one_by_one=True))
    assert session.events == 9
    assert refusals.count == 1


def test_events_of_a_refused_packet_go_through_filters_once(network):
    packet, seen = at(*range(10, 20)), []
    packet["x"][4] = 99
    session, refusals = Session(network), Refusals()

    def prepare(some):
        seen.extend(some["t"].tolist())
        return some[some["t"] != 12]

    list(decisions(session, [packet], refusals, one_by_one=True, prepare=prepare))
    assert seen == list(range(10, 20))
    assert (session.events, refusals.count) == (8, 1)


def test_events_that_filters_refuse_are_refused_one_by_one(network):
    session, refusals = Session(network), Refusals()

    def prepare(some):
        if (some["t"] == 12).any():
            raise EventError("off the sensor")
        return some

    list(decisions(session, [at(*range(10, 20))], refusals, one_by_one=True, prepare=prepare))
    assert (session.events, refusals.count, refusals.reason) == (9, 1, "off the sensor")


# ---------------------------------------------------------------------- jumps in time


@pytest.mark.parametrize("t", [2**63 - 1, 2**62, -1, -(2**63)])
def test_times_outside_the_range_of_recordings_are_refused(network, t):
    for session in (Session(network, adapt=True, jump=None), Session(network, adapt=True, on_jump="restart")):
        session.push(stream())
        for _ in range(3):
            with pytest.raises(EventError, match="negative" if t < 0 else r"beyond 2\*\*62"):
                session.push(at(t))
        assert session.restarts == 0
        assert all(np.isfinite(array[array < np.inf]).all() for array in parameters_of(session))


def test_the_latest_possible_time_poisons_nothing(network):
    session = Session(network, adapt=True, jump=None)
    session.push(at(0))
    session.push(at(LATEST - 1))
    assert session.latest == LATEST - 1
    assert all((abs(array[array < np.inf]) < 10).all() for array in parameters_of(session))
    with pytest.raises(EventError, match="comes before"):
        session.push(at(5))


def test_a_jump_is_refused_with_its_length_and_what_to_do(network):
    session = Session(network, jump="10 s")
    session.push(at(1000))
    session.push(at(10_001_000))  # exactly 10 s
    for packet, event in ((at(20_001_001), 0), (at(10_001_000, 20_001_001), 1)):
        with pytest.raises(
            EventError, match=rf"event {event} .* is 10 s after the event before, and jump = 10 s.*restart"
        ):
            session.push(packet)
    session.push(at(20_001_000))
    assert session.events == 3
    Session(network, jump=None).push(at(0, LATEST - 1))


def test_a_stray_packet_restarts_nothing_and_two_in_a_row_do(network):
    session = Session(network, adapt=True, on_jump="restart")
    session.push(stream())
    learned = parameters_of(session)
    later = session.latest + 5 * HOUR
    for _ in range(3):  # strays, each followed by what continues the stream
        with pytest.raises(EventError, match="after the event before"):
            session.push(at(later))
        session.push(at(session.latest + 1, x=0))
    assert session.restarts == 0
    before = session.events
    with pytest.raises(EventError):
        session.push(at(later))
    session.push(at(later + 5))
    assert (session.restarts, session.events, session.first) == (1, before + 1, later + 5)
    assert session.votes.sum() <= 1  # of the new stream
    assert (session.kept <= 1).all()
    assert any(not np.array_equal(a, b) for a, b in zip(parameters_of(Session(network)), learned, strict=True))
    for now, then in zip(parameters_of(session), learned, strict=True):
        np.testing.assert_allclose(now, then, atol=0.01)  # what was learned is kept


def test_a_new_stream_decides_as_a_new_session_does(network):
    session, new = Session(network, on_jump="restart"), Session(network)
    session.push(stream(0, start=10 * HOUR))
    with pytest.raises(EventError, match="comes before"):
        session.push(at(7))  # the clock was set back
    expected, got = new.push(stream(1)), session.push(stream(1))
    np.testing.assert_array_equal(got.units, expected.units)
    np.testing.assert_array_equal(got.S, expected.S)
    np.testing.assert_array_equal(session.votes, new.votes)


def test_a_short_stream_that_is_sent_again_begins_anew_with_its_eighth_packet(network):
    session, again = Session(network, on_jump="restart"), stream(n=400)
    again["t"] = 1000 * np.arange(400) + 5
    session.push(again)
    refused = 0
    for i in range(400):
        try:
            session.push(again[i : i + 1])
        except EventError:
            refused += 1
    assert (refused, session.restarts, session.events) == (7, 1, 400 + 393)


def test_a_packet_that_comes_a_little_late_never_restarts(network):
    session = Session(network, on_jump="restart")
    session.push(at(10_000_000))
    for t in (9_000_000, 9_100_000, 9_200_000):
        with pytest.raises(EventError, match="comes before 10000000 us"):
            session.push(at(t))
    assert session.restarts == 0


def test_a_new_stream_does_not_begin_with_a_bad_packet(network):
    session = Session(network, on_jump="restart")
    session.push(at(5))
    for packet, why in (
        (at(5 * HOUR), "after"),
        (at(5 * HOUR, 4 * HOUR), "before"),
        (at(5 * HOUR, 50 * HOUR), "after"),
    ):
        with pytest.raises(EventError, match=why):
            session.push(packet)
    assert (session.restarts, session.latest, session.events) == (0, 5, 1)


def test_the_policies_are_named(network):
    with pytest.raises(SettingError, match="on_jump = 'hope' must be one of refuse, restart"):
        Session(network, on_jump="hope")
    with pytest.raises(SettingError, match="jump = 'soon' is not a time"):
        Session(network, jump="soon")


# ---------------------------------------------------------------------- packets of other kinds


@pytest.mark.parametrize(
    ("packet", "why"),
    [
        ([(1, 2, 3, 0)], "not list"),
        (None, "not NoneType"),
        (at(1, 2).reshape(2, 1), r"not one of shape \(2, 1\)"),
        (np.zeros(2, [("x", "u1"), ("y", "u1"), ("t", "<i8", (2,))]), "convert"),
        (np.zeros(2, [("x", "u1"), ("y", "u1"), ("t", "<f8")]), "float64"),
        (np.zeros(2, [("x", "u1"), ("y", "O"), ("t", "<i8")]), "object"),
        (np.zeros(2, [("x", "u1"), ("y", "u1"), ("t", "<M8[us]")]), "datetime64"),
        (np.zeros(2, np.int64), "needs the fields"),
    ],
)
def test_packets_of_other_kinds_are_refused(network, packet, why):
    session = Session(network)
    for _ in range(2):  # the type of a packet is checked once, if it is good
        with pytest.raises(EventError, match=why):
            session.push(packet)
    session.push(at(1))


def test_arrays_of_different_lengths_are_refused(network):
    session, ones = Session(network), np.ones(3, int)
    for coords, t in (([ones[:1], ones], ones), ([ones, ones], ones[:2]), ([ones, ones], ones.reshape(3, 1))):
        with pytest.raises(EventError, match="one value per event"):
            session.take(coords, t)
    with pytest.raises(EventError, match="not list"):
        session.take([[1], [1]], [1])
    assert session.events == 0


def test_a_session_that_diverged_returns_no_network(network):
    session = Session(network, adapt=Rule(alpha=1e4, beta=1e4))
    session.push(stream(n=3000))
    with pytest.raises(DivergedError, match="diverged"):
        session.adapted()


def test_no_more_events_are_kept_than_came_if_a_packet_is_interrupted(network, monkeypatch):
    session = Session(network)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(session, "_tally", interrupted)
    with pytest.raises(KeyboardInterrupt):
        session.push(stream())
    assert session.kept.max() > 0
    assert (session.kept <= 1).all()


def test_recordings_are_packets_too(network):
    session, events = Session(network), stream()
    one = Recordings([events["x"], events["y"]], events["t"], field=(8, 8))
    np.testing.assert_array_equal(session.push(one).units, Session(network).push(events).units)
