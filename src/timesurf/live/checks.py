"""What packets and settings of a session must be, and why an event is refused."""

from __future__ import annotations

import re
from operator import index
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import EventError, SettingError
from timesurf.events import LATEST, axis_name, refusal
from timesurf.events.labels import unlabelled
from timesurf.modelfile import class_names
from timesurf.network import Network
from timesurf.predicting import Decide
from timesurf.rule import Rule
from timesurf.times import readable

Array = NDArray[Any]
_BEYOND = 1 << 63  # integers of 64 bits
_WHOLE = re.compile("[+-]?[0-9]+")


def as_class(text: str, classes: list[Any]) -> Any:
    """A text as the name of a class beside these: a whole number where all of them are and it is one.

    >>> as_class("9", [7, 8]), as_class("9", ["cup"]), as_class("dog", [7, 8])
    (9, '9', 'dog')

    """
    numbered = bool(classes) and all(type(name) is int for name in classes)
    return int(text) if numbered and _WHOLE.fullmatch(text) else text


def named(text: Any, classes: list[Any], way_out: str = "") -> Any:
    """The class that a text names, itself and not its text; the way out ends the error where there is none."""
    wanted = as_class(str(text), classes)
    for name in classes:
        if name == wanted or str(name) == str(text):
            return name
    raise EventError(f"{str(text)!r} is none of {', '.join(map(str, classes))}.{way_out}")


def check_new(name: Any, classes: list[Any]) -> Any:
    """Refuse a name that a new class beside these cannot have; else the name, a text where one of these is."""
    class_names([name])
    if name in classes or str(name) in map(str, classes):
        raise SettingError(f"There is a class {name!r} already.")
    if name == unlabelled(np.asarray(name)):
        raise SettingError(f"{name!r} stands for a label that is not known: give the class another name.")
    return str(name) if any(isinstance(other, str) for other in classes) else name


def whole(value: Any, what: str) -> int:
    """A setting that is a whole number."""
    try:
        return index(value)
    except TypeError:
        raise SettingError(f"{what} = {value!r} must be a whole number.") from None


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


def rule_of_labels(teach: Any, network: Network) -> Rule:
    """The rule that packets with a label are learned by; None: the network's own."""
    if teach is None:
        return network.rule
    if not isinstance(teach, Rule):
        raise SettingError(
            f"teach = {teach!r} must be a Rule, or None for the network's own. Packets with a label teach in any case; "
            "network.rule.scaled(10) learns from them ten times as fast."
        )
    return teach


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
