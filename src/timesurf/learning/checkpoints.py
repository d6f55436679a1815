"""Checkpoints: where a training stands, on disk, to go on from there to the bit.

A checkpoint is a model file with a few more entries, so that every one of them can also be loaded and used as it is.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf import modelfile
from timesurf.engines import Outcome, Parameters
from timesurf.errors import ModelFileError, SettingError
from timesurf.learning.trainer import Standing

Array = NDArray[Any]
_NUMBERS = [f.name for f in fields(Standing) if f.name not in ("outcomes", "good", "best")]
_OUTCOME = ("events", "kept", "votes")


class Checkpoints:
    """A folder of checkpoints: the last few, and the network that did best in validation, `best.tsf`.

    folder : made if it is not there
    recordings, minutes : how often: after so many recordings or so much time, whichever comes first
    last : how many to keep
    """

    def __init__(
        self, folder: str | Path, *, recordings: int | None = None, minutes: float | None = 5.0, last: int = 3
    ) -> None:
        if last < 1 or (recordings is not None and recordings < 1) or (minutes is not None and not minutes >= 0):
            raise SettingError(f"{last=}, {recordings=}, {minutes=}: keep at least one, every so often.")
        self.folder, self.recordings, self.minutes, self.last = Path(folder), recordings, minutes, last
        self._written, self._when = 0, time.monotonic()  # a clock that is set back does not matter

    @classmethod
    def at(cls, given: Checkpoints | str | Path | None) -> Checkpoints | None:
        """Checkpoints, or those of a folder that is named."""
        return given if given is None or isinstance(given, Checkpoints) else cls(given)

    def files(self) -> list[Path]:
        """The checkpoints, newest first."""
        return sorted(self.folder.glob("checkpoint-*.tsf"), reverse=True)

    def open(self, *, resume: bool) -> None:
        """Make the folder, and clear away what an earlier training left; to resume it, only what is half written."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in self.folder.glob(".checkpoint-*"):
            path.unlink()
        if not resume:
            for path in (*self.files(), self.folder / "best.tsf"):
                path.unlink(missing_ok=True)
        self._written, self._when = 0, time.monotonic()

    def latest(self) -> tuple[dict[str, Any], dict[str, Array], Standing] | None:
        """The newest checkpoint that can be read: header, tensors, and where the training stood."""
        for path in self.files():
            try:
                return read(path)
            except ModelFileError as error:
                warnings.warn(f"Skipped a checkpoint: {error}", stacklevel=2)
        return None

    def due(self, number: int) -> bool:
        """Whether it is time for one, now that `number` recordings are learnt."""
        if self.recordings is not None and number - self._written >= self.recordings:
            return True
        return self.minutes is not None and time.monotonic() - self._when >= 60 * self.minutes

    def write(self, number: int, about: dict[str, Any], parameters: Parameters, standing: Standing) -> None:
        """Keep where the training stands after `number` recordings.

        A full disk does not end a training: it is said, and tried again when the next one is due.
        """
        state = {name: getattr(standing, name) for name in _NUMBERS}
        more: dict[str, Array] = {}
        if standing.outcomes:
            joined = Outcome.joined(standing.outcomes)
            more |= {f"pass.{name}": getattr(joined, name) for name in _OUTCOME}
        for name in ("good", "best"):
            if (kept := getattr(standing, name)) is not None:
                more |= modelfile.named(kept, f"{name}.")
        self._written, self._when = number, time.monotonic()
        self._try(
            f"checkpoint-{number:012d}.tsf",
            lambda path: modelfile.write(path, about | {"training": state}, parameters, more),
        )
        for path in self.files()[self.last :]:
            path.unlink(missing_ok=True)

    def write_best(self, about: dict[str, Any], best: Parameters) -> None:
        """Keep the best network so far."""
        self._try("best.tsf", lambda path: modelfile.write(path, about, best))

    def _try(self, name: str, write: Callable[[Path], None]) -> None:
        try:
            write(self.folder / name)
        except OSError as error:
            warnings.warn(f"No checkpoint could be written, training goes on without: {error}", stacklevel=4)


def check_same(asked: dict[str, Any], found: dict[str, Any]) -> None:
    """Refuse to go on with other settings or other recordings than a training began with."""
    other = [name for name in asked if asked[name] != found.get(name)]
    if other:
        was = ", ".join(f"{name} was {found.get(name)!r} and is {asked[name]!r} now" for name in other)
        raise SettingError(f"Cannot resume: {was}. Resume with what it began with, or begin anew without resume.")


def read(path: Path) -> tuple[dict[str, Any], dict[str, Array], Standing]:
    """A checkpoint: header, tensors, and where the training stood. Nothing in it is believed unchecked."""
    about, tensors = modelfile.read(path)
    state, how, history = about.get("training"), about.get("how"), about.get("history")
    if not isinstance(state, dict) or set(state) != set(_NUMBERS) or not isinstance(how, dict):
        raise ModelFileError(f"{path} is a model, but no checkpoint.")
    if not isinstance(history, list) or not all(isinstance(line, dict) for line in history):
        raise ModelFileError(f"{path} has no history of its passes.")
    standing = Standing(**state)
    for name in ("passes", "done", "clipped", "best_pass"):
        if type(state[name]) is not int or not 0 <= state[name] < 2**62:
            raise ModelFileError(f"{path}: {name} = {state[name]!r} is no count.")
    for name in ("kept", "pace", "best_accuracy"):
        if not (state[name] is None and name == "kept") and not _between(state[name], -1, 1):
            raise ModelFileError(f"{path}: {name} = {state[name]!r} is no share.")
    try:
        np.random.default_rng().bit_generator.state = standing.order
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(f"{path} does not say in which order recordings are drawn: {error}") from error
    columns = [tensors.get(f"pass.{name}") for name in _OUTCOME]
    if standing.done:
        shapes = [None if c is None or c.dtype != np.int64 else (c.ndim, *c.shape[:1]) for c in columns]
        if shapes != [(dimensions, standing.done) for dimensions in (1, 2, 2)]:
            raise ModelFileError(f"{path} lacks what came of the present pass.")
        events, kept, votes = (np.array(c) for c in columns)
        standing.outcomes = [Outcome(events, kept, votes)]
    return about, tensors, standing


def _between(value: Any, low: float, high: float) -> bool:
    return isinstance(value, (int, float)) and low <= value <= high
