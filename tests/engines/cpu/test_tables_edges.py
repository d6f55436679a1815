"""Tables, lanes, sums and workspaces of the CPU engine by hand: no kernel is run."""

import os
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from timesurf.cores import cores
from timesurf.engines import Batch, Options, Outcome, Parameters
from timesurf.engines.cpu import engine, lanes, layout, sums, threads, workspace
from timesurf.engines.cpu.bundles import Events, Evidence, Settings
from timesurf.engines.cpu.layout import HELD, RUNNING, WRITTEN
from timesurf.layers import Full, Tile, Window, stack
from timesurf.rule import Rule

STAGES = stack(
    [
        Window(3, units=9, tau=10, feedback_tau=30),
        Tile((2, 3), units=3, tau=20),
        Full(units=4, units_per_class=2, tau=5),
    ],
    (4, 5),
    2,
)


# ------------------------------------------------------------------ layout


@pytest.mark.parametrize(
    ("make", "ways"),
    [
        (layout.frozen_plan, [WRITTEN, RUNNING, RUNNING]),
        (layout.online_plan, [WRITTEN, HELD, HELD]),
        (layout.written_plan, [WRITTEN] * 3),
    ],
)
def test_how_each_layer_computes_and_how_much_room_it_has(make, ways):
    plan = make(STAGES)
    assert [layer.way for layer in plan.layers] == ways
    assert [layer.units for layer in plan.layers] == [9, 3, 4]
    assert [layer.lanes for layer in plan.layers] == [16, 8, 8]
    assert [layer.entries for layer in plan.layers] == [18, 54, 12]  # 3 x 3 x 2, 2 x 3 x 9, 2 x 2 x 3
    assert [layer.vectors for layer in plan.layers] == [2, 4, 1]
    assert [layer.polarities for layer in plan.layers] == [2, 9, 3]
    assert [(layer.rows, layer.row) for layer in plan.layers] == [(3, 6), (1, 54), (1, 12)]
    assert [layer.blocks for layer in plan.layers] == [1, 4, 1]
    assert plan.events == 128
    lengths = {
        "location0": [20, 20, 4], "run0": [3, 1, 1], "context0": [6 * 7 * 2 + 16, 4 * 54 + 16, 12 + 16],
        "unit0": [16, 8, 8], "centroid0": [288, 432, 96], "feedback0": [180, 12, 4], "place0": [20, 4, 1],
        "dots0": [blocks * 8 if way == RUNNING else 0 for way, blocks in zip(ways, (2, 4, 1), strict=True)],
        "block0": [0 if way == WRITTEN else blocks for way, blocks in zip(ways, (1, 4, 1), strict=True)],
        "update0": [
            lanes_ * (entries if way == RUNNING else 16 * vectors)
            for way, lanes_, entries, vectors in zip(ways, (16, 8, 8), (18, 54, 12), (2, 4, 1), strict=True)
        ],
        "surface0": [
            {RUNNING: 0, WRITTEN: 128 * entries + 16, HELD: blocks * vectors * 16}[way]
            for way, entries, blocks, vectors in zip(ways, (18, 54, 12), (1, 4, 1), (2, 4, 1), strict=True)
        ],
        "score0": [128 * 16, 128 * 8, 128 * 8],
    }  # fmt: skip
    for name, expected in lengths.items():
        ends = np.cumsum(expected).tolist()
        assert [getattr(layer, name) for layer in plan.layers] == [0, *ends[:-1]], name
        assert getattr(plan.total, name) == ends[-1], name
    assert plan.layout.voted.tolist() == [0, 0, 1, 1, -1, -1, -1, -1]
    assert plan.gap == 40 * 30 + 1
    assert [plan.layout.layers[k]["unit0"] for k in range(3)] == [0, 16, 24]


def test_dot_products_follow_moving_centroids_from_65_entries_of_a_whole_field_on():
    for places, way in ((64, HELD), (65, RUNNING)):
        assert layout.online_plan(stack([Full(units=1, tau=1)], (places,), 1)).layers[0].way == way
        assert layout.online_plan(stack([Tile((places,), units=1, tau=1)], (2 * places,), 1)).layers[0].way == HELD
    assert layout.SMALL == 64


@pytest.mark.parametrize(("side", "events"), [(1, 128), (127, 128), (129, 112), (1023, 16), (4001, 16)])
def test_a_block_of_events_fits_in_the_cache(side, events):
    """16,384 values, in whole vectors of events, one to eight of them."""
    assert layout.frozen_plan(stack([Window(side, units=1, tau=1)], (5,), 1)).events == events
    assert layout.frozen_plan(stack([Full(units=1, tau=1)], (5,), 1)).events == 128


