"""Every engine equals the reference on random networks and random streams."""

from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.examples import examples
from tests.random_networks import cases, temperatures
from timesurf import Network, Recordings, Rule
from timesurf.engines import Options, Parameters, pack, reference
from timesurf.engines.cpu import compact, layout, yardstick
from timesurf.engines.cpu import engine as cpu
from timesurf.layers import Full, Tile, Window

ENGINES = [pytest.param(yardstick, id="yardstick"), pytest.param(cpu, id="cpu")]
EXACT = {"rtol": 1e-9, "atol": 1e-12}


def assert_same_counts(one, other):
    np.testing.assert_array_equal(one.events, other.events)
    np.testing.assert_array_equal(one.kept, other.kept)
    np.testing.assert_array_equal(one.votes, other.votes)


def assert_same_parameters(one, other, **tolerance):
    for mine, theirs in zip(one.arrays, other.arrays, strict=True):
        np.testing.assert_allclose(mine, theirs, **tolerance)


def assert_frozen_units_kept_every_bit(after, before):
    for k, frozen in enumerate([u.frozen for u in before]):
        assert after[k].centroids[frozen].tobytes() == before[k].centroids[frozen].tobytes()
        assert after[k].thresholds[frozen].tobytes() == before[k].thresholds[frozen].tobytes()


@pytest.mark.parametrize("engine", ENGINES)
@given(case=cases())
def test_same_winners_rejections_distances_and_s(engine, case):
    before = case.parameters.copy()
    expected = reference.infer(case.stages, case.parameters, case.batch, trace=True)
    found = engine.infer(case.stages, case.parameters, case.batch, trace=True)
    assert_same_counts(found, expected)
    np.testing.assert_array_equal(found.trace.winner, expected.trace.winner)
    np.testing.assert_array_equal(found.trace.passed, expected.trace.passed)
    np.testing.assert_allclose(found.trace.distance, expected.trace.distance, **EXACT)
    np.testing.assert_allclose(found.trace.S, expected.trace.S, **EXACT)
    assert_same_parameters(case.parameters, before, rtol=0)  # running learns nothing
    assert_same_counts(engine.infer(case.stages, case.parameters, case.batch), expected)


@pytest.mark.parametrize("engine", ENGINES)
@given(case=cases(), temperature=temperatures)
def test_same_evidence(engine, case, temperature):
    options = Options(temperature=temperature)
    expected = reference.infer(case.stages, case.parameters, case.batch, options)
    found = engine.infer(case.stages, case.parameters, case.batch, options)
    assert_same_counts(found, expected)
    np.testing.assert_allclose(found.evidence, expected.evidence, **EXACT)
    assert engine.infer(case.stages, case.parameters, case.batch).evidence is None


@pytest.mark.parametrize("learn", ["learn_online", "learn_batch"])
@pytest.mark.parametrize("engine", ENGINES)
@given(case=cases())
def test_same_learning(engine, learn, case):
    expected, found = case.parameters.copy(), case.parameters.copy()
    right = getattr(reference, learn)(case.stages, expected, case.rule, case.batch)
    ours = getattr(engine, learn)(case.stages, found, case.rule, case.batch)
    assert_same_counts(ours, right)
    assert_same_parameters(found, expected, **EXACT)
    assert_frozen_units_kept_every_bit(found, case.parameters)


@given(case=cases(), gain=st.sampled_from([0.01, 0.5, 1.0, 2.0]))
def test_online_learning_without_writing_surfaces_out(case, gain):
    """Surfaces of small `Full` layers are held; here none is, and gains are large enough to reset scales.

    A gain of 1 puts a centroid on the surface itself, where its distance is a difference of equals: 1e-6 then.
    """
    rule = replace(case.rule, alpha=gain, beta=-gain / 2)
    expected, found = case.parameters.copy(), case.parameters.copy()
    right = reference.learn_online(case.stages, expected, rule, case.batch)
    with mock.patch.object(layout, "SMALL", 0):
        ours = cpu.learn_online(case.stages, found, rule, case.batch)
    assume(all(np.abs(c).max() < 1e3 for c in [u.centroids for u in expected]))
    assert_same_counts(ours, right)
    assert_same_parameters(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("engine", ENGINES)
@given(case=cases())
@examples(30)
def test_same_surfaces_in_every_layer(engine, case):
    for layer in range(len(case.stages)):
        expected = reference.surfaces(case.stages, case.parameters, case.batch, layer)
        found = engine.surfaces(case.stages, case.parameters, case.batch, layer)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, **EXACT)


