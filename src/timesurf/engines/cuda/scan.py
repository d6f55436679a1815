"""The path of one Full layer alone, as a scan over events. Its sizes for the CUDA compiler (scan.cu)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from timesurf.engines.cuda.general import plan, row
from timesurf.engines.cuda.work import FLOAT, INT, Device, Setup, Start, Work, check_memory, kernels
from timesurf.layers import Full, Stage

Stages = tuple[Stage, ...]
_FILES = ("card.cu", "step.cu", "warp.cu", "scan.cu")
UNITS = 256  # at most
_WARPS = 4  # per block of threads
_BESIDE = 4  # blocks of threads that a multiprocessor has registers for
_SOME = (16, 12, 8, 4)  # units at a time


@dataclass(frozen=True)
class Scan:
    """The path, for one network."""

    source: str
    warps: int  # per block of threads
    memory: int  # bytes of shared memory
    beside: int  # blocks of threads that a multiprocessor holds
    name: str = "scan"

    def setup(self, work: Work, device: Device, free: int) -> Setup:
        """One warp per recording; each has a map of the layer and, to learn, a log of its events."""
        (stage,) = work.stages
        entries, gains = math.prod(stage.surface_shape), stage.units if work.delta else 0
        slot_bytes = 4 * entries + ((12 + 4 * gains) * work.longest if work.learns else 0)
        fit = int(0.5 * free / (slot_bytes * self.warps * work.networks))
        if fit < 1:
            check_memory(2 * slot_bytes * self.warps * work.networks, free)
        most = max(1, self.beside * device.multiprocessors // work.networks)
        width = max(1, min(-(-work.largest // self.warps), most, fit))
        slots = width * self.warps * work.networks
        log = {
            "gain": (2 * slots * work.longest, FLOAT), "fired": (slots * work.longest, INT),
            "log_gain": (slots * gains * work.longest, FLOAT),
        }  # fmt: skip
        start = Start("scan_events", (width, work.networks), 32 * self.warps, self.memory)
        return Setup((start,), log if work.learns else {}, clocks=(slots, entries))


def covers(stages: Stages) -> bool:
    """Whether the path can run the network, on a card with room enough."""
    return len(stages) == 1 and isinstance(stages[0].layer, Full) and bool(stages[0].field) and stages[0].units <= UNITS


@lru_cache(maxsize=64)
def scan(
    stages: Stages,
    *,
    learn: bool,
    shared: int,
    deterministic: bool = False,
    delta: bool = False,
    evidence: bool = False,
) -> Scan | None:
    """The path for this network.

    Parameters
    ----------
    stages, learn, shared, deterministic
        As of `blocks.blocks`.
    delta, evidence : bool
        As of `general.plan`.

    Returns
    -------
    Scan or None
        None where it does not cover the network.

    Examples
    --------
    >>> from timesurf.layers import stack
    >>> scan(stack([Full(tau="1 ms")], (9, 9), 128, classes=10), learn=True, shared=232_448, delta=True).warps
    4
    """
    if not covers(stages):
        return None
    (stage,) = stages
    sums = stage.units if learn else stage.classes if evidence else 1
    per_warp = 4 * (32 * row(stage) + 32 * sums + row(stage) + stage.units + stage.classes)
    warps = min(_WARPS, (shared - 1024 - 4 * row(stage)) // per_warp)
    if warps < 1:
        return None
    memory = 4 * row(stage) + warps * per_warp
    beside = max(1, min(_BESIDE, (shared + 1024) // (memory + 1024)))
    constants = f"""
constexpr bool LEARN = {int(learn)}, BY_DELTA = {int(delta)}, EVIDENCE = {int(evidence)};
constexpr int SOME = {next(n for n in _SOME if row(stage) % n == 0)}, WARPS = {warps}, BESIDE = {beside};
"""
    checks = f'static_assert(sizeof(Warp) == {per_warp}, "shared memory, as the host counts it");\n'
    source = plan(stages, deterministic).head + constants + kernels(*_FILES) + checks
    return Scan(source, warps, memory, beside)
