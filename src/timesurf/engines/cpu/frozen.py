"""Kernels for frozen weights: inference, and the batch rule, which sums updates and applies them later.

While weights stand still a layer is feed-forward: what it decides changes nothing that it sees later. So events go
through it in blocks.

- `Window`: the surfaces of a block are written out, and one matrix product gives their distances to all units.
- `Tile`, `Full`: nothing is written out. A whole neighbourhood only decays and gains one new entry an event, so its dot
  product with each centroid is kept running: dot = dot exp(-dt/tau) + (1 - v) c[e], where v is what the event's entry e
  had decayed to. The sum of g ts over a recording, for the update, runs likewise, backwards in time: with
  R(t) = sum of g exp(-(t' - t)/tau) over later outputs t', entry e gains (1 - v) R at each event that sets it.
  Both cost O(units) an event, however large the field.

Times grow from recording to recording by more than anything takes to fade, so contexts are never cleared.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from timesurf.engines.cpu.layout import (
    BLOCK,
    BLOCKS,
    CENTROID,
    CONTEXT,
    ENTRIES,
    FEEDBACK,
    HOW,
    LANES,
    LOCATION,
    PLACE,
    POLARITIES,
    ROW,
    ROWS,
    RUN,
    RUNNING,
    SCORE,
    STATE,
    SURFACE,
    UNIT,
    UNITS,
    UPDATE,
    WRITTEN,
)
from timesurf.engines.cpu.vector import FASTMATH, LANE, VECTOR, add_scaled, copy_lane, decayed, elapsed, prefetch
from timesurf.rule import SLACK
from timesurf.storage.kernels import njit

FAR = 1 << 18  # centroids of a layer that no longer fit in a core's own cache

compiled = njit(cache=True, nogil=True, fastmath=FASTMATH, error_model="numpy", boundscheck=False)


@compiled
def run(
    entry,  # IN     (events of all recordings,) place of each event in the flat input field
    t,  # IN     (events,) us, since the recording's first event
    offsets,  # IN     (recordings + 1,)
    label,  # IN     (recordings,) index of the class, -1 if unknown
    chosen,  # IN     which recordings to run, in this order
    table,  # IN     see engines/cpu/layout.py
    own,  # IN
    start,  # IN
    runs,  # IN
    out,  # IN
    gap,  # IN     us between one recording's end and the next one's beginning
    pace,  # IN     (layers, 2) -1/tau, -1/feedback_tau
    rates,  # IN     (layers, 5) alpha, beta, gamma, delta, d
    border,  # IN     which kernel of the thresholds
    competition,  # IN
    learn,  # IN     whether to sum updates
    centroids,  # IN     all layers'
    halves,  # IN     ||c||^2 / 2 of every unit
    thresholds,  # IN     every unit's
    free,  # IN     1 for every unit that may change, 0 for the frozen
    limited,  # IN     (layers,) whether any threshold is finite
    clock,  # INOUT  (1,) where the next recording begins
    context,  # INOUT  last time of every input
    state,  # INOUT  running dot products
    norm,  # INOUT  running ||ts||^2 of every block
    since,  # INOUT  when those were last brought up to date
    feedback,  # INOUT  last time of every output
    spoke,  # INOUT  last time of any output at each place
    crowd,  # INOUT  running sum of ftv at each place
    previous,  # WORK   S of the previous output at each place
    surfaces,  # WORK
    scores,  # WORK
    arriving,  # WORK   (5, layers + 1, EVENTS) ints: location, polarity, time, source, winner
    figures,  # WORK   (4, layers, EVENTS) floats: distance, ||ts||^2, two decays
    signals,  # WORK   (2, layers, EVENTS) S and dS of the block's output events
    chain,  # WORK   (layers, EVENTS) which of a layer's inputs became each output event
    logs,  # WORK   (4, layers, longest recording) ints: entry, block, time, winner
    weights,  # WORK   (2, layers, longest recording) floats: 1 - v, gain
    later,  # WORK   R of every block and unit
    d_centroids,  # INOUT  sum of g ts of every unit
    d_gains,  # INOUT  sum of g of every unit
    d_thresholds,  # INOUT  sum of updates
    kept,  # OUT    (recordings, layers)
    votes,  # OUT    (recordings, classes)
    winner,  # OUT    (events, layers), or empty: no trace
    distance,  # OUT    (events, layers), or empty
    separability,  # OUT    (events, layers), or empty
    passed,  # OUT    (events,), or empty
):
    """Some recordings, one after another, block by block."""
    layers = len(table) - 1
    at_once = arriving.shape[2]
    trace = len(winner) > 0
    logged = np.zeros(layers, dtype=np.int64)  # events of this recording that reached each layer, blocks before this
    number = np.zeros(layers + 1, dtype=np.int64)  # events of this block that reach each layer
    lowest = 0 if trace else min(1, layers - 1)  # nothing learns from the S of the first of several layers
    for r in chosen:
        first, last = offsets[r], offsets[r + 1]
        if last == first:
            continue
        length = t[last - 1] - t[first]
        if clock[0] > np.iinfo(context.dtype).max // 2 - length - gap:
            clear(context, since, feedback, spoke, clock)
        base = clock[0] - t[first]
        clock[0] += length + gap
        previous[:] = 0
        logged[:] = 0
        for begin in range(first, last, at_once):
            number[:] = 0
            number[0] = min(at_once, last - begin)
            for i in range(number[0]):
                e = entry[begin + i]
                arriving[0, 0, i] = e // table[0, POLARITIES]
                arriving[1, 0, i] = e % table[0, POLARITIES]
                arriving[2, 0, i] = t[begin + i] + base
                arriving[3, 0, i] = i
            for k in range(layers):
                n = number[k]
                if n == 0:
                    break
                if table[k, HOW] == WRITTEN:
                    dense(k, n, table, own, start, runs, pace, centroids, halves, trace or limited[k],
                          context, surfaces, scores, arriving, figures)  # fmt: skip
                else:
                    running(k, n, logged[k], table, own, out, pace, centroids, halves, context, state, norm, since,
                            scores, arriving, figures, logs, weights)  # fmt: skip
                number[k + 1] = select(k, n, table, out, thresholds, arriving, figures)
                kept[r, k] += number[k + 1]
            for i in range(number[layers]):
                votes[r, arriving[1, layers, i]] += 1
            if trace:
                write_trace(begin, number, arriving, figures, winner, distance, passed)
            if learn or trace:
                for k in range(lowest, layers):
                    separate(k, number[k + 1], table, pace, feedback, spoke, crowd, arriving, figures, signals)
                judge(number[layers], label[r], lowest, table, previous, arriving, signals, chain)
                if trace:
                    for o in range(number[layers]):
                        separability[begin + chain[0, o]] = signals[0, :, o]
            if learn:
                for k in range(layers):
                    teach(k, number[layers], logged[k], signals[0, min(k + 1, layers - 1)],
                          signals[1, min(k + 1, layers - 1)], chain[k], table, rates, border, competition,
                          thresholds, free, surfaces, scores, arriving, figures, weights,
                          d_centroids, d_gains, d_thresholds)  # fmt: skip
            for k in range(layers):
                logged[k] += number[k]
        if learn:
            for k in range(layers):
                if table[k, HOW] == RUNNING:
                    look_back(k, logged[k], table, pace, logs, weights, later, since, d_centroids)


@compiled
def clear(context, since, feedback, spoke, clock):
    """Forget everything, so that the clock can begin anew."""
    never = -(np.iinfo(context.dtype).max // 2)
    context[:] = never
    since[:] = never
    feedback[:] = never
    spoke[:] = never
    clock[0] = 0


@compiled
def dense(k, n, table, own, start, runs, pace, centroids, halves, limited, context, surfaces, scores,
          arriving, figures):  # fmt: skip
    """A block through a Window layer: closest unit and, where it is needed, distance."""
    F = surfaces.dtype.type
    units, lanes, entries = table[k, UNITS], table[k, LANES], table[k, ENTRIES]
    rows, row, at = table[k, ROWS], table[k, ROW], table[k, LOCATION]
    apart, square, closest = figures[0, k], figures[1, k], arriving[4, k]
    run0, context0, unit0 = table[k, RUN], table[k, CONTEXT], table[k, UNIT]
    surface0 = table[k, SURFACE]
    slope = pace[k, 0]
    for i in range(n):
        location, now = arriving[0, k, i], arriving[2, k, i]
        context[context0 + own[at + location] + arriving[1, k, i]] = now
        begin = context0 + start[at + location]
        to = surface0 + i * entries
        for q in range(rows):  # whole vectors: what runs over is written over by what follows
            for j in range(0, row, VECTOR):
                elapsed(context, begin + runs[run0 + q] + j, now, surfaces, to + q * row + j)
    block = surfaces[surface0 : surface0 + n * entries]
    for j in range(n * entries):
        block[j] = decayed(block[j] * slope)
    c = centroids[table[k, CENTROID] : table[k, CENTROID] + entries * lanes].reshape(entries, lanes)
    dots = scores[table[k, SCORE] : table[k, SCORE] + n * lanes]
    np.dot(block.reshape(n, entries), c, dots.reshape(n, lanes))
    half = halves[unit0 : unit0 + lanes]
    for i in range(n):
        score = dots[i * lanes : (i + 1) * lanes]
        for u in range(lanes):
            score[u] -= half[u]
        f, best = largest(score, units)
        closest[i] = f
        apart[i] = F(0)
        if limited:
            ts = block[i * entries : (i + 1) * entries]
            total = F(0)
            for j in range(entries):
                total += ts[j] * ts[j]
            square[i] = total
            apart[i] = sqrt(max(total - F(2) * best, F(0)))


@compiled
def running(k, n, logged, table, own, out, pace, centroids, halves, context, state, norm, since, scores, arriving,
            figures, logs, weights):  # fmt: skip
    """A block through a Tile or Full layer: dot products follow each event."""
    F = scores.dtype.type
    units, lanes, entries = table[k, UNITS], table[k, LANES], table[k, ENTRIES]
    at, context0, unit0 = table[k, LOCATION], table[k, CONTEXT], table[k, UNIT]
    state0, block0, score0, centroid0 = table[k, STATE], table[k, BLOCK], table[k, SCORE], table[k, CENTROID]
    slope = pace[k, 0]
    locations, polarities, times, closest = arriving[0, k], arriving[1, k], arriving[2, k], arriving[4, k]
    apart, squares, fade, own_fade = figures[0, k], figures[1, k], figures[2, k], figures[3, k]
    e, blocks = logs[0, k, logged : logged + n], logs[1, k, logged : logged + n]
    # Short loops, each with one array that may lie far apart in memory: what they ask for then arrives together.
    for i in range(n):
        blocks[i] = out[at + locations[i]]  # a Tile emits from the index of its block
        e[i] = own[at + locations[i]] + polarities[i] - blocks[i] * entries
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
        logs[2, k, logged + i] = times[i]
    for i in range(n):
        fade[i] = decayed(fade[i] * slope)
        own_fade[i] = decayed(own_fade[i] * slope)
        weights[0, k, logged + i] = F(1) - own_fade[i]
        weights[1, k, logged + i] = F(0)
    half = halves[unit0 : unit0 + lanes]
    for i in range(n):
        block = blocks[i]
        dots = state[state0 + block * lanes : state0 + (block + 1) * lanes]
        score = scores[score0 + i * lanes : score0 + (i + 1) * lanes]  # as yet the entry's row of centroids
        decay, gain = fade[i], F(1) - own_fade[i]
        for u in range(lanes):
            dots[u] = dots[u] * decay + gain * score[u]
            score[u] = dots[u] - half[u]
        square = norm[block0 + block] * decay * decay + (F(1) - own_fade[i] * own_fade[i])
        norm[block0 + block] = square
        f, best = largest(score, units)
        closest[i] = f
        logs[3, k, logged + i] = f
        squares[i] = square
        apart[i] = sqrt(max(square - F(2) * best, F(0)))


@compiled
def largest(score, units):
    """The unit with the largest score, the lowest of equals; without a branch, which could not be foreseen."""
    f, best = 0, score[0]
    for u in range(1, units):
        more = score[u] > best
        f = u if more else f
        best = score[u] if more else best
    return f, best


@compiled
def select(k, n, table, out, thresholds, arriving, figures):
    """Hand on what passes: returns how many events reach the next layer."""
    at, unit0 = table[k, LOCATION], table[k, UNIT]
    m = 0
    for i in range(n):
        f = arriving[4, k, i]
        if figures[0, k, i] < thresholds[unit0 + f]:
            arriving[0, k + 1, m] = out[at + arriving[0, k, i]]
            arriving[1, k + 1, m] = f
            arriving[2, k + 1, m] = arriving[2, k, i]
            arriving[3, k + 1, m] = i
            m += 1
    return m


@compiled
def write_trace(begin, number, arriving, figures, winner, distance, passed):
    """Note what became of each event of a block."""
    layers = winner.shape[1]
    origin = np.arange(number[0])
    for k in range(layers):
        for i in range(number[k]):
            event = begin + origin[i]
            winner[event, k] = arriving[4, k, i]
            distance[event, k] = figures[0, k, i]
        for i in range(number[k + 1]):  # sources come in order, so none is overwritten before it is read
            origin[i] = origin[arriving[3, k + 1, i]]
            passed[begin + origin[i]] = k + 1


@compiled
def separate(k, m, table, pace, feedback, spoke, crowd, arriving, figures, signals):
    """|S| of every output of layer k in a block: 1 - mean of the other units' ftv, their sum kept running."""
    F = figures.dtype.type
    units, feedback0, place0 = table[k, UNITS], table[k, FEEDBACK], table[k, PLACE]
    fade, own_fade = figures[2, k], figures[3, k]
    places, fired, times = arriving[0, k + 1], arriving[1, k + 1], arriving[2, k + 1]
    for o in range(m):
        unit = feedback0 + places[o] * units + fired[o]
        own_fade[o] = F(times[o] - feedback[unit])
        fade[o] = F(times[o] - spoke[place0 + places[o]])
        feedback[unit] = times[o]
        spoke[place0 + places[o]] = times[o]
    slope = pace[k, 1]
    for o in range(m):
        fade[o] = decayed(fade[o] * slope)
        own_fade[o] = decayed(own_fade[o] * slope)
    for o in range(m):
        total = crowd[place0 + places[o]] * fade[o] + (1.0 - own_fade[o])
        crowd[place0 + places[o]] = total
        signals[0, k, o] = 1.0 - (total - 1.0) / max(units - 1, 1)


