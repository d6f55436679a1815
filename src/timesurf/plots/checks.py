"""Checks of what a picture is made of."""

from __future__ import annotations

from timesurf.errors import EventError
from timesurf.events import Recordings


def one(recording: Recordings) -> Recordings:
    """Give back the recording if it is a single one with events, else raise an `EventError`."""
    if not isinstance(recording, Recordings):
        raise EventError(f"A recording is needed, not {type(recording).__name__}: recordings[0] is the first of many.")
    if len(recording) != 1:
        raise EventError(f"{len(recording)} recordings: a picture shows one; recordings[0] is the first.")
    if not recording.counts[0]:
        raise EventError("This recording has no events: there is nothing to draw.")
    return recording