@pytest.mark.parametrize("engine", ENGINES)
@given(case=cases(most_layers=1))
@examples(30)
def test_float32_evidence_and_delta_steps_differ_only_in_rounding(engine, case):
    """In one layer whose thresholds stay: a near-tie then changes neither shares nor what comes later."""
    rule = replace(case.rule, last="delta", gamma=0, delta=0)
    labels = np.random.default_rng(0).integers(0, case.stages[0].classes, len(case.batch))
    batch, options = replace(case.batch, label=labels), Options("float32", temperature=rule.temperature)
    expected, found = case.parameters.copy(), case.parameters.copy()
    right = reference.learn_batch(case.stages, expected, rule, batch, options)
    ours = engine.learn_batch(case.stages, found, rule, batch, options)
    assert_same_parameters(found, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(ours.evidence, right.evidence, rtol=1e-3, atol=1e-3 * len(batch.entry))


@pytest.mark.parametrize("engine", ENGINES)
@given(case=cases())
@examples(30)
def test_float32_differs_only_in_rounding(engine, case):
    """Distances to 1e-5 (relative) where winners agree; they part only at near-ties, 1e-5 apart at most."""
    parameters = case.parameters.copy()
    parameters[0].thresholds[:] = np.inf
    first = case.stages[:1]  # above the first layer a near-tie changes what the layers see
    expected = reference.infer(first, parameters, case.batch, trace=True).trace
    found = engine.infer(first, parameters, case.batch, Options("float32"), trace=True).trace
    np.testing.assert_allclose(found.distance, expected.distance, rtol=1e-5, atol=1e-5)
    surfaces = reference.surfaces(case.stages, parameters, case.batch, 0)
    for i in np.flatnonzero(found.winner[:, 0] != expected.winner[:, 0]):
        distance = np.linalg.norm((surfaces[i] - parameters[0].centroids).reshape(first[0].units, -1), axis=1)
        assert distance[found.winner[i, 0]] - distance.min() <= 1e-5


@pytest.mark.parametrize("small", [layout.SMALL, 0])
@given(case=cases())
def test_online_learning_in_float32_differs_only_in_rounding(small, case):
    """Counts, and parameters to 1e-4, as long as no event comes so close to a tie or a threshold that rounding decides.

    With SMALL = 0 no surface of a `Full` layer is written out. Networks of small layers have a test of their own.
    """
    with mock.patch.object(layout, "SMALL", small), mock.patch.object(compact, "ENTRIES", 0):
        assert_same_as_reference_in_float32(case)


@given(case=cases(kinds=(Tile, Full)))
def test_networks_of_small_layers_in_float32_differ_only_in_rounding(case):
    assume(compact.fits(case.stages))
    assert_same_as_reference_in_float32(case)


@pytest.mark.parametrize("layers", [[Full(tau=1)], [Tile((1, 1), units=1, tau=1), Full(tau=1)]])
def test_distances_of_small_layers_are_not_rounded_to_float32(layers):
    """Squared distances of 4e-10 and 1e-10 are rounded away beside ||c||^2 = 1; the reference takes the closer unit."""
    network = Network(layers, (1, 1), 1, [0, 1], seed=0)
    network.parameters = Parameters()
    for stage in network.stages:
        rows = np.ones((stage.units, *stage.surface_shape))
        rows[: len(rows) - 1] -= 2e-5
        network.parameters = network.parameters.with_layer(rows - 1e-5)
    batch = pack(Recordings([[0, 0], [0, 0]], t=[0, 9], field=(1, 1)))
    for engine, options in ((reference, Options()), (cpu, Options(precision="float32"))):
        found = engine.learn_online(network.stages, network.parameters.copy(), Rule(), batch, options)
        assert found.votes.tolist() == [[0, 2]], engine


@given(case=cases(most_layers=2, kinds=(Window, Full), several=False, windows=(3, 5, 7, 9, 11)))
def test_windows_whose_rows_are_packed_in_float32_differ_only_in_rounding(case):
    assert_same_as_reference_in_float32(case)


def assert_same_as_reference_in_float32(case):
    assume(clear_cut(case))
    expected, found = case.parameters.copy(), case.parameters.copy()
    right = reference.learn_online(case.stages, expected, case.rule, case.batch)
    ours = cpu.learn_online(case.stages, found, case.rule, case.batch, Options(precision="float32"))
    assert_same_counts(ours, right)
    assert_same_parameters(found, expected, rtol=1e-4, atol=1e-4)
    assert_frozen_units_kept_every_bit(found, case.parameters)


@pytest.mark.parametrize("entries", [compact.ENTRIES, 0])
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e30])
@given(case=cases())
@examples(20)
def test_centroids_that_have_diverged_vote_for_classes_that_exist(entries, value, case):
    """A lane without a unit is never the closest, however far all units are."""
    parameters = case.parameters.copy()
    parameters[-1].centroids[:] = value
    with mock.patch.object(compact, "ENTRIES", entries):
        found = cpu.learn_online(case.stages, parameters, case.rule, case.batch, Options(precision="float32"))
    np.testing.assert_array_equal(found.votes.sum(axis=1), found.kept[:, -1])


@given(case=cases(), gain=st.sampled_from([0.5, 1.0, 2.0]))
@examples(30)
def test_online_learning_in_float32_with_gains_that_reset_scales(case, gain):
    rule = replace(case.rule, alpha=gain, beta=-gain / 2, last="sup3r")
    case = replace(case, rule=rule)
    assume(clear_cut(case))
    expected, found = case.parameters.copy(), case.parameters.copy()
    right = reference.learn_online(case.stages, expected, rule, case.batch)
    assume(all(np.abs(u.centroids).max() < 10 for u in expected))
    with mock.patch.object(layout, "SMALL", 0):
        ours = cpu.learn_online(case.stages, found, rule, case.batch, Options(precision="float32"))
    assert_same_counts(ours, right)
    assert_same_parameters(found, expected, rtol=1e-3, atol=1e-3)


def clear_cut(case, least=1e-4):
    """Whether no event, on its way through the learning reference, comes closer than this to a tie or a threshold.

    Ties of units with the same distance to the last bit do not count: both engines take the first.
    """
    margins = []
    forward = reference.forward

    def watched(stages, parameters, *event):
        found = forward(stages, parameters, *event)
        for step, units in zip(found, parameters, strict=False):
            squared = np.sort(step.dist**2)
            margins.extend(gap for gap in np.diff(squared[:2]) if gap != 0)
            margins.append(abs(step.dist[step.fired] - units.thresholds[step.fired]))
            margins.extend(np.abs(step.dist - units.thresholds))
        return found

    with mock.patch.object(reference, "forward", watched):
        reference.learn_online(case.stages, case.parameters.copy(), case.rule, case.batch)
    return min(margins, default=1.0) > least
