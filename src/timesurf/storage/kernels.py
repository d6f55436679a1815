"""Compiled kernels on disk, so that the next process need not compile them again: numba's cache, where there is room.

numba stores them next to the source or in the user's home, and refuses to compile where it can write to neither, as in
many containers. Here they then go to a temporary folder, or are compiled in each process.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from typing import Any

import numba

from timesurf.storage import cache as caches


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit` with these options, whose `cache=True` works wherever the package is installed.

    Parameters
    ----------
    **options
        As of `numba.njit`.

    Returns
    -------
    callable
        The decorator.

    """

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(**options)(function)
        except RuntimeError as error:
            if not options.get("cache") or "cannot cache" not in str(error):
                raise
        if place := fallback():
            numba.config.CACHE_DIR = place  # type: ignore[attr-defined,unused-ignore]
            return numba.njit(**options)(function)
        return numba.njit(**options | {"cache": False})(function)

    return decorate


@cache
def fallback() -> str:
    """The temporary folder for kernels where numba finds none; empty if there is none either. Logged once."""
    try:
        place = str(caches.temporary() / "kernels")
    except OSError:
        place = ""
    logging.getLogger("timesurf").warning(describe(place))
    return place


def describe(place: str) -> str:
    """Where kernels go if neither the package nor the home can be written to, and what to do about it."""
    where = f"they are kept in {place} for now" if place else "each process compiles them again"
    return (
        f"Compiled kernels cannot be stored next to the package or in the home folder: {where}. "
        "Set NUMBA_CACHE_DIR to a folder that can be written to."
    )


def notice() -> str:
    """The same sentence if it applies to a kernel that this process has loaded; else empty."""
    return describe(fallback()) if fallback.cache_info().currsize else ""
