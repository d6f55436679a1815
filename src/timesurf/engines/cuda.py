"""The CUDA engine: inference and the batch rule on an NVIDIA GPU, through CuPy (the extra `cuda`).

Kernels are compiled for a network's sizes when it first runs, and kept on disk by CuPy. They compute in float32, on
centroids and thresholds that are kept in float64; winners differ from the reference only at near-ties, and sums of
updates by about 1e-4 (docs/gpu.md). Sums come from atomic additions in any order: with `options.deterministic` they are
made in fixed point instead, so that every run gives the same bits.

Events stay on the card from one call to the next as long as their arrays live. Online learning changes weights after
every event, so nothing in it can run side by side: it stays on the CPU.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from timesurf.engines.batch import DEFAULT, Array, Batch, Options, Outcome, Parameters, Trace
from timesurf.engines.cudaplan import WARPS, plan
from timesurf.errors import EventError, MissingEngineError, SettingError
from timesurf.events import Recordings
from timesurf.layers import Stage
from timesurf.rule import Rule

try:
    import cupy as cp
except ImportError as missing:
    raise ImportError("it needs CuPy: pip install 'timesurf[cuda]'") from missing

Stages = tuple[Stage, ...]
LONGEST = 1 << 29  # us: times on the card are 32 bits
_BLOCKS = 8  # a multiprocessor
_POINTER, _INT, _LONG, _FLOAT = np.uint64, np.int32, np.int64, np.float32
_LAYER = np.dtype(
    [(name, _POINTER) for name in ("c", "cc", "th", "step", "dc", "dg", "dth")]
    + [(name, _FLOAT) for name in ("rate", "feedback_rate", "alpha", "beta", "gamma", "delta", "d")],
    align=True,
)  # struct Layer of general.cu


def infer(
    stages: Stages, parameters: Parameters, batch: Batch, options: Options = DEFAULT, *, trace: bool = False
) -> Outcome:
    """Run the events; learn nothing."""
    events = _Events.of(batch)
    return _Card(stages, parameters, options).run("trace" if trace else "infer", events, np.arange(len(batch)))


def learn_batch(
    stages: Stages, parameters: Parameters, rule: Rule, batch: Batch, options: Options = DEFAULT
) -> Outcome:
    """Run the events with frozen parameters, sum the updates, apply them once."""
    card = _Card(stages, parameters, options)
    outcome = card.run("train", _Events.of(batch), np.arange(len(batch)), rule)
    card.update()
    card.download(parameters)
    return outcome


def learn_online(
    stages: Stages, parameters: Parameters, rule: Rule, batch: Batch, options: Options = DEFAULT
) -> Outcome:
    """Not here: say so."""
    raise SettingError(
        "Online learning changes weights after every event and stays on the CPU: use engine='cpu' or a batch_size."
    )


def learn_pass(
    stages: Stages,
    parameters: Parameters,
    recordings: Recordings,
    label: Array,
    steps: Sequence[tuple[slice, Rule]],
    options: Options = DEFAULT,
    told: Callable[[slice, Outcome], None] | None = None,
) -> Outcome:
    """Learn from batch after batch of the recordings, with everything on the card; each batch has its own rates."""
    card = _Card(stages, parameters, options)
    events, order = _Events.resident(recordings, label)
    outcomes = []
    for part, rule in steps:
        outcomes.append(card.run("train", events, order[part], rule, fetch=told is not None))
        card.update()
        if told:
            told(part, outcomes[-1])
    card.download(parameters)
    return Outcome.joined([_fetched(outcome) for outcome in outcomes])


def surfaces(stages: Stages, parameters: Parameters, batch: Batch, layer: int) -> Array:
    """Time surfaces of all events that reach a layer, one row a event."""
    below = Parameters(parameters.centroids[: layer + 1], parameters.thresholds[: layer + 1])
    card = _Card(stages[: layer + 1], below, DEFAULT)
    events, every = _Events.of(batch), np.arange(len(batch))
    trace = card.run("trace", events, every).trace
    assert trace is not None
    reached = trace.passed >= layer
    row = cp.asarray(np.cumsum(reached) - 1)
    found = cp.zeros((int(reached.sum()), *stages[layer].surface_shape), dtype=_FLOAT)
    card.run("trace", events, every, surfaces=(found, row, layer))
    rows: Array = found.get().astype(np.float64)
    return rows


@dataclass(frozen=True, slots=True)
class _Events:
    """Events on the card: places, times, where each recording begins and ends, its label."""

    entry: Any
    t: Any
    start: Any
    stop: Any
    label: Any
    counts: Array

    @classmethod
    def of(cls, batch: Batch) -> _Events:
        """A batch, sent over."""
        if len(batch.t) and int(batch.t.max()) >= LONGEST:
            raise EventError(f"A recording lasts over {LONGEST / 6e7:.0f} minutes, too long for the card: cut it.")
        offsets = batch.offsets.astype(_LONG)
        return cls(
            cp.asarray(batch.entry.astype(_INT, copy=False)), cp.asarray(batch.t.astype(_INT, copy=False)),
            cp.asarray(offsets[:-1]), cp.asarray(offsets[1:]), cp.asarray(batch.label.astype(_INT)), np.diff(offsets),
        )  # fmt: skip

    @classmethod
    def resident(cls, recordings: Recordings, label: Array) -> tuple[_Events, Array]:
        """Events of all arrays that the recordings are cut from, kept on the card; and the recordings' numbers."""
        entry, t = _kept(recordings)
        about = [np.ascontiguousarray(a, dtype=_LONG) for a in (recordings.starts, recordings.stops)]
        events = cls(entry, t, *map(cp.asarray, about), cp.asarray(label.astype(_INT)), recordings.counts)
        return events, np.arange(len(recordings))


