"""The path layer by layer: Window layers below one Full layer. Its sizes for the CUDA compiler (deep.cu)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from timesurf.engines.cuda.abi import LAST_WARPS
from timesurf.engines.cuda.blocks import covers_last, near_map
from timesurf.engines.cuda.general import plan
from timesurf.engines.cuda.layout import layout
from timesurf.engines.cuda.work import FLOAT, HALF, INT, Device, Setup, Start, Work, check_memory, kernels, up
from timesurf.layers import Stage, Window

Stages = tuple[Stage, ...]
SEGMENT = 1024  # events of a recording that a warp takes at a time
_UNITS = 64  # each eight take registers in every lane
_WARPS = 12, 8  # that a multiprocessor has registers for: up to 32 units, and more
_FILES = ("card.cu", "step.cu", "warp.cu", "halves.cu", "deep.cu", "deep_layer.cu", "deep_last.cu", "deep_learn.cu")


@dataclass(frozen=True)
class Kernel:
    """One of the kernels, `beside` of whose blocks of threads a multiprocessor holds."""

    name: str
    call: str  # what it does, in C
    threads: int
    memory: int  # bytes of shared memory
    beside: int

    @property
    def text(self) -> str:
        """The kernel in C."""
        return (
            f'extern "C" __global__ void __launch_bounds__({self.threads}, {self.beside}) {self.name}'
            f"(const __grid_constant__ Args a, int chunk) {{ {self.call}(a, chunk); }}\n"
        )


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
    name: str = "layer by layer"

    def setup(self, work: Work, device: Device, free: int) -> Setup:
        """Every layer over a chunk of the recordings: as many as there is memory to write out what it finds."""
        top, networks = len(work.stages) - 1, work.networks
        segments = -(-work.longest // SEGMENT)
        words = 2 * top + (self.line // 2 + 3 * top + 4 + max(top - 2, 0) if work.learns else 0)  # per event
        fit = int(0.5 * free / (4 * words * work.longest * networks))
        if fit < 1:
            check_memory(8 * words * work.longest * networks, free)
        chunks = -(-work.largest // fit)
        chunk = -(-work.largest // chunks)
        starts = self._starts(device.multiprocessors, networks, chunk, segments)
        spaces = self._spaces(work, chunk * networks * work.longest, chunk * networks * segments)
        side_by_side = max(start.grid[0] * start.threads // 32 for start in starts[: len(self.layers)])
        spaces["scratch"] = (side_by_side * networks * self.rows, FLOAT)
        return Setup(
            tuple(starts), spaces, clocks=(starts[len(self.layers)].grid[0] * LAST_WARPS * networks, self.map),
            chunks=chunks, numbers={"chunk": chunk, "segment": SEGMENT},
        )  # fmt: skip

    def _starts(self, multiprocessors: int, networks: int, chunk: int, segments: int) -> list[Start]:
        """Grids that fill the card, and no wider than there is work."""
        starts = []
        for kernel in (*self.layers, self.last, *self.learn):
            if kernel in self.layers:
                tasks = -(-chunk * segments // (kernel.threads // 32))
            else:
                tasks = -(-chunk // LAST_WARPS) if kernel is self.last else chunk * segments
            width = max(1, min(tasks, kernel.beside * multiprocessors // networks))
            carveout = 100 if kernel in self.learn else None
            starts.append(Start(kernel.name, (width, networks), kernel.threads, kernel.memory, carveout))
        return starts

    def _spaces(self, work: Work, events: int, segments: int) -> dict[str, tuple[int, type]]:
        """What layers write out for each other: lists of events; to learn, surfaces and what S and dS came to."""
        top = len(work.stages) - 1
        spaces: dict[str, tuple[int, type]] = {"list": (2 * top * events, FLOAT), "listed": (top * segments, FLOAT)}
        if work.learns:
            spaces |= {
                "lines": (self.line * events, HALF), "judged": (2 * top * events, FLOAT), "fired": (top * events, INT),
                "log": (4 * events, FLOAT), "apart": (max(top - 2, 0) * events, FLOAT),
            }  # fmt: skip
        return spaces


def covers(stages: Stages) -> bool:
    """Whether the path layer by layer can run the network, on a card with room enough."""
    *windows, last = stages
    fit = all(isinstance(stage.layer, Window) and stage.units <= _UNITS for stage in windows)
    return len(windows) >= 1 and fit and covers_last(last)


@lru_cache(maxsize=64)
def deep(stages: Stages, *, learn: bool, shared: int, deterministic: bool = False) -> Deep | None:
    """The path layer by layer for this network.

    Parameters
    ----------
    stages, learn, shared, deterministic
        As of `blocks.blocks`.

    Returns
    -------
    Deep or None
        None where it does not cover the network.

    Examples
    --------
    >>> from timesurf.layers import Full, Window, stack
    >>> layers = [Window(9, units=32, tau=1e4), Window(3, units=64, tau=1e4), Full(tau=1e3)]
    >>> [kernel.threads for kernel in deep(stack(layers, (28, 28), 1, classes=10), learn=True, shared=232_448).layers]
    [320, 256]
    """
    if not covers(stages):
        return None
    *windows, last = stages
    sizes = [_Sizes.of(stage, first=k == 0) for k, stage in enumerate(windows)]
    layers, learns = [], []
    for k, size in enumerate(sizes):
        warps = min(_WARPS[size.units > 32], (shared - 1024 - size.common) // (4 * size.own))
        layers.append(Kernel(f"layer{k}", f"layer<{k}>", 32 * warps, size.common + 4 * warps * size.own, 1))
        threads = 32 * (-(-size.columns // 128) + -(-size.units // 128))
        sums = (8 if deterministic else 4) * windows[k].units * (size.columns + 1)
        if warps < 2 or (learn and (sums > shared - 3072 or threads > 1024)):
            return None
        beside = max(1, min((shared + 1024) // (sums + 3136), 512 // threads, 16))
        learns.append(Kernel(f"learn{k}", f"learn<{k}>", threads, sums, beside))
    places = [math.prod(stage.output_field) for stage in windows]
    outputs = sum(n * stage.units for n, stage in zip(places[1:-1], windows[1:-1], strict=True))
    remembered = up(math.prod(last.surface_shape) + 1 + 4 * sum(places[1:]) + outputs)
    top = Kernel("last", "last_layer", 32 * LAST_WARPS, 0, 4)
    learns = learns if learn else []
    constants = (
        f"\n#define LEARN {int(learn)}\n{near_map(windows[0]).constants}constexpr int LAST_MAP = {remembered};\n"
    )
    checks = "".join(
        f"static_assert(Of<{k}>::own == {size.own} && Of<{k}>::common == {size.common} && "
        f'Of<{k}>::line == {size.line} && Of<{k}>::map == {size.map}, "sizes, as the host counts them");\n'
        for k, size in enumerate(sizes)
    )
    text = kernels(*_FILES) + checks
    source = plan(stages, deterministic).head + constants + text + "".join(k.text for k in (*layers, top, *learns))
    rows, line = max(size.map for size in sizes), sum(size.line for size in sizes)
    return Deep(source, tuple(layers), top, tuple(learns), rows, remembered, line)


@dataclass(frozen=True)
class _Sizes:
    """Of a Window layer, as struct Of in deep.cu has them."""

    units: int  # whole eights
    columns: int  # of a surface: whole steps of 32
    line: int  # halves that are written out per event: surface, then nearness
    common: int  # bytes of shared memory per block of threads
    own: int  # words of shared memory per warp
    map: int  # words of its time map in the card's memory; 0: it is in shared memory

    @classmethod
    def of(cls, stage: Stage, *, first: bool) -> _Sizes:
        entries, units = math.prod(stage.surface_shape), up(stage.units, 8)
        window, words = entries // stage.polarities, up(stage.polarities, 32)
        columns = up(entries, 32) if first else window * words
        field = math.prod(layout(stage).padded)
        own = near_map(stage).size + 32 * (columns + 16) + 64 if first else up(field) + 32 * window + 128
        rows = 0 if first else (field + 33) * words
        return cls(units, columns, columns + units, 4 * columns * units + 12 * units, own, rows)
