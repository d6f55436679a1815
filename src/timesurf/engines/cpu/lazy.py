"""Online learning of a layer over a large field (`Full`), whose surface is never written out.

As with frozen weights, dot products follow each event. A centroid that moves towards the surface,
c = (1 - g) c + g ts, updates its dot product and norm in O(1), and moves in O(1) too:

    c = A v,    A = product of (1 - g),    v[e] += a[e] (H - H when e was set)

where ts[e] = a[e] exp(-(now - t0)/tau) is one factor per entry and one decay for all, so
H = sum of g exp(-(now - t0)/tau) / A is all that an entry needs to catch up, and it does so when it is next set. Before
the decay since t0 loses digits, t0 is moved up and all live entries catch up. So an event costs O(units), however large
the field.

A layer with several time constants has dot products, ||ts||^2, a, H, t0 and live entries for each of them, and one A
per unit, and an event costs O(units x time constants): the functions whose names end in `at_scales`. The kernel is
compiled once for networks with such a layer and once for those without, which it then costs nothing.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numba.extending import overload

from timesurf.engines.cpu.layout import RUNNING
from timesurf.engines.cpu.online_state import LazyAtScales
from timesurf.engines.cpu.steps import INLINED, compiled, inlined
from timesurf.engines.cpu.vector import decayed

REACH = 8.0  # tau: how far t0 may lie behind; e^8 is what rounding errors grow by


def follow(layer, k, settings, now, location, p, layout, weights, lazy, memory, step):
    """Update the dot products of the layer by the event: the closest unit. In kernels only."""
    raise NotImplementedError("follow is compiled into kernels")


def follow_at_rest(layer, k, settings, now, location, p, layout, weights, lazy, memory, step):
    """As `follow`, in a state that has never learned: no entry owes anything. In kernels only."""
    raise NotImplementedError("follow_at_rest is compiled into kernels")


def drift(layer, k, settings, f, gain, now, weights, lazy, memory):
    """C += gain (ts - c): its norm and dot product, A and H. In kernels only."""
    raise NotImplementedError("drift is compiled into kernels")


def settle(layer, k, settings, now, weights, lazy):
    """Move t0 up to now: all entries get what they owe. In kernels only."""
    raise NotImplementedError("settle is compiled into kernels")


@overload(follow, jit_options=INLINED)
def _follow(layer, k, settings, now, location, p, layout, weights, lazy, memory, step):
    return _chosen(lazy, follow_any, follow_alone)


@overload(follow_at_rest, jit_options=INLINED)
def _follow_at_rest(layer, k, settings, now, location, p, layout, weights, lazy, memory, step):
    return _chosen(lazy, follow_any_at_rest, follow_alone_at_rest)


@overload(drift, jit_options=INLINED)
def _drift(layer, k, settings, f, gain, now, weights, lazy, memory):
    return _chosen(lazy, drift_any, drift_alone)


@overload(settle, jit_options=INLINED)
def _settle(layer, k, settings, now, weights, lazy):
    return _chosen(lazy, settle_any, settle_alone)


def _chosen(lazy, several, alone):
    """What is compiled for a state of this type: with a layer of several time constants, or without."""
    return (several if lazy.instance_class is LazyAtScales else alone).py_func


# These functions are small and give no array of a bundle a name of its own, so that numba can leave out counting its
# references. Written as one function, `follow` counted 27 of them per event, and the N-MNIST network ran 8 % slower.


@inlined
def follow_alone(layer, k, settings, now, location, p, layout, weights, lazy, memory, step):
    """`follow` in a layer with one time constant."""
    pace = settings.pace[k]
    if is_behind(k, pace, now, lazy):
        catch_up(layer, k, pace, now, weights, lazy)
    e = layout.own[layer.location0 + location] + p
    v_old, decay = enter(layer, pace, now, e, memory)
    add_entry(layer, e, v_old, decay, weights, lazy, memory)
    mark_live(layer, k, pace, now, e, lazy)
    return closest(layer, weights, memory, step)


@inlined
def follow_alone_at_rest(layer, k, settings, now, location, p, layout, weights, lazy, memory, step):
    """`follow_at_rest` in a layer with one time constant."""
    pace = settings.pace[k]
    e = layout.own[layer.location0 + location] + p
    v_old, decay = enter(layer, pace, now, e, memory)
    dots0, row = layer.dots0, layer.update0 + e * layer.lanes
    for u in range(layer.units):
        memory.dots[dots0 + u] = memory.dots[dots0 + u] * decay + (1.0 - v_old) * weights.centroids[row + u]
    return closest(layer, weights, memory, step)


@inlined
def is_behind(k, pace, now, lazy):
    """Whether t0 lies too far behind."""
    return (lazy.t0[k] - now) * pace.surface > REACH


@inlined
def enter(layer, pace, now, e, memory):
    """Write the event in: what its entry had decayed to, and by what all have decayed since the event before."""
    own, block, slope = layer.context0 + e, layer.block0, pace.surface
    v_old = decayed((now - memory.context[own]) * slope)
    decay = decayed((now - memory.since[block]) * slope)
    memory.context[own] = now
    memory.since[block] = now
    memory.squares[block] = memory.squares[block] * decay * decay + (1.0 - v_old * v_old)
    return v_old, decay


@inlined
def add_entry(layer, e, v_old, decay, weights, lazy, memory):
    """Give an entry what it owes since it was last set, then add it to the dot products."""
    unit0, dots0, row = layer.unit0, layer.dots0, layer.update0 + e * layer.lanes
    amplitude = lazy.amplitude[layer.context0 + e]
    for u in range(layer.units):
        weights.centroids[row + u] += amplitude * (lazy.moved[unit0 + u] - lazy.noted[row + u])
        lazy.noted[row + u] = lazy.moved[unit0 + u]
        added = (1.0 - v_old) * lazy.scale[unit0 + u] * weights.centroids[row + u]
        memory.dots[dots0 + u] = memory.dots[dots0 + u] * decay + added


@inlined
def mark_live(layer, k, pace, now, e, lazy):
    """An entry that was just set is 1 now."""
    context0 = layer.context0
    lazy.amplitude[context0 + e] = np.exp((lazy.t0[k] - now) * pace.surface)
    if not lazy.is_live[context0 + e]:
        lazy.is_live[context0 + e] = True
        lazy.live[context0 + lazy.lives[k]] = e
        lazy.lives[k] += 1


@inlined
def closest(layer, weights, memory, step):
    """Distances of all units, from the dot products: the closest."""
    unit0, dots0, square = layer.unit0, layer.dots0, memory.squares[layer.block0]
    f, least = 0, np.inf
    for u in range(layer.units):
        apart = square + weights.norms[unit0 + u] - 2.0 * memory.dots[dots0 + u]
        step.dist[unit0 + u] = sqrt(max(apart, 0.0))
        if apart < least:
            f, least = u, apart
    return f


@inlined
def follow_any(layer, k, settings, now, location, p, layout, weights, lazy, memory, step):
    """`follow` in a layer with any number of time constants."""
    if layer.scales == 1:
        return follow_alone(layer, k, settings, now, location, p, layout, weights, lazy, memory, step)
    return follow_at_scales(layer, k, True, settings, now, location, p, layout, weights, lazy, memory, step)


@inlined
def follow_any_at_rest(layer, k, settings, now, location, p, layout, weights, lazy, memory, step):
    """`follow_at_rest` in a layer with any number of time constants."""
    if layer.scales == 1:
        return follow_alone_at_rest(layer, k, settings, now, location, p, layout, weights, lazy, memory, step)
    return follow_at_scales(layer, k, False, settings, now, location, p, layout, weights, lazy, memory, step)


@inlined
def follow_at_scales(layer, k, learn, settings, now, location, p, layout, weights, lazy, memory, step):
    """`follow`, or `follow_at_rest` if nothing learns, in a layer with several time constants."""
    e, units, unit0 = layout.own[layer.location0 + location] + p, layer.units, layer.unit0
    age = now - memory.context[layer.context0 + e]
    gone = now - memory.since[layer.block0]
    memory.context[layer.context0 + e] = now
    memory.since[layer.block0] = now
    total = 0.0
    for u in range(units):
        step.dist[unit0 + u] = 0.0
    for s in range(layer.scales):
        slope, square, dots = settings.slopes[k, s], layer.block0 + s, layer.dots0 + s * layer.lanes
        v_old, decay = decayed(age * slope), decayed(gone * slope)
        row = layer.update0 + (e * layer.scales + s) * layer.lanes
        memory.squares[square] = memory.squares[square] * decay * decay + (1.0 - v_old * v_old)
        total += memory.squares[square]
        if learn:
            pay_at_scale(layer, k, s, slope, now, e, weights, lazy)
        for u in range(units):
            added = (1.0 - v_old) * lazy.scale[unit0 + u] * weights.centroids[row + u]
            memory.dots[dots + u] = memory.dots[dots + u] * decay + added
            step.dist[unit0 + u] += memory.dots[dots + u]
    f, least = 0, np.inf
    for u in range(units):
        apart = total + weights.norms[unit0 + u] - 2.0 * step.dist[unit0 + u]
        step.dist[unit0 + u] = sqrt(max(apart, 0.0))
        if apart < least:
            f, least = u, apart
    return f


@inlined
def pay_at_scale(layer, k, s, slope, now, e, weights, lazy):
    """Give an entry at one time constant what it owes since it was last set; it is 1 now."""
    if (lazy.t0_at[k, s] - now) * slope > REACH:
        catch_up_at_scale(layer, k, s, slope, now, weights, lazy)
    row, here = layer.update0 + (e * layer.scales + s) * layer.lanes, layer.context0 + e * layer.scales + s
    dots, amplitude = layer.dots0 + s * layer.lanes, lazy.amplitude[here]
    for u in range(layer.units):
        weights.centroids[row + u] += amplitude * (lazy.moved_at[dots + u] - lazy.noted[row + u])
        lazy.noted[row + u] = lazy.moved_at[dots + u]
    lazy.amplitude[here] = np.exp((lazy.t0_at[k, s] - now) * slope)
    if not lazy.is_live[here]:
        lazy.is_live[here] = True
        lazy.live[layer.context0 + s * layer.row + lazy.lives_at[k, s]] = e
        lazy.lives_at[k, s] += 1


@inlined
def drift_any(layer, k, settings, f, gain, now, weights, lazy, memory):
    """`drift` in a layer with any number of time constants."""
    if layer.scales == 1:
        drift_alone(layer, k, settings, f, gain, now, weights, lazy, memory)
    else:
        drift_at_scales(layer, k, settings, f, gain, now, weights, lazy, memory)


@inlined
def drift_at_scales(layer, k, settings, f, gain, now, weights, lazy, memory):
    """`drift` in a layer with several time constants."""
    unit, left, dot, square = layer.unit0 + f, 1.0 - gain, 0.0, 0.0
    for s in range(layer.scales):
        here, length = layer.dots0 + s * layer.lanes + f, memory.squares[layer.block0 + s]
        dot += memory.dots[here]
        square += length
        memory.dots[here] = left * memory.dots[here] + gain * length
    weights.norms[unit] = left * left * weights.norms[unit] + 2.0 * gain * left * dot + gain * gain * square
    folds = (
        not 1e-3 < abs(lazy.scale[unit] * left) < 1e3
    )  # A would soon vanish or overflow: multiply the centroid by it
    if folds:
        for s in range(layer.scales):
            for n in range(lazy.lives_at[k, s]):
                e = lazy.live[layer.context0 + s * layer.row + n] * layer.scales + s
                entry, here = layer.update0 + e * layer.lanes + f, layer.dots0 + s * layer.lanes + f
                owed = lazy.amplitude[layer.context0 + e] * (lazy.moved_at[here] - lazy.noted[entry])
                weights.centroids[entry] += owed
                lazy.noted[entry] = 0.0
        fold(layer, f, lazy.scale[unit] * left, weights)
    lazy.scale[unit] = 1.0 if folds else lazy.scale[unit] * left
    for s in range(layer.scales):
        here, decay = layer.dots0 + s * layer.lanes + f, decayed((now - lazy.t0_at[k, s]) * settings.slopes[k, s])
        before = 0.0 if folds else lazy.moved_at[here]
        lazy.moved_at[here] = before + gain * decay / lazy.scale[unit]


@inlined
def drift_alone(layer, k, settings, f, gain, now, weights, lazy, memory):
    """`drift` in a layer with one time constant."""
    pace = settings.pace[k]
    unit, dot, square = layer.unit0 + f, layer.dots0 + f, memory.squares[layer.block0]
    left = 1.0 - gain
    weights.norms[unit] = (
        left * left * weights.norms[unit] + 2.0 * gain * left * memory.dots[dot] + gain * gain * square
    )
    memory.dots[dot] = left * memory.dots[dot] + gain * square
    decay = decayed((now - lazy.t0[k]) * pace.surface)
    if 1e-3 < abs(lazy.scale[unit] * left) < 1e3:
        lazy.scale[unit] *= left
        lazy.moved[unit] += gain * decay / lazy.scale[unit]
        return
    lanes, context0, update0 = layer.lanes, layer.context0, layer.update0
    for n in range(lazy.lives[k]):  # A would soon vanish or overflow: multiply the centroid by it
        e = lazy.live[context0 + n]
        owed = lazy.amplitude[context0 + e] * (lazy.moved[unit] - lazy.noted[update0 + e * lanes + f])
        weights.centroids[update0 + e * lanes + f] += owed
    fold(layer, f, lazy.scale[unit] * left, weights)
    lazy.scale[unit], lazy.moved[unit] = 1.0, gain * decay
    for n in range(lazy.lives[k]):
        lazy.noted[update0 + lazy.live[context0 + n] * lanes + f] = 0.0


@compiled
def finish(now, layout, settings, state):
    """Bring all centroids of such layers up to date."""
    weights, lazy, _, _ = state
    for k in range(len(layout.layers)):
        layer = layout.layers[k]
        if layer.way == RUNNING:
            settle(layer, k, settings, now, weights, lazy)
            for u in range(layer.units):
                fold(layer, u, lazy.scale[layer.unit0 + u], weights)


@compiled
def fold(layer, f, factor, weights):
    """Multiply a unit's v by what was its scale."""
    for e in range(layer.entries):
        weights.centroids[layer.update0 + e * layer.lanes + f] *= factor


