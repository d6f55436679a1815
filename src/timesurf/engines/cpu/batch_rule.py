"""Kernels of the batch rule: what the output events of a block teach a layer is summed, and applied later.

Where neighbourhoods overlap (`Window`), gain times surface is added for every output. Where they do not (`Tile`,
`Full`), no surface is written out, and the sum of g ts over a recording is computed backwards in time: with R(t) = sum
of g exp(-(t' - t)/tau) over later outputs t', entry e gains (1 - v) R at each event that sets it, where v is what the
entry had decayed to. This costs O(units) per event, however large the field.
"""

from __future__ import annotations

from math import sqrt

from timesurf.engines.cpu import steps
from timesurf.engines.cpu.layout import RUNNING, WRITTEN
from timesurf.engines.cpu.shares import delta_gains
from timesurf.engines.cpu.steps import compiled
from timesurf.engines.cpu.vector import VECTOR, add_scaled, decayed


@compiled
def teach(k, m, logged, layout, settings, weights, block, log, sums):
    """Add what the output events of a block teach the centroids of layer k to the sums."""
    layer, rates = layout.layers[k], settings.rates[k]
    above = min(k + 1, len(layout.layers) - 1)
    S, dS, chain, fired = block.S[above], block.dS[above], block.chain[k], block.winner[k]
    surfaces, gains = block.surfaces, log.gain[k]
    F = surfaces.dtype.type
    entries, unit0, vectors = layer.entries, layer.unit0, layer.vectors
    for o in range(m):
        i = chain[o]
        f = fired[i]
        gain = F(steps.centroid_gain(rates, S[o], dS[o])) * weights.free[unit0 + f]
        sums.gains[unit0 + f] += gain
        if layer.way == WRITTEN:
            ts, d = layer.surface0 + i * entries, layer.update0 + f * vectors * VECTOR
            add_scaled(sums.centroids, d, gain, surfaces, ts, vectors)
        else:
            gains[logged + i] = gain


@compiled
def teach_all(k, m, label, logged, layout, settings, weights, block, log, sums):
    """As `teach`, by the delta rule: every unit of layer k moves at every output event."""
    layer, voted, scores, chain, fired = layout.layers[k], layout.voted, block.scores, block.chain[k], block.winner[k]
    lanes, unit0, score0, vectors = layer.lanes, layer.unit0, layer.score0, layer.vectors
    F = scores.dtype.type
    slope, alpha = F(2 * settings.temperature), F(settings.rates[k].alpha)
    may, total = weights.free[unit0:][:lanes], sums.gains[unit0:][:lanes]
    for o in range(m):
        i = chain[o]
        gains = log.gains[logged + i if layer.way == RUNNING else 0]
        begin = score0 + i * lanes
        delta_gains(scores, begin, scores[begin + fired[i]], label, voted, slope, block.share, gains)
        for u in range(lanes):
            gains[u] *= alpha * may[u]
            total[u] += gains[u]
        log.gain[k, logged + i] = F(1)
        if layer.way == WRITTEN:
            for u in range(layer.units):
                d = layer.update0 + u * vectors * VECTOR
                add_scaled(sums.centroids, d, gains[u], block.surfaces, layer.surface0 + i * layer.entries, vectors)


@compiled
def limit(k, m, layout, settings, weights, block, sums):
    """Add what the output events of a block teach the thresholds of layer k to the sums."""
    layer, rates, border = layout.layers[k], settings.rates[k], settings.border
    if (rates.gamma == 0 and rates.delta == 0) or not weights.limited[k]:
        return
    above = min(k + 1, len(layout.layers) - 1)
    S, dS, chain, fired = block.S[above], block.dS[above], block.chain[k], block.winner[k]
    scores, apart, squares = block.scores, block.distance[k], block.square[k]
    F = scores.dtype.type
    lanes, unit0 = layer.lanes, layer.unit0
    width = F(-1 / rates.d)
    th, may = weights.thresholds[unit0:][:lanes], weights.free[unit0:][:lanes]
    d_th = sums.thresholds[unit0:][:lanes]
    for o in range(m):
        i = chain[o]
        f = fired[i]
        gain = F(steps.threshold_gain(rates, S[o], dS[o]))
        if gain == 0:
            continue
        own = d_th[f] + gain * may[f] * decayed(steps.exponent(th[f], apart[i], border, width))
        if steps.competes(settings.competition, S[o], dS[o]):
            begin = layer.score0 + i * lanes
            score = scores[begin : begin + lanes]
            for u in range(lanes):  # all units alike, so that they go together; the one that fired is set after
                square = squares[i] - F(2) * score[u]
                away = sqrt(max(square, F(0)))
                step = gain * may[u] * decayed(min(steps.exponent(th[u], away, border, width), F(0)))
                d_th[u] -= step if square < th[u] * th[u] else F(0)
        d_th[f] = own


@compiled
def look_back(k, n, by_delta, layout, settings, memory, log, sums):
    """The sum of g ts of a RUNNING layer over a recording: backwards, with R of every unit at hand."""
    layer, since, update = layout.layers[k], memory.since, sums.centroids
    entries, blocks, times, winners = log.entry[k], log.block[k], log.time[k], log.winner[k]
    fresh, gains, later = log.fresh[k], log.gain[k], log.later
    F = gains.dtype.type
    lanes, dots0, block0, update0 = layer.lanes, layer.dots0, layer.block0, layer.update0
    slope = settings.pace[k].surface
    later[dots0 : dots0 + layer.blocks * lanes] = 0
    for i in range(n - 1, -1, -1):
        e, b, now = entries[i], blocks[i], times[i]
        decay = decayed(F(since[block0 + b] - now) * slope)
        since[block0 + b] = now
        R = later[dots0 + b * lanes : dots0 + (b + 1) * lanes]
        d = update[update0 + e * lanes : update0 + (e + 1) * lanes]
        for u in range(lanes):
            R[u] *= decay
        if not by_delta:
            R[winners[i]] += gains[i]
        elif gains[i] != 0:
            all_gains = log.gains[i]
            for u in range(lanes):
                R[u] += all_gains[u]
        w = fresh[i]
        for u in range(lanes):
            d[u] += w * R[u]
