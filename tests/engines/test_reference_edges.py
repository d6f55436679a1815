"""The oracle at its edges, by hand: what is counted, what is traced, which layer teaches which."""

import numpy as np
import pytest

from timesurf.engines import Parameters, pack, reference
from timesurf.events import Recordings
from timesurf.layers import Full, Tile, Window, stack
from timesurf.rule import Rule

E = np.exp(-1)


def one_pixel_each(thresholds, *, feedback_tau=10):
    """Unit n of the first layer is pixel n alone; the last layer has one unit. All surfaces fade within 1 us."""
    units = len(thresholds)
    stages = stack(
        [Full(units=units, tau=0.01, feedback_tau=feedback_tau), Full(units=1, tau=0.01, feedback_tau=feedback_tau)],
        (units,), 1,
    )  # fmt: skip
    centroids = [np.eye(units)[:, :, None], np.zeros((1, units))]
    return stages, Parameters.of(centroids, [np.array(thresholds, float), np.array([np.inf])])


def events(pixels, t, label=None, *, field=2):
    return pack(Recordings([pixels], t, field=(field,)), label)


def test_events_are_counted_in_every_layer_that_lets_them_pass():
    stages, parameters = one_pixel_each([1.0, 0.0])
    outcome = reference.infer(stages, parameters, events([0, 1, 0, 0], [0, 5, 9, 20]))
    assert outcome.kept.tolist() == [[3, 3]]
    assert outcome.votes.tolist() == [[3]]


def test_a_layer_that_rejects_is_not_counted_but_those_below_it_are():
    stages, parameters = one_pixel_each([1.0, 1.0])
    parameters[1].thresholds[:] = 0.5
    parameters[1].centroids[0] = [1.0, 0.0]  # the last layer lets unit 0 pass only
    outcome = reference.infer(stages, parameters, events([0, 1, 1], [0, 5, 9]))
    assert outcome.kept.tolist() == [[3, 1]]
    assert outcome.votes.tolist() == [[1]]


def test_an_event_that_the_last_layer_rejects_teaches_nothing():
    stages, parameters = one_pixel_each([2.0, 2.0])
    parameters[1].thresholds[:] = 0.0
    start = parameters.copy()
    reference.learn_online(stages, parameters, Rule(0.1, 0.1, 0.1, 0.1), events([0, 1], [0, 5]))
    assert parameters.same(start)


def test_the_trace_names_winners_and_distances_and_stops_where_an_event_is_rejected():
    stages, parameters = one_pixel_each([1.0, 0.0])
    parameters[0].centroids[0] = 0.75  # pixel 0 is 0.25 away there, 0.75 along the other axis
    trace = reference.infer(stages, parameters, events([0, 1], [0, 5]), trace=True).trace
    assert trace.winner.tolist() == [[0, 0], [1, -1]]
    np.testing.assert_allclose(trace.distance, [[np.hypot(0.25, 0.75), 1.0], [0.0, np.nan]])
    assert trace.passed.tolist() == [2, 0]


def test_a_rejected_event_has_no_s_even_after_an_output_event():
    stages, parameters = one_pixel_each([1.0, 0.0])
    trace = reference.infer(stages, parameters, events([0, 1], [0, 5]), trace=True).trace
    assert np.isfinite(trace.S[0]).all()
    assert np.isnan(trace.S[1]).all()


@pytest.mark.parametrize("run", [reference.infer, reference.learn_online, reference.learn_batch])
def test_no_trace_unless_it_is_asked_for(run):
    stages, parameters = one_pixel_each([1.0, 1.0])
    rule = [] if run is reference.infer else [Rule()]
    assert run(stages, parameters, *rule, events([0], [0])).trace is None


def test_surfaces_of_a_lower_layer_are_those_that_it_sees():
    stages, parameters = one_pixel_each([1.0, 0.0, 1.0])
    seen = reference.surfaces(stages, parameters, events([2, 1, 0], [0, 5, 9], field=3), 0)
    np.testing.assert_allclose(seen[:, :, 0], [[0, 0, 1], [0, 1, 0], [1, 0, 0]], atol=1e-12)


def test_surfaces_of_an_upper_layer_are_those_of_events_that_reach_it():
    stages, parameters = one_pixel_each([1.0, 0.0, 1.0])
    seen = reference.surfaces(stages, parameters, events([2, 1, 0], [0, 5, 9], field=3), 1)
    np.testing.assert_allclose(seen, [[0, 0, 1], [1, 0, 0]], atol=1e-12)


