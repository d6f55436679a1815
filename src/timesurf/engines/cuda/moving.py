"""Recordings at other places, on the card, as `timesurf.events.moving` does on the host (moving.cu). Needs no card."""

from __future__ import annotations

from collections.abc import Sequence

from timesurf.engines.cuda.work import kernels

THREADS = 256


def source(field: Sequence[int], stride: Sequence[int], units: int) -> str:
    """The kernel for a field, its pixels per place (empty: 1) and its polarities.

    Examples
    --------
    >>> source((34, 34), (4, 4), 512).splitlines()[0]
    '#define FIELD {34, 34}'
    """
    sizes, pixels = (", ".join(map(str, of)) for of in (field, stride or [1] * len(field)))
    numbers = f"constexpr int DIMENSIONS = {len(field)}, UNITS = {units};"
    return f"#define FIELD {{{sizes}}}\n#define STRIDE {{{pixels}}}\n{numbers}\n{kernels('moving.cu')}"
