"""Transforms of recordings that also take one structured array, as tonic provides."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, cast

import numpy as np

from timesurf.errors import EventError
from timesurf.events import Recordings

P = ParamSpec("P")


def also_arrays(
    transform: Callable[Concatenate[Recordings, P], Recordings],
) -> Callable[Concatenate[Any, P], Any]:
    """Let a transform of recordings take one structured array as well."""

    @functools.wraps(transform)
    def either(events: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
        if isinstance(events, Recordings):
            return transform(events, *args, **kwargs)
        if not isinstance(events, np.ndarray):
            raise EventError(f"Recordings or a structured array of events are needed, not {type(events).__name__}.")
        changed = transform(Recordings.from_structured([events]), *args, **kwargs)
        return changed.to_structured()[0].astype(events.dtype, copy=False)

    return cast("Callable[Concatenate[Any, P], Any]", either)
