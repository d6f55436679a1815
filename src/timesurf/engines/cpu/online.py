"""Online learning: weights change after every event, so events go one by one. Always in float64: updates are small.

- `Window`: the surface is written out with vector instructions and compared with every centroid.
- `Tile`, and `Full` over a small field: neighbourhoods do not overlap, so each surface is kept, faded and compared.
- `Full` over a large field: never written out. As with frozen weights, dot products follow each event. A centroid that
  moves towards the surface, c = (1 - g) c + g ts, takes its dot product and norm along in O(1), and moves in O(1) too:

      c = A v,    A = product of (1 - g),    v[e] += a[e] (H - H when e was set)

  where ts[e] = a[e] exp(-(now - t0)/tau) is one factor an entry and one decay for all, so H = sum of
  g exp(-(now - t0)/tau) / A is all that an entry needs to catch up, and it does so when it is next set. Before the
  decay since t0 loses digits, t0 is moved up and all live entries catch up. So an event costs O(units), however large
  the field.
"""

from __future__ import annotations

import math
from math import exp, sqrt
from typing import Any

import numpy as np

from timesurf.engines.cpu.layout import (
    BLOCK,
    CONTEXT,
    ENTRIES,
    FEEDBACK,
    HOW,
    KEPT,
    LANES,
    LOCATION,
    PLACE,
    POLARITIES,
    ROW,
    ROWS,
    RUN,
    RUNNING,
    STATE,
    SURFACE,
    UNIT,
    UNITS,
    UPDATE,
    WRITTEN,
    Plan,
    plan,
)
from timesurf.engines.cpu.vector import FASTMATH, VECTOR, add_scaled, decayed, elapsed, squared_distance
from timesurf.engines.data import Array, Batch, Outcome, Parameters
from timesurf.layers import Full, Stage, Window
from timesurf.rule import SLACK, Rule
from timesurf.storage.kernels import njit

SMALL = 64  # entries: up to here a surface is written out sooner than its dot products are followed
REACH = 8.0  # tau: how far t0 may lie behind; e^8 is what rounding errors grow by
NEVER = -(2**62)

compiled = njit(cache=True, nogil=True, fastmath=FASTMATH, error_model="numpy", boundscheck=False)
inlined = njit(nogil=True, fastmath=FASTMATH, error_model="numpy", boundscheck=False, forceinline=True)


def learn(stages: tuple[Stage, ...], parameters: Parameters, rule: Rule, batch: Batch) -> Outcome:
    """Run the events and update the parameters after each."""
    outcome = Outcome.empty(stages, batch, trace=False)
    outcome.trace = None
    p, changing = memory(stages, parameters)
    none = np.empty(0, np.int64)
    run(
        batch.entry, batch.t, batch.offsets, batch.label, np.int64(0), p.gap, True, True, *fixed(p, stages, rule),
        *changing, outcome.kept, outcome.votes, none, none, np.empty(0),
    )  # fmt: skip
    take_back(p, stages, changing, parameters)
    return outcome


def fixed(p: Plan, stages: tuple[Stage, ...], rule: Rule) -> tuple[Any, ...]:
    """What the kernels only read: tables of the network, how fast things fade, rates."""
    pace = -1 / np.array([(stage.tau, stage.feedback_tau) for stage in stages])
    rates = rule.per_layer(len(stages))
    return p.table, p.own, p.start, p.runs, p.out, pace, rates, rule.kernel == "border", rule.competition


def memory(stages: tuple[Stage, ...], parameters: Parameters) -> tuple[Plan, tuple[Array, ...]]:
    """What the kernels change, in their order: centroids and thresholds, then contexts, still empty, and scratch."""
    p = plan(stages, tuple(_how(stage) for stage in stages))
    total, layers = p.table[-1], len(stages)
    centroids = np.zeros(total[UPDATE] + VECTOR)
    thresholds = np.full(total[UNIT], np.inf)
    frozen = np.zeros(total[UNIT], dtype=np.bool_)
    norms = np.zeros(total[UNIT])
    for k, stage in enumerate(stages):
        units = slice(p.table[k, UNIT], p.table[k, UNIT] + stage.units)
        rows = _rows(p, k, centroids)
        rows[: stage.units] = parameters[k].centroids.reshape(stage.units, -1)
        frozen[units], thresholds[units] = parameters[k].frozen, parameters[k].thresholds
        norms[p.table[k, UNIT] : p.table[k + 1, UNIT]] = np.einsum("ue,ue->u", rows, rows)
    contexts = [np.full(total[column], NEVER, dtype=np.int64) for column in (CONTEXT, BLOCK, FEEDBACK, PLACE)]
    return p, (
        centroids, thresholds, frozen, norms, np.ones(total[UNIT]), np.zeros(total[UNIT]),
        np.zeros(total[UPDATE]), np.zeros(total[CONTEXT]), np.zeros(total[CONTEXT], dtype=np.int64),
        np.zeros(total[CONTEXT], dtype=np.bool_), np.zeros((2, layers), dtype=np.int64),
        *contexts, np.zeros(total[STATE]), np.zeros(total[BLOCK]), np.zeros(total[PLACE]), np.zeros(total[PLACE]),
        np.zeros(total[SURFACE]), np.zeros(total[UNIT]), np.zeros((3, layers), dtype=np.int64), np.zeros((2, layers)),
    )  # fmt: skip