@compiled
def catch_up(layer, k, pace, now, weights, lazy):
    """Move t0 up to now: every live entry gets what it owes, and those that have decayed are dropped."""
    lanes, units, unit0, context0 = layer.lanes, layer.units, layer.unit0, layer.context0
    decay = decayed((now - lazy.t0[k]) * pace.surface)
    still = 0
    for n in range(lazy.lives[k]):
        e = lazy.live[context0 + n]
        row = layer.update0 + e * lanes
        for u in range(units):
            weights.centroids[row + u] += lazy.amplitude[context0 + e] * (lazy.moved[unit0 + u] - lazy.noted[row + u])
            lazy.noted[row + u] = 0.0
        lazy.amplitude[context0 + e] *= decay
        lazy.is_live[context0 + e] = lazy.amplitude[context0 + e] > 1e-18
        if lazy.is_live[context0 + e]:
            lazy.live[context0 + still] = e
            still += 1
        else:
            lazy.amplitude[context0 + e] = 0.0
    lazy.moved[unit0 : unit0 + units] = 0.0
    lazy.t0[k], lazy.lives[k] = now, still


@inlined
def settle_alone(layer, k, settings, now, weights, lazy):
    """`settle` in a layer with one time constant."""
    catch_up(layer, k, settings.pace[k], now, weights, lazy)


