"""What there is to tell about a run: how it went, and what its network makes of the recordings held out.

All held-out recordings are run for the figures. What happened to every event is looked at in some of them only, drawn
evenly from the classes, so that a report takes seconds and not the memory of a trace of everything.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf import metrics
from timesurf.engines import Outcome, Trace
from timesurf.events import Recordings
from timesurf.network import Network
from timesurf.results.run import Run

Array = NDArray[Any]
LOOKED_AT = 200  # recordings whose every event is looked at, at most
LONGEST = 1 << 20  # events that are looked at in all, and in one recording to draw, at most
WORST = 6  # recordings that are drawn


@dataclass(frozen=True, slots=True)
class Judged:
    """What the network makes of the recordings held out."""

    recordings: Recordings
    label: Array  # (recordings,) number of the class, -1 if unknown
    outcome: Outcome

    @property
    def known(self) -> Array:
        """Numbers of the recordings whose class is known."""
        return np.flatnonzero(self.label >= 0)

    @property
    def said(self) -> Array:
        """The class that each recording is taken for, -1 where no event came out."""
        votes = self.outcome.votes
        return np.where(votes.sum(axis=1) > 0, votes.argmax(axis=1), -1)

    @property
    def share(self) -> Array:
        """Share of each recording's votes on the right class, or where that is unknown on the most frequent."""
        votes = self.outcome.votes
        return metrics.event_shares(votes, np.where(self.label < 0, votes.argmax(axis=1), self.label))

    def figures(self) -> dict[str, Any]:
        """As `Network.evaluate` gives; those that need labels are of the recordings that have one."""
        known, votes = self.known, self.outcome.votes
        right = {
            "majority": metrics.recording_accuracy(votes[known], self.label[known]),
            "accuracy": metrics.event_accuracy(votes[known], self.label[known]),
        } if len(known) else {}  # fmt: skip
        return {
            **right,
            "kept": metrics.kept(self.outcome),
            "silent": metrics.silent(votes),
            "recordings": len(votes),
            "events": int(self.outcome.events.sum()),
        }

    def kept_by_class(self, classes: int) -> Array:
        """Events that each layer let pass / input events, averaged over a class (classes, layers); NaN without any."""
        share = self.outcome.kept / np.maximum(self.outcome.events, 1)[:, None]
        some = (self.label >= 0) & (self.outcome.events > 0)
        total = np.zeros((classes, share.shape[1]))
        np.add.at(total, self.label[some], share[some])
        of = np.bincount(self.label[some], minlength=classes)[:, None]
        return np.where(of > 0, total / np.maximum(of, 1), np.nan)

    def worst(self) -> Array:
        """The recordings to look at first: told wrong before told right, fewest votes on the right class first."""
        order = np.lexsort((self.share, self.said == self.label))
        fit = (self.outcome.events <= LONGEST) & (self.outcome.events > 0)
        known = self.label >= 0
        wanted = fit & known if known.any() else fit
        return order[wanted[order]][:WORST]


@dataclass(frozen=True, slots=True)
class Looked:
    """What happened to every event of some of the recordings."""

    recordings: Recordings
    label: Array  # (recordings,)
    trace: Trace

    @property
    def event_label(self) -> Array:
        """(events,) number of the class, -1 if unknown."""
        return np.repeat(self.label, self.recordings.counts)

    def early(self, network: Network) -> tuple[Array, Array] | None:
        """Numbers of events, and the share of recordings whose majority is right once so many have come in."""
        known = np.flatnonzero((self.label >= 0) & (self.recordings.counts > 0))
        if not len(known):
            return None
        counts = self.recordings.counts
        vote = np.where(self.trace.passed == len(network.stages), self.trace.winner[:, -1], -1)
        vote = vote[np.isin(np.repeat(np.arange(len(counts)), counts), known)]
        offsets = np.concatenate([[0], np.cumsum(counts[known])])
        return metrics.early(vote, offsets, self.label[known], len(network.classes))


