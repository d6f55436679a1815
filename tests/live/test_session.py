"""A live session decides the same, however the stream is cut."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.random_networks import cases
from timesurf import EventError, Network, Recordings, Rule
from timesurf.engines import pack, reference
from timesurf.live.session import Session
from timesurf.presets import SENTENCES

PACKET = [("x", np.int16), ("y", np.int16), ("t", np.int64), ("p", np.int8)]


@pytest.fixture(scope="module")
def trained():
    from timesurf.datasets import sentences

    data = sentences.make(100, seed=0)
    quick = replace(SENTENCES, rule=Rule(alpha=3e-3, beta=3e-4, gamma=3e-3, delta=1.5e-4))
    return quick.network(data, sentences.TASK1, seed=0).fit(data, passes=3), sentences.make(6, seed=1)


def cuts(events, rng):
    """Packets of random sizes, some empty."""
    places = np.sort(rng.integers(0, len(events) + 1, rng.integers(0, 12)))
    return np.split(events, places)


@given(cases(), st.integers(0, 2**32))
@settings(deadline=None)
def test_outputs_are_those_of_the_whole_stream_for_any_cut(case, seed):
    stages, rng = case.stages, np.random.default_rng(seed)
    classes = range(stages[-1].classes)
    network = Network([stage.layer for stage in stages], stages[0].field, stages[0].polarities, classes)
    network.parameters = case.parameters
    one = case.recordings[int(np.argmax(case.recordings.counts))]
    whole = reference.infer(stages, case.parameters, pack(one), trace=True).trace
    out = np.flatnonzero(whole.passed == len(stages))
    session, index, unit, S = Session(network), [], [], []
    for a, b in zip(*bounds(len(one.t), rng), strict=True):
        decision = session.take([x[a:b] for x in one.coords], one.t[a:b], one.p[a:b])
        index.append(a + decision.events)
        unit.append(decision.units)
        S.append(decision.S)
    np.testing.assert_array_equal(np.concatenate(index), out)
    np.testing.assert_array_equal(np.concatenate(unit), whole.winner[out, -1])
    np.testing.assert_allclose(np.concatenate(S), whole.S[out, -1], atol=1e-6)
    of_units = np.bincount(whole.winner[out, -1], minlength=stages[-1].units)
    np.testing.assert_array_equal(session.votes, of_units.reshape(stages[-1].classes, -1).sum(axis=1))


def bounds(n, rng):
    places = np.sort(rng.integers(0, n + 1, rng.integers(0, 8)))
    return np.concatenate([[0], places]), np.concatenate([places, [n]])


def test_adapting_ends_as_offline_to_the_bit_for_any_cut(trained):
    network, data = trained
    rule = Rule(alpha=1e-3, beta=1e-4, gamma=1e-3, delta=1e-5)
    (events,) = data[0].to_structured()
    offline = network.twin(network.snapshot())
    outcome = offline.adapt(data[0], rule=rule)
    for seed in range(5):
        session = Session(network, adapt=rule)
        for packet in cuts(events, np.random.default_rng(seed)):
            session.push(packet)
        adapted = session.adapted().parameters
        assert adapted.same(offline.parameters)
        np.testing.assert_array_equal(session.votes, outcome.votes[0])
    assert not np.array_equal(adapted[0].centroids, network.parameters[0].centroids)


def test_the_decision_is_the_majority_so_far_or_of_late(trained):
    network, data = trained
    (events,) = data[0].to_structured()
    lasting, fading = Session(network), Session(network, vote_tau="1 ms")
    assert lasting.push(events[:0]).decision is None
    whole = lasting.push(events)
    votes = network.infer(data[0]).votes[0]
    np.testing.assert_array_equal(lasting.votes, votes)
    assert whole.decision == network.classes[votes.argmax()]
    assert whole.confidence == votes.max() / votes.sum()
    assert lasting.events == len(events)
    np.testing.assert_allclose(lasting.kept[-1], votes.sum() / len(events))
    for packet in cuts(events, np.random.default_rng(0)):
        last = fading.push(packet)
    t = events["t"][whole.events]
    weight = np.exp((t - t[-1]) / 1000)
    expected = np.bincount(whole.units, weight, minlength=2)
    np.testing.assert_allclose(fading.votes, expected)
    assert last.decision == network.classes[expected.argmax()]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"x": 99}, "x = 99 is off the field"),
        ({"p": 9}, "polarity 9"),
        ({"t": -5}, "time -5 us is negative"),
        ({"t": 3}, "time 3 us comes before"),
    ],
)
def test_a_bad_event_refuses_the_packet_and_changes_nothing(trained, change, why):
    network, data = trained
    (events,) = data[0].to_structured()
    session, undisturbed = Session(network), Session(network)
    session.push(events[:50])
    bad = events[50:80].copy()
    for name, value in change.items():
        bad[name][7] = value
    with pytest.raises(EventError, match=f"event 7 of the packet: .*{why}"):
        session.push(bad)
    for s, packets in ((session, [events[50:]]), (undisturbed, [events[:50], events[50:]])):
        for packet in packets:
            s.push(packet)
    np.testing.assert_array_equal(session.votes, undisturbed.votes)
    assert session.events == undisturbed.events


def test_invalid_packets_are_refused_with_a_reason(trained):
    session = Session(trained[0])
    with pytest.raises(EventError, match="needs the fields x, y and t"):
        session.push(np.zeros(3, [("x", int), ("t", int)]))
    with pytest.raises(EventError, match="integers, not float64"):
        session.take([np.zeros(1), np.zeros(1, int)], np.zeros(1, int))
    late = np.zeros(1, PACKET)
    late["t"] = 10
    session.push(late)
    with pytest.raises(EventError, match="comes before 10 us"):
        session.push(np.zeros(1, PACKET))


def test_reset_begins_anew(trained):
    network, data = trained
    (events,) = data[0].to_structured()
    session = Session(network, adapt=True)
    first = session.push(events)
    session.reset()
    again = session.push(events)
    np.testing.assert_array_equal(first.units, again.units)
    assert session.events == len(events)


@pytest.mark.parametrize("offset", [2**31 - 5000, 2**32 - 5000, 2**53 - 5000, 2**60])
def test_times_of_any_size_lose_no_precision(trained, offset):
    """Clocks of cameras run for hours, and overflow in the middle of a recording where too few bits are kept."""
    network, data = trained
    (events,) = data[0].to_structured()
    later = events.astype([(name, np.int64) for name in events.dtype.names])
    later["t"] += offset
    at_zero, at_offset = (
        network.trace(Recordings([some["x"], some["y"]], some["t"], field=data.field)) for some in (events, later)
    )
    np.testing.assert_array_equal(at_offset.winner, at_zero.winner)
    np.testing.assert_array_equal(at_offset.S, at_zero.S)
    here, there = Session(network).push(events), Session(network).push(later)
    np.testing.assert_array_equal(there.units, here.units)
    np.testing.assert_array_equal(there.S, here.S)


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_one_event_at_a_time_equals_packets(trained, precision):
    network, data = trained
    network = Network(
        network.layers, network.field, network.polarities, network.classes, rule=network.rule, precision=precision
    ).restore(network.parameters)
    one, whole = Session(network, adapt=True), Session(network, adapt=True)
    recording = data[0]
    decision = whole.push(recording)
    events = zip(*(column.tolist() for column in (*recording.coords, recording.p, recording.t)), strict=True)
    units = [one.push_one(*event) for event in events]
    assert [unit for unit in units if unit >= 0] == decision.units.tolist()
    assert np.flatnonzero(np.array(units) >= 0).tolist() == decision.events.tolist()
    assert (one.decision, one.confidence, one.events) == (decision.decision, decision.confidence, whole.events)
    assert one.adapted().parameters.same(whole.adapted().parameters)
    with pytest.raises(EventError, match="comes before"):
        one.push_one(0, 0, 0, 0)
    with pytest.raises(EventError, match="x"):
        one.push_one(network.field[0], 0, 0, int(recording.t[-1]))
    assert one.events == whole.events
    one.reset()
    assert one.decision is None
    assert one.push_one(0, 0, 0, 7) >= -1
    assert one.latest == 7


@pytest.mark.parametrize("recent", [None, "1 s"])  # by the kernel of one event, and as a packet
@pytest.mark.parametrize(
    ("event", "why"),
    [
        ((0, 0, 0, 2**63), "64 bits, and t has more"), ((0, -(2**63) - 1, 0, 7), "64 bits, and y has more"),
        ((0, 0, 0, -(2**63)), "negative"), ((10**5000, 0, 0, 7), "64 bits, and x has more"),
        ((0, 0, 0, float("nan")), "integers, and t is float"),
        ((1.9, 0, 0, 7), "integers, and x is float"), ((0, 0, np.float32(0), 7), "integers, and p is float32"),
        ((0, None, 0, 7), "integers, and y is NoneType"), ((0, "0", 0, 7), "integers, and y is str"),
        ((0, 0, np.zeros(2, int), 7), "integers, and p is ndarray"), ((0, 0, 0), "x, y, p, t: 4 numbers, not 3"),
        ((0, 0, 0, 0, 7), "4 numbers, not 5"), ((), "4 numbers, not 0"),
    ],
)  # fmt: skip
def test_a_single_event_that_is_none_is_refused_with_its_name(trained, event, why, recent):
    session = Session(trained[0], recent=recent)
    for before in range(2):  # the first call binds the kernel
        with pytest.raises(EventError, match=why):
            session.push_one(*event)
        assert session.events == before
        session.push_one(0, np.uint8(0), False, np.int64(7))
    assert (session.events, session.latest) == (2, 7)
