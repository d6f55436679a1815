"""What a neuron does, by hand, and what a spiking network refuses."""

import math

import numpy as np
import pytest

from timesurf.engines import Batch, Parameters
from timesurf.errors import NotFittedError, SettingError
from timesurf.rule import Rule
from timesurf.spiking import Neurons, SpikingNetwork, cpu, reference
from timesurf.spiking.layers import stack
from timesurf.spiking.rule import check_rule, moved, threshold_factors

BOTH = pytest.mark.parametrize("engine", [cpu, reference])


def one_place(weights, thresholds, times, entries=None, **about):
    """The only layer of a network, over as many inputs as there are weights, and one recording."""
    weights = np.asarray(weights, dtype=float)
    stages = stack([Neurons(**({"tau": 100} | about))], (weights.shape[1],), 1, len(weights))
    parameters = Parameters.of([weights[..., None]], [np.asarray(thresholds, dtype=float)])
    entry = np.zeros(len(times), np.int32) if entries is None else np.array(entries, np.int32)
    return stages, parameters, Batch(entry, np.array(times), np.array([0, len(times)]), np.array([0]))


@BOTH
def test_a_potential_leaks_and_fires_at_its_threshold(engine):
    just = math.exp(-0.1) + 1  # two spikes, 10 us apart, at tau = 100 us
    for threshold, spikes in ((just - 1e-9, 1), (just + 1e-9, 0)):
        assert engine.run(*one_place([[1.0]], [threshold], [0, 10])).votes.sum() == spikes


@BOTH
@pytest.mark.parametrize(("reset", "spikes"), [("zero", 2), ("subtract", 3)])
def test_the_reset_forgets_all_or_keeps_what_is_beyond_the_threshold(engine, reset, spikes):
    case = one_place(
        [[1.0]], [1.4], [0, 0, 0, 0, 0], reset=reset
    )  # 1, 2 fires; zero: 1, 2 fires; 1. subtract: .6, 1.6 ..
    assert engine.run(*case).votes.sum() == spikes


@BOTH
def test_a_spike_resets_the_other_neurons_of_its_place(engine):
    case = one_place([[1.0, 0.0], [0.9, 0.9]], [1.0, 1.7], [0, 0], entries=[0, 1])
    assert engine.run(*case).votes.tolist() == [[1, 0]]  # alone, the second would have reached 1.8


@BOTH
def test_the_neuron_furthest_beyond_its_threshold_fires(engine):
    assert engine.run(*one_place([[0.6], [0.9]], [0.1, 0.5], [0])).votes.tolist() == [[1, 0]]


@BOTH
def test_a_refractory_neuron_integrates_but_does_not_fire(engine):
    case = one_place([[1.0]], [1.5], [0, 5, 10, 20], refractory=20)
    assert engine.run(*case).votes.sum() == 1  # at 20 us, and not at the second spike


@BOTH
def test_without_a_threshold_every_input_makes_the_strongest_fire(engine):
    case = one_place([[-0.6], [-0.2]], [-math.inf, -math.inf], [0, 1, 2])
    assert engine.run(*case).votes.tolist() == [[0, 3]]


@BOTH
def test_a_right_spike_turns_the_weights_towards_its_input_and_a_wrong_one_away(engine):
    for label, sign in ((0, 1), (1, -1)):
        stages, parameters, batch = one_place([[0.6, 0.8], [0.0, 0.1]], [0.5, 9.0], [0])
        batch.label[:] = label
        engine.run(stages, parameters, batch, Rule(alpha=0, beta=0.1, gamma=0, delta=0))
        expected = np.array([0.6, 0.8]) + sign * 0.1 * (np.array([1.0, 0.0]) - [0.6, 0.8])
        np.testing.assert_allclose(parameters[0].centroids[0, :, 0], expected / np.linalg.norm(expected))


def test_weights_keep_their_length():
    w = moved(np.array([0.6, 0.8]), np.array([1.0, 0.0]), 0.3)
    assert np.linalg.norm(w) == pytest.approx(1)


def test_a_threshold_moves_less_the_further_its_potential_is_beyond_it():
    near, far = (threshold_factors(np.ones(1), np.array([v]), 0, 1, 1, 0.1, 0.3, Rule())[0] for v in (1.0, 2.0))
    assert near < far < 1
    assert near == pytest.approx(math.exp(-0.1))


def test_neurons_out_of_reach_are_not_pushed_back():
    factors = threshold_factors(np.ones(3), np.array([2.0, 1.5, 0.9]), 0, 1.0, 0.0, 0.1, 0.3, Rule())
    assert factors[1] > 1
    assert factors[2] == 1
    wrong = threshold_factors(np.ones(3), np.array([2.0, 1.5, 0.9]), 0, -1.0, 0.0, -0.1, 0.3, Rule())
    assert wrong[0] > 1
    assert wrong[1] == 1


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"reset": "none"}, "reset"), ({"inhibition": 1.0}, "inhibition"), ({"ready": -1}, "ready"),
        ({"units": 0}, "units"), ({"box": (0,)}, "box"), ({"step": (2,)}, "step"), ({"tau": 0}, "tau"),
    ],
)  # fmt: skip
def test_settings_out_of_range_are_refused(about, message):
    with pytest.raises(SettingError, match=message):
        Neurons(**({"tau": 1} | about))


def test_layers_that_do_not_fit_are_refused():
    last = Neurons(tau=1)
    for layers, message in (
        ([], "made of layers of Neurons"),
        ([Neurons((2,), tau=1), last], "layer 1 needs units"),
        ([Neurons(tau=1, units=3), last], "layer 1 needs a box"),
        ([Neurons((2,), units=3, tau=1), last], "need 2 numbers"),
        ([Neurons((2, 2), units=2, tau=1)], "hears the whole field"),
        ([Neurons(tau=1, units=3)], "has 2 units"),
    ):
        with pytest.raises(SettingError, match=message):
            stack(layers, (4, 4), 1, 2)


def test_a_rule_that_neurons_cannot_learn_by_is_refused():
    for rule in (Rule(kernel="centre"), Rule(last="delta")):
        with pytest.raises(SettingError, match="border"):
            check_rule(rule, 2)


def test_a_network_without_weights_says_so():
    network = SpikingNetwork([Neurons(tau=1)], (4,), 1, [0, 1])
    with pytest.raises(NotFittedError, match="call fit"):
        _ = network.parameters
    with pytest.raises(SettingError, match="cuda"):
        SpikingNetwork([Neurons(tau=1)], (4,), 1, [0, 1], engine="cuda")
