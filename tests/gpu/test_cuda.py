"""The CUDA engine against the reference: on a machine with an NVIDIA GPU and CuPy.

    PYTHONPATH=src python3 -m pytest tests/gpu

`PYTHONPATH=src python3 -m pytest tests/gpu -k quick` runs a short selection of it.
"""

import os

import numpy as np
import pytest

pytest.importorskip("cupy", reason="the CUDA engine needs CuPy")

from tests.gpu.cases import draw
from tests.gpu.checks import check_decisions, check_learning, cuda, deeper, digits, network_of, parted, same_bits
from timesurf import Rule, SettingError
from timesurf.bench import workloads
from timesurf.engines import Learner, Options, pack, reference
from timesurf.engines.cuda import blocks as cudablocks
from timesurf.engines.cuda import deep as cudadeep
from timesurf.engines.cuda import events as cudaevents
from timesurf.engines.cuda import general
from timesurf.engines.cuda.memory import Memory
from timesurf.learning import together

SEEDS = range(int(os.environ.get("GPU_SEEDS", "12")))  # each is a network of its own, and compiled


@pytest.fixture(params=[1024, 3], ids=["written", "wide"])
def wide(request, monkeypatch):
    """Also with running dot products in small Full layers."""
    monkeypatch.setattr(general, "WIDE", request.param)
    general.plan.cache_clear()
    yield request.param
    general.plan.cache_clear()


@pytest.mark.parametrize("seed", SEEDS)
def test_same_winners_rejections_distances_and_s(seed, wide):
    stages, parameters, _, batch = draw(seed, most_units=70 if seed % 5 == 0 else 5)
    right = reference.infer(stages, parameters, batch, trace=True)
    ours = cuda.infer(stages, parameters, batch, trace=True)
    if parted(stages, parameters, batch, ours.trace, right.trace):
        return
    np.testing.assert_array_equal(ours.votes, right.votes)
    np.testing.assert_array_equal(ours.kept, right.kept)
    np.testing.assert_allclose(ours.trace.distance, right.trace.distance, rtol=1e-3, atol=2e-3)
    np.testing.assert_allclose(ours.trace.S, right.trace.S, atol=1e-4)
    np.testing.assert_array_equal(cuda.infer(stages, parameters, batch).votes, right.votes)


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_same_learning(seed, wide, deterministic):
    stages, parameters, rule, batch = draw(seed, most_units=70 if seed % 5 == 0 else 5)
    check_learning(stages, parameters, rule, batch, Options(deterministic=deterministic))


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_same_learning_by_the_delta_rule(seed, wide, deterministic):
    drawn = draw(seed, most_units=70 if seed % 5 == 0 else 9, windows=seed % 3, last="delta")
    check_learning(*drawn, Options(deterministic=deterministic))


@pytest.mark.parametrize("seed", SEEDS)
def test_same_evidence(seed, wide):
    stages, parameters, rule, batch = draw(seed, most_units=70 if seed % 5 == 0 else 9, windows=seed % 3)
    check_decisions(stages, parameters, batch, rule.temperature)


@pytest.mark.parametrize("seed", SEEDS[::2])
def test_same_surfaces_in_every_layer(seed, wide):
    stages, parameters, _, batch = draw(seed)
    for layer in range(len(stages)):
        expected = reference.surfaces(stages, parameters, batch, layer)
        found = cuda.surfaces(stages, parameters, batch, layer)
        if found.shape == expected.shape:  # a near-tie below may let one more or less through
            np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.fixture(params=[1, 2, 4, 8])
def group(request, monkeypatch):
    """So many warps share a recording."""
    monkeypatch.setattr(cudablocks, "GROUP", request.param)
    return request.param


@pytest.mark.parametrize("seed", SEEDS)
def test_blocks_of_events_decide_as_the_reference(seed, group):
    stages, parameters, _, batch = draw(seed, most_units=(5, 16, 33, 64)[seed % 4], most_events=400, windows=1)
    if stages[-1].units > 16:
        pytest.skip("too many classes for blocks of events")
    check_decisions(stages, parameters, batch)


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_blocks_of_events_learn_as_the_reference(seed, group, deterministic):
    stages, parameters, rule, batch = draw(seed, most_units=(5, 16)[seed % 2], most_events=400, windows=1)
    check_learning(stages, parameters, rule, batch, Options(deterministic=deterministic))


