"""Integrate-and-fire neurons on the CPU: the kernel with its tables, and the spikes that layers emit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.engines.data import Batch, Outcome, Parameters
from timesurf.rule import Rule
from timesurf.spiking import kernel, tables
from timesurf.spiking.layers import Stage

Array = NDArray[Any]
Stages = tuple[Stage, ...]
_wiring = lru_cache(maxsize=8)(tables.wiring)  # the same network is run again and again


def run(
    stages: Stages, parameters: Parameters, batch: Batch, rule: Rule | None = None, order: Array | None = None
) -> Outcome:
    """Run every event of every recording, in this order; with a rule, learn after each output."""
    found = tables.learned(parameters)
    outcome = _run(stages, found, batch, rule, _nothing(), order)
    if rule is not None:
        tables.give_back(found, parameters)
    return outcome


def emitted(stages: Sequence[Stage], parameters: Parameters, batch: Batch) -> Batch:
    """The spikes of the last of these layers, as the layer above it takes them."""
    stages, found = tuple(stages), tables.learned(parameters)
    counts = _run(stages, found, batch, None, _nothing()).kept[:, -1]
    entry, t = np.empty(int(counts.sum()), np.int32), np.empty(int(counts.sum()), np.int64)
    if len(t):
        _run(stages, found, batch, None, (entry, t))
    return Batch(entry, t, np.concatenate([[0], np.cumsum(counts)]), batch.label)


def _nothing() -> tuple[Array, Array]:
    return np.empty(0, np.int32), np.empty(0, np.int64)


def _run(
    stages: Stages,
    found: tables.Learned,
    batch: Batch,
    rule: Rule | None,
    spikes: tuple[Array, Array],
    order: Array | None = None,
) -> Outcome:
    wires, events = _wiring(stages), np.diff(batch.offsets)
    kept = np.zeros((len(events), len(stages)), np.int64)
    votes = np.zeros((len(events), stages[-1].units), np.int64)
    kernel.run(
        (batch.entry.astype(np.int32), batch.t.astype(np.int64), batch.offsets, batch.label),
        np.arange(len(events)) if order is None else order, wires, tables.times(stages),
        tables.rates(rule, len(stages)), found, tables.state(wires), kept, votes, spikes,
    )  # fmt: skip
    return Outcome(events, kept, votes)
