"""Which networks the path by blocks of events covers, and its sizes as constants for the CUDA compiler (blocks.cu)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from timesurf.engines.cuda.general import kernels, plan, row
from timesurf.layers import Full, Stage, Window

LONGEST = 1 << 24  # us: times within a recording are exact in float32
CLASSES = 16  # each takes registers in every lane
_UNITS = {False: 64, True: 32}  # by whether it learns
_SUMS = 96  # registers for sums of gain x surface
_WARPS = {False: 12, True: 8}  # a multiprocessor has registers for


@dataclass(frozen=True)
class Blocks:
    """The path by blocks, for one network."""

    source: str
    warps: int
    memory: int  # bytes of shared memory


@dataclass(frozen=True)
class NearMap:
    """A first layer's time map in shared memory, padded so that a neighbourhood never leaves it, in words."""

    strides: tuple[int, ...]
    size: int
    own: int  # from the corner of a neighbourhood to its middle


def near_map(stage: Stage) -> NearMap:
    """Lines of a window follow each other in the banks of shared memory."""
    side = stage.layer.box(stage.field)
    padded = [n + size - 1 for n, size in zip(stage.field, side, strict=True)]
    line = side[-1] * stage.polarities
    strides = [stage.polarities]
    for d in reversed(range(len(padded) - 1)):
        natural = strides[0] * padded[d + 1]
        strides.insert(0, natural + (line - natural) % 32 if d == len(padded) - 2 else natural)
    own = sum(n // 2 * stride for n, stride in zip(side, strides, strict=True))
    return NearMap(tuple(strides), -(-padded[0] * strides[0] // 4) * 4, own)


@lru_cache(maxsize=64)
def blocks(
    stages: tuple[Stage, ...], *, learn: bool, group: int, shared: int, deterministic: bool = False
) -> Blocks | None:
    """The path by blocks for this network; None where it does not cover it.

    learn : whether it learns
    group : warps that share a recording
    shared : bytes of shared memory that a block of threads may have

    >>> from timesurf.layers import stack
    >>> two = stack([Window(9, units=32, tau="10 ms"), Full(tau="1 ms")], (28, 28), 1, classes=10)
    >>> blocks(two, learn=True, group=1, shared=232_448).warps
    8
    """
    if len(stages) != 2 or not isinstance(stages[0].layer, Window) or not isinstance(stages[1].layer, Full):
        return None
    first, last = stages
    entries = math.prod(first.surface_shape)
    steps, tiles = -(-(entries + learn) // 8), -(-first.units // 8)
    if (
        not first.field or first.units > _UNITS[learn] or last.units > CLASSES
        or math.prod(last.surface_shape) >= 1 << 26 or (learn and -(-first.units // 16) * steps * 4 > _SUMS)
    ):  # fmt: skip
        return None
    near = near_map(first)
    half = (entries + learn - 1) % 8 < 4
    surface = 8 * steps - 4 if half else 8 * steps + 4
    per_warp = near.size + 32 * surface + 64 + 2 * row(last) + 4
    common = steps * tiles * 32 * 16 + 4 * (3 * 8 * tiles + row(last))
    fit = (shared - 1024 - common) // (4 * per_warp)
    warps = min(_WARPS[learn], fit) // group * group
    if warps < max(group, 2):
        return None
    constants = f"""
#define LEARN {int(learn)}
#define GROUP {group}
#define WARPS {warps}
#define MAP_STRIDE {{{", ".join(map(str, near.strides))}}}
constexpr int MAP = {near.size}, OWN = {near.own};
"""
    source = plan(stages, deterministic).head + constants + kernels("card.cu", "warp.cu", "blocks.cu")
    return Blocks(source, warps, common + 4 * warps * per_warp)
