"""Networks that do not learn: events in, decisions out, by votes or by evidence. `Network` adds how they learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from timesurf import engines, inference, metrics
from timesurf.calibration import BEGINNINGS, UNCALIBRATED, Calibration, fit, probabilities
from timesurf.engines import Engine, Options, Outcome, Parameters, Trace
from timesurf.errors import EventError, NotFittedError, SettingError
from timesurf.events import Recordings
from timesurf.layers import Stage
from timesurf.rule import Rule

Array = NDArray[Any]
Decide = Literal["votes", "evidence"]


class Predicting:
    """The half of `Network` that runs recordings and decides.

    Attributes
    ----------
    calibration : dict of Calibration
        Of the probabilities, by votes and by evidence, see `timesurf.calibration`; empty before `calibrate`.
    """

    classes: Array
    stages: tuple[Stage, ...]
    rule: Rule
    engine: str | Engine
    dtype: str
    threads: int | None
    deterministic: bool
    precision: str
    calibration: dict[str, Calibration]
    _parameters: Parameters | None = None
    _decides: Decide | None = None

    @property
    def parameters(self) -> Parameters:
        """Centroids and thresholds of every layer."""
        if self._parameters is None:
            raise NotFittedError("This network has no centroids yet: call fit, start or load first.")
        return self._parameters

    @parameters.setter
    def parameters(self, value: Parameters) -> None:
        self._parameters = value.contiguous()

    @property
    def started(self) -> bool:
        """Whether it has centroids."""
        return self._parameters is not None

    @property
    def options(self) -> Options:
        """How the engine computes."""
        return Options(self.dtype, self.threads, self.deterministic, self.precision)

    @property
    def field(self) -> tuple[int, ...]:
        """Size of the input field."""
        return self.stages[0].field

    @property
    def polarities(self) -> int:
        """Polarities of the input."""
        return self.stages[0].polarities

    @property
    def _engine(self) -> Engine:
        return engines.choose(self.engine, self.stages)

    # ------------------------------------------------------------------ events in

    def infer(self, recordings: Recordings) -> Outcome:
        """Run the recordings without learning: events that each layer kept, votes, and evidence if that decides."""
        return self.outcome(recordings, evidence=self.decides == "evidence")

    def outcome(self, recordings: Recordings, *, evidence: bool) -> Outcome:
        """As `infer`, with evidence or without it."""
        inference.check_input(self.stages, recordings)
        options = replace(self.options, temperature=self.rule.temperature if evidence else 0.0)
        return inference.infer(self._engine, self.stages, self.parameters, recordings, options)

    def trace(self, recordings: Recordings) -> Trace:
        """What happened to every event: winners, distances and S of every layer. Labels, if any, give G."""
        label = self.class_numbers(recordings)
        return inference.trace(self._engine, self.stages, self.parameters, recordings, self.options, label)

    def transform(self, recordings: Recordings, layer: int = -1) -> Recordings:
        """Events that a layer (0: the first) emits, as recordings: its output field, its units as polarities."""
        k = inference.layer_number(self.stages, layer)
        inference.check_input(self.stages, recordings)
        return inference.emitted(self._engine, self.stages, self.parameters, recordings, self.options, k)

    def surfaces(self, recordings: Recordings, layer: int = 0) -> Array:
        """Time surfaces of all events that reach a layer, one row per event."""
        inference.check_input(self.stages, recordings)
        k, batch = inference.layer_number(self.stages, layer), engines.pack(recordings)
        return self._engine.surfaces(self.stages, self.parameters, batch, k)

    def class_numbers(self, recordings: Recordings) -> Array:
        """The class of each recording as a number, -1 if unknown."""
        inference.check_input(self.stages, recordings)
        return inference.class_numbers(self.classes, recordings)

    # ------------------------------------------------------------------ decisions out

    @property
    def decides(self) -> Decide:
        """By what it decides: "evidence" if its last layer learns by the delta rule, else "votes". May be set."""
        return self._decides or ("evidence" if self.rule.last == "delta" else "votes")

    @decides.setter
    def decides(self, how: Decide | None) -> None:
        if how is not None and how not in get_args(Decide):
            raise SettingError(f"decide = {how!r} must be one of {', '.join(get_args(Decide))}.")
        self._decides = how

    def calibrated(self, outcome: Outcome) -> Calibration | None:
        """How the evidence, or else the votes, of an outcome become probabilities; None before `calibrate`."""
        return self.calibration.get("votes" if outcome.evidence is None else "evidence")

    def decide(self, outcome: Outcome) -> metrics.Decisions:
        """Class and confidence of each recording, from what came out of it; see `metrics.decide`.

        What `adapt` and online learning return has no evidence: votes then decide.
        """
        return metrics.decide(outcome.votes, outcome.evidence, self.calibrated(outcome))

    def predict(self, recordings: Recordings) -> metrics.Decisions:
        """Class number (-1: no output event) and confidence of each recording."""
        return self.decide(self.infer(recordings))

    def probabilities(self, outcome: Outcome) -> Array:
        """Probability of every class for each recording; equal ones where it has no output event.

        Before `calibrate`, a network that decides by votes gives each class's share of them.
        """
        events, by = outcome.votes.sum(axis=1), self.calibrated(outcome)
        if outcome.evidence is None and by is None:
            votes = np.where(events[:, None] > 0, outcome.votes, 1)
            shares: Array = votes / votes.sum(axis=1, keepdims=True)
            return shares
        return probabilities(
            outcome.votes if outcome.evidence is None else outcome.evidence, events, by or UNCALIBRATED
        )

    def calibrate(self, recordings: Recordings) -> None:
        """Fit the probabilities, by votes and by evidence, on labelled recordings that were not learned from.

        `train` does so by itself where it has recordings for validation. No decision changes.
        """
        self.calibrate_by(self.begun(recordings), self.class_numbers(recordings))

    def begun(self, recordings: Recordings) -> list[Outcome]:
        """Outcomes, with evidence, of whole recordings and of their beginnings."""
        starts, stops, longest = recordings.starts, recordings.stops, int(recordings.counts.max(initial=0))
        firsts = [np.minimum(starts + n, stops) for n in BEGINNINGS if n < longest]
        return [self.outcome(recordings.cut(starts, ends), evidence=True) for ends in (stops, *firsts)]

    def calibrate_by(self, begun: Sequence[Outcome], label: Array) -> None:
        """As `calibrate`, from what `begun` gives: of this network, or of others trained as it was."""
        for how in get_args(Decide):
            whole, *beginnings = [(getattr(outcome, how), outcome.votes.sum(axis=1)) for outcome in begun]
            self.calibration[how] = fit(*whole, label, beginnings)

    def evaluate(self, recordings: Recordings) -> dict[str, Any]:
        """Recording and event accuracy on the labelled recordings; events kept and silent recordings of all."""
        label = self.class_numbers(recordings)
        if (label < 0).all():
            raise EventError("These recordings have no labels to compare with.")
        outcome = self.infer(recordings)
        return metrics.summary(outcome, label, self.calibrated(outcome))
