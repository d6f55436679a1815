"""A session where a comparison turns: jumps forward and back, the first event of a stream, packets of every kind."""

from contextlib import suppress

import numpy as np
import pytest

from tests.live.test_ties import push
from timesurf import EventError, Full, Network, Rule, SettingError
from timesurf.calibration import Calibration
from timesurf.engines import Parameters
from timesurf.events import LATEST
from timesurf.live.checks import check_type, how_to_decide, why_not
from timesurf.live.intake import Refusals, decisions
from timesurf.live.session import Session

SECOND = 1_000_000


@pytest.fixture(scope="module")
def network():
    made = Network([Full(tau=0.01)], (3,), 1, ["a", "b", "c"])
    made.parameters = Parameters.of([np.eye(3)[:, :, None]], [np.full(3, np.inf)])
    return made


def twice(network, value, jump, *, latest=5 * SECOND, on_jump="restart"):
    """How often a stream restarts where two packets come at `value` after one at `latest`."""
    session = Session(network, jump=jump, on_jump=on_jump)
    push(session, [0], [latest])
    for _ in range(2):
        with suppress(EventError):
            push(session, [1], [value])
    return session.restarts


@pytest.mark.parametrize(
    ("back", "jump", "restarts"),
    [
        (SECOND, "1 h", 0), (SECOND + 1, "1 h", 1), (10_000, "10 ms", 0), (10_001, "10 ms", 1), (1, "10 ms", 0),
        (SECOND + 1, None, 1),
    ],
)  # fmt: skip
def test_a_clock_is_set_back_by_more_than_a_second_or_the_longest_pause(network, back, jump, restarts):
    assert twice(network, 5 * SECOND - back, jump) == restarts
    assert twice(network, 5 * SECOND - back, jump, on_jump="refuse") == 0


@pytest.mark.parametrize(("ahead", "restarts"), [(10_000, 0), (10_001, 1)])
def test_a_clock_jumps_ahead_by_more_than_the_longest_pause(network, ahead, restarts):
    assert twice(network, 5 * SECOND + ahead, "10 ms") == restarts
    assert twice(network, 5 * SECOND + ahead, "10 ms", on_jump="refuse") == 0


def test_a_new_stream_begins_only_where_the_second_packet_follows_the_first(network):
    session = Session(network, jump="10 ms", on_jump="restart")
    push(session, [0, 0], [100, 200])
    for t in (9 * SECOND, 8 * SECOND, 8 * SECOND + 10_001, LATEST):  # none is there where the one before was
        with pytest.raises(EventError):
            push(session, [1], [t])
    assert (session.first, session.latest, session.events, session.restarts) == (100, 200, 2, 0)
    with pytest.raises(EventError):
        push(session, [1], [3 * SECOND])
    with pytest.raises(EventError, match="event 1 of the packet: x = 3"):
        push(session, [1, 3], [3 * SECOND, 3 * SECOND])  # it follows, and is not valid
    push(session, [1], [3 * SECOND + 10_000])
    assert (session.first, session.latest) == (3 * SECOND + 10_000,) * 2
    assert (session.events, session.restarts) == (3, 1)
    assert session.votes.tolist() == [0, 1, 0]
    assert session.kept.tolist() == [1.0]
    session.reset()
    assert (session.first, session.latest, session.events, session.restarts) == (-1, -1, 0, 0)


def test_a_good_packet_between_two_strays_forgets_the_first(network):
    session = Session(network, jump="10 ms", on_jump="restart")
    push(session, [0], [100])
    for _ in range(2):
        with pytest.raises(EventError):
            push(session, [1], [SECOND])
        push(session, [0], [session.latest + 1])
    assert session.restarts == 0


@pytest.mark.parametrize(
    ("x", "t", "reason"),
    [
        ([3], [0], "event 0 of the packet: x = 3 is off the field"), ([0, -1], [100, 100], "event 1 .* x = -1"),
        ([0], [-1], "event 0"), ([0], [LATEST], "event 0"),
        ([0, 0], [105, 104], "event 1 .*time 104 us comes before 105 us"),
        ([0], [99], "event 0 .*time 99 us comes before 100 us. A stream goes forward"),
        ([0], [10_101], r"event 0 .*time 10101 us is 10\.\d+ ms after the event before, and jump = 10 ms"),
        ([0, 0], [100, 10_101], "event 1 .* after the event before"),
    ],
)  # fmt: skip
def test_the_reason_names_the_event_and_the_value(network, x, t, reason):
    session = Session(network, jump="10 ms")
    push(session, [0], [100])
    with pytest.raises(EventError, match=reason):
        push(session, x, t)
    assert (session.events, session.latest) == (1, 100)


