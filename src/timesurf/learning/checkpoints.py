"""Checkpoints: how far a training has come, on disk, to resume it to the bit.

A checkpoint is a model file with a few more entries, so that each of them can also be loaded and used as it is.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf import modelfile
from timesurf.engines import Outcome, Parameters
from timesurf.errors import ModelFileError, SettingError
from timesurf.learning.state import TrainingState
from timesurf.storage import lock

Array = NDArray[Any]
_NUMBERS = [f.name for f in fields(TrainingState) if f.name not in ("outcomes", "good", "best")]
_OUTCOME = ("events", "kept", "votes")
_CHANGES = ("history", "calibration", "why")  # in training, or by it


class Checkpoints:
    """A folder of checkpoints: the last few, and the network with the best validation accuracy, `best.tsf`.

    Parameters
    ----------
    folder : str or Path
        Created if it does not exist.
    recordings : int, optional
        Write a checkpoint after so many recordings, or
    minutes : float, optional
        after so much time, whichever comes first.
    last : int
        How many to keep.
    """

    def __init__(
        self, folder: str | Path, *, recordings: int | None = None, minutes: float | None = 5.0, last: int = 3
    ) -> None:
        if last < 1 or (recordings is not None and recordings < 1) or (minutes is not None and not minutes >= 0):
            raise SettingError(f"{last=}, {recordings=}, {minutes=}: last and recordings must be at least 1.")
        self.folder, self.recordings, self.minutes, self.last = Path(folder), recordings, minutes, last
        self._written, self._when = 0, time.monotonic()  # a clock that is set back does not matter

    @classmethod
    def at(cls, given: Checkpoints | str | Path | None) -> Checkpoints | None:
        """Checkpoints as they are, or those in a folder."""
        return given if given is None or isinstance(given, Checkpoints) else cls(given)

    def alone(self) -> AbstractContextManager[None]:
        """Hold the folder for one training, and refuse another one meanwhile."""
        return lock.held(self.folder)

    def files(self) -> list[Path]:
        """The checkpoints, newest first."""
        return sorted(self.folder.glob("checkpoint-*.tsf"), reverse=True)

    def open(self, *, resume: bool) -> None:
        """Create the folder and remove what an earlier training left; to resume it, only incomplete files."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in self.folder.glob(".checkpoint-*"):
            path.unlink()
        if not resume:
            for path in (*self.files(), self.folder / "best.tsf"):
                path.unlink(missing_ok=True)
        self._written, self._when = 0, time.monotonic()

    def latest(self) -> tuple[dict[str, Any], dict[str, Array], TrainingState] | None:
        """The newest checkpoint that can be read: header, tensors, and how far the training had come."""
        for path in self.files():
            try:
                return read(path)
            except ModelFileError as error:
                warnings.warn(f"Skipped a checkpoint: {error}", stacklevel=2)
        return None

    def resume(self, network: modelfile.Described, how: dict[str, Any]) -> TrainingState | None:
        """Give a network the parameters and the history of the latest checkpoint; None if there is none.

        Parameters
        ----------
        network : Network
            Of the same shape and settings as the one that the training began with.
        how : dict
            Settings of the training, ready for JSON; they must be the same too.

        Returns
        -------
        TrainingState or None
            How far the training had come.
        """
        found = self.latest()
        if found is None:
            return None
        about, tensors, state = found
        asked = {name: value for name, value in modelfile.describe(network).items() if name not in _CHANGES}
        _check_same(json.loads(json.dumps(asked | how)), about | about["how"])
        if state.passes > how["passes"]:
            raise ModelFileError(f"{self.folder}: more passes are done than were asked for.")
        network.parameters = modelfile.parameters_from(tensors, network.stages, self.folder)
        for name in ("good", "best"):
            if f"{name}.layer1.centroids" in tensors:
                setattr(state, name, modelfile.parameters_from(tensors, network.stages, self.folder, f"{name}."))
        network.history = about["history"]
        return state

    def due(self, number: int) -> bool:
        """Whether it is time for one, after `number` recordings."""
        if self.recordings is not None and number - self._written >= self.recordings:
            return True
        return self.minutes is not None and time.monotonic() - self._when >= 60 * self.minutes

    def write(self, number: int, network: modelfile.Described, how: dict[str, Any], state: TrainingState) -> None:
        """Write how far the training has come after `number` recordings.

        A full disk does not end a training: it warns, and tries again when the next checkpoint is due.
        """
        more: dict[str, Array] = {}
        if state.outcomes:
            joined = Outcome.joined(state.outcomes)
            more |= {f"pass.{name}": getattr(joined, name) for name in _OUTCOME}
        for name in ("good", "best"):
            if (kept := getattr(state, name)) is not None:
                more |= modelfile.named(kept, f"{name}.")
        numbers = {name: getattr(state, name) for name in _NUMBERS}
        about = modelfile.describe(network) | {"how": how, "training": numbers}
        self._written, self._when = number, time.monotonic()
        self._try(f"checkpoint-{number:012d}.tsf", lambda path: modelfile.write(path, about, network.parameters, more))
        for path in self.files()[self.last :]:
            path.unlink(missing_ok=True)

    def write_best(self, network: modelfile.Described, best: Parameters) -> None:
        """Write the best network so far."""
        self._try("best.tsf", lambda path: modelfile.write(path, modelfile.describe(network), best))

    def _try(self, name: str, write: Callable[[Path], None]) -> None:
        try:
            write(self.folder / name)
        except (OSError, ModelFileError) as error:
            warnings.warn(f"No checkpoint could be written, training continues without: {error}", stacklevel=4)


