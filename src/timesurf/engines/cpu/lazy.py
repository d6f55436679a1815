"""Online learning of a layer over a large field (`Full`), whose surface is never written out.

As with frozen weights, dot products follow each event. A centroid that moves towards the surface,
c = (1 - g) c + g ts, updates its dot product and norm in O(1), and moves in O(1) too:

    c = A v,    A = product of (1 - g),    v[e] += a[e] (H - H when e was set)

where ts[e] = a[e] exp(-(now - t0)/tau) is one factor per entry and one decay for all, so
H = sum of g exp(-(now - t0)/tau) / A is all that an entry needs to catch up, and it does so when it is next set. Before
the decay since t0 loses digits, t0 is moved up and all live entries catch up. So an event costs O(units), however large
the field.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from timesurf.engines.cpu.layout import RUNNING
from timesurf.engines.cpu.steps import compiled, inlined
from timesurf.engines.cpu.vector import decayed

REACH = 8.0  # tau: how far t0 may lie behind; e^8 is what rounding errors grow by


# These functions are small and give no array of a bundle a name of its own, so that numba can leave out counting its
# references. Written as one function, `follow` counted 27 of them per event, and the N-MNIST network ran 8 % slower.


@inlined
def follow(layer, k, pace, now, location, p, layout, weights, lazy, memory, step):
    """Update the dot products of the layer by the event: the closest unit."""
    if is_behind(k, pace, now, lazy):
        catch_up(layer, k, pace, now, weights, lazy)
    e = layout.own[layer.location0 + location] + p
    v_old, decay = enter(layer, pace, now, e, memory)
    add_entry(layer, e, v_old, decay, weights, lazy, memory)
    mark_live(layer, k, pace, now, e, lazy)
    return closest(layer, weights, memory, step)


@inlined
def follow_at_rest(layer, pace, now, location, p, layout, weights, memory, step):
    """As `follow`, in a state that has never learned: no entry owes anything."""
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
def drift(layer, k, pace, f, gain, now, weights, lazy, memory):
    """C += gain (ts - c): its norm and dot product, A and H."""
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
            catch_up(layer, k, settings.pace[k], now, weights, lazy)
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
