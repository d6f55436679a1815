"""Kernel of online learning with surfaces and distances in float32: the rule of `online.py`, several times as fast.

What is learned is added up in float64, so that no step is lost however small.

- The surface is written out for every layer but a `Full` one over a large field, and compared with all units at once: a
  copy of the centroids in float32 is what the distances are computed from.
- In surfaces of more than SPARSE entries most are 0, and c = A v: a centroid that moves towards one,
  c = (1 - g) c + g ts, changes its factor A and, of v, only the entries that are not 0.
- `Full` over a large field: never written out, as in `engines/cpu/lazy.py`. ts[e] = a[e] D, with one decay
  D = exp(-(now - t0)/tau) for all entries, and v[e] = z[e] + a[e] H, with H = sum of g D / A: so an entry catches up
  whenever it is next set. Dot products and ||ts||^2 are kept without their D.
"""

from __future__ import annotations

import numpy as np

from timesurf.engines.cpu import steps
from timesurf.engines.cpu.fused import (
    add_scaled_row,
    approach,
    approach_sparse,
    compare,
    compare_sparse,
    decayed_pair,
    enter_row,
    lowest,
    shift_thresholds,
    write_surface,
)
from timesurf.engines.cpu.layout import RUNNING, SPARSE
from timesurf.engines.cpu.lazy import fold
from timesurf.engines.cpu.shares import delta_gains, weigh
from timesurf.engines.cpu.steps import bare, inlined
from timesurf.engines.cpu.vector import FOUR, LANE, VECTOR, decayed

REACH = 16.0  # tau: how far t0 may lie behind; e^16 is what rounding errors of float64 grow by
FAINT = 1e-9  # an entry that has decayed to this is 0


@bare
def run(events, base, gap, whole, learn, layout, settings, state, counts, outputs):
    """As `online.run`, with a `State32`.

    The first layer's surface of an event is written before the event before it is decided on and learned from: that has
    to wait for the closest unit again and again, and the surface for none of it.
    """
    entry, t, offsets, label = events
    weights, copies, lazy, memory, step = state
    first, pace = layout.layers[0], settings.pace[0]
    location, p, found = 0, 0, 0
    for r in range(len(label)):
        if whole:
            memory.previous[:] = 0
        for i in range(offsets[r], offsets[r + 1] + 1):
            last_location, last_p, here, square = location, p, first.surface0, np.float32(0)
            if i < offsets[r + 1]:
                now = base + t[at(i)]
                location = np.int64(entry[at(i)]) // first.polarities
                p = np.int64(entry[at(i)]) - location * first.polarities
                if first.way != RUNNING:
                    here += (i & 1) * first.vectors * VECTOR
                    square = write(first, 0, pace, now, location, p, here, layout, memory, step)
            if i > offsets[r]:
                before = base + t[at(i - 1)]
                found += decide_and_learn(
                    i - 1, r, before, last_location, last_p, found, label[r], learn, layout, settings, state, counts,
                    outputs,
                )  # fmt: skip
            if i < offsets[r + 1]:
                if first.way == RUNNING:
                    follow(first, 0, pace, now, location, p, layout, weights, lazy, memory, step)
                else:
                    match(first, 0, location, p, here, square, layout, copies, step)
        if offsets[r + 1] > offsets[r]:
            base += t[offsets[r + 1] - 1] + gap
    if whole:
        finish(base, layout, settings, state)
    return found


@inlined
def decide_and_learn(i, r, now, location, p, found, label, learn, layout, settings, state, counts, outputs):
    """All that follows from an event once the first layer has compared its surface: 1 if there is an output, else 0."""
    weights, copies, lazy, memory, step = state
    layers = len(layout.layers)
    lowest_judged = min(1, layers - 1)
    for k in range(layers):
        layer, pace = layout.layers[k], settings.pace[k]
        if k > 0:
            if layer.way == RUNNING:
                follow(layer, k, pace, now, location, p, layout, weights, lazy, memory, step)
            else:
                square = write(layer, k, pace, now, location, p, layer.surface0, layout, memory, step)
                match(layer, k, location, p, layer.surface0, square, layout, copies, step)
        f = lowest(step.dist, layer.unit0, layer.lanes)
        apart, th = step.dist[at(layer.unit0 + f)], weights.thresholds[at(layer.unit0 + f)]
        if not (apart < th * th and th > 0):
            return 0
        location = layout.out[at(layer.location0 + location)]
        p = f
        step.fired[k], step.place[k] = f, location
        counts.kept[r, k] += 1
        if k >= lowest_judged:
            step.S[k] = unshared(layer, pace, f, location, now, memory)
    voted = layout.voted[at(p)]
    counts.votes[r, at(voted)] += 1
    G = steps.sign(label, voted)
    for k in range(lowest_judged, layers):
        step.S[at(k)] *= G
        here = at(layout.layers[at(k)].place0 + step.place[at(k)])
        step.dS[at(k)] = steps.change(step.S[at(k)], here, memory.previous)
    if len(outputs.event) > 0:
        outputs.event[found], outputs.unit[found], outputs.S[found] = i, p, step.S[layers - 1]
        if len(outputs.evidence) > 0:
            score(layout.layers[layers - 1], step)
            slope = 2 * settings.temperature
            weigh(
                step.score, step.score[p], slope, layout.voted, layout.layers[layers - 1].units, step.target, found,
                outputs.evidence,
            )  # fmt: skip
    if not learn:
        return 1
    for k in range(layers):
        if not weights.learns[k]:
            continue
        layer, rates, f = layout.layers[k], settings.rates[k], step.fired[k]
        above = at(min(k + 1, layers - 1))
        S, dS = step.S[above], step.dS[above]
        if settings.by_delta and k == layers - 1 and label >= 0:
            move_all(layer, k, f, label, layout, settings, weights, copies, lazy, memory, step)
        elif not weights.frozen[at(layer.unit0 + f)]:
            move(layer, k, f, steps.centroid_gain(rates, S, dS), weights, copies, lazy, memory, step)
        if weights.limited[k]:
            adjust(layer, rates, f, S, dS, settings, weights, copies, step)
    return 1


