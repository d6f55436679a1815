"""The plain engine: the reference's arithmetic, event by event, compiled by numba.

No trick: every event pays for every entry of every surface. It is what the CPU engine's speed is measured against.

Layers differ in size, so everything a kernel reads or writes lies in flat arrays, layer after layer, and `where` says
where each layer's part begins. Rows of `where` are layers, columns are named by the constants below.
"""

from __future__ import annotations

from math import exp, sqrt

import numpy as np

from timesurf.engines.cpu.geometry import geometry
from timesurf.engines.data import DEFAULT, Array, Batch, Options, Outcome, Parameters
from timesurf.layers import Stage
from timesurf.rule import SLACK, Rule
from timesurf.storage.kernels import njit

Stages = tuple[Stage, ...]

UNITS, ENTRIES, POLARITIES, LOCATION, GATHER, CONTEXT, CENTROID, UNIT, FEEDBACK, OUTPUT = range(10)
COLUMNS = 10
NEVER = -(2**62)  # the time of an entry that has not fired: exp of so long a decay is 0 exactly
FROZEN, ONLINE, BATCH = 0, 1, 2  # what becomes of the updates


def supports(stages: Stages, *, online: bool = False) -> str:
    """Every network, online and in batches."""
    return ""


def infer(
    stages: Stages, parameters: Parameters, batch: Batch, options: Options = DEFAULT, *, trace: bool = False
) -> Outcome:
    """Run the events; learn nothing."""
    return _run(stages, parameters, batch, Rule(), FROZEN, options, trace=trace)


def learn_online(
    stages: Stages, parameters: Parameters, rule: Rule, batch: Batch, options: Options = DEFAULT
) -> Outcome:
    """Run the events and update the parameters after each."""
    return _run(stages, parameters, batch, rule, ONLINE, options)


def learn_batch(
    stages: Stages, parameters: Parameters, rule: Rule, batch: Batch, options: Options = DEFAULT
) -> Outcome:
    """Run the events with frozen parameters, sum the updates, apply them once."""
    return _run(stages, parameters, batch, rule, BATCH, options)


def surfaces(stages: Stages, parameters: Parameters, batch: Batch, layer: int) -> Array:
    """Time surfaces of all events that reach a layer, one row a event."""
    arriving = len(batch.entry)
    if layer > 0:
        arriving = int(infer(stages[:layer], parameters, batch).kept[:, -1].sum())
    stage = stages[layer]
    rows = np.empty((arriving, int(np.prod(stage.surface_shape))), dtype=np.float64)
    _run(stages[: layer + 1], parameters, batch, Rule(), FROZEN, DEFAULT, seen=rows)
    return rows.reshape(arriving, *stage.surface_shape)


