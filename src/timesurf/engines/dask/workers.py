"""Batches on the workers of a Dask cluster (the extra `dask`), to the same bits as here.

A batch is dealt out to lanes as `engines/cpu/engine.py` does it, by events, and every worker runs a stretch of them. It
has the weights; it is told what the batch before has summed, and hands on what the nodes of the tree of lanes that it
has whole sum now (`engines/cpu/lanes.py`). Whoever runs a lane, its sums are the same bits, and they are added in one
tree.
So a worker that dies takes nothing with it: its lanes run again, elsewhere.

Events travel once, or not at all where they lie in a file that all workers see. Bytes of a batch, for W workers:

    to workers      W x sums of the batch before        see `engines/dask/exchange.py`
    from workers    nodes x sums                        W nodes where W is a power of two
"""

from __future__ import annotations

import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from timesurf.engines import load
from timesurf.engines.cpu import engine as cpu
from timesurf.engines.cpu import lanes
from timesurf.engines.dask.exchange import News, ThinSums
from timesurf.engines.data import DEFAULT, Array, Options, Outcome, Parameters, pack
from timesurf.errors import MissingEngineError, SettingError
from timesurf.events import Recordings
from timesurf.layers import Stage
from timesurf.rule import Rule

Stages = tuple[Stage, ...]
_ENGINES = ("cpu", "cuda", "auto")
_TRIES = 8  # of a batch whose tasks were lost with their workers
_LOOK_AGAIN = 1.0  # s: how often to ask who is there
_EVENTS_AT_ONCE = 1 << 22  # of a task that learns nothing
_SLOW = 0.8  # of the fastest worker's pace; who is slower gets fewer lanes
_PACE_NEWS = 0.3  # weight of the latest batch in a worker's pace


@dataclass(frozen=True, slots=True)
class _Reply:
    """What came of a stretch of lanes."""

    worker: str
    seconds: float
    kept: Array
    votes: Array
    sums: list[ThinSums]


