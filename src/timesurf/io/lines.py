"""Kernel that reads lines of numbers: the columns of events in any order, times in any unit."""

from __future__ import annotations

from timesurf.events import LATEST
from timesurf.storage.kernels import njit

_LINE, _RETURN, _SPACE, _ZERO, _NINE = 10, 13, 32, 48, 57
_MINUS, _PLUS, _POINT, _LARGE_E, _SMALL_E = 45, 43, 46, 69, 101
_MOST = 10**17  # a mantissa: one digit more still fits in 64 bits
_LARGEST_EXPONENT = 99


@njit(cache=True, nogil=True)
def parse(
    text,  # IN     bytes of whole lines, each with its line feed
    columns,  # IN     (columns,) what each column holds: 0 to 3 for t, x, y, p; -1: nothing of an event
    separator,  # IN     the byte between two columns
    power,  # IN     of ten, from the unit of the times to microseconds
    limits,  # IN     (4, 2) the least value of t, x, y and p, and what each must stay below
    events,  # OUT    (lines, 4) t, x, y, p of every valid line; not written where there is no such column
    wrong,  # OUT    (2,) where the first line that is not valid begins, and its number; -1: none
):
    """Read lines: how many events there are, how many lines, and how many of those are not valid."""
    found, lines, refused, begin = 0, 0, 0, 0
    wrong[:] = -1
    while begin < len(text):
        column, valid, blank, at = 0, True, True, begin
        while True:
            until = at
            while text[until] != separator and text[until] != _LINE:
                blank = blank and (text[until] == _SPACE or text[until] == _RETURN)
                until += 1
            blank = blank and text[until] == _LINE
            if column == len(columns):
                valid = False
            elif valid and columns[column] >= 0:
                what = columns[column]
                value, good = _number(text, at, until, power if what == 0 else 0, what == 0)
                valid = good and limits[what, 0] <= value < limits[what, 1]
                events[found, what] = value
            column = min(column + 1, len(columns))
            at = until + 1
            if text[until] == _LINE:
                break
        if valid and column == len(columns):
            found += 1
        elif not blank:  # an empty line is no line
            refused += 1
            if wrong[1] < 0:
                wrong[0], wrong[1] = begin, lines
        lines += 1
        begin = at
    return found, lines, refused


@njit(cache=True, nogil=True)
def _number(text, at, until, power, may_round):
    """A decimal number times a power of ten as an integer, and whether it is one; no float is on the way."""
    while at < until and text[at] == _SPACE:
        at += 1
    while at < until and (text[until - 1] == _SPACE or text[until - 1] == _RETURN):
        until -= 1
    negative = at < until and text[at] == _MINUS
    if at < until and (negative or text[at] == _PLUS):
        at += 1
    mantissa, digits, after, beyond = 0, 0, False, False
    while at < until:
        if _ZERO <= text[at] <= _NINE:
            digits += 1
            if mantissa < _MOST:
                mantissa = mantissa * 10 + (text[at] - _ZERO)
                power -= after
            elif not after:
                beyond = True
        elif text[at] == _POINT and not after:
            after = True
        else:
            break
        at += 1
    if at < until and digits > 0 and (text[at] == _SMALL_E or text[at] == _LARGE_E):
        exponent, sign, digits = 0, 1, 0
        at += 1
        if at < until and (text[at] == _MINUS or text[at] == _PLUS):
            sign = -1 if text[at] == _MINUS else 1
            at += 1
        while at < until and _ZERO <= text[at] <= _NINE:
            exponent = min(exponent * 10 + (text[at] - _ZERO), _LARGEST_EXPONENT)
            digits += 1
            at += 1
        power += sign * exponent
    if at < until or digits == 0 or beyond:
        return 0, False
    if power > 0:
        for _ in range(min(power, 19)):
            mantissa = LATEST if mantissa > LATEST // 10 else mantissa * 10
    for i in range(-power):
        last = i == -power - 1
        if last and may_round:
            mantissa += 5
        elif mantissa % 10 and not may_round:
            return 0, False
        mantissa //= 10
        if mantissa == 0 and not last:
            break
    return -mantissa if negative else mantissa, True