def take_back(p: Plan, stages: tuple[Stage, ...], arrays: tuple[Array, ...], parameters: Parameters) -> None:
    """Centroids and thresholds from the kernels' arrays, of units that are not frozen."""
    centroids, thresholds = arrays[:2]
    for k, stage in enumerate(stages):
        free = ~parameters[k].frozen
        flat = parameters[k].centroids.reshape(stage.units, -1)
        flat[free] = _rows(p, k, centroids)[: stage.units][free]
        parameters[k].thresholds[free] = thresholds[p.table[k, UNIT] :][: stage.units][free]


def _how(stage: Stage) -> int:
    if isinstance(stage.layer, Window):
        return WRITTEN
    return RUNNING if isinstance(stage.layer, Full) and math.prod(stage.surface_shape) > SMALL else KEPT


def _rows(p: Plan, k: int, centroids: np.ndarray) -> np.ndarray:
    """A layer's centroids as a view (lanes, entries)."""
    part, lanes = centroids[p.table[k, UPDATE] : p.table[k + 1, UPDATE]], p.table[k, LANES]
    rows = part.reshape(-1, lanes).T if p.table[k, HOW] == RUNNING else part.reshape(lanes, -1)
    return rows[:, : p.table[k, ENTRIES]]


@compiled
def run(
    entry,  # IN     (events,) place of each event in the flat input field
    t,  # IN     (events,) us, since the recording's first event
    offsets,  # IN     (recordings + 1,)
    label,  # IN     (recordings,) index of the class, -1 if unknown
    base,  # IN     us: where the first recording begins on the network's clock
    gap,  # IN     us between one recording's end and the next one's beginning
    whole,  # IN     whether these are whole recordings; else a part of one, and what was before goes on
    learn,  # IN     whether to learn from them
    table,  # IN     see engines/cpu/layout.py
    own,  # IN
    start,  # IN
    runs,  # IN
    out,  # IN
    pace,  # IN     (layers, 2) -1/tau, -1/feedback_tau
    rates,  # IN     (layers, 5) alpha, beta, gamma, delta, d
    border,  # IN     which kernel of the thresholds
    competition,  # IN
    centroids,  # INOUT  all layers', laid out as UPDATE; in Full layers v of c = A v
    thresholds,  # INOUT  every unit's
    frozen,  # IN     units that never change
    norms,  # INOUT  ||c||^2 of every unit
    scale,  # INOUT  A of every unit of Full layers
    moved,  # WORK   H of every unit of Full layers
    noted,  # WORK   H when each entry was set, laid out as UPDATE
    amplitude,  # WORK   a of every entry of Full layers
    live,  # WORK   entries that have not faded yet
    is_live,  # WORK
    frame,  # WORK   (2, layers) t0; how many entries are live
    context,  # WORK   last time of every input
    since,  # WORK   when a Full layer's dot products were last brought up to date
    feedback,  # WORK   last time of every output
    spoke,  # WORK   last time of any output at each place
    state,  # WORK   running dot products of Full layers
    norm,  # WORK   running ||ts||^2 of Full layers
    crowd,  # WORK   running sum of ftv at each place
    previous,  # WORK   S of the previous output at each place
    ts,  # WORK   surfaces of all other layers: the current event's, or those of all blocks
    dist,  # WORK   its distance to every unit
    path,  # WORK   (3, layers) the current event's outputs: unit, place, where the surface begins
    signal,  # WORK   (2, layers) |S|, then S; dS
    kept,  # OUT    (recordings, layers)
    votes,  # OUT    (recordings, classes)
    came,  # OUT    (events,) which events came out, or empty: not asked for
    fired,  # OUT    (events,) the units that they fired
    sure,  # OUT    (events,) their S
):
    """Every event of every recording through every layer, and what it teaches them: how many came out."""
    layers = len(kept[0])
    lowest = min(1, layers - 1)  # nothing learns from the S of the first of several layers
    found = 0
    for r in range(len(label)):
        if whole:
            previous[:] = 0
        for i in range(offsets[r], offsets[r + 1]):
            now = base + t[i]
            location = np.int64(entry[i]) // table[0, POLARITIES]
            p = np.int64(entry[i]) - location * table[0, POLARITIES]
            depth = 0
            for k in range(layers):
                if table[k, HOW] != RUNNING:
                    if table[k, HOW] == WRITTEN:
                        surface = write_out(k, now, location, p, table, own, start, runs, pace, context, ts)
                    else:
                        surface = fade(k, now, location, p, table, own, out, pace, since, ts)
                    path[2, k] = surface
                    f = compare(k, surface, table, centroids, ts, dist)
                else:
                    f = follow(k, now, location, p, table, own, pace, centroids, norms, scale, moved, noted, amplitude,
                               live, is_live, frame, context, since, state, norm, dist)  # fmt: skip
                if not dist[table[k, UNIT] + f] < thresholds[table[k, UNIT] + f]:
                    break
                location = out[table[k, LOCATION] + location]
                p = f
                path[0, k], path[1, k] = f, location
                kept[r, k] += 1
                depth += 1
                if k >= lowest:
                    signal[0, k] = unshared(k, f, location, now, table, pace, feedback, spoke, crowd)
            if depth < layers:
                continue
            votes[r, p] += 1
            G = 1.0 if label[r] == p or label[r] == -1 else -1.0
            for k in range(lowest, layers):
                place = table[k, PLACE] + path[1, k]
                signal[0, k] *= G
                signal[1, k] = signal[0, k] - previous[place]
                previous[place] = signal[0, k]
            if len(came) > 0:
                came[found], fired[found], sure[found] = i, p, signal[0, layers - 1]
            found += 1
            if not learn:
                continue
            for k in range(layers):
                S, dS = signal[0, min(k + 1, layers - 1)], signal[1, min(k + 1, layers - 1)]
                gain = rates[k, 0] * dS + rates[k, 1] * S
                if frozen[table[k, UNIT] + path[0, k]]:
                    pass
                elif table[k, HOW] != RUNNING:
                    approach(k, path[0, k], path[2, k], gain, table, centroids, ts)
                else:
                    drift(k, path[0, k], gain, now, table, pace, centroids, norms, scale, moved, noted, amplitude, live,
                          frame, state, norm)  # fmt: skip
                adjust(k, path[0, k], S, dS, table, rates, border, competition, dist, thresholds, frozen)
        if offsets[r + 1] > offsets[r]:
            base += t[offsets[r + 1] - 1] + gap
    if whole:
        finish(base, table, pace, centroids, scale, moved, noted, amplitude, live, is_live, frame)
    return found


