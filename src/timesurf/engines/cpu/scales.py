"""Kernels for frozen weights of a layer with several time constants (`Full`), beside those of `frozen.py`.

Its surface has every input at each time constant, so the dot product of a unit is a sum of one per time constant, each
with a decay of its own: all that `frozen.running` and `batch_rule.look_back` do is done once per time constant, and an
event costs O(units x time constants), however large the field. They are functions of their own so that the loops of
layers with one time constant stay as short as they are.
"""

from __future__ import annotations

from math import sqrt

from timesurf.engines.cpu.steps import compiled, largest
from timesurf.engines.cpu.vector import FAR, decayed, prefetch


@compiled
def running_at_scales(k, n, logged, layout, settings, weights, memory, block, log):
    """A block through a RUNNING layer: the dot products at each time constant follow each event."""
    layer, context, since, scores = layout.layers[k], memory.context, memory.since, block.scores
    centroids, state, norm, slopes = weights.centroids, memory.dots, memory.squares, settings.slopes[k]
    F = scores.dtype.type
    units, lanes, scales, wide = layer.units, layer.lanes, layer.scales, layer.scales * layer.lanes
    at, context0, unit0 = layer.location0, layer.context0, layer.unit0
    dots0, block0, score0, centroid0 = layer.dots0, layer.block0, layer.score0, layer.centroid0
    locations, polarities, times, closest = block.location[k], block.polarity[k], block.time[k], block.winner[k]
    apart, squares, fade, age = block.distance[k], block.square[k], block.fade[k], block.own_fade[k]
    e, seen, fired = log.entry[k, logged:][:n], log.time[k, logged:][:n], log.winner[k, logged:][:n]
    ages, gains = log.fresh[k, logged:][:n], log.gain[k, logged:][:n]
    for i in range(n):
        e[i] = layout.own[at + locations[i]] + polarities[i]
        if layer.entries * lanes > FAR:
            prefetch(context, context0 + e[i])
            for s in range(0, wide, 16):
                prefetch(centroids, centroid0 + e[i] * wide + s)
    for i in range(n):
        age[i] = F(times[i] - context[context0 + e[i]])
        context[context0 + e[i]] = times[i]
    for i in range(n):
        fade[i] = F(times[i] - since[block0])
        since[block0] = times[i]
        seen[i] = times[i]
    for i in range(n):
        ages[i] = age[i]
        gains[i] = F(0)
    for s in range(scales):
        slope, all_fade, own_fade = slopes[s], block.fades[2 * s], block.fades[2 * s + 1]
        for i in range(n):
            all_fade[i] = decayed(fade[i] * slope)
            own_fade[i] = decayed(age[i] * slope)
    half = weights.halves[unit0 : unit0 + lanes]
    for i in range(n):
        score = scores[score0 + i * lanes : score0 + (i + 1) * lanes]
        square = F(0)
        for u in range(lanes):
            score[u] = -half[u]
        for s in range(scales):
            decay, v_old = block.fades[2 * s, i], block.fades[2 * s + 1, i]
            fresh = F(1) - v_old
            dots = state[dots0 + s * lanes : dots0 + (s + 1) * lanes]
            c = centroids[centroid0 + e[i] * wide + s * lanes : centroid0 + e[i] * wide + (s + 1) * lanes]
            for u in range(lanes):
                dots[u] = dots[u] * decay + fresh * c[u]
                score[u] += dots[u]
            norm[block0 + s] = norm[block0 + s] * decay * decay + (F(1) - v_old * v_old)
            square += norm[block0 + s]
        f, best = largest(score, units)
        closest[i] = f
        fired[i] = f
        squares[i] = square
        apart[i] = sqrt(max(square - F(2) * best, F(0)))


@compiled
def look_back_at_scales(k, n, by_delta, layout, settings, memory, log, sums):
    """The sum of g ts of a RUNNING layer over a recording: backwards, with R of every time constant and unit."""
    layer, since, update, slopes = layout.layers[k], memory.since, sums.centroids, settings.slopes[k]
    entries, times, winners = log.entry[k], log.time[k], log.winner[k]
    ages, gains, later = log.fresh[k], log.gain[k], log.later
    F = gains.dtype.type
    lanes, scales, dots0, block0, update0 = layer.lanes, layer.scales, layer.dots0, layer.block0, layer.update0
    later[dots0 : dots0 + scales * lanes] = 0
    for i in range(n - 1, -1, -1):
        e, now = entries[i], times[i]
        gone = F(since[block0] - now)
        since[block0] = now
        for s in range(scales):
            decay, w = decayed(gone * slopes[s]), F(1) - decayed(ages[i] * slopes[s])
            R = later[dots0 + s * lanes : dots0 + (s + 1) * lanes]
            row = update0 + (e * scales + s) * lanes
            d = update[row : row + lanes]
            for u in range(lanes):
                R[u] *= decay
            if not by_delta:
                R[winners[i]] += gains[i]
            elif gains[i] != 0:
                all_gains = log.gains[i]
                for u in range(lanes):
                    R[u] += all_gains[u]
            for u in range(lanes):
                d[u] += w * R[u]
