"""Networks as C, run over recordings, and what the reference makes of the same."""

import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from timesurf import Network, export
from timesurf.engines import Options, reference
from timesurf.export import compiled

STRICT = ("-Wall", "-Wextra", "-Wconversion", "-Werror")


def network_of(case):
    """The network of a random case."""
    layers = [stage.layer for stage in case.stages]
    first = case.stages[0]
    network = Network(layers, first.field, first.polarities, range(case.stages[-1].classes), rule=case.rule)
    network.parameters = case.parameters.copy()
    return network


def run(network, recordings, *, options=("-O1",), cc=None, label=None, kind=compiled.PUSH, **preparing):
    """Recordings through exported C: what became of each event, and the decisions."""
    table, decisions = compiled.commands(recordings, label, kind)
    ran = run_commands(network, table, options=options, cc=cc, **preparing)
    events = np.flatnonzero(table[:, 0] == kind)
    rows = ran._replace(code=ran.code[events], passed=ran.passed[events], fired=ran.fired[events])
    return rows, ran.code[decisions]


def run_commands(network, table, *, options=("-O1",), cc=None, **preparing):
    """Commands through exported C."""
    model = export.prepared(network, "net", **preparing)
    with tempfile.TemporaryDirectory() as place:
        export.write(model, place)
        return compiled.build(model, Path(place), (*STRICT, *options), cc=cc).run(table, timeout=60)


class Expected(NamedTuple):
    winner: np.ndarray
    passed: np.ndarray
    margin: np.ndarray  # (events,) how close the closest call of an event was, in squared distance
    decisions: np.ndarray
    lead: np.ndarray  # (recordings,) of the class decided on, in what decides


def expected(case):
    """What the reference does, and how close each of its choices was."""
    weighed = Options(temperature=case.rule.temperature if case.rule.last == "delta" else 0.0)
    outcome = reference.infer(case.stages, case.parameters, case.batch, weighed, trace=True)
    trace = outcome.trace
    margin = np.full(len(case.batch.entry), np.inf)
    for k, units in enumerate(case.parameters):
        reached = np.flatnonzero(trace.winner[:, k] >= 0)
        surfaces = reference.surfaces(case.stages, case.parameters, case.batch, k)
        squared = ((surfaces[:, None] - units.centroids) ** 2).sum(axis=tuple(range(2, surfaces.ndim + 1)))
        best = squared.min(axis=1)
        others = squared.copy()
        others[np.arange(len(reached)), trace.winner[reached, k]] = np.inf
        close = np.minimum(others.min(axis=1) - best, np.abs(best - units.thresholds[trace.winner[reached, k]] ** 2))
        margin[reached] = np.minimum(margin[reached], close)
    found = outcome.votes if outcome.evidence is None else outcome.evidence
    first, second = np.sort(np.column_stack([found, np.full(len(found), -np.inf)]), axis=1).T[[-1, -2]]
    lead = first - second if outcome.evidence is not None else np.full(len(found), np.inf)  # votes are counted exactly
    return Expected(trace.winner, trace.passed, margin, network_of(case).decide(outcome).classes, lead)


def learned(ran, network, dtype=np.float32):
    """Centroids and thresholds of every layer, from what C saved."""
    numbers, at = np.frombuffer(ran.learned[4:-4], dtype), 0
    for units in network.parameters:
        centroids = numbers[at : at + units.centroids.size].reshape(units.centroids.shape)
        at += units.centroids.size
        yield centroids, numbers[at : at + len(units.thresholds)]
        at += 2 * len(units.thresholds) + units.centroids.size  # what rounding took from both follows
