"""Probabilities where a comparison turns, what networks calibrate by, and calibration by cross-validation."""

from types import SimpleNamespace

import numpy as np
import pytest

from timesurf import EventError, Full, Network, Recordings, SettingError, Window, calibration
from timesurf.calibration import UNCALIBRATED, Calibration
from timesurf.engines import Outcome, Parameters
from timesurf.errors import NotFittedError
from timesurf.learning import calibrate


def test_beginnings_and_priors_are_powers_of_four():
    powers = [4**k for k in range(6)]
    assert list(calibration.BEGINNINGS) == powers
    assert list(calibration._PRIORS) == [0, *powers]
    assert tuple(UNCALIBRATED) == (1, 0)


def test_the_scale_of_one_case_is_found_to_half_a_percent_and_stays():
    rng = np.random.default_rng(5)
    label = rng.integers(0, 3, 40)
    evidence = rng.normal(size=(40, 3)) + np.eye(3)[label]
    found = calibration.fit(evidence, np.ones(40), label)
    assert found.prior == 0
    behind, right = calibration._judged(evidence, np.ones(40), label, 0.0)
    exact = min(np.geomspace(0.5, 2, 4001) * found.scale, key=lambda scale: calibration._surprise(behind, right, scale))
    assert found.scale == pytest.approx(exact, rel=0.005)
    assert found.scale == pytest.approx(SCALE, rel=1e-6)


SCALE = 1.4632081869739013  # of the search as it is: 81 scales, then 15 twice


@pytest.mark.parametrize(("size", "scale"), [(1e-9, 1e6), (1e9, 1e-6)])
def test_scales_have_ends(size, scale):
    evidence = size * np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    assert calibration.fit(evidence, np.ones(3), np.array([0, 1, 0])).scale == pytest.approx(scale, rel=0.5)


def test_a_recording_counts_where_it_has_a_label_and_output(monkeypatch):
    evidence, label = np.eye(2)[[0, 1, 0, 1]], np.array([0, 0, -1, 1])
    behind, right = calibration._judged(2 * evidence, np.array([1, 3, 1, 0]), label, 1.0)
    assert behind.tolist() == [[0, -1], [-0.5, 0]]
    assert right.tolist() == [True, False]
    assert calibration._surprise(behind[:0], right[:0], 1.0) == 0
    one = calibration.fit(evidence[:1], np.array([1]), np.array([0]))
    assert one.scale > 0
    assert one != UNCALIBRATED
    assert calibration.fit(evidence[:2], np.array([0, 1]), np.array([0, -1])) == UNCALIBRATED


def test_surprise_by_hand():
    behind, right = np.array([[0.0, -np.log(3)], [0.0, -np.log(3)], [-np.log(3), 0.0]]), np.array([True, True, False])
    believed = np.array([3 / 4, 3 / 4, 1 / 3])  # (R + 1) / (R + 2) and 1 / (W + 2)
    by_hand = -(believed * np.log(0.75) + (1 - believed) * np.log(0.25)).mean()
    assert calibration._surprise(behind, right, 1.0) == pytest.approx(by_hand)


def test_many_numbers_are_sampled_but_not_below_a_hundred_recordings(monkeypatch):
    seen, judged = [], calibration._judged
    monkeypatch.setattr(calibration, "_judged", lambda *of: seen.append(len(of[2])) or judged(*of))
    evidence, label = np.eye(2)[np.arange(1000) % 2], np.arange(1000) % 2
    for numbers, few, recordings in ((400, 100, 200), (100, 100, 100), (1 << 18, 100, 1000)):
        monkeypatch.setattr(calibration, "_NUMBERS", numbers)
        monkeypatch.setattr(calibration, "_FEW", few)
        calibration.fit(evidence, np.ones(1000), label)
        assert seen.pop() == recordings
    calibration.fit(evidence, np.ones(1000), label, [(evidence, np.ones(1000))])
    assert len(seen) == 2 * len(calibration._PRIORS)


def test_without_a_prior_none_divides_by_nothing():
    assert calibration._scores(np.array([[3.0, 6.0], [0.0, 0.0]]), np.array([3, 0]), 0.0).tolist() == [[1, 2], [0, 0]]
    assert calibration._scores(np.array([3.0, 6.0]), 2, 1.0).tolist() == [1, 2]


def test_bins_of_reliability():
    found = calibration.reliability(np.array([0.0, 0.0999, 0.1, 1.0]), np.array([True, False, True, True]))
    assert found.recordings.tolist() == [2, 1, 0, 0, 0, 0, 0, 0, 0, 1]
    assert np.isnan(found.accuracy[2])
    assert calibration.reliability(np.array([0.5]), np.array([True]), 2).recordings.tolist() == [0, 1]


# ------------------------------------------------------------------ what networks decide by


@pytest.fixture
def network():
    made = Network([Full(tau=0.01)], (3,), 1, ["a", "b", "c"])
    made.parameters = Parameters.of([np.eye(3)[:, :, None]], [np.full(3, np.inf)])
    return made


def of_pixels(*pixels, labels=None):
    """One recording per list of pixels, an event each, far apart."""
    counts = [len(some) for some in pixels]
    t = np.concatenate([100 * np.arange(n) for n in counts])
    x = np.concatenate([np.asarray(some, int) for some in pixels])
    return Recordings([x], t, offsets=np.concatenate([[0], np.cumsum(counts)]), field=(3,), labels=labels)


def test_networks_are_calibrated_by_beginnings_shorter_than_the_longest_recording(network):
    begun = network.begun(of_pixels([0], [1] * 4, [2] * 16, []))
    assert [outcome.votes.sum(axis=1).tolist() for outcome in begun] == [[1, 4, 16, 0], [1, 1, 1, 0], [1, 4, 4, 0]]
    assert all(outcome.evidence is not None for outcome in begun)
    assert len(network.begun(of_pixels([0] * 5))) == 3
    assert len(network.begun(of_pixels([0]))) == 1
    assert len(network.begun(of_pixels([]))) == 1


