"""Training that keeps the best pass: validation, patience, checkpoints around the loop of `trainer.py`."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol, TypedDict, Unpack

import numpy as np

from timesurf.errors import EventError, SettingError
from timesurf.events import Recordings
from timesurf.learning import sparsity
from timesurf.learning.checkpoints import Checkpoints
from timesurf.learning.copies import with_bent
from timesurf.learning.divergence import IfDiverged, check_choice
from timesurf.learning.schedule import Schedule
from timesurf.learning.split import hold_out
from timesurf.learning.start import Beginning, begin, begin_last
from timesurf.learning.state import Trainee, TrainingState
from timesurf.learning.trainer import Report, passes, shuffler
from timesurf.modelfile import Described


class Classifier(Trainee, Described, Protocol):
    """A network that can be trained, evaluated and written to a file."""

    def evaluate(self, recordings: Recordings) -> dict[str, Any]:
        """Figures, "recording_accuracy" among them."""

    def calibrate(self, recordings: Recordings) -> None:
        """Fit its probabilities."""


class Training(TypedDict, total=False):
    """Keyword arguments of `Network.train`, which describes them."""

    passes: int
    batch_size: int | None
    decay: bool
    keep: float | None
    moved: tuple[int, ...]
    bent: int
    validation: float | Recordings | None
    patience: int | None
    if_diverged: IfDiverged
    checkpoints: Checkpoints | str | Path | None
    resume: bool
    progress: Report | None


class Fitting(Beginning, Training, total=False):
    """Keyword arguments of `Network.fit`."""


def fit(network: Classifier, recordings: Recordings, settings: Fitting) -> None:
    """Start a network and train it in place; where there is a checkpoint to resume from, only train it."""
    starting: dict[str, Any] = {name: value for name, value in settings.items() if name in Beginning.__annotations__}
    training: dict[str, Any] = {name: value for name, value in settings.items() if name not in starting}
    check(**training)  # before the start, which takes time
    if starting.get("start") == "ridge":  # which learns from all that it sees
        recordings, training["validation"] = _parts(
            network, recordings, training.get("validation"), np.random.default_rng(network.seed)
        )
    checkpoints = training["checkpoints"] = Checkpoints.at(training.get("checkpoints"))
    if not (training.get("resume") and checkpoints and checkpoints.latest()):
        begin(network, recordings, **starting)
        if (keep := training.get("keep")) is not None and sparsity.rests(network):
            sparsity.tighten(network, recordings, keep, training.get("validation"))
            again = {name: value for name, value in starting.items() if name not in ("margin", "hidden")}
            begin_last(network, recordings, **again)
    train(network, recordings, **training)


def check(**training: Unpack[Training]) -> None:
    """Refuse arguments that are unknown or do not fit together."""
    if unknown := training.keys() - Training.__annotations__.keys():
        raise TypeError(f"unexpected keyword argument {', '.join(map(repr, sorted(unknown)))}")
    scheduled: dict[str, Any] = {name: value for name, value in training.items() if name in Schedule.__slots__}
    Schedule(**scheduled)
    check_choice(training.get("if_diverged", "stop"))
    if training.get("patience") is not None and training.get("validation") is None:
        raise SettingError("patience needs validation, a share or recordings, to judge by.")


def train(network: Classifier, recordings: Recordings, **training: Unpack[Training]) -> None:
    """Train a network in place; with validation it ends with the parameters of its best pass, calibrated."""
    checkpoints = training["checkpoints"] = Checkpoints.at(training.get("checkpoints"))
    with checkpoints.alone() if checkpoints else nullcontext():
        _train(network, recordings, **training)


def _train(
    network: Classifier,
    recordings: Recordings,
    *,
    validation: float | Recordings | None = None,
    patience: int | None = None,
    if_diverged: IfDiverged = "stop",
    checkpoints: Checkpoints | str | Path | None = None,
    resume: bool = False,
    progress: Report | None = None,
    **scheduled: Any,
) -> None:
    schedule, checkpoints = Schedule(**scheduled), Checkpoints.at(checkpoints)
    check(validation=validation, patience=patience, if_diverged=if_diverged)
    rng = shuffler(network)
    state = TrainingState(dict(rng.bit_generator.state))
    how = {"recordings": recordings.fingerprint()} | asdict(schedule) | {
        "validation": validation.fingerprint() if isinstance(validation, Recordings) else validation,
        "patience": patience, "if_diverged": if_diverged,
    }  # fmt: skip
    if checkpoints:
        checkpoints.open(resume=resume)
        if resume:
            state = checkpoints.resume(network, how) or state
            rng.bit_generator.state = state.order
    recordings, chosen = _parts(network, recordings, validation, rng)
    recordings = with_bent(recordings, schedule.bent, rng)
    patience = None if chosen is None else patience

    def reached(*, end: bool = False) -> None:
        number = state.passes * len(recordings) + state.done
        if checkpoints and (end or checkpoints.due(number)):
            checkpoints.write(number, network, how, state)

    if not state.out_of_patience(patience):
        for done in passes(
            network, recordings, schedule, rng,
            if_diverged=if_diverged, state=state, reached=reached, progress=progress,
        ):  # fmt: skip
            if chosen is not None:
                accuracy = done.figures["validation_accuracy"] = network.evaluate(chosen)["recording_accuracy"]
                if accuracy > state.best_accuracy:
                    state.best_pass = done.number
                if accuracy >= state.best_accuracy:  # of equals the last: it has learned more
                    state.best, state.best_accuracy = done.parameters.copy(), accuracy
                    if checkpoints:
                        checkpoints.write_best(network, state.best)
            reached()
            if state.out_of_patience(patience):
                break
    reached(end=True)
    if state.best is not None:
        network.parameters = state.best.copy()
    network.calibration = {}
    if chosen is not None:
        network.calibrate(chosen)


def _parts(
    network: Classifier, recordings: Recordings, validation: float | Recordings | None, rng: np.random.Generator
) -> tuple[Recordings, Recordings | None]:
    """Recordings to learn from, and labelled ones to choose by."""
    if validation is None:
        return recordings, None
    if isinstance(validation, Recordings):
        if not validation.labelled.any():
            raise EventError("The recordings given for validation have no labels to compare with.")
        return recordings, validation[validation.labelled]
    learned, chosen = hold_out(network.class_numbers(recordings), validation, rng)
    if not len(chosen):
        warnings.warn("Too few recordings to hold any out: training continues without validation.", stacklevel=4)
        return recordings, None
    return recordings[learned], recordings[chosen]
