"""The oracle itself, against cases worked out by hand."""

import numpy as np
import pytest

from timesurf.engines import Parameters, pack, reference
from timesurf.events import Recordings
from timesurf.layers import Full, Tile, Window, stack
from timesurf.rule import Rule

E = np.exp(-1)


def recordings(x, t, field, **about):
    return Recordings([x] if np.ndim(x) == 1 else x, t, field=field, **about)


def surfaces(layer, events):
    stages = stack([layer], events.field, events.polarities)
    zeros = Parameters.of([np.zeros((1, *stages[0].surface_shape))], [np.full(1, np.inf)])
    return reference.surfaces(stages, zeros, pack(events), 0)


def test_surface_of_a_time_vector():
    """1-D, as from a cochlea: own entry 1, a neighbour decayed, 0 where nothing fired or outside the field."""
    ts = surfaces(Window(3, units=1, tau=10), recordings([0, 1, 0], [5, 15, 25], field=(4,)))
    np.testing.assert_allclose(ts[:, :, 0], [[0, 1, 0], [E, 1, 0], [0, 1, E]])


def test_surface_of_an_image_patch():
    ts = surfaces(Window(3, units=1, tau=10), recordings([[0, 1], [0, 1]], [0, 10], field=(2, 2)))
    np.testing.assert_allclose(ts[1, :, :, 0], [[E, 0, 0], [0, 1, 0], [0, 0, 0]])


def test_surface_of_a_tile_sees_its_block_only():
    ts = surfaces(Tile((2,), units=1, tau=10), recordings([0, 2, 3, 4], [0, 10, 20, 30], field=(5,)))
    np.testing.assert_allclose(ts[:, :, 0], [[1, 0], [1, 0], [E, 1], [1, 0]])  # the last block is half outside


def test_surface_keeps_polarities_apart():
    events = Recordings([[0, 0]], t=[0, 10], p=[1, 0], field=(1,), polarities=2)
    np.testing.assert_allclose(surfaces(Full(units=1, tau=10), events)[1], [[1, E]])


def test_surface_at_several_time_constants():
    """Every entry at each of them, in the order given; what never fired is 0 at all."""
    events = recordings([0, 2], [0, 10], field=(3,))
    ts = surfaces(Full(units=1, tau=(10, 5, 20)), events)[1]
    assert ts.shape == (3, 1, 3)
    np.testing.assert_allclose(ts[:, 0], [[E, E**2, E**0.5], [0, 0, 0], [1, 1, 1]])


def test_one_step_at_several_time_constants_by_hand():
    """Two events 10 us apart: ts = (e^-1, e^-2; 1, 1), c moves by alpha dS + beta S times (ts - c)."""
    stages = stack([Full(units=1, tau=(10, 5))], (2,), 1)
    parameters = Parameters.of([np.zeros((1, 2, 1, 2))], [np.full(1, np.inf)])
    reference.learn_online(stages, parameters, Rule(alpha=0.5, beta=0.25), pack(recordings([0, 1], [0, 10], (2,))))
    first = 0.75 * np.array([[1, 1], [0, 0]])  # S = dS = 1
    second = first + 0.25 * (np.array([[E, E**2], [1, 1]]) - first)  # S = 1, dS = 0
    np.testing.assert_allclose(parameters[0].centroids[0, :, 0], second)


def test_ties_go_to_the_lowest_unit():
    stages = stack([Full(units=3, tau=1)], (2,), 1)
    same = Parameters.of([np.full((3, 2, 1), 0.25)], [np.full(3, np.inf)])
    trace = reference.infer(stages, same, pack(recordings([0, 1], [0, 0], (2,))), trace=True).trace
    assert trace.winner.tolist() == [[0], [0]]


def test_an_event_at_the_threshold_is_rejected():
    """Strictly closer than the threshold passes: ||ts - c|| = 1 here."""
    stages = stack([Full(units=1, tau=1), Full(units=1, tau=1)], (1,), 1)
    for th, kept in ((1.0, 0), (1.0 + 1e-9, 1)):
        parameters = Parameters.of([np.zeros((1, 1, 1)), np.zeros((1, 1))], [np.array([th]), np.array([np.inf])])
        assert reference.infer(stages, parameters, pack(recordings([0], [0], (1,)))).votes.sum() == kept


