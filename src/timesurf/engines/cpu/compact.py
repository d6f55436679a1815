"""Kernel of online learning in float32 for networks whose layers are all small, as those of the paper's sentences.

The rule of `online32.py`, where an event of such a network spends most of its time on finding out where the arrays of a
layer begin and how long they are. Here all that a layer needs lies in one record of a fixed size, so that addresses are
constants, and a surface stays in vector registers from its times to the closest unit.

An event has to wait for the one before, whose winners decide how the centroids move that it is compared with. So the
order is that in which least is waited for: the first layer's surface of the next event is computed before the present
event is learned from, and thresholds move after centroids.

A layer is small if its neighbourhoods do not overlap and have at most ENTRIES entries, and it has at most UNITS units.
"""

from __future__ import annotations

from functools import lru_cache
from math import exp, log
from typing import Any, NamedTuple

import numpy as np

from timesurf.engines.cpu import steps
from timesurf.engines.cpu.emit import LOG2_E
from timesurf.engines.cpu.fused_compact import (
    ENTRIES,
    FORMS,
    NUMBERS,
    UNITS,
    echo,
    move_unit,
    see_above,
    see_first,
    shift_all,
    write_first,
)
from timesurf.engines.cpu.layout import Plan, Stages
from timesurf.engines.cpu.online32 import at
from timesurf.engines.cpu.online_state import NEVER
from timesurf.engines.cpu.shares import AWAY, delta_gains
from timesurf.engines.cpu.steps import bare, inlined
from timesurf.engines.cpu.vector import LANE, VECTOR
from timesurf.engines.cpu.workspace import zeros
from timesurf.engines.data import Array, Parameters
from timesurf.rule import DOUBT

_FIELDS: list[Any] = [
    ("ts", np.float32, (ENTRIES,)),  # the surface of the current event
    ("next", np.float32, (ENTRIES,)),  # of the first layer, that of the next event
    ("lanes", np.int32, (ENTRIES,)),  # 0, 1, 2, ...
    ("v", np.float64, (LANE, ENTRIES)),  # centroids
    ("thresholds", np.float64, (LANE,)),
    ("squares", np.float64, (LANE,)),  # ||c||^2 of every unit; NaN in lanes without one: never the closest
    ("apart", np.float64, (LANE,)),  # squared distances of the current event
    ("free", np.float32, (LANE,)),  # 1 for every unit that may change
    ("ftv", np.float32, (LANE,)),  # at the place of the current event's output
    ("slope", np.float32),  # -log2(e) / tau
    ("fading", np.float32),  # -log2(e) / feedback_tau
    ("width", np.float32),  # -log2(e) / d
    ("form", np.int64),  # number in FORMS, from 1
    ("vectors", np.int64),  # of a surface
    ("table0", np.int64),  # where its part of each array begins
    ("feedback0", np.int64),
    ("place0", np.int64),
    ("units", np.int64),
    ("share", np.float64),  # 1 / (units - 1)
    ("learns", np.int64),  # whether any unit may change
    ("limited", np.int64),  # whether any threshold is finite
    ("fired", np.int64),  # the unit that the current event fired
    ("place", np.int64),  # where that output went
    ("square", np.float64),  # ||ts||^2
    ("S", np.float64),
    ("dS", np.float64),
    ("numbers", np.float32, (len(NUMBERS),)),  # constants
]
_LINE = 64  # bytes of a cache line
_UNUSED = ("unused", np.uint8, (-np.dtype(_FIELDS, align=True).itemsize % _LINE,))
COMPACT = np.dtype([*_FIELDS, _UNUSED], align=True)
# Of an input, a place and its polarity: where its block begins in the context, its entry there, its place of output,
# and the number of the first input of the next layer at that place
WHERE = np.dtype([(name, np.int64) for name in ("begin", "own", "place", "above")])


