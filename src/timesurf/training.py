"""How recordings are walked through while a network learns: order, batches, rates that fall, when to stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf import metrics
from timesurf.engines import Engine, Learner, Options, Outcome, Parameters, pack
from timesurf.errors import DivergedError, SettingError
from timesurf.events import Recordings
from timesurf.rule import Rule

Array = NDArray[Any]
_LOST = 1e3  # surfaces lie between 0 and 1: a centroid out here will see none of them again
_EVENTS_AT_ONCE = 1 << 22  # packed for an engine at one time: bounds memory beyond the data
_RATES_A_PASS = 50  # online learning with falling rates lowers them this often in a pass
_KEPT_NEWS = 0.2  # weight of the latest batch in the share of events that is kept now


@dataclass(frozen=True, slots=True)
class Progress:
    """How far training has come, and how well the network did on the recordings since the last word."""

    done: int  # recordings, all passes
    total: int
    events: int  # since the last word, as the rest
    accuracy: float  # share of output events on the right class; NaN without labels
    kept: float  # output events / input events


@dataclass(frozen=True, slots=True)
class Schedule:
    """Where a pass stands in the whole of training, and whether rates fall on the way.

    decay : rates fall linearly, from the rule's at the first recording to 0 after the last
    keep : share of events; while no more than this passes, units do not push each other's thresholds back
    """

    done: int  # recordings before this pass
    total: int  # of all passes
    batch_size: int | None = None
    decay: bool = False
    keep: float | None = None

    def __post_init__(self) -> None:
        """Refuse batches without recordings, and a share that is none."""
        if self.batch_size is not None and self.batch_size < 1:
            raise SettingError(f"batch_size = {self.batch_size!r} must be at least 1, or None for online learning.")
        if self.keep is not None and not 0 < self.keep <= 1:
            raise SettingError(f"keep = {self.keep!r} must lie between 0 and 1: the share of events to keep.")

    def rule(self, rule: Rule, done: int, kept: float = 1.0) -> Rule:
        """The rule once `done` recordings of this pass have been learnt, and while this share of events is kept."""
        if self.keep is not None and kept <= self.keep:
            rule = replace(rule, competition=False)
        return rule.scaled(1 - (self.done + done) / self.total) if self.decay else rule

    def word(self, part: slice, outcomes: Sequence[Outcome], labels: Sequence[Array]) -> Progress:
        """What came of a part of the pass, for all networks that learn side by side."""
        figures = [_figures(outcome, label) for outcome, label in zip(outcomes, labels, strict=True)]
        mean = {name: float(np.mean([of[name] for of in figures])) for name in figures[0]}
        done = self.done + part.start + len(labels[0])
        return Progress(done, self.total, sum(int(outcome.events.sum()) for outcome in outcomes), **mean)

    def parts(self, recordings: Recordings) -> Iterator[slice]:
        """Stretches of recordings that are learnt from in one call of the engine."""
        at_once = self.batch_size
        if at_once is None and (self.decay or self.keep is not None):
            at_once = max(len(recordings) // _RATES_A_PASS, 1)
        return parts(recordings, at_once)


def one_pass(
    engine: Engine,
    learner: Learner,
    rule: Rule,
    schedule: Schedule,
    options: Options,
    progress: Callable[[Progress], None] | None = None,
) -> dict[str, Any]:
    """Learn from the recordings in their order, into the learner's parameters; how well it went."""
    if schedule.batch_size is not None and hasattr(engine, "learn_pass"):
        figures = side_by_side(engine, [learner], [rule], schedule, options, progress)[0]
        check_sane(learner.parameters)
        return figures
    recordings, label, kept = learner.recordings, learner.label, learner.kept
    learn = engine.learn_online if schedule.batch_size is None else engine.learn_batch
    outcomes = []
    for part in schedule.parts(recordings):
        batch = pack(recordings[part], label[part])
        now = schedule.rule(rule, part.start, kept)
        outcome = learn(learner.stages, learner.parameters, now, batch, options)
        check_sane(learner.parameters)
        outcomes.append(outcome)
        kept += _KEPT_NEWS * (metrics.kept(outcome) - kept)
        if progress:
            progress(schedule.word(part, [outcome], [label[part]]))
    return {"recordings": len(recordings), **_figures(Outcome.joined(outcomes), label)}


def side_by_side(
    engine: Any,
    learners: Sequence[Learner],
    rules: Sequence[Rule],
    schedule: Schedule,
    options: Options,
    progress: Callable[[Progress], None] | None = None,
) -> list[dict[str, Any]]:
    """One pass of several networks at a time, on an engine that takes whole passes; how well each went."""
    batches = list(schedule.parts(learners[0].recordings))
    falling = [[schedule.rule(rule, part.start) for part in batches] for rule in rules]

    def told(part: slice, outcomes: list[Outcome]) -> None:
        if progress:
            progress(schedule.word(part, outcomes, [learner.label[part] for learner in learners]))

    outcomes = engine.learn_pass(
        learners, batches, falling, options, keep=schedule.keep, told=told if progress else None
    )
    return [
        {"recordings": len(learner.recordings), **_figures(outcome, learner.label)}
        for learner, outcome in zip(learners, outcomes, strict=True)
    ]


def parts(recordings: Recordings, batch_size: int | None, events: int | None = None) -> Iterator[slice]:
    """Stretches of recordings for an engine: of batch_size, or of a bounded number of events."""
    if batch_size is not None:
        yield from (slice(r, r + batch_size) for r in range(0, len(recordings), batch_size))
        return
    ends = np.cumsum(recordings.counts)
    first = 0
    while first < len(recordings):
        before = ends[first - 1] if first else 0
        last = max(int(np.searchsorted(ends, before + (events or _EVENTS_AT_ONCE))), first + 1)
        yield slice(first, last)
        first = last


def hold_out(label: Array, share: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Numbers of the recordings to learn from, and of those held out: this share of every class, at least one."""
    if not 0 < share < 1:
        raise SettingError(f"validation = {share!r} must lie between 0 and 1: the share of recordings to hold out.")
    held = np.zeros(len(label), dtype=np.bool_)
    for c in np.unique(label[label >= 0]):
        mine = rng.permutation(np.flatnonzero(label == c))
        held[mine[: max(round(share * len(mine)), 1)]] = True
    if not held.any() or held.all():
        raise SettingError(f"validation = {share!r} leaves nothing to learn from or to validate on.")
    return np.flatnonzero(~held), np.flatnonzero(held)


def check_sane(parameters: Parameters) -> None:
    """Stop as soon as centroids have run away, or a layer has closed all thresholds: neither comes back by itself."""
    for k, (c, th) in enumerate(zip(parameters.centroids, parameters.thresholds, strict=True), start=1):
        far = np.abs(c).reshape(len(c), -1).max(axis=1)
        if not (far < _LOST).all():  # also where it is not a number
            raise DivergedError(
                f"Learning diverged in layer {k}, unit {int(np.argmin(far < _LOST))}: its centroid fled from all "
                "surfaces. Lower alpha and beta, or the batch size, over which steps are summed."
            )
        if (th == 0).all():
            raise DivergedError(
                f"Layer {k} has fallen silent: the thresholds of all its units have closed. "
                "Lower gamma and delta, or set keep, the share of events below which thresholds rest."
            )


def _figures(outcome: Outcome, label: Array) -> dict[str, float]:
    known = label >= 0
    accuracy = metrics.event_accuracy(outcome.votes[known], label[known]) if known.any() else float("nan")
    return {"accuracy": accuracy, "kept": metrics.kept(outcome)}
