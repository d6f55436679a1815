"""Kernel of online learning: weights change after every event, so events go one by one. Always in float64.

- Neighbourhoods overlap (`Window`): the surface is written out with vector instructions and compared with every
  centroid.
- They do not (`Tile`, and `Full` over a small field): the surface of each block is held, decayed and compared.
- `Full` over a large field: never written out, see `engines/cpu/lazy.py`.
"""

from __future__ import annotations

from math import exp, sqrt
from typing import NamedTuple

import numpy as np

from timesurf.engines.cpu import ahead, steps
from timesurf.engines.cpu.layout import RUNNING, WRITTEN
from timesurf.engines.cpu.lazy import drift, finish, follow, follow_at_rest
from timesurf.engines.cpu.shares import delta_gains, weigh
from timesurf.engines.cpu.steps import bare, compiled, inlined
from timesurf.engines.cpu.vector import FAR, VECTOR, add_scaled, decayed, elapsed, prefetch, squared_distance
from timesurf.engines.data import Array


class Outputs(NamedTuple):
    """Output events, in order."""

    event: Array  # (events,) which event it was, or empty: not wanted
    unit: Array  # (events,) the unit of the last layer that fired
    S: Array  # (events,) its S
    evidence: Array  # (events, classes) log(share of the class + DOUBT), or no rows: not wanted

    @classmethod
    def room(cls, events: int, classes: int = 0) -> Outputs:
        """Room for so many, with evidence for so many classes; 0: without."""
        evidence = np.zeros((events if classes else 0, classes))
        return cls(np.zeros(events, np.int64), np.zeros(events, np.int64), np.zeros(events), evidence)


@compiled
def run(
    events,  # IN     Events
    base,  # IN     us: where the first recording begins on the network's clock
    gap,  # IN     us between the end of one recording and the beginning of the next
    whole,  # IN     whether these are whole recordings; else a part of one, and the memory goes on
    learn,  # IN     whether to learn from them; a new state begins where that changes
    layout,  # IN     Layout
    settings,  # IN     Settings
    state,  # INOUT  State
    counts,  # OUT    Counts
    outputs,  # OUT    Outputs; empty: not wanted
):
    """Every event of every recording through every layer, and what it teaches them: how many were output."""
    layer = layout.layers[0]
    by_block = not learn and len(layout.layers) > 1 and layer.way == WRITTEN and events.offsets[-1] >= ahead.FEWEST
    view = ahead.prepare(layer, state.weights, by_block)
    return one_by_one(events, base, gap, whole, learn, by_block, layout, settings, state, counts, outputs, view)


