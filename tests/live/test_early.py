"""Early decisions: the moment at which a network is sure."""

import numpy as np
import pytest

from timesurf import Full, Network, Recordings, Rule, Session, SettingError, Window, metrics
from timesurf.live import early as module
from timesurf.live.early import early

from ..random_networks import blobs

DATA, TEST = blobs(45, seed=0), blobs(12, seed=1)


@pytest.fixture(scope="module", params=["votes", "evidence"])
def network(request):
    """A calibrated network of two units per class that rejects some events."""
    layers = [Window(3, units=6, tau="5 ms"), Full(units_per_class=2, tau="20 ms")]
    rule = Rule(alpha=1e-4, beta=0.0, last="delta")
    found = Network(layers, DATA.field, DATA.polarities, DATA.classes, rule=rule, dtype="float64")
    found.fit(DATA, passes=3, batch_size=8, start="kmeans", sample=45)
    found.decides = request.param
    found.tighten(DATA, keep=0.7).calibrate(blobs(45, seed=2))
    return found


def beginning(recording, n):
    """The first n events of a recording."""
    return Recordings(
        [x[:n] for x in recording.coords], recording.t[:n], recording.p[:n], [0, n],
        field=recording.field, polarities=recording.polarities,
    )  # fmt: skip


def certainty(network, recording):
    """Class and probability of the leading class after each event, from whole inferences of the beginnings."""
    found = [network.infer(beginning(recording, n)) for n in range(1, len(recording.t) + 1)]
    p = np.array([network.probabilities(outcome)[0] for outcome in found])
    return p.argmax(axis=1), p.max(axis=1) * [o.votes.sum() > 0 for o in found]


@pytest.mark.parametrize("packet", [1, 7, 80])
def test_a_session_decides_as_the_network_does_for_any_cut(network, packet):
    expected = network.predict(TEST)
    for r in range(len(TEST)):
        session, one = Session(network), TEST[r]
        for i in range(0, len(one.t), packet):
            some = slice(i, i + packet)
            decision = session.take([x[some] for x in one.coords], one.t[some], one.p[some])
        assert decision.decision == network.classes[expected.classes[r]]
        assert decision.confidence == pytest.approx(expected.confidence[r], rel=1e-6)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_it_is_sure_at_the_first_event_at_which_the_probability_reaches_the_level(network, level):
    found = early(network, TEST, level)
    assert found.sure.any()
    for r in range(4):
        leader, p = certainty(network, TEST[r])
        reached = np.flatnonzero(p >= level)
        assert found.sure[r] == (len(reached) > 0)
        first = reached[0] if len(reached) else len(p) - 1
        assert (found.events[r], found.classes[r]) == (first + 1, leader[first])
        assert found.time[r] == TEST[r].t[first] - TEST[r].t[0]
        assert found.share[r] == (first + 1) / len(p)


def test_early_decisions_are_the_same_for_packets_of_any_size(network, monkeypatch):
    whole = early(network, TEST, 0.95)
    assert whole.events.max() > 9
    monkeypatch.setattr(module, "_PACKET", 9)
    for of_parts, of_all in zip(early(network, TEST, 0.95), whole, strict=True):
        assert np.array_equal(of_parts, of_all)


def test_early_decisions_leave_the_network_and_the_stream_as_they_are(network):
    before, (events,) = network.snapshot(), TEST[0].to_structured()
    plain, sure = (Session(network, sure=level).push(events) for level in (None, 0.5))
    assert plain.sure is None
    assert sure.sure is not None
    assert (plain.decision, plain.confidence) == (sure.decision, sure.confidence)
    assert np.array_equal(plain.S, sure.S)
    early(network, TEST, 0.5)
    assert network.parameters.same(before)


def test_a_recording_without_output_is_never_sure(network):
    closed = network.twin(network.snapshot())
    closed.parameters[0].thresholds[:] = 0
    found = early(closed, TEST[:2], 0.5)
    assert found.classes.tolist() == [metrics.SILENT] * 2
    assert not found.sure.any()
    assert found.share.tolist() == [1, 1]


def test_an_unsure_decision_takes_the_whole_recording_from_its_first_event_to_its_last(network):
    closed = network.twin(network.snapshot())
    closed.parameters[0].thresholds[:] = 0
    late = Recordings([[1, 2, 3]] * 2, [500, 600, 930], [0, 1, 0], [0, 2, 2, 3], field=(9, 9), polarities=2)
    found = early(closed, late, 0.5)
    assert (found.time.tolist(), found.events.tolist()) == ([100, 0, 0], [2, 0, 1])


def test_evidence_fades_as_votes_do(network):
    (events,) = TEST[0].to_structured()
    late = events.copy()
    late["t"] += 10**9
    session = Session(network, vote_tau="1 ms", jump=None)
    session.push(events)
    after, alone = session.push(late), Session(network, vote_tau="1 ms").push(late)
    assert after.confidence == pytest.approx(alone.confidence, rel=1e-3)


def test_what_is_not_calibrated_cannot_be_sure(network):
    plain = network.twin(network.snapshot())
    plain.calibration = {}
    with pytest.raises(SettingError, match="calibrated"):
        Session(plain, sure=0.9)
    for level in (0, 1.5):
        with pytest.raises(SettingError, match="between 0 and 1"):
            Session(network, sure=level)
    with pytest.raises(SettingError, match="votes, evidence"):
        Session(network, decide="luck")