def test_feedback_fades_with_the_feedback_tau_of_its_layer():
    """Three units fire one after another, 10 us apart, and feedback_tau is 10 us."""
    stages, parameters = one_pixel_each([1.0, 1.0, 1.0])
    S = reference.infer(stages, parameters, events([0, 1, 2], [0, 10, 20], field=3), trace=True).trace.S
    np.testing.assert_allclose(S[:, 0], [1, 1 - E / 2, 1 - (E + E**2) / 2])
    np.testing.assert_allclose(S[:, 1], 1)  # one unit


def test_feedback_is_that_of_the_place_where_the_layer_fires():
    """Two blocks of one pixel: what fires in one is no feedback of the other."""
    stages = stack([Tile((1,), units=2, tau=0.01, feedback_tau=1e6)], (2,), 2)
    parameters = Parameters.of([np.eye(2)[:, None, :]], [np.full(2, np.inf)])
    batch = pack(Recordings([[0, 1, 0]], [0, 5, 9], [0, 1, 1], field=(2,), polarities=2))
    S = reference.infer(stages, parameters, batch, trace=True).trace.S[:, 0]
    np.testing.assert_allclose(S, [1, 1, 0], atol=1e-4)


def test_a_rejected_event_is_no_feedback():
    stages, parameters = one_pixel_each([1.0, 0.0], feedback_tau=1e6)
    S = reference.infer(stages, parameters, events([1, 0], [0, 5]), trace=True).trace.S
    assert S[1, 0] == 1


def test_ds_is_the_change_of_s_since_the_previous_output_at_that_place():
    """alpha alone: the centroid of the second winner moves by alpha (S - S before)."""
    stages = stack([Full(units=2, tau=0.01, feedback_tau=10)], (2,), 1)
    centroids = np.array([[1.0, 0.0], [0.0, 0.5]])[:, :, None]
    parameters = Parameters.of([centroids.copy()], [np.full(2, np.inf)])
    reference.learn_online(stages, parameters, Rule(alpha=0.1, beta=0), events([0, 1], [0, 10]))
    dS = (1 - E) - 1
    assert parameters[0].centroids[1, 1, 0] == pytest.approx(0.5 + 0.1 * dS * 0.5)


def taught(S, dS, rule, *, layers=3):
    """Layers of one unit, its centroid 0.5, its threshold 2, its surface 1: what each learns from given S and dS."""
    parameters = Parameters.of([np.full((1, 1), 0.5)] * layers, [np.full(1, 2.0)] * layers)
    learned = Parameters.of([np.zeros((1, 1))] * layers, [np.zeros(1)] * layers)
    learned = learned.copy()  # arrays of its own for every layer
    step = reference.Step(np.ones(1), np.array([0.5]), 0, True, ())
    stages = stack([Full(units=1, tau=1)] * layers, (), 1)
    reference.learn(stages, parameters, rule, [step] * layers, np.array(S), np.array(dS), -1, learned)
    return [u.centroids.item() for u in learned], [u.thresholds.item() for u in learned]


S, DS = [0.9, 0.5, 0.25], [0.3, -0.2, 0.1]


def test_centroids_learn_from_the_s_of_the_layer_above_and_the_last_from_its_own():
    centroids, _ = taught(S, DS, Rule(alpha=0, beta=0.1))
    np.testing.assert_allclose(centroids, [0.1 * s * 0.5 for s in (0.5, 0.25, 0.25)])


def test_centroids_learn_from_the_ds_of_the_layer_above_and_the_last_from_its_own():
    centroids, _ = taught(S, DS, Rule(alpha=0.1, beta=0))
    np.testing.assert_allclose(centroids, [0.1 * s * 0.5 for s in (-0.2, 0.1, 0.1)])


def test_thresholds_learn_from_the_s_of_the_layer_above_and_the_last_from_its_own():
    _, thresholds = taught(S, DS, Rule(gamma=0, delta=0.1, d=0.5))
    np.testing.assert_allclose(thresholds, [0.1 * s * np.exp(-1.5 / 0.5) for s in (0.5, 0.25, 0.25)])


def test_thresholds_learn_from_the_ds_of_the_layer_above_and_the_last_from_its_own():
    _, thresholds = taught(S, DS, Rule(gamma=0.1, delta=0, d=0.5))
    np.testing.assert_allclose(thresholds, [0.1 * s * np.exp(-1.5 / 0.5) for s in (-0.2, 0.1, 0.1)])


