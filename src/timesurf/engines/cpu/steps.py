"""The arithmetic of one event's learning, in the names of `timesurf.rule`, where each equation is explained.

Every kernel of this engine inlines these functions, so that each equation is written once for the CPU.
"""

from __future__ import annotations

from typing import Any

from timesurf.engines.cpu.vector import FASTMATH
from timesurf.rule import SLACK
from timesurf.storage.kernels import njit

compiled = njit(cache=True, nogil=True, fastmath=FASTMATH, error_model="numpy", boundscheck=False)

# Kernels that allocate nothing need no reference counts: without numba's runtime they have none, wherever they are.
# With it every slice, and every array handed to a function, is counted: a few of these per event halve the speed.
bare = njit(cache=True, nogil=True, fastmath=FASTMATH, error_model="numpy", boundscheck=False, _nrt=False)
INLINED: Any = {
    "nogil": True, "fastmath": FASTMATH, "error_model": "numpy", "boundscheck": False, "forceinline": True,
    "_nrt": False,
}  # fmt: skip
inlined = njit(**INLINED)


@compiled
def largest(score, units):
    """The unit with the largest score, the lowest of equals; without a branch, which could not be predicted."""
    f, best = 0, score[0]
    for u in range(1, units):
        more = score[u] > best
        f = u if more else f
        best = score[u] if more else best
    return f, best


@inlined
def sign(label, fired):
    """G: +1 if the right class fired or there is no label (-1), else -1."""
    return 1.0 if label == fired or label == -1 else -1.0


@inlined
def ftv_sum(crowd, fade, own_fade):
    """Sum of ftv after an output: all have decayed by `fade`, and the unit that fired, from `own_fade`, is 1 again."""
    return crowd * fade + (1.0 - own_fade)


@inlined
def separability(others, units):
    """|S| = 1 - mean of the other units' ftv, given their sum."""
    return 1.0 - others / max(units - 1, 1)


@inlined
def change(S, place, previous):
    """DS = S - S of the previous output at the same place, which is then this one."""
    dS = S - previous[place]
    previous[place] = S
    return dS


@inlined
def at_rest(rates):
    """Whether a layer with these rates never changes."""
    return rates.alpha == 0 and rates.beta == 0 and rates.gamma == 0 and rates.delta == 0


@inlined
def centroid_gain(rates, S, dS):
    """The factor g of c += g (ts - c)."""
    return rates.alpha * dS + rates.beta * S


@inlined
def threshold_gain(rates, S, dS):
    """The factor of a threshold's step."""
    return rates.gamma * dS + rates.delta * S


@inlined
def competes(competition, S, dS):
    """Whether thresholds of other units that would have accepted the event are lowered."""
    return competition and S >= -SLACK and dS >= -SLACK


@inlined
def exponent(th, dist, border, width):
    """X of near(th, dist) = exp(x), with width = -1/d."""
    return (th - dist if border else dist) * width