def test_parts_of_flat_arrays_are_views_without_the_padding():
    for plan in (layout.frozen_plan(STAGES), layout.online_plan(STAGES)):
        units = np.zeros(plan.total.unit0)
        plan.units(1, units)[:] = 1
        assert np.flatnonzero(units).tolist() == [16, 17, 18]
        flat = np.zeros(plan.total.update0)
        rows = plan.rows(1, flat)
        assert rows.shape == (8, 54)
        rows[:] = np.arange(8)[:, None]
        assert flat.sum() == 54 * 28
        begin = plan.layers[1].update0
        assert flat[:begin].sum() == 0
        assert flat[begin : begin + 9].tolist() == ([*range(8), 0] if plan.layers[1].way == RUNNING else [0] * 9)


# ------------------------------------------------------------------ lanes


@pytest.mark.parametrize(
    ("counts", "most", "dealt"),
    [
        ([16_383], 4, 1), ([8192] * 3, 4, 1), ([8192] * 4, 4, 2), ([1 << 14] * 3, 4, 3), ([1 << 20], 4, 1),
        ([1 << 20] * 9, 4, 4), ([0, 0], 4, 1),
    ],
)  # fmt: skip
def test_there_are_as_many_lanes_as_have_enough_events(counts, most, dealt):
    assert len(lanes.deal(np.array(counts), most)) == dealt
    assert lanes.MOST == 16


def test_recordings_go_to_the_lane_with_the_fewest_events_longest_first():
    counts = np.array([1, 5, 5, 2, 4]) * (1 << 14)
    assert [lane.tolist() for lane in lanes.deal(counts, 2)] == [[1, 4], [0, 2, 3]]


@pytest.mark.parametrize(
    ("many", "first", "last", "expected"),
    [
        (8, 0, 8, [(0, 8)]), (8, 1, 7, [(1, 2), (2, 4), (4, 6), (6, 7)]), (5, 0, 4, [(0, 4)]), (5, 4, 5, [(4, 5)]),
        (5, 3, 5, [(3, 4), (4, 5)]), (7, 4, 7, [(4, 7)]), (1, 0, 1, [(0, 1)]), (8, 2, 2, []),
    ],
)  # fmt: skip
def test_the_largest_nodes_within_some_lanes(many, first, last, expected):
    assert lanes.nodes(many, first, last) == expected


def test_lanes_are_as_many_as_have_room_for_their_sums(monkeypatch):
    counts, values = np.full(40, 1 << 14), sums.Sums.values(STAGES)
    assert values == layout.frozen_plan(STAGES).total.update0
    for room, most in ((3 * 8 * values, 3), (3 * 8 * values - 1, 2), (1, 1), (1 << 40, 16)):
        monkeypatch.setattr(engine, "_SUMS_BYTES", room)
        assert len(engine.deal(STAGES, counts, Options("float64"))) == most
    monkeypatch.setattr(engine, "_SUMS_BYTES", 3 * 8 * values)
    assert len(engine.deal(STAGES, counts, Options("float32"))) == 6
    assert len(engine.deal(STAGES, counts, Options("float32"), most=5)) == 5


def test_the_room_for_sums_is_a_quarter_of_a_gibibyte():
    assert engine._SUMS_BYTES == 1 << 28
    assert engine.supports(STAGES) == engine.supports(STAGES, online=True) == ""


# ------------------------------------------------------------------ sums


def test_sums_move_free_units_and_stop_thresholds_at_0():
    stages = stack([Full(units=3, tau=1)], (2,), 1)
    parameters = Parameters.of(
        [np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])[:, :, None]], [np.array([1.0, np.inf, 1.0])],
        [np.array([False, False, True])],
    ).copy()  # fmt: skip
    moved = np.array([[0.5, 1.0, 9.0], [0.25, 2.0, 9.0]])  # entries x units
    given = sums.Sums.of_layers(stages, [(moved, np.array([0.5, 0.0, 0.5]), np.array([-2.0, 1.0, 1.0]))], np.float64)
    sums.apply(stages, parameters, given)
    np.testing.assert_allclose(parameters[0].centroids[:, :, 0], [[1.0, 1.25], [4.0, 6.0], [5.0, 6.0]])
    assert parameters[0].thresholds.tolist() == [0, np.inf, 1]


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_sums_of_lanes_are_added_whole_by_any_number_of_threads(parts):
    plan = layout.frozen_plan(STAGES)
    each = [sums.Sums.zeros(plan, np.float64) for _ in range(3)]
    for n, one in enumerate(each, start=1):
        for array in one:
            array += n * np.arange(len(array))
    found = sums.added(each, parts)
    for array in found:
        assert array.tolist() == (6 * np.arange(len(array))).tolist()
    assert [len(array) for array in found] == [plan.total.update0, 32, 32]
    assert [len(array) for array in sums.Sums.none(np.float32)] == [0, 0, 0]


