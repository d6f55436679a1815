"""What the columns of CSV hold, by their names, and the events of its lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import EventError
from timesurf.events import LATEST
from timesurf.events.names import UNITS, meaning, unit_of

Array = NDArray[Any]
DTYPE = np.dtype([("x", "<u2"), ("y", "<u2"), ("t", "<i8"), ("p", "u1")])  # of a packet of events; t in us
_ORDER = ("t", "x", "y", "p")  # as the kernel numbers them
_BARE = "t,x,y,on"  # the columns of a file that does not name them
_LIMITS = np.array([[0, LATEST], [0, 1 << 16], [0, 1 << 16], [-1, 2]])
_WORDS = ((b"true", b"1"), (b"false", b"0"), (b"on", b"1"), (b"off", b"0"))  # how some programs write polarities
_SHOWN = 40  # characters of a line in a message
_SAMPLE = 100  # lines that show whether times have a fraction; comments in front of them count
_COMMENT = ("#", "%")


@dataclass(frozen=True)
class Columns:
    """What each column holds.

    Parameters
    ----------
    names : tuple of str
        As they are called, or would be.
    held : tuple of str or None
        x, y, t or p for each; None: nothing of an event.
    separator : str
        What is between two columns: a comma, a semicolon, a tab or a space.
    unit : str
        Of the times: s, ms, us or ns.
    header : int
        How many lines come before the first event: comments, and the line that names the columns.

    """

    names: tuple[str, ...]
    held: tuple[str | None, ...]
    separator: str
    unit: str
    header: int
    _wrong: Array = field(default_factory=lambda: np.zeros(2, np.int64), compare=False)

    @classmethod
    def of(cls, text: bytes, source: Any, *, names: str | None = None, unit: str | None = None) -> Columns:
        """The columns of a text, by its first line.

        Parameters
        ----------
        text : bytes
            Whole lines from the beginning.
        source : object
            What error messages call it.
        names : str, optional
            The names of the columns where the text has none, with commas between them. None: t,x,y,on.
        unit : str, optional
            Of the times. None: as their name says; without a unit there, seconds if some have a fraction, else
            microseconds.

        Raises
        ------
        EventError
            If there is no column of times, or of places, or one twice.

        """
        lines = [line.decode("utf-8", "replace").strip("\ufeff\r ") for line in text.split(b"\n", _SAMPLE)[:_SAMPLE]]
        comments = next((n for n, line in enumerate(lines) if not line.startswith(_COMMENT)), len(lines))
        first = lines[comments] if comments < len(lines) else ""
        separator, own = _parts(first)
        called, header = own, comments + _are_names(own)
        if header == comments:
            called = [part.strip() for part in (names or _BARE).split(",")]
            remark = _parts(lines[comments - 1])[1] if comments else []  # the last comment may be the line of names
            if _are_names(remark) and {"t", "x"} <= {meaning(name)[0] for name in remark}:
                called = remark
                separator = separator if first else _parts(lines[comments - 1])[0]
        meanings = [meaning(name) for name in called]
        held = tuple(ours for ours, _ in meanings)
        _check(held, called, source)
        at = held.index("t")
        stated = unit_of(unit) or meanings[at][1]
        if stated is None:
            times = [line.split(separator)[at : at + 1] for line in lines[header:]]
            stated = "s" if any(_has_fraction(part) for row in times for part in row) else "us"
        return cls(tuple(called), held, separator, stated, header)

    @property
    def places(self) -> int:
        """How many coordinates an event has: 1 or 2."""
        return 2 if "y" in self.held else 1

    @property
    def polarities(self) -> int:
        """How many polarities there are: 1 or 2."""
        return 2 if "p" in self.held else 1

    def events(self, text: bytes) -> tuple[Array, int, tuple[int, int, int]]:
        """Events of whole lines, without the line of names.

        Returns
        -------
        packet : array of `DTYPE`
            The events of all valid lines.
        lines : int
            How many lines there are.
        refused : tuple of int
            How many of them are not valid; where the first of these begins, and its number.

        """
        from timesurf.io.lines import parse  # here, as importing numba takes a while

        if self.polarities == 2 and (b"e" in text[:200].lower() or b"o" in text[:200].lower()):
            text = _with_numbers(text)
        found = np.zeros((text.count(b"\n") + 1, 4), np.int64)
        order = np.array([_ORDER.index(ours) if ours in _ORDER else -1 for ours in self.held])
        n, lines, refused = parse(
            np.frombuffer(text, np.uint8), order, ord(self.separator), UNITS[self.unit], _LIMITS, found, self._wrong
        )
        packet = np.empty(n, DTYPE)
        for column, name in enumerate(_ORDER):
            packet[name] = found[:n, column] if name != "p" else found[:n, column] > 0
        begin, number = self._wrong.tolist()
        return packet, lines, (refused, begin, number)

    def refusal(self, text: bytes, begin: int) -> str:
        r"""What the line of a text that begins there is, what is needed, and what of it is wrong; nothing unprintable.

        Examples
        --------
        >>> Columns.of(b"t,x,y,on", "a.csv").refusal(b"12,3,-1,0\n", 0)
        "'12,3,-1,0': t,x,y,on are needed (us, pixels, 0 or 1), and y is '-1'"

        """
        line = text[begin : text.index(b"\n", begin)].decode("ascii", "backslashreplace")
        names, parts = [repr(name)[1:-1] for name in self.names], line.split(self.separator)
        needed = f"{line[:_SHOWN]!r}: {','.join(names)} are needed ({self.unit}, pixels, 0 or 1)"
        if len(parts) != len(names):
            return f"{needed}, not {len(parts)} column{'s' * (len(parts) != 1)}"
        wrong = (at for at, (ours, part) in enumerate(zip(self.held, parts, strict=True)) if not _fits(ours, part))
        at = next(wrong, -1)
        return f"{needed}, and {names[at]} is {parts[at].strip()[:_SHOWN]!r}" if at >= 0 else needed


def _fits(ours: str | None, text: str) -> bool:
    """Whether this can be the value of a column that holds x, y, t or p."""
    if ours is None:
        return True
    text = text.strip()
    if ours == "p" and text.lower() in [word.decode() for word, _ in _WORDS]:
        return True
    try:
        number = float(text)
    except ValueError:
        return False
    low, high = _LIMITS[_ORDER.index(ours)]
    return bool(low <= number < high) and (ours == "t" or number % 1 == 0)


def _check(held: Sequence[str | None], names: Sequence[str], source: Any) -> None:
    known = [ours for ours in held if ours is not None]
    twice = {ours for ours in known if known.count(ours) > 1}
    if not {"t", "x"} <= set(known) or "z" in known or twice:
        why = f"two of them are {twice.pop()}" if twice else "t,x,y,on are needed, by these names or usual others"
        raise EventError(
            f"{source} has the columns {','.join(names)!r}: {why} (times, pixels, 0 or 1); docs/formats.md lists them. "
            "Where a file has no line of names, --columns gives them."
        )


def _parts(line: str) -> tuple[str, list[str]]:
    """What is between two columns of a line, and the columns."""
    line = line.lstrip("#% ")
    separator = max((",", ";", "\t"), key=line.count)
    separator = " " if separator not in line and " " in line else separator
    return separator, [part.strip() for part in line.split(separator)]


def _are_names(parts: list[str]) -> bool:
    """Whether these may be the names of all columns."""
    return sum(map(_is_name, parts)) > 1 and all(_is_name(part) or not part for part in parts)


def _is_name(part: str) -> bool:
    """Whether this may be the name of a column; pandas leaves that of its index empty."""
    return part[:1].isalpha() or part[:1] in ('"', "'", "#", "_")


def _has_fraction(number: str) -> bool:
    try:
        return math.isfinite(float(number)) and float(number) % 1 != 0
    except (ValueError, OverflowError):
        return False


def _with_numbers(text: bytes) -> bytes:
    lower = text.lower()
    for word, number in _WORDS:
        lower = lower.replace(word, number.ljust(len(word)))  # as long as before: places in it are places in the text
    return lower
