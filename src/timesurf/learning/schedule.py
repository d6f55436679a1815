"""Schedule: how many passes, in which batches, and with which rates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from timesurf import inference
from timesurf.errors import SettingError
from timesurf.events import Recordings
from timesurf.rule import Rule

_RATES_PER_PASS = 50  # online learning with falling rates lowers them this often in a pass


@dataclass(frozen=True, slots=True)
class Schedule:
    """How recordings are learned from.

    Attributes
    ----------
    passes : int
        How often to go through all recordings.
    batch_size : int, optional
        None learns online, after each event; a number learns by the batch rule over so many recordings at a time.
    decay : bool
        Whether rates fall linearly, from the rule's at the first recording to 0 after the last.
    keep : float, optional
        Share of events; while no more than this passes, units do not push each other's thresholds back.
    moved : tuple of int
        Pixels along each dimension by which each recording is moved at most, by another distance in each pass; see
        `timesurf.learning.copies`. Empty: not at all.
    bent : int
        How many copies of each recording, turned, scaled and sheared by `transforms.bend`, are learned from as well.
    """

    passes: int = 6
    batch_size: int | None = None
    decay: bool = False
    keep: float | None = None
    moved: tuple[int, ...] = ()
    bent: int = 0

    def __post_init__(self) -> None:
        """Refuse batches without recordings, a share that is none, and distances that are none."""
        if self.passes < 0:
            raise SettingError(f"passes = {self.passes!r} must be 0 or more.")
        if self.batch_size is not None and self.batch_size < 1:
            raise SettingError(f"batch_size = {self.batch_size!r} must be at least 1, or None for online learning.")
        if self.keep is not None and not 0 < self.keep <= 1:
            raise SettingError(f"keep = {self.keep!r} must lie between 0 and 1: the share of events to keep.")
        if isinstance(self.bent, bool) or not isinstance(self.bent, int) or self.bent < 0:
            raise SettingError(f"bent = {self.bent!r} must be a whole number of copies, 0 or more.")
        if any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in self.moved):
            raise SettingError(f"moved = {self.moved!r} must be whole numbers of pixels, 0 or more, one per dimension.")

    @property
    def online(self) -> bool:
        """Whether weights change after each event."""
        return self.batch_size is None

    def rule(self, rule: Rule, done: int, total: int, kept: float = 1.0) -> Rule:
        """The rule after `done` of `total` recordings of all passes, while this share of events is kept."""
        if self.keep is not None and kept <= self.keep:
            rule = replace(rule, competition=False)
        return rule.scaled(1 - done / total) if self.decay else rule

    def parts(self, recordings: Recordings) -> Iterator[slice]:
        """Slices of recordings that are learned from in one call of the engine."""
        at_once = self.batch_size
        if at_once is None and (self.decay or self.keep is not None):
            at_once = max(len(recordings) // _RATES_PER_PASS, 1)
        return inference.parts(recordings, at_once)