@compiled
def judge(m, label, lowest, table, previous, arriving, signals, chain):
    """S and dS of every output event of a block, in every layer that it went through."""
    layers = len(chain)
    for o in range(m):
        chain[layers - 1, o] = arriving[3, layers, o]
    for k in range(layers - 1, 0, -1):
        for o in range(m):
            chain[k - 1, o] = arriving[3, k, chain[k, o]]
    last = arriving[1, layers]
    for k in range(lowest, layers):
        S, dS, place0 = signals[0, k], signals[1, k], table[k, PLACE]
        for o in range(m):  # the layer's own output number: at or above o, so nothing is overwritten before it is read
            out = chain[k + 1, o] if k < layers - 1 else o
            right = label == last[o] or label == -1
            S[o] = S[out] if right else -S[out]
            place = place0 + arriving[0, k + 1, out]
            dS[o] = S[o] - previous[place]
            previous[place] = S[o]


@compiled
def teach(k, m, logged, S, dS, chain, table, rates, border, competition, thresholds, free, surfaces, scores,
          arriving, figures, weights, d_centroids, d_gains, d_thresholds):  # fmt: skip
    """Add what the output events of a block teach layer k to the sums."""
    F = surfaces.dtype.type
    alpha, beta, gamma, delta = rates[k, 0], rates[k, 1], rates[k, 2], rates[k, 3]
    entries, lanes, unit0 = table[k, ENTRIES], table[k, LANES], table[k, UNIT]
    fired = arriving[4, k]
    vectors = -(-entries // VECTOR)
    for o in range(m):
        i = chain[o]
        f = fired[i]
        gain = F(alpha * dS[o] + beta * S[o]) * free[unit0 + f]
        d_gains[unit0 + f] += gain
        if table[k, HOW] == WRITTEN:
            ts, d = table[k, SURFACE] + i * entries, table[k, UPDATE] + f * vectors * VECTOR
            add_scaled(d_centroids, d, gain, surfaces, ts, vectors)
        else:
            weights[1, k, logged + i] = gain
    if gamma == 0 and delta == 0:
        return
    apart, squares = figures[0, k], figures[1, k]
    width = F(-1 / rates[k, 4])
    th, d_th, may = thresholds[unit0:][:lanes], d_thresholds[unit0:][:lanes], free[unit0:][:lanes]
    for o in range(m):
        i = chain[o]
        f = fired[i]
        gain = F(gamma * dS[o] + delta * S[o])
        if gain == 0 or th[f] == np.inf:
            continue
        own = d_th[f] + gain * may[f] * decayed((th[f] - apart[i] if border else apart[i]) * width)
        if competition and S[o] >= -SLACK and dS[o] >= -SLACK:
            begin = table[k, SCORE] + i * lanes
            score = scores[begin : begin + lanes]
            for u in range(lanes):  # all units alike, so that they go together; the one that fired is set right after
                square = squares[i] - F(2) * score[u]
                away = sqrt(max(square, F(0)))
                step = gain * may[u] * decayed(min((th[u] - away if border else away) * width, F(0)))
                d_th[u] -= step if square < th[u] * th[u] else F(0)
        d_th[f] = own


@compiled
def look_back(k, n, table, pace, logs, weights, later, since, d_centroids):
    """The sum of g ts of a Tile or Full layer over a recording: backwards, R of every unit at hand."""
    lanes = table[k, LANES]
    F = weights.dtype.type
    state0, block0, update0 = table[k, STATE], table[k, BLOCK], table[k, UPDATE]
    slope = pace[k, 0]
    later[state0 : state0 + table[k, BLOCKS] * lanes] = 0
    for i in range(n - 1, -1, -1):
        e, b, now = logs[0, k, i], logs[1, k, i], logs[2, k, i]
        decay = decayed(F(since[block0 + b] - now) * slope)
        since[block0 + b] = now
        R = later[state0 + b * lanes : state0 + (b + 1) * lanes]
        d = d_centroids[update0 + e * lanes : update0 + (e + 1) * lanes]
        for u in range(lanes):
            R[u] *= decay
        R[logs[3, k, i]] += weights[1, k, i]
        w = weights[0, k, i]
        for u in range(lanes):
            d[u] += w * R[u]
