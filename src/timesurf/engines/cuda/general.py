"""The general path: any network, event by event. A network's sizes as constants for the CUDA compiler (general.cu)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from timesurf.engines.cuda import abi
from timesurf.engines.cuda.abi import WARPS
from timesurf.engines.cuda.layout import Layout, layout
from timesurf.engines.cuda.work import FLOAT, INT, Device, Setup, Start, Work, check_memory, kernels, up
from timesurf.engines.data import Array
from timesurf.errors import SettingError
from timesurf.layers import Stage

Stages = tuple[Stage, ...]
_FILES = ("card.cu", "step.cu", "general_parts.cu", "general_shares.cu", "general_learn.cu", "general.cu")
WIDE = 1024  # entries: a layer over the whole field, wider than this, keeps dot products running
_BLOCKS = 5  # of threads, per multiprocessor
_NEAR = 2048  # entries of time maps that a warp has in shared memory
_SHARED_SUMS = 48 << 10  # bytes of shared memory for sums of updates; more leaves too little for the cache
_SHARED = 200 << 10  # bytes of shared memory in all


@dataclass(frozen=True)
class Plan:
    """A network on the general path.

    Attributes
    ----------
    head : str
        C text that all paths begin with.
    source : str
        All of the general path.
    steps : tuple of arrays
        Per layer: where the entries of a surface lie on its map, counted from the corner.
    wide : tuple of bool
        Per layer: whether it keeps dot products running.
    scratch, traced : int
        Words of memory per warp, and where everything is traced.
    written, near, sums : int
        Per warp, in shared memory: entries of listed surfaces, of time maps, of updates.
    bytes_per_sum : int
        Of an update.
    gains : int
        Per event of a wide last layer: units whose gains are logged, by the delta rule.
    """

    head: str
    source: str
    steps: tuple[Array, ...]
    wide: tuple[bool, ...]
    scratch: int
    traced: int
    written: int
    near: int
    sums: int
    bytes_per_sum: int
    gains: int
    name: str = "general"

    def memory(self, *, learn: bool) -> int:
        """Bytes of shared memory per block of threads."""
        return WARPS * (8 * self.written + 4 * self.near + (self.bytes_per_sum * self.sums if learn else 0))

    def setup(self, work: Work, device: Device, free: int) -> Setup:
        """One warp per recording, as many side by side as half of the free memory has room for."""
        wide = max(sum(self.wide), 1) if work.learns else 0
        words = self.traced if work.kind == "trace" else self.scratch
        gains = self.gains if work.learns else 0
        slot_bytes = 4 * words + (20 * wide + 4 * gains) * work.longest
        fit = int(0.5 * free / (slot_bytes * WARPS * work.networks))
        if fit < 1:
            check_memory(2 * slot_bytes * WARPS * work.networks, free)
        width = max(1, min(-(-work.largest // WARPS), device.multiprocessors * _BLOCKS // work.networks, fit))
        slots = width * WARPS * work.networks
        memory = self.memory(learn=work.learns)
        # The less shared memory is set aside, the more of centroids and maps the cache holds.
        beside = -(-width * work.networks // device.multiprocessors)
        carveout = min(100, 100 * beside * (memory + 2048) // device.shared + 1)
        return Setup(
            (Start(work.kind, (width, work.networks), 32 * WARPS, memory, carveout),),
            {
                "scratch": (slots * words, FLOAT),
                "log": (slots * wide * work.longest * 4, FLOAT),
                "log_unit": (slots * wide * work.longest, INT),
                "log_gain": (slots * gains * work.longest, FLOAT),
            },
        )


def refusal(stages: Stages) -> str:
    """Why no path of this engine can run the network, in one sentence; empty: the general path can.

    Examples
    --------
    >>> from timesurf.layers import Full, Tile, stack
    >>> refusal(stack([Full(units=2, tau=(1, 2))], (3,), 1))
    'Layer 1 has several time constants in one layer, for which there are no GPU kernels.'
    >>> refusal(stack([Tile((200, 200), units=2, tau=1), Full(units=2, tau=1)], (400, 400), 1))
    'The neighbourhoods of this network hold 40,008 entries, and the GPU kernels have room for 5,376.'
    """
    for k, stage in enumerate(stages, start=1):
        if stage.scales > 1:
            return f"Layer {k} has several time constants in one layer, for which there are no GPU kernels."
    try:
        for stage in stages:
            layout(stage)
    except SettingError as error:
        return str(error)
    listed = sum(up(_entries(stage)) for stage in stages if not _wide(stage))
    most = (_SHARED // WARPS - 4 * _NEAR) // 8
    if listed > most:
        return (
            f"The neighbourhoods of this network hold {listed:,} entries, and the GPU kernels have room for {most:,}."
        )
    return ""


@lru_cache(maxsize=64)
def plan(stages: Stages, deterministic: bool = False, *, delta: bool = False, evidence: bool = False) -> Plan:
    """Sizes of a network as the kernels of the general path want them.

    Parameters
    ----------
    stages : tuple of Stage
        The network.
    deterministic : bool
        Whether sums are made in fixed point.
    delta : bool
        Whether its last layer may learn by the delta rule.
    evidence : bool
        Whether evidence for classes is summed, where it does not learn.

    Raises
    ------
    SettingError
        If the network does not fit, with the reason.

    Examples
    --------
    >>> from timesurf.layers import Full, Window, stack
    >>> two = plan(stack([Window(9, units=32, tau="10 ms"), Full(tau="1 ms")], (28, 28), 1, classes=10))
    >>> two.wide, two.written
    ((False, True), 84)
    """
    if why := refusal(stages):
        raise SettingError(f"{why} Use engine='cpu'.")
    layouts = [layout(stage) for stage in stages]
    wides = [_wide(stage) for stage in stages]
    shapes = [
        _sizes(stage, lies) | {"wide": wide, "wide_at": sum(wides[:k])}
        for k, (stage, lies, wide) in enumerate(zip(stages, layouts, wides, strict=True))
    ]
    near, maps = _place_maps(shapes, layouts)
    written = _place_surfaces(shapes)
    bytes_per_sum = 8 if deterministic else 4
    sums = _place_sums(shapes, min(_SHARED - WARPS * (8 * written + 4 * _NEAR), _SHARED_SUMS), bytes_per_sum)
    places = [math.prod(stage.output_field) for stage in stages]
    scratch, previous_at, traced, traced_previous_at = _place_outputs(shapes, places, maps)
    head = abi.head(shapes, deterministic=deterministic)
    constants = f"""