# ------------------------------------------------------------------ workspaces


def test_workspaces_are_shared_by_recordings_of_like_lengths():
    assert [workspace._room(n) for n in (0, 1, 2, 3, 4, 5, 1 << 20, (1 << 20) + 1)] == [
        2, 2, 2, 4, 4, 8, 1 << 20, 1 << 21,
    ]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.bool_])
def test_zeros_begin_with_a_cache_line(dtype):
    for shape in (1, 7, (3, 5), (0, 4)):
        for _ in range(5):
            array = workspace.zeros(shape, dtype)
            assert array.ctypes.data % 64 == 0 or array.size == 0
            assert array.shape == (shape if isinstance(shape, tuple) else (shape,))
            assert not array.any()


def kept_after(plan, longest, spoil=False):
    workspace._free.clear()
    with workspace.workspace(plan, np.float32, np.int32, longest) as space:
        if spoil:
            space.memory.dots[-1] = np.nan
    return sum(map(len, workspace._free.values()))


def test_workspaces_are_given_back_after_long_recordings_and_after_divergence():
    plan = layout.frozen_plan(STAGES)
    assert kept_after(plan, 1 << 10) == 1
    assert kept_after(plan, 1 << 10, spoil=True) == 0
    assert (workspace._LONG, workspace._SHAPES) == (1 << 20, 8)


def test_long_recordings_leave_nothing(monkeypatch):
    plan = layout.frozen_plan(STAGES)
    monkeypatch.setattr(workspace, "_LONG", 1 << 10)
    assert kept_after(plan, 1 << 10) == 1
    assert kept_after(plan, (1 << 10) + 1) == 0


def test_workspaces_are_used_again_and_kept_for_some_shapes_only():
    plan = layout.frozen_plan(STAGES)
    workspace._free.clear()
    with (
        workspace.workspace(plan, np.float32, np.int32, 9) as first,
        workspace.workspace(plan, np.float32, np.int32, 9) as second,
    ):
        assert first.clock is not second.clock
    with workspace.workspace(plan, np.float32, np.int32, 9) as again:
        assert again.clock is second.clock or again.clock is first.clock
    for n in range(8):
        with workspace.workspace(plan, np.float32, np.int32, 32 << n):
            pass
        assert len(workspace._free) == (n + 2 if n < 7 else 1)


def test_the_bytes_of_a_workspace_are_those_of_its_arrays():
    for make in (layout.frozen_plan, layout.online_plan):
        plan = make(STAGES)
        for by_delta in (False, True):
            made = workspace._make(plan, np.float32, np.int32, 64, workspace.zeros, by_delta=by_delta)
            clock, *parts = made
            expected = clock.nbytes + sum(array.nbytes for part in parts for array in part)
            assert workspace.workspace_bytes(plan, np.float32, np.int32, 33, by_delta=by_delta) == expected
            rows = 64 if plan.layers[-1].way == RUNNING else 1
            assert made.log.gains.shape == (rows if by_delta else 0, 8)
            assert made.block.location.shape == (4, 128)
            assert made.block.winner.shape == (3, 128)
            assert made.log.entry.shape == (3, 64)
            assert made.block.S.dtype == made.block.dS.dtype == np.float64


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("threads", "workspaces"), [(1, 1), (2, 2), (9, 3)])
def test_the_bytes_of_a_batch_are_those_of_its_workspaces_sums_and_weights(threads, workspaces, dtype):
    plan, counts, options = layout.frozen_plan(STAGES), np.full(3, 1 << 14), Options(dtype, threads)
    space = workspace.workspace_bytes(plan, dtype, np.int32, plan.events)
    long = workspace.workspace_bytes(plan, dtype, np.int32, 1 << 14, by_delta=True)
    parameters = Parameters.of(
        [np.zeros((s.units, *s.surface_shape)) for s in STAGES], [np.zeros(s.units) for s in STAGES]
    )
    weights = sum(array.nbytes for array in workspace.flat_weights(plan, parameters, dtype) if array.dtype == dtype)
    lane = sum(array.nbytes for array in sums.Sums.zeros(plan, dtype))
    assert engine.memory(STAGES, counts, options, learn=False) == workspaces * space + weights
    learning = engine.memory(STAGES, counts, options, learn=True, by_delta=True)
    assert learning == workspaces * long + 3 * lane + weights


