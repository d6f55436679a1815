"""Shares of the last layer's units in an event: for the delta rule and for evidence, see `timesurf.rule`.

A softmax depends only on differences, so scores are enough: -dist^2 = 2 score + a number that is the same for all
units. Lanes beyond the last unit have the score -AWAY, so their share is 0.

Sums have loops of their own. A loop that reads one array and writes another is compiled twice, for arrays that lie
close together in memory and for others; a sum in it would be added in another order, by where an array happens to lie.
"""

from __future__ import annotations

from math import log

import numpy as np

from timesurf.engines.cpu.steps import compiled, inlined
from timesurf.engines.cpu.vector import decayed, logarithm
from timesurf.rule import DOUBT

AWAY = 1e30  # minus the score of a lane without a unit; large, and finite in float32
_FACTORS = 64  # shares multiplied before a logarithm is taken: DOUBT to this power is still a float64


@inlined
def delta_gains(scores, begin, best, label, voted, slope, target, gains):
    """r_n - q_n of every unit, to `gains`; the scores begin at `begin`, and `best` is the largest."""
    F = gains.dtype.type
    right, total, total_right = F(-AWAY), F(0), F(0)
    for u in range(len(gains)):
        score = scores[begin + u] if voted[u] == label else F(-AWAY)
        right = score if score > right else right
    for u in range(len(gains)):
        gains[u] = decayed((scores[begin + u] - best) * slope)
    for u in range(len(gains)):
        near = decayed(min((scores[begin + u] - right) * slope, F(0)))
        target[u] = near if voted[u] == label else F(0)
    for u in range(len(gains)):
        total += gains[u]
    for u in range(len(gains)):
        total_right += target[u]
    for u in range(len(gains)):
        gains[u] = target[u] / total_right - gains[u] / total


@inlined
def weigh(scores, best, slope, voted, units, share, row, evidence):
    """Write log(share of the class + DOUBT) of one event for every class to a row of the evidence."""
    total = 0.0
    for u in range(units):
        share[u] = decayed((scores[u] - best) * slope)
    for u in range(units):
        total += share[u]
    for c in range(evidence.shape[1]):
        evidence[row, c] = 0.0
    for u in range(units):
        evidence[row, voted[u]] += share[u]
    for c in range(evidence.shape[1]):
        evidence[row, c] = logarithm(evidence[row, c] / total + DOUBT)


@compiled
def add_evidence(m, layer, layout, scores, fired, source, slope, share, evidence):
    """Add log(share of the class + DOUBT) of a block's output events to the evidence of every class."""
    lanes, units, voted = layer.lanes, layer.units, layout.voted
    F = scores.dtype.type
    of_class, product = np.empty(len(evidence)), np.ones(len(evidence))
    for o in range(m):
        begin = layer.score0 + source[o] * lanes
        best, total = scores[begin + fired[source[o]]], F(0)
        for u in range(lanes):
            share[u] = decayed((scores[begin + u] - best) * slope)
        for u in range(lanes):
            total += share[u]
        of_class[:] = 0.0
        for u in range(units):
            of_class[voted[u]] += share[u]
        for c in range(len(product)):
            product[c] *= of_class[c] / total + DOUBT
        if o % _FACTORS == _FACTORS - 1 or o == m - 1:
            for c in range(len(product)):
                evidence[c] += log(product[c])
            product[:] = 1.0
