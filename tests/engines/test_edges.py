"""Every engine where a comparison turns: at thresholds, at 0, at the slack, at the ends of 32-bit times."""

from functools import partial
from itertools import pairwise
from unittest import mock

import numpy as np
import pytest

from tests.engines import edges
from tests.engines.test_against_reference import ENGINES
from timesurf.engines import Options, Parameters, pack, reference
from timesurf.engines.cpu import engine as cpu
from timesurf.engines.cpu import layout
from timesurf.events import Recordings
from timesurf.layers import Full, Window, stack
from timesurf.rule import Rule

EVERY = pytest.mark.parametrize("engine", [pytest.param(reference, id="reference"), *ENGINES])
FLOAT32 = Options(precision="float32")


def never_written_out(*about, options):
    """Online learning where no surface of a `Full` layer is written out, as over large fields."""
    with mock.patch.object(layout, "SMALL", 0):
        return cpu.learn_online(*about, options=options)


LEARNING = [  # how parameters are learned, and to what they are exact
    *(
        pytest.param(getattr(engine.values[0], how), 1e-9, id=f"{engine.id}-{how}")
        for engine in (pytest.param(reference, id="reference"), *ENGINES)
        for how in ("learn_online", "learn_batch")
    ),
    pytest.param(partial(cpu.learn_online, options=FLOAT32), 1e-4, id="cpu-learn_online-float32"),
    pytest.param(partial(never_written_out, options=Options()), 1e-6, id="cpu-learn_online-large"),
    pytest.param(partial(never_written_out, options=FLOAT32), 1e-4, id="cpu-learn_online-large-float32"),
]
LEARN = pytest.mark.parametrize(("learn", "exact"), LEARNING)
LAYER = pytest.mark.parametrize("layer", edges.LAYERS.values(), ids=edges.LAYERS)


@EVERY
@LAYER
def test_an_event_exactly_at_the_threshold_is_rejected(engine, layer):
    stages, parameters = edges.two_layers(layer, [0.5, -4.0], [0.5, 9.0])  # 0.5 away: no rounding
    assert engine.infer(stages, parameters, edges.one_event()).kept.tolist() == [[0, 0]]
    parameters[0].thresholds[0] = 0.5 + 1e-9
    assert engine.infer(stages, parameters, edges.one_event()).kept.tolist() == [[1, 1]]


@LEARN
@LAYER
def test_nothing_is_learned_from_an_event_exactly_at_the_threshold(learn, exact, layer):
    for threshold, kept in ((0.5, 0), (0.5 + exact, 1)):
        stages, parameters = edges.two_layers(layer, [0.5, -4.0], [threshold, 9.0])
        before = parameters.copy()
        assert learn(stages, parameters, Rule(gamma=0.1), edges.one_event()).kept.tolist() == [[kept, kept]]
        assert parameters.same(before) == (not kept)


@LEARN
@LAYER
def test_a_threshold_stops_at_0_and_the_others_do_not(learn, exact, layer):
    """Unit 0 fires and pushes unit 1 back: with a small threshold to 0, with a large one by what the rule says."""
    rule = Rule(gamma=1, delta=0, d=1.0)
    for threshold, expected in ((0.75, 0.0), (5.0, 5.0 - np.exp(-4.5))):
        stages, parameters = edges.two_layers(layer, [1.0, 0.5], [0.5, threshold])
        learn(stages, parameters, rule, edges.one_event())
        np.testing.assert_allclose(parameters[0].thresholds, [0.5 + np.exp(-0.5), expected], rtol=max(exact, 1e-6))
        assert parameters[0].thresholds[1] >= 0


@LEARN
def test_the_threshold_of_the_unit_that_fired_stops_at_0_too(learn, exact):
    stages, parameters = edges.two_layers(Full(units=2, tau=1), [1.0, -5.0], [0.25, 1.0])
    learn(stages, parameters, Rule(gamma=-9, delta=0, d=1.0), edges.one_event())
    assert parameters[0].thresholds.tolist() == [0.0, 1.0]


@LEARN
@LAYER
def test_a_unit_exactly_at_its_threshold_is_not_pushed_back(learn, exact, layer):
    rule = Rule(gamma=0.1, delta=0, d=1.0)
    for threshold, moves in ((0.5, False), (0.5 + exact, True)):
        stages, parameters = edges.two_layers(layer, [1.0, 0.5], [0.5, threshold])
        learn(stages, parameters, rule, edges.one_event())
        assert (parameters[0].thresholds[1] != threshold) == moves


@LEARN
@LAYER
def test_infinite_thresholds_stay_infinite(learn, exact, layer):
    stages, parameters = edges.two_layers(layer, [1.0, 0.5], [np.inf, np.inf])
    learn(stages, parameters, Rule(gamma=0.1, delta=0.1), edges.one_event())
    assert parameters[0].thresholds.tolist() == [np.inf, np.inf]
    assert np.isfinite(parameters[0].centroids).all()


@LEARN
def test_an_infinite_threshold_beside_the_one_that_fired_stays_infinite(learn, exact):
    stages, parameters = edges.two_layers(Full(units=2, tau=1), [1.0, 0.5], [0.5, np.inf])
    learn(stages, parameters, Rule(gamma=0.1, delta=0, d=1.0), edges.one_event())
    np.testing.assert_allclose(parameters[0].thresholds, [0.5 + 0.1 * np.exp(-0.5), np.inf], rtol=max(exact, 1e-6))


