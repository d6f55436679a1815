"""Which path a network takes on the card, and which networks none of them can run. Needs no card."""

from __future__ import annotations

import logging

from timesurf.engines.cuda.blocks import LONGEST, blocks, group_of
from timesurf.engines.cuda.deep import deep
from timesurf.engines.cuda.general import plan, refusal
from timesurf.engines.cuda.scan import scan
from timesurf.engines.cuda.work import TENSOR_CORES, Device, Path, Work
from timesurf.layers import Stage

_LOG = logging.getLogger("timesurf")


def supports(stages: tuple[Stage, ...], *, online: bool = False) -> str:
    """Why the engine cannot run a network, in one sentence; empty: it can.

    Parameters
    ----------
    stages : tuple of Stage
        The network.
    online : bool
        Whether it is to learn online.

    Examples
    --------
    >>> from timesurf.layers import Full, stack
    >>> supports(stack([Full(units=2, tau=1)], (3,), 1))
    ''
    >>> supports(stack([Full(units=2, tau=1)], (3,), 1), online=True)
    'Online learning updates the weights after every event, which leaves nothing for a GPU to do in parallel.'
    """
    if online:
        return (
            "Online learning updates the weights after every event, which leaves nothing for a GPU to do in parallel."
        )
    return refusal(stages)


def fast(work: Work, device: Device) -> Path | None:
    """A path that is faster than the general one and covers the work on this card; None: there is none.

    Parameters
    ----------
    work : Work
        Networks and recordings.
    device : Device
        The card.

    Returns
    -------
    Path or None
        Where the last layer is open: a `Full` layer alone as a scan; others by blocks of events or layer by layer, if
        the last layer does not learn by the delta rule and sums no evidence, times are exact in float32 and there are
        tensor cores.
    """
    if work.kind == "trace" or not work.open:
        return None
    room = {"learn": work.learns, "shared": device.shared, "deterministic": work.deterministic}
    if alone := scan(work.stages, **room, delta=work.delta, evidence=work.evidence):
        return alone
    if work.delta or work.evidence or work.span >= LONGEST or device.capability < TENSOR_CORES:
        return None
    return blocks(work.stages, group=group_of(work, device), **room) or deep(work.stages, **room)


def choose(work: Work, device: Device) -> Path:
    """The fastest path that covers the work on this card, the general one if no other does; the log says which.

    Parameters
    ----------
    work, device : Work, Device
        As of `fast`.
    """
    path = fast(work, device) or plan(work.stages, work.deterministic, delta=work.delta, evidence=work.evidence)
    _LOG.debug("CUDA: %s of %s takes the path %r.", work.kind, " / ".join(map(str, work.stages)), path.name)
    return path