_on_card: dict[int, tuple[Any, Any]] = {}


def _kept(recordings: Recordings) -> tuple[Any, Any]:
    key = id(recordings.source)
    if key not in _on_card:
        base = recordings.whole
        t = base.t
        first, last = (int(t.min()), int(t.max())) if len(t) else (0, 0)
        if last - first >= LONGEST:
            raise EventError(f"Times span over {LONGEST / 6e7:.0f} minutes, too long for the card: cut the recordings.")
        need, free = 8 * len(t), cp.cuda.Device().mem_info[0]
        if need > 0.8 * free:
            raise MissingEngineError(
                f"{len(t):,} events need {need / 1e9:.1f} GB on the card, {free / 1e9:.1f} GB are free: give fewer."
            )
        _on_card[key] = cp.asarray(base.entries().astype(_INT, copy=False)), cp.asarray((t - first).astype(_INT))
        weakref.finalize(recordings.source, _on_card.pop, key, None)
    return _on_card[key]


def _fetched(outcome: Outcome) -> Outcome:
    """Counts, brought over from the card."""
    kept, votes = (a if isinstance(a, np.ndarray) else a.get() for a in (outcome.kept, outcome.votes))
    return Outcome(outcome.events, kept.astype(np.int64), votes.astype(np.int64), outcome.trace)


