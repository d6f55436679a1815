"""Early decisions: recordings are read only until the network is sure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from timesurf.events import Recordings
from timesurf.live.session import Session
from timesurf.metrics import SILENT
from timesurf.network import Network
from timesurf.predicting import Decide

Array = NDArray[Any]
_PACKET = 1024  # events


class Early(NamedTuple):
    """Early decisions on recordings.

    Attributes
    ----------
    classes : array of int, shape (recordings,)
        Number of the class: that of the first sure decision or, if none was, of the last one; `SILENT` without any.
    sure : array of bool, shape (recordings,)
        Whether it was sure before the end.
    events : array of int, shape (recordings,)
        Input events until then; all where it was never sure.
    time : array of int, shape (recordings,)
        Time from the first event until then, in us.
    share : array of float, shape (recordings,)
        Events until then / all events.

    """

    classes: Array
    sure: Array
    events: Array
    time: Array
    share: Array


def early(
    network: Network,
    recordings: Recordings,
    sure: float,
    *,
    decide: Decide | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Early:
    """Decide on each recording as soon as the probability of a class reaches a level.

    Parameters
    ----------
    network : Network
        A trained and calibrated network; it is not changed.
    recordings : Recordings
        To decide on.
    sure : float
        The level, as in `Session`.
    decide : {"votes", "evidence"}, optional
        As in `Session`.
    progress : callable
        Called with the number of recordings done and of all.

    Returns
    -------
    Early
        Decisions, and what they took.
    """
    session = Session(network, jump=None, decide=decide, sure=sure)
    number = {name: n for n, name in enumerate(network.classes.tolist())}
    counts, (first, last) = recordings.counts, recordings.spans()
    found = Early(
        np.full(len(recordings), SILENT), np.zeros(len(recordings), np.bool_), counts.copy(),
        np.where(counts > 0, last - first, 0), np.ones(len(recordings)),
    )  # fmt: skip
    for r in range(len(recordings)):
        session.reset()
        one, decision = recordings[r], None
        for begin in range(0, int(counts[r]), _PACKET):
            some = slice(begin, begin + _PACKET)
            decision = session.take(tuple(x[some] for x in one.coords), one.t[some], one.p[some])
            if decision.sure is not None:
                break
        if decision is not None and decision.sure is not None:
            label, found.events[r], found.time[r] = decision.sure
            found.sure[r], found.share[r], found.classes[r] = True, found.events[r] / counts[r], number[label]
        elif decision is not None and decision.decision is not None:
            found.classes[r] = number[decision.decision]
        progress(r + 1, len(recordings))
    return found


def columns(network: Network, recordings: Recordings, found: Early) -> dict[str, list[Any]]:
    """Tabulate early decisions: label, decision, whether it was sure, events in all, events and microseconds used."""
    labels = [None] * len(recordings) if recordings.labels is None else recordings.labels.tolist()
    known = recordings.labelled.tolist()
    return {
        "recording": list(range(len(recordings))),
        "label": [label if is_known else None for label, is_known in zip(labels, known, strict=True)],
        "decision": [None if c == SILENT else network.classes[c].item() for c in found.classes],
        "sure": found.sure.tolist(),
        "events": recordings.counts.tolist(),
        "events_used": found.events.tolist(),
        "us_used": found.time.tolist(),
    }