class Workers:
    """An engine that learns in batches, and infers, on all workers of a `dask.distributed.Client`.

    Give it to a network as its engine:

        Network(layers, field, polarities, classes, engine=Workers(client)).fit(recordings, batch_size=512)

    engine : what workers compute with: "cpu"; "cuda", the GPU of each; or "auto", what each of them has
    lanes : most parts that a batch is cut into; more let more workers share it

    On CPUs of one kind, and with as many lanes as the engine `cpu` has, which is the default, the result is the bits
    that it has there. On GPUs it is the same within rounding.

    `sent` and `received` count bytes of weights and sums of batches, `batches` how many there were, `again` how often
    tasks had to be given out again. What learns online or is traced runs here.
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
        self.sent = self.received = self.batches = self.again = 0
        self._network, self._version = uuid.uuid4().hex, 0
        self._latest: tuple[Parameters, ThinSums] | None = None  # weights after a batch, and the sums that led there
        self._knows: dict[str, int] = {}  # version that each worker has
        self._pace: dict[str, float] = {}  # events a second and thread of each worker
        self._there: dict[str, int] = {}
        self._asked = -np.inf
        self._sent: Recordings | None = None  # whose events workers were sent
        self._events: Any = None

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
        """The batch rule over these recordings, wherever there is a worker."""
        dealt = cpu.deal(stages, recordings.counts, options, self.lanes)
        news, whole = self._news(parameters)

        def ask(share: tuple[int, int], address: str) -> Any:
            mine, local = _stretch(dealt, *share)
            nodes = [(a - share[0], b - share[0]) for a, b in lanes.nodes(len(dealt), *share)]
            told = news if self._knows.get(address) == self._version - 1 else whole
            self.sent += told.nbytes
            held, starts, stops = self._held(recordings), recordings.starts[mine], recordings.stops[mine]
            about = (told, stages, rule, options, held, starts, stops, label[mine], local, nodes)
            return self._submit(address, _learn, self.engine, *about)

        outcome = Outcome.blank(stages, recordings.counts)
        found: dict[lanes.Node, cpu.Sums] = {}
        for share, reply in self._replies(ask, self._shares(len(dealt))):
            mine, _ = _stretch(dealt, *share)
            self._heard(reply, int(recordings.counts[mine].sum()))
            outcome.kept[mine], outcome.votes[mine] = reply.kept, reply.votes
            nodes = lanes.nodes(len(dealt), *share)
            found |= {node: sums.whole(stages) for node, sums in zip(nodes, reply.sums, strict=True)}
        self.batches += 1
        total = _added(found, 0, len(dealt))
        cpu.apply(stages, parameters, total)
        self._latest = parameters.copy(), ThinSums.of(total)
        return outcome

    def infer_all(
        self, stages: Stages, parameters: Parameters, recordings: Recordings, options: Options = DEFAULT
    ) -> Outcome:
        """Run recordings, wherever there is a worker; learn nothing."""
        counts = recordings.counts
        outcome = Outcome.blank(stages, counts)
        each = max(min(int(counts.sum()) // (2 * len(self._workers())), _EVENTS_AT_ONCE), 1)
        part = np.cumsum(counts) // each
        stretches = np.split(np.arange(len(counts)), np.flatnonzero(np.diff(part)) + 1)
        addresses = sorted(self._workers())

        def ask(number: int, address: str) -> Any:
            some, held = recordings[stretches[number]], self._held(recordings)
            return self._submit(
                address, _infer, self.engine, stages, parameters, options, held, some.starts, some.stops
            )

        where = {n: addresses[n % len(addresses)] for n, some in enumerate(stretches) if len(some)}
        for number, (kept, votes) in self._all(ask, where).items():
            outcome.kept[stretches[number]], outcome.votes[stretches[number]] = kept, votes
        return outcome

    # ------------------------------------------------------------------ tasks

    def _news(self, parameters: Parameters) -> tuple[News, News]:
        """Weights of the next version: what leads there from the version before, if that is all; and the whole."""
        self._version += 1
        whole = News(self._network, self._version, parameters.copy())
        latest, self._latest = self._latest, None  # should this batch never end, the next is not told what led here
        if latest is None or not latest[0].same(parameters):
            return whole, whole
        return News(self._network, self._version, latest[1]), whole

    def _submit(self, address: str, *task: Any) -> Any:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)  # it is what there is to send
            return self.client.submit(*task, pure=False, workers=[address], allow_other_workers=True)

    def _replies(
        self, ask: Callable[[Any, str], Any], where: dict[tuple[int, int], str]
    ) -> Iterator[tuple[tuple[int, int], _Reply]]:
        """A reply for every share of the lanes; asked again where it came to a worker that lacks the version before."""
        while where:
            for share, reply in self._all(ask, where).items():
                if reply is None:
                    self._knows.pop(where[share], None)
                else:
                    yield share, reply
                    del where[share]

    def _all(self, ask: Callable[[Any, str], Any], where: dict[Any, str]) -> dict[Any, Any]:
        """What came of every task; of all again, where one was lost with its worker."""
        from distributed import KilledWorker

        for left in reversed(range(_TRIES)):
            futures = {name: ask(name, address) for name, address in where.items()}
            try:
                results: dict[Any, Any] = self.client.gather(futures)
                return results
            except (CancelledError, KilledWorker):
                if not left:
                    raise
                self.again += 1
                self._asked, self._sent = -np.inf, None
                self._workers()  # waits until there are some
        raise AssertionError

    def _held(self, recordings: Recordings) -> Any:
        """All events that these recordings are cut from, as a worker is given them: a file's name, or sent once."""
        if recordings.mapped:
            return recordings.whole
        if self._sent is None or self._sent.origin != recordings.origin:
            self._sent = recordings
            self._events = self.client.scatter(recordings.whole, broadcast=True, hash=False)
        return self._events

    def _heard(self, reply: _Reply, events: int) -> None:
        pace = events / max(reply.seconds, 1e-9) / self._there.get(reply.worker, 1)
        known = self._pace.get(reply.worker, pace)
        self._pace[reply.worker] = known + _PACE_NEWS * (pace - known)
        self._knows[reply.worker] = self._version
        self.received += sum(sums.nbytes for sums in reply.sums)

    # ------------------------------------------------------------------ workers

    def _shares(self, number: int) -> dict[tuple[int, int], str]:
        """From which lane to before which goes to whom, by threads and pace; all lanes have about as many events."""
        there = self._workers()
        paces = {name: self._pace[name] for name in there if name in self._pace}
        fastest = max(paces.values(), default=1.0)
        slow = {name: pace / fastest for name, pace in paces.items() if pace < _SLOW * fastest}
        names = sorted(there)
        power = np.cumsum([there[name] * slow.get(name, 1.0) for name in names])
        ends = np.rint(number * power / power[-1]).astype(int)
        cuts = zip(names, [0, *ends.tolist()], ends.tolist(), strict=False)
        return {(first, last): name for name, first, last in cuts if first < last}

    def _workers(self) -> dict[str, int]:
        """Threads of every worker that is there, by address."""
        if time.monotonic() - self._asked > _LOOK_AGAIN or not self._there:
            self._there = self.client.nthreads()
            while not self._there:
                self.client.wait_for_workers(1)
                self._there = self.client.nthreads()
            self._asked = time.monotonic()
        return self._there


