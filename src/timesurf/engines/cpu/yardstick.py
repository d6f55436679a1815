"""The reference's arithmetic, event by event, compiled by numba: what the speed of this engine is measured against.

No optimisation: every event pays for every entry of every surface. Benchmarks call it the plain engine. It also
computes `surfaces`, because it writes every surface out.
"""

from __future__ import annotations

from math import exp, log, sqrt
from typing import NamedTuple

import numpy as np

from timesurf.engines.cpu import steps
from timesurf.engines.cpu.bundles import Counts, Events, Evidence, Settings
from timesurf.engines.cpu.layout import Plan, Stages, written_plan
from timesurf.engines.cpu.vector import VECTOR, decayed
from timesurf.engines.data import DEFAULT, Array, Batch, Options, Outcome, Parameters
from timesurf.rule import DOUBT, Rule
from timesurf.storage.kernels import njit

NEVER = -(2**62)  # the time of an entry that has not fired: exp of so long a decay is 0 exactly
FROZEN, ONLINE, BATCH = 0, 1, 2  # what happens to the updates

plain = njit(cache=True, nogil=True)


class Weights(NamedTuple):
    """Parameters of all layers, or what is added to them."""

    centroids: Array
    thresholds: Array
    frozen: Array  # units that never change


class State(NamedTuple):
    """What the network remembers, and the current event."""

    context: Array  # last time of every input of every layer
    feedback: Array  # last time of every output
    previous: Array  # S of the previous output at each place
    ts: Array  # the current event's surface in every layer
    dist: Array  # its distance to every unit
    gains: Array  # of every unit's centroid


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
    """Time surfaces of all events that reach a layer, one row per event."""
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
    """Lay everything out flat, run the kernel, write what was learned back."""
    plan, dtype = written_plan(stages), np.dtype(options.dtype)
    weights = _weights(plan, parameters, dtype)
    learned = weights
    if learn == BATCH:
        learned = Weights(np.zeros_like(weights.centroids), np.zeros_like(weights.thresholds), weights.frozen)
    total, outcome = plan.total, Outcome.empty(stages, batch, options, trace=trace)
    play(
        Events.of(batch),
        plan.layout,
        np.array([(stage.tau, stage.feedback_tau) for stage in stages]),
        Settings.of(stages, rule),
        learn,
        State(
            np.empty(total.context0, np.int64),
            np.empty(total.feedback0, np.int64),
            np.empty(total.place0),
            np.empty(total.surface0, dtype),
            np.empty(total.unit0, dtype),
            np.empty(total.unit0),
        ),
        weights,
        learned,
        Counts(outcome.kept, outcome.votes),
        Evidence.of(outcome, options),
        outcome.trace,
        np.empty((0, plan.layers[-1].entries), dtype) if seen is None else seen,
    )
    if not trace:
        outcome.trace = None
    if learn == BATCH:
        weights.centroids[:] += learned.centroids
        weights.thresholds[:] = np.maximum(weights.thresholds + learned.thresholds, 0)
    if learn != FROZEN:
        for k, units in enumerate(parameters):
            free = np.flatnonzero(~units.frozen)
            units.centroids.reshape(len(units.frozen), -1)[free] = plan.rows(k, weights.centroids)[free]
            units.thresholds[free] = plan.units(k, weights.thresholds)[free]
    return outcome


def _weights(plan: Plan, parameters: Parameters, dtype: np.dtype) -> Weights:
    units = plan.total.unit0
    weights = Weights(np.zeros(plan.total.update0, dtype), np.full(units, np.inf, dtype), np.zeros(units, np.bool_))
    for k, layer in enumerate(plan.layers):
        plan.rows(k, weights.centroids)[: layer.units] = parameters[k].centroids.reshape(layer.units, -1)
        plan.units(k, weights.thresholds)[:] = parameters[k].thresholds
        plan.units(k, weights.frozen)[:] = parameters[k].frozen
    return weights


