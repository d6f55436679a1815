"""How kernels are compiled and started: once, or batch after batch as one CUDA graph."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import cupy as cp
import numpy as np

from timesurf.engines.cuda.abi import UPDATE_THREADS
from timesurf.engines.cuda.memory import Memory
from timesurf.engines.cuda.work import Device, Setup
from timesurf.engines.data import Array
from timesurf.errors import MissingEngineError

Launch = Callable[[], None]
_GRAPHS = 4  # that are kept: each holds all launches of a pass


@lru_cache(maxsize=1)
def device() -> Device:
    """The card in use."""
    card = cp.cuda.Device()
    about = card.attributes
    shared = int(about["MaxSharedMemoryPerBlockOptin"])
    return Device(int(about["MultiProcessorCount"]), shared, int(card.compute_capability))


@lru_cache(maxsize=64)
def compiled(source: str) -> Any:
    """The kernels for one network's sizes.

    Parameters
    ----------
    source : str
        CUDA C++.

    Returns
    -------
    cupy.RawModule
        Ready to start.

    Raises
    ------
    MissingEngineError
        If they do not compile here, or there is no card to load them on.
    """
    try:
        module = cp.RawModule(code=source, options=("-std=c++17",))
        module.compile()
    except cp.cuda.compiler.CompileException as error:
        raise MissingEngineError(f"The CUDA kernels do not compile here: {error}") from error
    except cp.cuda.runtime.CUDARuntimeError as error:
        raise MissingEngineError(f"No GPU can be used: {error}. Use engine='cpu'.") from error
    return module


def launches(module: Any, setup: Setup, args: Array, memory: Memory, stream: Any) -> list[Launch]:
    """All that is started for one batch, in order; each chunk of a batch takes its recordings from the first on."""
    kernels = []
    for start in setup.starts:
        kernel = module.get_function(start.kernel)
        kernel.max_dynamic_shared_size_bytes = max(start.memory, 1)
        if start.carveout is not None:
            kernel.preferred_shared_memory_carveout = start.carveout
        kernels.append(partial(kernel, start.grid, (start.threads,), shared_mem=start.memory))
    if not setup.chunks:
        return [partial(kernel, (args,)) for kernel in kernels]
    counters = memory["next"]
    clear = partial(cp.cuda.runtime.memsetAsync, counters.data.ptr, 0, counters.nbytes, stream.ptr)
    found: list[Launch] = []
    for chunk in range(setup.chunks):
        found += [clear, *(partial(kernel, (args, np.int32(chunk))) for kernel in kernels)]
    return found


class Starter:
    """Starts kernels on a stream, and keeps the time that they take.

    Parameters
    ----------
    stream : cupy.cuda.Stream
        What they run on.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._graphs: dict[tuple[Any, ...], Any] = {}
        self._began, self._ended = cp.cuda.Event(), cp.cuda.Event()

    def once(self, kernels: list[Launch]) -> None:
        """Start them, one after another."""
        self._began.record()
        for launch in kernels:
            launch()
        self._ended.record()

    def batches(
        self, kernels: list[Launch], module: Any, setup: Setup, grid: tuple[int, int, int], args: Array, n: int
    ) -> None:
        """Start them for n batches, with an update of the weights after each, as one graph.

        Parameters
        ----------
        kernels : list of callables
            What is started for a batch.
        module : cupy.RawModule
            Where they and the update come from.
        setup : Setup
            What they were made from; a graph is used again where this and `args` are the same.
        grid : (int, int, int)
            Of the update.
        args : array
            What they are given.
        n : int
            Batches.
        """
        key = (module, n, setup.starts, setup.chunks, args.tobytes())
        if key not in self._graphs:
            if len(self._graphs) >= _GRAPHS:
                self._graphs.clear()
            update = module.get_function("update")
            self._stream.begin_capture()
            for _ in range(n):
                for launch in kernels:
                    launch()
                update(grid, (UPDATE_THREADS,), (args,))
            self._graphs[key] = self._stream.end_capture()
        self._began.record()
        self._graphs[key].launch(self._stream)
        self._ended.record()

    def seconds(self) -> float:
        """How long the card worked when it was last started."""
        self._ended.synchronize()
        return float(cp.cuda.get_elapsed_time(self._began, self._ended) / 1e3)
