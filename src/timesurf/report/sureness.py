"""Sections on how sure decisions are, and on accuracy over the share of events kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from timesurf import calibration
from timesurf.report import pictures
from timesurf.report.findings import Findings
from timesurf.report.markup import Html, count, figure, percent
from timesurf.report.pictures import Curve


def probabilities(found: Findings) -> Html:
    """The reliability diagram: accuracy of decisions by their confidence."""
    evaluated = found.evaluated
    if evaluated is None or evaluated.calibrated is None or not len(evaluated.known):
        return Html()
    known, decided = evaluated.known, evaluated.decided
    right = decided.classes[known] == evaluated.label[known]
    of = calibration.reliability(decided.confidence[known], right)
    edges = np.linspace(0, 1, len(of.recordings) + 1)
    rows = [
        (f"{percent(edges[n])} to {percent(edges[n + 1])}: {count(int(of.recordings[n]), 'recording')}",
         [float(of.confidence[n]), float(of.accuracy[n])])
        for n in np.flatnonzero(of.recordings)
    ]  # fmt: skip
    how = (
        "Decisions by their confidence, the probability of the class decided on. Where the second bar is shorter than "
        "the first, the network is too sure; where it is longer, not sure enough. Expected calibration error, the mean "
        f"difference of the two: {percent(of.error)}. Few recordings make a row uncertain."
    )
    return figure("Reliability of probabilities", pictures.bars(rows, ["mean confidence", "accuracy"]), how)


def sparsity(found: Findings) -> Html:
    """Recording and event accuracy over the share of events kept."""
    saved = found.run.about.get("evaluation")
    rows = _figures(saved.get("over_kept")) if isinstance(saved, dict) else None
    if rows is None or len(rows) < 2:
        return Html()
    kept, of_recordings, of_events = rows[np.argsort(rows[:, 0])].T
    lines = [Curve("recording accuracy", of_recordings), Curve("event accuracy", of_events, 1)]
    words = pictures.in_words(lines, "over the share of events kept")
    drawn = pictures.curves(kept, lines, xlabel="share of events kept", words=words)
    how = (
        "Accuracy on the held-out recordings if thresholds let only this share of events pass; the right end is the "
        "network as it is. The last layer has not learned again from what is left: `timesurf tighten` lets it, and "
        "loses less."
    )
    return figure("Accuracy over events kept", drawn, how)


def _figures(rows: Any) -> Any:
    """Kept, recording accuracy and event accuracy as columns; None if the file holds anything else."""
    names = ("kept", "recording_accuracy", "event_accuracy")
    try:
        table = np.array([[row[name] for name in names] for row in rows], dtype=float)
    except (TypeError, KeyError, ValueError, IndexError):
        return None
    return table if table.size and np.isfinite(table).all() and len(np.unique(table[:, 0])) == len(table) else None
