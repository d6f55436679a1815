"""The content of a report: the history of a run, and what its network makes of the held-out recordings.

Figures are of all held-out recordings. What happened to every event is traced for some of them only, drawn evenly from
the classes, so that a report takes seconds and little memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf import metrics
from timesurf.calibration import Calibration
from timesurf.engines import Outcome, Trace
from timesurf.events import Recordings
from timesurf.network import Network
from timesurf.results.run import Run

Array = NDArray[Any]
TRACED = 200  # recordings that are traced, at most
LONGEST = 1 << 20  # events that are traced in all, and in a recording that is drawn, at most
WORST = 6  # recordings that are drawn


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What the network makes of the held-out recordings.

    Attributes
    ----------
    recordings : Recordings
        The held-out recordings.
    label : array of int, shape (recordings,)
        Number of the class, -1 if unknown.
    outcome : Outcome
        What came out.
    calibrated : Calibration or None
        That of the network; None if it was never calibrated.

    """

    recordings: Recordings
    label: Array
    outcome: Outcome
    calibrated: Calibration | None = None

    @property
    def known(self) -> Array:
        """Numbers of the recordings whose class is known."""
        return np.flatnonzero(self.label >= 0)

    @property
    def decided(self) -> metrics.Decisions:
        """Decision on each recording."""
        return metrics.decide(self.outcome.votes, self.outcome.evidence, self.calibrated)

    @property
    def share(self) -> Array:
        """Share of each recording's votes on the right class or, where that is unknown, on the decided one."""
        known = self.label >= 0
        on_label = metrics.event_shares(self.outcome.votes, np.where(known, self.label, 0))
        return np.where(known, on_label, self.decided.confidence)

    def figures(self) -> dict[str, Any]:
        """Figures as `metrics.summary` gives them; accuracies are of the recordings that have a label."""
        return metrics.summary(self.outcome, self.label, self.calibrated)

    def kept_by_class(self, classes: int) -> Array:
        """Share of input events that each layer passed on, averaged per class (classes, layers); NaN without any."""
        share = self.outcome.kept / np.maximum(self.outcome.events, 1)[:, None]
        some = (self.label >= 0) & (self.outcome.events > 0)
        total = np.zeros((classes, share.shape[1]))
        np.add.at(total, self.label[some], share[some])
        of = np.bincount(self.label[some], minlength=classes)[:, None]
        return np.where(of > 0, total / np.maximum(of, 1), np.nan)

    def worst(self) -> Array:
        """Numbers of the worst recordings: wrong before correct ones, fewest votes on the right class first."""
        order = np.lexsort((self.share, self.decided.classes == self.label))
        fit = (self.outcome.events <= LONGEST) & (self.outcome.events > 0)
        known = self.label >= 0
        wanted = fit & known if known.any() else fit
        return order[wanted[order]][:WORST]


@dataclass(frozen=True, slots=True)
class Traced:
    """What happened to every event of some of the recordings.

    Attributes
    ----------
    recordings : Recordings
        These recordings.
    label : array of int, shape (recordings,)
        Number of the class, -1 if unknown.
    trace : Trace
        What happened to their events.

    """

    recordings: Recordings
    label: Array
    trace: Trace

    @property
    def event_label(self) -> Array:
        """Number of the class of each event, -1 if unknown."""
        return np.repeat(self.label, self.recordings.counts)

    def early(self, network: Network) -> tuple[Array, Array] | None:
        """Numbers of events, and the recording accuracy after that many; None without labelled recordings."""
        known = np.flatnonzero((self.label >= 0) & (self.recordings.counts > 0))
        if not len(known):
            return None
        counts = self.recordings.counts
        vote = metrics.voted(self.trace, network.stages)
        vote = vote[np.isin(np.repeat(np.arange(len(counts)), counts), known)]
        offsets = np.concatenate([[0], np.cumsum(counts[known])])
        return metrics.early(vote, offsets, self.label[known], len(network.classes))


