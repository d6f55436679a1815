"""The CPU engine: numba kernels on all cores.

Recordings are dealt out to lanes (`engines/cpu/lanes.py`), balanced by length: any number of threads gives the same
bits.
"""

from __future__ import annotations

import logging
import math
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from timesurf.engines.cpu import frozen, lanes, online, plain
from timesurf.engines.cpu.layout import (
    BLOCK,
    CENTROID,
    CONTEXT,
    ENTRIES,
    FEEDBACK,
    HOW,
    LANES,
    PLACE,
    RUNNING,
    SCORE,
    STATE,
    SURFACE,
    UNIT,
    UPDATE,
    WRITTEN,
    Plan,
    plan,
)
from timesurf.engines.data import DEFAULT, Array, Batch, Options, Outcome, Parameters
from timesurf.layers import Full, Stage, Window, stack
from timesurf.rule import Rule

Stages = tuple[Stage, ...]

_LANE_BYTES = 256 << 20  # of all lanes' sums together
_LONG = 2**29  # us: what takes longer to fade does not fit in 32 bits twice
_CACHE_LINE = 64  # bytes
_KEPT_SHAPES = 8  # networks whose workspaces are kept


def supports(stages: Stages, *, online: bool = False) -> str:
    """Every network, online and in batches."""
    return ""


def infer(
    stages: Stages, parameters: Parameters, batch: Batch, options: Options = DEFAULT, *, trace: bool = False
) -> Outcome:
    """Run the events; learn nothing."""
    return _run(stages, parameters, Rule(), batch, options, lanes.deal(np.diff(batch.offsets)), trace=trace)[0]


def learn_batch(
    stages: Stages, parameters: Parameters, rule: Rule, batch: Batch, options: Options = DEFAULT
) -> Outcome:
    """Run the events with frozen parameters, sum the updates, apply them once."""
    dealt = deal(stages, np.diff(batch.offsets), options)
    outcome, (sums,) = learn_lanes(stages, parameters, rule, batch, options, dealt, [(0, len(dealt))])
    apply(stages, parameters, sums)
    return outcome


def deal(stages: Stages, counts: Array, options: Options, most: int = lanes.MOST) -> list[Array]:
    """Recordings of a batch to learn from, for each lane: no more lanes than have room for their sums."""
    return lanes.deal(counts, min(most, _most_lanes(plan_of(stages), options.dtype)))


def learn_lanes(
    stages: Stages,
    parameters: Parameters,
    rule: Rule,
    batch: Batch,
    options: Options,
    dealt: list[Array],
    nodes: list[lanes.Node],
) -> tuple[Outcome, list[Sums]]:
    """Run lanes with frozen parameters; what each of these nodes of the tree of lanes has summed."""
    outcome, sums = _run(stages, parameters, rule, batch, options, dealt, learn=True)
    threads = min(options.threads or cores(), len(dealt))
    return outcome, [added(sums[a:b], threads) for a, b in nodes]


def added(sums: list[Sums], threads: int = 1) -> Sums:
    """All of these, in the order of the tree of lanes; the first of them holds the result."""
    each = map if threads == 1 else _pool(threads).map
    list(each(partial(_add_up, sums, parts=threads), range(threads)))
    return sums[0]


def apply(stages: Stages, parameters: Parameters, sums: Sums) -> None:
    """Move centroids and thresholds by what a batch has summed; frozen units stay."""
    p = plan_of(stages)
    for k, learnt in enumerate(parameters):
        c, th = learnt.centroids, learnt.thresholds
        units, lanes = stages[k].units, p.table[k, LANES]
        free, gains = ~learnt.frozen, sums.gains[p.table[k, UNIT] :][:units]
        moved = sums.centroids[p.table[k, UPDATE] : p.table[k + 1, UPDATE]]
        moved = moved.reshape(lanes, -1) if p.table[k, HOW] == WRITTEN else moved.reshape(-1, lanes).T
        flat = c.reshape(units, -1)
        for n in np.flatnonzero(free):  # in place, and row by row: memory to compute in would cost more than the step
            flat[n] *= 1 - gains[n]
            flat[n] += moved[n, : flat.shape[1]]
        th[free] = np.maximum(th + sums.thresholds[p.table[k, UNIT] :][:units], 0)[free]


