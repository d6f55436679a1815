"""NumPy in the place of CuPy, so that the host's side of the CUDA engine runs where there is no GPU."""

import importlib
import sys
from contextlib import nullcontext
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

NEED_CUPY = ("card", "emission", "engine", "events", "kmeans", "launch", "memory")


class OnCard(np.ndarray):
    """An array with CuPy's few further methods."""

    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data)

    def max(self):
        return super().max()  # CuPy's takes no initial value

    def get(self, stream=None, out=None):
        if out is None:
            return np.array(self)
        out[...] = self
        return out

    def set(self, values, stream=None):
        self[...] = values


class Stream(nullcontext):
    ptr = 0

    def __init__(self, non_blocking=True):
        super().__init__()

    def begin_capture(self):
        pass

    def end_capture(self):
        return SimpleNamespace(launch=lambda _: None)

    def synchronize(self):
        pass


class Module:
    """Remembers which kernels were started, instead of starting them."""

    started: list = []  # noqa: RUF012  one list for all

    def __init__(self, code, options):
        self.code = code

    def compile(self):
        pass

    def get_function(self, name):
        def start(grid, threads, args, shared_mem=0):
            Module.started.append((name, grid, threads[0], shared_mem, args))

        return start


def stand_in():
    """A module that is called cupy."""
    cupy = ModuleType("cupy")
    for name in (
        "zeros",
        "empty",
        "full",
        "asarray",
        "concatenate",
        "cumsum",
        "maximum",
        "minimum",
        "ascontiguousarray",
    ):
        made = getattr(np, name)
        setattr(cupy, name, lambda *args, made=made, **named: made(*args, **named).view(OnCard))
    cupy.RawModule = Module
    cupy.get_default_memory_pool = lambda: SimpleNamespace(free_bytes=lambda: 0)
    device = SimpleNamespace(
        mem_info=(1 << 36, 1 << 37), compute_capability="90",
        attributes={"MultiProcessorCount": 132, "MaxSharedMemoryPerBlockOptin": 232_448},
    )  # fmt: skip
    error = type("CUDARuntimeError", (RuntimeError,), {})
    cupy.cuda = SimpleNamespace(
        Stream=Stream, Device=lambda: device, get_current_stream=Stream, get_elapsed_time=lambda a, b: 2000.0,
        Event=lambda: SimpleNamespace(record=lambda *_: None, synchronize=lambda: None),
        alloc_pinned_memory=bytearray,
        compiler=SimpleNamespace(CompileException=type("CompileException", (RuntimeError,), {})),
        runtime=SimpleNamespace(CUDARuntimeError=error, memsetAsync=lambda *_: Module.started.append(("clear",))),
    )  # fmt: skip
    return cupy


@pytest.fixture
def cuda(monkeypatch):
    """Modules of the engine that need CuPy, on the stand-in; `started` lists kernels that were started."""
    package = importlib.import_module("timesurf.engines.cuda")
    monkeypatch.setitem(sys.modules, "cupy", stand_in())
    for name in NEED_CUPY:
        monkeypatch.delitem(sys.modules, f"timesurf.engines.cuda.{name}", raising=False)
    found = {name: importlib.import_module(f"timesurf.engines.cuda.{name}") for name in NEED_CUPY}
    Module.started = []
    yield SimpleNamespace(**found, started=Module.started)
    for name in NEED_CUPY:
        del sys.modules[f"timesurf.engines.cuda.{name}"]
        delattr(package, name)