@dataclass(frozen=True, slots=True)
class Use:
    """What makes a unit of the first layer fire."""

    events: int  # that it is closest to
    kept: float  # share of them that it lets pass; NaN without any
    output: float  # share of them that come out of the last layer
    by_class: Array  # (classes,) share of them in recordings of each class
    where: Array  # (width, height) of them at each place


@dataclass(frozen=True, slots=True)
class Findings:
    """All that the report tells of."""

    run: Run
    judged: Judged | None  # None: nothing was held out
    looked: Looked | None  # None: nothing short enough to be looked at

    @property
    def network(self) -> Network:
        """The run's."""
        return self.run.network

    @property
    def classes(self) -> list[str]:
        """Names of the classes."""
        return [str(name) for name in self.network.classes.tolist()]

    @property
    def history(self) -> list[dict[str, Any]]:
        """A line a pass."""
        history = self.run.about.get("history") or self.network.history
        return [line for line in history if isinstance(line, dict)]

    @property
    def figures(self) -> dict[str, Any]:
        """Of the held-out recordings, or else those that the run kept."""
        if self.judged:
            return self.judged.figures()
        kept = self.run.about.get("evaluation")
        return kept if isinstance(kept, dict) else {}


def gather(run: Run) -> Findings:
    """Run the held-out recordings, if there are any, and look at what happened."""
    held = run.held_out
    if held is None or not len(held):
        return Findings(run, None, None)
    judged = Judged(held, run.network.class_numbers(held), run.network.infer(held))
    some = drawn(judged.label, held.counts)
    looked = Looked(held[some], judged.label[some], run.network.trace(held[some])) if len(some) else None
    return Findings(run, judged, looked)


def drawn(label: Array, counts: Array) -> Array:
    """Numbers of the recordings to look at: as many of each class as can be, drawn at random but always the same.

    >>> drawn(np.array([0, 0, 0, 1]), np.array([5, 5, 5, LONGEST])).tolist()
    [0, 1, 2]
    """
    order = np.random.default_rng(0).permutation(len(label))
    rank = np.zeros(len(label), dtype=np.int64)  # first of its class, second of its class, ...
    for c in np.unique(label):
        mine = order[label[order] == c]
        rank[mine] = np.arange(len(mine))
    order = order[np.argsort(rank[order], kind="stable")][:LOOKED_AT]
    room = itertools.accumulate(counts[order], lambda used, n: used + n if used + n < LONGEST else used, initial=0)
    fits = [after > before or not n for (before, after), n in zip(itertools.pairwise(room), counts[order], strict=True)]
    return np.sort(order[np.array(fits, dtype=bool)])


def uses(network: Network, looked: Looked) -> Iterator[Use]:
    """What makes each unit of the first layer fire."""
    trace, label = looked.trace, looked.event_label
    winner, place = trace.winner[:, 0], _places(looked.recordings)
    by_unit = np.argsort(winner, kind="stable")
    ends = np.searchsorted(winner[by_unit], np.arange(network.stages[0].units + 1))
    for a, b in itertools.pairwise(ends):
        mine = by_unit[a:b]
        passed, classes = trace.passed[mine], label[mine][label[mine] >= 0]
        where = np.zeros(_flat(network.field))
        np.add.at(where, (place[0][mine], place[1][mine]), 1)
        yield Use(
            len(mine),
            _share(passed > 0),
            _share(passed == len(network.stages)),
            np.bincount(classes, minlength=len(network.classes)) / max(len(classes), 1),
            where,
        )


def field_map(recordings: Recordings, some: Any = slice(None)) -> Array:
    """How many events happened at each place (width, height); dimensions beyond y are summed over."""
    where = np.zeros(_flat(recordings.field))
    x, y = _places(recordings)
    np.add.at(where, (x[some], y[some]), 1)
    return where


def _places(recordings: Recordings) -> tuple[Array, Array]:
    x, y = (*recordings.coords, *[np.zeros(len(recordings.t), dtype=np.int64)] * 2)[:2]
    return x, y


def _flat(field: tuple[int, ...]) -> tuple[int, int]:
    width, height = (*field, 1, 1)[:2]
    return width, height


def _share(mask: Array) -> float:
    return float(mask.mean()) if len(mask) else float("nan")
