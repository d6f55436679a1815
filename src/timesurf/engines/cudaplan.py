"""A network's sizes as constants for the CUDA compiler, and what memory it needs on the card. Needs no card itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import numpy as np

from timesurf.engines.batch import Array
from timesurf.errors import SettingError
from timesurf.layers import Full, Stage, Tile, Window

WIDE = 1024  # entries: a Full layer wider than this keeps dot products running and never writes its surface out
WARPS = 4  # a block
_SHARED_SUMS = 96 << 10  # bytes of shared memory for sums of updates
_SHARED = 200 << 10  # bytes of shared memory in all


@dataclass(frozen=True)
class Plan:
    """A network for the card."""

    source: str
    steps: tuple[Array, ...]  # of each layer: where the entries of a surface lie, from its corner
    wide: tuple[bool, ...]
    scratch: int  # words a warp
    written: int  # entries of surfaces that are written out
    sums: int  # entries of updates in shared memory
    bytes_a_sum: int

    def memory(self, *, learn: bool) -> int:
        """Bytes of shared memory a block."""
        return 4 * WARPS * self.written + (self.bytes_a_sum * self.sums if learn else 0)


@lru_cache(maxsize=64)
def plan(stages: tuple[Stage, ...], deterministic: bool = False) -> Plan:
    """Sizes of a network as the kernels want them.

    >>> from timesurf.layers import Full, Window, stack
    >>> two = plan(stack([Window(9, units=32, tau="10 ms"), Full(tau="1 ms")], (28, 28), 1, classes=10))
    >>> two.wide, two.written
    ((False, True), 81)
    """
    most = max(1, *(len(stage.field) for stage in stages))
    shapes, steps, wides = [], [], []
    maps = feedback = previous = written = sums = 0
    for stage in stages:
        layer, field = stage.layer, stage.field
        kind = {Window: 0, Tile: 1, Full: 2}[type(layer)]
        side = layer.box(field)
        entries = math.prod(stage.surface_shape)
        wide = kind == 2 and entries > WIDE
        padded = [
            n + size - 1 if kind == 0 else math.ceil(n / size) * size for n, size in zip(field, side, strict=True)
        ]
        stride = [stage.polarities * math.prod(padded[d + 1 :]) for d in range(len(padded))]
        box = np.indices((*side, stage.polarities)).reshape(len(side) + 1, -1)
        steps.append((np.array([*stride, 1]) @ box).astype(np.int32))
        out = stage.output_field
        places = math.prod(out)
        lanes = -(-stage.units // 32)
        numbers = [
            kind, len(field), stage.units, lanes, stage.polarities, entries, int(wide), maps, feedback, previous,
            written, sums, sum(wides),
        ]  # fmt: skip
        lists = [_braces(values, most) for values in (field, side, stride, out)]
        shapes.append((numbers, lists))
        maps += math.prod(padded) * stage.polarities
        feedback += places * stage.units
        previous += places
        if not wide:
            written += entries
            sums += entries * stage.units
        wides.append(wide)
    for numbers, _ in shapes:
        numbers[8] += maps
        numbers[9] += maps + feedback
    bytes_a_sum = 8 if deterministic else 4
    shared = sums * bytes_a_sum <= _SHARED_SUMS
    if 4 * WARPS * written > _SHARED:
        raise SettingError(
            f"The neighbourhoods of this network hold {written:,} entries, too many for engine='cuda' "
            f"(at most {_SHARED // 4 // WARPS:,} apart from Full layers of over {WIDE:,}): use engine='cpu'."
        )
    rows = ",\n".join("  {" + ", ".join(map(str, numbers)) + ", " + ", ".join(lists) + "}" for numbers, lists in shapes)
    head = f"""
#define LAYERS {len(stages)}
#define MAX_DIMENSIONS {most}
#define DETERMINISTIC {int(deterministic)}
#define SHARED_SUMS {int(shared)}
#define WIDE {sum(wides)}
constexpr int SCRATCH = {maps + feedback + previous}, PREVIOUS_AT = {maps + feedback};
constexpr int WRITTEN = {written}, SUMS = {sums}, LANES = {max(-(-stage.units // 32) for stage in stages)};
struct Shape {{
  int kind, dimensions, units, lanes, polarities, entries, wide;
  int map_at, feedback_at, previous_at, written_at, sums_at, wide_at;
  int field[MAX_DIMENSIONS], side[MAX_DIMENSIONS], stride[MAX_DIMENSIONS], out[MAX_DIMENSIONS];
}};
constexpr Shape SHAPE[LAYERS] = {{
{rows}
}};
"""
    source = head + files("timesurf.engines").joinpath("general.cu").read_text()
    return Plan(
        source, tuple(steps), tuple(wides), maps + feedback + previous, written, sums if shared else 0, bytes_a_sum
    )


def _braces(values: Sequence[int], size: int) -> str:
    return "{" + ", ".join(map(str, [*values, *[1] * (size - len(values))])) + "}"