def learn_online(
    stages: Stages, parameters: Parameters, rule: Rule, batch: Batch, options: Options = DEFAULT
) -> Outcome:
    """Run the events and update the parameters after each: one event after another, so on one core."""
    _announce(online.run, "online learning")
    return online.learn(stages, parameters, rule, batch)


def surfaces(stages: Stages, parameters: Parameters, batch: Batch, layer: int) -> Array:
    """Time surfaces of all events that reach a layer, one row a event."""
    return plain.surfaces(stages, parameters, batch, layer)


@dataclass(slots=True)
class Sums:
    """What a lane has learnt, or some together."""

    centroids: Array
    gains: Array
    thresholds: Array

    @classmethod
    def zeros(cls, centroids: int, units: int, dtype: Any) -> Sums:
        """Nothing yet."""
        return cls(_zeros(centroids, dtype), _zeros(units, dtype), _zeros(units, dtype))

    @classmethod
    def of_layers(cls, stages: Stages, layers: list[tuple[Array, ...]], dtype: Any = np.float32) -> Sums:
        """From sums of gain x surface (entries, units), of gain and of threshold steps (units) of every layer."""
        p = plan_of(stages)
        sums = cls.zeros(*p.table[-1, (UPDATE, UNIT)], dtype)
        for k, (c, gains, thresholds) in enumerate(layers):
            part, lanes = sums.centroids[p.table[k, UPDATE] : p.table[k + 1, UPDATE]], p.table[k, LANES]
            units = slice(p.table[k, UNIT], p.table[k, UNIT] + len(gains))
            rows = part.reshape(lanes, -1).T if p.table[k, HOW] == WRITTEN else part.reshape(-1, lanes)
            rows[: len(c), : len(gains)] = c
            sums.gains[units], sums.thresholds[units] = gains, thresholds
        return sums


def _run(
    stages: Stages,
    parameters: Parameters,
    rule: Rule,
    batch: Batch,
    options: Options,
    dealt: list[Array],
    *,
    learn: bool = False,
    trace: bool = False,
) -> tuple[Outcome, list[Sums]]:
    p = plan_of(stages)
    dtype = np.dtype(options.dtype)
    weights = _flat_parameters(p, stages, parameters, dtype)
    outcome = Outcome.empty(stages, batch, trace=trace)
    record = outcome.trace
    assert record is not None
    settings = (
        -1 / np.array([(stage.tau, stage.feedback_tau) for stage in stages], dtype=dtype),
        rule.per_layer(len(stages)),
        rule.kernel == "border",
        rule.competition,
        learn,
    )
    counts = np.diff(batch.offsets)
    t = batch.t if p.gap < _LONG else batch.t.astype(np.int64)

    def work(chosen: Array) -> Sums:
        sums = Sums.zeros(*(p.table[-1, (UPDATE, UNIT)] if learn else (0, 0)), dtype)
        with _workspace(p, dtype, t.dtype, int(counts[chosen].max(initial=1))) as space:
            frozen.run(
                batch.entry, t, batch.offsets, batch.label, chosen, p.table, p.own, p.start, p.runs, p.out, p.gap,
                *settings, *weights, *space, sums.centroids, sums.gains, sums.thresholds,
                outcome.kept, outcome.votes, record.winner, record.distance, record.S, record.passed,
            )  # fmt: skip
        return sums

    threads = min(options.threads or cores(), len(dealt))
    each = map if threads == 1 else _pool(threads).map
    _announce(frozen.run, "inference and batch learning")
    with _one_blas_thread():
        sums = list(each(work, dealt))
    if not trace:
        outcome.trace = None
    return outcome, sums


