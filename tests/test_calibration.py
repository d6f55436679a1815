"""Decisions by evidence, and probabilities that can be relied on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from timesurf import Full, Network, Rule, SettingError, Sup3rClassifier, Window, calibration, metrics
from timesurf.errors import ModelFileError
from timesurf.modelfile import describe, write

from .random_networks import blobs

DATA, TEST, OTHER = blobs(60, seed=0), blobs(30, seed=1), blobs(30, seed=2)
LAYERS = [Window(3, units=6, tau="5 ms"), Full(tau="20 ms")]
seeds = st.integers(0, 2**32 - 1)


def by(rule: Rule) -> Network:
    """A network that learns by this rule."""
    network = Network(LAYERS, DATA.field, DATA.polarities, DATA.classes, rule=rule)
    return network.fit(DATA, passes=2, batch_size=16, start="kmeans", validation=OTHER)


@pytest.fixture(scope="module")
def paper():
    return by(Rule(alpha=1e-5))


@pytest.fixture(scope="module")
def delta():
    return by(Rule(alpha=1e-4, beta=0.0, last="delta"))


def some_evidence(seed, recordings=40, classes=4, skill=1.0):
    """Evidence with some truth in it: output events, and labels."""
    rng = np.random.default_rng(seed)
    label, events = rng.integers(0, classes, recordings), rng.integers(1, 300, recordings)
    mean = rng.normal(size=(recordings, classes)) + skill * np.eye(classes)[label]
    return mean * events[:, None], events, label


def likelihood(evidence, events, label, by):
    """Log probability that decisions are right and wrong as they are, each believed as `fit` believes it."""
    p = calibration.probabilities(evidence, events, by)
    confidence, right = p.max(axis=1), p.argmax(axis=1) == label
    believed = np.where(right, (right.sum() + 1) / (right.sum() + 2), 1 / ((~right).sum() + 2))
    return (believed * np.log(confidence) + (1 - believed) * np.log(1 - confidence)).sum()


@examples(20)
@given(seeds, st.floats(0.3, 3))
def test_the_scale_makes_decisions_as_likely_as_they_are_right(seed, skill):
    data = some_evidence(seed, skill=skill)
    found = calibration.fit(*data)
    others = [found._replace(scale=found.scale * factor) for factor in (0.5, 0.9, 1.1, 2)]
    assert all(likelihood(*data, found) >= likelihood(*data, other) for other in others)


@examples(10)
@given(seeds)
def test_the_prior_makes_beginnings_as_sure_as_they_are_right(seed):
    evidence, _, label = some_evidence(seed, recordings=300, skill=3)
    luck = np.eye(4)[np.random.default_rng([seed, 1]).integers(0, 4, 300)]  # of one event, which says nothing
    found = calibration.fit(np.eye(4)[evidence.argmax(axis=1)] * 99, np.full(300, 99), label, [(luck, np.ones(300))])
    p = calibration.probabilities(luck, np.ones(300), found).max(axis=1)
    assert found.prior > 0
    assert p.max() < 0.35  # not far from chance


@examples(20)
@given(seeds, st.floats(1e-3, 1e3), st.floats(0, 100))
def test_probabilities_sum_to_one_and_decide_as_evidence_does(seed, scale, prior):
    evidence, events, _ = some_evidence(seed)
    by = calibration.Calibration(scale, prior)
    p = calibration.probabilities(evidence, events, by)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    decided = metrics.decide(np.ones_like(evidence), evidence, by)
    assert np.array_equal(decided.classes, evidence.argmax(axis=1))
    moved = calibration.probabilities(evidence + 7.0 * events[:, None], events, by)
    np.testing.assert_allclose(p, moved, rtol=1e-6, atol=1e-12)  # only differences between classes matter


def test_evidence_that_is_too_sure_gets_a_smaller_scale():
    evidence, events, label = some_evidence(0, recordings=400)
    by = calibration.fit(evidence, events, label)
    assert calibration.fit(10 * evidence, events, label).scale == pytest.approx(by.scale / 10, rel=0.02)
    errors = []
    for other in (by, by._replace(scale=10 * by.scale)):
        p = calibration.probabilities(evidence, events, other)
        errors.append(calibration.reliability(p.max(axis=1), p.argmax(axis=1) == label).error)
    assert errors[0] < 0.06 < errors[1]


def test_the_scale_stays_finite_where_all_is_right_and_says_nothing_where_nothing_is_known():
    votes = np.eye(3) * 10
    by = calibration.fit(votes, np.full(3, 10), np.arange(3))
    assert calibration.probabilities(votes, np.full(3, 10), by).max() == pytest.approx(4 / 5, abs=1e-3)
    assert calibration.fit(votes, np.full(3, 10), np.full(3, -1)) == calibration.UNCALIBRATED
    assert calibration.fit(votes[:, :1], np.full(3, 10), np.zeros(3, int)) == calibration.UNCALIBRATED
    assert calibration.fit(votes * 0, np.zeros(3), np.arange(3)) == calibration.UNCALIBRATED


def test_reliability_by_hand():
    found = calibration.reliability(np.array([0.95, 0.85, 0.85, 1.0]), np.array([True, True, False, True]))
    assert found.recordings.tolist() == [0] * 8 + [2, 2]
    assert found.accuracy[8:].tolist() == [0.5, 1.0]
    assert found.error == pytest.approx((2 * 0.35 + 2 * 0.025) / 4)
    assert np.isnan(calibration.reliability(np.array([]), np.array([])).error)


def test_networks_of_the_delta_rule_decide_by_evidence_and_the_papers_by_votes(paper, delta):
    assert (paper.decides, delta.decides) == ("votes", "evidence")
    assert paper.infer(TEST).evidence is None
    outcome = delta.infer(TEST)
    assert np.array_equal(delta.predict(TEST).classes, outcome.evidence.argmax(axis=1))
    twin = delta.twin(delta.snapshot())
    twin.decides = "votes"
    assert np.array_equal(twin.predict(TEST).classes, metrics.decide(outcome.votes).classes)
    assert twin.twin(twin.snapshot()).decides == "votes"
    with pytest.raises(SettingError, match="votes, evidence"):
        twin.decides = "luck"


def test_calibration_is_fitted_by_validation_and_changes_no_decision(delta):
    fitted = dict(delta.calibration)
    assert fitted.keys() == {"votes", "evidence"}
    plain = delta.twin(delta.snapshot())
    plain.calibration = {}
    assert np.array_equal(plain.predict(TEST).classes, delta.predict(TEST).classes)
    delta.calibrate(OTHER)
    assert delta.calibration == fitted
    figures = delta.evaluate(TEST)
    p = delta.probabilities(delta.infer(TEST))
    right = p.argmax(axis=1) == delta.class_numbers(TEST)
    assert figures["calibration_error"] == calibration.reliability(p.max(axis=1), right).error
    assert "calibration_error" not in plain.evaluate(TEST)


def test_without_calibration_votes_give_their_shares(paper):
    plain = paper.twin(paper.snapshot())
    plain.calibration = {}
    outcome = plain.infer(TEST)
    np.testing.assert_allclose(plain.probabilities(outcome), outcome.votes / outcome.votes.sum(axis=1, keepdims=True))
    outcome.votes[0] = 0
    assert plain.probabilities(outcome)[0].tolist() == [1 / 3] * 3


def test_a_model_file_keeps_calibration_and_reasons(delta, tmp_path):
    delta.why = ("because",)
    delta.save(tmp_path / "m.tsf")
    again = Network.load(tmp_path / "m.tsf")
    assert (again.calibration, again.why) == (delta.calibration, ("because",))
    for wrong in ({"luck": [1.0, 0.0]}, {"votes": [0.0, 0.0]}, {"votes": [1.0, -1.0]}, {"votes": 1.0}, [1.0]):
        with pytest.raises(ModelFileError, match="calibration"):
            write(tmp_path / "wrong.tsf", describe(delta) | {"calibration": wrong}, delta.parameters)
    with pytest.raises(ModelFileError, match="why"):
        write(tmp_path / "wrong.tsf", describe(delta) | {"why": [1]}, delta.parameters)


def test_the_estimator_calibrates_by_networks_that_did_not_see_the_recordings():
    how = {"passes": 2, "batch_size": 16, "start": "kmeans", "alpha": 1e-4, "beta": 0.0, "last": "delta"}
    found = [Sup3rClassifier(LAYERS, **how, random_state=0, calibrate=c).fit(DATA) for c in (None, False)]
    assert found[0].network_.parameters.same(found[1].network_.parameters)
    assert found[0].network_.calibration
    assert not found[1].network_.calibration
    p = found[0].predict_proba(TEST)
    assert np.array_equal(found[0].predict(TEST), found[0].classes_[p.argmax(axis=1)])
    votes = Sup3rClassifier(LAYERS, **how | {"last": "sup3r"}, decide="votes", random_state=0).fit(DATA)
    assert not votes.network_.calibration


def test_the_estimator_reaches_the_share_of_events_to_keep():
    how = {"passes": 3, "batch_size": 16, "start": "kmeans", "alpha": 1e-5, "keep": 0.4, "random_state": 0}
    found = Sup3rClassifier(LAYERS, **how, validation=OTHER).fit(DATA)
    assert metrics.kept(found.network_.infer(TEST)) == pytest.approx(0.4, abs=0.03)
    assert len(found.network_.history) == 4  # a third of the passes again


def test_an_outcome_without_evidence_is_decided_by_votes(delta):
    twin = delta.twin(delta.snapshot())
    outcome = twin.adapt(TEST)
    assert outcome.evidence is None
    assert np.array_equal(twin.decide(outcome).classes, metrics.decide(outcome.votes).classes)
    assert twin.calibrated(outcome) == delta.calibration["votes"]


def test_no_prior_is_the_first_candidate_and_each_other_is_larger():
    assert calibration._PRIORS[0] == 0
    assert (np.diff(calibration._PRIORS) > 0).all()
