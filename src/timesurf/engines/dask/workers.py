"""Batches on the workers of a Dask cluster (the extra `dask`), bit-identical to the CPU engine on one machine.

A batch is dealt out to lanes by `engines/cpu/engine.py`, balanced by events, and every worker runs some
consecutive lanes. A worker has the weights; it receives the sums of the batch before, applies them, and returns the
sums of the nodes of the tree of lanes that it has complete (`engines/cpu/lanes.py`). The sums of a lane do not depend
on who runs it, and all are added in one fixed tree. So the failure of a worker changes nothing: its lanes run again on
another.

Events travel once, or not at all if they are in a file that all workers can open. Bytes per batch, for W workers::

    to workers      W x sums of the batch before        see `engines/dask/exchange.py`
    from workers    nodes x sums                        W nodes where W is a power of two
"""

from __future__ import annotations

import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from typing import Any

import numpy as np

from timesurf.engines.cpu import engine as cpu
from timesurf.engines.cpu import lanes
from timesurf.engines.cpu.sums import Sums, added, apply
from timesurf.engines.dask import tasks
from timesurf.engines.dask.exchange import SparseSums, Update
from timesurf.engines.data import DEFAULT, Array, Options, Outcome, Parameters
from timesurf.errors import MissingEngineError, SettingError
from timesurf.events import Recordings
from timesurf.layers import Stage
from timesurf.rule import Rule

Stages = tuple[Stage, ...]
Lanes = tuple[int, int]  # consecutive lanes: from this one to before that one
_ENGINES = ("cpu", "cuda", "auto")
_ATTEMPTS = 8  # at a batch whose tasks were lost with their workers
_REFRESH = 1.0  # s: how often to ask the scheduler which workers there are
_EVENTS_PER_TASK = 1 << 22  # at most, in inference
_SLOW = 0.8  # of the fastest worker's speed; slower workers receive fewer lanes
_LATEST = 0.3  # weight of the latest batch in a worker's speed


