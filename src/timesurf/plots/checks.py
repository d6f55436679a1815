"""What a picture can be made of."""

from __future__ import annotations

from timesurf.errors import EventError, SettingError
from timesurf.events import Recordings
from timesurf.model import Network


def one(recording: Recordings) -> Recordings:
    """The recording, if it is one and has events."""
    if not isinstance(recording, Recordings):
        raise EventError(f"A recording is needed, not {type(recording).__name__}: recordings[0] is the first of many.")
    if len(recording) != 1:
        raise EventError(f"{len(recording)} recordings: a picture shows one; recordings[0] is the first.")
    if not recording.counts[0]:
        raise EventError("This recording has no events: there is nothing to draw.")
    return recording


def layer_number(network: Network, layer: int) -> int:
    """The layer's number from 0 up; -1 is the last."""
    layers = len(network.stages)
    if not -layers <= layer < layers:
        raise SettingError(f"layer = {layer} does not exist: this network has layers 0 to {layers - 1}.")
    return layer % layers