@plain
def play(
    events,  # IN     Events
    layout,  # IN     Layout
    tau,  # IN     (layers, 2) us: tau, feedback_tau
    settings,  # IN     Settings
    learn,  # IN     FROZEN, ONLINE or BATCH
    state,  # WORK   State
    weights,  # IN     Weights (INOUT when learning online)
    learned,  # INOUT  where updates are added: the weights themselves, or their sum over the batch
    counts,  # OUT    Counts
    evidence,  # OUT    Evidence
    trace,  # OUT    Trace; empty: not wanted
    seen,  # OUT    (arriving, entries) surfaces that reach the last layer, or empty: not wanted
):
    """Every event of every recording through every layer."""
    entry, t, offsets, label = events
    layers = len(layout.layers)
    fired = np.empty(layers, dtype=np.int64)
    place = np.empty(layers, dtype=np.int64)  # where each layer's output goes
    S = np.empty(layers)
    dS = np.empty(layers)
    arrived = 0
    for r in range(len(label)):
        state.context[:] = NEVER
        state.feedback[:] = NEVER
        state.previous[:] = 0.0
        for i in range(offsets[r], offsets[r + 1]):
            now = t[i]
            location = entry[i] // layout.layers[0].polarities
            p = entry[i] % layout.layers[0].polarities
            depth = 0
            for k in range(layers):
                layer = layout.layers[k]
                slopes = settings.slopes[k]
                f, closest = look(layer, now, location, p, layout, tau[k, 0], slopes, state, weights.centroids)
                if k == layers - 1 and len(seen) > 0:
                    seen[arrived] = state.ts[layer.surface0 : layer.surface0 + layer.entries]
                    arrived += 1
                if len(trace.winner) > 0:
                    trace.winner[i, k] = f
                    trace.distance[i, k] = closest
                if not closest < weights.thresholds[layer.unit0 + f]:
                    break
                fired[k] = f
                location = layout.out[layer.location0 + location]
                place[k] = location
                p = f
                state.feedback[layer.feedback0 + location * layer.units + f] = now
                counts.kept[r, k] += 1
                depth += 1
            if len(trace.winner) > 0:
                trace.passed[i] = depth
            if depth < layers:
                continue
            voted = layout.voted[f]
            counts.votes[r, voted] += 1
            if len(evidence.total) > 0:
                state.gains[:] = 0.0
                add_shares(layer, layout.voted, evidence.temperature, -1, 1.0, state)
                for c in range(evidence.total.shape[1]):
                    of_class = 0.0
                    for n in range(layer.units):
                        of_class += state.gains[layer.unit0 + n] if layout.voted[n] == c else 0.0
                    evidence.total[r, c] += log(of_class + DOUBT)
            if learn == FROZEN and len(trace.winner) == 0:
                continue
            for k in range(layers):
                layer = layout.layers[k]
                others = ftv_of_others(layer, now, place[k], fired[k], state.feedback, tau[k, 1])
                S[k] = steps.sign(label[r], voted) * steps.separability(others, layer.units)
                dS[k] = steps.change(S[k], layer.place0 + place[k], state.previous)
                if len(trace.winner) > 0:
                    trace.S[i, k] = S[k]
            if learn == FROZEN:
                continue
            for k in range(layers):
                above = min(k + 1, layers - 1)
                layer, rates = layout.layers[k], settings.rates[k]
                state.gains[:] = 0.0
                if settings.by_delta and k == layers - 1 and label[r] >= 0:
                    add_shares(layer, layout.voted, settings.temperature, label[r], rates.alpha, state)
                    add_shares(layer, layout.voted, settings.temperature, -1, -rates.alpha, state)
                else:
                    state.gains[layer.unit0 + fired[k]] = steps.centroid_gain(rates, S[above], dS[above])
                update(layer, rates, fired[k], S[above], dS[above], settings, learn == ONLINE, state, weights, learned)


@plain
def look(layer, now, location, p, layout, tau, slopes, state, centroids):
    """Write the event into a layer, read its surface, find the closest unit: (unit, distance)."""
    entries, row, context0, surface0 = layer.entries, layer.row, layer.context0, layer.surface0
    context, ts, dist = state.context, state.ts, state.dist
    context[context0 + layout.own[layer.location0 + location] + p] = now
    for q in range(layer.rows):
        begin = context0 + layout.start[layer.location0 + location] + layout.runs[layer.run0 + q]
        if layer.scales == 1:
            for j in range(row):
                ts[surface0 + q * row + j] = exp(-(now - context[begin + j]) / tau)
            continue
        for j in range(row):
            for s in range(layer.scales):
                ts[surface0 + (q * row + j) * layer.scales + s] = exp((now - context[begin + j]) * slopes[s])
    f, closest = 0, np.inf
    for n in range(layer.units):
        c = layer.update0 + n * layer.vectors * VECTOR
        total = 0.0
        for j in range(entries):
            apart = ts[surface0 + j] - centroids[c + j]
            total += apart * apart
        dist[layer.unit0 + n] = sqrt(total)
        if dist[layer.unit0 + n] < closest:
            f, closest = n, dist[layer.unit0 + n]
    return f, closest


@plain
def ftv_of_others(layer, now, place, fired, feedback, feedback_tau):
    """Sum of the other units' ftv at a place."""
    begin = layer.feedback0 + place * layer.units
    others = 0.0
    for n in range(layer.units):
        if n != fired:
            others += exp(-(now - feedback[begin + n]) / feedback_tau)
    return others


@plain
def add_shares(layer, voted, temperature, label, factor, state):
    """Add `factor` times the share of every unit among those of this class, or among all (-1), to the gains."""
    unit0, least, total = layer.unit0, np.inf, 0.0
    for n in range(layer.units):
        if label in (-1, voted[n]):
            least = min(least, state.dist[unit0 + n] ** 2)
    for n in range(layer.units):
        if label in (-1, voted[n]):
            total += exp(-temperature * (state.dist[unit0 + n] ** 2 - least))
    for n in range(layer.units):
        if label in (-1, voted[n]):
            state.gains[unit0 + n] += factor * exp(-temperature * (state.dist[unit0 + n] ** 2 - least)) / total


@plain
def update(layer, rates, f, S, dS, settings, at_once, state, weights, learned):
    """Add the steps of a layer's centroids and thresholds to what is learned."""
    unit0, surface0 = layer.unit0, layer.surface0
    for n in range(layer.units):
        gain, c = state.gains[unit0 + n], layer.update0 + n * layer.vectors * VECTOR
        if gain != 0 and not weights.frozen[unit0 + n]:
            for j in range(layer.entries):
                learned.centroids[c + j] += gain * (state.ts[surface0 + j] - weights.centroids[c + j])
    gain = steps.threshold_gain(rates, S, dS)
    compete = steps.competes(settings.competition, S, dS)
    for n in range(layer.units):
        th, away = weights.thresholds[unit0 + n], state.dist[unit0 + n]
        if (n == f or (compete and away < th)) and not weights.frozen[unit0 + n]:
            step = gain * decayed(steps.exponent(th, away, settings.border, -1.0 / rates.d))
            learned.thresholds[unit0 + n] += step if n == f else -step
            if at_once:
                weights.thresholds[unit0 + n] = max(weights.thresholds[unit0 + n], 0.0)
