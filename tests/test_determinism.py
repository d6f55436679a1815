"""A seed gives one network, for any number of threads."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from timesurf import Full, Network, Rule, Tile, Window
from timesurf.bench import workloads
from timesurf.engines.cpu import lanes

LEARN, TEST = workloads.strokes(24, events=600), workloads.strokes(6, seed=1, events=600)
NETWORKS = {
    "windows": [Window(5, units=6, tau="10 ms"), Full(tau="5 ms")],  # matrix products
    "tiles": [Tile((7, 7), units=6, tau="10 ms"), Full(tau="5 ms", feedback_tau="1 ms")],  # running dot products
}
BATCH_SIZE = {"online": None, "batch": 8}


def bits(layers, threads, dtype, rule, start):
    """All that training and inference give, as bytes."""
    network = Network(
        NETWORKS[layers], LEARN.field, 1, range(10), rule=Rule(1e-4, 1e-5), dtype=dtype, threads=threads, seed=3
    ).fit(LEARN, passes=2, batch_size=BATCH_SIZE[rule], start=start, sample=8)
    outcome, trace = network.infer(TEST), network.trace(TEST)
    parameters = [*network.parameters.arrays]
    return [a.tobytes() for a in (*parameters, outcome.votes, outcome.kept, trace.winner, trace.distance, trace.S)]


@pytest.fixture(autouse=True)
def _many_lanes(monkeypatch):
    """Divide these small batches into several lanes, as large ones are."""
    monkeypatch.setattr(lanes, "_EVENTS_PER_LANE", 1000)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rule", BATCH_SIZE)
@pytest.mark.parametrize("layers", NETWORKS)
def test_same_network_and_decisions_for_any_number_of_threads(layers, rule, dtype):
    one, two, three = (bits(layers, threads, dtype, rule, "mean") for threads in (1, 2, 3))
    assert one == two == three


@pytest.mark.parametrize("rule", BATCH_SIZE)
def test_threads_of_other_libraries_change_nothing(rule):
    """BLAS multiplies matrices, OpenMP runs k-means: both use one thread then."""
    found = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads):
            found.append(bits("windows", 2, "float32", rule, "kmeans"))
    assert found[0] == found[1] == found[2]


def test_batches_have_several_lanes_here():
    assert len(lanes.deal(LEARN.counts[:8])) >= 3


def test_another_seed_gives_another_network():
    networks = [Network(NETWORKS["tiles"], LEARN.field, 1, range(10), seed=seed).start(LEARN) for seed in (3, 4)]
    one, other = (network.parameters[0].centroids for network in networks)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("layers", NETWORKS)
def test_a_recording_alone_gives_the_same_as_among_others(layers, dtype):
    network = Network(NETWORKS[layers], LEARN.field, 1, range(10), dtype=dtype).start(LEARN)
    together = network.trace(TEST)
    apart = [network.trace(TEST[[r]]) for r in range(len(TEST))]
    for name in ("winner", "distance", "S"):
        assert np.concatenate([getattr(t, name) for t in apart]).tobytes() == getattr(together, name).tobytes()
