"""Online learning by precision: how a network is laid out, begun, run and brought up to date."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from timesurf.engines.cpu import lazy, online, online32, online_state, packets
from timesurf.engines.cpu.layout import Plan, online32_plan, online_plan


class Online(NamedTuple):
    """Online learning in one precision."""

    plan: Callable[..., Plan]  # of these stages
    begin: Callable[..., Any]  # the state for a plan and parameters
    run: Any  # the kernel
    finish: Any  # afterwards the state's centroids are those learned
    one: Any  # the kernel of a single event of a stream


ONLINE = {
    "float64": Online(online_plan, online_state.begin, online.run, lazy.finish, packets.one),
    "float32": Online(online32_plan, online_state.begin32, online32.run, online32.finish, packets.one32),
}
