"""What online learning changes: weights and memory as the kernel's arrays, and back."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from timesurf.engines.cpu.bundles import Memory
from timesurf.engines.cpu.layout import SPARSE, WRITTEN, Plan
from timesurf.engines.cpu.shares import AWAY
from timesurf.engines.cpu.vector import FOUR, VECTOR
from timesurf.engines.cpu.workspace import zeros
from timesurf.engines.data import Array, Parameters

NEVER = -(2**62)  # us: the time of what has not happened yet


class Weights(NamedTuple):
    """Parameters of all layers."""

    centroids: Array  # as `Layer.update0`; in RUNNING layers v of c = A v
    thresholds: Array  # of every unit
    frozen: Array  # units that never change
    norms: Array  # ||c||^2 of every unit
    learns: Array  # (layers,) whether any unit may change
    limited: Array  # (layers,) whether any threshold is finite


class Lazy(NamedTuple):
    """What RUNNING layers owe their centroids, see `engines/cpu/lazy.py`."""

    scale: Array  # A of every unit
    moved: Array  # H of every unit
    noted: Array  # H when each entry was set, as `Layer.update0`
    amplitude: Array  # a of every entry
    live: Array  # entries that have not decayed yet
    is_live: Array
    t0: Array  # (layers,)
    lives: Array  # (layers,) how many entries are live


class LazyAtScales(NamedTuple):
    """As `Lazy`, of a network that has a layer with several time constants."""

    scale: Array
    moved: Array
    noted: Array
    amplitude: Array
    live: Array
    is_live: Array
    t0: Array
    lives: Array
    moved_at: Array  # H of every unit at every time constant: as `Layer.dots0`
    t0_at: Array  # (layers, time constants)
    lives_at: Array  # (layers, time constants)


class Step(NamedTuple):
    """The current event."""

    ts: Array  # its surfaces; in HELD layers those of all blocks, which stay
    dist: Array  # its distance to every unit; in float32 the squared distance
    fired: Array  # (layers,) the unit that it fired
    place: Array  # (layers,) where that output went
    surface: Array  # (layers,) where its surface begins
    square: Array  # (layers,) ||ts||^2; in float32 alone
    decay: Array  # (layers,) D of RUNNING layers; in float32 alone
    S: Array  # (layers,)
    dS: Array  # (layers,)
    score: Array  # -dist^2 / 2 of every unit of the last layer; -AWAY in lanes without a unit
    target: Array  # shares that these units should have, by the delta rule
    gains: Array  # of these units


class Copies(NamedTuple):
    """Float32 copies of what distances are computed from."""

    v: Array  # of WRITTEN layers: fours of entries x lanes x FOUR; with more than SPARSE entries, entries x lanes
    scale: Array  # A of every unit
    norms: Array  # ||c||^2 of every unit; NaN in lanes without a unit
    free: Array  # 1 for every unit that may change, 0 for frozen ones and lanes without a unit


class State(NamedTuple):
    """All that the kernel changes."""

    weights: Weights
    lazy: Lazy | LazyAtScales
    memory: Memory
    step: Step

    def copy(self) -> State:
        """An independent copy."""
        parts: Any = (part.__class__(*(array.copy() for array in part)) for part in self)
        return State(*parts)


class State32(NamedTuple):
    """All that the kernel with distances in float32 changes."""

    weights: Weights
    copies: Copies
    lazy: Lazy
    memory: Memory
    step: Step

    def copy(self) -> State32:
        """An independent copy."""
        parts: Any = (part.__class__(*(array.copy() for array in part)) for part in self)
        return State32(*parts)


@np.errstate(over="ignore")  # float32 may not hold centroids that have diverged
def begin32(plan: Plan, parameters: Parameters) -> State32:
    """These parameters, and an empty memory, for the kernel with distances in float32."""
    weights, lazy, memory, step = begin(plan, parameters, np.float32)
    assert isinstance(lazy, Lazy)  # `online_kernel` leaves several time constants to float64
    copies = Copies(
        v=zeros(plan.total.update0 + VECTOR, np.float32),
        scale=np.ones(plan.total.unit0, np.float32),
        norms=weights.norms.astype(np.float32),
        free=np.zeros(plan.total.unit0, np.float32),
    )
    for k, layer in enumerate(plan.layers):
        plan.units(k, copies.free)[:] = ~parameters[k].frozen
        for norms in (weights.norms, copies.norms):
            norms[layer.unit0 + layer.units : layer.unit0 + layer.lanes] = np.nan  # never the closest
        if layer.way == WRITTEN:
            rows, part = (
                plan.rows(k, weights.centroids),
                copies.v[layer.update0 :][: layer.lanes * layer.vectors * VECTOR],
            )
            if layer.entries > SPARSE:
                part.reshape(-1, layer.lanes)[: layer.entries] = rows.T
            else:
                fours = part.reshape(-1, layer.lanes, FOUR)  # four entries of every unit, then the next four
                for j in range(layer.entries):
                    fours[j // FOUR, :, j % FOUR] = rows[:, j]
    return State32(weights, copies, lazy, memory, step)


def begin(plan: Plan, parameters: Parameters, dtype: Any = np.float64) -> State:
    """These parameters, and an empty memory; surfaces and distances of this type."""
    total, layers = plan.total, len(plan.layers)
    units, inputs, steps, top = total.unit0, total.context0, total.update0, plan.layers[-1].lanes
    weights = Weights(
        centroids=zeros(steps + VECTOR, np.float64),
        thresholds=np.full(units, np.inf),
        frozen=np.zeros(units, np.bool_),
        norms=np.zeros(units),
        learns=np.array([not learned.frozen.all() for learned in parameters]),
        limited=np.array([bool(np.isfinite(learned.thresholds).any()) for learned in parameters]),
    )
    for k, learned in enumerate(parameters):
        rows, layer = plan.rows(k, weights.centroids), plan.layers[k]
        rows[: layer.units] = learned.centroids.reshape(layer.units, -1)
        plan.units(k, weights.frozen)[:] = learned.frozen
        plan.units(k, weights.thresholds)[:] = learned.thresholds
        weights.norms[layer.unit0 :][: layer.lanes] = np.einsum("ue,ue->u", rows, rows)
    lazy: Lazy | LazyAtScales = Lazy(
        scale=np.ones(units),
        moved=np.zeros(units),
        noted=np.zeros(steps),
        amplitude=np.zeros(inputs),
        live=np.zeros(inputs, np.int64),
        is_live=np.zeros(inputs, np.bool_),
        t0=np.zeros(layers, np.int64),
        lives=np.zeros(layers, np.int64),
    )
    scales = max(layer.scales for layer in plan.layers)
    if scales > 1:
        times, lives = np.zeros((layers, scales), np.int64), np.zeros((layers, scales), np.int64)
        lazy = LazyAtScales(*lazy, np.zeros(total.dots0), times, lives)
    step = Step(
        ts=zeros(total.surface0 + VECTOR, dtype),
        dist=np.zeros(units, dtype),
        fired=np.zeros(layers, np.int64),
        place=np.zeros(layers, np.int64),
        surface=np.zeros(layers, np.int64),
        square=np.zeros(layers),
        decay=np.zeros(layers),
        S=np.zeros(layers),
        dS=np.zeros(layers),
        score=np.full(top, -AWAY),
        target=np.zeros(top),
        gains=np.zeros(top),
    )
    return State(weights, lazy, Memory.make(plan, np.float64, np.int64, _empty), step)


def _empty(size: int, kind: Any) -> Array:
    """Times that never were, and values of 0."""
    return np.full(size, NEVER if kind is np.int64 else 0, kind)


def take_back(plan: Plan, state: Any, parameters: Parameters) -> None:
    """Write centroids and thresholds of a state to the parameters, of units that are not frozen."""
    for k, learned in enumerate(parameters):
        free = np.flatnonzero(~learned.frozen)
        flat = learned.centroids.reshape(plan.layers[k].units, -1)
        flat[free] = plan.rows(k, state.weights.centroids)[free]
        learned.thresholds[free] = plan.units(k, state.weights.thresholds)[free]
