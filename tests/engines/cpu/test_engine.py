"""What the CPU engine guarantees beyond the reference: threads, memory, long times."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from hypothesis import given

from tests.examples import examples
from tests.memory import peak
from tests.random_networks import cases
from timesurf import Recordings, Rule
from timesurf.bench import workloads
from timesurf.engines import Options, pack, reference
from timesurf.engines.cpu import engine as cpu
from timesurf.engines.cpu import lanes, workspace
from timesurf.engines.cpu.layout import frozen_plan
from timesurf.engines.cpu.shares import add_evidence
from timesurf.engines.cpu.vector import FASTMATH, decayed, logarithm
from timesurf.network import Network


def network(data, layers=workloads.NMNIST):
    return Network(layers, data.field, data.polarities, range(10)).start(data, sample=4)


POOLED = [workloads.Window(5, units=6, tau=2e4, stride=3), workloads.Full(tau=2e4, units_per_class=2)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("last", ["sup3r", "delta"])
def test_same_bits_for_any_number_of_threads(monkeypatch, last, dtype):
    monkeypatch.setattr(lanes, "_EVENTS_PER_LANE", 2000)
    data = workloads.strokes(30, events=700)
    net = network(data, workloads.DEEPER if last == "sup3r" else POOLED)
    rule = Rule(1e-5, 1e-6, last=last)
    results = []
    for threads in (1, 2, 4):
        parameters = net.parameters.copy()
        batch = pack(data, net.class_numbers(data))
        outcome = cpu.learn_batch(net.stages, parameters, rule, batch, Options(dtype, threads))
        seen = cpu.infer(net.stages, parameters, batch, Options(dtype, threads, temperature=5.0), trace=True)
        arrays = [*parameters.arrays, outcome.votes, seen.evidence, seen.trace.distance, seen.trace.S]
        results.append([a.tobytes() for a in arrays])
    assert results[0] == results[1] == results[2]


@given(case=cases())
@examples(20)
def test_memory_of_an_earlier_recording_is_gone(case):
    """Workspaces are kept between calls and never cleared: results must not depend on what ran before."""
    once = cpu.infer(case.stages, case.parameters, case.batch, trace=True)
    for _ in range(3):
        again = cpu.infer(case.stages, case.parameters, case.batch, trace=True)
        np.testing.assert_array_equal(once.trace.distance, again.trace.distance)
        np.testing.assert_array_equal(once.trace.S, again.trace.S)


@pytest.mark.parametrize("start", [0, 2**31 - 5, 2**32 - 5, 2**53 + 1])
@pytest.mark.parametrize("stretch", [1, 10**7])
def test_late_and_long_recordings_lose_no_precision(start, stretch):
    """Hours after the clock began, or hours long, surfaces are those of the reference."""
    t = start + np.cumsum([0, 3, 0, 7, 40, 2, 9, 300]) * stretch
    data = Recordings([[0, 1, 2, 1, 0, 3, 2, 1]], t, field=(4,))
    layers = [workloads.Window(3, units=3, tau=20.0 * stretch), workloads.Full(units=2, tau=30.0 * stretch)]
    net = Network(layers, (4,), 1, [0, 1]).start(data)
    expected = reference.infer(net.stages, net.parameters, pack(data), trace=True).trace
    found = cpu.infer(net.stages, net.parameters, pack(data), trace=True).trace
    np.testing.assert_array_equal(found.winner, expected.winner)
    np.testing.assert_allclose(found.distance, expected.distance, rtol=1e-9)
    online, right = net.parameters.copy(), net.parameters.copy()
    cpu.learn_online(net.stages, online, Rule(0.1, 0.1), pack(data))
    reference.learn_online(net.stages, right, Rule(0.1, 0.1), pack(data))
    for a, b in zip([u.centroids for u in online], [u.centroids for u in right], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


@pytest.mark.parametrize("tau", [1e7, 3e7, 1e12])
def test_what_never_fired_is_zero_however_slow_the_decay(tau):
    data = Recordings([[0, 1, 2, 1]], [0, 10, 20, 30], field=(4,))
    for layer in (workloads.Window(3, units=2, tau=tau), workloads.Full(units=2, tau=tau)):
        net = Network([layer], (4,), 1, [0, 1]).start(data)
        expected = reference.infer(net.stages, net.parameters, pack(data), trace=True).trace
        found = cpu.infer(net.stages, net.parameters, pack(data), trace=True).trace
        np.testing.assert_allclose(found.distance, expected.distance, rtol=1e-9, atol=1e-7)
        for learn in ("learn_online", "learn_batch"):
            one, other = net.parameters.copy(), net.parameters.copy()
            getattr(cpu, learn)(net.stages, one, Rule(0.1, 0.1), pack(data))
            getattr(reference, learn)(net.stages, other, Rule(0.1, 0.1), pack(data))
            np.testing.assert_allclose(one[0].centroids, other[0].centroids, rtol=1e-9)


@pytest.mark.parametrize("last", ["sup3r", "delta"])
@pytest.mark.parametrize("learn", ["learn_online", "learn_batch"])
def test_frozen_hidden_layers_leave_the_last_to_learn_as_ever(learn, last):
    """Layers that cannot change are left out of learning, and the others do not notice."""
    data = workloads.strokes(6, events=300)
    net = network(data, POOLED)
    net.freeze(0)
    batch = pack(data, net.class_numbers(data))
    expected, found = net.parameters.copy(), net.parameters.copy()
    rule = Rule(1e-3, 1e-4, last=last)
    getattr(reference, learn)(net.stages, expected, rule, batch)
    getattr(cpu, learn)(net.stages, found, rule, batch)
    np.testing.assert_array_equal(found[0].centroids, net.parameters[0].centroids)
    np.testing.assert_allclose(found[1].centroids, expected[1].centroids, rtol=1e-9, atol=1e-12)
    assert not np.array_equal(found[1].centroids, net.parameters[1].centroids)


def test_a_diverged_network_leaves_nothing_behind():
    data = workloads.strokes(2, events=300)
    net = network(data)
    before = cpu.infer(net.stages, net.parameters, pack(data), trace=True).trace.distance
    diverged = net.parameters.copy()
    diverged[1].centroids[:] = np.nan
    cpu.infer(net.stages, diverged, pack(data))
    after = cpu.infer(net.stages, net.parameters, pack(data), trace=True).trace.distance
    np.testing.assert_array_equal(before, after)


def test_equal_centroids_tie_to_the_lowest_unit():
    data = workloads.strokes(2, events=500)
    net = network(data)
    for c in [u.centroids for u in net.parameters]:
        c[:] = c[0]
    trace = cpu.infer(net.stages, net.parameters, pack(data), Options("float32"), trace=True).trace
    assert (trace.winner == 0).all()


@pytest.fixture(scope="module")
def alone():
    """Runs functions in another process, where no thread of another test allocates anything."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        yield lambda call, *arguments: process.submit(call, *arguments).result()