@inlined
def at(place):
    """An index that is not negative: numba adds the length of the array to all others, at every access."""
    return np.uint64(place)


@inlined
def write(layer, k, pace, now, location, p, begin, layout, memory, step):
    """Write the event in, and its surface out to ts[begin:]: the sum of squares."""
    place = at(layer.location0 + location)
    square = write_surface(
        memory.context, layer.context0 + layout.start[place], layout.runs, layer.run0, layer.rows, layer.row, now,
        np.float32(pace.surface), layer.entries > SPARSE, step.ts, begin, k == 0, layout.within[place] + p,
    )  # fmt: skip
    memory.context[at(layer.context0 + layout.own[place] + p)] = now
    return square


@inlined
def match(layer, k, location, p, begin, square, layout, copies, step):
    """Squared distances of all units from the surface at ts[begin:]."""
    own = layout.within[at(layer.location0 + location)] + p
    step.surface[k] = begin
    if layer.entries > SPARSE:
        step.square[k] = compare_sparse(
            step.ts, begin, layer.entries, own, copies.v, layer.update0, layer.lanes, copies.scale, copies.norms,
            layer.unit0, square, step.dist,
        )  # fmt: skip
    else:
        step.square[k] = compare(
            step.ts, begin, layer.entries, k == 0, own, copies.v, layer.update0, layer.lanes, copies.norms,
            layer.unit0, square, step.dist,
        )  # fmt: skip


@inlined
def follow(layer, k, pace, now, location, p, layout, weights, lazy, memory, step):
    """Update the dot products of a RUNNING layer by the event: squared distances of all units."""
    if (lazy.t0[k] - now) * pace.surface > REACH:
        move_up(layer, k, pace, now, weights, lazy, memory)
    e = layout.own[at(layer.location0 + location)] + p
    own, block = at(layer.context0 + e), at(layer.block0)
    decay = decayed((now - lazy.t0[k]) * pace.surface)
    new, old = 1.0 / decay, lazy.amplitude[own]
    memory.squares[block] += new * new - old * old
    step.square[k] = memory.squares[block] * decay * decay
    step.decay[k] = decay
    enter_row(
        weights.centroids, lazy.moved, lazy.scale, memory.dots, weights.norms, step.dist,
        layer.update0 + e * layer.lanes, layer.unit0, layer.dots0, layer.lanes, old, new, decay, step.square[k],
    )  # fmt: skip
    lazy.amplitude[own] = new
    if not lazy.is_live[own]:
        lazy.is_live[own] = True
        lazy.live[at(layer.context0 + lazy.lives[k])] = e
        lazy.lives[k] += 1


@inlined
def move(layer, k, f, gain, weights, copies, lazy, memory, step):
    """C += gain (ts - c): the norm, and the centroid or, in RUNNING and sparse layers, A and v of it."""
    unit, square, left = at(layer.unit0 + f), step.square[k], 1.0 - gain
    dot = 0.5 * (weights.norms[unit] + square - step.dist[unit])
    if layer.way == RUNNING:
        dot = memory.dots[at(layer.dots0 + f)] * step.decay[k]
        memory.dots[at(layer.dots0 + f)] = (left * dot + gain * square) / step.decay[k]
    weights.norms[unit] = left * left * weights.norms[unit] + 2.0 * gain * left * dot + gain * gain * square
    copies.norms[unit] = weights.norms[unit]
    if layer.way != RUNNING and layer.entries <= SPARSE:
        approach(
            weights.centroids, layer.update0 + f * layer.vectors * VECTOR, gain, step.ts, step.surface[k],
            layer.vectors, copies.v, layer.update0 + f * FOUR, layer.lanes,
        )  # fmt: skip
        return
    if not 1e-3 < abs(lazy.scale[unit] * left) < 1e3:
        rescale(layer, k, f, left, weights, copies, lazy)
    else:
        lazy.scale[unit] *= left
    if layer.way == RUNNING:
        lazy.moved[unit] += gain * step.decay[k] / lazy.scale[unit]
        return
    copies.scale[unit] = lazy.scale[unit]
    approach_sparse(
        weights.centroids, layer.update0 + f * layer.vectors * VECTOR, gain / lazy.scale[unit], step.ts,
        step.surface[k], layer.entries, copies.v, layer.update0 + f, layer.lanes,
    )  # fmt: skip


