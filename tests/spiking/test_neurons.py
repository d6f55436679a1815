"""What a neuron does, by hand, and what a spiking network refuses."""

import math

import numpy as np
import pytest

from timesurf.engines import Batch, Parameters
from timesurf.errors import NotFittedError, SettingError
from timesurf.rule import Rule
from timesurf.spiking import Neurons, SpikingNetwork, cpu, kernel, reference, tables
from timesurf.spiking.layers import stack
from timesurf.spiking.rule import check_rule, direction, moved, threshold_factors

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


def test_for_small_steps_weights_move_by_ojas_rule(rng):
    """docs/spiking.md: the division by the length is local. What is left is of second order in the step."""
    w, u = (v / np.linalg.norm(v) for v in rng.normal(size=(2, 6)))
    errors = [np.abs(moved(w, u, gain) - (w + gain * (u - (w @ u) * w))).max() for gain in (1e-2, 1e-3, -1e-3)]
    assert errors[0] < 1e-4
    assert max(errors[1:]) < 1e-6


def test_a_weighted_sum_with_half_subtracted_decides_as_the_distance_to_a_centroid(rng):
    """docs/spiking.md: where inputs are 0 or 1, a neuron with weights c - 1/2 is a centroid."""
    c, inputs = rng.uniform(size=8), rng.integers(0, 2, (200, 8))
    distance = np.linalg.norm(inputs - c, axis=1)
    th = np.median(distance) + 1e-9
    fires = inputs @ (c - 0.5) > (c @ c - th**2) / 2
    assert (fires == (distance < th)).all()
    assert 50 < fires.sum() < 150


def test_the_inhibition_that_fits_traces_of_random_inputs_best(rng):
    """docs/spiking.md: E[ts^2] / (2 E[ts]) for ages of the last spike that are exponential; 1e6 draws, within 1 %."""
    for rate in (0.1, 1.0, 20.0):  # times trace_tau
        ts = np.exp(-rng.exponential(1 / rate, 1_000_000))
        assert (ts**2).mean() / (2 * ts.mean()) == pytest.approx((1 + rate) / (2 * (2 + rate)), rel=0.01)


def test_the_potential_of_random_inputs_has_the_mean_and_the_variance_of_shot_noise(rng):
    """docs/spiking.md; 4,000 recordings: the mean within 5 of its standard errors, the variance within 15 %."""
    w, rates, tau, duration, recordings = (
        direction(np.array([1.0, 0.9, 0.0, 0.2]), 0.3),
        [0.02, 0.01, 0.03],
        500,
        500,
        4000,
    )
    counts = rng.poisson(np.array(rates) * duration, (recordings, 3))
    entry, t, offsets = [], [], [0]
    for row in counts:
        when, which = rng.integers(0, duration, row.sum()), np.repeat(np.arange(3), row)
        order = np.argsort(when, kind="stable")
        entry += [*which[order], 3]  # the fourth input asks at the end, with a weight of 0
        t += [*when[order], duration]
        offsets.append(len(t))
    weights = np.array([*w[[0, 1, 3]], 0.0])
    stages = stack([Neurons(tau=tau)], (4,), 1, 1)
    silent = Parameters.of([weights.reshape(1, 4, 1)], [np.array([math.inf])])
    highest, wires = np.empty(len(t)), tables.wiring(stages)
    kernel.potentials(
        (np.array(entry, np.int32), np.array(t), np.array(offsets)), wires, tables.times(stages),
        tables.learned(silent), tables.state(wires), highest,
    )  # fmt: skip
    v, r = highest[np.array(offsets[1:]) - 1], np.array(rates)
    mean = weights[:3] @ r * tau * (1 - math.exp(-duration / tau))
    variance = weights[:3] ** 2 @ r * tau / 2 * (1 - math.exp(-2 * duration / tau))
    assert v.mean() == pytest.approx(mean, abs=5 * math.sqrt(variance / recordings) + 0.01)
    assert v.var() == pytest.approx(variance, rel=0.15)


def test_a_threshold_moves_less_the_further_its_potential_is_beyond_it():
    near, far = (threshold_factors(np.ones(1), np.array([v]), 0, 1, 1, 0.1, 0.3, Rule())[0] for v in (1.0, 2.0))
    assert near < far < 1
    assert near == pytest.approx(math.exp(-0.1))


def test_a_neuron_far_below_a_small_threshold_does_not_overflow():
    factors = threshold_factors(np.array([1.0, 1e-3]), np.array([1.0, -5.0]), 0, 1, 1, 0.1, 0.3, Rule())
    assert factors.tolist() == [math.exp(-0.1), 1.0]


def test_neurons_out_of_reach_are_not_pushed_back():
    factors = threshold_factors(np.ones(3), np.array([2.0, 1.5, 0.9]), 0, 1.0, 0.0, 0.1, 0.3, Rule())
    assert factors[1] > 1
    assert factors[2] == 1
    wrong = threshold_factors(np.ones(3), np.array([2.0, 1.5, 0.9]), 0, -1.0, 0.0, -0.1, 0.3, Rule())
    assert wrong[0] > 1
    assert wrong[1] == 1


@pytest.mark.parametrize(
    ("S", "dS", "pushed"), [(0, 0, True), (-9e-7, 0, True), (0, -9e-7, True), (-2e-6, 0, False), (0, -2e-6, False)]
)
def test_others_are_pushed_back_unless_a_separability_is_below_0_by_more_than_rounding(S, dS, pushed):
    factors = threshold_factors(np.ones(2), np.array([2.0, 1.5]), 0, S, dS, 0.1, 0.3, Rule())
    assert (factors[1] > 1) == pushed


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
