"""A spiking network written for NIR, read back by nir, and run by simulators: two small ones here, snnTorch, norse."""

import numpy as np
import pytest

from benchmarks import nir_simulators as others
from timesurf.datasets import sentences
from timesurf.engines import Parameters, pack
from timesurf.errors import SettingError
from timesurf.events import Recordings
from timesurf.spiking import Neurons, SpikingNetwork, cpu

nir = pytest.importorskip("nir")
from timesurf.spiking import nir as export  # noqa: E402


def network(*, units=1, **about):
    """Two layers, the boxes of the first overlapping."""
    rng = np.random.default_rng(5)
    layers = [Neurons((3, 3), step=(2, 2), units=units, tau="300 us", **about), Neurons(tau="1 ms")]
    made = SpikingNetwork(layers, (6, 5), 2, ["only"])
    shapes = [(stage.units, *stage.shape) for stage in made.stages]
    made.parameters = Parameters.of(
        [np.abs(rng.normal(size=shape)) for shape in shapes], [np.full(shape[0], 1.5) for shape in shapes]
    )
    return made


def events():
    rng = np.random.default_rng(6)
    t = np.sort(rng.integers(0, 20_000, 600))
    return Recordings([rng.integers(0, 6, 600), rng.integers(0, 5, 600)], t, rng.integers(0, 2, 600), [0, 600],
                      field=(6, 5), polarities=2)  # fmt: skip


def simulate(graph, entry, t):
    """Spikes of the last node before the output: (event, neuron), from NIR's equations, solved between events."""
    chain = dict(graph.edges)
    v = {name: np.zeros(len(node.tau)) for name, node in graph.nodes.items() if isinstance(node, nir.LIF)}
    spikes, before = [], 0.0
    for i, (e, now) in enumerate(zip(entry, np.asarray(t) * 1e-6, strict=True)):
        for name in v:
            v[name] *= np.exp(-(now - before) / graph.nodes[name].tau)
        before = now
        todo = [(chain["input"], e)]
        while todo:
            synapses, source = todo.pop(0)
            name = chain[synapses]
            node = graph.nodes[name]
            v[name] += node.r / node.tau * graph.nodes[synapses].weight[:, source]
            fired = np.flatnonzero(v[name] > node.v_threshold)
            v[name][fired] = node.v_reset[fired]
            if chain[name] == "output":
                spikes += [(i, int(n)) for n in fired]
            else:
                todo += [(chain[name], n) for n in fired]
    return spikes


def test_same_spikes_as_the_graph_that_nir_reads_back(tmp_path):
    made, recordings = network(), events()
    export.write(made, tmp_path / "network.nir")
    graph = nir.read(tmp_path / "network.nir")
    batch = pack(recordings)
    expected = cpu.emitted(made.stages, made.parameters, batch)
    spikes = simulate(graph, batch.entry, batch.t)
    assert len(spikes) > 20
    assert [batch.t[i] for i, _ in spikes] == expected.t.tolist()


def test_neurons_without_a_threshold_become_leaky_integrators():
    graph = export.graph(network(ready=0), lossy=True)
    assert list(graph.nodes) == ["input", "synapses_1", "neurons_1", "synapses_2", "neurons_2", "output"]
    assert [type(graph.nodes[f"neurons_{k}"]) for k in (1, 2)] == [nir.LI, nir.LIF]
    np.testing.assert_allclose(graph.nodes["neurons_1"].tau, 300e-6)


def in_steps(graph, current, step):
    """Spikes of a graph of two layers whose equations are solved by Euler's method: (recording, step, neuron)."""
    layers = [(graph.nodes[f"synapses_{k}"].weight, graph.nodes[f"neurons_{k}"]) for k in (1, 2)]
    v = [np.zeros((current.shape[1], len(weight))) for weight, _ in layers]
    found = []
    for i, heard in enumerate(current):
        for k, (weight, node) in enumerate(layers):
            v[k] += step / node.tau * (node.r * (heard @ weight.T) - v[k])
            heard = v[k] > node.v_threshold
            v[k][heard] = 0
        found += [(int(r), i, int(n)) for r, n in np.argwhere(heard)]
    return found


@pytest.fixture(scope="module")
def one_per_step():
    """A network that NIR can express, and recordings in which no two events share a step of 100 us."""
    recordings = others.in_turn(others.slowed(sentences.make(2, duration="1 ms", seed=3), 100))
    made = others.network(100).start(recordings)
    expected = others.fired(made, recordings)
    assert expected.total() > 10
    return made, recordings, expected


def test_same_spikes_where_time_goes_in_steps(one_per_step):
    made, recordings, expected = one_per_step
    found = in_steps(export.graph(made, step="100 us"), others.on_grid(recordings), 1e-4)
    assert sorted(found) == sorted(expected.elements())


@pytest.mark.parametrize("simulator", others.SIMULATORS)
@pytest.mark.filterwarnings("ignore")  # torch's own
def test_same_spikes_in_other_simulators(one_per_step, simulator):
    pytest.importorskip("nirtorch")
    pytest.importorskip(simulator)
    made, recordings, expected = one_per_step
    assert others.simulated(simulator, made, recordings) == expected


def test_events_that_share_a_step_follow_each_other():
    some = Recordings([[0] * 6], [0, 50, 99, 250, 0, 10], [0] * 6, [0, 4, 6], field=(1,), polarities=1)
    assert others.in_turn(some).t.tolist() == [0, 100, 200, 300, 0, 100]


def test_what_nir_cannot_express_is_refused_by_name():
    with pytest.raises(SettingError, match=r"layer 1: that one neuron of a place fires.*layer 1: the refractory"):
        export.graph(network(units=2, refractory=50))


def test_what_is_left_out_is_said_in_the_file(tmp_path):
    export.write(network(units=2, reset="subtract"), tmp_path / "n.nir", lossy=True)
    about = nir.read(tmp_path / "n.nir").metadata
    assert "reset by subtraction" in about["left_out"]


def test_a_file_that_fails_half_way_leaves_the_old_one(tmp_path):
    path = tmp_path / "n.nir"
    path.write_bytes(b"old")
    with pytest.raises(SettingError):
        export.write(network(units=2), path)
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["n.nir"]
