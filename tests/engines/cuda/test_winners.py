"""Layers that rest, on the host's side: how centroids are laid out, how work is cut, what is emitted and kept."""

import numpy as np
import pytest

from tests.engines.cuda.networks import DIGITS, POOLED, SENTENCES
from timesurf import Full, Recordings, Window
from timesurf.bench import workloads
from timesurf.engines import Parameters, pack
from timesurf.engines.cuda import paths
from timesurf.engines.cuda import scan as cudascan
from timesurf.engines.cuda import winners as cudawinners
from timesurf.engines.cuda.work import Device, Work
from timesurf.layers import stack

H200 = Device(132, 232_448, 90)


def layer(units=70, size=5, field=(9, 8), polarities=2, **about):
    return stack([Window(size, units=units, tau=1, **about)], field, polarities)[0]


@pytest.mark.parametrize(("units", "size", "polarities"), [(70, 5, 2), (1, 1, 1), (32, 3, 3)])
def test_lanes_hold_centroids_as_the_tensor_cores_multiply_them(units, size, polarities):
    stage, rng = layer(units, size, polarities=polarities), np.random.default_rng(0)
    centroids = rng.random((units, *stage.surface_shape))
    parts, lengths, rows, slack = cudawinners.fragments(stage, centroids)
    groups, steps = parts.shape[:2]
    halves = parts.view(np.float16).astype(np.float64).reshape(groups, steps, 2, 8, 4, 2, 2, 2)
    # group, step, 16 units, unit, pair, 8 of them, half of the step, one of the pair
    by_columns = halves.transpose(0, 2, 5, 3, 1, 6, 4, 7).reshape(32 * groups, 16 * steps)
    np.testing.assert_allclose(by_columns, rows, rtol=2**-11)
    entries = np.arange(16 * steps) // 2 + np.arange(16 * steps) % 2 * 8 * steps  # of columns
    there = entries < centroids[0].size
    np.testing.assert_allclose(rows[:units, there], centroids.reshape(units, -1)[:, entries[there]], rtol=1e-6)
    assert not rows[:, ~there].any()
    assert not rows[units:].any()
    np.testing.assert_allclose(lengths[:units], -((centroids.reshape(units, -1) ** 2).sum(axis=1)) / 2, rtol=1e-6)
    assert (lengths[units:] < -1e37).all()
    surfaces = rng.random((50, columns := 16 * steps)) * (rng.random((50, columns)) < 0.5) * there
    exact = surfaces @ rows.T.astype(np.float64) + lengths
    rounded = surfaces.astype(np.float16).astype(np.float64) @ by_columns.T + lengths
    best = rounded.max(axis=1, keepdims=True)
    behind = best - rounded > 2 * cudawinners.ROUNDING * best + slack
    assert (exact[behind] < np.broadcast_to(exact.max(axis=1, keepdims=True), exact.shape)[behind]).all()


def test_which_layers_the_kernel_covers():
    covered = {"measured": False}
    assert cudawinners.winners(layer(512, 9, (34, 34)), H200, **covered).map == 0
    assert cudawinners.winners(layer(513, 9, (34, 34)), H200, **covered) is None
    assert cudawinners.winners(layer(64, 9, (346, 260)), H200, **covered).map > 346 * 260 * 2
    assert cudawinners.winners(layer(8, 41, (60, 60), 3), H200, **covered) is None, "no room for a surface"
    assert cudawinners.winners(SENTENCES[0], H200, **covered) is None
    assert cudawinners.winners(layer(), Device(68, 65_536, 75), **covered) is None, "no tensor cores"
    assert cudawinners.winners(layer(128, 9, (34, 34)), Device(68, 101_376, 86), **covered).memory <= 101_376


def test_a_few_long_recordings_are_cut_and_many_are_not():
    kernel = cudawinners.winners(layer(128, 9, (34, 34)), H200, measured=False)
    assert kernel.grid(H200, 60_000, 4100, 1 << 40) == (528, 1, 4100)
    width, parts, segment = kernel.grid(H200, 4, 1_000_000, 1 << 40)
    assert (width, parts) == (128, 32)
    assert parts * segment >= 1_000_000
    assert kernel.grid(H200, 3, 900, 1 << 40) == (3, 1, 900)
    far = cudawinners.winners(layer(64, 9, (346, 260)), H200, measured=False)
    assert far.grid(H200, 1000, 4100, 4 * 7 * far.map)[0] == 7, "as many maps as fit"


def lone(units, **about):
    return stack([Full(tau=1, **about)], (9, 9), 64, classes=units)


