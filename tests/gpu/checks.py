"""What the CUDA engine is held to, on a machine with an NVIDIA GPU and CuPy.

Winners may part at near-ties, which float32 decides otherwise; such a recording is left out from there on.
"""

import numpy as np
import pytest

from tests.gpu.cases import draw
from timesurf import Full, Network, Recordings, Rule, Window
from timesurf.engines import Options, reference
from timesurf.engines.cuda import deep as cudadeep

cupy = pytest.importorskip("cupy", reason="the CUDA engine needs CuPy")
try:
    cupy.cuda.runtime.getDeviceCount()
except cupy.cuda.runtime.CUDARuntimeError:
    pytest.skip("there is no GPU here", allow_module_level=True)

from timesurf.engines.cuda import emission  # noqa: E402
from timesurf.engines.cuda import engine as cuda  # noqa: E402
from timesurf.engines.cuda import events as cudaevents  # noqa: E402

NEAR = 2e-4  # how far apart distances of a near-tie may lie


def gap(stages, parameters, batch, event, layer, found):
    """How far the reference is from deciding as `found` did, at one event and layer."""
    expected = reference.infer(stages, parameters, batch, trace=True).trace
    row = int((expected.passed[:event] >= layer).sum())
    ts = reference.surfaces(stages, parameters, batch, layer)[row]
    distance = np.linalg.norm((ts - parameters[layer].centroids).reshape(stages[layer].units, -1), axis=1)
    winner = found.winner[event, layer]
    return distance[winner] - distance.min(), np.abs(distance.min() - parameters[layer].thresholds).min()


def parted(stages, parameters, batch, found, expected):
    """Whether any event went another way; each first one of a recording must be a near-tie."""
    some = False
    for a, b in zip(batch.offsets, batch.offsets[1:], strict=False):
        other = (found.winner[a:b] != expected.winner[a:b]).any(axis=1) | (found.passed[a:b] != expected.passed[a:b])
        if other.any():
            some, event = True, a + int(np.argmax(other))
            layer = int(np.argmax(found.winner[event] != expected.winner[event]))
            if found.winner[event].tolist() == expected.winner[event].tolist():
                layer = min(found.passed[event], expected.passed[event])
            tie, border = gap(stages, parameters, batch, event, min(layer, len(stages) - 1), found)
            assert min(tie, border) <= NEAR or min(found.passed[event], expected.passed[event]) < layer
    return some


def check_decisions(stages, parameters, batch, temperature=0.0):
    """Votes and rejections as the reference has them; at a temperature also evidence, with a trace and without."""
    options = Options(temperature=temperature)
    right = reference.infer(stages, parameters, batch, options, trace=True)
    plain, traced = (cuda.infer(stages, parameters, batch, options, trace=trace) for trace in (False, True))
    if parted(stages, parameters, batch, traced.trace, right.trace):
        return
    for ours in (plain, traced):
        np.testing.assert_array_equal(ours.votes, right.votes)
        np.testing.assert_array_equal(ours.kept, right.kept)
        assert (ours.evidence is None) == (temperature == 0)
        if temperature:
            outputs = right.votes.sum(axis=1, keepdims=True)  # each adds what rounding of its distances comes to
            assert (np.abs(ours.evidence - right.evidence) <= 1e-3 * temperature * outputs + 1e-6).all()


def check_learning(stages, parameters, rule, batch, options):
    """Steps of every parameter as the reference makes them; the same bits again where that is asked for."""
    expected, found = parameters.copy(), parameters.copy()
    right = reference.learn_batch(stages, expected, rule, batch)
    ours = cuda.learn_batch(stages, found, rule, batch, options)
    traces = (engine.infer(stages, parameters, batch, trace=True).trace for engine in (cuda, reference))
    if parted(stages, parameters, batch, *traces):
        return
    np.testing.assert_array_equal(ours.votes, right.votes)
    np.testing.assert_array_equal(ours.kept, right.kept)
    for k in range(len(stages)):
        for mine, theirs, start in (
            (found[k].centroids, expected[k].centroids, parameters[k].centroids),
            (found[k].thresholds, expected[k].thresholds, parameters[k].thresholds),
        ):
            finite = np.isfinite(start)
            largest = np.abs(theirs[finite] - start[finite]).max(initial=1e-4)  # step of any entry of the layer
            np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-3 * largest)
        frozen = parameters[k].frozen
        assert found[k].centroids[frozen].tobytes() == parameters[k].centroids[frozen].tobytes()
    if options.deterministic:
        again = parameters.copy()
        cuda.learn_batch(stages, again, rule, batch, options)
        assert same_bits(found, again)


def check_outputs(stages, parameters, batch):
    """Winner, rejection and place of every event as the reference has them, except at near-ties."""
    (stage,), (units,) = stages, parameters
    out, times = (a.get() for a in emission.outputs(stage, units, cudaevents.of_batch(batch)))
    np.testing.assert_array_equal(times, batch.t)
    right = reference.infer(stages, parameters, batch, trace=True).trace
    *x, _ = np.unravel_index(batch.entry, (*stage.field, stage.polarities))
    place = np.ravel_multi_index(stage.layer.output(tuple(x)), stage.output_field)
    expected = np.where(right.passed > 0, place * stage.units + right.winner[:, 0], -1)
    other = np.flatnonzero(out != expected)
    assert len(other) < 0.01 * len(out) + 2, "near-ties are rare"
    if len(other):
        surfaces = reference.surfaces(stages, parameters, batch, 0)[other]
        flat = (surfaces[:, None] - units.centroids[None]).reshape(len(other), stage.units, -1)
        distance = np.linalg.norm(flat, axis=2)
        border = np.abs(distance.min(axis=1) - units.thresholds[right.winner[other, 0]])
        found = np.where(out[other] < 0, 0, out[other] % stage.units)
        tie = np.where(out[other] < 0, np.inf, distance[np.arange(len(other)), found] - distance.min(axis=1))
        assert (np.minimum(tie, border) <= NEAR).all()
        both = (out[other] >= 0) & (expected[other] >= 0)
        np.testing.assert_array_equal((out[other] // stage.units)[both], place[other][both])


def deeper(seed):
    """Two or three Window layers below one Full layer, that go layer by layer."""
    most_units = (5, 16, 33, 64)[seed % 4]
    for again in range(50):
        drawn = draw(1000 * again + seed, most_units, most_events=400, windows=2 + seed % 2)
        if cudadeep.deep(drawn[0], learn=True, shared=232_448, deterministic=True):
            return drawn
    raise AssertionError("no network that goes layer by layer")


def digits(n=40, events=300):
    """Recordings without end, for whole passes."""
    rng = np.random.default_rng(0)
    t = np.sort(rng.integers(0, 100_000, (n, events)), axis=1).ravel()
    offsets, label = np.arange(n + 1) * events, np.arange(n) % 3
    return Recordings(rng.integers(0, 12, (2, n * events)), t, offsets=offsets, field=(12, 12), labels=label)


def network_of(data, seed=0, tau="10 ms", *, deep=False, **rates):
    layers = [Window(5, units=8, tau=tau), *[Window(3, units=12, tau="20 ms")] * deep, Full(tau="5 ms")]
    network = Network(layers, data.field, 1, range(3), engine="cuda", seed=seed, rule=Rule(**rates), deterministic=True)
    return network.start(data)


def same_bits(a, b):
    return all(x.tobytes() == y.tobytes() for x, y in zip(a.arrays, b.arrays, strict=True))
