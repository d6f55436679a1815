"""Kernels for frozen weights: inference, and the events' way to the batch rule (`engines/cpu/batch_rule.py`).

While weights do not change a layer is feed-forward: what it decides changes nothing that it sees later. So events go
through it in blocks.

- Neighbourhoods overlap (`Window`): the surfaces of a block are written out, and one matrix product gives their
  distances to all units.
- They do not (`Tile`, `Full`): nothing is written out. A whole neighbourhood only decays and gains one new entry per
  event, so its dot product with each centroid is updated: dot = dot exp(-dt/tau) + (1 - v) c[e], where v is what the
  event's entry e had decayed to. This costs O(units) per event, however large the field.

A layer with several time constants has a dot product for each of them, see `engines/cpu/scales.py`.

Times grow from recording to recording by more than anything takes to decay, so contexts are never cleared.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from timesurf.engines.cpu import steps
from timesurf.engines.cpu.batch_rule import limit, look_back, teach, teach_all
from timesurf.engines.cpu.layout import RUNNING, WRITTEN
from timesurf.engines.cpu.scales import look_back_at_scales, running_at_scales
from timesurf.engines.cpu.shares import add_evidence
from timesurf.engines.cpu.steps import compiled, largest
from timesurf.engines.cpu.vector import FAR, LANE, VECTOR, copy_lane, decayed, elapsed, prefetch
from timesurf.engines.data import Array


class Weights(NamedTuple):
    """Parameters of all layers."""

    centroids: Array
    halves: Array  # ||c||^2 / 2 of every unit; large in lanes without a unit, so that they are close to nothing
    thresholds: Array  # of every unit
    free: Array  # 1 for every unit that may change, 0 for the frozen
    limited: Array  # (layers,) whether any threshold is finite
    learns: Array  # (layers,) whether any unit may change


class Block(NamedTuple):
    """A block of events on its way through the layers. Rows are layers; what reaches layer k comes first in row k."""

    location: Array  # (layers + 1, events) where each event arrives; the last row: output of the network
    polarity: Array
    time: Array
    source: Array  # which event of the layer below it was
    winner: Array  # (layers, events) closest unit
    distance: Array  # to that unit
    square: Array  # ||ts||^2
    fade: Array  # two decays
    own_fade: Array
    fades: Array  # (2 x time constants, events) the two decays of a layer with several
    S: Array  # of the block's output events
    dS: Array
    chain: Array  # which of a layer's inputs became each output event
    surfaces: Array
    scores: Array  # ts c - ||c||^2 / 2: largest for the closest unit
    share: Array  # (lanes of the last layer,) of an event in its units


class Log(NamedTuple):
    """What RUNNING layers note of a recording, for the way back. Rows are layers."""

    entry: Array  # (layers, longest recording; of a block where nothing learns) the entry that each event sets
    block: Array  # in which block
    time: Array
    winner: Array
    fresh: Array  # 1 - v; of layers with several time constants, the time since the entry was last set
    gain: Array  # 0 where the event taught nothing
    later: Array  # R of every block and unit, as `Layer.dots0`
    gains: Array  # (longest recording, lanes) of all units of a last layer that learns by the delta rule


@compiled
def run(
    events,  # IN     Events of all recordings
    chosen,  # IN     which recordings to run, in this order
    layout,  # IN     Layout
    gap,  # IN     us between the end of one recording and the beginning of the next
    settings,  # IN     Settings
    learn,  # IN     whether to sum updates
    weights,  # IN     Weights
    clock,  # INOUT  (1,) where the next recording begins
    memory,  # INOUT  Memory
    block,  # WORK   Block
    log,  # WORK   Log
    sums,  # INOUT  Sums; empty unless learning
    counts,  # OUT    Counts
    evidence,  # OUT    Evidence
    trace,  # OUT    Trace; empty: not wanted
):
    """Some recordings, one after another, block by block."""
    t, offsets = events.t, events.offsets
    layers = len(layout.layers)
    at_once = block.time.shape[1]
    tracing = len(trace.winner) > 0
    logged = np.zeros(layers, dtype=np.int64)  # events of this recording that reached each layer, blocks before this
    number = np.zeros(layers + 1, dtype=np.int64)  # events of this block that reach each layer
    learns = np.zeros(layers, dtype=np.bool_)
    for k in range(layers):
        learns[k] = learn and weights.learns[k] and not steps.at_rest(settings.rates[k])
    for r in chosen:
        first, last = offsets[r], offsets[r + 1]
        if last == first:
            continue
        length = t[last - 1] - t[first]
        if clock[0] > np.iinfo(memory.context.dtype).max // 2 - length - gap:
            clear(memory, clock)
        base = clock[0] - t[first]
        clock[0] += length + gap
        memory.previous[:] = 0
        logged[:] = 0
        label = events.label[r]
        by_delta = settings.by_delta and label >= 0
        lowest = 0 if tracing else lowest_judged(learns, by_delta, weights)
        for begin in range(first, last, at_once):
            number[:] = 0
            number[0] = min(at_once, last - begin)
            admit(begin, number[0], base, events, layout, block)
            for k in range(layers):
                n = number[k]
                if n == 0:
                    break
                if layout.layers[k].way == WRITTEN:
                    written(k, n, tracing or weights.limited[k], layout, settings, weights, memory, block)
                elif layout.layers[k].scales == 1:
                    running(k, n, logged[k], layout, settings, weights, memory, block, log)
                else:
                    running_at_scales(k, n, logged[k], layout, settings, weights, memory, block, log)
                number[k + 1] = select(k, n, layout, weights, block)
                counts.kept[r, k] += number[k + 1]
            for i in range(number[layers]):
                counts.votes[r, layout.voted[block.polarity[layers, i]]] += 1
            if len(evidence.total) > 0:
                weigh(number[layers], evidence.temperature, layout, block, evidence.total[r])
            if tracing:
                write_trace(begin, number, block, trace)
            if learn or tracing:
                for k in range(lowest, layers):
                    separate(k, number[k + 1], layout, settings, memory, block)
                judge(number[layers], label, lowest, layout, memory, block)
                if tracing:
                    for o in range(number[layers]):
                        trace.S[begin + block.chain[0, o]] = block.S[:, o]
            for k in range(layers):
                if learns[k]:
                    if by_delta and k == layers - 1:
                        teach_all(k, number[layers], label, logged[k], layout, settings, weights, block, log, sums)
                    else:
                        teach(k, number[layers], logged[k], layout, settings, weights, block, log, sums)
                    limit(k, number[layers], layout, settings, weights, block, sums)
            if learn:  # else every block is noted in the same place, which nothing reads
                for k in range(layers):
                    logged[k] += number[k]
        for k in range(layers):
            if not learns[k] or layout.layers[k].way != RUNNING:
                continue
            if layout.layers[k].scales == 1:
                look_back(k, logged[k], by_delta and k == layers - 1, layout, settings, memory, log, sums)
            else:
                look_back_at_scales(k, logged[k], by_delta and k == layers - 1, layout, settings, memory, log, sums)


@compiled
def lowest_judged(learns, by_delta, weights):
    """The lowest layer whose S anything learns from; by the delta rule the last layer moves only thresholds by S."""
    layers = len(learns)
    for k in range(layers - 1):
        if learns[k]:
            return k + 1
    return layers if by_delta and not weights.limited[layers - 1] else layers - 1


@compiled
def clear(memory, clock):
    """Forget everything, so that the clock can start again."""
    never = -(np.iinfo(memory.context.dtype).max // 2)
    memory.context[:] = never
    memory.since[:] = never
    memory.feedback[:] = never
    memory.spoke[:] = never
    clock[0] = 0


@compiled
def admit(begin, n, base, events, layout, block):
    """A block of events to the first layer."""
    polarities = layout.layers[0].polarities
    for i in range(n):
        e = events.entry[begin + i]
        block.location[0, i] = e // polarities
        block.polarity[0, i] = e % polarities
        block.time[0, i] = events.t[begin + i] + base
        block.source[0, i] = i


@compiled
def written(k, n, limited, layout, settings, weights, memory, block):
    """A block through a WRITTEN layer: closest unit and, where it is needed, distance."""
    layer, own, start, runs = layout.layers[k], layout.own, layout.start, layout.runs
    context, surfaces = memory.context, block.surfaces
    F = surfaces.dtype.type
    units, lanes, entries = layer.units, layer.lanes, layer.entries
    rows, row, at = layer.rows, layer.row, layer.location0
    apart, square, closest = block.distance[k], block.square[k], block.winner[k]
    locations, polarities, times = block.location[k], block.polarity[k], block.time[k]
    run0, context0, unit0, surface0 = layer.run0, layer.context0, layer.unit0, layer.surface0
    slope = settings.pace[k].surface
    for i in range(n):
        location, now = locations[i], times[i]
        context[context0 + own[at + location] + polarities[i]] = now
        begin = context0 + start[at + location]
        to = surface0 + i * entries
        for q in range(rows):  # whole vectors: what runs over is written over by what follows
            for j in range(0, row, VECTOR):
                elapsed(context, begin + runs[run0 + q] + j, now, surfaces, to + q * row + j)
    surface = surfaces[surface0 : surface0 + n * entries]
    for j in range(n * entries):
        surface[j] = decayed(surface[j] * slope)
    c = weights.centroids[layer.centroid0 : layer.centroid0 + entries * lanes].reshape(entries, lanes)
    dots = block.scores[layer.score0 : layer.score0 + n * lanes]
    np.dot(surface.reshape(n, entries), c, dots.reshape(n, lanes))
    half = weights.halves[unit0 : unit0 + lanes]
    for i in range(n):
        score = dots[i * lanes : (i + 1) * lanes]
        for u in range(lanes):
            score[u] -= half[u]
        f, best = largest(score, units)
        closest[i] = f
        apart[i] = F(0)
        if limited:
            ts = surface[i * entries : (i + 1) * entries]
            total = F(0)
            for j in range(entries):
                total += ts[j] * ts[j]
            square[i] = total
            apart[i] = sqrt(max(total - F(2) * best, F(0)))


@compiled
def running(k, n, logged, layout, settings, weights, memory, block, log):
    """A block through a RUNNING layer: dot products follow each event."""
    layer, context, since, scores = layout.layers[k], memory.context, memory.since, block.scores
    centroids, state, norm = weights.centroids, memory.dots, memory.squares
    F = scores.dtype.type
    units, lanes, entries = layer.units, layer.lanes, layer.entries
    at, context0, unit0 = layer.location0, layer.context0, layer.unit0
    dots0, block0, score0, centroid0 = layer.dots0, layer.block0, layer.score0, layer.centroid0
    slope = settings.pace[k].surface
    locations, polarities, times, closest = block.location[k], block.polarity[k], block.time[k], block.winner[k]
    apart, squares, fade, own_fade = block.distance[k], block.square[k], block.fade[k], block.own_fade[k]
    e, blocks = log.entry[k, logged : logged + n], log.block[k, logged : logged + n]
    seen, fired = log.time[k, logged : logged + n], log.winner[k, logged : logged + n]
    fresh, gains = log.fresh[k, logged : logged + n], log.gain[k, logged : logged + n]
    # Short loops, each with one array that may lie far apart in memory: what they ask for then arrives together.
    for i in range(n):
        blocks[i] = layout.block[at + locations[i]]
        e[i] = layout.own[at + locations[i]] + polarities[i] - blocks[i] * entries
        if entries * lanes > FAR:
            prefetch(centroids, centroid0 + e[i] * lanes)
            prefetch(context, context0 + blocks[i] * entries + e[i])
    for i in range(n):
        place = context0 + blocks[i] * entries + e[i]
        own_fade[i] = F(times[i] - context[place])
        context[place] = times[i]
    for i in range(n):
        for u in range(0, lanes, LANE):
            copy_lane(scores, score0 + i * lanes + u, centroids, centroid0 + e[i] * lanes + u)
    for i in range(n):
        fade[i] = F(times[i] - since[block0 + blocks[i]])
        since[block0 + blocks[i]] = times[i]
        seen[i] = times[i]
    for i in range(n):
        fade[i] = decayed(fade[i] * slope)
        own_fade[i] = decayed(own_fade[i] * slope)
        fresh[i] = F(1) - own_fade[i]
        gains[i] = F(0)
    half = weights.halves[unit0 : unit0 + lanes]
    for i in range(n):
        here = blocks[i]
        dots = state[dots0 + here * lanes : dots0 + (here + 1) * lanes]
        score = scores[score0 + i * lanes : score0 + (i + 1) * lanes]  # as yet the entry's row of centroids
        decay, gain = fade[i], F(1) - own_fade[i]
        for u in range(lanes):
            dots[u] = dots[u] * decay + gain * score[u]
            score[u] = dots[u] - half[u]
        square = norm[block0 + here] * decay * decay + (F(1) - own_fade[i] * own_fade[i])
        norm[block0 + here] = square
        f, best = largest(score, units)
        closest[i] = f
        fired[i] = f
        squares[i] = square
        apart[i] = sqrt(max(square - F(2) * best, F(0)))


@compiled
def select(k, n, layout, weights, block):
    """Pass on what is accepted: returns how many events reach the next layer."""
    at, unit0 = layout.layers[k].location0, layout.layers[k].unit0
    m = 0
    for i in range(n):
        f = block.winner[k, i]
        if block.distance[k, i] < weights.thresholds[unit0 + f]:
            block.location[k + 1, m] = layout.out[at + block.location[k, i]]
            block.polarity[k + 1, m] = f
            block.time[k + 1, m] = block.time[k, i]
            block.source[k + 1, m] = i
            m += 1
    return m


@compiled
def write_trace(begin, number, block, trace):
    """Note what happened to each event of a block."""
    origin = np.arange(number[0])
    for k in range(trace.winner.shape[1]):
        for i in range(number[k]):
            event = begin + origin[i]
            trace.winner[event, k] = block.winner[k, i]
            trace.distance[event, k] = block.distance[k, i]
        for i in range(number[k + 1]):  # sources come in order, so none is overwritten before it is read
            origin[i] = origin[block.source[k + 1, i]]
            trace.passed[begin + origin[i]] = k + 1


@compiled
def separate(k, m, layout, settings, memory, block):
    """|S| of every output of layer k in a block, from the running sum of ftv at its place."""
    layer, feedback, spoke, crowd = layout.layers[k], memory.feedback, memory.spoke, memory.crowd
    fade, own_fade, S = block.fade[k], block.own_fade[k], block.S[k]
    F = fade.dtype.type
    units, feedback0, place0 = layer.units, layer.feedback0, layer.place0
    places, fired, times = block.location[k + 1], block.polarity[k + 1], block.time[k + 1]
    for o in range(m):
        unit = feedback0 + places[o] * units + fired[o]
        own_fade[o] = F(times[o] - feedback[unit])
        fade[o] = F(times[o] - spoke[place0 + places[o]])
        feedback[unit] = times[o]
        spoke[place0 + places[o]] = times[o]
    slope = settings.pace[k].feedback
    for o in range(m):
        fade[o] = decayed(fade[o] * slope)
        own_fade[o] = decayed(own_fade[o] * slope)
    for o in range(m):
        total = steps.ftv_sum(crowd[place0 + places[o]], fade[o], own_fade[o])
        crowd[place0 + places[o]] = total
        S[o] = steps.separability(total - 1.0, units)


@compiled
def judge(m, label, lowest, layout, memory, block):
    """S and dS of every output event of a block, in every layer that it went through."""
    chain, previous = block.chain, memory.previous
    layers = len(chain)
    for o in range(m):
        chain[layers - 1, o] = block.source[layers, o]
    for k in range(layers - 1, 0, -1):
        for o in range(m):
            chain[k - 1, o] = block.source[k, chain[k, o]]
    last = block.polarity[layers]
    for k in range(lowest, layers):
        S, dS, place0, places = block.S[k], block.dS[k], layout.layers[k].place0, block.location[k + 1]
        for o in range(m):  # the layer's own output number: at or above o, so nothing is overwritten before it is read
            out = chain[k + 1, o] if k < layers - 1 else o
            S[o] = steps.sign(label, layout.voted[last[o]]) * S[out]
            dS[o] = steps.change(S[o], place0 + places[out], previous)


@compiled
def weigh(m, temperature, layout, block, evidence):
    """Add the evidence of a block's output events."""
    last = len(layout.layers) - 1
    scores, fired, source = block.scores, block.winner[last], block.source[last + 1]
    slope = scores.dtype.type(2 * temperature)
    add_evidence(m, layout.layers[last], layout, scores, fired, source, slope, block.share, evidence)