@pytest.mark.parametrize(
    ("stages", "about", "path"),
    [
        (lone(10), {}, "scan"),
        (lone(10), {"delta": True}, "scan"),
        (lone(10), {"kind": "infer", "evidence": True, "span": 1 << 28}, "scan"),
        (lone(60, units_per_class=4), {"delta": True}, "scan"),
        (lone(257), {}, "general"),
        (lone(10), {"open": False}, "general"),
        (lone(10), {"kind": "trace"}, "general"),
        (POOLED, {"delta": True}, "general"),
    ],
)
def test_a_full_layer_alone_is_a_scan(stages, about, path):
    assert paths.choose(Work(stages, **{"kind": "train"} | about), H200).name == path


def test_a_scan_takes_what_memory_has_room_for():
    path = cudascan.scan(lone(10), learn=True, shared=232_448, delta=True)
    work = Work(lone(10), "train", largest=8192, longest=4128, delta=True)
    whole, little = path.setup(work, H200, 1 << 40), path.setup(work, H200, 1 << 28)
    assert whole.starts[0].grid == (4 * 132, 1)
    assert 1 <= little.starts[0].grid[0] < 4 * 132
    bytes_ = sum(4 * size for size, _ in little.spaces.values()) + 4 * little.clocks[0] * little.clocks[1]
    assert bytes_ <= 1 << 27
    assert path.setup(Work(lone(10), "train", largest=4), H200, 1 << 40).spaces["log_gain"] == (0, np.float32)


@pytest.fixture
def data():
    return workloads.strokes(6, events=50)


def rests(stages, threshold=np.inf):
    centroids = [np.zeros((stage.units, *stage.surface_shape)) for stage in stages]
    return Parameters.of(centroids, [np.full(stage.units, threshold) for stage in stages])


def test_what_is_emitted_stays_on_the_card_as_long_as_it_is_held(cuda, data, monkeypatch):
    monkeypatch.setattr(cuda.events, "room", lambda: 1 << 30)
    stages = DIGITS[:1]
    data = data[[4, 1]]

    def outputs(stage, units, events):
        t = np.concatenate([events.t[a:b] for a, b in zip(events.start[0], events.stop[0], strict=True)])
        return np.arange(len(t), dtype=np.int32).view(type(events.entry)), t.view(type(events.entry))

    monkeypatch.setattr(cuda.emission, "outputs", outputs)
    found = cuda.engine.emitted(stages, rests(stages), data)
    np.testing.assert_array_equal(found.entries(), np.arange(100))
    np.testing.assert_array_equal(found.t, data.t)
    assert (found.field, found.polarities, found.counts.tolist()) == ((28, 28), 32, [50, 50])
    assert found.labels.tolist() == data.labels.tolist()
    np.testing.assert_array_equal(cuda.events._on_card[found.origin][0], np.arange(100))
    monkeypatch.setattr(cuda.events, "room", lambda: 16 * 100 - 1)
    other = cuda.engine.emitted(stages, rests(stages), data)
    assert other.origin not in cuda.events._on_card
    assert cuda.engine.emitted(SENTENCES[:1], rests(SENTENCES[:1]), data) is None


def test_rejected_events_are_left_out_and_times_go_by_the_recordings_clock(cuda, monkeypatch):
    t = np.array([5, 6, 9, 2**40, 2**40 + 3])
    data = Recordings([[0, 1, 2, 1, 0]], t, offsets=[0, 3, 5], field=(3,))
    stages = stack([Window(1, units=4, tau=1)], (3,), 1)

    def outputs(stage, units, events):
        out = np.array([7, -1, 2, -1, 11], np.int32)
        return out.view(type(events.entry)), events.t

    monkeypatch.setattr(cuda.emission, "outputs", outputs)
    found = cuda.engine.emitted(stages, rests(stages, 1.0), data)
    assert found.t.tolist() == [5, 9, 2**40 + 3]
    assert found.counts.tolist() == [2, 1]
    assert found.coords[0].tolist() == [1, 0, 2]
    assert found.p.tolist() == [3, 2, 3]


def test_the_kernel_is_given_recordings_the_longest_first(cuda, data):
    stages = DIGITS[:1]
    batch = pack(data[[0, 1]])
    events = cuda.events.of_batch(batch)
    cuda.emission.outputs(stages[0], rests(stages)[0], events)
    name, grid, threads, memory, (given,) = cuda.started[-1]
    assert (name, grid, threads) == ("winners", (2,), 128)
    assert memory > 4 * 36 * 36
    assert (int(given["items"]), int(given["parts"]), int(given["segment"])) == (2, 1, 50)
    np.testing.assert_allclose(given["fade"], np.log2(np.e) / stages[0].tau)
    assert all(given[field] for field in ("entry", "t", "start", "stop", "to", "centroids", "lengths", "out", "next"))
