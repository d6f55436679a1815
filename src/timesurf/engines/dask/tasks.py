"""What runs on a worker: a share of a batch, or the inference of some recordings.

A worker keeps the latest weights of the networks that it has worked for, so that a batch only has to send it the sums
of the batch before.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace

from timesurf.engines import TakesLanes, load
from timesurf.engines.cpu import lanes
from timesurf.engines.dask.exchange import SparseSums, Update
from timesurf.engines.data import Array, Options, Parameters, pack
from timesurf.errors import SettingError
from timesurf.events import Recordings
from timesurf.layers import Stage
from timesurf.rule import Rule

Stages = tuple[Stage, ...]

_MOST_NETWORKS = 8  # whose weights a worker keeps
_weights: dict[str, tuple[int, Parameters]] = {}  # version and weights of each network
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Share:
    """Some lanes of a batch, for one worker.

    Attributes
    ----------
    starts, stops : array
        Where every recording of these lanes begins and ends among the events that the worker holds.
    label : array
        Class number of every recording, -1 where it has no label.
    dealt : list of array
        Recordings of each lane, as indices into `starts`.
    nodes : list of (int, int)
        Nodes of the tree of lanes to sum, see `engines/cpu/lanes.py`.
    """

    starts: Array
    stops: Array
    label: Array
    dealt: list[Array]
    nodes: list[lanes.Node]


@dataclass(frozen=True, slots=True)
class Reply:
    """What a worker returns for its share of a batch."""

    worker: str
    seconds: float
    kept: Array
    votes: Array
    sums: list[SparseSums]


def learn(
    engine: str, update: Update, stages: Stages, rule: Rule, options: Options, held: Recordings, share: Share
) -> Reply | None:
    """Run a share of a batch; None if this worker lacks the weights that the update builds on."""
    from distributed import get_worker

    began = time.perf_counter()
    weights = _updated(update, stages)
    if weights is None:
        return None
    computes = load(engine)
    if not isinstance(computes, TakesLanes):
        raise SettingError(f"engine = {engine!r} cannot run lanes of a batch: workers compute with cpu or cuda.")
    batch = pack(held.cut(share.starts, share.stops), share.label)
    outcome, sums = computes.learn_lanes(stages, weights, rule, batch, _local(options), share.dealt, share.nodes)
    sparse = [SparseSums.of(node) for node in sums]
    return Reply(get_worker().address, time.perf_counter() - began, outcome.kept, outcome.votes, sparse)


def infer(
    engine: str,
    stages: Stages,
    parameters: Parameters,
    options: Options,
    held: Recordings,
    starts: Array,
    stops: Array,
) -> tuple[Array, Array, Array | None]:
    """Run some recordings; events that each layer let pass, votes and, if the options ask for it, evidence."""
    outcome = load(engine).infer(stages, parameters, pack(held.cut(starts, stops)), _local(options))
    return outcome.kept, outcome.votes, outcome.evidence


def _updated(update: Update, stages: Stages) -> Parameters | None:
    """The weights of this version, which this worker then keeps; None if it cannot make them."""
    with _lock:
        weights = update.applied_to(stages, *_weights.pop(update.network, (-1, None)))
        if weights is not None:
            _weights[update.network] = update.version, weights
            while len(_weights) > _MOST_NETWORKS:
                _weights.pop(next(iter(_weights)))
    return weights


def _local(options: Options) -> Options:
    """The options with the threads of this worker."""
    from distributed import get_worker

    return replace(options, threads=get_worker().state.nthreads)
