"""The one loop over passes.

`turns` says what each pass learns from, `one_pass` has an engine learn it, and `passes` joins the two into a generator
that yields after each pass: who consumes it may validate, stop early, prune, or write a checkpoint. `together.py` zips
the turns of several networks instead, where an engine can run them side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf import metrics
from timesurf.engines import Engine, Learner, Options, Outcome, Parameters, TakesPart, TakesPass, choose, pack
from timesurf.engines.data import KEPT_WEIGHT
from timesurf.errors import DivergedError
from timesurf.events import Recordings
from timesurf.learning.copies import check as check_distances
from timesurf.learning.copies import displacements
from timesurf.learning.divergence import SLOWEST, IfDiverged, check_sane, put_back
from timesurf.learning.resting import learns_from
from timesurf.learning.schedule import Schedule
from timesurf.learning.state import Trainee, TrainingState
from timesurf.rule import Rule

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a training has come, and how well the network did on the recordings since the last report."""

    done: int  # recordings, all passes
    total: int
    events: int  # since the last report, as the rest
    event_accuracy: float  # fraction of output events on the right class; NaN without labels
    kept: float  # output events / input events


Report = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Turn:
    """A pass that is to be learned."""

    number: int  # from 1 up
    learner: Learner  # with the recordings in the order of this pass
    total: int  # recordings of all passes

    @property
    def before(self) -> int:
        """Recordings of the passes before this one."""
        return (self.number - 1) * len(self.learner.recordings)

    def progress(self, part: slice, outcomes: Sequence[Outcome], labels: Sequence[Array]) -> Progress:
        """The report on a part of the pass, for all networks that learn side by side."""
        found = [_figures(outcome, label) for outcome, label in zip(outcomes, labels, strict=True)]
        mean = {name: float(np.mean([of[name] for of in found])) for name in found[0]}
        done = self.before + part.start + len(labels[0])
        return Progress(done, self.total, sum(int(outcome.events.sum()) for outcome in outcomes), **mean)


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass that is done."""

    number: int  # from 1 up
    figures: dict[str, Any]  # its entry in the history
    parameters: Parameters  # as they are now


def shuffler(trainee: Trainee) -> np.random.Generator:
    """The generator that draws the order of recordings in the passes to come."""
    return np.random.default_rng(None if trainee.seed is None else [trainee.seed, 1 + len(trainee.history)])


def turns(
    trainee: Trainee,
    recordings: Recordings,
    schedule: Schedule,
    rng: np.random.Generator | None,
    *,
    done: int = 0,
    pooled: tuple[int, ...] = (),
    given: Array | None = None,
) -> Iterator[Turn]:
    """What to learn in each pass.

    Parameters
    ----------
    trainee : Trainee
        The network.
    recordings : Recordings
        To learn from.
    schedule : Schedule
        How many passes.
    rng : numpy.random.Generator, optional
        Draws the order of the recordings in each pass; None takes them as they are.
    done : int
        Passes that are done already; their orders are drawn and dropped.
    pooled : tuple of int
        Pixels of the recordings per place of the network's field, where it is not theirs.
    given : array, optional
        Events of each recording before layers below the network rejected some.

    Yields
    ------
    Turn
    """
    for number in range(1, schedule.passes + 1):
        order = slice(None) if rng is None else rng.permutation(len(recordings))
        ordered = recordings if rng is None else recordings[order]
        by = displacements(schedule.moved, len(recordings), rng) if rng is not None and any(schedule.moved) else None
        if number > done:
            kept = trainee.history[-1]["kept"] if trainee.history else 1.0
            label = trainee.class_numbers(ordered)
            events = None if given is None else given[order]
            learner = Learner(trainee.stages, trainee.parameters, ordered, label, kept, by, pooled, events)
            yield Turn(number, learner, schedule.passes * len(recordings))


def passes(
    trainee: Trainee,
    recordings: Recordings,
    schedule: Schedule,
    rng: np.random.Generator | None,
    *,
    if_diverged: IfDiverged = "stop",
    state: TrainingState | None = None,
    reached: Callable[[], None] = lambda: None,
    progress: Report | None = None,
) -> Iterator[Pass]:
    """Train pass after pass; the network's parameters and its history change.

    Parameters
    ----------
    trainee, recordings, schedule, rng
        As in `turns`.
    if_diverged : {"stop", "clip", "back"}
        What to do when training diverges, see `Network.train`.
    state : TrainingState, optional
        Where to resume; kept up to date.
    reached : callable
        Called without arguments whenever `state` is up to date within a pass.
    progress : callable, optional
        Called with a `Progress` after each part of a pass.

    Yields
    ------
    Pass
        After each pass, once it is in the history.
    """
    state, whole = state or TrainingState(), trainee
    check_distances(schedule.moved, recordings)
    trainee, recordings, pooled, given = learns_from(whole, recordings, schedule)
    engine = choose(trainee.engine, trainee.stages, online=schedule.online)
    for turn in turns(trainee, recordings, schedule, rng, done=state.passes, pooled=pooled, given=given):
        if if_diverged == "back" and state.done == 0:
            state.good = whole.parameters.copy()
        while True:
            rule = trainee.rule.scaled(state.pace) if state.pace < 1 else trainee.rule
            try:
                figures = one_pass(
                    engine, turn, rule, schedule, trainee.options,
                    state=state, reached=reached, clip=if_diverged == "clip", progress=progress,
                )  # fmt: skip
                break
            except DivergedError:
                if state.good is None or state.pace <= SLOWEST:
                    check_sane(whole.parameters)  # says so with the number that the layer has in the whole network
                    raise
                whole.parameters = state.good.copy()
                turn = replace(turn, learner=replace(turn.learner, parameters=trainee.parameters))
                state.begin_pass()
                state.pace /= 2
        figures |= {"clipped": state.clipped} if state.clipped else {}
        figures |= {"pace": state.pace} if state.pace < 1 else {}
        trainee.history.append(figures)
        state.passes += 1
        state.begin_pass()
        yield Pass(turn.number, figures, whole.parameters)


def once(trainee: Trainee, recordings: Recordings, batch_size: int | None, progress: Report | None) -> None:
    """A single pass over the recordings in their order."""
    for _ in passes(trainee, recordings, Schedule(1, batch_size), None, progress=progress):
        pass


def one_pass(
    engine: Engine,
    turn: Turn,
    rule: Rule,
    schedule: Schedule,
    options: Options,
    *,
    state: TrainingState | None = None,
    reached: Callable[[], None] = lambda: None,
    clip: bool = False,
    progress: Report | None = None,
) -> dict[str, Any]:
    """Learn from the recordings in their order, into the learner's parameters; how well it went.

    Parameters
    ----------
    engine, turn, rule, schedule, options
        What computes, what is learned, and how.
    state : TrainingState, optional
        Where to resume within the pass; kept up to date.
    reached : callable
        Called whenever it is: after each part of the pass.
    clip : bool
        Whether to put back what has diverged instead of raising an error.
    progress : callable, optional
        Called with a `Progress` after each part of the pass.

    Returns
    -------
    dict
        "recordings", "event_accuracy", "kept".
    """
    state, learner = state or TrainingState(), turn.learner
    recordings, label, parameters = learner.recordings, learner.label, learner.parameters

    def check(thresholds: list[Array]) -> None:
        try:
            check_sane(parameters)
        except DivergedError:
            if not clip:
                raise
            put_back(parameters, thresholds)
            state.clipped += 1

    if not schedule.online and isinstance(engine, TakesPass):
        before = [units.thresholds.copy() for units in parameters]
        (figures,) = side_by_side(engine, [turn], [rule], schedule, options, progress)
        check(before)
        return figures
    learn = engine.learn_online if schedule.online else engine.learn_batch
    if state.kept is None:
        state.kept = learner.kept
    for part in schedule.parts(recordings):
        if part.start < state.done:
            continue
        before = [units.thresholds.copy() for units in parameters]
        now = schedule.rule(rule, turn.before + part.start, turn.total, state.kept)
        if not schedule.online and isinstance(engine, TakesPart):
            outcome = engine.learn_part(learner.stages, parameters, now, learner.shown(part), label[part], options)
        else:
            outcome = learn(learner.stages, parameters, now, pack(learner.shown(part), label[part]), options)
        check(before)
        outcome = learner.counted(part, outcome)
        state.outcomes.append(metrics.on_label(outcome, label[part]))
        state.kept += KEPT_WEIGHT * (metrics.kept(outcome) - state.kept)
        state.done = min(part.stop, len(recordings))
        reached()
        if progress:
            progress(turn.progress(part, [outcome], [label[part]]))
    return {"recordings": len(recordings), **_figures(Outcome.joined(state.outcomes), np.where(label >= 0, 0, -1))}


def side_by_side(
    engine: TakesPass,
    turns: Sequence[Turn],
    rules: Sequence[Rule],
    schedule: Schedule,
    options: Options,
    progress: Report | None = None,
) -> list[dict[str, Any]]:
    """One pass of several networks at a time, on an engine that takes whole passes; how well each went."""
    first, learners = turns[0], [turn.learner for turn in turns]
    batches = list(schedule.parts(learners[0].recordings))
    falling = [[schedule.rule(rule, first.before + part.start, first.total) for part in batches] for rule in rules]

    def report(part: slice, outcomes: list[Outcome]) -> None:
        if progress:
            counted = [learner.counted(part, outcome) for learner, outcome in zip(learners, outcomes, strict=True)]
            progress(first.progress(part, counted, [learner.label[part] for learner in learners]))

    outcomes = engine.learn_pass(
        learners, batches, falling, options, keep=schedule.keep, report=report if progress else None
    )
    return [
        {"recordings": len(learner.recordings), **_figures(learner.counted(slice(None), outcome), learner.label)}
        for learner, outcome in zip(learners, outcomes, strict=True)
    ]


def _figures(outcome: Outcome, label: Array) -> dict[str, float]:
    """Event accuracy on the labelled recordings, and the share of events kept."""
    return {"event_accuracy": metrics.labelled_event_accuracy(outcome.votes, label), "kept": metrics.kept(outcome)}