def read(path: Path) -> tuple[dict[str, Any], dict[str, Array], TrainingState]:
    """A checkpoint: header, tensors, and how far the training had come. Everything in it is checked."""
    about, tensors = modelfile.read(path)
    numbers, how, history = about.get("training"), about.get("how"), about.get("history")
    if not isinstance(numbers, dict) or set(numbers) != set(_NUMBERS) or not isinstance(how, dict):
        raise ModelFileError(f"{path} is a model, but no checkpoint.")
    if not isinstance(history, list) or not all(isinstance(line, dict) for line in history):
        raise ModelFileError(f"{path} has no history of its passes.")
    state = TrainingState(**numbers)
    for name in ("passes", "done", "clipped", "best_pass"):
        if type(numbers[name]) is not int or not 0 <= numbers[name] < 2**62:
            raise ModelFileError(f"{path}: {name} = {numbers[name]!r} is no count.")
    for name in ("kept", "pace", "best_accuracy"):
        if not (numbers[name] is None and name == "kept") and not _between(numbers[name], -1, 1):
            raise ModelFileError(f"{path}: {name} = {numbers[name]!r} is no share.")
    try:
        np.random.default_rng().bit_generator.state = state.order
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(f"{path} does not say in which order recordings are drawn: {error}") from error
    columns = [tensors.get(f"pass.{name}") for name in _OUTCOME]
    if state.done:
        shapes = [None if c is None or c.dtype != np.int64 else (c.ndim, *c.shape[:1]) for c in columns]
        if shapes != [(dimensions, state.done) for dimensions in (1, 2, 2)]:
            raise ModelFileError(f"{path} lacks the outcome of the present pass.")
        events, kept, votes = (np.array(c) for c in columns)
        state.outcomes = [Outcome(events, kept, votes)]
    return about, tensors, state


def _check_same(asked: dict[str, Any], found: dict[str, Any]) -> None:
    """Refuse to resume with other settings or other recordings than a training began with."""
    other = [name for name in asked if asked[name] != found.get(name)]
    if other:
        was = ", ".join(f"{name} was {found.get(name)!r} and is {asked[name]!r} now" for name in other)
        raise SettingError(f"Cannot resume: {was}. Resume with the same settings, or start again without resume.")


def _between(value: Any, low: float, high: float) -> bool:
    return isinstance(value, (int, float)) and low <= value <= high