@pytest.fixture(params=[(1024, None), (64, None), (96, 1 << 22)], ids=["whole", "segments", "segments, chunks"])
def cut(request, monkeypatch):
    """Recordings in segments of so many events, and chunks that fit into so many bytes."""
    segment, room = request.param
    monkeypatch.setattr(cudadeep, "SEGMENT", segment)
    if room:
        monkeypatch.setattr(Memory, "free", lambda _: room)


@pytest.mark.parametrize("seed", SEEDS)
def test_layer_by_layer_decides_as_the_reference(seed, cut):
    stages, parameters, _, batch = deeper(seed)
    check_decisions(stages, parameters, batch)


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_layer_by_layer_learns_as_the_reference(seed, cut, deterministic):
    check_learning(*deeper(seed), Options(deterministic=deterministic))


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("streamed", [False, True])
def test_a_pass_over_events_on_the_card_equals_batch_after_batch(streamed, deep, monkeypatch):
    data, size, options = digits(), 16, Options(deterministic=True)
    if streamed:
        monkeypatch.setattr(cudaevents, "room", lambda: 8 * 2 * size * 300)
        monkeypatch.setattr(cudaevents, "_on_card", {})
    network = network_of(data, deep=deep)
    passed, batched = network.snapshot(), network.snapshot()
    order = np.random.default_rng(1).permutation(len(data))
    label = network.class_numbers(data)[order]
    parts = [slice(r, r + size) for r in range(0, len(data), size)]
    rules = [Rule(alpha=1e-4 * (1 + part.start)) for part in parts]
    reported = []
    (ours,) = cuda.learn_pass(
        [Learner(network.stages, passed, data[order], label)], parts, [rules], options,
        report=lambda part, outcomes: reported.append((part, len(outcomes[0].events))),
    )  # fmt: skip
    for part, rule in zip(parts, rules, strict=True):
        cuda.learn_batch(network.stages, batched, rule, pack(data[order[part]], label[part]), options)
    assert same_bits(passed, batched)
    np.testing.assert_array_equal(ours.events, data[order].counts)
    assert sum(n for _, n in reported) == len(data)
    votes = cuda.infer_all(network.stages, passed, data, options).votes
    np.testing.assert_array_equal(votes, cuda.infer(network.stages, passed, pack(data), options).votes)


@pytest.mark.parametrize("deep", [False, True])
def test_networks_side_by_side_become_what_each_becomes_alone(deep):
    data = digits()
    settings = [{"alpha": 1e-3}, {"alpha": 1e-4, "tau": "20 ms"}, {"alpha": 1e-3, "seed": 3}]
    alone, beside = ([network_of(data, deep=deep, **of) for of in settings] for _ in range(2))
    how = {"passes": 2, "batch_size": 8, "decay": True, "keep": 0.7}
    for network in alone:
        network.train(data, **how)
    together.train(beside, data, **how)
    for a, b in zip(alone, beside, strict=True):
        assert same_bits(a.parameters, b.parameters)
        assert a.history == b.history
    assert not same_bits(alone[0].parameters, alone[1].parameters)


def test_thresholds_compete_only_while_more_than_keep_passes():
    """As on the CPU, where it is decided before every batch."""
    data = digits(60)
    rates = {"alpha": 0.0, "beta": 0.0, "gamma": 0.0, "delta": 1e-3, "d": 3.0}
    networks = {keep: network_of(data, **rates) for keep in (None, 0.6)}
    for keep, network in networks.items():
        network.train(data, passes=2, batch_size=4, keep=keep)
    cpu = network_of(data, **rates)
    cpu.engine = "reference"
    cpu.train(data, passes=2, batch_size=4, keep=0.6)
    assert networks[None].history[-1]["kept"] < 0.8 * networks[0.6].history[-1]["kept"]
    np.testing.assert_allclose(networks[0.6].parameters[0].thresholds, cpu.parameters[0].thresholds, rtol=1e-2)