def taken(learn, by_delta):
    """Bytes that a batch takes, and that the formula says."""
    data = workloads.strokes(64)
    net = network(data)
    batch, options = pack(data, net.class_numbers(data)), Options("float32", 1)
    rule = Rule(0, 0, 0, 0, last="delta" if by_delta else "sup3r")

    def run(batch):
        if learn:
            return cpu.learn_batch(net.stages, net.parameters, rule, batch, options)
        return cpu.infer(net.stages, net.parameters, batch, options)

    run(pack(data[:1], [0]))  # compiled and planned
    workspace._free.clear()
    bytes_taken, _ = peak(lambda: run(batch))
    return bytes_taken, cpu.memory(net.stages, np.diff(batch.offsets), options, learn=learn, by_delta=by_delta)


@pytest.mark.parametrize(("learn", "by_delta"), [(False, False), (True, False), (True, True)])
def test_memory_is_what_the_formula_says(alone, learn, by_delta):
    """Beyond the data: it grows with the batch and the lanes, not with the data set."""
    found, formula = alone(taken, learn, by_delta)
    assert 0.5 * formula < found < 1.1 * formula


@pytest.mark.parametrize(("dtype", "error"), [(np.float32, 3e-7), (np.float64, 5e-16)])
def test_decay_is_exp_within_its_stated_error(dtype, error):
    from numba import njit

    @njit(fastmath=FASTMATH)
    def every(x, out):
        for i in range(len(x)):
            out[i] = decayed(x[i])

    x = np.concatenate([-np.logspace(-9, np.log10(39.9), 5000), [0.0]]).astype(dtype)
    out = np.empty_like(x)
    every(x, out)
    assert np.abs(out - np.exp(x.astype(np.float64))).max() < error
    assert out[-1] == 1
    never = np.full(7, -1e12, dtype=dtype)
    every(never, never)
    assert (never == 0).all()


def test_logarithm_is_log_within_its_stated_error():
    from numba import njit

    @njit(fastmath=FASTMATH)
    def every(x, out):
        for i in range(len(x)):
            out[i] = logarithm(x[i])

    x = np.concatenate([np.logspace(-300, 300, 5001), np.linspace(1e-4, 1.0001, 5000), [1.0, 0.5, np.sqrt(0.5), 2.0]])
    out = np.empty_like(x)
    every(x, out)
    np.testing.assert_allclose(out, np.log(x), rtol=4e-16, atol=4e-16)
    assert out[-4] == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_evidence_does_not_depend_on_where_arrays_lie(dtype):
    """A loop over two arrays is compiled twice: for arrays that lie close together, and for others."""
    plan = frozen_plan(network(workloads.strokes(4, events=100), POOLED).stages)
    layout, layer, rng, events = plan.layout, plan.layers[-1], np.random.default_rng(0), 20
    scores, size = rng.normal(-1, 0.1, (events, layer.lanes)), layer.score0 + events * layer.lanes
    fired, found = scores[:, : layer.units].argmax(axis=1), []
    for begin in (size, size + 10_000):
        memory = np.zeros(size + 20_000, dtype)
        memory[layer.score0 : size] = scores.ravel()
        evidence = np.zeros(10)
        for o in range(events):
            add_evidence(
                1, layer, layout, memory, fired, np.array([o]), memory.dtype.type(10), memory[begin:][: layer.lanes],
                evidence,
            )  # fmt: skip
        found.append(evidence)
    np.testing.assert_array_equal(*found)