@LEARN
@LAYER
def test_a_unit_without_a_threshold_pushes_back_those_that_have_one(learn, exact, layer):
    stages, parameters = edges.two_layers(layer, [1.0, 0.5], [np.inf, 1.0])
    learn(stages, parameters, Rule(gamma=0.1, delta=0, d=1.0), edges.one_event())
    np.testing.assert_allclose(parameters[0].thresholds, [np.inf, 1.0 - 0.1 * np.exp(-0.5)], rtol=max(exact, 1e-6))


@LEARN
@pytest.mark.parametrize(("fall", "competes"), [(0.9e-6, True), (1.1e-6, False)])
def test_units_compete_down_to_the_slack_and_no_further(learn, exact, fall, competes):
    both, alone = (edges.pushed_by_second_event(learn, fall, events=n) for n in (2, 1))
    assert (both < alone) == competes
    assert competes or both == alone


@pytest.mark.parametrize("length", edges.LENGTHS)
def test_times_are_packed_in_as_many_bits_as_the_longest_recording_needs(length):
    recordings = edges.long_recording(length)
    batch = pack(recordings)
    assert batch.t.dtype == (np.int32 if length < 2**29 else np.int64)
    for r, (a, b) in enumerate([(0, 30), (30, 45)]):
        expected = recordings[r].t.astype(np.int64) - int(recordings[r].t[0])
        assert batch.t[a:b].tolist() == expected.tolist()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("tau", [10.0, 2.0**28])
@pytest.mark.parametrize("length", edges.LENGTHS)
def test_long_recordings_run_and_teach_as_in_the_reference(engine, tau, length):
    stages, parameters = edges.two_layers_for_long_recordings(tau)
    batch = pack(edges.long_recording(length), np.array([0, 1]))
    expected, found = (one.infer(stages, parameters, batch, trace=True) for one in (reference, engine))
    np.testing.assert_array_equal(found.kept, expected.kept)
    np.testing.assert_allclose(found.trace.distance, expected.trace.distance, rtol=1e-9)
    np.testing.assert_allclose(found.trace.S, expected.trace.S, rtol=1e-9, atol=1e-12)
    rule, exact = Rule(0.01, 0.01, 0.01, 0.01), {"rtol": 1e-7, "atol": 1e-12}
    rounded = {"rtol": 1e-4, "atol": 1e-4}
    ways = [("learn_online", Options(), exact), ("learn_batch", Options(), exact), ("learn_online", FLOAT32, rounded)]
    for learn, options, tolerance in ways:
        right, ours = parameters.copy(), parameters.copy()
        for one, learned in ((reference, right), (engine, ours)):
            getattr(one, learn)(stages, learned, rule, batch, options)
        for a, b in zip(ours.arrays, right.arrays, strict=True):
            np.testing.assert_allclose(a, b, **tolerance)


def many_units():
    """Layers of 37 units and 20 classes of two each, more than vectors hold, and recordings of several blocks."""
    stages = stack([Window(5, units=37, tau=300), Full(units=40, units_per_class=2, tau=900)], (7, 6), 2)
    rng = np.random.default_rng(3)
    centroids = [c * rng.random((s.units, *s.surface_shape)) for c, s in zip((0.4, 0.05), stages, strict=True)]
    parameters = Parameters.of(centroids, [rng.uniform(1.5, 2.1, 37), np.full(40, np.inf)])
    n, offsets = 420, [0, 3, 300, 420]
    coords, p = [rng.integers(0, 7, n), rng.integers(0, 6, n)], rng.integers(0, 2, n)
    t = np.concatenate([np.sort(rng.integers(0, 5000, b - a)) for a, b in pairwise(offsets)])
    return (
        stages,
        parameters,
        pack(Recordings(coords, t, p, offsets, field=(7, 6), polarities=2), np.array([3, 19, -1])),
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_many_units_and_long_recordings_run_as_in_the_reference(engine):
    stages, parameters, batch = many_units()
    expected, found = (
        one.infer(stages, parameters, batch, Options(temperature=3.0), trace=True) for one in (reference, engine)
    )
    assert 0.2 < expected.kept[:, 1].sum() / 420 < 0.9
    assert len(np.unique(expected.trace.winner[:, 0])) > 16
    np.testing.assert_array_equal(found.kept, expected.kept)
    np.testing.assert_array_equal(found.votes, expected.votes)
    np.testing.assert_array_equal(found.trace.winner, expected.trace.winner)
    np.testing.assert_allclose(found.trace.S, expected.trace.S, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.evidence, expected.evidence, rtol=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("last", ["sup3r", "delta"])
@pytest.mark.parametrize(("learn", "precision"), [("batch", "float64"), ("online", "float64"), ("online", "float32")])
def test_many_units_learn_as_in_the_reference(engine, last, learn, precision):
    stages, parameters, batch = many_units()
    rule = Rule(0.002, 0.001, 0.003, 0.002, last=last, temperature=3.0)
    right, ours = parameters.copy(), parameters.copy()
    for one, learned in ((reference, right), (engine, ours)):
        getattr(one, f"learn_{learn}")(stages, learned, rule, batch, Options(precision=precision))
    assert not right.same(parameters)
    exact = {"rtol": 1e-8, "atol": 1e-11} if precision == "float64" else {"rtol": 1e-4, "atol": 1e-4}
    for a, b in zip(ours.arrays, right.arrays, strict=True):
        np.testing.assert_allclose(a, b, **exact)