@pytest.mark.parametrize("learn", [reference.learn_online, reference.learn_batch])
def test_rejected_event_leaves_upper_layers_untouched(learn):
    """Pixel 1 is rejected; with or without its events, the layers above see and learn the same."""
    stages = stack([Window(1, units=2, tau=5), Full(units=2, tau=5)], (2,), 2)
    start = Parameters.of(
        [np.array([[[1.0, 0.0]], [[0.0, 1.0]]]), np.full((2, 2, 2), 0.3) + np.eye(2)[:, :, None] / 4],
        [np.array([0.5, 1e-3]), np.full(2, np.inf)],
    )
    all_events = Recordings([[0, 1, 0, 1]], [0, 3, 4, 5], [0, 1, 0, 1], field=(2,), polarities=2)
    some_events = Recordings([[0, 0]], [0, 4], [0, 0], field=(2,), polarities=2)
    ends = []
    for events in (all_events, some_events):
        parameters = start.copy()
        parameters[0].centroids[1] = 0.9  # far from the surface of polarity 1, so its threshold rejects
        outcome = learn(stages, parameters, Rule(0.1, 0.1, 0.1, 0.1), pack(events, [1]))
        assert outcome.votes.sum() == 2
        ends.append(parameters)
    for one, other in zip(ends[0].arrays, ends[1].arrays, strict=True):
        np.testing.assert_array_equal(one, other)


def test_one_step_by_hand():
    """Two layers of one unit each: S = 1 in both, dS = 1 at first and 0 after."""
    stages = stack([Window(1, units=1, tau=10), Full(units=1, tau=10)], (1,), 1)
    start = Parameters.of([np.full((1, 1, 1), 0.5), np.full((1, 1, 1), 0.2)], [np.array([2.0]), np.array([np.inf])])
    rule = Rule(alpha=0.1, beta=0.02, gamma=0.3, delta=0.04, d=0.5)
    parameters = start.copy()
    reference.learn_online(stages, parameters, rule, pack(recordings([0, 0], [0, 7], (1,)), [0]))
    c1 = 0.5 + 0.12 * 0.5
    c1_end = c1 + 0.02 * (1 - c1)
    th1 = 2.0 + 0.34 * np.exp(-(2.0 - 0.5) / 0.5)
    th1_end = th1 + 0.04 * np.exp(-(th1 - (1 - c1)) / 0.5)
    assert parameters[0].centroids.item() == pytest.approx(c1_end, rel=1e-12)
    assert parameters[0].thresholds.item() == pytest.approx(th1_end, rel=1e-12)
    assert parameters[1].thresholds.item() == np.inf
    batch = start.copy()
    reference.learn_batch(stages, batch, rule, pack(recordings([0, 0], [0, 7], (1,)), [0]))
    assert batch[0].centroids.item() == pytest.approx(0.5 + 0.14 * 0.5, rel=1e-12)
    assert batch[0].thresholds.item() == pytest.approx(2.0 + 0.38 * np.exp(-1.5 / 0.5), rel=1e-12)


def test_wrong_class_pushes_away():
    stages = stack([Full(units=2, tau=10)], (1,), 1)
    parameters = Parameters.of([np.array([[[0.9]], [[0.1]]])], [np.full(2, np.inf)])
    reference.learn_online(stages, parameters, Rule(alpha=0.1, beta=0.1), pack(recordings([0], [0], (1,)), [1]))
    np.testing.assert_allclose(parameters[0].centroids.ravel(), [0.9 - 0.2 * 0.1, 0.1])  # S = dS = -1


def test_neighbours_within_reach_lose_threshold():
    stages = stack([Full(units=3, tau=10), Full(units=1, tau=10)], (1,), 1)
    start = Parameters.of(
        [np.array([[[0.9]], [[0.8]], [[0.2]]]), np.zeros((1, 3))], [np.array([0.5, 0.6, 0.7]), np.array([np.inf])]
    )
    parameters = start.copy()
    rule = Rule(alpha=0, beta=0, gamma=0.1, delta=0.02, d=0.3)
    reference.learn_online(stages, parameters, rule, pack(recordings([0], [0], (1,)), [0]))
    near = [np.exp(-(0.5 - 0.1) / 0.3), np.exp(-(0.6 - 0.2) / 0.3)]
    np.testing.assert_allclose(parameters[0].thresholds, [0.5 + 0.12 * near[0], 0.6 - 0.12 * near[1], 0.7])


def test_state_starts_empty_at_each_recording():
    stages = stack([Full(units=2, tau=100, feedback_tau=100)], (2,), 1)
    parameters = Parameters.of([np.array([[[1.0], [0.0]], [[0.0], [1.0]]])], [np.full(2, np.inf)])
    once = pack(Recordings([[0, 1]], [0, 5], field=(2,)))
    twice = pack(Recordings([[0, 1, 0, 1]], [0, 5, 0, 5], offsets=[0, 2, 4], field=(2,)))
    one = reference.infer(stages, parameters, once, trace=True).trace
    two = reference.infer(stages, parameters, twice, trace=True).trace
    for part in (slice(0, 2), slice(2, 4)):
        np.testing.assert_array_equal(two.S[part], one.S)
        np.testing.assert_array_equal(two.distance[part], one.distance)