class State(NamedTuple):
    """All that the kernel changes, and the table of inputs."""

    layers: Array  # (layers,) records as COMPACT
    table: Array  # (inputs of all layers,) records as WHERE
    context: Array  # last time of every input; blocks are padded to whole vectors
    feedback: Array  # last time of every output; LANE per place
    previous: Array  # S of the previous output at each place
    score: Array  # -dist^2 / 2 of every unit of the last layer; -AWAY in lanes without a unit
    target: Array  # shares that these units should have, by the delta rule
    gains: Array  # of these units

    def copy(self) -> State:
        """An independent copy."""
        return State(self.layers.copy(), self.table, *(array.copy() for array in self[2:]))

    @property
    def weights(self) -> Weights:
        """Centroids and thresholds as `online_state.take_back` finds them."""
        rows = [record["v"][:, : int(record["vectors"]) * VECTOR].ravel() for record in self.layers]
        return Weights(np.concatenate(rows), self.layers["thresholds"].ravel())


class Weights(NamedTuple):
    """What was learned."""

    centroids: Array  # as `Layer.update0`
    thresholds: Array  # of every unit


def fits(stages: Stages) -> bool:
    """Whether all layers of a network are small, with one time constant each."""
    return all(
        not stage.layer.overlaps
        and stage.scales == 1
        and np.prod(stage.surface_shape) <= ENTRIES
        and stage.units <= UNITS
        for stage in stages
    )


def begin(plan: Plan, parameters: Parameters) -> State:
    """These parameters, and an empty memory."""
    layers = zeros(len(plan.layers) * COMPACT.itemsize, np.uint8).view(COMPACT)
    table, begins, room = _tables(plan)
    _fill(layers, plan, parameters, begins)
    places = plan.total.place0
    times = zeros(room + places * LANE, np.int64)
    times[:] = NEVER
    working = np.full(LANE, -AWAY), np.zeros(LANE), np.zeros(LANE)
    return State(layers, table, times[:room], times[room:], np.zeros(places), *working)


def _fill(layers: Array, plan: Plan, parameters: Parameters, begins: list[int]) -> None:
    """Write parameters and sizes to the records."""
    for here, layer, learned, table0 in zip(layers, plan.layers, parameters, begins, strict=True):
        rows, units = learned.centroids.reshape(layer.units, -1), slice(layer.units)
        here["v"][units, : layer.entries] = rows
        here["squares"][:], here["thresholds"][:] = np.nan, np.inf
        here["squares"][units], here["thresholds"][units] = np.einsum("ue,ue->u", rows, rows), learned.thresholds
        here["free"][units] = ~learned.frozen
        here["learns"], here["limited"] = not learned.frozen.all(), np.isfinite(learned.thresholds).any()
        here["form"] = 1 + FORMS.index((layer.vectors, 4 if layer.units < 4 else LANE))
        here["units"], here["vectors"], here["share"] = layer.units, layer.vectors, 1 / max(layer.units - 1, 1)
        here["table0"], here["feedback0"], here["place0"] = table0, layer.place0 * LANE, layer.place0
        here["numbers"], here["lanes"] = NUMBERS, np.arange(ENTRIES)


@lru_cache(maxsize=8)
def _tables(plan: Plan) -> tuple[Array, list[int], int]:
    """Where inputs are, layer after layer; where each layer's part of that begins; how long the context is."""
    tables, begins, room = [], [0], 0
    ends = [layer.location0 for layer in plan.layers[1:]] + [plan.total.location0]
    for layer, end in zip(plan.layers, ends, strict=True):
        here, padded = slice(layer.location0, end), layer.vectors * VECTOR
        table = np.zeros((end - layer.location0, layer.polarities), WHERE)
        table["begin"] = room + padded * plan.layout.block[here, None]
        table["own"] = plan.layout.within[here, None] + np.arange(layer.polarities)
        table["place"] = plan.layout.out[here, None]
        table["above"] = layer.units * table["place"]
        tables.append(table.ravel())
        begins.append(begins[-1] + table.size)
        room += layer.blocks * padded
    return np.concatenate(tables), begins[:-1], room


