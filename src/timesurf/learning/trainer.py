"""How recordings are walked through while a network learns: order, batches, rates that fall, when to stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from timesurf import metrics
from timesurf.engines import Engine, Learner, Options, Outcome, Parameters, pack
from timesurf.engines.data import KEPT_WEIGHT
from timesurf.errors import DivergedError, SettingError
from timesurf.events import Recordings
from timesurf.rule import Rule

Array = NDArray[Any]
IfDiverged = Literal["stop", "clip", "back"]
_LOST = 1e3  # surfaces lie between 0 and 1: a centroid out here will see none of them again
_EVENTS_AT_ONCE = 1 << 22  # packed for an engine at one time: bounds memory beyond the data
_RATES_A_PASS = 50  # online learning with falling rates lowers them this often in a pass


@dataclass(frozen=True, slots=True)
class Progress:
    """How far training has come, and how well the network did on the recordings since the last word."""

    done: int  # recordings, all passes
    total: int
    events: int  # since the last word, as the rest
    event_accuracy: float  # share of output events on the right class; NaN without labels
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


@dataclass(slots=True)
class Standing:
    """How far a training has come. With the parameters and the history it is all that going on needs, to the bit."""

    order: dict[str, Any]  # state of what draws the order of recordings, before it drew any
    passes: int = 0  # that are done
    done: int = 0  # recordings of the present one
    kept: float | None = None  # share of events output of late; None: as the history says
    outcomes: list[Outcome] = field(default_factory=list)  # of the present pass
    clipped: int = 0  # times that the present pass put back what had fled
    pace: float = 1.0  # what rates are multiplied by: halved with every step back
    good: Parameters | None = None  # to step back to: as the present pass began
    best: Parameters | None = None  # by validation
    best_pass: int = 0
    best_accuracy: float = -1.0

    def begin_pass(self) -> None:
        """Nothing of it is done yet."""
        self.done, self.kept, self.outcomes, self.clipped = 0, None, [], 0


def one_pass(
    engine: Engine,
    learner: Learner,
    rule: Rule,
    schedule: Schedule,
    options: Options,
    progress: Callable[[Progress], None] | None = None,
    *,
    standing: Standing | None = None,
    reached: Callable[[], None] = lambda: None,
    clip: bool = False,
) -> dict[str, Any]:
    """Learn from the recordings in their order, into the learner's parameters; how well it went.

    standing : where to go on within the pass; kept up to date
    reached : called whenever it is, which is after every stretch of recordings
    clip : put back what has diverged instead of stopping
    """
    standing = standing or Standing({})
    recordings, label = learner.recordings, learner.label

    def check(thresholds: list[Array]) -> None:
        try:
            check_sane(learner.parameters)
        except DivergedError:
            if not clip:
                raise
            put_back(learner.parameters, thresholds)
            standing.clipped += 1

    def thresholds() -> list[Array]:
        return [units.thresholds.copy() for units in learner.parameters]

    if schedule.batch_size is not None and hasattr(engine, "learn_pass"):
        before = thresholds()
        figures = side_by_side(engine, [learner], [rule], schedule, options, progress)[0]
        check(before)
        return figures
    learn = engine.learn_online if schedule.batch_size is None else engine.learn_batch
    if standing.kept is None:
        standing.kept = learner.kept
    for part in schedule.parts(recordings):
        if part.start < standing.done:
            continue
        now, before = schedule.rule(rule, part.start, standing.kept), thresholds()
        if schedule.batch_size is not None and hasattr(engine, "learn_part"):
            outcome = engine.learn_part(learner.stages, learner.parameters, now, recordings[part], label[part], options)
        else:
            batch = pack(recordings[part], label[part])
            outcome = learn(learner.stages, learner.parameters, now, batch, options)
        check(before)
        standing.outcomes.append(outcome)
        standing.kept += KEPT_WEIGHT * (metrics.kept(outcome) - standing.kept)
        standing.done = min(part.stop, len(recordings))
        reached()
        if progress:
            progress(schedule.word(part, [outcome], [label[part]]))
    return {"recordings": len(recordings), **_figures(Outcome.joined(standing.outcomes), label)}


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
        learners, batches, falling, options, keep=schedule.keep, report=told if progress else None
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
    yield from recordings.parts(events or _EVENTS_AT_ONCE)


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
    for k, units in enumerate(parameters, start=1):
        fled = _fled(units.centroids)
        if fled.any():
            raise DivergedError(
                f"Learning diverged in layer {k}, unit {int(np.argmax(fled))}: its centroid fled from all "
                "surfaces. Lower alpha and beta, or the batch size, over which steps are summed."
            )
        if (units.thresholds == 0).all():
            raise DivergedError(
                f"Layer {k} has fallen silent: the thresholds of all its units have closed. "
                "Lower gamma and delta, or set keep, the share of events below which thresholds rest."
            )


def _fled(centroids: Array) -> Array:
    """Units that no surface will reach again; those that are not a number among them."""
    fled: Array = ~(np.abs(centroids).reshape(len(centroids), -1).max(axis=1) < _LOST)
    return fled


def put_back(parameters: Parameters, thresholds: list[Array]) -> None:
    """Centroids that fled, back between 0 and 1, where surfaces are; thresholds of a silent layer to those given."""
    for units, before in zip(parameters, thresholds, strict=True):
        c, th = units.centroids, units.thresholds
        fled = _fled(c)
        c[fled] = np.clip(np.nan_to_num(c[fled], nan=0, posinf=1, neginf=0), 0, 1)
        if (th == 0).all():
            th[:] = before


def _figures(outcome: Outcome, label: Array) -> dict[str, float]:
    known = label >= 0
    accuracy = metrics.event_accuracy(outcome.votes[known], label[known]) if known.any() else float("nan")
    return {"event_accuracy": accuracy, "kept": metrics.kept(outcome)}