def _stretch(dealt: list[Array], first: int, last: int) -> tuple[Array, list[Array]]:
    """Recordings of some lanes; and those lanes again, by their place among these."""
    ends = np.cumsum([len(lane) for lane in dealt[first:last]])
    return np.concatenate(dealt[first:last]), np.split(np.arange(ends[-1]), ends[:-1])


def _added(found: dict[lanes.Node, cpu.Sums], a: int, b: int) -> cpu.Sums:
    """The sums of a node of the tree, from those of nodes below it."""
    if (a, b) in found:
        return found[a, b]
    middle = lanes.middle(a, b)
    return cpu.added([_added(found, a, middle), _added(found, middle, b)])


# ---------------------------------------------------------------------- on a worker

_known: dict[str, tuple[int, Parameters]] = {}  # the latest weights of each network
_KEPT_NETWORKS = 8
_lock = threading.Lock()


def _learn(
    engine: str,
    news: News,
    stages: Stages,
    rule: Rule,
    options: Options,
    held: Recordings,
    starts: Array,
    stops: Array,
    label: Array,
    dealt: list[Array],
    nodes: list[lanes.Node],
) -> _Reply | None:
    """Run these lanes; None where the weights are not there."""
    from distributed import get_worker

    began = time.perf_counter()
    parameters = _current(news, stages)
    if parameters is None:
        return None
    batch = pack(held.cut(starts, stops), label)
    computes: Any = load(engine)
    outcome, sums = computes.learn_lanes(stages, parameters, rule, batch, _own(options), dealt, nodes)
    thin = [ThinSums.of(of) for of in sums]
    return _Reply(get_worker().address, time.perf_counter() - began, outcome.kept, outcome.votes, thin)


def _current(news: News, stages: Stages) -> Parameters | None:
    with _lock:
        parameters = news.after(stages, *_known.pop(news.network, (-1, None)))
        if parameters is not None:
            _known[news.network] = news.version, parameters
            while len(_known) > _KEPT_NETWORKS:
                _known.pop(next(iter(_known)))
    return parameters


def _infer(
    engine: str,
    stages: Stages,
    parameters: Parameters,
    options: Options,
    held: Recordings,
    starts: Array,
    stops: Array,
) -> tuple[Array, Array]:
    outcome = load(engine).infer(stages, parameters, pack(held.cut(starts, stops)), _own(options))
    return outcome.kept, outcome.votes


def _own(options: Options) -> Options:
    """With the threads of this worker."""
    from distributed import get_worker

    return replace(options, threads=get_worker().state.nthreads)