def _run(
    stages: Stages,
    parameters: Parameters,
    batch: Batch,
    rule: Rule,
    learn: int,
    options: Options,
    *,
    trace: bool = False,
    seen: Array | None = None,
) -> Outcome:
    """Lay everything out flat, run the kernel, put what was learnt back."""
    tables = [geometry(stage) for stage in stages]
    where = np.zeros((len(stages) + 1, COLUMNS), dtype=np.int64)
    for k, (stage, table) in enumerate(zip(stages, tables, strict=True)):
        outputs = int(np.prod(stage.output_field))
        where[k, :LOCATION] = stage.units, len(table.gather), stage.polarities
        sizes = (
            len(table.own),
            len(table.gather),
            table.context,
            stage.units * len(table.gather),
            stage.units,
            outputs * stage.units,
            outputs,
        )
        where[k + 1, LOCATION:] = where[k, LOCATION:] + sizes
    total = where[-1]
    dtype = np.dtype(options.dtype)
    layers = range(len(stages))
    centroids = np.concatenate([parameters[k].centroids.ravel() for k in layers], dtype=dtype)
    thresholds = np.concatenate([parameters[k].thresholds for k in layers], dtype=dtype)
    learnt = (centroids, thresholds)
    if learn == BATCH:
        learnt = (np.zeros_like(centroids), np.zeros_like(thresholds))
    outcome = Outcome.empty(stages, batch, trace=trace)
    record = outcome.trace
    assert record is not None
    play(
        batch.entry,
        batch.t,
        batch.offsets,
        batch.label,
        where[:-1],
        np.concatenate([table.own for table in tables]),
        np.concatenate([table.start for table in tables]),
        np.concatenate([table.gather for table in tables]),
        np.concatenate([table.out for table in tables]),
        np.array([stage.tau for stage in stages]),
        np.array([stage.feedback_tau for stage in stages]),
        rule.per_layer(len(stages)),
        rule.kernel == "border",
        rule.competition,
        learn,
        np.empty(total[CONTEXT], dtype=np.int64),
        np.empty(total[FEEDBACK], dtype=np.int64),
        np.empty(total[OUTPUT], dtype=np.float64),
        np.empty(total[GATHER], dtype=dtype),
        np.empty(total[UNIT], dtype=dtype),
        centroids,
        thresholds,
        np.concatenate([parameters[k].frozen for k in layers]),
        *learnt,
        outcome.kept,
        outcome.votes,
        record.winner,
        record.distance,
        record.S,
        record.passed,
        np.empty((0, total[GATHER] - where[-2, GATHER]), dtype=dtype) if seen is None else seen,
    )
    if not trace:
        outcome.trace = None
    if learn == BATCH:
        centroids += learnt[0]
        thresholds[:] = np.maximum(thresholds + learnt[1], 0)
    if learn != FROZEN:
        for k in layers:
            free, c = ~parameters[k].frozen, centroids[where[k, CENTROID] : where[k + 1, CENTROID]]
            parameters[k].centroids[free] = c.reshape(parameters[k].centroids.shape)[free]
            parameters[k].thresholds[free] = thresholds[where[k, UNIT] : where[k + 1, UNIT]][free]
    return outcome


@njit(cache=True, nogil=True)
def play(
    entry,  # IN     (events,) place of each event in the flat input field
    t,  # IN     (events,) us, since the recording's first event
    offsets,  # IN     (recordings + 1,)
    label,  # IN     (recordings,) index of the class, -1 if unknown
    where,  # IN     (layers, COLUMNS) sizes of every layer and where its parts begin
    own,  # IN     geometry of all layers, see engines/cpu/geometry.py
    start,  # IN
    gather,  # IN
    out,  # IN
    tau,  # IN     (layers,) us
    feedback_tau,  # IN     (layers,) us
    rates,  # IN     (layers, 5) alpha, beta, gamma, delta, d
    border,  # IN     which kernel of the thresholds
    competition,  # IN
    learn,  # IN     FROZEN, ONLINE or BATCH
    context,  # WORK   last time of every input of every layer
    feedback,  # WORK   last time of every output
    previous,  # WORK   S of the previous output at each place
    ts,  # WORK   the current event's surface in every layer
    dist,  # WORK   its distance to every unit
    centroids,  # IN     all layers' (INOUT when learning online)
    thresholds,  # IN     all layers' (INOUT when learning online)
    frozen,  # IN     units that never change
    learnt_centroids,  # INOUT  where updates are added: the parameters themselves, or their sum over the batch
    learnt_thresholds,  # INOUT
    kept,  # OUT    (recordings, layers)
    votes,  # OUT    (recordings, classes)
    winner,  # OUT    (events, layers), or empty: no trace
    distance,  # OUT    (events, layers), or empty
    separability,  # OUT    (events, layers), or empty
    passed,  # OUT    (events,), or empty
    seen,  # OUT    (arriving, entries) surfaces that reach the last layer, or empty
):
    """Every event of every recording through every layer."""
    layers = len(where)
    fired = np.empty(layers, dtype=np.int64)
    place = np.empty(layers, dtype=np.int64)  # where each layer's output goes
    S = np.empty(layers)
    dS = np.empty(layers)
    arrived = 0
    for r in range(len(label)):
        context[:] = NEVER
        feedback[:] = NEVER
        previous[:] = 0.0
        for i in range(offsets[r], offsets[r + 1]):
            now = t[i]
            location = entry[i] // where[0, POLARITIES]
            p = entry[i] % where[0, POLARITIES]
            depth = 0
            for k in range(layers):
                f, closest = look(k, now, location, p, where, own, start, gather, tau[k], context, ts, dist, centroids)
                if k == layers - 1 and len(seen) > 0:
                    seen[arrived] = ts[where[k, GATHER] : where[k, GATHER] + where[k, ENTRIES]]
                    arrived += 1
                if len(winner) > 0:
                    winner[i, k] = f
                    distance[i, k] = closest
                if not closest < thresholds[where[k, UNIT] + f]:
                    break
                fired[k] = f
                location = out[where[k, LOCATION] + location]
                place[k] = location
                p = f
                feedback[where[k, FEEDBACK] + location * where[k, UNITS] + f] = now
                kept[r, k] += 1
                depth += 1
            if len(passed) > 0:
                passed[i] = depth
            if depth < layers:
                continue
            votes[r, f] += 1
            if learn == FROZEN and len(winner) == 0:
                continue
            G = 1.0 if label[r] == f or label[r] == -1 else -1.0
            for k in range(layers):
                S[k] = G * unshared(k, now, place[k], fired[k], where, feedback, feedback_tau[k])
                dS[k] = S[k] - previous[where[k, OUTPUT] + place[k]]
                previous[where[k, OUTPUT] + place[k]] = S[k]
                if len(winner) > 0:
                    separability[i, k] = S[k]
            if learn == FROZEN:
                continue
            for k in range(layers):
                above = min(k + 1, layers - 1)
                update(
                    k, fired[k], S[above], dS[above], where, rates, border, competition, learn == ONLINE,
                    ts, dist, centroids, thresholds, frozen, learnt_centroids, learnt_thresholds,
                )  # fmt: skip


