"""Calibration without recordings to spare: networks trained on a part of the recordings judge the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self, cast

import numpy as np
from numpy.typing import NDArray

from timesurf.engines import Outcome
from timesurf.events import Recordings
from timesurf.learning.best import Classifier, Fitting, fit
from timesurf.learning.split import folds

Array = NDArray[Any]
FOLDS = 2  # as many trainings on half of the recordings, together as long as the one on all


class Calibrated(Classifier, Protocol):
    """A network whose probabilities can be calibrated."""

    def resized(self, units: Sequence[int], classes: Sequence[Any] | Array) -> Self:
        """A network like this one, without parameters."""

    def begun(self, recordings: Recordings) -> list[Outcome]:
        """What comes out of whole recordings, and of their beginnings."""

    def calibrate_by(self, begun: Sequence[Outcome], label: Array) -> None:
        """Fit its probabilities."""


def cross_calibrate(network: Calibrated, recordings: Recordings, settings: Fitting) -> None:
    """Calibrate a network by the decisions of others, trained as it was, on recordings that these did not learn from.

    They have learned from fewer recordings than the network itself, so its probabilities err on the side of caution.

    Parameters
    ----------
    network : Network
        Trained on the recordings; its calibration changes, nothing else.
    recordings : Recordings
        What it was trained on.
    settings : dict
        Arguments of `Network.fit`, as it was trained.
    """
    known = recordings[np.flatnonzero(recordings.labelled)]
    label = network.class_numbers(known)
    fold = folds(label, FOLDS, np.random.default_rng(network.seed))
    how = cast(Fitting, {name: value for name, value in settings.items() if name not in ("checkpoints", "resume")})
    outcomes, labels = [], []
    for k in np.unique(fold):
        if len(np.unique(label[fold != k])) < len(np.unique(label)):
            continue  # a class with a single recording cannot be learned without it
        part = network.resized([stage.units for stage in network.stages[:-1]], network.classes)
        fit(part, known[np.flatnonzero(fold != k)], how)
        outcomes.append(part.begun(known[np.flatnonzero(fold == k)]))
        labels.append(label[fold == k])
    if outcomes:
        begun = [Outcome.joined(parts) for parts in zip(*outcomes, strict=False)]
        network.calibrate_by(begun, np.concatenate(labels))
