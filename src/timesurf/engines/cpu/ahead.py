"""The first layer on many events at once, while nothing learns: what online inference decides, in less time.

While weights rest a layer is feed-forward: what it decides on the next events does not depend on what becomes of this
one. So the surfaces of some events are written out in float32, and one matrix product gives their distances to all
units, nearly. That settles which unit is the closest, and whether it is close enough, for nearly all events. Those that
it does not settle, given how much float32 can be wrong, are compared in float64 with the arithmetic of
`online.compare`: the closest unit, and whether the event passes, are the same as event by event.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from timesurf.engines.cpu.products import ROWS, multiply
from timesurf.engines.cpu.steps import bare, compiled, inlined
from timesurf.engines.cpu.vector import VECTOR, decayed, squared_distance
from timesurf.engines.data import Array

FEWEST = 64  # events in a call, for which it pays to convert the centroids
_MOST = 8 * ROWS  # events at once
_VALUES = 1 << 14  # of their surfaces: as many as fit beside the centroids in a core's cache
_WRONG = 4 * 2.0**-23  # relative error of each step of a sum in float32, with much to spare


class View(NamedTuple):
    """The centroids in float32, and some events. Units that are never the closest fill the last vector."""

    panels: Array  # (lanes / VECTOR, entries, VECTOR) the centroids, float32: units of a vector side by side
    norms: Array  # (lanes,) ||c||^2, float32
    most: Array  # (1,) the largest of them
    gone: Array  # (events x entries + VECTOR,) time since each entry was set, us
    rough: Array  # (events x entries,) surfaces in float32
    scores: Array  # (events x lanes,) ts c, then ||c||^2 - 2 ts c, float32
    lane: Array  # (VECTOR,) float32
    exact: Array  # (padded entries,) a surface in float64
    closest: Array  # OUT (events,) the closest unit
    distance: Array  # OUT (events,) on the same side of its threshold as its distance


@compiled
def prepare(layer, weights, wanted):
    """Convert the centroids; without room for anything if it is not wanted."""
    units, entries, padded = (layer.units, layer.entries, layer.vectors * VECTOR) if wanted else (0, 0, 0)
    lanes = (units + VECTOR - 1) // VECTOR * VECTOR
    room = max(min(_VALUES // entries, _MOST) // ROWS, 1) * ROWS if wanted else 0
    panels, norms = np.zeros(entries * lanes, np.float32), np.full(lanes, np.inf, np.float32)
    most = np.zeros(1, np.float32)
    for u in range(units):
        row = weights.centroids[layer.update0 + u * padded : layer.update0 + (u + 1) * padded]
        total, place = 0.0, u % VECTOR
        panel = panels[(u - place) * entries : (u - place + VECTOR) * entries]
        for j in range(entries):
            panel[j * VECTOR + place] = row[j]
            total += row[j] * row[j]
        norms[u] = total
        most[0] = max(most[0], norms[u])
    return View(
        panels,
        norms,
        most,
        np.empty(room * entries + VECTOR),
        np.zeros(room * entries, np.float32),  # rows beyond the last event are multiplied too
        np.empty(room * lanes, np.float32),
        np.empty(VECTOR, np.float32),
        np.zeros(padded),
        np.zeros(room, np.int64),
        np.empty(room),
    )


@bare
def look(many, layer, slope, weights, view):
    """Find the closest units to these events, whose surfaces are `gone`, and whether they are close enough."""
    lanes, entries, factor = len(view.norms), layer.entries, np.float32(slope)
    for j in range(many * entries):  # of its own: beside float64 only half as many float32 fit in a vector
        view.rough[j] = view.gone[j]
    for j in range(many * entries):
        view.rough[j] = decayed(view.rough[j] * factor)
    multiply(view.rough, many, entries, view.panels, lanes, view.scores)
    for b in range(many):
        ts, score = view.rough[b * entries : (b + 1) * entries], view.scores[b * lanes : (b + 1) * lanes]
        square = np.float32(0)
        for j in range(entries):
            square += ts[j] * ts[j]
        for u in range(lanes):
            score[u] = view.norms[u] - np.float32(2) * score[u]
        least = smallest(score, view.lane)
        wrong = np.float32(_WRONG * (entries + 8)) * (square + view.most[0])
        limit, near, which = least + wrong, np.float32(0), np.float32(0)
        for u in range(lanes):  # of one type: then vector instructions do it
            is_near = np.float32(0) if score[u] > limit else np.float32(1)  # also if it is no number
            near += is_near
            which += is_near * np.float32(u)
        f = np.int64(which) if near == 1 else 0
        threshold = weights.thresholds[layer.unit0 + f]
        if near > 1 or not abs(square + least - threshold * threshold) > wrong:
            f, view.distance[b] = among(b, limit, layer, slope, weights, view)
        else:
            view.distance[b] = sqrt(max(square + least, np.float32(0)))
        view.closest[b] = f


@inlined
def smallest(score, lane):
    """The smallest score: of every sixteenth first, which vector instructions find side by side."""
    for j in range(VECTOR):
        lane[j] = score[j]
    for u in range(VECTOR, len(score), VECTOR):
        part = score[u : u + VECTOR]
        for j in range(VECTOR):
            lane[j] = part[j] if part[j] < lane[j] else lane[j]
    least = lane[0]
    for j in range(1, VECTOR):
        least = lane[j] if lane[j] < least else least
    return least


@bare
def among(b, limit, layer, slope, weights, view):
    """The closest of the units that may be the closest to an event, and its distance, in float64."""
    entries, padded = layer.entries, layer.vectors * VECTOR
    for j in range(entries):
        view.exact[j] = decayed(view.gone[b * entries + j] * slope)
    f, closest = 0, np.inf
    for u in range(layer.units):
        if not view.scores[b * len(view.norms) + u] > limit:
            apart = squared_distance(view.exact, 0, weights.centroids, layer.update0 + u * padded, layer.vectors)
            if apart < closest:
                f, closest = u, apart
    return f, sqrt(closest)