class Workers:
    """An engine that learns in batches, and infers, on all workers of a `dask.distributed.Client`.

    On CPUs of one kind, and with the default number of lanes, which is that of the engine `cpu`, the result is
    bit-identical to that of `cpu`. On GPUs it is the same within rounding. Online learning and traces run on this
    machine.

    Parameters
    ----------
    client : dask.distributed.Client
        The cluster. It is used as it is: nothing is started or closed.
    engine : {"cpu", "cuda", "auto"}
        What workers compute with: their CPU, their GPU, or the GPU where a worker has one.
    lanes : int
        Parts that a batch is cut into, at most; with more of them, more workers can share it.

    Attributes
    ----------
    sent, received : int
        Bytes of weights and sums that batches sent to workers and received from them.
    batches : int
        Batches learned from.
    retries : int
        How often tasks were submitted again because workers had failed.

    Examples
    --------
    Give it to a network as its engine::

        Network(layers, field, polarities, classes, engine=Workers(client)).fit(recordings, batch_size=512)
    """

    infer = staticmethod(cpu.infer)
    learn_batch = staticmethod(cpu.learn_batch)
    learn_online = staticmethod(cpu.learn_online)
    surfaces = staticmethod(cpu.surfaces)
    supports = staticmethod(cpu.supports)

    def __init__(self, client: Any, *, engine: str = "cpu", lanes: int = lanes.MOST) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            raise MissingEngineError("Many machines need Dask: pip install 'timesurf[dask]'.") from error
        if not isinstance(client, Client):
            raise MissingEngineError(f"A dask.distributed.Client is needed, not {type(client).__name__}.")
        if engine not in _ENGINES:
            raise SettingError(f"engine = {engine!r}: workers compute with one of {', '.join(_ENGINES)}.")
        self.client = client
        self.engine, self.lanes = engine, lanes
        self.sent = self.received = self.batches = self.retries = 0
        self._network, self._version = uuid.uuid4().hex, 0
        self._latest: tuple[Parameters, SparseSums] | None = None  # weights after a batch, and the sums that led there
        self._versions: dict[str, int] = {}  # of the weights that each worker has
        self._speeds: dict[str, float] = {}  # events per second and thread of each worker
        self._threads: dict[str, int] = {}  # of each worker
        self._refreshed = -np.inf  # when the scheduler was last asked for them
        self._scattered: Recordings | None = None  # recordings whose events every worker was sent
        self._events: Any = None  # the future of those events

    def __repr__(self) -> str:
        return f"Workers({self.client.scheduler.address!r})"

    def learn_part(
        self,
        stages: Stages,
        parameters: Parameters,
        rule: Rule,
        recordings: Recordings,
        label: Array,
        options: Options = DEFAULT,
    ) -> Outcome:
        """Learn from a batch of recordings by the batch rule, spread over all workers."""
        dealt = cpu.deal(stages, recordings.counts, options, self.lanes)
        step, whole = self._next_version(parameters)

        def submit(some: Lanes, address: str) -> Any:
            mine, local = _recordings_of(dealt, *some)
            nodes = [(a - some[0], b - some[0]) for a, b in lanes.nodes(len(dealt), *some)]
            share = tasks.Share(recordings.starts[mine], recordings.stops[mine], label[mine], local, nodes)
            update = step if self._versions.get(address) == self._version - 1 else whole
            self.sent += update.nbytes
            held = self._held(recordings)
            return self._submit(address, tasks.learn, self.engine, update, stages, rule, options, held, share)

        outcome = Outcome.blank(stages, recordings.counts)
        found: dict[lanes.Node, Sums] = {}
        for some, reply in self._replies(submit, self._shares(len(dealt))):
            mine, _ = _recordings_of(dealt, *some)
            self._record(reply, int(recordings.counts[mine].sum()))
            outcome.kept[mine], outcome.votes[mine] = reply.kept, reply.votes
            nodes = lanes.nodes(len(dealt), *some)
            found |= {node: sums.dense() for node, sums in zip(nodes, reply.sums, strict=True)}
        self.batches += 1
        total = _added(found, 0, len(dealt))
        apply(stages, parameters, total)
        self._latest = parameters.copy(), SparseSums.of(total)
        return outcome

    def infer_all(
        self, stages: Stages, parameters: Parameters, recordings: Recordings, options: Options = DEFAULT
    ) -> Outcome:
        """Run all recordings, spread over all workers; learn nothing."""
        counts = recordings.counts
        outcome = Outcome.blank(stages, counts)
        addresses = sorted(self._workers())
        per_task = max(min(int(counts.sum()) // (2 * len(addresses)), _EVENTS_PER_TASK), 1)
        ends = np.flatnonzero(np.diff(np.cumsum(counts) // per_task)) + 1
        parts = np.split(np.arange(len(counts)), ends)

        def submit(number: int, address: str) -> Any:
            some, held = recordings[parts[number]], self._held(recordings)
            return self._submit(
                address, tasks.infer, self.engine, stages, parameters, options, held, some.starts, some.stops
            )

        where = {n: addresses[n % len(addresses)] for n, part in enumerate(parts) if len(part)}
        outcome.evidence = np.zeros(outcome.votes.shape) if options.temperature > 0 else None
        for number, (kept, votes, evidence) in self._results(submit, where).items():
            outcome.kept[parts[number]], outcome.votes[parts[number]] = kept, votes
            if outcome.evidence is not None:
                outcome.evidence[parts[number]] = evidence
        return outcome

    # ------------------------------------------------------------------ tasks

    def _next_version(self, parameters: Parameters) -> tuple[Update, Update]:
        """Two updates to the next version of the weights: the latest sums, if they lead there, and all weights."""
        self._version += 1
        whole = Update(self._network, self._version, parameters.copy())
        latest, self._latest = self._latest, None  # if this batch fails, the next must not build on these sums
        if latest is None or not latest[0].same(parameters):
            return whole, whole
        return Update(self._network, self._version, latest[1]), whole

    def _submit(self, address: str, *task: Any) -> Any:
        """Submit a task to this worker; to any other if it fails."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)  # the sums are as large as they are
            return self.client.submit(*task, pure=False, workers=[address], allow_other_workers=True)

    def _replies(
        self, submit: Callable[[Any, str], Any], where: dict[Lanes, str]
    ) -> Iterator[tuple[Lanes, tasks.Reply]]:
        """One reply per share; a share that ran on a worker without the version before is submitted again."""
        while where:
            for some, reply in self._results(submit, where).items():
                if reply is None:
                    self._versions.pop(where[some], None)
                else:
                    yield some, reply
                    del where[some]

    def _results(self, submit: Callable[[Any, str], Any], where: dict[Any, str]) -> dict[Any, Any]:
        """The result of every task; all are submitted again if one was lost with its worker."""
        from distributed import KilledWorker

        for left in reversed(range(_ATTEMPTS)):
            futures = {name: submit(name, address) for name, address in where.items()}
            try:
                results: dict[Any, Any] = self.client.gather(futures)
                return results
            except (CancelledError, KilledWorker):
                if not left:
                    raise
                self.retries += 1
                self._refreshed, self._scattered = -np.inf, None
                self._workers()  # waits until there are some
        raise AssertionError

    def _held(self, recordings: Recordings) -> Any:
        """All events that these recordings are cut from, as workers receive them: the name of a file, or sent once."""
        if recordings.mapped:
            return recordings.whole
        if self._scattered is None or self._scattered.origin != recordings.origin:
            self._scattered = recordings
            self._events = self.client.scatter(recordings.whole, broadcast=True, hash=False)
        return self._events

    def _record(self, reply: tasks.Reply, events: int) -> None:
        """Note a worker's speed and version, and the bytes received."""
        speed = events / max(reply.seconds, 1e-9) / self._threads.get(reply.worker, 1)
        before = self._speeds.get(reply.worker, speed)
        self._speeds[reply.worker] = before + _LATEST * (speed - before)
        self._versions[reply.worker] = self._version
        self.received += sum(sums.nbytes for sums in reply.sums)

    # ------------------------------------------------------------------ workers

    def _shares(self, number: int) -> dict[Lanes, str]:
        """Which worker runs which lanes, by threads and speed; all lanes have about the same number of events."""
        threads = self._workers()
        speeds = {name: self._speeds[name] for name in threads if name in self._speeds}
        fastest = max(speeds.values(), default=1.0)
        slow = {name: speed / fastest for name, speed in speeds.items() if speed < _SLOW * fastest}
        names = sorted(threads)
        power = np.cumsum([threads[name] * slow.get(name, 1.0) for name in names])
        ends = np.rint(number * power / power[-1]).astype(int)
        cuts = zip(names, [0, *ends.tolist()], ends.tolist(), strict=False)
        return {(first, last): name for name, first, last in cuts if first < last}

    def _workers(self) -> dict[str, int]:
        """Threads of every worker in the cluster, by address; waits until there is one."""
        if time.monotonic() - self._refreshed > _REFRESH or not self._threads:
            self._threads = self.client.nthreads()
            while not self._threads:
                self.client.wait_for_workers(1)
                self._threads = self.client.nthreads()
            self._refreshed = time.monotonic()
        return self._threads


def _recordings_of(dealt: list[Array], first: int, last: int) -> tuple[Array, list[Array]]:
    """Recordings of these lanes; and the lanes again, as indices into these recordings."""
    ends = np.cumsum([len(lane) for lane in dealt[first:last]])
    return np.concatenate(dealt[first:last]), np.split(np.arange(ends[-1]), ends[:-1])


def _added(found: dict[lanes.Node, Sums], a: int, b: int) -> Sums:
    """The sums of a node of the tree, from those of the nodes below it."""
    if (a, b) in found:
        return found[a, b]
    middle = lanes.middle(a, b)
    return added([_added(found, a, middle), _added(found, middle, b)])