@bare
def one_by_one(events, base, gap, whole, learn, by_block, layout, settings, state, counts, outputs, view):
    """The same with memory for looking ahead, which is all that is allocated."""
    entry, t, offsets, label = events
    weights, lazy, memory, step = state
    layers = len(layout.layers)
    lowest = min(1, layers - 1)  # nothing learns from the S of the first of several layers
    found = 0
    at_once = max(len(view.closest), 1)
    for r in range(len(label)):
        if whole:
            memory.previous[:] = 0
        for i in range(offsets[r], offsets[r + 1]):
            now = base + t[i]
            location = np.int64(entry[i]) // layout.layers[0].polarities
            p = np.int64(entry[i]) - location * layout.layers[0].polarities
            depth, seen = 0, (i - offsets[r]) % at_once
            if by_block and seen == 0:
                look_ahead(i, min(at_once, offsets[r + 1] - i), base, events, layout, settings, state, view)
            for k in range(layers):
                layer, pace = layout.layers[k], settings.pace[k]
                if k == 0 and by_block:
                    f = view.closest[seen]
                    step.dist[layer.unit0 + f] = view.distance[seen]
                elif layer.way != RUNNING:
                    if layer.way == WRITTEN:
                        surface = write_out(layer, pace, now, location, p, layout, memory, step)
                    else:
                        surface = fade(layer, pace, now, location, p, layout, memory, step)
                    step.surface[k] = surface
                    f = compare(layer, surface, weights, step)
                elif learn:
                    f = follow(layer, k, settings, now, location, p, layout, weights, lazy, memory, step)
                else:
                    f = follow_at_rest(layer, k, settings, now, location, p, layout, weights, lazy, memory, step)
                if not step.dist[layer.unit0 + f] < weights.thresholds[layer.unit0 + f]:
                    break
                location = layout.out[layer.location0 + location]
                p = f
                step.fired[k], step.place[k] = f, location
                counts.kept[r, k] += 1
                depth += 1
                if k >= lowest:
                    step.S[k] = unshared(layer, pace, f, location, now, memory)
            if depth < layers:
                continue
            counts.votes[r, layout.voted[p]] += 1
            G = steps.sign(label[r], layout.voted[p])
            for k in range(lowest, layers):
                step.S[k] *= G
                step.dS[k] = steps.change(step.S[k], layout.layers[k].place0 + step.place[k], memory.previous)
            if len(outputs.event) > 0:
                outputs.event[found], outputs.unit[found], outputs.S[found] = i, p, step.S[layers - 1]
                if len(outputs.evidence) > 0:
                    score(layout.layers[layers - 1], step)
                    slope = 2 * settings.temperature
                    weigh(
                        step.score, step.score[p], slope, layout.voted, layout.layers[layers - 1].units, step.target,
                        found, outputs.evidence,
                    )  # fmt: skip
            found += 1
            if not learn:
                continue
            for k in range(layers):
                if not weights.learns[k]:
                    continue
                layer, rates, f = layout.layers[k], settings.rates[k], step.fired[k]
                S, dS = step.S[min(k + 1, layers - 1)], step.dS[min(k + 1, layers - 1)]
                gain = steps.centroid_gain(rates, S, dS)
                if settings.by_delta and k == layers - 1 and label[r] >= 0:
                    move_all(layer, k, f, label[r], now, layout, settings, weights, lazy, memory, step)
                elif weights.frozen[layer.unit0 + f]:
                    pass
                elif layer.way != RUNNING:
                    approach(layer, f, step.surface[k], gain, weights, step)
                else:
                    drift(layer, k, settings, f, gain, now, weights, lazy, memory)
                adjust(layer, rates, f, S, dS, settings, weights, step)
        if offsets[r + 1] > offsets[r]:
            base += t[offsets[r + 1] - 1] + gap
    if whole:
        finish(base, layout, settings, state)
    return found


