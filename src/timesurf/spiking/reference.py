"""Integrate-and-fire neurons in NumPy, float64, one spike at a time, straight from the equations: the tests' oracle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.engines.data import Batch, Outcome, Parameters
from timesurf.layers import Place
from timesurf.rule import Rule, separability, sign
from timesurf.spiking.layers import Stage
from timesurf.spiking.rule import direction, moved, threshold_factors

Array = NDArray[Any]
Stages = tuple[Stage, ...]


class Memory:
    """What a layer remembers within one recording, one entry per input (T) or per place."""

    def __init__(self, stage: Stage) -> None:
        places = stage.output_field
        self.T = np.full((*stage.field, stage.polarities), -np.inf)  # time of the last spike of every input
        self.v = np.zeros((*places, stage.units))  # potentials, at the time `since`
        self.since = np.zeros(places)
        self.quiet = np.full(places, float(stage.layer.refractory))  # no spike before this time
        self.FT = np.full((*places, stage.units), -np.inf)  # time of the last spike of every neuron
        self.S = np.zeros(places)  # of the previous spike that an output followed from


@dataclass(slots=True)
class Spike:
    """One neuron firing: where, which, the potentials of its place before the reset, the direction of its traces."""

    place: Place
    fired: int
    v: Array
    u: Array


@dataclass(slots=True)
class Run:
    """One recording on its way through a network."""

    stages: Stages
    parameters: Parameters
    rule: Rule | None  # None: learn nothing
    memories: list[Memory]
    label: int
    kept: Array
    votes: Array

    def hear(self, x: Place, p: int, t: float, chain: tuple[Spike, ...] = ()) -> None:
        """One input spike of a layer, in every place that hears it, and all that follows from it."""
        stage, memory = self.stages[len(chain)], self.memories[len(chain)]
        memory.T[(*x, p)] = t
        for place in stage.layer.places(x, stage.field):
            spike = self.integrate(stage, memory, len(chain), place, x, p, t)
            if spike is None:
                continue
            self.kept[len(chain)] += 1
            if len(chain) < len(self.stages) - 1:
                self.hear(place, spike.fired, t, (*chain, spike))
            else:
                self.output((*chain, spike), t)

    def integrate(self, stage: Stage, memory: Memory, k: int, place: Place, x: Place, p: int, t: float) -> Spike | None:
        """Add one spike to the potentials of a place; the neuron that fires, if any."""
        layer, units = stage.layer, self.parameters[k]
        corner = layer.corner(place) or (0,) * len(x)
        synapse = (*(v - c for v, c in zip(x, corner, strict=True)), p)
        w = units.centroids.reshape(stage.units, -1)[:, np.ravel_multi_index(synapse, stage.shape)]
        v = memory.v[place] * np.exp(-(t - memory.since[place]) / float(layer.tau)) + w
        memory.v[place], memory.since[place] = v, t
        th = np.where(np.isfinite(units.thresholds), units.thresholds, 0.0)  # no threshold: the strongest fires
        f = int(np.argmax(v - th))  # ties: the lowest index
        if v[f] < units.thresholds[f] or t < memory.quiet[place]:
            return None
        spike = Spike(place, f, v.copy(), direction(traces(stage, memory, place, t), layer.inhibition))
        memory.v[place] = v - th[f] if layer.reset == "subtract" else 0.0
        memory.quiet[place] = t + float(layer.refractory)
        memory.FT[(*place, f)] = t
        return spike

    def output(self, chain: tuple[Spike, ...], t: float) -> None:
        """A spike of the last layer: count it, and learn from it."""
        self.votes[chain[-1].fired] += 1
        G = sign(chain[-1].fired, self.label)
        S, dS = np.empty(len(chain)), np.empty(len(chain))
        for k, (stage, memory, spike) in enumerate(zip(self.stages, self.memories, chain, strict=True)):
            ftv = np.exp(-(t - memory.FT[spike.place]) / float(stage.layer.feedback_tau or stage.layer.tau))
            S[k] = separability(ftv, spike.fired, G)
            dS[k] = S[k] - memory.S[spike.place]
            memory.S[spike.place] = S[k]
        if self.rule is not None:
            learn(self.parameters, self.rule, chain, S, dS)


def traces(stage: Stage, memory: Memory, place: Place, t: float) -> Array:
    """Traces of all synapses of a place: 1 just after a spike, 0 where none came yet and outside the field."""
    T = np.full(stage.shape, -np.inf)
    corner = stage.layer.corner(place) or (0,) * len(stage.field)
    low = [max(c, 0) for c in corner]
    high = [min(c + n, size) for c, n, size in zip(corner, stage.shape, stage.field, strict=False)]
    inside = tuple(slice(a - c, b - c) for a, b, c in zip(low, high, corner, strict=True))
    T[inside] = memory.T[tuple(slice(a, b) for a, b in zip(low, high, strict=True))]
    ts: Array = np.exp(-(t - T) / float(stage.layer.trace_tau or stage.layer.tau))
    return ts


def learn(parameters: Parameters, rule: Rule, chain: tuple[Spike, ...], S: Array, dS: Array) -> None:
    """Every layer of a chain of spikes learns from S and dS of the layer above it, the last from its own."""
    last = len(chain) - 1
    for k, (spike, (alpha, beta, gamma, delta, d)) in enumerate(zip(chain, rule.per_layer(len(chain)), strict=True)):
        above, units, f = min(k + 1, last), parameters[k], spike.fired
        gain = alpha * dS[above] + beta * S[above]
        if gain != 0 and not units.frozen[f]:
            units.centroids[f] = moved(units.centroids[f], spike.u, gain)
        if k < last:
            gain = gamma * dS[above] + delta * S[above]
            factors = threshold_factors(units.thresholds, spike.v, f, S[above], dS[above], gain, d, rule)
            units.thresholds[~units.frozen] *= factors[~units.frozen]


def run(stages: Stages, parameters: Parameters, batch: Batch, rule: Rule | None = None) -> Outcome:
    """Run every event of every recording; with a rule, learn after each output."""
    events = np.diff(batch.offsets)
    kept = np.zeros((len(events), len(stages)), np.int64)
    votes = np.zeros((len(events), stages[-1].units), np.int64)
    shape = (*stages[0].field, stages[0].polarities)
    for r, label in enumerate(batch.label):
        memories = [Memory(stage) for stage in stages]
        one = Run(stages, parameters, rule, memories, int(label), kept[r], votes[r])
        for i in range(batch.offsets[r], batch.offsets[r + 1]):
            *x, p = (int(v) for v in np.unravel_index(batch.entry[i], shape))
            one.hear(tuple(x), p, float(batch.t[i]))
    return Outcome(events, kept, votes)
