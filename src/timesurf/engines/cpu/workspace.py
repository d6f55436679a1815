"""Memory of the kernels for frozen weights, reused from call to call for networks of the same shape."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from timesurf.engines.cpu import frozen
from timesurf.engines.cpu.bundles import Memory, New
from timesurf.engines.cpu.layout import RUNNING, WRITTEN, Plan
from timesurf.engines.cpu.shares import AWAY
from timesurf.engines.data import Array, Parameters

_CACHE_LINE = 64  # bytes
_SHAPES = 8  # networks whose workspaces are kept
_LONG = 1 << 20  # events: a workspace for longer recordings, some 30 bytes per event and layer, is given back
_SPARE = 32 << 20  # bytes of all workspaces for networks of other shapes, while one is made

_free: dict[Any, list[Workspace]] = {}
_lock = threading.Lock()


class Workspace(NamedTuple):
    """What one thread needs beside events and weights."""

    clock: Array
    memory: Memory
    block: frozen.Block
    log: frozen.Log


@contextmanager
def workspace(plan: Plan, dtype: Any, time: Any, longest: int, *, by_delta: bool = False) -> Iterator[Workspace]:
    """A workspace for recordings of at most so many events, with values and times of these types.

    Only for learning by the delta rule does it have room for the gains of all units.
    """
    room = _room(longest)
    key = (plan, dtype, time, room, by_delta)
    with _lock:
        spare = _free.setdefault(key, [])
        space = spare.pop() if spare else None
    if space is None:
        _give_back_others(key)
        space = _make(plan, dtype, time, room, zeros, by_delta=by_delta)
        frozen.clear(space.memory, space.clock)
    yield space
    if room > _LONG or not np.isfinite(space.memory.dots).all():
        return  # a network that has diverged must not leave its dot products to the next
    with _lock:
        if len(_free) > _SHAPES:
            _free.clear()
        _free.setdefault(key, []).append(space)


def _give_back_others(key: Any) -> None:
    """Drop unused workspaces of other shapes, the oldest first, until they take little memory."""
    with _lock:
        sizes = {other: sum(map(_bytes, spaces)) for other, spaces in _free.items() if other != key}
        for other, size in sizes.items():
            if sum(sizes.values()) <= _SPARE:
                return
            sizes[other] -= size
            del _free[other]


def workspace_bytes(plan: Plan, dtype: Any, time: Any, longest: int, *, by_delta: bool = False) -> int:
    """Bytes of one workspace."""

    def unmade(shape: Any, kind: Any) -> Array:
        """An array that knows its size and takes no memory."""
        return np.broadcast_to(np.zeros((), kind), shape)

    return _bytes(_make(plan, dtype, time, _room(longest), unmade, by_delta=by_delta))


def _bytes(space: Workspace) -> int:
    clock, *parts = space
    return int(clock.nbytes + sum(array.nbytes for part in parts for array in part))


def flat_weights(plan: Plan, parameters: Parameters, dtype: Any) -> frozen.Weights:
    """Parameters for the kernels."""
    units = plan.total.unit0
    weights = frozen.Weights(
        zeros(plan.total.centroid0, dtype),
        np.full(units, AWAY, dtype),
        np.full(units, np.inf, dtype),
        np.zeros(units, dtype),
        np.zeros(len(plan.layers), np.bool_),
        np.zeros(len(plan.layers), np.bool_),
    )
    for k, (layer, learned) in enumerate(zip(plan.layers, parameters, strict=False)):
        c = learned.centroids.reshape(layer.units, -1)
        part = weights.centroids[layer.centroid0 :][: layer.entries * layer.lanes]
        part.reshape(-1, layer.lanes)[:, : layer.units] = c.T
        halves = np.einsum("ue,ue->u", c, c) / 2
        if layer.way == WRITTEN:
            _put_copies_behind(halves, c, dtype)
        plan.units(k, weights.halves)[:] = halves
        plan.units(k, weights.thresholds)[:] = learned.thresholds
        plan.units(k, weights.free)[:] = ~learned.frozen
        weights.limited[k] = np.isfinite(learned.thresholds).any()
        weights.learns[k] = not learned.frozen.all()
    return weights


def _put_copies_behind(halves: Array, centroids: Array, dtype: Any) -> None:
    """Let a copy of a lower unit count as farther away by what rounding may do: ties go to the lowest unit.

    BLAS may sum up equal columns of a product in different orders.
    """
    first: dict[float, list[int]] = {}
    if len(set(halves.tolist())) == len(halves):
        return
    for u, half in enumerate(halves.tolist()):
        lower = first.setdefault(half, [])
        if any(np.array_equal(centroids[u], centroids[v]) for v in lower):
            halves[u] += np.finfo(dtype).eps * centroids.shape[1] * np.abs(centroids[u]).sum()  # as ts <= 1
        else:
            lower.append(u)


def zeros(shape: Any, dtype: Any) -> Array:
    """Zeros that begin with a cache line, in huge pages where there are many: NumPy asks for those in `empty` alone."""
    size, item = math.prod(np.atleast_1d(shape).tolist()), np.dtype(dtype).itemsize
    array: Array = np.empty(size + _CACHE_LINE // item, dtype)
    skip = -array.ctypes.data % _CACHE_LINE // item
    array.fill(0)
    return array[skip : skip + size].reshape(shape)


def _make(plan: Plan, dtype: Any, time: Any, longest: int, new: New, *, by_delta: bool) -> Workspace:
    """With arrays from `new`."""
    layers, total, top = len(plan.layers), plan.total, plan.layers[-1]
    scales = max(layer.scales for layer in plan.layers)
    arriving, inside, logged = (layers + 1, plan.events), (layers, plan.events), (layers, longest)
    block = frozen.Block(
        location=new(arriving, time),
        polarity=new(arriving, time),
        time=new(arriving, time),
        source=new(arriving, time),
        winner=new(inside, time),
        distance=new(inside, dtype),
        square=new(inside, dtype),
        fade=new(inside, dtype),
        own_fade=new(inside, dtype),
        fades=new((2 * scales if scales > 1 else 0, plan.events), dtype),
        S=new(inside, np.float64),
        dS=new(inside, np.float64),
        chain=new(inside, time),
        surfaces=new(total.surface0, dtype),
        scores=new(total.score0, dtype),
        share=new(top.lanes, dtype),
    )
    rows = longest if top.way == RUNNING else 1
    log = frozen.Log(
        entry=new(logged, time),
        block=new(logged, time),
        time=new(logged, time),
        winner=new(logged, time),
        fresh=new(logged, dtype),
        gain=new(logged, dtype),
        later=new(total.dots0, dtype),
        gains=new((rows if by_delta else 0, top.lanes), dtype),
    )
    return Workspace(new(1, np.int64), Memory.make(plan, dtype, time, new), block, log)


def _room(longest: int) -> int:
    """Room for the longest recording, rounded up so that workspaces can be shared."""
    return 1 << max(longest - 1, 1).bit_length()