@compiled
def finish(now, table, pace, centroids, scale, moved, noted, amplitude, live, is_live, frame):
    """Carry out what Full layers still owe their centroids."""
    for k in range(len(table) - 1):
        if table[k, HOW] == RUNNING:
            catch_up(k, now, table, pace, centroids, moved, noted, amplitude, live, is_live, frame)
            for u in range(table[k, UNITS]):
                fold(k, u, scale[table[k, UNIT] + u], table, centroids)


@compiled
def unpack(
    events,  # IN     (coordinates + 2, room) int64: coordinates, polarity, time of every event
    n,  # IN     how many there are
    sizes,  # IN     (coordinates + 1,) of the field, and polarities
    clock,  # INOUT  (3,) when a stream began; time of its latest event, and of its latest vote; -1 before the first
    wrong,  # OUT    (2,) which row and which event is refused
    entry,  # OUT    (room,) place of each event in the flat field
    t,  # OUT    (room,) us since the stream began
):
    """A packet of a stream for `run`; False where an event is refused, and then nothing has changed."""
    times, latest = len(events) - 1, clock[1]
    for i in range(n):
        place = np.int64(0)
        for d in range(times):
            if events[d, i] < 0 or events[d, i] >= sizes[d]:
                wrong[0], wrong[1] = d, i
                return False
            place = place * sizes[d] + events[d, i]
        if events[times, i] < latest or events[times, i] < 0:
            wrong[0], wrong[1] = times, i
            return False
        latest = events[times, i]
        entry[i] = place
    if n > 0:
        if clock[0] < 0:
            clock[0] = events[times, 0]
        clock[1] = latest
        for i in range(n):
            t[i] = events[times, i] - clock[0]
    return True


