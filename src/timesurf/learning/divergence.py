"""When a training has diverged, and how to recover: stop, clip, or go back to where the pass began."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from timesurf.engines import Parameters
from timesurf.errors import DivergedError, SettingError

Array = NDArray[Any]
IfDiverged = Literal["stop", "clip", "back"]
SLOWEST = 1 / 64  # of the rates: what diverges even then does not recover by going back once more
_LOST = 1e3  # surfaces lie between 0 and 1: a centroid out here will not be the closest to any of them again


def check_choice(if_diverged: str) -> None:
    """Refuse an unknown way to recover."""
    if if_diverged not in get_args(IfDiverged):
        raise SettingError(f"if_diverged = {if_diverged!r} must be one of {', '.join(get_args(IfDiverged))}.")


def check_sane(parameters: Parameters) -> None:
    """Raise DivergedError if a centroid diverged or a layer closed all its thresholds: neither recovers by itself."""
    for k, units in enumerate(parameters, start=1):
        lost = _lost(units.centroids)
        if lost.any():
            raise DivergedError(
                f"Training diverged in layer {k}, unit {int(np.argmax(lost))}: its centroid is far from all "
                "surfaces. Lower alpha and beta, or the batch size, over which steps are summed."
            )
        if (units.thresholds == 0).all():
            raise DivergedError(
                f"Layer {k} has fallen silent: the thresholds of all its units have closed. "
                "Lower gamma and delta, or set keep, the share of events below which thresholds rest."
            )


def put_back(parameters: Parameters, thresholds: list[Array]) -> None:
    """Clip diverged centroids to between 0 and 1, where surfaces are; give a silent layer these thresholds again."""
    for units, before in zip(parameters, thresholds, strict=True):
        c, th = units.centroids, units.thresholds
        lost = _lost(c)
        c[lost] = np.clip(np.nan_to_num(c[lost], nan=0, posinf=1, neginf=0), 0, 1)
        if (th == 0).all():
            th[:] = before


def _lost(centroids: Array) -> Array:
    """Units that no surface will be closest to again, NaN among them."""
    lost: Array = ~(np.abs(centroids).reshape(len(centroids), -1).max(axis=1) < _LOST)
    return lost