#define WIDE {sum(wides)}
constexpr int SCRATCH = {scratch}, PREVIOUS_AT = {previous_at};
constexpr int TRACED = {traced}, TRACED_PREVIOUS_AT = {traced_previous_at};
constexpr int WRITTEN = {written}, NEAR = {up(near)}, SUMS = {sums};
constexpr int LANES = {max(shape["lanes"] for shape in shapes)};
constexpr bool BY_DELTA = {int(delta)}, EVIDENCE = {int(evidence)};
"""
    return Plan(
        head, head + constants + kernels(*_FILES), tuple(lies.steps for lies in layouts),
        tuple(wides), scratch, traced, written, up(near), sums, bytes_per_sum, stages[-1].units * (delta and wides[-1]),
    )  # fmt: skip


def row(stage: Stage) -> int:
    """Units of a layer as its arrays on the card have room for them: fours are read at once."""
    return up(stage.units)


def _sizes(stage: Stage, lies: Layout) -> dict[str, Any]:
    """Values of Shape that follow from the layer alone."""
    return {
        "dimensions": len(stage.field), "out_dimensions": len(lies.out), "units": stage.units,
        "per_class": stage.units_per_class, "row": row(stage),
        "lanes": -(-stage.units // 32), "polarities": stage.polarities, "entries": _entries(stage),
        "field": stage.field, "side": lies.side, "pad": lies.pad, "cell": lies.cell, "stride": lies.stride,
        "out": lies.out, "out_stride": lies.out_stride,
    }  # fmt: skip


def _place_maps(shapes: Sequence[dict[str, Any]], layouts: Sequence[Layout]) -> tuple[int, int]:
    """Small time maps into shared memory as long as it has room, others into the scratch memory; the sizes of both."""
    near = maps = 0
    for shape, lies in zip(shapes, layouts, strict=True):
        close = near + lies.size <= _NEAR
        shape |= {"map_near": close, "map_at": near if close else maps}
        near, maps = (near + lies.size, maps) if close else (near, maps + lies.size)
    return near, maps


def _place_surfaces(shapes: Sequence[dict[str, Any]]) -> int:
    """Lists of surfaces, for layers that are not wide."""
    written = 0
    for shape in shapes:
        shape["written_at"] = written
        written += 0 if shape["wide"] else up(shape["entries"])
    return written


def _place_sums(shapes: Sequence[dict[str, Any]], room: int, bytes_per_sum: int) -> int:
    """Sums of updates in shared memory, as long as there is room; others are added to in the card's memory."""
    sums = 0
    for shape in shapes:
        own = shape["entries"] * shape["units"]
        summed = not shape["wide"] and WARPS * (sums + own) * bytes_per_sum <= room
        shape["sums_at"] = sums if summed else -1
        sums += own if summed else 0
    return sums


def _place_outputs(shapes: Sequence[dict[str, Any]], places: Sequence[int], maps: int) -> tuple[int, int, int, int]:
    """Behind the maps: last times of outputs, then previous S. Those of a first layer, for a trace alone, come last.

    Returns words of scratch memory and where previous S begins; then both with the first layer's, for a trace.
    """
    outputs = [n * shape["units"] for n, shape in zip(places, shapes, strict=True)]
    judged = range(min(1, len(shapes) - 1), len(shapes))
    previous_at = maps + sum(outputs[k] for k in judged)
    scratch = up(previous_at + sum(places[k] for k in judged))
    for k, shape in enumerate(shapes):
        if k in judged:
            shape["feedback_at"] = maps + sum(outputs[judged[0] : k])
            shape["previous_at"] = previous_at + sum(places[judged[0] : k])
        else:
            shape |= {"feedback_at": scratch, "previous_at": scratch + outputs[k]}
    if 0 in judged:
        return scratch, previous_at, scratch, scratch
    return scratch, previous_at, up(scratch + outputs[0] + places[0]), scratch + outputs[0]


def _entries(stage: Stage) -> int:
    return math.prod(stage.surface_shape)


def _wide(stage: Stage) -> bool:
    """Whether a surface is the whole field, and a large one."""
    return stage.layer.box(stage.field) == stage.field and not stage.output_field and _entries(stage) > WIDE
