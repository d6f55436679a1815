"""Times as users write them: numbers in microseconds, or text such as `"100 ms"`."""

import math
import re
from collections.abc import Sequence
from numbers import Integral

from timesurf.errors import SettingError

Time = float | int | str

_MICROSECONDS = {"ns": 1e-3, "us": 1.0, "µs": 1.0, "μs": 1.0, "ms": 1e3, "s": 1e6, "min": 60e6, "h": 3600e6}
SHORTEST, LONGEST = 1e-3, 1e15  # us, of a time constant: 1 ns and about 32 years, see `time_constant`
_TEXT = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?)\s*([a-zµμ]+)\s*", re.IGNORECASE)


def microseconds(value: Time, name: str = "time") -> float:
    """A positive, finite time in microseconds.

    Parameters
    ----------
    value : float, int or str
        Microseconds, or a number with a unit: ns, us, ms, s, min or h.
    name : str
        What error messages call it.

    Returns
    -------
    float
        Microseconds.

    Raises
    ------
    SettingError
        If it is not a time, not positive or not finite.

    Examples
    --------
    >>> microseconds("100 ms"), microseconds("1us"), microseconds(250)
    (100000.0, 1.0, 250.0)

    """
    if isinstance(value, str):
        match = _TEXT.fullmatch(value)
        unit = match and _MICROSECONDS.get(match[2].lower())
        if not match or not unit:
            raise SettingError(f"{name} = {value!r} is not a time. Write a number and a unit, such as '100 ms'.")
        value = float(match[1]) * unit
    try:
        us = float(value)
    except (TypeError, ValueError, OverflowError):
        raise SettingError(f"{name} = {value!r} is neither a number of microseconds nor text.") from None
    if not (math.isfinite(us) and us > 0):
        raise SettingError(f"{name} = {value!r} must be a positive, finite time.")
    return us


def time_constant(value: Time, name: str = "tau") -> float:
    """The time constant of an exponential decay in microseconds, from 1 ns to 1e15 us (about 32 years).

    Events have whole microseconds. After one of them, the shortest has decayed to exp(-1000), which is 0 in any
    precision, and the longest to 1 - 1e-15, the last digits of a float64: beyond either, nothing would change but the
    risk of numbers that overflow.

    Parameters
    ----------
    value, name
        As of `microseconds`.

    Returns
    -------
    us : float
        The same time.

    Raises
    ------
    SettingError
        If it is not a time, or outside this range.

    Examples
    --------
    >>> time_constant("100 ms")
    100000.0
    >>> time_constant(1e-4)
    Traceback (most recent call last):
    timesurf.errors.SettingError: tau = 0.0001 must lie between 0.001 us (1 ns) and 1e+15 us (about 32 years).

    """
    us = microseconds(value, name)
    if not SHORTEST <= us <= LONGEST:
        raise SettingError(
            f"{name} = {value!r} must lie between {SHORTEST:g} us (1 ns) and {LONGEST:g} us (about 32 years)."
        )
    return us


def first_microsecond(value: Time, name: str = "time") -> int:
    """The first whole microsecond that is not before a time; exact for integers of any size.

    Examples
    --------
    >>> first_microsecond("1.5 us"), first_microsecond(2**60 + 1) == 2**60 + 1
    (2, True)

    """
    us = microseconds(value, name)
    return int(value) if isinstance(value, Integral) else math.ceil(us)


def readable(us: float) -> str:
    """A time in the unit that reads best.

    Examples
    --------
    >>> readable(100_000), readable(1.0), readable(2.5e6)
    ('100 ms', '1 us', '2.5 s')

    """
    for unit in ("s", "ms"):
        if us >= _MICROSECONDS[unit]:
            return f"{us / _MICROSECONDS[unit]:g} {unit}"
    return f"{us:g} us"


def readable_all(times: Sequence[float]) -> str:
    """Times one after another, with the unit once where all have the same.

    Examples
    --------
    >>> readable_all([40_000, 10_000, 2500]), readable_all([1e6, 250]), readable_all([1.0])
    ('40, 10 and 2.5 ms', '1 s and 250 us', '1 us')

    """
    *firsts, last = (readable(us) for us in times)
    unit = last.split()[1]
    if all(each.split()[1] == unit for each in firsts):
        firsts = [each.split()[0] for each in firsts]
    return f"{', '.join(firsts)} and {last}" if firsts else last
