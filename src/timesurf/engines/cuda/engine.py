"""The CUDA engine: inference and the batch rule on an NVIDIA GPU, through CuPy (the extra `cuda`).

Kernels are compiled for a network's sizes when it first runs, and CuPy caches them on disk. They compute in float32,
on centroids and thresholds that are stored in float64; winners differ from the reference only at near-ties, and sums of
updates by about 1e-4 (docs/gpu.md). Sums come from atomic additions in any order: with `options.deterministic` they are
made in fixed point instead, so that every run gives the same bits.

There are four paths. A network of one `Window` and one `Full` layer takes 32 events of a recording at a time through
the tensor cores (blocks.cu); one of several `Window` layers below a `Full` layer does so layer by layer (deep.cu); a
`Full` layer alone is a scan over events (scan.cu), whichever rule it learns by; any other goes event by event
(general.cu). What `Window` layers whose weights stay emit is computed by a kernel of its own (winners.cu): layers that
rest run once, and inference that no fast path covers becomes this kernel and a scan. Online learning changes weights
after every event, which leaves nothing to do in parallel: it stays on the CPU.

===========================  ===================================================================
module                       what it has
===========================  ===================================================================
`abi`                        structs and constants that the host and the kernels share
`layout`                     how a layer lies on the card, from its geometry
`general`, `blocks`,         the four paths: which networks each covers, its sizes, its kernels
`deep`, `scan`
`winners`, `emission`        `Window` layers whose weights stay: the kernel; what they emit
`held`                       recordings that come to the host only where they are read
`paths`, `work`              which path a network takes; what a path needs
`rates`                      learning rates and time constants as the kernels want them
`events`                     events on the card, held there or streamed
`memory`, `launch`, `card`   work space, how kernels are started, networks on the card
`kmeans`                     k-means on the card, for a start
`moving`                     recordings at other places in each pass
===========================  ===================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from timesurf.engines.data import DEFAULT, Array, Batch, Learner, Options, Outcome, Parameters, Trace
from timesurf.errors import SettingError
from timesurf.events import Recordings
from timesurf.layers import Stage
from timesurf.rule import Rule

try:
    import cupy as cp
except ImportError as missing:
    raise ImportError("it needs CuPy: pip install 'timesurf[cuda]'") from missing

from timesurf.engines.cuda import emission, launch, moving, paths
from timesurf.engines.cuda import events as cudaevents
from timesurf.engines.cuda import kmeans as cudakmeans
from timesurf.engines.cuda.card import Card, Counted
from timesurf.engines.cuda.rates import rates
from timesurf.engines.cuda.work import Work

Stages = tuple[Stage, ...]
_REPORT_AFTER = 1 << 27  # events: progress is reported no more often


def supports(stages: Stages, *, online: bool = False) -> str:
    """Why the engine cannot run the network, or cannot learn online; empty where it can."""
    return paths.supports(stages, online=online)


def infer(
    stages: Stages, parameters: Parameters, batch: Batch, options: Options = DEFAULT, *, trace: bool = False
) -> Outcome:
    """Run the events; learn nothing."""
    card, still, evidence = _ready(stages, parameters, options), _still(stages, options), options.temperature > 0
    with card.stream:
        events = cudaevents.of_batch(batch)
        if not trace:
            return _outcome(events, card.infer(events, still, evidence=evidence))
        counted, found = card.trace(events, still, evidence=evidence)
    record = Trace(
        found["winner"], found["distance"].astype(np.float64), found["S"].astype(np.float64), found["passed"]
    )
    return _outcome(events, counted, record)


def learn_batch(
    stages: Stages, parameters: Parameters, rule: Rule, batch: Batch, options: Options = DEFAULT
) -> Outcome:
    """Run the events with frozen parameters, sum the updates, apply them once."""
    card = _ready(stages, parameters, options)
    with card.stream:
        events = cudaevents.of_batch(batch)
        order = card.learn(events, [slice(0, len(batch))], rates([stages], [[rule]]), None, None)
        counted = card.counted(order)
    card.download([parameters])
    return _outcome(events, counted)


def learn_lanes(
    stages: Stages,
    parameters: Parameters,
    rule: Rule,
    batch: Batch,
    options: Options,
    dealt: list[Array],
    nodes: list[tuple[int, int]],
) -> tuple[Outcome, list[Any]]:
    """As `cpu.learn_lanes`: what nodes of the tree of lanes sum. Each lane is a network of its own, side by side."""
    from timesurf.engines.cpu.sums import Sums, added

    card = card_of(stages, len(dealt), options.deterministic)
    card.upload([parameters] * len(dealt))
    with card.stream:
        events = cudaevents.of_lanes(batch, dealt)
        order, layers = card.sums(events, rates([stages] * len(dealt), [[rule]] * len(dealt)))
        found = card.counted(order)
    outcome = Outcome.blank(stages, np.diff(batch.offsets))
    for n, lane in enumerate(dealt):
        outcome.kept[lane], outcome.votes[lane] = (of[: len(lane)] for of in found.of(n))
    sums = [Sums.of_layers(stages, [tuple(of[n] for of in layer) for layer in layers]) for n in range(len(dealt))]
    return outcome, [added(sums[a:b]) for a, b in nodes]


def learn_online(
    stages: Stages, parameters: Parameters, rule: Rule, batch: Batch, options: Options = DEFAULT
) -> Outcome:
    """Refused: `supports` says why, and `engines.choose` falls back to the CPU."""
    raise SettingError(f"{supports(stages, online=True)} Use engine='cpu', or learn in batches by setting batch_size.")


def surfaces(stages: Stages, parameters: Parameters, batch: Batch, layer: int) -> Array:
    """Time surfaces of all events that reach a layer, one row per event."""
    stages = stages[: layer + 1]
    below = Parameters(parameters[: layer + 1])
    card, still = _ready(stages, below, DEFAULT), _still(stages, DEFAULT)
    with card.stream:
        events = cudaevents.of_batch(batch)
        reached = card.trace(events, still)[1]["passed"] >= layer
        rows = cp.zeros((int(reached.sum()), *stages[layer].surface_shape), np.float32)
        card.trace(events, still, (rows, cp.asarray(np.cumsum(reached) - 1), layer))
        found: Array = rows.get().astype(np.float64)
    return found


def kmeans(points: Array, units: int, seed: int) -> Array:
    """Centroids of points, for a start."""
    found: Array = cudakmeans.kmeans(points, units, seed)
    return found


# ---------------------------------------------------------------------- whole data sets, whose events stay on the card


def infer_all(stages: Stages, parameters: Parameters, recordings: Recordings, options: Options = DEFAULT) -> Outcome:
    """Run all recordings; learn nothing."""
    evidence, label = options.temperature > 0, np.full(len(recordings), -1)
    longest = cudaevents.longest_of([recordings])
    two_steps = _in_two_steps(stages, parameters, len(recordings), longest, evidence)
    outcomes, last = [], slice(-1, None) if two_steps else slice(0, None)
    card, still = _ready(stages[last], Parameters(parameters[last]), options), _still(stages[last], options)
    with card.stream:
        for events, _ in cudaevents.stretches([recordings], [label], longest=longest):
            if two_steps:  # what the hidden layers emit, then the last layer on it
                for some in emission.emissions(stages[:-1], Parameters(parameters[:-1]), events):
                    found = _outcome(some.events, card.infer(some.events, still, evidence=evidence))
                    found.events, found.kept = (
                        events.counts[0][some.part],
                        np.concatenate([some.kept.T, found.kept], axis=1),
                    )
                    outcomes.append(found)
            else:
                outcomes.append(_outcome(events, card.infer(events, still, evidence=evidence)))
    return Outcome.joined(outcomes)


def emitted(
    stages: Stages, parameters: Parameters, recordings: Recordings, options: Options = DEFAULT
) -> Recordings | None:
    """The events that the last of these layers emits, which stay on the card if there is room; None: not covered."""
    if not emission.covers(stages, parameters):
        return None
    with resting_stream():
        return emission.emitted(stages, parameters, recordings)


def _in_two_steps(stages: Stages, parameters: Parameters, recordings: int, span: int, evidence: bool) -> bool:
    """Whether what the hidden layers emit is computed first, because no fast path covers the whole network."""
    about: dict[str, Any] = {"largest": recordings, "span": span, "evidence": evidence}
    about["open"] = bool(np.isinf(parameters[-1].thresholds).all())
    whole, last = (Work(some, "infer", **about) for some in (stages, stages[-1:]))
    device = launch.device()
    return (
        paths.fast(whole, device) is None
        and paths.fast(last, device) is not None
        and emission.covers(stages[:-1], Parameters(parameters[:-1]))
    )


def learn_pass(
    learners: Sequence[Learner],
    parts: Sequence[slice],
    rules: Sequence[Sequence[Rule]],
    options: Options = DEFAULT,
    *,
    keep: float | None = None,
    report: Callable[[slice, list[Outcome]], None] | None = None,
) -> list[Outcome]:
    """Learn from batch after batch, all networks side by side, each from recordings of its own.

    Parameters
    ----------
    learners : sequence of Learner
        Networks of one shape, and their recordings; parameters change in place.
    parts : sequence of slices
        The batches.
    rules : sequence of sequences of Rule
        One per network and batch.
    options : Options
        How to compute.
    keep : float, optional
        Thresholds compete only while the running share of events kept is above this.
    report : callable, optional
        Called with recordings that have been learned from, and what came of them, one outcome per network.

    Returns
    -------
    list of Outcome
        One per network.
    """
    several = [learner.parameters for learner in learners]
    card = card_of(learners[0].stages, len(learners), options.deterministic)
    card.upload(several)
    table = rates([learner.stages for learner in learners], rules)
    share: Array | None = np.array([learner.kept for learner in learners])
    outcomes: list[list[Outcome]] = []
    done = first = 0
    with card.stream:
        recordings, label = [learner.recordings for learner in learners], [learner.label for learner in learners]
        for events, here in cudaevents.stretches(recordings, label, parts):
            if learners[0].moved is not None:
                events = _moved(events, learners, first)
            for some in reported_parts(here, events.counts[0]) if report else [here]:
                begin = some[0].start
                cut = events.cut(slice(begin, some[-1].stop))
                local = [slice(part.start - begin, part.stop - begin) for part in some]
                order = card.learn(cut, local, table[done : done + len(some)], share, keep)
                counted = card.counted(order)
                outcomes.append([Outcome(cut.counts[n], *counted.of(n)) for n in range(len(learners))])
                if report:
                    report(slice(first, first + cut.label.shape[1]), outcomes[-1])
                share, done, first = None, done + len(some), first + cut.label.shape[1]
    card.download(several)
    return [Outcome.joined(of) for of in zip(*outcomes, strict=True)]


def _moved(events: cudaevents.Events, learners: Sequence[Learner], first: int) -> cudaevents.Events:
    """Recordings from this one on at the places where the network sees them in this pass (moving.cu)."""
    if len(learners) > 1:
        raise SettingError("Recordings can only be moved for one network at a time.")
    (learner,), ((start,), (stop,)) = learners, (events.start, events.stop)
    assert learner.moved is not None
    by = np.ascontiguousarray(learner.moved[first : first + len(start)], dtype=np.int32)
    where, out = [cp.asarray(of.astype(np.int64)) for of in (start, stop)], cp.empty(len(events.entry), np.int32)
    seen = learner.recordings
    kernel = launch.compiled(moving.source(seen.field, learner.pooled, seen.polarities)).get_function("moved")
    kernel((len(start),), (moving.THREADS,), (events.entry.astype(np.int32, copy=False), *where, cp.asarray(by), out))
    return replace(events, entry=out)


def reported_parts(parts: Sequence[slice], counts: Array) -> list[list[slice]]:
    """Parts in groups of enough events, after each of which progress is reported; counts: events per recording."""
    groups: list[list[slice]] = [[]]
    events = 0
    for part in parts:
        if events >= _REPORT_AFTER:
            groups.append([])
            events = 0
        groups[-1].append(part)
        events += int(counts[part].sum())
    return groups


# ---------------------------------------------------------------------- networks on the card


@lru_cache(maxsize=4)
def card_of(stages: Stages, networks: int, deterministic: bool) -> Card:
    """The card that networks of this shape run on; the latest few are kept."""
    return Card(stages, networks, deterministic)


@lru_cache(maxsize=1)
def resting_stream() -> Any:
    """What layers that rest run on."""
    return cp.cuda.Stream(non_blocking=True)


def _ready(stages: Stages, parameters: Parameters, options: Options) -> Card:
    """The network on the card."""
    card = card_of(stages, 1, options.deterministic)
    card.upload([parameters])
    return card


def _still(stages: Stages, options: Options) -> Any:
    """Rates of a network that learns nothing; evidence, where it is asked for, is summed at their temperature."""
    return rates([stages], [[Rule(temperature=options.temperature) if options.temperature > 0 else Rule()]])


def _outcome(events: cudaevents.Events, counted: Counted, trace: Trace | None = None) -> Outcome:
    """What one network output."""
    evidence = None if counted.evidence is None else counted.evidence[0]
    return Outcome(events.counts[0], *counted.of(0), trace, evidence)
