"""Thresholds that keep a given share of events."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from timesurf import Full, Network, Rule, Window, metrics
from timesurf.errors import SettingError
from timesurf.learning import sparsity
from timesurf.learning.sparsity import _thresholds
from timesurf.presets import for_data

from ..random_networks import blobs

DATA, TEST = blobs(60, seed=0), blobs(60, seed=1)
LAYERS = {
    "one hidden layer": [Window(3, units=5, tau="5 ms"), Full(tau="10 ms")],
    "two hidden layers": [Window(3, units=5, tau="5 ms"), Window(3, units=4, tau="5 ms"), Full(tau="10 ms")],
}


def started(layers: str, margin: float = math.inf, **rates: float) -> Network:
    """A network that has not learned yet."""
    network = Network(LAYERS[layers], DATA.field, DATA.polarities, DATA.classes, rule=Rule(**rates))
    return network.start(DATA, start="kmeans", margin=margin)


@pytest.mark.parametrize("layers", LAYERS)
@pytest.mark.parametrize("keep", [0.1, 0.3, 0.8])
def test_the_share_asked_for_is_kept_on_these_recordings_and_on_others(layers, keep):
    network = started(layers).tighten(DATA, keep=keep)
    assert metrics.kept(network.infer(DATA)) == pytest.approx(keep, abs=0.01)
    assert metrics.kept(network.infer(TEST)) == pytest.approx(keep, abs=0.03)


@pytest.mark.parametrize("layers", LAYERS)
def test_thresholds_open_again_to_keep_more(layers):
    network = started(layers).tighten(DATA, keep=0.1).tighten(DATA, keep=0.6)
    assert metrics.kept(network.infer(DATA)) == pytest.approx(0.6, abs=0.01)
    assert metrics.kept(network.tighten(DATA, keep=1).infer(TEST)) == 1


def test_a_share_that_is_kept_already_changes_nothing():
    network = started("one hidden layer").tighten(DATA, keep=0.3)
    before = network.snapshot()
    assert not sparsity.tighten(network, DATA, 0.305)
    assert network.parameters.same(before)


@examples(30)
@given(st.integers(0, 2**32 - 1), st.floats(0.01, 0.99))
def test_units_keep_their_closest_events_and_the_order_of_their_selectivity(seed, target):
    rng = np.random.default_rng(seed)
    winner, distance, weight = rng.integers(0, 4, 400), rng.random(400), np.full(400, 1 / 400)
    old = rng.random(4) * 1.2
    new = _thresholds(old, winner, distance, weight, target)
    assert weight[distance < new[winner]].sum() == pytest.approx(target, abs=5 / 400)
    share = [[(distance[winner == n] < th[n]).mean() for n in range(4)] for th in (old, new)]
    order = np.argsort(share[0], kind="stable")
    assert (np.diff(np.array(share[1])[order]) > -0.03).all()


def test_a_unit_that_is_silent_stays_so_when_fewer_events_are_kept():
    winner, distance = np.array([0, 0, 1, 1]), np.array([0.1, 0.2, 0.3, 0.4])
    assert _thresholds(np.array([0.0, 1.0]), winner, distance, np.full(4, 0.25), 0.25).tolist() == [0.05, 0.35]


def test_where_thresholds_do_not_learn_training_begins_with_the_share_asked_for():
    rest = dict.fromkeys(("alpha", "beta", "gamma", "delta"), 0.0)
    network = Network(LAYERS["one hidden layer"], DATA.field, DATA.polarities, DATA.classes, rule=Rule(**rest))
    network.fit(DATA, passes=1, batch_size=16, keep=0.3, start="kmeans", sample=60)
    assert network.history[0]["kept"] == pytest.approx(0.3, abs=0.01)
    other = started("one hidden layer").tighten(DATA, keep=0.3)
    means = [n.parameters[-1].centroids.mean() for n in (network, other)]
    assert means[0] < 0.9 * means[1]  # the last layer began with surfaces that have fewer events


def test_settings_from_the_data_reach_the_share_asked_for():
    preset, _ = for_data(DATA)
    how = preset.training() | {"keep": 0.3, "passes": 2, "validation": blobs(60, seed=2)}
    network = preset.network(DATA, DATA.classes, 0).fit(DATA, **how)
    assert metrics.kept(network.infer(TEST)) == pytest.approx(0.3, abs=0.03)


def test_only_the_last_layer_learns_again_from_what_is_kept():
    network = started("one hidden layer", margin=1.2, alpha=1e-3, delta=1e-3)
    network.freeze(0, [1])
    before = network.snapshot()
    network.calibrate(TEST)
    network.tighten(DATA, keep=0.3, passes=2, batch_size=16)
    assert metrics.kept(network.infer(DATA)) == pytest.approx(0.3, abs=0.01)
    assert np.array_equal(network.parameters[0].centroids, before[0].centroids)
    assert not np.array_equal(network.parameters[1].centroids, before[1].centroids)
    assert network.parameters[0].frozen.tolist() == [False, True, False, False, False]
    assert not network.calibration  # its probabilities were those of another network
    assert network.tighten(DATA, keep=0.5, validation=TEST).calibration


def test_the_curve_is_measured_on_held_out_recordings_and_leaves_the_network_as_it_is():
    network = started("one hidden layer")
    before = network.snapshot()
    rows = sparsity.curve(network, DATA, None, TEST, levels=(1.0, 0.5, 0.2))
    assert network.parameters.same(before)
    assert [row["keep"] for row in rows] == [1.0, 0.5, 0.2]
    assert [row["kept"] for row in rows] == pytest.approx([1.0, 0.5, 0.2], abs=0.03)
    assert rows[0]["recording_accuracy"] == network.evaluate(TEST)["recording_accuracy"]


@pytest.mark.parametrize("keep", [0, -1, 1.5, math.nan])
def test_a_share_that_is_none_is_refused(keep):
    with pytest.raises(SettingError, match="share of events"):
        started("one hidden layer").tighten(DATA, keep=keep)


def test_a_single_layer_rejects_nothing():
    network = Network([Full(tau=1)], DATA.field, DATA.polarities, DATA.classes).start(DATA)
    with pytest.raises(SettingError, match="single layer"):
        network.tighten(DATA, keep=0.5)


def test_a_network_that_the_data_chose_keeps_the_share_from_the_start():
    network = Network.for_data(DATA).fit(DATA, keep=0.4, passes=2)
    assert metrics.kept(network.infer(DATA)) == pytest.approx(0.4, abs=0.03)


def test_a_share_that_equal_distances_do_not_allow_is_said():
    network = started("one hidden layer", gamma=0.0, delta=0.0)
    assert sparsity.all_kept(network, DATA) == ""
    assert "keep = 0.3 was asked for, but 100.0% of the events are kept" in sparsity.all_kept(network, DATA, 0.3)
    assert sparsity.all_kept(network.tighten(DATA, keep=0.3), DATA, 0.3) == ""
    assert sparsity.all_kept(started("one hidden layer", gamma=1e-4), DATA).startswith("gamma or delta")
    assert sparsity.all_kept(started("one hidden layer", gamma=1e-4), DATA[:0]) == ""
