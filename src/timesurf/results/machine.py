"""The machine that figures were measured on."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from timesurf import __version__
from timesurf.cores import cores


def describe(engine: str = "cpu") -> dict[str, Any]:
    """Processor, cores, system, versions and, for the engine cuda, the GPU: figures mean little without them."""
    return {
        "processor": _processor(),
        "cores": cores(),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "timesurf": __version__,
        **{name: _version(name) for name in ("numpy", "numba", "scikit-learn")},
        **({"gpu": gpu()} if engine == "cuda" else {}),
    }


def gpu() -> dict[str, Any]:
    """The NVIDIA GPU that CuPy uses."""
    import cupy as cp

    about = cp.cuda.runtime.getDeviceProperties(cp.cuda.Device().id)
    return {
        "name": about["name"].decode(),
        "memory": int(about["totalGlobalMem"]),
        "driver": cp.cuda.runtime.driverGetVersion(),
        "runtime": cp.cuda.runtime.runtimeGetVersion(),
        "cupy": cp.__version__,
    }


def _processor() -> str:
    """Name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _version(name: str) -> str | None:
    """Version of an installed package, None if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None
