"""The reference engine: NumPy, float64, one event at a time, written straight from the equations.

It is slow and obvious; every other engine is tested against it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from timesurf.engines.data import DEFAULT, Array, Batch, Options, Outcome, Parameters, Units
from timesurf.layers import Place, Stage
from timesurf.rule import DOUBT, Rule, centroid_step, class_shares, delta_gains, separability, sign, threshold_steps

Stages = tuple[Stage, ...]


class Memory:
    """What a layer remembers within one recording.

    Attributes
    ----------
    T : array
        Time of the last input event at every place, per polarity.
    FT : array
        Time of the last output event at every output place, per unit.
    S : array
        S of the previous output event at every output place.
    """

    def __init__(self, stage: Stage) -> None:
        self.T = np.full((*stage.field, stage.polarities), -np.inf)
        self.FT = np.full((*stage.output_field, stage.units), -np.inf)
        self.S = np.zeros(stage.output_field)


@dataclass(slots=True)
class Step:
    """One event in one layer.

    Attributes
    ----------
    ts : array
        The event's time surface.
    dist : array
        Distance of the surface to the centroid of every unit.
    fired : int
        The closest unit.
    passed : bool
        Whether the layer lets the event pass.
    x : tuple of int
        Place of the output event.
    """

    ts: Array
    dist: Array
    fired: int
    passed: bool
    x: Place


def supports(stages: Stages, *, online: bool = False) -> str:
    """Empty: this engine runs every network, online and in batches."""
    return ""


def infer(
    stages: Stages, parameters: Parameters, batch: Batch, options: Options = DEFAULT, *, trace: bool = False
) -> Outcome:
    """Run the events; learn nothing."""
    return _run(stages, parameters, batch, options, trace=trace)


def learn_online(
    stages: Stages, parameters: Parameters, rule: Rule, batch: Batch, options: Options = DEFAULT
) -> Outcome:
    """Run the events and update the parameters after each."""
    return _run(stages, parameters, batch, options, rule=rule, learned=parameters)


def learn_batch(
    stages: Stages, parameters: Parameters, rule: Rule, batch: Batch, options: Options = DEFAULT
) -> Outcome:
    """Run the events with frozen parameters, sum the updates, apply them once."""
    total = Parameters(Units(*(np.zeros_like(array) for array in units.arrays)) for units in parameters)
    outcome = _run(stages, parameters, batch, options, rule=rule, learned=total)
    for units, step in zip(parameters, total, strict=True):
        free = ~units.frozen
        units.centroids[free] += step.centroids[free]
        units.thresholds[free] = np.maximum(units.thresholds + step.thresholds, 0)[free]
    return outcome


def surfaces(stages: Stages, parameters: Parameters, batch: Batch, layer: int) -> Array:
    """Time surfaces of all events that reach a layer, one row per event."""
    rows: list[Array] = []
    _run(stages[: layer + 1], parameters, batch, seen=rows)
    return np.array(rows).reshape(len(rows), *stages[layer].surface_shape)


def _run(
    stages: Stages,
    parameters: Parameters,
    batch: Batch,
    options: Options = DEFAULT,
    *,
    trace: bool = False,
    rule: Rule | None = None,
    learned: Parameters | None = None,
    seen: list[Array] | None = None,
) -> Outcome:
    """Run every event of every recording; add updates to `learned`, and surfaces of the top layer to `seen`."""
    outcome = Outcome.empty(stages, batch, options, trace=trace)
    shape = (*stages[0].field, stages[0].polarities)
    for r, label in enumerate(batch.label):
        memories = [Memory(stage) for stage in stages]
        for i in range(batch.offsets[r], batch.offsets[r + 1]):
            *x, p = (int(v) for v in np.unravel_index(batch.entry[i], shape))
            t = float(batch.t[i])
            steps = forward(stages, parameters, memories, tuple(x), p, t)
            if seen is not None and len(steps) == len(stages):
                seen.append(steps[-1].ts)
            S = dS = np.full(len(stages), np.nan)
            if len(steps) == len(stages) and steps[-1].passed:
                outcome.votes[r, steps[-1].fired // stages[-1].units_per_class] += 1
                if outcome.evidence is not None:
                    share = class_shares(steps[-1].dist ** 2, options.temperature, stages[-1].units_per_class)
                    outcome.evidence[r] += np.log(share + DOUBT)
                S, dS = judge(stages, memories, steps, t, int(label))
                if rule is not None and learned is not None:
                    learn(stages, parameters, rule, steps, S, dS, int(label), learned)
            outcome.kept[r, : len(steps)] += [step.passed for step in steps]
            if trace and outcome.trace is not None:
                outcome.trace.winner[i, : len(steps)] = [step.fired for step in steps]
                outcome.trace.distance[i, : len(steps)] = [step.dist[step.fired] for step in steps]
                outcome.trace.passed[i] = sum(step.passed for step in steps)
                outcome.trace.S[i] = S
    if not trace:
        outcome.trace = None
    return outcome


def forward(stages: Stages, parameters: Parameters, memories: list[Memory], x: Place, p: int, t: float) -> list[Step]:
    """Run one event through the layers, until one rejects it; one `Step` per layer that it reached."""
    steps = []
    for stage, memory, units in zip(stages, memories, parameters, strict=False):
        memory.T[(*x, p)] = t  # written before the surface is read, so the event's own entry is 1
        ts = surface(stage, memory.T, x, t)
        dist = np.sqrt(((ts - units.centroids) ** 2).reshape(stage.units, -1).sum(axis=1))
        f = int(np.argmin(dist))  # ties: the lowest index
        passed = bool(dist[f] < units.thresholds[f])
        x, p = stage.layer.output(x), f
        steps.append(Step(ts, dist, f, passed, x))
        if not passed:
            break
        memory.FT[(*x, f)] = t
    return steps


def surface(stage: Stage, T: Array, x: Place, t: float) -> Array:
    """The time surface of an event at x and t, with every entry at each time constant of the layer."""
    age = t - neighbourhood(stage, T, x)
    ts: Array = np.exp(-age[..., np.newaxis] / np.array(stage.taus))
    return ts.reshape(stage.surface_shape)


def neighbourhood(stage: Stage, T: Array, x: Place) -> Array:
    """The part of T in the neighbourhood of x; entries outside the field have never fired."""
    box = stage.layer.box(stage.field)
    cut = np.full((*box, stage.polarities), -np.inf)
    corner = stage.layer.corner(x)
    low = [max(c, 0) for c in corner]
    high = [min(c + n, size) for c, n, size in zip(corner, box, stage.field, strict=False)]
    inside = tuple(slice(a - c, b - c) for a, b, c in zip(low, high, corner, strict=True))
    cut[inside] = T[tuple(slice(a, b) for a, b in zip(low, high, strict=True))]
    return cut


def judge(stages: Stages, memories: list[Memory], steps: list[Step], t: float, label: int) -> tuple[Array, Array]:
    """S and dS of every layer, for an event that reached the last one."""
    G = sign(steps[-1].fired // stages[-1].units_per_class, label)
    S, dS = np.empty(len(steps)), np.empty(len(steps))
    for k, (stage, memory, step) in enumerate(zip(stages, memories, steps, strict=True)):
        ftv = np.exp(-(t - memory.FT[step.x]) / stage.feedback_tau)
        S[k] = separability(ftv, step.fired, G)
        dS[k] = S[k] - memory.S[step.x]
        memory.S[step.x] = S[k]
    return S, dS


def learn(
    stages: Stages,
    parameters: Parameters,
    rule: Rule,
    steps: list[Step],
    S: Array,
    dS: Array,
    label: int,
    learned: Parameters,
) -> None:
    """Update every layer from S and dS of the layer above it, the last layer from its own or by the delta rule."""
    rates = rule.per_layer(len(steps))
    last = len(steps) - 1
    for k, (stage, step) in enumerate(zip(stages, steps, strict=True)):
        above = min(k + 1, last)
        alpha, beta, gamma, delta, d = rates[k]
        c, th, f = parameters[k].centroids, parameters[k].thresholds, step.fired
        gains = np.zeros(stage.units)
        gains[f] = alpha * dS[above] + beta * S[above]
        if k == last and rule.last == "delta" and label >= 0:
            gains = alpha * delta_gains(step.dist**2, rule.temperature, label, stage.units_per_class)
        th_steps = threshold_steps(th, step.dist, f, S[above], dS[above], gamma * dS[above] + delta * S[above], d, rule)
        free = ~parameters[k].frozen
        for n in np.flatnonzero(free & (gains != 0)):
            learned[k].centroids[n] += centroid_step(step.ts, c[n], gains[n])
        learned[k].thresholds[free] += th_steps[free]
        if learned is parameters:
            th[free] = np.maximum(th[free], 0)
