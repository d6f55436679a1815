"""Kernel that decodes EVT3, Prophesee's words of 16 bits: 4 bits say what the other 12 are."""

from __future__ import annotations

from timesurf.storage.kernels import njit

Y, X, POLARITY, BASE, TIME_HIGH, TIME_LOW, PERIODS, FULL = range(8)  # where `state` holds what
STATE = 8
_ADDR_Y, _ADDR_X, _VECT_BASE, _VECT_12, _VECT_8, _TIME_LOW, _TIME_HIGH = 0, 2, 3, 4, 5, 6, 8


@njit(cache=True, nogil=True)
def decode(
    words,  # IN     (words,) uint16
    state,  # INOUT  (STATE,) row, column, clock, and whether the clock is known
    t,  # OUT    (12 x words,) us
    x,  # OUT    likewise
    y,  # OUT    likewise
    p,  # OUT    likewise
):
    """Decode words; how many events there are. Those before the first time are left out."""
    found = 0
    for word in words:
        kind, value = word >> 12, int(word & 0xFFF)
        if kind == _TIME_HIGH:
            if state[FULL] and value < state[TIME_HIGH] - 2048:  # the clock of 24 bits begins again every 16.8 s
                state[PERIODS] += 1
            state[TIME_HIGH], state[TIME_LOW], state[FULL] = value, 0, 1
        elif kind == _TIME_LOW:
            state[TIME_LOW] = value
        elif kind == _ADDR_Y:
            state[Y] = value & 0x7FF
        elif kind == _VECT_BASE:
            state[BASE], state[POLARITY] = value & 0x7FF, value >> 11
        elif kind in (_ADDR_X, _VECT_12, _VECT_8):
            bits, width = value, 12
            begin, polarity = state[BASE], state[POLARITY]
            if kind == _ADDR_X:
                bits, width, begin, polarity = 1, 1, value & 0x7FF, value >> 11
            elif kind == _VECT_8:
                bits, width = value & 0xFF, 8
            if state[FULL]:
                now = ((state[PERIODS] << 12 | state[TIME_HIGH]) << 12) | state[TIME_LOW]
                for bit in range(width):
                    if bits >> bit & 1:
                        t[found], x[found], y[found], p[found] = now, begin + bit, state[Y], polarity
                        found += 1
            if kind != _ADDR_X:
                state[BASE] += width
    return found