class _Card:
    """A network on the card."""

    def __init__(self, stages: Stages, parameters: Parameters, options: Options) -> None:
        self.stages, self.options = stages, options
        self.plan = plan(stages, options.deterministic)
        self.module = _compiled(self.plan.source)
        total = np.int64 if options.deterministic else _FLOAT
        self.layers: list[dict[str, Any]] = []
        for stage, c, th, frozen, step in zip(
            stages, parameters.centroids, parameters.thresholds, parameters.frozen, self.plan.steps, strict=True
        ):
            c64 = cp.asarray(np.ascontiguousarray(c.reshape(stage.units, -1).T))
            c32, th64 = c64.astype(_FLOAT), cp.asarray(th)
            self.layers.append(
                {
                    "c64": c64, "c": c32, "cc": (c32.astype(np.float64) ** 2).sum(axis=0).astype(_FLOAT),
                    "th64": th64, "th": th64.astype(_FLOAT), "frozen": cp.asarray(frozen), "step": cp.asarray(step),
                    "dc": cp.zeros(c64.shape, total), "dg": cp.zeros(stage.units, total),
                    "dth": cp.zeros(stage.units, total),
                }
            )  # fmt: skip

    def run(
        self,
        kind: str,
        events: _Events,
        order: Array,
        rule: Rule | None = None,
        *,
        fetch: bool = True,
        surfaces: tuple[Any, Any, int] | None = None,
    ) -> Outcome:
        """Take the recordings through the network; kind: "infer", "trace" or "train"."""
        sizes, layers, n = self.plan, len(self.stages), len(order)
        counts = events.counts[order]
        kept, votes = cp.zeros((n, layers), _INT), cp.zeros((n, self.stages[-1].units), _INT)
        trace = kind == "trace"
        total = int(counts.sum()) if trace else 0
        winner, passed = cp.full((total, layers), -1, _INT), cp.zeros(total, _INT)
        distance, S = (cp.full((total, layers), np.nan, _FLOAT) for _ in range(2))
        trace_at = cp.asarray(np.concatenate([[0], np.cumsum(counts)])[:-1].astype(_LONG))
        longest = int(counts.max(initial=0)) + 1
        wide = max(sum(sizes.wide), 1) if kind == "train" else 0
        words = sizes.traced if trace else sizes.scratch
        slot_bytes = 4 * words + 20 * wide * longest
        multiprocessors = cp.cuda.Device().attributes["MultiProcessorCount"]
        room = int(0.5 * cp.cuda.Device().mem_info[0] / (slot_bytes * WARPS))
        blocks = min(-(-n // WARPS), multiprocessors * _BLOCKS, room)
        if blocks < 1:
            raise MissingEngineError(
                f"The card has too little memory for this network: a block needs {slot_bytes * WARPS / 1e6:.0f} MB."
            )
        slots = blocks * WARPS
        scratch = cp.empty(slots * words, _INT)
        log, log_unit = (
            cp.empty((max(slots * wide * longest, 1), 4), _FLOAT),
            cp.empty(max(slots * wide * longest, 1), _INT),
        )
        numbers, taken = cp.asarray(order.astype(_INT)), cp.zeros(1, _INT)
        rule = rule or Rule()
        args = np.zeros((), _args(layers))
        pointers = {
            "entry": events.entry, "t": events.t, "start": events.start, "stop": events.stop, "label": events.label,
            "order": numbers, "next": taken, "scratch": scratch, "log": log, "log_unit": log_unit, "kept": kept,
            "votes": votes, "winner": winner, "passed": passed, "distance": distance, "S": S, "trace_at": trace_at,
        }  # fmt: skip
        for name, array in pointers.items():
            args[name] = array.data.ptr
        args["recordings"], args["competition"], args["centre"] = n, rule.competition, rule.kernel == "centre"
        args["log_stride"] = longest
        if surfaces:
            args["surfaces"], args["row"], args["surface_layer"] = (
                surfaces[0].data.ptr,
                surfaces[1].data.ptr,
                surfaces[2],
            )
        for k, (stage, rates) in enumerate(zip(self.stages, rule.per_layer(layers), strict=True)):
            line = args["layer"][k]
            for name in ("c", "cc", "th", "step", "dc", "dg", "dth"):
                line[name] = self.layers[k][name].data.ptr
            line["rate"], line["feedback_rate"] = math.log2(math.e) / stage.tau, math.log2(math.e) / stage.feedback_tau
            line["alpha"], line["beta"], line["gamma"], line["delta"] = rates[:4]
            line["d"] = math.log2(math.e) / rates[4]
        kernel = self.module.get_function(kind)
        memory = sizes.memory(learn=kind == "train")
        kernel.max_dynamic_shared_size_bytes = max(memory, 1)
        if n:
            kernel((blocks,), (32 * WARPS,), (args,), shared_mem=memory)
        outcome = Outcome(counts, kept, votes)
        if trace:
            outcome.trace = Trace(
                winner.get(), distance.get().astype(np.float64), S.get().astype(np.float64), passed.get()
            )
        return _fetched(outcome) if fetch else outcome

    def update(self) -> None:
        """Apply what was summed up since the last time."""
        kernel = self.module.get_function("update")
        for stage, layer in zip(self.stages, self.layers, strict=True):
            names = ("c64", "c", "th64", "th", "cc", "dc", "dg", "dth", "frozen")
            kernel(
                (stage.units,), (256,),
                (*(layer[name] for name in names), np.int32(stage.units), np.int64(len(layer["c"]))),
            )  # fmt: skip

    def download(self, parameters: Parameters) -> None:
        """Bring centroids and thresholds back; frozen units keep every bit."""
        for k, (stage, layer) in enumerate(zip(self.stages, self.layers, strict=True)):
            free = ~parameters.frozen[k]
            c = layer["c64"].get().T.reshape(stage.units, *stage.surface_shape)
            parameters.centroids[k][free] = c[free]
            parameters.thresholds[k][free] = layer["th64"].get()[free]


@lru_cache(maxsize=16)
def _args(layers: int) -> np.dtype[Any]:
    """Struct Args of general.cu."""
    return np.dtype(
        [(name, _POINTER) for name in ("entry", "t", "start", "stop", "label", "order")]
        + [(name, _INT) for name in ("recordings", "competition", "centre")]
        + [(name, _POINTER) for name in ("next", "scratch", "log", "log_unit")]
        + [("log_stride", _LONG)]
        + [(name, _POINTER) for name in ("kept", "votes", "winner", "passed", "distance", "S", "trace_at")]
        + [("surfaces", _POINTER), ("row", _POINTER), ("surface_layer", _INT), ("layer", _LAYER, (layers,))],
        align=True,
    )


@lru_cache(maxsize=64)
def _compiled(source: str) -> Any:
    """The kernels for one network's sizes."""
    try:
        module = cp.RawModule(code=source, options=("-std=c++17",))
        module.compile()
    except cp.cuda.compiler.CompileException as error:
        raise MissingEngineError(f"The CUDA kernels do not compile here: {error}") from error
    except cp.cuda.runtime.CUDARuntimeError as error:
        raise MissingEngineError(f"No GPU can be used: {error}. Use engine='cpu'.") from error
    return module
