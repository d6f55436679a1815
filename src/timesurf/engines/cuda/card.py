"""Networks on the card, one or many of one shape side by side: arrays, work space, and how kernels are started."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import cupy as cp
import numpy as np

from timesurf.engines.cuda import blocks as cudablocks
from timesurf.engines.cuda.blocks import Blocks, blocks
from timesurf.engines.cuda.deep import LAST_WARPS, Deep, deep
from timesurf.engines.cuda.events import Events
from timesurf.engines.cuda.general import WARPS, plan, row
from timesurf.engines.data import Array, Parameters
from timesurf.errors import MissingEngineError
from timesurf.layers import Stage
from timesurf.rule import Rule

Stages = tuple[Stage, ...]
Launches = list[partial[None]]
GROUPS = (8, 4, 2, 1)  # warps that may share a recording
_BLOCKS = 5  # of the general path, a multiprocessor
_SEGMENT = 1024  # events of a recording that a warp takes at a time, on the path layer by layer
_UPDATE_BLOCKS, _UPDATE_THREADS = 256, 256  # as in card.cu
_POINTER, _INT, _LONG, _FLOAT = np.uint64, np.int32, np.int64, np.float32
RATES = np.dtype(
    [*((name, _FLOAT) for name in ("fade", "feedback", "alpha", "beta", "gamma", "delta", "d")), ("flags", _INT)]
)
_LAYER_NAMES = ("c64", "th64", "c", "th", "cc", "dc", "dg", "dth", "frozen", "step")
_LAYER = np.dtype([(name, _POINTER) for name in _LAYER_NAMES])
_COMPETITION, _CENTRE = 1, 2


@lru_cache(maxsize=16)
def _args(layers: int) -> np.dtype[Any]:
    """Struct Args of card.cu."""
    pointers = (
        "entry", "t", "start", "stop", "label", "bounds", "events", "rates", "batch", "next",
        ("networks", _INT), ("recordings", _INT), "kept", "votes", "output", "share", ("keep", _FLOAT),
        "scratch", "log", "log_unit", ("log_stride", _LONG), "winner", "passed", "distance", "S", "trace_at",
        "surfaces", "row", ("surface_layer", _INT), "map", "base", "gain", "fired",
        ("chunk", _INT), ("segment", _INT), "list", "listed", "lines", "judged", "apart", "partial", "done",
    )  # fmt: skip
    fields = [(field, _POINTER) if isinstance(field, str) else field for field in pointers]
    return np.dtype([*fields, ("layer", _LAYER, (layers,))], align=True)


class Card:
    """Networks of one shape on the card. Between calls the arrays stay, so that work can be started over and over."""

    def __init__(self, stages: Stages, networks: int, deterministic: bool) -> None:
        self.stages, self.networks, self.deterministic = stages, networks, deterministic
        self.plan = plan(stages, deterministic)
        self.stream = cp.cuda.Stream(non_blocking=True)
        self.began, self.ended = cp.cuda.Event(), cp.cuda.Event()
        self.room: dict[str, Any] = {}
        self.graphs: dict[tuple[Any, ...], Any] = {}
        self.open = True  # nothing stops in the last layer
        total = np.int64 if deterministic else _FLOAT
        self.layers: list[dict[str, Any]] = []
        with self.stream:
            for stage, step in zip(stages, self.plan.steps, strict=True):
                wide, flat = (networks, math.prod(stage.surface_shape), row(stage)), (networks, stage.units)
                self.layers.append(
                    {
                        "c64": cp.zeros(wide), "c": cp.zeros(wide, _FLOAT), "cc": cp.zeros(flat, _FLOAT),
                        "th64": cp.zeros(flat), "th": cp.zeros(flat, _FLOAT), "frozen": cp.zeros(flat, np.bool_),
                        "dc": cp.zeros(wide, total), "dg": cp.zeros(flat, total), "dth": cp.zeros(flat, total),
                        "step": cp.asarray(step),
                    }
                )  # fmt: skip

    def upload(self, networks: Sequence[Parameters]) -> None:
        """Take centroids and thresholds over."""
        self.open = all(np.isinf(parameters[-1].thresholds).all() for parameters in networks)
        with self.stream:
            for k, (stage, layer) in enumerate(zip(self.stages, self.layers, strict=True)):
                for n, parameters in enumerate(networks):
                    c = parameters[k].centroids.reshape(stage.units, -1).T
                    layer["c64"][n, :, : stage.units] = cp.asarray(np.ascontiguousarray(c))
                    layer["th64"][n] = cp.asarray(parameters[k].thresholds)
                    layer["frozen"][n] = cp.asarray(parameters[k].frozen)
                layer["c"][:] = layer["c64"]
                layer["th"][:] = layer["th64"]
                layer["cc"][:] = (layer["c"][:, :, : stage.units].astype(np.float64) ** 2).sum(axis=1)
                for name in ("dc", "dg", "dth"):
                    layer[name].fill(0)

    def download(self, networks: Sequence[Parameters]) -> None:
        """Bring centroids and thresholds back; frozen units keep every bit."""
        with self.stream:
            for k, (stage, layer) in enumerate(zip(self.stages, self.layers, strict=True)):
                every, thresholds = layer["c64"].get(), layer["th64"].get()
                for n, parameters in enumerate(networks):
                    free = ~parameters[k].frozen
                    c = every[n, :, : stage.units].T.reshape(stage.units, *stage.surface_shape)
                    parameters[k].centroids[free] = c[free]
                    parameters[k].thresholds[free] = thresholds[n][free]

    # ------------------------------------------------------------------ work

    def infer(self, events: Events, rates: Array) -> tuple[Array, Array]:
        """Events kept, (network, recording, layer), and votes, (network, recording, unit)."""
        with self.stream:
            every = [slice(0, events.label.shape[1])]
            order = self._send(events, every, rates)
            self._start("infer", events, every)
            return self._counted(order)

    def learn(
        self, events: Events, parts: Sequence[slice], rates: Array, share: Array | None, keep: float | None
    ) -> Array:
        """Learn from the parts, one after another. The order in which recordings are counted, for `counted`."""
        with self.stream:
            order = self._send(events, parts, rates)
            if share is not None:
                self._put("share", share.astype(_FLOAT))
            self._start("train", events, parts, keep)
        return order

    def sums(self, events: Events, rates: Array) -> tuple[Array, list[tuple[Array, Array, Array]]]:
        """What every network sums over all recordings, without a step; the order, as `learn` gives it.

        Of each layer: sums of gain x surface (network, entry, unit), of gain and of threshold steps (network, unit).
        """
        with self.stream:
            every = [slice(0, events.label.shape[1])]
            order = self._send(events, every, rates)
            self._start("train", events, every, step=False)
            unit = 2.0**-40 if self.deterministic else 1.0  # as in card.cu
            found = []
            for stage, layer in zip(self.stages, self.layers, strict=True):
                c, g, th = (unit * layer[name].get().astype(np.float64) for name in ("dc", "dg", "dth"))
                found.append((c[..., : stage.units], g, th))
        return order, found

    def counted(self, order: Array) -> tuple[Array, Array]:
        """What `learn` or `sums` counted, as `infer` gives it."""
        with self.stream:
            return self._counted(order)

    def trace(self, events: Events, rates: Array, surfaces: tuple[Any, Any, int] | None = None) -> dict[str, Array]:
        """What happened to every event of one network, by name as in `Trace`; with kept and votes."""
        every = [slice(0, events.label.shape[1])]
        total, layers = int(events.counts.sum()), len(self.stages)
        with self.stream:
            order = self._send(events, every, rates, longest_first=False)
            found = {
                "winner": cp.full((total, layers), -1, _INT), "passed": cp.zeros(total, _INT),
                "distance": cp.full((total, layers), np.nan, _FLOAT), "S": cp.full((total, layers), np.nan, _FLOAT),
                "trace_at": cp.asarray(np.concatenate([[0], np.cumsum(events.counts)])[:-1].astype(_LONG)),
            }  # fmt: skip
            extra = {name: array.data.ptr for name, array in found.items()}
            if surfaces:
                rows, at, layer = surfaces
                extra |= {"surfaces": rows.data.ptr, "row": at.data.ptr, "surface_layer": layer}
            self._start("trace", events, every, extra=extra)
            kept, votes = self._counted(order)
            return {name: array.get() for name, array in found.items()} | {"kept": kept[0], "votes": votes[0]}

    def seconds(self) -> float:
        """How long the card worked when it was last started."""
        self.ended.synchronize()
        return float(cp.cuda.get_elapsed_time(self.began, self.ended) / 1e3)

    def _send(self, events: Events, parts: Sequence[slice], rates: Array, *, longest_first: bool = True) -> Array:
        """Recordings of every part, the longest first so that none is left over in the end; rates; counters."""
        counts = events.counts
        order = np.broadcast_to(np.arange(counts.shape[1]), counts.shape)
        if longest_first:
            part_of = np.repeat(np.arange(len(parts)), [counts[0, part].size for part in parts])
            order = np.stack([np.lexsort((-of, part_of)) for of in counts])
        for name, values, dtype in (
            ("start", events.start, _LONG), ("stop", events.stop, _LONG), ("label", events.label, _INT)
        ):  # fmt: skip
            self._put(name, np.take_along_axis(values, order, axis=1).astype(dtype))
        self._put("bounds", np.array([0, *(min(part.stop, counts.shape[1]) for part in parts)], _INT))
        self._put("events", np.array([counts[:, part].sum(axis=1) for part in parts], _FLOAT))
        self._put("rates", rates.reshape(-1).view(_FLOAT))
        for name, size in (("batch", 1), ("next", 2 * len(self.stages) * self.networks), ("output", self.networks)):
            self._zeros(name, size, _INT)
        self._zeros("kept", counts.size * len(self.stages), _INT)
        self._zeros("votes", counts.size * self.stages[-1].units, _INT)
        if "share" not in self.room:
            self._put("share", np.ones(self.networks, _FLOAT))
        return order

    def _counted(self, order: Array) -> tuple[Array, Array]:
        found = []
        for name, columns in (("kept", len(self.stages)), ("votes", self.stages[-1].units)):
            values = self.room[name][: order.size * columns].get().reshape(*order.shape, columns)
            as_given = np.empty(values.shape, np.int64)
            np.put_along_axis(as_given, order[..., None], values, axis=1)
            found.append(as_given)
        return found[0], found[1]

    def _start(
        self,
        kind: str,
        events: Events,
        parts: Sequence[slice],
        keep: float | None = None,
        extra: dict[str, int] | None = None,
        *,
        step: bool = True,
    ) -> None:
        """Start the kernels: once, or for training batch after batch with a step after each, as one CUDA graph."""
        counts = events.counts
        if not counts.size:
            return
        largest = max(counts[0, part].size for part in parts)
        path = None if kind == "trace" else self._path(kind, events, largest)
        longest = (int(counts.max()) + 63) // 32 * 32
        args = np.zeros((), _args(len(self.stages)))
        module = _compiled(path.source if path else self.plan.source)
        if isinstance(path, Deep):
            launches = self._layer_by_layer(path, module, args, kind, largest, longest)
        elif path:
            launches = self._by_blocks(path, module, args, kind, largest, longest)
        else:
            launches = self._generally(module, args, kind, largest, longest)
        self._zeros("done", self.networks * len(self.stages) + 1, _INT)
        widest = max(map(row, self.stages))
        self._space("partial", 2 * self.networks * len(self.stages) * _UPDATE_BLOCKS * widest)
        for name, array in self.room.items():
            args[name] = array.data.ptr
        args["entry"], args["t"] = events.entry.data.ptr, events.t.data.ptr
        args["networks"], args["recordings"], args["log_stride"] = self.networks, counts.shape[1], longest
        args["keep"] = -1 if keep is None else keep
        for name, value in (extra or {}).items():
            args[name] = value
        for k, layer in enumerate(self.layers):
            for name in _LAYER_NAMES:
                args["layer"][k][name] = layer[name].data.ptr
        if kind != "train" or not step:
            self.began.record()
            for launch in launches:
                launch()
            self.ended.record()
            return
        key = (module, len(parts), *(launch.args[:2] for launch in launches), args.tobytes())
        if key not in self.graphs:
            update = module.get_function("update")
            updates = (_UPDATE_BLOCKS, len(self.stages), self.networks)
            if len(self.graphs) > 3:
                self.graphs.clear()
            self.stream.begin_capture()
            for _ in parts:
                for launch in launches:
                    launch()
                update(updates, (_UPDATE_THREADS,), (args,))
            self.graphs[key] = self.stream.end_capture()
        self.began.record()
        self.graphs[key].launch(self.stream)
        self.ended.record()

    def _by_blocks(self, path: Blocks, module: Any, args: Array, kind: str, largest: int, longest: int) -> Launches:
        groups = path.warps // self._group(kind, largest)
        width = max(1, min(-(-largest // groups), _multiprocessors() // self.networks))
        slots = width * groups * self.networks
        entries = math.prod(self.stages[1].surface_shape)
        self._check_memory(slots * (4 * entries + (12 * longest if kind == "train" else 0)))
        self._clocks(slots, entries)
        if kind == "train":
            self._space("gain", slots * longest * 2)
            self._space("fired", slots * longest)
        return [_launch(module, "blocks", (width, self.networks), 32 * path.warps, path.memory, args)]

    def _generally(self, module: Any, args: Array, kind: str, largest: int, longest: int) -> Launches:
        wide = max(sum(self.plan.wide), 1) if kind == "train" else 0
        words = self.plan.traced if kind == "trace" else self.plan.scratch
        slot_bytes = 4 * words + 20 * wide * longest
        fit = int(0.5 * self._free() / (slot_bytes * WARPS * self.networks))
        if fit < 1:
            self._check_memory(2 * slot_bytes * WARPS * self.networks)
        width = max(1, min(-(-largest // WARPS), _multiprocessors() * _BLOCKS // self.networks, fit))
        slots = width * WARPS * self.networks
        self._space("scratch", slots * words)
        self._space("log", slots * wide * longest * 4)
        self._space("log_unit", slots * wide * longest)
        memory = self.plan.memory(learn=kind == "train")
        # The less shared memory is set aside, the more of centroids and maps the cache holds.
        beside = -(-width * self.networks // _multiprocessors())
        module.get_function(kind).preferred_shared_memory_carveout = min(
            100, 100 * beside * (memory + 2048) // _shared_memory() + 1
        )
        return [_launch(module, kind, (width, self.networks), 32 * WARPS, memory, args)]

    def _layer_by_layer(self, path: Deep, module: Any, args: Array, kind: str, largest: int, longest: int) -> Launches:
        """Every layer over a chunk of the recordings, as many as there is memory to write out what it finds."""
        top, learn, networks = len(self.stages) - 1, kind == "train", self.networks
        segments = -(-longest // _SEGMENT)
        words = 2 * top + (path.line // 2 + 3 * top + 4 + top - 2 if learn else 0)  # an event
        fit = int(0.5 * self._free() / (4 * words * longest * networks))
        if fit < 1:
            self._check_memory(8 * words * longest * networks)
        chunks = -(-largest // fit)
        chunk = -(-largest // chunks)
        events = chunk * networks * longest
        for name, size in (("list", 2 * top * events), ("listed", top * chunk * networks * segments)):
            self._space(name, size)
        if learn:
            self._space("lines", path.line * events, np.float16)
            for name, size in (("judged", 2 * top), ("fired", top), ("log", 4), ("apart", top - 2)):
                self._space(name, size * events)
        width = {
            kernel: max(1, min(-(-chunk * segments // (kernel.threads // 32)), _multiprocessors() // networks))
            for kernel in path.layers
        }
        width[path.last] = max(1, min(-(-chunk // LAST_WARPS), path.last.beside * _multiprocessors() // networks))
        for kernel in path.learn:
            width[kernel] = max(1, min(chunk * segments, kernel.beside * _multiprocessors() // networks))
            module.get_function(kernel.name).preferred_shared_memory_carveout = 100
        self._space(
            "scratch", max(width[kernel] * kernel.threads // 32 for kernel in path.layers) * networks * path.rows
        )
        self._clocks(width[path.last] * LAST_WARPS * networks, path.map)
        args["chunk"], args["segment"] = chunk, _SEGMENT
        counters = self.room["next"]
        launches = []
        for at in range(chunks):
            launches.append(
                partial(cp.cuda.runtime.memsetAsync, counters.data.ptr, 0, counters.nbytes, self.stream.ptr)
            )
            for kernel in (*path.layers, path.last, *path.learn):
                grid = (width[kernel], networks)
                launches.append(_launch(module, kernel.name, grid, kernel.threads, kernel.memory, args, np.int32(at)))
        return launches

    def _clocks(self, slots: int, words: int) -> None:
        """Maps whose clock goes on from recording to recording, so that they need not be cleared."""
        if slots > len(self.room.get("base", ())):
            self.room["map"], self.room["base"] = cp.full(slots * words, -1, _INT), cp.zeros(slots, _INT)

    def _path(self, kind: str, events: Events, largest: int) -> Blocks | Deep | None:
        """By blocks of events or layer by layer, where one of them covers the network; None: the general path."""
        device = cp.cuda.Device()
        if not self.open or events.span >= cudablocks.LONGEST or int(device.compute_capability) < 80:
            return None
        learn, shared, deterministic = kind == "train", _shared_memory(), self.deterministic
        group = self._group(kind, largest)
        return blocks(self.stages, learn=learn, group=group, shared=shared, deterministic=deterministic) or deep(
            self.stages, learn=learn, shared=shared, deterministic=deterministic
        )

    def _group(self, kind: str, largest: int) -> int:
        """Warps that share a recording: as many as leave each of them two recordings; measured from 128 to 8,192.

        Sums within a recording are made warp by warp, so where bits must not change neither must this.
        """
        if GROUP is not None:
            return GROUP
        warps = _multiprocessors() * (8 if kind == "train" else 12)
        side_by_side = 1 if self.deterministic else self.networks
        return next(group for group in GROUPS if group == 1 or largest * side_by_side * group <= 2 * warps)

    # ------------------------------------------------------------------ memory

    def _put(self, name: str, values: Array) -> None:
        """Send an array into its room, which grows as it must and else stays where it is."""
        self._space(name, values.size, values.dtype)
        self.room[name][: values.size].set(np.ascontiguousarray(values).reshape(-1), stream=self.stream)

    def _zeros(self, name: str, size: int, dtype: Any) -> None:
        self._space(name, size, dtype)
        self.room[name][:size].fill(0)

    def _space(self, name: str, size: int, dtype: Any = _FLOAT) -> None:
        if name not in self.room or len(self.room[name]) < size:
            self.room.pop(name, None)
            self.room[name] = cp.empty(max(size, 1), dtype)

    def _free(self) -> int:
        own = sum(array.nbytes for array in self.room.values())
        return int(cp.cuda.Device().mem_info[0] + cp.get_default_memory_pool().free_bytes() + own)

    def _check_memory(self, need: int) -> None:
        if need > self._free():
            raise MissingEngineError(
                f"This network needs {need / 1e9:.1f} GB of the card's memory to work in, {self._free() / 1e9:.1f} GB "
                "are free: run fewer networks at a time, cut long recordings, or use engine='cpu'."
            )


GROUP: int | None = None  # warps that share a recording, instead of what the number of recordings suggests


def rates(networks: Sequence[Stages], rules: Sequence[Sequence[Rule]]) -> Array:
    """Rates of every batch, network and layer; rules: one a network, each one a batch.

    Time constants are a network's own: all that networks side by side must share is their shape.
    """
    table = np.zeros((len(rules[0]), len(networks), len(networks[0])), RATES)
    for n, (stages, own) in enumerate(zip(networks, rules, strict=True)):
        per_layer = np.array([rule.per_layer(len(stages)) for rule in own])
        for column, name in enumerate(("alpha", "beta", "gamma", "delta")):
            table[name][:, n] = per_layer[..., column]
        table["d"][:, n] = math.log2(math.e) / per_layer[..., 4]
        table["fade"][:, n] = [math.log2(math.e) / stage.tau for stage in stages]
        table["feedback"][:, n] = [math.log2(math.e) / stage.feedback_tau for stage in stages]
        flags = [_COMPETITION * rule.competition + _CENTRE * (rule.kernel == "centre") for rule in own]
        table["flags"][:, n] = np.array(flags)[:, None]
    return table


def _launch(
    module: Any, name: str, grid: tuple[int, int], threads: int, memory: int, args: Array, *more: Any
) -> partial[None]:
    kernel = module.get_function(name)
    kernel.max_dynamic_shared_size_bytes = max(memory, 1)
    return partial(kernel, grid, (threads,), (args, *more), shared_mem=memory)


@lru_cache(maxsize=1)
def _multiprocessors() -> int:
    return int(cp.cuda.Device().attributes["MultiProcessorCount"])


@lru_cache(maxsize=1)
def _shared_memory() -> int:
    return int(cp.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"])


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
