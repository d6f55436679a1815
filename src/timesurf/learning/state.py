"""What learns, and how far its training has come."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from numpy.typing import NDArray

from timesurf.engines import Engine, Options, Outcome, Parameters
from timesurf.events import Recordings
from timesurf.layers import Stage
from timesurf.rule import Rule

Array = NDArray[Any]


class Trainee(Protocol):
    """What learning needs of a network."""

    parameters: Parameters
    history: list[dict[str, Any]]  # one entry per pass

    @property
    def classes(self) -> Array:
        """The labels, in the order of their numbers."""

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Its layers in their places."""

    @property
    def rule(self) -> Rule:
        """How it learns."""

    @property
    def engine(self) -> str | Engine:
        """What computes."""

    @property
    def options(self) -> Options:
        """How the engine computes."""

    @property
    def seed(self) -> int | None:
        """Of the order of recordings."""

    def class_numbers(self, recordings: Recordings) -> Array:
        """The class number of each recording, -1 if unknown."""


@dataclass(slots=True)
class TrainingState:
    """How far a training has come: with the parameters and the history, all that resuming it to the bit needs."""

    order: dict[str, Any] = field(default_factory=dict)  # state of the random generator before it drew anything
    passes: int = 0  # finished
    done: int = 0  # recordings of the present pass
    kept: float | None = None  # moving average of the share of events output; None: as the history says
    outcomes: list[Outcome] = field(default_factory=list)  # of the present pass, as `metrics.on_label` gives them
    clipped: int = 0  # how often the present pass put back what had diverged
    pace: float = 1.0  # factor of the rates: halved whenever training goes back
    good: Parameters | None = None  # to go back to: as the present pass began
    best: Parameters | None = None  # by validation
    best_pass: int = 0  # its number, from 1 up; of equals the first
    best_accuracy: float = -1.0

    def begin_pass(self) -> None:
        """Forget the present pass: a new one begins, or the same one again."""
        self.done, self.kept, self.outcomes, self.clipped = 0, None, [], 0

    def out_of_patience(self, patience: int | None) -> bool:
        """Whether so many passes in a row have brought nothing better."""
        return patience is not None and self.passes > 0 and self.passes - self.best_pass >= patience
