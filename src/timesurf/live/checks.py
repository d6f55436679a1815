"""What packets and settings of a session must be, and why an event is refused."""

from __future__ import annotations

from operator import index
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import EventError, SettingError
from timesurf.events import LATEST, axis_name, refusal
from timesurf.network import Network
from timesurf.predicting import Decide
from timesurf.times import readable

Array = NDArray[Any]
_BEYOND = 1 << 63  # integers of 64 bits


def check_type(events: Any, places: list[str]) -> bool:
    """Refuse packets that are not arrays with the fields of a network, all integers; whether they have polarities."""
    if not isinstance(events, np.ndarray):
        raise EventError(f"A packet is a structured array or Recordings, not {type(events).__name__}.")
    names = events.dtype.names or ()
    if "t" not in names or any(axis not in names for axis in places):
        raise EventError(f"A packet needs the fields {', '.join(places)} and t, not {', '.join(names)}.")
    for name in (*places, "t", *(["p"] if "p" in names else [])):
        if events.dtype[name].kind not in "iub":
            raise EventError(f"Events are integers, and {name} is {events.dtype[name]}: convert them.")
    return "p" in names


def check_numbers(event: tuple[Any, ...], names: list[str]) -> None:
    """Refuse a single event that is not one integer of 64 bits per name."""
    if len(event) != len(names):
        raise EventError(f"An event is {', '.join(names)}: {len(names)} numbers, not {len(event)}.")
    for name, value in zip(names, event, strict=True):
        try:
            fits = -_BEYOND <= index(value) < _BEYOND
        except TypeError as error:
            kind = type(value).__name__
            raise EventError(f"Events are integers, and {name} is {kind}: convert it.") from error
        if not fits:
            raise EventError(f"Events are integers of 64 bits, and {name} has more.")


def why_not(packet: Array, row: int, event: int, sizes: Array, latest: int, jump: int) -> str:
    """Why an event of a packet (rows of coordinates, polarities and times) is refused, and what to do."""
    value, last = int(packet[row, event]), len(packet) - 1
    if row == last - 1:
        return refusal("p", value, int(sizes[row]))
    if row < last:
        return (
            f"{axis_name(row)} = {value} is off the field (0 to {int(sizes[row]) - 1}) of the network. Crop the "
            "events, or train the network with the size of the sensor (`timesurf train --field`)."
        )
    if not 0 <= value < LATEST:
        return refusal("t", value, 0)
    before = int(packet[row, event - 1]) if event else latest
    if value < before and event == 0:
        return (
            f"time {value} us comes before {before} us. A stream goes forward in time: send its packets in order; "
            "where two senders share one address, give each a stream of its own."
        )
    if value < before:
        return f"time {value} us comes before {before} us. A stream goes forward in time: sort its events."
    return (
        f"time {value} us is {readable(value - before)} after the event before, and jump = {readable(jump)}. "
        "A longer jump accepts such a pause; on_jump='restart' begins a new stream after it."
    )


def how_to_decide(network: Network, decide: Decide | None, sure: float | None) -> tuple[Decide, float]:
    """By what to decide, and the probability from which a decision is sure; above 1: never."""
    if decide not in (None, *get_args(Decide)):
        raise SettingError(f"decide = {decide!r} must be one of {', '.join(get_args(Decide))}.")
    by = decide or network.decides
    if sure is not None and not 0 < sure <= 1:
        raise SettingError(f"sure = {sure!r} must lie between 0 and 1: the probability of the leading class.")
    if sure is not None and by not in network.calibration:
        raise SettingError(
            "This network has no calibrated probabilities to be sure by. Train it with recordings for validation "
            "(the default of `timesurf train`), or call Network.calibrate."
        )
    return by, 2.0 if sure is None else float(sure)