def test_networks_side_by_side_may_learn_by_different_rules():
    data = digits()
    settings = [{"alpha": 1e-3, "last": "delta"}, {"alpha": 1e-3, "last": "delta", "temperature": 1.0}]
    alone, beside = ([network_of(data, **of) for of in settings] for _ in range(2))
    how = {"passes": 2, "batch_size": 8}
    for network in alone:
        network.train(data, **how)
    together.train(beside, data, **how)
    for a, b in zip(alone, beside, strict=True):
        assert same_bits(a.parameters, b.parameters)
    assert not same_bits(alone[0].parameters, alone[1].parameters)


def test_online_learning_is_refused_with_the_way_out():
    stages, parameters, rule, batch = draw(1)
    with pytest.raises(SettingError, match="Online learning"):
        cuda.learn_online(stages, parameters, rule, batch)


def test_kmeans_is_as_good_as_scikit_learns():
    from sklearn.cluster import KMeans

    rng = np.random.default_rng(0)
    points = rng.normal(size=(20, 9))[rng.integers(20, size=3000)] + 0.3 * rng.normal(size=(3000, 9))
    c = cuda.kmeans(points, 16, 1)
    inertia = ((points[:, None] - c) ** 2).sum(axis=2).min(axis=1).sum()
    assert inertia < 1.02 * KMeans(16, n_init=3, random_state=1).fit(points).inertia_
    np.testing.assert_array_equal(c, cuda.kmeans(points, 16, 1))


def test_simulated_events_are_of_the_same_kind_as_on_the_cpu():
    exposure = pytest.importorskip("timesurf.datasets.exposure", reason="the simulator on the CPU needs numba")
    assert exposure
    from timesurf.datasets import saccades

    rng = np.random.default_rng(0)
    images = np.zeros((60, 28, 28))
    for image in images:
        x, y = rng.integers(4, 18, 2)
        image[y : y + 8, x : x + 3] = 1
    on_card, on_cores = (saccades.simulate(images, seed=1, engine=engine) for engine in ("cuda", "cpu"))
    assert on_card.field == on_cores.field
    again = saccades.simulate(images, seed=1, engine="cuda")
    for a, b in ((on_card.t, again.t), (on_card.p, again.p), *zip(on_card.coords, again.coords, strict=True)):
        np.testing.assert_array_equal(a, b)
    assert abs(on_card.counts.mean() / on_cores.counts.mean() - 1) < 0.02
    assert abs(on_card.p.mean() - on_cores.p.mean()) < 0.01
    assert abs(on_card.t.mean() / on_cores.t.mean() - 1) < 0.01
    maps = [np.bincount(some.entries(), minlength=34 * 34 * 2) for some in (on_card, on_cores)]
    assert np.corrcoef(*maps)[0, 1] > 0.98
    when = [np.histogram(some.t, 62, (0, 310_000))[0] for some in (on_card, on_cores)]
    assert np.corrcoef(*when)[0, 1] > 0.99


@pytest.mark.parametrize("deterministic", [False, True])
def test_lanes_of_a_batch_sum_to_the_step_of_the_batch(deterministic):
    cpu = pytest.importorskip("timesurf.engines.cpu.sums", reason="numba is not installed", exc_type=ImportError)
    data = workloads.strokes(40, events=1500, spread=0.28)
    network = workloads.started(workloads.NMNIST, data, "cuda")
    stages, start, options = network.stages, network.parameters, Options(deterministic=deterministic)
    batch, rule = pack(data, network.class_numbers(data)), Rule(alpha=1e-6, beta=1e-6, gamma=1e-6, delta=1e-6)
    dealt = [np.arange(0, 7), np.arange(7, 30), np.arange(30, 40)]
    outcome, (sums,) = cuda.learn_lanes(stages, start, rule, batch, options, dealt, [(0, 3)])
    ours, theirs = start.copy(), start.copy()
    cpu.apply(stages, ours, sums)
    expected = cuda.learn_batch(stages, theirs, rule, batch, options)
    np.testing.assert_array_equal(outcome.votes, expected.votes)
    np.testing.assert_array_equal(outcome.kept, expected.kept)
    pairs = zip(*([*(units.centroids for units in of), of[0].thresholds] for of in (start, ours, theirs)), strict=True)
    for before, mine, right in pairs:
        assert np.abs(mine - right).max() <= 1e-3 * np.abs(right - before).max()
    if deterministic:
        again = cuda.learn_lanes(stages, start, rule, batch, options, dealt, [(0, 3)])[1][0]
        assert again.centroids.tobytes() == sums.centroids.tobytes()