@inlined
def move_all(layer, k, f, label, layout, settings, weights, copies, lazy, memory, step):
    """C += alpha (r - q) (ts - c) of every unit of the last layer: the delta rule."""
    score(layer, step)
    delta_gains(step.score, 0, step.score[f], label, layout.voted, 2 * settings.temperature, step.target, step.gains)
    for u in range(layer.units):
        gain = settings.rates[k].alpha * step.gains[u]
        if gain != 0 and not weights.frozen[layer.unit0 + u]:
            move(layer, k, u, gain, weights, copies, lazy, memory, step)


@inlined
def unshared(layer, pace, f, place, now, memory):
    """|S| of an output, from the running sum of ftv at its place."""
    unit, here = at(layer.feedback0 + place * layer.units + f), at(layer.place0 + place)
    slope = np.float32(pace.feedback)
    own_fade, all_fade = decayed_pair(
        np.float32(now - memory.feedback[unit]) * slope, np.float32(now - memory.spoke[here]) * slope
    )
    crowd = steps.ftv_sum(memory.crowd[here], np.float64(all_fade), np.float64(own_fade))
    memory.crowd[here], memory.feedback[unit], memory.spoke[here] = crowd, now, now
    share = 1.0 / max(layer.units - 1, 1)  # does not depend on the winner: there before it is
    return 1.0 - (crowd - 1.0) * share


@inlined
def adjust(layer, rates, f, S, dS, settings, weights, copies, step):
    """Steps of a layer's thresholds."""
    gain, compete = steps.threshold_gain(rates, S, dS), steps.competes(settings.competition, S, dS)
    if gain == 0:
        return
    rivals = np.int64(compete)  # arithmetic, not a branch: nobody can predict it
    first = (1 - rivals) * (f & -LANE)
    last = first + LANE + rivals * (layer.lanes - LANE)
    shift_thresholds(
        weights.thresholds, step.dist, copies.free, layer.unit0, first, last, f, gain, compete, settings.border,
        np.float32(-1.0 / rates.d),
    )  # fmt: skip


@inlined
def score(layer, step):
    """-dist^2 / 2 of every unit of the last layer."""
    for u in range(layer.units):
        step.score[u] = -0.5 * step.dist[layer.unit0 + u]


@bare
def move_up(layer, k, pace, now, weights, lazy, memory):
    """Move t0 of a RUNNING layer up to now: z of every live entry is v, and those that have decayed are dropped."""
    unit0, context0, still = layer.unit0, layer.context0, 0
    decay = decayed((now - lazy.t0[k]) * pace.surface)
    for n in range(lazy.lives[k]):
        e = lazy.live[context0 + n]
        amplitude = lazy.amplitude[context0 + e]
        add_scaled_row(weights.centroids, layer.update0 + e * layer.lanes, amplitude, lazy.moved, unit0, layer.lanes)
        amplitude *= decay
        lazy.is_live[context0 + e] = amplitude > FAINT
        lazy.amplitude[context0 + e] = amplitude if amplitude > FAINT else 0.0
        if amplitude > FAINT:
            lazy.live[context0 + still] = e
            still += 1
    for u in range(layer.lanes):
        memory.dots[layer.dots0 + u] *= decay
        lazy.moved[unit0 + u] = 0.0
    memory.squares[layer.block0] *= decay * decay
    lazy.t0[k], lazy.lives[k] = now, still


@bare
def rescale(layer, k, f, left, weights, copies, lazy):
    """A would soon vanish or overflow: multiply v by it instead."""
    unit, lanes, context0, update0 = layer.unit0 + f, layer.lanes, layer.context0, layer.update0
    factor = lazy.scale[unit] * left
    lazy.scale[unit] = 1.0
    if layer.way == RUNNING:
        for n in range(lazy.lives[k]):
            e = lazy.live[context0 + n]
            weights.centroids[update0 + e * lanes + f] += lazy.amplitude[context0 + e] * lazy.moved[unit]
        lazy.moved[unit] = 0.0
        fold(layer, f, factor, weights)
        return
    begin = update0 + f * layer.vectors * VECTOR
    for j in range(layer.entries):
        weights.centroids[begin + j] *= factor
        copies.v[update0 + j * lanes + f] = weights.centroids[begin + j]


@bare
def finish(now, layout, settings, state):
    """Bring all centroids up to date: afterwards v is c."""
    weights, _, lazy, memory, _ = state
    for k in range(len(layout.layers)):
        layer = layout.layers[k]
        if layer.way == RUNNING:
            move_up(layer, k, settings.pace[k], now, weights, lazy, memory)
        for u in range(layer.units):
            if layer.way == RUNNING:
                fold(layer, u, lazy.scale[layer.unit0 + u], weights)
            else:
                begin = layer.update0 + u * layer.vectors * VECTOR
                for j in range(begin, begin + layer.entries):
                    weights.centroids[j] *= lazy.scale[layer.unit0 + u]