@inlined
def settle_any(layer, k, settings, now, weights, lazy):
    """`settle` in a layer with any number of time constants."""
    if layer.scales == 1:
        catch_up(layer, k, settings.pace[k], now, weights, lazy)
        return
    for s in range(layer.scales):
        catch_up_at_scale(layer, k, s, settings.slopes[k, s], now, weights, lazy)


@compiled
def catch_up_at_scale(layer, k, s, slope, now, weights, lazy):
    """As `catch_up`, for one of several time constants."""
    lanes, dots, first = layer.lanes, layer.dots0 + s * layer.lanes, layer.context0 + s * layer.row
    decay = decayed((now - lazy.t0_at[k, s]) * slope)
    still = 0
    for n in range(lazy.lives_at[k, s]):
        e = lazy.live[first + n]
        row, here = layer.update0 + (e * layer.scales + s) * lanes, layer.context0 + e * layer.scales + s
        for u in range(layer.units):
            weights.centroids[row + u] += lazy.amplitude[here] * (lazy.moved_at[dots + u] - lazy.noted[row + u])
            lazy.noted[row + u] = 0.0
        lazy.amplitude[here] *= decay
        lazy.is_live[here] = lazy.amplitude[here] > 1e-18
        if lazy.is_live[here]:
            lazy.live[first + still] = e
            still += 1
        else:
            lazy.amplitude[here] = 0.0
    lazy.moved_at[dots : dots + layer.units] = 0.0
    lazy.t0_at[k, s], lazy.lives_at[k, s] = now, still
