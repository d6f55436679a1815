"""Which networks the path layer by layer covers, and its sizes as constants for the CUDA compiler (deep.cu)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from timesurf.engines.cuda.blocks import CLASSES, near_map
from timesurf.engines.cuda.general import kernels, plan
from timesurf.layers import Full, Stage, Window

LAST_WARPS = 4  # a block, as in deep.cu
_UNITS = 64  # each eight take registers in every lane
_WARPS = 12, 8  # a multiprocessor has registers for: up to 32 units, and more


@dataclass(frozen=True)
class Kernel:
    """One of the kernels, `beside` of whose blocks of threads a multiprocessor holds."""

    name: str
    threads: int
    memory: int  # bytes of shared memory
    beside: int


@dataclass(frozen=True)
class Deep:
    """The path layer by layer, for one network."""

    source: str
    layers: tuple[Kernel, ...]
    last: Kernel
    learn: tuple[Kernel, ...]
    rows: int  # words of a time map of an upper layer, the largest
    map: int  # words that the last layer's kernel remembers in
    line: int  # half-precision numbers written out for every event, in all layers


@lru_cache(maxsize=64)
def deep(stages: tuple[Stage, ...], *, learn: bool, shared: int, deterministic: bool = False) -> Deep | None:
    """The path layer by layer for this network; None where it does not cover it.

    learn : whether it learns
    shared : bytes of shared memory that a block of threads may have

    >>> from timesurf.layers import stack
    >>> layers = [Window(9, units=32, tau=1e4), Window(3, units=64, tau=1e4), Full(tau=1e3)]
    >>> [kernel.threads for kernel in deep(stack(layers, (28, 28), 1, classes=10), learn=True, shared=232_448).layers]
    [320, 256]
    """
    *windows, last = stages
    if (
        len(windows) < 2 or not all(isinstance(stage.layer, Window) for stage in windows)
        or not isinstance(last.layer, Full) or not last.field or last.units > CLASSES
        or math.prod(last.surface_shape) >= 1 << 26 or max(stage.units for stage in windows) > _UNITS
    ):  # fmt: skip
        return None
    near = near_map(windows[0])
    layers, learns, lines, rows = [], [], [], 0
    for k, stage in enumerate(windows):
        entries, units = math.prod(stage.surface_shape), -(-stage.units // 8) * 8
        window, words = entries // stage.polarities, -(-stage.polarities // 32) * 32
        columns = window * words if k else -(-entries // 32) * 32
        common = 4 * columns * units + 12 * units
        if k:
            field = math.prod(n + size - 1 for n, size in zip(stage.field, stage.surface_shape, strict=False))
            own = -(-field // 4) * 4 + 32 * window + 128
            rows = max(rows, (field + 33) * words)
        else:
            own = near.size + 32 * (columns + 16) + 64
        warps = min(_WARPS[units > 32], (shared - 1024 - common) // (4 * own))
        line = columns + units
        threads = 32 * (-(-columns // 128) + -(-units // 128))
        sums = (8 if deterministic else 4) * stage.units * (columns + 1)
        if warps < 2 or (learn and (sums > shared - 3072 or threads > 1024)):
            return None
        layers.append(Kernel(f"layer{k}", 32 * warps, common + 4 * warps * own, 1))
        beside = max(1, min((shared + 1024) // (sums + 3136), 512 // threads, 16))
        learns.append(Kernel(f"learn{k}", threads, sums, beside))
        lines.append(line)
    places = math.prod(last.field)
    outputs = sum(places * stage.units for stage in windows[1:-1])
    remembered = -(-(math.prod(last.surface_shape) + 1 + 4 * places * (len(windows) - 1) + outputs) // 4) * 4
    top = Kernel("last", 32 * LAST_WARPS, 0, 4)
    learns = learns if learn else []
    calls = {f"{name}{k}": f"{name}<{k}>" for name in ("layer", "learn") for k in range(len(windows))}
    starts = "\n".join(
        f'extern "C" __global__ void __launch_bounds__({kernel.threads}, {kernel.beside}) {kernel.name}'
        f"(const __grid_constant__ Args a, int chunk) {{ {calls.get(kernel.name, 'last_layer')}(a, chunk); }}"
        for kernel in (*layers, top, *learns)
    )
    constants = f"""
#define LEARN {int(learn)}
#define MAP_STRIDE {{{", ".join(map(str, near.strides))}}}
constexpr int MAP = {near.size}, OWN = {near.own}, LAST_MAP = {remembered};
"""
    source = plan(stages, deterministic).head + constants + kernels("card.cu", "warp.cu", "deep.cu") + starts
    return Deep(source, tuple(layers), top, tuple(learns), rows, remembered, sum(lines))