@bare
def run(events, base, gap, whole, learn, layout, settings, state, counts, outputs):
    """As `online.run`, with a `State` of this module."""
    entry, t, offsets, label = events
    all_layers, table, context, feedback, previous, score, target, gains = state
    layers = len(all_layers)
    judged = min(1, layers - 1)
    found = 0
    for k in range(layers):
        all_layers[k].slope = settings.pace[k].surface * LOG2_E
        all_layers[k].fading = settings.pace[k].feedback * LOG2_E
        all_layers[k].width = -LOG2_E / settings.rates[k].d
    for r in range(len(label)):
        if whole:
            previous[:] = 0
        for i in range(offsets[r], offsets[r + 1]):
            now = base + t[at(i)]
            layer = all_layers[0]
            where = table[at(entry[at(i)])]
            own, depth = where.own, 0
            if i == offsets[r]:
                write_first(layer, context, where.begin, own, now)
            f, apart, square = see_first(layer)
            while True:
                context[at(where.begin + own)] = now
                th = layer.thresholds[at(f)]
                if not (apart < th * th and th > 0):
                    break
                layer.fired, layer.place, layer.square = f, where.place, square
                counts.kept[at(r), at(depth)] += 1
                if depth >= judged:
                    here = layer.feedback0 + where.place * LANE
                    others = echo(layer, feedback, here, now) - layer.ftv[at(f)]
                    layer.S = 1.0 - np.float64(others) * layer.share
                    feedback[at(here + f)] = now
                depth += 1
                if depth == layers:
                    break
                layer = all_layers[at(depth)]
                where = table[at(layer.table0 + where.above)]  # of polarity 0: does not have to wait for f
                own = where.own + f
                f, apart, square = see_above(layer, context, where.begin, own, now)
            if i + 1 < offsets[r + 1]:  # here, so that it can be computed while the last layer still compares
                following = table[at(entry[at(i + 1)])]
                write_first(all_layers[0], context, following.begin, following.own, base + t[at(i + 1)])
            if depth < layers:
                continue
            voted = layout.voted[at(f)]
            counts.votes[at(r), at(voted)] += 1
            G = steps.sign(label[at(r)], voted)
            for k in range(judged, layers):
                layer = all_layers[at(k)]
                layer.S *= G
                layer.dS = steps.change(layer.S, at(layer.place0 + layer.place), previous)
            if len(outputs.event) > 0:
                outputs.event[found], outputs.unit[found], outputs.S[found] = i, f, layer.S
                for c in range(outputs.evidence.shape[1] if len(outputs.evidence) > 0 else 0):
                    outputs.evidence[found, c] = weigh(layer, f, c, settings, layout)
            found += 1
            if not learn:
                continue
            for k in range(layers):
                layer, rates = all_layers[at(k)], settings.rates[at(k)]
                if layer.learns == 0:
                    continue
                above = all_layers[at(min(k + 1, layers - 1))]
                S, dS, f = above.S, above.dS, layer.fired
                if settings.by_delta and k == layers - 1 and label[at(r)] >= 0:
                    move_all(layer, f, label[at(r)], rates.alpha, layout, settings, score, target, gains)
                elif layer.free[at(f)] > 0:
                    move_unit(layer, f, steps.centroid_gain(rates, S, dS))
            for k in range(layers):  # after the centroids: the next event does not have to wait for thresholds
                layer, rates = all_layers[at(k)], settings.rates[at(k)]
                above = all_layers[at(min(k + 1, layers - 1))]
                gain = steps.threshold_gain(rates, above.S, above.dS)
                if layer.limited != 0 and gain != 0:
                    compete = steps.competes(settings.competition, above.S, above.dS)
                    shift_all(layer, layer.fired, gain, compete, settings.border)
        if offsets[r + 1] > offsets[r]:
            base += t[offsets[r + 1] - 1] + gap
    return found


@inlined
def move_all(layer, f, label, alpha, layout, settings, score, target, gains):
    """C += alpha (r - q) (ts - c) of every unit of the last layer: the delta rule."""
    for u in range(layer.units):
        score[u] = -0.5 * layer.apart[u]
    delta_gains(score, 0, score[f], label, layout.voted, 2 * settings.temperature, target, gains)
    for u in range(layer.units):
        gain = alpha * gains[u]
        if gain != 0 and layer.free[u] > 0:
            move_unit(layer, u, gain)


@inlined
def weigh(layer, f, c, settings, layout):
    """Evidence of an output event for a class: log(share + DOUBT)."""
    closest, total, of_class = layer.apart[f], 0.0, 0.0
    for u in range(layer.units):
        share = exp(-settings.temperature * (layer.apart[u] - closest))
        total += share
        of_class += share if layout.voted[u] == c else 0.0
    return log(of_class / total + DOUBT)


@bare
def finish(now, layout, settings, state):
    """Centroids are always up to date."""
