"""Which kernel learns online: by precision, and by the size of the layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from timesurf.engines.cpu import compact, lazy, online, online32, online_state, packets
from timesurf.engines.cpu.layout import Plan, Stages, online32_plan, online_plan, written_plan


class Online(NamedTuple):
    """One kernel of online learning: how a network is laid out, begun, run and brought up to date."""

    plan: Callable[..., Plan]  # of these stages
    begin: Callable[..., Any]  # the state for a plan and parameters
    run: Any  # the kernel
    finish: Any  # afterwards the state's centroids are those learned
    one: Any  # the kernel of a single event of a stream


_FLOAT64 = Online(online_plan, online_state.begin, online.run, lazy.finish, packets.one)
_FLOAT32 = Online(online32_plan, online_state.begin32, online32.run, online32.finish, packets.one32)
_SMALL = Online(written_plan, compact.begin, compact.run, compact.finish, packets.one_compact)


def online_kernel(precision: str, stages: Stages) -> Online:
    """The kernel for a network in this precision; in float64 if a layer has several time constants.

    Examples
    --------
    >>> from timesurf.layers import Full, stack
    >>> online_kernel("float32", stack([Full(units=2, tau=(1, 2))], (3,), 1)) is _FLOAT64
    True
    """
    if precision == "float64" or any(stage.scales > 1 for stage in stages):
        return _FLOAT64
    return _SMALL if compact.fits(stages) else _FLOAT32