@dataclass(frozen=True, slots=True)
class Use:
    """What makes a unit of the first layer fire.

    Attributes
    ----------
    events : int
        Events that are closest to it.
    passed : float
        Share of them within its threshold; NaN without any.
    output : float
        Share of them that the last layer outputs.
    by_class : array, shape (classes,)
        Share of them in recordings of each class.
    where : array, shape (width, height)
        Number of them at each place.

    """

    events: int
    passed: float
    output: float
    by_class: Array
    where: Array


@dataclass(frozen=True, slots=True)
class Findings:
    """The content of a report.

    Attributes
    ----------
    run : Run
        The training run.
    evaluated : Evaluated or None
        What the network makes of the held-out recordings; None if there are none.
    traced : Traced or None
        The traced ones; None if none is short enough.

    """

    run: Run
    evaluated: Evaluated | None
    traced: Traced | None

    @property
    def network(self) -> Network:
        """The network of the run."""
        return self.run.network

    @property
    def classes(self) -> list[str]:
        """Names of the classes."""
        return [str(name) for name in self.network.classes.tolist()]

    @property
    def history(self) -> list[dict[str, Any]]:
        """Figures of each pass."""
        history = self.run.about.get("history") or self.network.history
        return [line for line in history if isinstance(line, dict)]

    @property
    def figures(self) -> dict[str, Any]:
        """Figures of the held-out recordings, or else those saved with the run."""
        if self.evaluated:
            return self.evaluated.figures()
        saved = self.run.about.get("evaluation")
        return saved if isinstance(saved, dict) else {}


def gather(run: Run) -> Findings:
    """Run the held-out recordings, if there are any, and trace some of them."""
    held = run.held_out
    if held is None or not len(held):
        return Findings(run, None, None)
    network = run.network
    outcome = network.infer(held)
    evaluated = Evaluated(held, network.class_numbers(held), outcome, network.calibrated(outcome))
    some = drawn(evaluated.label, held.counts)
    traced = Traced(held[some], evaluated.label[some], network.trace(held[some])) if len(some) else None
    return Findings(run, evaluated, traced)


def drawn(label: Array, counts: Array) -> Array:
    """Draw recordings to trace evenly from the classes, at random but always the same.

    Parameters
    ----------
    label : array of int, shape (recordings,)
        Numbers of classes, -1 if unknown.
    counts : array of int, shape (recordings,)
        Events per recording.

    Returns
    -------
    array of int
        Numbers of recordings, ascending.

    Examples
    --------
    >>> drawn(np.array([0, 0, 0, 1]), np.array([5, 5, 5, LONGEST])).tolist()
    [0, 1, 2]

    """
    order = np.random.default_rng(0).permutation(len(label))
    rank = np.zeros(len(label), dtype=np.int64)  # first of its class, second of its class, ...
    for c in np.unique(label):
        mine = order[label[order] == c]
        rank[mine] = np.arange(len(mine))
    order = order[np.argsort(rank[order], kind="stable")][:TRACED]
    room = itertools.accumulate(counts[order], lambda used, n: used + n if used + n < LONGEST else used, initial=0)
    fits = [after > before or not n for (before, after), n in zip(itertools.pairwise(room), counts[order], strict=True)]
    return np.sort(order[np.array(fits, dtype=bool)])


def uses(network: Network, traced: Traced) -> Iterator[Use]:
    """What makes each unit of the first layer fire."""
    trace, label = traced.trace, traced.event_label
    winner, place = trace.winner[:, 0], _places(traced.recordings)
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
    """Count events at each place (width, height); dimensions beyond y are summed over."""
    where = np.zeros(_flat(recordings.field))
    x, y = _places(recordings)
    np.add.at(where, (x[some], y[some]), 1)
    return where


def _places(recordings: Recordings) -> tuple[Array, Array]:
    """X and y of all events, 0 where the field has fewer dimensions."""
    x, y = (*recordings.coords, *[np.zeros(len(recordings.t), dtype=np.int64)] * 2)[:2]
    return x, y


def _flat(field: tuple[int, ...]) -> tuple[int, int]:
    """Width and height of a field of any number of dimensions."""
    width, height = (*field, 1, 1)[:2]
    return width, height


def _share(mask: Array) -> float:
    """Share that is true; NaN of nothing."""
    return float(mask.mean()) if len(mask) else float("nan")
