"""A pool of threads for the cores that there are, and one BLAS thread on each."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any


@cache
def pool(threads: int) -> ThreadPoolExecutor:
    """A pool of so many threads, created on first use."""
    return ThreadPoolExecutor(threads, thread_name_prefix="timesurf")


@cache
def _blas() -> Any:
    import scipy.linalg  # noqa: F401  numba's matrix product is scipy's
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


def _control() -> None:
    """Let any thread set limits: since threadpoolctl 3.8 only the first thread that set one can, others are ignored."""
    for library in _blas().lib_controllers:
        if clear := getattr(library, "clear_controlling_thread", None):
            clear(force=True)


_lock = threading.Lock()
_blas_users = 0
_blas_limit: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Matrix products run on one thread each, because lanes already use all cores. Undone when the last call ends."""
    global _blas_users, _blas_limit
    with _lock:
        if _blas_users == 0:
            _control()
            _blas_limit = _blas().limit(limits=1)
        _blas_users += 1
    try:
        yield
    finally:
        with _lock:
            _blas_users -= 1
            if _blas_users == 0:
                _control()  # the last to leave may be another thread than the first that came
                _blas_limit.restore_original_limits()
                _control()
