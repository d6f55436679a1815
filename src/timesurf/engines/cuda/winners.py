"""Winners of one Window layer whose weights stay: its sizes for the CUDA compiler (winners.cu). Needs no card."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from timesurf.engines.cuda import abi
from timesurf.engines.cuda.blocks import near_map
from timesurf.engines.cuda.general import plan, refusal
from timesurf.engines.cuda.work import TENSOR_CORES, Device, kernels
from timesurf.engines.data import Array
from timesurf.layers import Stage, Window

_FILES = ("card.cu", "halves.cu", "winners.cu")
UNITS = 512  # at most
_GROUP = 32  # units whose products a warp makes at a time
_TILES = ((64, 4), (32, 4), (16, 4))  # events at a time, and warps: as many as shared memory has room for
_WARPS = 16  # that a multiprocessor has registers for
_ITEMS = 4  # parts of recordings for each of them, so that none waits long for the last
_NEAR = 1 << 15  # words of a time map in shared memory at most; larger ones leave too little for anything else
_PARTS = 32  # of a recording at most: each begins by reading what came before it
_FAR = 1e38
ROUNDING = 1.125 / 1024  # as winners.cu has it
_LARGEST = 65504.0  # of a half-precision number; a centroid that diverged is far in any case

GIVEN = abi.struct("Given", """
    const int*       entry      | of all events: entry of the input field
    const int*       t          | of all events: time, modulo 2^32
    const long long* start      | of recordings: first event
    const long long* stop       | of recordings: behind the last event
    const long long* to         | of recordings: where outputs go
    int              items      | recordings times parts
    int              parts      | of a recording
    int              segment    | events in a part
    float            fade       | log2(e) / tau
    const uint4*     centroids  | [32 units][step][16 units][lane] as the tensor cores want them
    const float*     lengths    | of units: minus half the squared length of the centroid
    float            slack      | of sums: what rounding may cost beside what goes with the sum
    const float*     thresholds | of units
    const float*     rows       | [unit][column] centroids as surfaces lie in shared memory
    int*             next       | items that are taken
    int*             scratch    | time maps that are not in shared memory
    int*             out        | of every output: entry of the layer above; -1 where the event is rejected
    int*             out_t      | of every output: time
""")  # fmt: skip


@dataclass(frozen=True)
class Winners:
    """A layer as the kernel runs it."""

    source: str
    memory: int  # bytes of shared memory per block of threads
    map: int  # words of a time map that does not fit there, per block of threads; 0: it does
    beside: int  # blocks of threads that a multiprocessor holds
    threads: int  # of each

    def grid(self, device: Device, recordings: int, longest: int, free: int) -> tuple[int, int, int]:
        """Blocks of threads, parts per recording and events per part; a few long recordings are cut to fill the card.

        Parameters
        ----------
        device : Device
            The card.
        recordings, longest : int
            How many, and events in the longest.
        free : int
            Bytes of the card's memory that maps may take.
        """
        width = self.beside * device.multiprocessors
        if self.map:
            width = max(1, min(width, free // (4 * self.map)))
        parts = min(max(1, _ITEMS * width // max(recordings, 1)), _PARTS, max(1, longest // 1024))
        segment = -(-longest // parts)
        return min(width, recordings * parts), parts, segment


def covers(stage: Stage) -> bool:
    """Whether the kernel can run a layer, on a card with room enough."""
    return isinstance(stage.layer, Window) and stage.units <= UNITS and bool(stage.field) and not refusal((stage,))


@lru_cache(maxsize=64)
def winners(stage: Stage, device: Device, *, measured: bool, short: bool = False) -> Winners | None:
    """The kernel for a layer.

    Parameters
    ----------
    stage : Stage
        The layer.
    device : Device
        The card.
    measured : bool
        Whether it has thresholds, so that distances are needed.
    short : bool
        Whether no recording lasts longer than `blocks.LONGEST`, so that times are exact in float32.

    Returns
    -------
    Winners or None
        None where it does not cover the layer on this card.

    Examples
    --------
    >>> from timesurf.layers import stack
    >>> (stage,) = stack([Window(9, units=128, tau="10 ms", stride=4)], (34, 34), 2)
    >>> winners(stage, Device(132, 232_448, 90), measured=False).beside
    4
    """
    if not covers(stage) or device.capability < TENSOR_CORES:
        return None
    near, groups = near_map(stage), -(-stage.units // _GROUP)
    for tile, warps in _TILES:
        along = max(min(4, 1 << (groups - 1).bit_length()), 16 * warps // tile)  # warps that share the units
        columns = _columns(stage)
        own = tile * (2 * columns + 16 + 32 * along + 4 * (len(stage.field) + 5)) + 4 * warps * columns + 4
        for inside in (near.size <= _NEAR, False):  # the time map in shared memory, or in the card's
            memory = -(-(own + (4 * near.size if inside else 16)) // 8) * 8
            if memory + 1024 <= device.shared:
                beside = max(1, min(_WARPS // warps, (device.shared + 1024) // (memory + 1024)))
                constants = f"""
constexpr int TILE = {tile}, WARPS = {warps}, ALONG = {along}, BESIDE = {beside};
constexpr bool NEAR = {int(inside)}, MEASURED = {int(measured)}, SHORT = {int(short)};
typedef {"float" if short else "int"} Time;
{near.constants}
{GIVEN.declaration()}
{GIVEN.checks()}
"""
                checks = f'static_assert(sizeof(Tile) == {memory} && THREADS == {32 * warps}, "sizes as on host");\n'
                source = plan((stage,)).head + constants + kernels(*_FILES) + checks
                return Winners(source, memory, 0 if inside else near.size, beside, 32 * warps)
    return None


def fragments(stage: Stage, centroids: Array) -> tuple[Array, Array, Array, float]:
    """Centroids as the kernel wants them.

    Returns
    -------
    centroids : array of uint32
        Pairs of half-precision numbers in the order in which lanes hold them, `Given.centroids`.
    lengths : array of float32
        Squared lengths; infinite for units that only fill up the last group.
    rows : array of float32
        By columns of a surface, `Given.rows`.
    """
    entries, columns = math.prod(stage.surface_shape), _columns(stage)
    units = -(-stage.units // _GROUP) * _GROUP
    flat = np.clip(centroids.reshape(stage.units, entries), -_LARGEST, _LARGEST).astype(np.float32)
    rows = np.zeros((units, columns), np.float32)
    column = np.arange(entries) % (columns // 2) * 2 + np.arange(entries) // (columns // 2)
    rows[: stage.units, column] = flat
    lengths = np.full(units, -_FAR, np.float32)
    squares = (flat.astype(np.float64) ** 2).sum(axis=1)
    lengths[: stage.units] = -squares / 2
    below = np.maximum(-flat, 0).sum(axis=1, dtype=np.float64).max(initial=0)
    slack = ROUNDING * (squares.max() + 4 * below) + 1e-5 * (1 + np.abs(flat).max())
    halves = rows.astype(np.float16).view(np.uint32)
    # group, 16 units, 8 of them, unit, step, half of it, pair -> group, step, 16 units, unit, pair, 8 of them, half
    order = halves.reshape(units // _GROUP, 2, 2, 8, columns // 16, 2, 4).transpose(0, 4, 1, 3, 6, 2, 5)
    return np.ascontiguousarray(order), lengths, rows, float(slack)


def _columns(stage: Stage) -> int:
    """Of a surface: whole steps of 16."""
    return -(-math.prod(stage.surface_shape) // 16) * 16
