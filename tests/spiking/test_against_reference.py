"""Integrate-and-fire neurons on the CPU equal the reference on random networks and random streams."""

from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.random_networks import streams
from timesurf.engines import Batch, Parameters, pack
from timesurf.rule import Rule
from timesurf.spiking import Neurons, cpu, reference
from timesurf.spiking.layers import Stage, stack

QUICK = examples(40)
EXACT = {"rtol": 1e-6, "atol": 1e-9}  # negative S pushes weights away, and rounding grows with them


@dataclass
class Case:
    stages: tuple[Stage, ...]
    parameters: Parameters
    batch: Batch
    rule: Rule


@st.composite
def neurons(draw, dimensions, last=False):
    times = st.sampled_from([1.0, 7.5, 40.0, 300.0])
    about = {name: draw(times) for name in ("tau", "trace_tau", "feedback_tau")}
    about |= {"refractory": draw(st.sampled_from([0.0, 0.0, 0.0, 5.0, 60.0])), "inhibition": draw(st.floats(0, 0.6))}
    about["reset"] = draw(st.sampled_from(["zero", "subtract"]))
    if last:
        return Neurons(**about)
    box = tuple(draw(st.integers(1, 4)) for _ in range(dimensions))
    step = None if draw(st.booleans()) else tuple(draw(st.integers(1, 3)) for _ in range(dimensions))
    return Neurons(box, step=step, units=draw(st.integers(1, 4)), **about)


@st.composite
def cases(draw):
    field = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=2)))
    polarities, classes = draw(st.integers(1, 2)), draw(st.integers(1, 3))
    hidden = [draw(neurons(len(field))) for _ in range(draw(st.integers(0, 2)))]
    stages = stack([*hidden, draw(neurons(len(field), last=True))], field, polarities, classes)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    weights = [rng.normal(0.5, 0.4, (stage.units, *stage.shape)) for stage in stages]
    weights = [w / np.sqrt((w**2).reshape(len(w), -1).sum(1)).reshape(-1, *(1,) * (w.ndim - 1)) for w in weights]
    thresholds = [rng.uniform(0.01, 0.3, stage.units) if rng.random() < 0.8 else np.full(stage.units, -np.inf)
                  for stage in stages]  # fmt: skip
    frozen = [rng.random(stage.units) < 0.2 for stage in stages]
    recordings = draw(streams(field, polarities, most_events=150).filter(lambda some: len(some.t) >= 30))
    batch = pack(recordings, rng.integers(-1, classes, len(recordings)))
    rates = dict(zip(("alpha", "beta", "gamma", "delta", "d"), rng.uniform(0.01, 0.3, 5), strict=True))
    return Case(
        stages, Parameters.of(weights, thresholds, frozen), batch, Rule(**rates, competition=draw(st.booleans()))
    )


def assert_same_counts(found, expected):
    np.testing.assert_array_equal(found.events, expected.events)
    np.testing.assert_array_equal(found.kept, expected.kept)
    np.testing.assert_array_equal(found.votes, expected.votes)


def assert_most_fired(outputs):
    """Silent cases prove little; of 40 cases 31 to 40 have five output spikes and more (ten seeds of hypothesis)."""
    assert np.mean(np.array(outputs) >= 5) > 0.6


def test_same_spikes_and_nothing_learned():
    outputs = []

    @QUICK
    @given(case=cases())
    def check(case):
        before = case.parameters.copy()
        found = cpu.run(case.stages, case.parameters, case.batch)
        assert_same_counts(found, reference.run(case.stages, case.parameters, case.batch))
        assert case.parameters.same(before)
        outputs.append(found.votes.sum())

    check()
    assert_most_fired(outputs)


def test_same_learning():
    outputs, changed = [], []

    @QUICK
    @given(case=cases())
    def check(case):
        mine, theirs = case.parameters.copy(), case.parameters.copy()
        found, expected = (
            engine.run(case.stages, p, case.batch, case.rule) for engine, p in ((cpu, mine), (reference, theirs))
        )
        assert_same_counts(found, expected)
        for ours, right, before in zip(mine, theirs, case.parameters, strict=True):
            np.testing.assert_allclose(ours.centroids, right.centroids, **EXACT)
            np.testing.assert_allclose(ours.thresholds, right.thresholds, **EXACT)
            frozen = before.frozen
            assert ours.centroids[frozen].tobytes() == before.centroids[frozen].tobytes()
            assert ours.thresholds[frozen].tobytes() == before.thresholds[frozen].tobytes()
        outputs.append(found.votes.sum())
        changed.append(not theirs.same(case.parameters))

    check()
    assert_most_fired(outputs)
    assert np.mean(changed) > 0.5  # 27 to 40 of 40


@QUICK
@given(case=cases())
def test_spikes_that_a_layer_emits_drive_the_layers_above_as_they_do_in_the_network(case):
    for k in range(1, len(case.stages)):
        between = cpu.emitted(case.stages[:k], Parameters(case.parameters[:k]), case.batch)
        above = cpu.run(case.stages[k:], Parameters(case.parameters[k:]), between)
        np.testing.assert_array_equal(above.votes, cpu.run(case.stages, case.parameters, case.batch).votes)