def test_what_a_network_decides_by(network):
    some = of_pixels([0, 0, 1], [], labels=["a", "b"])
    assert (network.decides, network.infer(some).evidence) == ("votes", None)
    assert network.outcome(some, evidence=False).evidence is None
    network.decides = "evidence"
    assert network.infer(some).evidence.shape == (2, 3)
    network.decides = None
    assert network.decides == "votes"
    with pytest.raises(SettingError, match="decide = 'chance'"):
        network.decides = "chance"
    network.calibration = {"votes": Calibration(2.0), "evidence": Calibration(3.0)}
    assert network.calibrated(network.infer(some)).scale == 2
    assert network.calibrated(network.outcome(some, evidence=True)).scale == 3


def test_probabilities_of_a_network(network):
    outcome = Outcome(np.array([4, 1]), np.array([[4], [0]]), np.array([[3, 1, 0], [0, 0, 0]]))
    np.testing.assert_allclose(network.probabilities(outcome), [[0.75, 0.25, 0], [1 / 3] * 3])
    network.calibration = {"votes": Calibration(2.0)}
    expected = calibration.probabilities(outcome.votes, np.array([4, 0]), Calibration(2.0))
    np.testing.assert_allclose(network.probabilities(outcome), expected)
    sure = Outcome(outcome.events, outcome.kept, outcome.votes, evidence=np.array([[0.0, 8.0, 0.0], [0.0] * 3]))
    expected = calibration.probabilities(sure.evidence, np.array([4, 0]), UNCALIBRATED)
    np.testing.assert_allclose(network.probabilities(sure), expected)
    assert network.decide(sure).classes.tolist() == [1, -1]


def test_evaluation_needs_one_label(network):
    some = of_pixels([0, 0], [1], labels=["b", None])
    assert network.evaluate(some)["recording_accuracy"] == 0
    with pytest.raises(EventError, match="no labels"):
        network.evaluate(some.with_labels(None))
    with pytest.raises(NotFittedError):
        _ = Network([Full(tau=1)], (3,), 1, ["a"]).parameters
    assert network.started
    assert not Network([Full(tau=1)], (3,), 1, ["a"]).started
    assert (network.field, network.polarities) == ((3,), 1)


def test_layers_are_counted_from_0_and_the_last_is_the_default_of_transform():
    network = Network([Window(1, units=2, tau=1), Full(tau=1)], (3,), 1, ["a", "b"])
    network.parameters = Parameters.of(
        [np.array([[[0.0]], [[1.0]]]), np.zeros((2, 3, 2))], [np.full(2, np.inf), np.full(2, np.inf)]
    )
    some = of_pixels([0, 1])
    assert network.transform(some).polarities == 2
    assert network.transform(some).field != (3,)
    assert network.transform(some, 0).field == (3,)
    assert network.surfaces(some).reshape(2, -1).shape == (2, 1)
    assert network.surfaces(some, 1).reshape(2, -1).shape == (2, 6)


# ------------------------------------------------------------------ cross-validation


class Fold:
    """A network that only notes what it is given."""

    seed, stages, classes = 3, [], np.array(["a", "b"])

    def __init__(self):
        self.by = None

    def class_numbers(self, recordings):
        return np.array([self.classes.tolist().index(name) for name in recordings.labels])

    def resized(self, units, classes):
        assert units == [stage.units for stage in self.stages][:-1]
        assert classes is self.classes
        return Fold()

    def begun(self, recordings):
        times = recordings.t.tolist()  # one event per recording, whose time is its number
        return [Outcome(np.array(times), np.zeros((len(times), 1)), np.zeros((len(times), 2)))]

    def calibrate_by(self, begun, label):
        self.by = dict(zip(begun[0].events.tolist(), label.tolist(), strict=True))


def crossed(monkeypatch, labels):
    fitted = []
    monkeypatch.setattr(calibrate, "fit", lambda part, some, how: fitted.append((some.t.tolist(), how)))
    n = len(labels)
    data = Recordings([[0] * n], t=range(n), offsets=range(n + 1), field=(1,), labels=labels)
    network = Fold()
    calibrate.cross_calibrate(network, data, {"passes": 3, "checkpoints": "x", "resume": True})
    return network.by, fitted


def test_each_half_is_judged_by_what_learned_from_the_other(monkeypatch):
    by, fitted = crossed(monkeypatch, ["a", "b", None, "a", "b", "a", "b"])
    assert by == {0: 0, 1: 1, 3: 0, 4: 1, 5: 0, 6: 1}  # not the one without a label
    assert len(fitted) == 2
    (first, how), (second, _) = fitted
    assert sorted(first + second) == [0, 1, 3, 4, 5, 6]
    assert how == {"passes": 3}


@pytest.mark.parametrize("hidden", [[], [5], [5, 7], [5, 7, 9]])
def test_each_half_is_judged_by_a_network_of_the_same_size(monkeypatch, hidden):
    monkeypatch.setattr(Fold, "stages", [SimpleNamespace(units=n) for n in (*hidden, 2)])
    by, _ = crossed(monkeypatch, ["a", "b", "a", "b"])
    assert len(by) == 4


def test_a_class_with_a_single_recording_is_not_judged_without_it(monkeypatch):
    by, fitted = crossed(monkeypatch, ["a", "b", "a", "a"])
    assert len(fitted) == 1
    assert 1 in fitted[0][0]
    assert 1 not in by
    assert crossed(monkeypatch, ["a", "b"]) == (None, [])