def test_weights_are_laid_out_with_far_units_in_the_padding():
    centroids = [np.random.default_rng(k).random((s.units, *s.surface_shape)) for k, s in enumerate(STAGES)]
    thresholds = [np.arange(9.0), np.full(3, np.inf), np.full(4, np.inf)]
    frozen = [np.arange(9) == 2, np.ones(3, bool), np.zeros(4, bool)]
    plan = layout.frozen_plan(STAGES)
    flat = workspace.flat_weights(plan, Parameters.of(centroids, thresholds, frozen), np.float64)
    for k, layer in enumerate(plan.layers):
        c = centroids[k].reshape(layer.units, -1)
        begin = layer.centroid0
        part = flat.centroids[begin : begin + layer.entries * layer.lanes].reshape(layer.entries, layer.lanes)
        np.testing.assert_array_equal(part[:, : layer.units], c.T)
        assert not part[:, layer.units :].any()
        lane = slice(layer.unit0, layer.unit0 + layer.lanes)
        pad = layer.lanes - layer.units
        np.testing.assert_allclose(flat.halves[lane], [*((c**2).sum(axis=1) / 2), *[1e30] * pad])
        assert flat.thresholds[lane].tolist() == [*thresholds[k], *[np.inf] * pad]
        assert flat.free[lane].tolist() == [*(~frozen[k]).astype(float), *[0] * pad]
    assert flat.limited.tolist() == [True, False, False]
    assert flat.learns.tolist() == [True, False, True]


# ------------------------------------------------------------------ bundles, threads


def test_settings_are_paces_and_rates_of_every_layer():
    rule = Rule((1, 2, 3), 4, 5, 6, d=0.5, kernel="centre", competition=False, last="delta", temperature=7.0)
    found = Settings.of(STAGES, rule)
    np.testing.assert_allclose(found.pace["surface"], [-1 / 10, -1 / 20, -1 / 5])
    np.testing.assert_allclose(found.pace["feedback"], [-1 / 30, -1 / 20, -1 / 5])
    assert [found.rates[name].tolist() for name in ("alpha", "beta", "gamma", "delta", "d")] == [
        [1, 2, 3], [4] * 3, [5] * 3, [6] * 3, [0.5] * 3,
    ]  # fmt: skip
    assert found[2:6] == (False, False, True, 7.0)
    assert found.slopes.tolist() == [[-1 / 10], [-1 / 20], [-1 / 5]]
    assert Settings.of(STAGES, Rule())[2:5] == (True, True, False)


def test_slopes_have_room_for_the_layer_with_most_time_constants():
    stages = stack([Window(3, units=2, tau=10), Full(tau=(5, 20, 40))], (4, 4), 1, 2)
    assert Settings.of(stages, Rule()).slopes.tolist() == [[-1 / 10, 0, 0], [-1 / 5, -1 / 20, -1 / 40]]


def test_evidence_has_rows_only_where_it_is_wanted():
    batch = Batch(np.zeros(2, np.int32), np.zeros(2, np.int32), np.array([0, 1, 2]), np.array([0, -1]))
    without = Outcome.empty(STAGES, batch, Options(), trace=False)
    assert Evidence.of(without, Options()).total.shape == (0, 2)
    options = Options(temperature=2.0)
    assert Evidence.of(Outcome.empty(STAGES, batch, options, trace=False), options).total.shape == (2, 2)
    assert Events.of(batch).t is batch.t
    other = np.zeros(2, np.int64)
    assert Events.of(batch, other).t is other


def test_cores_are_those_of_this_process(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: range(3 + process), raising=False)
    assert cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert cores() == 1
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert cores() == 7
    assert isinstance(threads.pool(2), ThreadPoolExecutor)
    assert threads.pool(2) is threads.pool(2)
    assert threads.pool(2)._max_workers == 2


def test_blas_is_limited_until_the_last_user_leaves(monkeypatch):
    seen = []
    limit = SimpleNamespace(restore_original_limits=lambda: seen.append("restored"))
    blas = SimpleNamespace(lib_controllers=(), limit=lambda limits: seen.append(limits) or limit)
    monkeypatch.setattr(threads, "_blas", lambda: blas)
    with threads.one_blas_thread():
        with threads.one_blas_thread():
            assert seen == [1]
        assert seen == [1]
    assert seen == [1, "restored"]
    with threads.one_blas_thread():
        pass
    assert seen == [1, "restored"] * 2