@compiled
def tally(found, t, came, fired, forget, clock, votes, ahead):
    """Count the votes of a packet; older ones fade by exp(forget dt). ahead: the leading class, its share."""
    for i in range(found):
        now = t[came[i]]
        if forget < 0:
            faded = exp((now - clock[2]) * forget) if clock[2] >= 0 else 0.0
            for c in range(len(votes)):
                votes[c] *= faded
        votes[fired[i]] += 1
        clock[2] = now
    if found > 0:
        best, total = 0, 0.0
        for c in range(len(votes)):
            total += votes[c]
            if votes[c] > votes[best]:
                best = c
        ahead[0], ahead[1] = best, votes[best] / total


@inlined
def write_out(k, now, location, p, table, own, start, runs, pace, context, ts):
    """Write the event in and its surface out: where that begins."""
    entries, row, at, run0 = table[k, ENTRIES], table[k, ROW], table[k, LOCATION], table[k, RUN]
    context0, surface = table[k, CONTEXT], table[k, SURFACE]
    padded = -(-entries // VECTOR) * VECTOR
    context[context0 + own[at + location] + p] = now
    begin = context0 + start[at + location]
    for q in range(table[k, ROWS]):  # whole vectors: what runs over is written over by what follows
        for j in range(0, row, VECTOR):
            elapsed(context, begin + runs[run0 + q] + j, now, ts, surface + q * row + j)
    for j0 in range(surface, surface + padded, VECTOR):
        part = ts[j0 : j0 + VECTOR]
        for j in range(VECTOR):
            part[j] = decayed(part[j] * pace[k, 0])
    ts[surface + entries : surface + padded] = 0
    return surface


@inlined
def fade(k, now, location, p, table, own, out, pace, since, ts):
    """Fade the surface of the event's block and set its own entry: where the surface begins."""
    block, at = out[table[k, LOCATION] + location], table[k, BLOCK]
    padded = -(-table[k, ENTRIES] // VECTOR) * VECTOR
    surface = table[k, SURFACE] + block * padded
    decay = exp((now - since[at + block]) * pace[k, 0])
    since[at + block] = now
    for j0 in range(surface, surface + padded, VECTOR):
        part = ts[j0 : j0 + VECTOR]
        for j in range(VECTOR):
            faded = part[j] * decay
            part[j] = faded if faded > 1e-18 else 0.0
    ts[surface + own[table[k, LOCATION] + location] - block * table[k, ENTRIES] + p] = 1.0
    return surface


@inlined
def compare(k, surface, table, centroids, ts, dist):
    """Distances of all units from a surface: the closest."""
    unit0, vectors = table[k, UNIT], -(-table[k, ENTRIES] // VECTOR)
    f, closest = 0, np.inf
    for u in range(table[k, UNITS]):
        apart = squared_distance(ts, surface, centroids, table[k, UPDATE] + u * vectors * VECTOR, vectors)
        dist[unit0 + u] = sqrt(apart)
        if apart < closest:
            f, closest = u, apart
    return f


@inlined
def approach(k, f, surface, gain, table, centroids, ts):
    """C += gain (ts - c), where there is a surface."""
    vectors = -(-table[k, ENTRIES] // VECTOR)
    begin = table[k, UPDATE] + f * vectors * VECTOR
    add_scaled(centroids, begin, -gain, centroids, begin, vectors)
    add_scaled(centroids, begin, gain, ts, surface, vectors)


@inlined
def follow(k, now, location, p, table, own, pace, centroids, norms, scale, moved, noted, amplitude, live, is_live,
           frame, context, since, state, norm, dist):  # fmt: skip
    """Let the dot products of a Full layer follow the event: the closest unit."""
    units, lanes, unit0, state0 = table[k, UNITS], table[k, LANES], table[k, UNIT], table[k, STATE]
    context0, block0 = table[k, CONTEXT], table[k, BLOCK]
    if (frame[0, k] - now) * pace[k, 0] > REACH:
        catch_up(k, now, table, pace, centroids, moved, noted, amplitude, live, is_live, frame)
    e = own[table[k, LOCATION] + location] + p
    v_old = decayed((now - context[context0 + e]) * pace[k, 0])
    decay = decayed((now - since[block0]) * pace[k, 0])
    context[context0 + e] = now
    since[block0] = now
    row = table[k, UPDATE] + e * lanes
    for u in range(units):  # what the entry owes since it was set, then what it adds to the dot product
        centroids[row + u] += amplitude[context0 + e] * (moved[unit0 + u] - noted[row + u])
        noted[row + u] = moved[unit0 + u]
        state[state0 + u] = state[state0 + u] * decay + (1.0 - v_old) * scale[unit0 + u] * centroids[row + u]
    amplitude[context0 + e] = np.exp((frame[0, k] - now) * pace[k, 0])
    if not is_live[context0 + e]:
        is_live[context0 + e] = True
        live[context0 + frame[1, k]] = e
        frame[1, k] += 1
    norm[block0] = norm[block0] * decay * decay + (1.0 - v_old * v_old)
    f, closest = 0, np.inf
    for u in range(units):
        apart = norm[block0] + norms[unit0 + u] - 2.0 * state[state0 + u]
        dist[unit0 + u] = sqrt(max(apart, 0.0))
        if apart < closest:
            f, closest = u, apart
    return f


@inlined
def drift(k, f, gain, now, table, pace, centroids, norms, scale, moved, noted, amplitude, live, frame, state, norm):
    """C += gain (ts - c) in a Full layer: its norm and dot product, A and H."""
    unit, dot, square = table[k, UNIT] + f, table[k, STATE] + f, norm[table[k, BLOCK]]
    left = 1.0 - gain
    norms[unit] = left * left * norms[unit] + 2.0 * gain * left * state[dot] + gain * gain * square
    state[dot] = left * state[dot] + gain * square
    decay = decayed((now - frame[0, k]) * pace[k, 0])
    if 1e-3 < abs(scale[unit] * left) < 1e3:
        scale[unit] *= left
        moved[unit] += gain * decay / scale[unit]
        return
    lanes, context0 = table[k, LANES], table[k, CONTEXT]  # A would soon vanish or overflow: carry it out
    for n in range(frame[1, k]):
        e = live[context0 + n]
        owed = amplitude[context0 + e] * (moved[unit] - noted[table[k, UPDATE] + e * lanes + f])
        centroids[table[k, UPDATE] + e * lanes + f] += owed
    fold(k, f, scale[unit] * left, table, centroids)
    scale[unit], moved[unit] = 1.0, gain * decay
    for n in range(frame[1, k]):
        noted[table[k, UPDATE] + live[context0 + n] * lanes + f] = 0.0


@compiled
def fold(k, f, factor, table, centroids):
    """Multiply a unit's v by what was its scale."""
    for e in range(table[k, ENTRIES]):
        centroids[table[k, UPDATE] + e * table[k, LANES] + f] *= factor


@compiled
def catch_up(k, now, table, pace, centroids, moved, noted, amplitude, live, is_live, frame):
    """Move t0 up to now: every live entry gets what it owes, and those that have faded are let go."""
    lanes, units, unit0, context0 = table[k, LANES], table[k, UNITS], table[k, UNIT], table[k, CONTEXT]
    decay = decayed((now - frame[0, k]) * pace[k, 0])
    still = 0
    for n in range(frame[1, k]):
        e = live[context0 + n]
        row = table[k, UPDATE] + e * lanes
        for u in range(units):
            centroids[row + u] += amplitude[context0 + e] * (moved[unit0 + u] - noted[row + u])
            noted[row + u] = 0.0
        amplitude[context0 + e] *= decay
        is_live[context0 + e] = amplitude[context0 + e] > 1e-18
        if is_live[context0 + e]:
            live[context0 + still] = e
            still += 1
        else:
            amplitude[context0 + e] = 0.0
    moved[unit0 : unit0 + units] = 0.0
    frame[0, k], frame[1, k] = now, still


@inlined
def unshared(k, f, place, now, table, pace, feedback, spoke, crowd):
    """|S| of an output: 1 - mean of the other units' ftv, their sum kept running."""
    unit, here = table[k, FEEDBACK] + place * table[k, UNITS] + f, table[k, PLACE] + place
    own_fade = decayed((now - feedback[unit]) * pace[k, 1])
    crowd[here] = crowd[here] * decayed((now - spoke[here]) * pace[k, 1]) + (1.0 - own_fade)
    feedback[unit] = now
    spoke[here] = now
    return 1.0 - (crowd[here] - 1.0) / max(table[k, UNITS] - 1, 1)


@inlined
def adjust(k, f, S, dS, table, rates, border, competition, dist, thresholds, frozen):
    """Steps of layer k's thresholds."""
    unit0, width = table[k, UNIT], -1.0 / rates[k, 4]
    gain = rates[k, 2] * dS + rates[k, 3] * S
    if gain == 0 or thresholds[unit0 + f] == np.inf:
        return
    compete = competition and S >= -SLACK and dS >= -SLACK
    for u in range(unit0, unit0 + table[k, UNITS]):
        if (u == unit0 + f or (compete and dist[u] < thresholds[u])) and not frozen[u]:
            step = gain * decayed((thresholds[u] - dist[u] if border else dist[u]) * width)
            thresholds[u] = max(thresholds[u] + (step if u == unit0 + f else -step), 0.0)
