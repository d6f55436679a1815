"""Which path a network takes on the card, and which networks none of them can run. Needs no card."""

from __future__ import annotations

import logging

from timesurf.engines.cuda.blocks import LONGEST, blocks, group_of
from timesurf.engines.cuda.deep import deep
from timesurf.engines.cuda.general import plan, refusal
from timesurf.engines.cuda.work import Device, Path, Work
from timesurf.layers import Stage

_LOG = logging.getLogger("timesurf")
_TENSOR_CORES = 80  # compute capability from which on they multiply what the fast paths give them


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


def choose(work: Work, device: Device) -> Path:
    """The fastest path that covers the work on this card; the log says which, at debug level.

    Parameters
    ----------
    work : Work
        Networks and recordings.
    device : Device
        The card.

    Returns
    -------
    Path
        By blocks of events or layer by layer, where the last layer is open, does not learn by the delta rule and sums
        no evidence, times are exact in float32 and there are tensor cores; else the general path.
    """
    fast = work.kind != "trace" and work.open and not (work.delta or work.evidence)
    fast = fast and work.span < LONGEST and device.capability >= _TENSOR_CORES
    path: Path | None = None
    if fast:
        room = {"learn": work.learns, "shared": device.shared, "deterministic": work.deterministic}
        path = blocks(work.stages, group=group_of(work, device), **room) or deep(work.stages, **room)
    path = path or plan(work.stages, work.deterministic, delta=work.delta, evidence=work.evidence)
    _LOG.debug("CUDA: %s of %s takes the path %r.", work.kind, " / ".join(map(str, work.stages)), path.name)
    return path
