"""Kernel that reads lines of CSV with the columns t, x, y and on."""

from __future__ import annotations

from timesurf.events import LATEST
from timesurf.storage.kernels import njit

_COMMA, _RETURN, _LINE, _ZERO, _NINE = 44, 13, 10, 48, 57


@njit(cache=True, nogil=True)
def parse(
    text,  # IN     bytes of whole lines, each with its line feed
    limits,  # IN     (4,) what each column must stay below
    events,  # OUT    (lines, 4) t, x, y, on of every valid line
    wrong,  # OUT    (2,) where the first line that is not valid begins, and its number; -1: none
):
    """Read lines: how many events there are, how many lines, and how many of those are not valid."""
    found, lines, refused, begin = 0, 0, 0, 0
    wrong[:] = -1
    while begin < len(text):
        column, digits, valid, at = 0, 0, True, begin
        events[found, 0] = 0
        while text[at] != _LINE:
            byte = text[at]
            if _ZERO <= byte <= _NINE:
                digits += 1
                events[found, column] = min(events[found, column] * 10 + (byte - _ZERO), LATEST)
                valid = valid and events[found, column] < limits[column]
            elif byte == _COMMA and digits > 0 and column < 3:
                column, digits = column + 1, 0
                events[found, column] = 0
            elif byte != _RETURN or text[at + 1] != _LINE:
                valid = False
            at += 1
        if valid and digits > 0 and column == 3:
            found += 1
        elif at > begin and text[begin] != _RETURN:  # an empty line is no line
            refused += 1
            if wrong[1] < 0:
                wrong[0], wrong[1] = begin, lines
        lines += 1
        begin = at + 1
    return found, lines, refused