def test_packets_of_other_types_are_refused(network):
    session = Session(network)
    good = np.zeros(2, [("x", int), ("t", int)])
    for packet, word in (
        ([1, 2], "not list"), (np.zeros(2), "needs the fields x and t"), (good.reshape(1, 2), "flat array"),
        (np.zeros(2, [("x", float), ("t", int)]), "x is float64"), (np.zeros(2, [("x", int)]), "needs the fields"),
        (np.zeros(2, [("x", int), ("t", int), ("p", float)]), "p is float64"),
    ):  # fmt: skip
        with pytest.raises(EventError, match=word):
            session.push(packet)
    x, t = np.zeros(2, int), np.zeros(2, int)
    for coords, times, p, word in (
        ([x, x], t, None, "2 coordinates for a field of 1"), ([x[:1]], t, None, "one value per event"),
        ([x.astype(float)], t, None, "not float64"), ([[0, 0]], t, None, "not list"), ([x], t, t[:1], "one value"),
        ([x.reshape(1, 2)], t.reshape(1, 2), None, "one value"),
    ):  # fmt: skip
        with pytest.raises(EventError, match=word):
            session.take(coords, times, p)
    assert session.events == 0
    assert session.take([x], t).decision == "a"
    assert session.push(good).confidence == 1
    with pytest.raises(SettingError, match="refuse, restart"):
        Session(network, on_jump="hope")


def test_packets_may_be_larger_than_all_before(network):
    session = Session(network)
    for n in (256, 257, 2000):
        found = push(session, np.arange(n) % 3, session.latest + 1 + np.arange(n))
        assert found.events.tolist() == list(range(n))
        assert found.units.tolist() == (np.arange(n) % 3).tolist()
    assert session.events == 2513
    assert session.votes.sum() == 2513


def test_votes_decay_by_their_time_constant(network):
    session = Session(network, vote_tau=100)
    push(session, [0], [50])
    push(session, [1], [150])
    np.testing.assert_allclose(session.votes, [np.exp(-1), 1, 0])
    assert not session.adapts


def test_a_packet_is_refused_as_a_whole_unless_its_events_came_one_by_one(network):
    packet = np.zeros(3, [("x", int), ("t", int)])
    packet["x"][1] = 7
    for more, events, refused in (({}, 0, 1), ({"one_by_one": True}, 2, 1)):
        session, refusals = Session(network), Refusals()
        assert len(list(decisions(session, [packet], refusals, **more))) == events
        assert (session.events, refusals.count) == (events, refused)


# ------------------------------------------------------------------ what packets and settings must be


@pytest.mark.parametrize("kind", ["i1", "u8", "?"])
def test_packets_of_any_integers_are_accepted(network, kind):
    packet = np.zeros(2, [("x", kind), ("t", "i8"), ("p", kind)])
    assert check_type(packet, ["x"])
    assert not check_type(packet[["x", "t"]], ["x"])
    assert Session(network).push(packet).decision == "a"
    for wrong in ("x", "t", "p"):
        other = packet.astype([(name, "f4" if name == wrong else "i8") for name in "xtp"])
        with pytest.raises(EventError, match=f"{wrong} is float32"):
            check_type(other, ["x"])


def refused(*, row, value, event=0, latest=100):
    """Why an event is refused; rows of x, y, polarities and times."""
    packet = np.zeros((4, 3), np.int64)
    packet[3] = 50, 60, 70
    packet[row, event] = value
    return why_not(packet, row, event, np.array([5, 4, 2]), latest, 1000)


def test_the_reason_for_which_an_event_is_refused():
    assert refused(row=0, value=5).startswith("x = 5 is off the field (0 to 4)")
    assert refused(row=1, value=-1).startswith("y = -1 is off the field (0 to 3)")
    assert refused(row=2, value=2) == "polarity 2 is not one of the 2 polarities (0 to 1)."
    assert refused(row=3, value=-1).startswith("time -1 us is negative")
    assert refused(row=3, value=LATEST).startswith(f"time {LATEST} us is beyond")
    assert refused(row=3, value=0).startswith("time 0 us comes before 100 us")
    assert refused(row=3, value=99).startswith("time 99 us comes before 100 us")
    assert refused(row=3, value=49, event=1).startswith("time 49 us comes before 50 us")
    assert refused(row=3, value=2100).startswith("time 2100 us is 2 ms after the event before, and jump = 1 ms")
    assert refused(row=3, value=3060, event=2).startswith("time 3060 us is 3 ms after")