@bare
def look_ahead(first, many, base, events, layout, settings, state, view):
    """The first layer on the next events: the closest units, and whether they are close enough, see `ahead.py`."""
    layer, slope, entries = layout.layers[0], settings.pace[0].surface, layout.layers[0].entries
    for b in range(many):
        location = np.int64(events.entry[first + b]) // layer.polarities
        p = np.int64(events.entry[first + b]) - location * layer.polarities
        set_entry(layer, base + events.t[first + b], location, p, layout, state.memory, view.gone, b * entries)
    ahead.look(many, layer, slope, state.weights, view)
    above = layout.layers[1]
    if above.way == RUNNING and above.entries * above.lanes > FAR:
        for b in range(many):
            location = layout.out[layer.location0 + np.int64(events.entry[first + b]) // layer.polarities]
            e = layout.own[above.location0 + location] + view.closest[b]
            prefetch(state.weights.centroids, above.update0 + e * above.scales * above.lanes)
            prefetch(state.memory.context, above.context0 + e)


@inlined
def set_entry(layer, now, location, p, layout, memory, gone, to):
    """Write the event in, and out to `gone` how long ago each entry of its neighbourhood was set."""
    row, at, run0, context0 = layer.row, layer.location0, layer.run0, layer.context0
    memory.context[context0 + layout.own[at + location] + p] = now
    begin = context0 + layout.start[at + location]
    for q in range(layer.rows):  # whole vectors: what runs over is written over by what follows
        for j in range(0, row, VECTOR):
            elapsed(memory.context, begin + layout.runs[run0 + q] + j, now, gone, to + q * row + j)


@inlined
def write_out(layer, pace, now, location, p, layout, memory, step):
    """Write the event in and its surface out: where that begins."""
    padded, slope, surface = layer.vectors * VECTOR, pace.surface, layer.surface0
    set_entry(layer, now, location, p, layout, memory, step.ts, surface)
    for j0 in range(surface, surface + padded, VECTOR):
        part = step.ts[j0 : j0 + VECTOR]
        for j in range(VECTOR):
            part[j] = decayed(part[j] * slope)
    step.ts[surface + layer.entries : surface + padded] = 0
    return surface


@inlined
def fade(layer, pace, now, location, p, layout, memory, step):
    """Decay the surface of the event's block and set its own entry: where the surface begins."""
    block, at = layout.block[layer.location0 + location], layer.block0
    padded = layer.vectors * VECTOR
    surface = layer.surface0 + block * padded
    decay = exp((now - memory.since[at + block]) * pace.surface)
    memory.since[at + block] = now
    for j0 in range(surface, surface + padded, VECTOR):
        part = step.ts[j0 : j0 + VECTOR]
        for j in range(VECTOR):
            faded = part[j] * decay
            part[j] = faded if faded > 1e-18 else 0.0
    step.ts[surface + layout.own[layer.location0 + location] - block * layer.entries + p] = 1.0
    return surface


@inlined
def compare(layer, surface, weights, step):
    """Distances of all units from a surface: the closest."""
    unit0, update0, vectors = layer.unit0, layer.update0, layer.vectors
    f, closest = 0, np.inf
    for u in range(layer.units):
        apart = squared_distance(step.ts, surface, weights.centroids, update0 + u * vectors * VECTOR, vectors)
        step.dist[unit0 + u] = sqrt(apart)
        if apart < closest:
            f, closest = u, apart
    return f


@inlined
def approach(layer, f, surface, gain, weights, step):
    """C += gain (ts - c), where there is a surface."""
    vectors = layer.vectors
    begin = layer.update0 + f * vectors * VECTOR
    add_scaled(weights.centroids, begin, -gain, weights.centroids, begin, vectors)
    add_scaled(weights.centroids, begin, gain, step.ts, surface, vectors)


@inlined
def move_all(layer, k, f, label, now, layout, settings, weights, lazy, memory, step):
    """C += alpha (r - q) (ts - c) of every unit of the last layer: the delta rule."""
    score(layer, step)
    delta_gains(step.score, 0, step.score[f], label, layout.voted, 2 * settings.temperature, step.target, step.gains)
    for u in range(layer.units):
        gain = settings.rates[k].alpha * step.gains[u]
        if gain == 0 or weights.frozen[layer.unit0 + u]:
            continue
        if layer.way != RUNNING:
            approach(layer, u, step.surface[k], gain, weights, step)
        else:
            drift(layer, k, settings, u, gain, now, weights, lazy, memory)


@inlined
def score(layer, step):
    """-dist^2 / 2 of every unit of the last layer."""
    for u in range(layer.units):
        step.score[u] = -0.5 * step.dist[layer.unit0 + u] ** 2


@inlined
def unshared(layer, pace, f, place, now, memory):
    """|S| of an output, from the running sum of ftv at its place."""
    unit, here = layer.feedback0 + place * layer.units + f, layer.place0 + place
    own_fade = decayed((now - memory.feedback[unit]) * pace.feedback)
    all_fade = decayed((now - memory.spoke[here]) * pace.feedback)
    memory.crowd[here] = steps.ftv_sum(memory.crowd[here], all_fade, own_fade)
    memory.feedback[unit] = now
    memory.spoke[here] = now
    return steps.separability(memory.crowd[here] - 1.0, layer.units)


@inlined
def adjust(layer, rates, f, S, dS, settings, weights, step):
    """Steps of a layer's thresholds."""
    unit0, width = layer.unit0, -1.0 / rates.d
    gain = steps.threshold_gain(rates, S, dS)
    if gain == 0:
        return
    compete = steps.competes(settings.competition, S, dS)
    for u in range(unit0, unit0 + layer.units):
        th = weights.thresholds[u]
        if th == np.inf or weights.frozen[u]:  # none to move; the unit may still push back others
            continue
        if u == unit0 + f or (compete and step.dist[u] < th):
            by = gain * decayed(steps.exponent(th, step.dist[u], settings.border, width))
            weights.thresholds[u] = max(th + (by if u == unit0 + f else -by), 0.0)
