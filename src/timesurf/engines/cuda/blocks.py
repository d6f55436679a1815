"""The path by blocks of events: one Window layer below one Full layer. Its sizes for the CUDA compiler (blocks.cu)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from timesurf.engines.cuda.abi import ENTRY_BITS, LAST_UNITS
from timesurf.engines.cuda.general import plan, row
from timesurf.engines.cuda.layout import layout
from timesurf.engines.cuda.work import FLOAT, INT, Device, Setup, Start, Work, check_memory, kernels, up
from timesurf.layers import Full, Stage, Window

Stages = tuple[Stage, ...]
_FILES = ("card.cu", "step.cu", "warp.cu", "blocks_parts.cu", "blocks_learn.cu", "blocks.cu")
LONGEST = 1 << 24  # us: times within a recording are exact in float32
GROUPS = (8, 4, 2, 1)  # warps that may share a recording
GROUP: int | None = None  # warps that share a recording, instead of what the number of recordings suggests
_UNITS = {False: 64, True: 32}  # by whether it learns
_SUMS = 96  # registers for sums of gain x surface
_WARPS = {False: 12, True: 8}  # that a multiprocessor has registers for


@dataclass(frozen=True)
class Blocks:
    """The path by blocks, for one network."""

    source: str
    warps: int  # per block of threads
    group: int  # warps that share a recording
    memory: int  # bytes of shared memory
    name: str = "blocks of events"

    def setup(self, work: Work, device: Device, free: int) -> Setup:
        """One group of warps per recording; each has a map of the last layer and, to learn, a log of its events."""
        groups = self.warps // self.group
        width = max(1, min(-(-work.largest // groups), device.multiprocessors // work.networks))
        slots = width * groups * work.networks
        entries = math.prod(work.stages[1].surface_shape)
        check_memory(slots * (4 * entries + (12 * work.longest if work.learns else 0)), free)
        start = Start("blocks", (width, work.networks), 32 * self.warps, self.memory)
        log = {"gain": (slots * work.longest * 2, FLOAT), "fired": (slots * work.longest, INT)}
        return Setup((start,), log if work.learns else {}, clocks=(slots, entries))


@dataclass(frozen=True)
class NearMap:
    """A first layer's time map in shared memory, padded so that a neighbourhood never leaves it, in words."""

    strides: tuple[int, ...]
    size: int
    own: int  # from the corner of a neighbourhood to its middle

    @property
    def constants(self) -> str:
        """In C."""
        strides = ", ".join(map(str, self.strides))
        return f"#define MAP_STRIDE {{{strides}}}\nconstexpr int MAP = {self.size}, OWN = {self.own};\n"


def near_map(stage: Stage) -> NearMap:
    """The map, laid out so that lines of a window follow each other in the banks of shared memory."""
    lies = layout(stage)
    line = lies.side[-1] * stage.polarities
    strides = [stage.polarities]
    for d in reversed(range(len(lies.padded) - 1)):
        natural = strides[0] * lies.padded[d + 1]
        strides.insert(0, natural + (line - natural) % 32 if d == len(lies.padded) - 2 else natural)
    own = sum(n * stride for n, stride in zip(lies.pad, strides, strict=True))
    return NearMap(tuple(strides), up(lies.padded[0] * strides[0]), own)


def covers_last(stage: Stage) -> bool:
    """Whether a last layer can be a scan over the lanes, which hold all of its units in registers."""
    few = stage.units <= LAST_UNITS and math.prod(stage.surface_shape) < 1 << ENTRY_BITS
    return isinstance(stage.layer, Full) and bool(stage.field) and few


def covers(stages: Stages, *, learn: bool) -> bool:
    """Whether the path by blocks can run the network, on a card with room enough."""
    if len(stages) != 2 or not isinstance(stages[0].layer, Window) or not covers_last(stages[1]):
        return False
    first = stages[0]
    sums = -(-first.units // 16) * _steps(first, learn) * 4
    return first.units <= _UNITS[learn] and not (learn and sums > _SUMS)


@lru_cache(maxsize=64)
def blocks(stages: Stages, *, learn: bool, group: int, shared: int, deterministic: bool = False) -> Blocks | None:
    """The path by blocks for this network.

    Parameters
    ----------
    stages : tuple of Stage
        The network.
    learn : bool
        Whether it learns.
    group : int
        Warps that share a recording.
    shared : int
        Bytes of shared memory that a block of threads may have.
    deterministic : bool
        Whether sums are made in fixed point.

    Returns
    -------
    Blocks or None
        None where it does not cover the network.

    Examples
    --------
    >>> from timesurf.layers import stack
    >>> two = stack([Window(9, units=32, tau="10 ms"), Full(tau="1 ms")], (28, 28), 1, classes=10)
    >>> blocks(two, learn=True, group=1, shared=232_448).warps
    8
    """
    if not covers(stages, learn=learn):
        return None
    first, last = stages
    entries, steps, tiles = math.prod(first.surface_shape), _steps(first, learn), -(-first.units // 8)
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
{near.constants}"""
    checks = f'static_assert(PER_WARP == {per_warp} && COMMON == {common}, "shared memory, as the host counts it");\n'
    source = plan(stages, deterministic).head + constants + kernels(*_FILES) + checks
    return Blocks(source, warps, group, common + 4 * warps * per_warp)


def group_of(work: Work, device: Device) -> int:
    """Warps that share a recording: as many as leave each of them two recordings; measured from 128 to 8,192.

    Sums within a recording are made warp by warp, so a deterministic result must not depend on how many networks run
    side by side.
    """
    if GROUP is not None:
        return GROUP
    warps = device.multiprocessors * _WARPS[work.learns]
    side_by_side = 1 if work.deterministic else work.networks
    return next(group for group in GROUPS if group == 1 or work.largest * side_by_side * group <= 2 * warps)


def _steps(first: Stage, learn: bool) -> int:
    """Steps of 8 along a surface; when learning, a column of ones follows it."""
    return -(-(math.prod(first.surface_shape) + learn) // 8)