@njit(cache=True, nogil=True)
def look(k, now, location, p, where, own, start, gather, tau, context, ts, dist, centroids):
    """Write the event into layer k, read its surface, find the closest unit: (unit, distance)."""
    entries, units = where[k, ENTRIES], where[k, UNITS]
    ctx, first, unit = where[k, CONTEXT], where[k, GATHER], where[k, UNIT]
    context[ctx + own[where[k, LOCATION] + location] + p] = now
    begin = ctx + start[where[k, LOCATION] + location]
    for j in range(entries):
        ts[first + j] = exp(-(now - context[begin + gather[first + j]]) / tau)
    f, closest = 0, np.inf
    for n in range(units):
        c = where[k, CENTROID] + n * entries
        total = 0.0
        for j in range(entries):
            q = ts[first + j] - centroids[c + j]
            total += q * q
        dist[unit + n] = sqrt(total)
        if dist[unit + n] < closest:
            f, closest = n, dist[unit + n]
    return f, closest


@njit(cache=True, nogil=True)
def unshared(k, now, place, fired, where, feedback, feedback_tau):
    """|S| of layer k: 1 - mean of the other units' feedback."""
    units = where[k, UNITS]
    begin = where[k, FEEDBACK] + place * units
    others = 0.0
    for n in range(units):
        if n != fired:
            others += exp(-(now - feedback[begin + n]) / feedback_tau)
    return 1.0 - others / max(units - 1, 1)


@njit(cache=True, nogil=True)
def update(
    k, f, S, dS, where, rates, border, competition, at_once,
    ts, dist, centroids, thresholds, frozen, learnt_centroids, learnt_thresholds,
):  # fmt: skip
    """Add the steps of layer k's centroids and thresholds to what is learnt."""
    entries, first, unit = where[k, ENTRIES], where[k, GATHER], where[k, UNIT]
    c = where[k, CENTROID] + f * entries
    gain = rates[k, 0] * dS + rates[k, 1] * S
    if not frozen[unit + f]:
        for j in range(entries):
            learnt_centroids[c + j] += gain * (ts[first + j] - centroids[c + j])
    gain = rates[k, 2] * dS + rates[k, 3] * S
    compete = competition and S >= -SLACK and dS >= -SLACK
    for n in range(where[k, UNITS]):
        th, away = thresholds[unit + n], dist[unit + n]
        if (n == f or (compete and away < th)) and not frozen[unit + n]:
            step = gain * exp(-(th - away if border else away) / rates[k, 4])
            learnt_thresholds[unit + n] += step if n == f else -step
            if at_once:
                thresholds[unit + n] = max(thresholds[unit + n], 0.0)
