"""What is to be run, on which card, and what a path makes of it: memory to set aside and kernels to start.

Plain records, so that every decision can be tested without a card.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal, Protocol

import numpy as np

from timesurf.errors import MissingEngineError
from timesurf.layers import Stage

Kind = Literal["infer", "train", "trace"]


@dataclass(frozen=True)
class Device:
    """A card, as far as sizes depend on it."""

    multiprocessors: int
    shared: int  # bytes of shared memory that a block of threads may have
    capability: int  # 90: compute capability 9.0


@dataclass(frozen=True)
class Work:
    """Networks of one shape and the recordings that they run on."""

    stages: tuple[Stage, ...]
    kind: Kind
    networks: int = 1  # side by side
    largest: int = 1  # recordings in the largest batch
    longest: int = 64  # events that a recording needs room for
    span: int = 0  # us, of the longest recording
    open: bool = True  # whether the last layer has no thresholds
    deterministic: bool = False
    delta: bool = False  # whether a last layer learns by the delta rule
    evidence: bool = False  # whether evidence for classes is summed

    @property
    def learns(self) -> bool:
        """Whether sums of updates are made."""
        return self.kind == "train"


@dataclass(frozen=True)
class Start:
    """A kernel and how it is started."""

    kernel: str
    grid: tuple[int, int]
    threads: int
    memory: int  # bytes of shared memory
    carveout: int | None = None  # percent of the cache's memory to set aside as shared memory; None: as CUDA likes


@dataclass(frozen=True)
class Setup:
    """What a path needs before its kernels can run.

    Attributes
    ----------
    starts : tuple of Start
        Kernels, started one after another.
    spaces : mapping
        Arrays to set aside on the card: name in Args, size and type.
    clocks : (int, int) or None
        Slots and words of maps whose clock goes on from recording to recording, so that they need not be cleared.
    chunks : int
        How often the kernels are started, each time on the next chunk of a batch; 0: once, on all of it.
    numbers : mapping
        Further values in Args.
    """

    starts: tuple[Start, ...]
    spaces: Mapping[str, tuple[int, Any]]
    clocks: tuple[int, int] | None = None
    chunks: int = 0
    numbers: Mapping[str, int] | None = None


class Path(Protocol):
    """One of the ways to run a network."""

    @property
    def name(self) -> str:
        """For the log."""
        ...

    @property
    def source(self) -> str:
        """Its kernels, compiled for the network's sizes."""
        ...

    def setup(self, work: Work, device: Device, free: int) -> Setup:
        """Sizes of arrays and grids, where that many bytes of the card's memory are free."""
        ...


def check_memory(need: int, free: int) -> None:
    """Refuse work that does not fit on the card.

    Parameters
    ----------
    need, free : int
        Bytes of the card's memory.

    Raises
    ------
    MissingEngineError
        If more is needed than there is.
    """
    if need > free:
        raise MissingEngineError(
            f"This network needs {need / 1e9:.1f} GB of the card's memory to work in, and {free / 1e9:.1f} GB are "
            "free. Run fewer networks at a time, cut long recordings into shorter ones, or use engine='cpu'."
        )


def kernels(*names: str) -> str:
    """Source text of files beside this one, one after another."""
    return "\n".join(files("timesurf.engines.cuda").joinpath(name).read_text("ascii") for name in names)


def up(size: int, to: int = 4) -> int:
    """The next multiple: fours are read and written at once."""
    return -(-size // to) * to


FLOAT, INT, HALF = np.float32, np.int32, np.float16
TENSOR_CORES = 80  # compute capability from which on they multiply what the fast paths give them