def _add_up(sums: list[Sums], part: int, parts: int) -> None:
    """Add the other lanes to the first: one of so many parts of the arrays."""
    for name in ("centroids", "gains", "thresholds"):
        arrays = [getattr(lane, name) for lane in sums]
        here = slice(*(len(arrays[0]) * n // parts for n in (part, part + 1)))
        lanes.add_up([array[here] for array in arrays])


def plan_of(stages: Stages) -> Plan:
    """A network's layout while weights stand still: only windows, which overlap, must be written out."""
    return plan(stages, tuple(WRITTEN if isinstance(stage.layer, Window) else RUNNING for stage in stages))


def _most_lanes(p: Plan, dtype: Any) -> int:
    return max(int(_LANE_BYTES // (p.table[-1, UPDATE] * np.dtype(dtype).itemsize)), 1)


def _flat_parameters(p: Plan, stages: Stages, parameters: Parameters, dtype: Any) -> tuple[Array, ...]:
    """For the kernels: centroids, ||c||^2 / 2, thresholds, which units may change, which layers have thresholds."""
    total = p.table[-1]
    centroids = _zeros(total[CENTROID], dtype)
    halves = np.zeros(total[UNIT], dtype=dtype)
    thresholds = np.full(total[UNIT], np.inf, dtype=dtype)
    free = np.zeros(total[UNIT], dtype=dtype)
    limited = np.zeros(len(stages), dtype=np.bool_)
    for k, stage in enumerate(stages):
        c = parameters[k].centroids.reshape(stage.units, -1)
        part = centroids[p.table[k, CENTROID] :][: p.table[k, ENTRIES] * p.table[k, LANES]]
        part.reshape(-1, p.table[k, LANES])[:, : stage.units] = c.T
        units = slice(p.table[k, UNIT], p.table[k, UNIT] + stage.units)
        halves[units] = np.einsum("ue,ue->u", c, c) / 2
        thresholds[units] = parameters[k].thresholds
        free[units] = ~parameters[k].frozen
        limited[k] = np.isfinite(parameters[k].thresholds).any()
    return centroids, halves, thresholds, free, limited


# ---------------------------------------------------------------------- memory and threads

_free: dict[Any, list[tuple[Array, ...]]] = {}
_lock = threading.Lock()


def memory(stages: Stages, counts: Array, options: Options = DEFAULT, *, learn: bool) -> int:
    """Bytes that running a batch of recordings with so many events each takes, beyond the batch itself.

    threads x (contexts and scratch of a lane) + lanes x (sums of a lane, when learning) + one copy of the parameters
    """
    p, size = plan_of(stages), np.dtype(options.dtype).itemsize
    dealt = len(deal(stages, counts, options) if learn else lanes.deal(counts))
    arrays = _workspace_arrays(p, options.dtype, np.int32, _room(int(counts.max(initial=1))))
    space = sum(math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in arrays)
    sums = size * int(p.table[-1, UPDATE] + 2 * p.table[-1, UNIT]) if learn else 0
    copy = size * int(p.table[-1, CENTROID] + 2 * p.table[-1, UNIT])
    return int(min(options.threads or cores(), dealt) * space + dealt * sums + copy)


@contextmanager
def _workspace(p: Plan, dtype: Any, time: Any, longest: int) -> Iterator[tuple[Array, ...]]:
    """A kernel's memory: contexts and scratch, kept from call to call for networks of the same shape."""
    key = (p, dtype, time, _room(longest))
    with _lock:
        spare = _free.setdefault(key, [])
        space = spare.pop() if spare else None
    if space is None:
        space = tuple(_zeros(shape, dtype) for shape, dtype in _workspace_arrays(p, dtype, time, _room(longest)))
        clock, context, _, _, since, feedback, spoke, *_ = space
        frozen.clear(context, since, feedback, spoke, clock)
    yield space
    if not np.isfinite(space[2]).all():
        return  # a network that has lost its way must not leave its dot products to the next
    with _lock:
        if len(_free) > _KEPT_SHAPES:
            _free.clear()
        _free.setdefault(key, []).append(space)


def _workspace_arrays(p: Plan, dtype: Any, time: Any, longest: int) -> list[tuple[tuple[int, ...], Any]]:
    """Shape and type of the kernel's INOUT and WORK arrays, in its order."""
    total, layers, events = p.table[-1].tolist(), len(p.table) - 1, p.events
    return [
        ((1,), np.int64),  # clock
        ((total[CONTEXT],), time),
        ((total[STATE],), dtype),
        ((total[BLOCK],), dtype),  # norm
        ((total[BLOCK],), time),  # since
        ((total[FEEDBACK],), time),
        ((total[PLACE],), time),  # spoke
        ((total[PLACE],), np.float64),  # crowd
        ((total[PLACE],), np.float64),  # previous
        ((total[SURFACE],), dtype),
        ((total[SCORE],), dtype),
        ((5, layers + 1, events), time),  # arriving
        ((4, layers, events), dtype),  # figures
        ((2, layers, events), np.float64),  # signals
        ((layers, events), time),  # chain
        ((4, layers, longest), time),  # logs
        ((2, layers, longest), dtype),  # weights
        ((total[STATE],), dtype),  # later
    ]


def _zeros(shape: Any, dtype: Any) -> Array:
    """Zeros that begin with a cache line, in huge pages where there are many: NumPy asks for those in `empty` alone."""
    size, item = math.prod(np.atleast_1d(shape).tolist()), np.dtype(dtype).itemsize
    array: Array = np.empty(size + _CACHE_LINE // item, dtype)
    skip = -array.ctypes.data % _CACHE_LINE // item
    array.fill(0)
    return array[skip : skip + size].reshape(shape)


def _room(longest: int) -> int:
    """Room for the longest recording, rounded up so that workspaces can be shared."""
    return 1 << max(longest - 1, 1).bit_length()


def warm_up() -> None:
    """Compile every kernel for this machine, now rather than on first use. The result is kept on disk."""
    stages = stack([Window(3, units=2, tau=1), Full(units=2, tau=1)], (3,), 1)
    parameters = Parameters.of([np.zeros((2, *s.surface_shape)) for s in stages], [np.full(2, np.inf)] * 2)
    for time in (np.int32, np.int64):
        batch = Batch(np.zeros(1, np.int32), np.zeros(1, time), np.array([0, 1]), np.zeros(1, np.int64))
        learn_online(stages, parameters, Rule(), batch)
        for dtype in ("float32", "float64"):
            learn_batch(stages, parameters, Rule(), batch, Options(dtype))


def _announce(kernel: Any, what: str) -> None:
    """Say that the first use on a machine takes a while: nothing has been compiled for it yet."""
    try:
        kept = any(Path(kernel._cache.cache_path).glob(f"{kernel.py_func.__module__.rpartition('.')[2]}.run-*.nbc"))
    except (AttributeError, OSError):
        return
    if not kept and not kernel.signatures:
        logging.getLogger("timesurf").warning("Compiling %s for this machine: this once, some ten seconds ...", what)


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="timesurf")


@cache
def _blas() -> Any:
    import scipy.linalg  # noqa: F401  numba's matrix product is scipy's
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


_blas_users = 0
_blas_limit: Any = None


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """Threads are ours to share out: matrix products run on one each. Given back when the last call ends."""
    global _blas_users, _blas_limit
    with _lock:
        if _blas_users == 0:
            _blas_limit = _blas().limit(limits=1)
        _blas_users += 1
    try:
        yield
    finally:
        with _lock:
            _blas_users -= 1
            if _blas_users == 0:
                _blas_limit.restore_original_limits()