@pytest.mark.parametrize("sure", [0, -0.5, 1.01, float("nan")])
def test_how_a_session_decides(network, sure):
    calibrated = network.twin(network.snapshot())
    calibrated.calibration = {"votes": Calibration(2.0)}
    assert how_to_decide(calibrated, None, None) == (calibrated.decides, 2.0)
    assert how_to_decide(calibrated, "votes", 1) == ("votes", 1.0)
    assert how_to_decide(calibrated, "votes", 1e-9) == ("votes", 1e-9)
    assert how_to_decide(network, "evidence", None) == ("evidence", 2.0)
    with pytest.raises(SettingError, match="must lie between 0 and 1"):
        how_to_decide(calibrated, "votes", sure)
    with pytest.raises(SettingError, match="no calibrated probabilities"):
        how_to_decide(calibrated, "evidence", 0.5)
    with pytest.raises(SettingError, match="must be one of"):
        how_to_decide(calibrated, "chance", None)


def test_refusals_are_counted_with_the_latest_reason():
    seen = []
    refusals = Refusals(lambda all_: seen.append((all_.count, all_.reason)))
    refusals.add("a")
    refusals.add("b", 3)
    assert seen == [(1, "a"), (4, "b")]


def test_what_decisions_get_is_prepared_and_labelled(network):
    made = np.zeros(1, [("x", int), ("t", int), ("p", int)])
    later = made.copy()
    later["x"], later["t"] = 9, 10
    session, labels = Session(network), iter(["b", None])
    how = {"prepare": lambda packet: _to(packet, 2), "label": lambda: next(labels)}
    assert [found.decision for found in decisions(session, [made, later], Refusals(), **how)] == ["c", "c"]
    assert session.changes == 1


def _to(packet, x):
    packet = packet.copy()
    packet["x"] = x
    return packet


def test_a_session_has_its_settings(network):
    assert (Session(network).adapts, Session(network, adapt=True).adapts) == (False, True)
    session = Session(network, jump=0.25)  # never below a microsecond
    push(session, [0, 0], [5, 6])
    with pytest.raises(EventError, match="after the event before"):
        push(session, [0], [8])
    session = Session(network)
    push(session, [0, 0], [0, 3600 * SECOND])
    with pytest.raises(EventError, match="jump = 3600 s"):
        push(session, [0], [7200 * SECOND + 1])
    for n in range(21):
        session.push(_at(n % 3, 3601 * SECOND + n), label="abc"[n % 3])
    assert session.changes == 21
    session.undo(20)  # as many as are remembered
    assert session.changes == 1
    with pytest.raises(SettingError, match="there are 0 changes"):
        session.undo()


def _at(x, t):
    packet = np.zeros(1, [("x", int), ("t", int)])
    packet["x"], packet["t"] = x, t
    return packet


def test_single_events_are_those_of_packets(network):
    one, many = Session(network, vote_tau=1000), Session(network, vote_tau=1000)
    xs, ts = [0, 2, 2, 1], [5, 9, 9, 30]
    assert [one.push_one(x, 0, t) for x, t in zip(xs, ts, strict=True)] == xs
    found = push(many, xs, ts)
    assert (one.decision, one.confidence, one.events) == (found.decision, found.confidence, 4)
    assert one.votes.tolist() == many.votes.tolist()
    assert (one.first, one.latest) == (5, 30)
    with pytest.raises(EventError, match="3 numbers, not 2"):
        Session(network).push_one(0, 5)
    with pytest.raises(EventError, match="comes before 30 us"):
        one.push_one(0, 0, 29)
    assert one.events == 4
    held = Session(network, recent="1 s")
    assert [held.push_one(1, 0, 7), held.events] == [1, 1]


def test_no_more_events_are_kept_than_came_if_a_single_one_is_interrupted(network):
    session = Session(network)
    session.push_one(0, 0, 7)
    kernel = session._one

    def interrupted(*event):
        kernel(*event)
        raise KeyboardInterrupt

    session._one = interrupted
    with pytest.raises(KeyboardInterrupt):
        session.push_one(0, 0, 8)
    assert session._counts.kept.tolist() == [[2]]
    assert session.kept.tolist() == [1]


