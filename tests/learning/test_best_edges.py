"""What a training begins with, what is held out of it, and what is refused before it."""

import numpy as np
import pytest

from timesurf import EventError, Full, Network, Recordings, Rule, SettingError, Window
from timesurf.engines import Parameters
from timesurf.learning import best, grow
from timesurf.learning.checkpoints import Checkpoints

STILL = {"alpha": 1e-3, "beta": 0.0, "gamma": 0.0, "delta": 0.0}


def recordings(labels):
    n = len(labels)
    return Recordings([[0] * n], t=range(n), offsets=range(n + 1), field=(3,), labels=labels)


@pytest.fixture
def calls(monkeypatch):
    """What is called in place of beginning, tightening and training."""
    found = []

    def noted(name):
        return lambda network, recordings, *rest, **how: found.append((name, *rest, how))

    monkeypatch.setattr(best, "begin", noted("begin"))
    monkeypatch.setattr(best, "begin_last", noted("begin_last"))
    monkeypatch.setattr(best.sparsity, "tighten", noted("tighten"))
    monkeypatch.setattr(best, "train", noted("train"))
    return found


def fitted(rule=STILL, **settings):
    network = Network([Window(1, units=2, tau=1), Full(tau=1)], (3,), 1, ["a", "b"], rule=Rule(**rule))
    best.fit(network, recordings(["a", "b"]), settings)


def test_what_a_network_is_started_and_trained_with(calls):
    fitted(passes=3, start="kmeans", margin=2.0, hidden=(), keep=None)
    assert calls == [
        ("begin", {"start": "kmeans", "margin": 2.0, "hidden": ()}),
        ("train", {"passes": 3, "keep": None, "checkpoints": None}),
    ]


def test_a_share_to_keep_is_kept_from_the_start_where_thresholds_rest(calls):
    fitted(keep=0.5, validation=0.1, start="kmeans", margin=2.0, hidden=(), sample=7)
    assert [call[0] for call in calls] == ["begin", "tighten", "begin_last", "train"]
    assert calls[1][1:] == (0.5, 0.1, {})
    assert calls[2][1] == {"start": "kmeans", "sample": 7}
    calls.clear()
    fitted({**STILL, "delta": 1e-3}, keep=0.5)
    assert [call[0] for call in calls] == ["begin", "train"]


def test_a_training_that_is_resumed_is_not_started_again(calls, tmp_path):
    kept = Checkpoints(tmp_path)
    for resume, latest, first in ((True, True, "train"), (True, False, "begin"), (False, True, "begin")):
        kept.latest = lambda there=latest: there
        calls.clear()
        fitted(checkpoints=kept, resume=resume)
        assert calls[0][0] == first
    calls.clear()
    fitted(resume=True)
    assert calls[0][0] == "begin"


@pytest.mark.parametrize(
    ("wrong", "error"),
    [({"pases": 3}, TypeError), ({"patience": 2}, SettingError), ({"if_diverged": "cry"}, SettingError)],
)
def test_what_cannot_be_is_refused_before_anything_is_started(calls, wrong, error):
    with pytest.raises(error):
        fitted(**wrong)
    assert calls == []
    fitted(patience=2, validation=0.5)
    fitted(if_diverged="back")


def test_what_is_learned_from_and_chosen_by():
    network = Network([Full(tau=1)], (3,), 1, ["a", "b"], seed=0)
    data, rng = recordings(["a", "b"] * 10), np.random.default_rng(0)
    assert best._parts(network, data, None, rng) == (data, None)
    learned, chosen = best._parts(network, data, 0.2, rng)
    assert (len(learned), chosen.labels.tolist().count("a"), len(chosen)) == (16, 2, 4)
    assert not set(learned.t.tolist()) & set(chosen.t.tolist())
    given = recordings(["a", None, "b"])
    learned, chosen = best._parts(network, data, given, rng)
    assert (learned is data, chosen.t.tolist()) == (True, [0, 2])
    with pytest.raises(EventError, match="no labels"):
        best._parts(network, data, given[1], rng)
    with pytest.warns(UserWarning, match="Too few recordings"):
        assert best._parts(network, data[:2], 0.2, rng)[1] is None


# ------------------------------------------------------------------ fewer classes


def test_a_class_goes_with_its_units_alone():
    network = Network([Window(1, units=2, tau=1), Full(tau=1, units_per_class=2)], (3,), 1, ["a", "b", "c"])
    centroids = [np.arange(2.0).reshape(2, 1, 1), np.arange(36.0).reshape(6, 3, 2)]
    network.parameters = Parameters.of(centroids, [np.ones(2), np.arange(6.0)], [np.zeros(2, bool), np.arange(6) == 5])
    smaller = grow.without(network, "b")
    assert smaller.classes.tolist() == ["a", "c"]
    hidden, last = smaller.parameters
    np.testing.assert_array_equal(hidden.centroids, centroids[0])
    np.testing.assert_array_equal(last.centroids, centroids[1][[0, 1, 4, 5]])
    assert (last.thresholds.tolist(), last.frozen.tolist()) == ([0, 1, 4, 5], [False, False, False, True])
    one = grow.without(smaller, "a")
    for some, name in ((network, "d"), (one, "c")):
        with pytest.raises(SettingError, match="not one of several classes"):
            grow.without(some, name)


def test_training_forgets_a_calibration_of_the_parameters_before():
    data = recordings(["a", "b"] * 4)
    network = Network([Window(1, units=2, tau=1), Full(tau=1)], (3,), 1, ["a", "b"], rule=Rule(**STILL)).start(data)
    network.calibration = {"votes": [2.0, 1.0]}
    network.train(data, passes=1)
    assert network.calibration == {}
