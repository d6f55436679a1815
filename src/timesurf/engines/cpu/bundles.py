"""What the kernels of frozen and of changing weights have in common, as named tuples of arrays.

numba takes a named tuple apart into its arrays, so inside a kernel a bundle costs no more than these as arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from timesurf.engines.cpu.layout import Plan
from timesurf.engines.data import Array, Batch, Options, Outcome
from timesurf.layers import Stage
from timesurf.rule import RATES, Rule

New = Callable[[Any, Any], Array]  # makes an array of this shape and type


class Events(NamedTuple):
    """Events of some recordings."""

    entry: Array  # (events,) place of each event in the flat input field
    t: Array  # (events,) us, since the recording's first event
    offsets: Array  # (recordings + 1,)
    label: Array  # (recordings,) index of the class, -1 if unknown

    @classmethod
    def of(cls, batch: Batch, t: Array | None = None) -> Events:
        """Those of a batch, with these times instead of its own where given."""
        return cls(batch.entry, batch.t if t is None else t, batch.offsets, batch.label)


class Settings(NamedTuple):
    """How fast a network's layers decay, and how they learn."""

    pace: Array  # (layers,) records: `surface` is -1/tau, `feedback` is -1/feedback_tau, per us
    rates: Array  # (layers,) records: alpha, beta, gamma, delta, d
    border: bool  # which kernel the thresholds have, see `timesurf.rule`
    competition: bool
    by_delta: bool  # whether the last layer learns by the delta rule from recordings with a label
    temperature: float  # of the delta rule's shares
    slopes: Array  # (layers, time constants) -1/tau_s, per us; 0 beyond a layer's last

    @classmethod
    def of(cls, stages: tuple[Stage, ...], rule: Rule, dtype: Any = np.float64) -> Settings:
        """Those of a network and a rule."""
        pace = -1 / np.array([(stage.tau, stage.feedback_tau) for stage in stages], dtype=dtype)
        slopes = np.zeros((len(stages), max(stage.scales for stage in stages)), dtype)
        for row, stage in zip(slopes, stages, strict=True):
            row[: stage.scales] = -1 / np.array(stage.taus, dtype=dtype)
        return cls(
            _records(pace, ("surface", "feedback")),
            _records(rule.per_layer(len(stages)), RATES),
            rule.kernel == "border",
            rule.competition,
            rule.last == "delta",
            rule.temperature,
            slopes,
        )


class Memory(NamedTuple):
    """What a network remembers of the events so far."""

    context: Array  # last time of every input
    since: Array  # when the running values of each block were last updated
    dots: Array  # running dot products of every RUNNING layer's blocks and units
    squares: Array  # running ||ts||^2 of its blocks
    feedback: Array  # last time of every output
    spoke: Array  # last time of any output at each place
    crowd: Array  # running sum of ftv at each place
    previous: Array  # S of the previous output at each place

    @classmethod
    def make(cls, plan: Plan, dtype: Any, time: Any, new: New) -> Memory:
        """For values and times of these types, with arrays from `new`."""
        total = plan.total
        return cls(
            context=new(total.context0, time),
            since=new(total.block0, time),
            dots=new(total.dots0, dtype),
            squares=new(total.block0, dtype),
            feedback=new(total.feedback0, time),
            spoke=new(total.place0, time),
            crowd=new(total.place0, np.float64),
            previous=new(total.place0, np.float64),
        )


class Counts(NamedTuple):
    """What came out of each recording."""

    kept: Array  # (recordings, layers) events that each layer let pass
    votes: Array  # (recordings, classes) output events


class Evidence(NamedTuple):
    """Evidence for every class."""

    total: Array  # (recordings, classes) sum of log(share of the class + DOUBT), or no rows: not wanted
    temperature: float  # of the shares

    @classmethod
    def of(cls, outcome: Outcome, options: Options) -> Evidence:
        """To be added to the outcome's, where it has any."""
        none = np.empty((0, outcome.votes.shape[1]))
        return cls(none if outcome.evidence is None else outcome.evidence, float(options.temperature))


def _records(columns: Array, names: tuple[str, ...]) -> Array:
    """Rows of a table as records with these fields."""
    records: Array = columns.view(np.dtype([(name, columns.dtype) for name in names], align=True))[:, 0]
    return records