@pytest.fixture
def closed():
    """A network that outputs nothing for events at place 2."""
    made = Network([Full(tau=0.01)], (3,), 1, ["a", "b", "c"])
    made.parameters = Parameters.of([np.eye(3)[:, :, None]], [np.array([np.inf, np.inf, -1.0])])
    return made


def test_an_event_without_output_has_no_unit_also_where_it_begins_a_stream(closed):
    session = Session(closed, jump="10 ms", on_jump="restart")
    assert [session.push_one(0, 0, 5), session.push_one(2, 0, 6)] == [0, -1]
    with pytest.raises(EventError):
        session.push_one(2, 0, 3 * SECOND)
    assert session.push_one(2, 0, 3 * SECOND + 1) == -1
    assert session.restarts == 1


def test_shares_that_were_kept_are_those_of_all_recordings(closed):
    session = Session(closed)
    assert session.kept.tolist() == [0]
    push(session, [0, 2, 2], [1, 2, 3])
    session.cut()
    push(session, [2], [50])
    assert session.kept.tolist() == [0.25]
    assert (session.first, session.latest, session.events) == (1, 50, 4)
    session.start_adapting()
    session.start_adapting()
    assert (session.adapts, session.changes) == (True, 1)


def test_probabilities_are_those_of_the_decision_calibrated_where_the_network_is():
    """Shares of the votes before; after, the leading class has the confidence of the decision."""
    network = Network([Full(tau=1.0)], (2,), 1, ["a", "b"])
    network.parameters = Parameters.of([np.eye(2)[:, :, None]], [np.full(2, np.inf)])
    packet = np.array([(0, 0), (0, 1000), (1, 2000)], [("x", int), ("t", int)])
    session = Session(network)
    assert session.probabilities.tolist() == [0, 0]
    session.push(packet)
    np.testing.assert_allclose(session.probabilities, [2 / 3, 1 / 3])
    network.calibration = {"votes": Calibration(3.0, 1.0), "evidence": Calibration(0.5, 2.0)}
    for how in ("votes", "evidence"):
        session = Session(network, decide=how)
        decision = session.push(packet)
        assert session.probabilities.sum() == pytest.approx(1)
        assert session.probabilities.max() == pytest.approx(decision.confidence)
        assert session.probabilities.max() != pytest.approx(2 / 3)


def test_a_packet_of_another_clock_is_refused_with_what_two_senders_need():
    network = Network([Full(tau=1.0)], (2,), 1, ["a", "b"])
    network.parameters = Parameters.of([np.eye(2)[:, :, None]], [np.full(2, np.inf)])
    session = Session(network, on_jump="restart")
    for t, refused in ((5_000_000, False), (4_400_000, True), (5_000_100, False), (4_400_100, True)):
        packet = np.array([(0, t)], [("x", int), ("t", int)])
        if refused:
            with pytest.raises(EventError, match=r"packets in order; .*two senders .* a stream of its own"):
                session.push(packet)
        else:
            session.push(packet)
    with pytest.raises(EventError, match="sort its events"):
        session.push(np.array([(0, 5_000_300), (0, 5_000_200)], [("x", int), ("t", int)]))


def test_votes_decay_from_an_output_at_time_0_too(network):
    session = Session(network, vote_tau=100)
    push(session, [0], [0])
    push(session, [1], [100])
    np.testing.assert_allclose(session.votes, [np.exp(-1), 1, 0])


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_session_that_learns_weighs_evidence_as_one_that_does_not(precision):
    """With rates of 0 both see the same network, by other kernels: votes and evidence are the same."""
    rng = np.random.default_rng(2)
    made = Network([Full(tau=50.0)], (5,), 1, ["a", "b", "c"], precision=precision)
    made.parameters = Parameters.of([rng.random((3, 5, 1))], [np.full(3, np.inf)])
    still = Rule(alpha=0, beta=0, gamma=0, delta=0)
    frozen, learning = Session(made, decide="evidence"), Session(made, decide="evidence", adapt=still)
    pixels, times = rng.integers(0, 5, 55), np.cumsum(rng.integers(5, 30, 55))
    for session in (frozen, learning):
        push(session, pixels[:5], times[:5])
        push(session, pixels[5:], times[5:])
    np.testing.assert_array_equal(learning.votes, frozen.votes)
    np.testing.assert_allclose(learning.probabilities, frozen.probabilities, rtol=1e-5)
    assert 1e-3 < frozen.probabilities.min() < frozen.probabilities.max() < 0.999
