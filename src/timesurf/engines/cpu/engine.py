"""The CPU engine: numba kernels on all cores.

Recordings are dealt out to lanes (`engines/cpu/lanes.py`), balanced by length: any number of threads gives the same
bits.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np

from timesurf.cores import cores
from timesurf.engines.cpu import frozen, lanes, online, online_state, yardstick
from timesurf.engines.cpu.bundles import Counts, Events, Evidence, Settings
from timesurf.engines.cpu.layout import Stages, frozen_plan
from timesurf.engines.cpu.precision import online_kernel
from timesurf.engines.cpu.sums import Sums, added, apply
from timesurf.engines.cpu.threads import one_blas_thread, pool
from timesurf.engines.cpu.workspace import flat_weights, workspace, workspace_bytes
from timesurf.engines.data import DEFAULT, Array, Batch, Options, Outcome, Parameters
from timesurf.layers import Full, Window, stack
from timesurf.rule import Rule

__all__ = [
    "Sums", "added", "apply", "cores", "deal", "infer", "learn_batch", "learn_lanes", "learn_online", "memory",
    "supports", "surfaces", "warm_up",
]  # fmt: skip

_SUMS_BYTES = 256 << 20  # of all lanes' sums together
_LONG = 2**29  # us: 32 bits hold a decay that takes less, twice


def supports(stages: Stages, *, online: bool = False) -> str:
    """Every network, online and in batches."""
    return ""


def infer(
    stages: Stages, parameters: Parameters, batch: Batch, options: Options = DEFAULT, *, trace: bool = False
) -> Outcome:
    """Run the events; learn nothing."""
    return _run(stages, parameters, Rule(), batch, options, lanes.deal(np.diff(batch.offsets)), trace=trace)[0]


def learn_batch(
    stages: Stages, parameters: Parameters, rule: Rule, batch: Batch, options: Options = DEFAULT
) -> Outcome:
    """Run the events with frozen parameters, sum the updates, apply them once."""
    dealt = deal(stages, np.diff(batch.offsets), options)
    outcome, (sums,) = learn_lanes(stages, parameters, rule, batch, options, dealt, [(0, len(dealt))])
    apply(stages, parameters, sums)
    return outcome


def learn_online(
    stages: Stages, parameters: Parameters, rule: Rule, batch: Batch, options: Options = DEFAULT
) -> Outcome:
    """Run the events and update the parameters after each: one event after another, so on one core."""
    kernel, outcome = online_kernel(options.precision, stages), Outcome.blank(stages, np.diff(batch.offsets))
    _announce(kernel.run, "online learning")
    plan = kernel.plan(stages)
    state = kernel.begin(plan, parameters)
    kernel.run(
        Events.of(batch), np.int64(0), plan.gap, True, True, plan.layout, Settings.of(stages, rule), state,
        Counts(outcome.kept, outcome.votes), online.Outputs.room(0),
    )  # fmt: skip
    online_state.take_back(plan, state, parameters)
    return outcome


def surfaces(stages: Stages, parameters: Parameters, batch: Batch, layer: int) -> Array:
    """Time surfaces of all events that reach a layer, one row per event."""
    return yardstick.surfaces(stages, parameters, batch, layer)


def deal(stages: Stages, counts: Array, options: Options, most: int = lanes.MOST) -> list[Array]:
    """Recordings of a batch to learn from, for each lane: no more lanes than have room for their sums."""
    room = int(_SUMS_BYTES // (Sums.values(stages) * np.dtype(options.dtype).itemsize))
    return lanes.deal(counts, min(most, max(room, 1)))


def learn_lanes(
    stages: Stages,
    parameters: Parameters,
    rule: Rule,
    batch: Batch,
    options: Options,
    dealt: list[Array],
    nodes: list[lanes.Node],
) -> tuple[Outcome, list[Sums]]:
    """Run lanes with frozen parameters; what each of these nodes of the tree of lanes has summed."""
    outcome, sums = _run(stages, parameters, rule, batch, options, dealt, learn=True)
    threads = min(options.threads or cores(), len(dealt))
    return outcome, [added(sums[a:b], threads) for a, b in nodes]


def memory(stages: Stages, counts: Array, options: Options = DEFAULT, *, learn: bool, by_delta: bool = False) -> int:
    """Bytes that running a batch takes, beyond the batch itself.

    threads x (workspace) + lanes x (sums of a lane, when learning) + one copy of the parameters

    Parameters
    ----------
    stages : tuple of Stage
        The network.
    counts : array
        Events of each recording.
    options : Options
        Type of the values, and threads.
    learn : bool
        Whether updates are summed.
    by_delta : bool
        Whether the last layer learns by the delta rule, which notes the gains of all its units.

    Returns
    -------
    int
        Bytes.

    """
    plan, size = frozen_plan(stages), np.dtype(options.dtype).itemsize
    dealt = len(deal(stages, counts, options) if learn else lanes.deal(counts))
    space = workspace_bytes(plan, options.dtype, np.int32, _noted(plan, counts, learn=learn), by_delta=by_delta)
    sums = size * (plan.total.update0 + 2 * plan.total.unit0) if learn else 0
    copy = size * (plan.total.centroid0 + 3 * plan.total.unit0)
    return int(min(options.threads or cores(), dealt) * space + dealt * sums + copy)


def warm_up(*, online: bool = True, batch: bool = True) -> None:
    """Compile every kernel for this machine, or half of them, now rather than on first use; they are kept on disk."""
    stages = stack([Window(3, units=2, tau=1), Full(units=2, tau=1)], (3,), 1)
    small = stages[1:]  # has a kernel of its own
    parameters = Parameters.of([np.zeros((2, *s.surface_shape)) for s in stages], [np.full(2, np.inf)] * 2)
    for time in (np.int32, np.int64):
        event = Batch(np.zeros(1, np.int32), np.zeros(1, time), np.array([0, 1]), np.zeros(1, np.int64))
        for dtype in ("float32", "float64"):
            if online:
                learn_online(stages, parameters, Rule(), event, Options(precision=dtype))
                learn_online(small, Parameters(parameters[1:]), Rule(), event, Options(precision=dtype))
            if batch:
                learn_batch(stages, parameters, Rule(), event, Options(dtype))


def _run(
    stages: Stages,
    parameters: Parameters,
    rule: Rule,
    batch: Batch,
    options: Options,
    dealt: list[Array],
    *,
    learn: bool = False,
    trace: bool = False,
) -> tuple[Outcome, list[Sums]]:
    """Run lanes side by side; the sums of each where they learn."""
    plan, dtype = frozen_plan(stages), np.dtype(options.dtype)
    weights, settings = flat_weights(plan, parameters, dtype), Settings.of(stages, rule, dtype)
    outcome = Outcome.empty(stages, batch, options, trace=trace)
    evidence, by_delta = Evidence.of(outcome, options), learn and settings.by_delta
    events = Events.of(batch, batch.t if plan.gap < _LONG else batch.t.astype(np.int64))

    def work(chosen: Array) -> Sums:
        sums = Sums.zeros(plan, dtype) if learn else Sums.none(dtype)
        noted = _noted(plan, outcome.events[chosen], learn=learn)
        with workspace(plan, dtype, events.t.dtype, noted, by_delta=by_delta) as space:
            frozen.run(
                events, chosen, plan.layout, plan.gap, settings, learn, weights, *space, sums,
                Counts(outcome.kept, outcome.votes), evidence, outcome.trace,
            )  # fmt: skip
        return sums

    threads = min(options.threads or cores(), len(dealt))
    each = map if threads == 1 else pool(threads).map
    _announce(frozen.run, "inference and batch learning")
    with one_blas_thread():
        sums = list(each(work, dealt))
    if not trace:
        outcome.trace = None
    return outcome, sums


def _noted(plan: Any, counts: Array, *, learn: bool) -> int:
    """Events that a workspace notes at a time: of a recording to look back on when learning, else of a block."""
    longest = int(counts.max(initial=1))
    return longest if learn else min(longest, plan.events)


def _announce(kernel: Any, what: str) -> None:
    """Log that the first use on a machine takes a while, where nothing has been compiled for it yet."""
    if kernel.overloads:  # `signatures` takes 0.2 ms
        return
    try:
        compiled = any(Path(kernel._cache.cache_path).glob(f"{kernel.py_func.__module__.rpartition('.')[2]}.run-*.nbc"))
    except (AttributeError, OSError):
        return
    if not compiled:
        logging.getLogger("timesurf").warning("Compiling %s for this machine, once: about ten seconds ...", what)
