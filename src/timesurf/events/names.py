"""The names that other programs give to coordinates, times and polarities, and the units that times are in."""

from __future__ import annotations

import re

from timesurf.errors import EventError

# Powers of ten from a unit of time to microseconds.
UNITS = {"s": 6, "ms": 3, "us": 0, "ns": -3}

_NAMES = {
    "x": ("x", "xs", "x_pos", "col", "cols", "column", "columns", "channel", "channels", "address", "addr"),
    "y": ("y", "ys", "y_pos", "row", "rows"),
    "z": ("z", "zs"),
    "t": ("t", "ts", "time", "times", "timestamp", "timestamps", "time_stamp", "timestep"),
    "p": ("p", "ps", "pol", "polarity", "polarities", "on", "sign", "is_increase", "weight"),
}
_MEANING = {name: ours for ours, names in _NAMES.items() for name in names}
_UNIT_NAMES = {
    **{unit: unit for unit in UNITS},
    **dict.fromkeys(("µs", "μs", "usec", "microsecond", "microseconds"), "us"),
    **dict.fromkeys(("sec", "second", "seconds"), "s"),
    **dict.fromkeys(("msec", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("nsec", "nanosecond", "nanoseconds"), "ns"),
}
_WITH_UNIT = re.compile(r"(.+?)[\s_.,:/(\[-]+([a-zµμ]+)[)\]]?")


def meaning(name: str) -> tuple[str | None, str | None]:
    """What a column or field of this name holds: x, y, z, t or p; and the unit that its name states.

    Parameters
    ----------
    name : str
        As another program wrote it, in any case, with or without quotes.

    Returns
    -------
    ours : str or None
        None: nothing that an event has.
    unit : str or None
        "s", "ms", "us" or "ns", of times.

    Examples
    --------
    >>> meaning("Timestamp [ns]"), meaning("t_ms"), meaning("polarity"), meaning("camera")
    (('t', 'ns'), ('t', 'ms'), ('p', None), (None, None))

    """
    plain = name.strip().strip("\"'").strip().lower()
    if plain in _MEANING:
        return _MEANING[plain], None
    match = _WITH_UNIT.fullmatch(plain)
    if match and _MEANING.get(match[1].strip()) == "t" and match[2] in _UNIT_NAMES:
        return "t", _UNIT_NAMES[match[2]]
    return None, None


def unit_of(text: str | None) -> str | None:
    """A unit of time that a caller gives, by its short name.

    Examples
    --------
    >>> unit_of("milliseconds")
    'ms'

    """
    if text is None:
        return None
    if text.strip().lower() not in _UNIT_NAMES:
        raise EventError(f"unit = {text!r} is not a unit of time: it is one of {', '.join(UNITS)}.")
    return _UNIT_NAMES[text.strip().lower()]