def test_every_layer_learns_with_rates_of_its_own():
    rule = Rule(alpha=(0.1, 0.2, 0.3), beta=(1, 2, 3), gamma=(0.4, 0.5, 0.6), delta=(4, 5, 6), d=(0.5, 1.0, 1.5))
    centroids, thresholds = taught([0.5] * 3, [0.25] * 3, rule)
    np.testing.assert_allclose(centroids, [0.5 * (a * 0.25 + b * 0.5) for a, b in ((0.1, 1), (0.2, 2), (0.3, 3))])
    rates = ((0.4, 4, 0.5), (0.5, 5, 1.0), (0.6, 6, 1.5))
    np.testing.assert_allclose(thresholds, [(g * 0.25 + delta * 0.5) * np.exp(-1.5 / d) for g, delta, d in rates])


@pytest.mark.parametrize("learn", [reference.learn_online, reference.learn_batch])
def test_frozen_units_keep_every_bit_and_free_ones_learn(learn):
    stages, start = one_pixel_each([1.0, 1.0])
    parameters = Parameters.of(
        [u.centroids * 0.9 for u in start], [u.thresholds for u in start], [np.array([True, False]), np.array([False])]
    ).copy()
    before = parameters.copy()
    learn(stages, parameters, Rule(0.1, 0.1, 0.1, 0.1), events([0, 1], [0, 500]))
    for name in ("centroids", "thresholds"):
        was, now = getattr(before[0], name), getattr(parameters[0], name)
        np.testing.assert_array_equal(now[0], was[0])
        assert (now[1] != was[1]).any()


@pytest.mark.parametrize("learn", [reference.learn_online, reference.learn_batch])
def test_a_frozen_threshold_below_zero_is_left_as_it_is(learn):
    stages, start = one_pixel_each([1.0, -0.5])
    frozen = [np.array([False, True]), np.array([False])]
    parameters = Parameters.of([u.centroids for u in start], [u.thresholds for u in start], frozen).copy()
    learn(stages, parameters, Rule(), events([0], [0]))
    assert parameters[0].thresholds[1] == -0.5


@pytest.mark.parametrize("learn", [reference.learn_online, reference.learn_batch])
def test_a_threshold_that_would_fall_below_zero_stops_there_and_the_others_do_not(learn):
    """Unit 0 fires and pushes back unit 1, whose threshold is small, and unit 2, whose threshold is large."""
    stages = stack([Full(units=3, tau=1), Full(units=1, tau=1)], (1,), 1)
    centroids = [np.array([[1.0], [0.9], [0.8]])[:, :, None], np.zeros((1, 3))]
    parameters = Parameters.of(centroids, [np.array([0.5, 0.2, 5.0]), np.array([np.inf])])
    learn(stages, parameters, Rule(gamma=1, delta=0, d=1.0), events([0], [0], field=1))
    expected = [0.5 + np.exp(-0.5), 0.0, 5.0 - np.exp(-(5.0 - 0.2))]
    np.testing.assert_allclose(parameters[0].thresholds, expected)


def test_a_batch_adds_up_what_all_its_recordings_teach():
    stages = stack([Full(units=1, tau=1)], (1,), 1)
    parameters = Parameters.of([np.full((1, 1, 1), 0.5)], [np.array([np.inf])])
    batch = pack(Recordings([[0, 0, 0]], [0, 0, 0], offsets=[0, 1, 2, 3], field=(1,)))
    reference.learn_batch(stages, parameters, Rule(alpha=0.1, beta=0.02), batch)
    assert parameters[0].centroids.item() == pytest.approx(0.5 + 3 * 0.12 * 0.5)


def test_the_own_entry_of_an_event_is_one_even_where_it_fired_before():
    stages = stack([Full(units=1, tau=10)], (2,), 1)
    zeros = Parameters.of([np.zeros((1, 2, 1))], [np.full(1, np.inf)])
    seen = reference.surfaces(stages, zeros, events([0, 0, 1], [0, 10, 20]), 0)
    np.testing.assert_allclose(seen[:, :, 0], [[1, 0], [1, 0], [E, 1]])


@pytest.mark.parametrize(("pixel", "own"), [(0, 1), (4, 1)])
def test_a_window_on_the_border_of_the_field_is_padded_with_what_never_fired(pixel, own):
    stages = stack([Window(3, units=1, tau=10)], (5,), 1)
    zeros = Parameters.of([np.zeros((1, 3, 1))], [np.full(1, np.inf)])
    (surface,) = reference.surfaces(stages, zeros, events([pixel], [0], field=5), 0)
    assert surface[:, 0].tolist() == [0, own, 0]


def test_every_network_is_supported():
    stages, _ = one_pixel_each([1.0])
    assert reference.supports(stages) == reference.supports(stages, online=True) == ""
