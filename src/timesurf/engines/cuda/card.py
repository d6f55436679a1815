"""Networks on the card, one or many of one shape side by side: their parameters, and what is run on them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import cupy as cp
import numpy as np

from timesurf.engines.cuda import abi, launch, paths
from timesurf.engines.cuda.events import Events, longest_first
from timesurf.engines.cuda.general import plan, row
from timesurf.engines.cuda.memory import Memory
from timesurf.engines.cuda.rates import by_delta
from timesurf.engines.cuda.work import Kind, Setup, Work
from timesurf.engines.data import Array, Parameters
from timesurf.layers import Stage

Stages = tuple[Stage, ...]
_INT, _LONG, _FLOAT = np.int32, np.int64, np.float32


class Counted(NamedTuple):
    """What networks output, per recording in the order in which recordings were given."""

    kept: Array  # (networks, recordings, layers) events that each layer let pass
    votes: Array  # (networks, recordings, classes) output events
    evidence: Array | None = None  # (networks, recordings, classes) as in `Outcome`, where it was asked for

    def of(self, network: int) -> tuple[Array, Array]:
        """Kept and votes of one network."""
        return self.kept[network], self.votes[network]


class Card:
    """Networks of one shape on the card. Arrays stay between calls, so that work can be started over and over.

    Parameters
    ----------
    stages : tuple of Stage
        Their shape.
    networks : int
        How many run side by side.
    deterministic : bool
        Whether sums are made in fixed point, to the same bits in every run.
    """

    def __init__(self, stages: Stages, networks: int, deterministic: bool) -> None:
        self.stages, self.networks, self.deterministic = stages, networks, deterministic
        self.stream = cp.cuda.Stream(non_blocking=True)
        self._memory, self._starter = Memory(self.stream), launch.Starter(self.stream)
        self._open = True  # whether nothing stops in the last layer
        total = abi.sum_type(deterministic)
        self._layers: list[dict[str, Any]] = []
        with self.stream:
            for stage, step in zip(stages, plan(stages, deterministic).steps, strict=True):
                wide, flat = (networks, math.prod(stage.surface_shape), row(stage)), (networks, stage.units)
                self._layers.append(
                    {
                        "c64": cp.zeros(wide), "c": cp.zeros(wide, _FLOAT), "cc": cp.zeros(flat, _FLOAT),
                        "th64": cp.zeros(flat), "th": cp.zeros(flat, _FLOAT), "frozen": cp.zeros(flat, np.bool_),
                        "dc": cp.zeros(wide, total), "dg": cp.zeros(flat, total), "dth": cp.zeros(flat, total),
                        "step": cp.asarray(step),
                    }
                )  # fmt: skip

    # ------------------------------------------------------------------ parameters

    def upload(self, networks: Sequence[Parameters]) -> None:
        """Copy centroids and thresholds to the card."""
        self._open = all(np.isinf(parameters[-1].thresholds).all() for parameters in networks)
        with self.stream:
            for k, (stage, layer) in enumerate(zip(self.stages, self._layers, strict=True)):
                for n, parameters in enumerate(networks):
                    layer["c64"][n, :, : stage.units] = cp.asarray(parameters[k].centroids).reshape(stage.units, -1).T
                    layer["th64"][n] = cp.asarray(parameters[k].thresholds)
                    layer["frozen"][n] = cp.asarray(parameters[k].frozen)
                layer["c"][:] = layer["c64"]
                layer["th"][:] = layer["th64"]
                layer["cc"][:] = (layer["c"][:, :, : stage.units].astype(np.float64) ** 2).sum(axis=1)
                for name in ("dc", "dg", "dth"):
                    layer[name].fill(0)

    def download(self, networks: Sequence[Parameters]) -> None:
        """Copy centroids and thresholds back; those of frozen units keep every bit."""
        with self.stream:
            for k, (stage, layer) in enumerate(zip(self.stages, self._layers, strict=True)):
                thresholds = layer["th64"].get()
                for n, parameters in enumerate(networks):
                    units, free = parameters[k], ~parameters[k].frozen
                    rows = cp.ascontiguousarray(layer["c64"][n, :, : stage.units].T)
                    c = self._memory.fetched(rows).reshape(units.centroids.shape)
                    if free.all():
                        units.centroids[...] = c
                    else:
                        units.centroids[free] = c[free]
                    units.thresholds[free] = thresholds[n][free]

    # ------------------------------------------------------------------ work

    def infer(self, events: Events, rates: Array, *, evidence: bool = False) -> Counted:
        """Run the recordings; learn nothing. With evidence, sum it at the temperature of the rates."""
        with self.stream:
            every = [slice(0, events.label.shape[1])]
            order = self._send(events, every, rates, evidence=evidence)
            self._start("infer", events, every, evidence=evidence)
            return self._counted(order, evidence=evidence)

    def learn(
        self, events: Events, parts: Sequence[slice], rates: Array, share: Array | None, keep: float | None
    ) -> Array:
        """Learn from the parts, one after another.

        Parameters
        ----------
        events : Events
            Recordings on the card.
        parts : sequence of slices
            Their batches.
        rates : array
            As `rates.rates` makes them, one row per batch.
        share : array or None
            Running share of events kept, per network; None: go on with what the card has.
        keep : float or None
            Thresholds compete only while that share is above this; None: always.

        Returns
        -------
        array
            The order in which recordings are counted, for `counted`.
        """
        with self.stream:
            order = self._send(events, parts, rates)
            if share is not None:
                self._memory.put("share", share.astype(_FLOAT))
            self._start("train", events, parts, {} if keep is None else {"keep": keep}, delta=by_delta(rates))
        return order

    def sums(self, events: Events, rates: Array) -> tuple[Array, list[tuple[Array, Array, Array]]]:
        """What every network sums over all recordings, without a step.

        Returns
        -------
        order : array
            As `learn` gives it.
        sums : list of tuples
            Per layer: sums of gain x surface (network, entry, unit), of gain and of threshold steps (network, unit).
        """
        with self.stream:
            every = [slice(0, events.label.shape[1])]
            order = self._send(events, every, rates)
            self._start("train", events, every, step=False, delta=by_delta(rates))
            unit = 1 / abi.FIXED if self.deterministic else 1.0
            found = []
            for stage, layer in zip(self.stages, self._layers, strict=True):
                c, g, th = (unit * layer[name].get().astype(np.float64) for name in ("dc", "dg", "dth"))
                found.append((c[..., : stage.units], g, th))
        return order, found

    def counted(self, order: Array) -> Counted:
        """What `learn` or `sums` counted, as `infer` gives it, without evidence."""
        with self.stream:
            return self._counted(order)

    def trace(
        self,
        events: Events,
        rates: Array,
        surfaces: tuple[Any, Any, int] | None = None,
        *,
        evidence: bool = False,
    ) -> tuple[Counted, dict[str, Array]]:
        """What `infer` counts, and what happened to every event of one network, by name as in `Trace`.

        Parameters
        ----------
        events : Events
            Recordings on the card.
        rates : array
            As `rates.rates` makes them.
        surfaces : (array, array, int) or None
            Where to write surfaces to, the row of each event there, and of which layer.
        evidence : bool
            Whether to sum it.
        """
        every = [slice(0, events.label.shape[1])]
        total, layers = int(events.counts.sum()), len(self.stages)
        with self.stream:
            order = self._send(events, every, rates, by_length=False, evidence=evidence)
            found = {
                "winner": cp.full((total, layers), -1, _INT), "passed": cp.zeros(total, _INT),
                "distance": cp.full((total, layers), np.nan, _FLOAT), "S": cp.full((total, layers), np.nan, _FLOAT),
                "trace_at": cp.asarray(np.concatenate([[0], np.cumsum(events.counts)])[:-1].astype(_LONG)),
            }  # fmt: skip
            values: dict[str, float] = {name: array.data.ptr for name, array in found.items()}
            if surfaces:
                rows, at, layer = surfaces
                values |= {"surfaces": rows.data.ptr, "row": at.data.ptr, "surface_layer": layer}
            self._start("trace", events, every, values, evidence=evidence)
            return self._counted(order, evidence=evidence), {name: array.get() for name, array in found.items()}

    def seconds(self) -> float:
        """How long the card worked when it was last started."""
        return self._starter.seconds()

    # ------------------------------------------------------------------ steps of it

    def _send(
        self,
        events: Events,
        parts: Sequence[slice],
        rates: Array,
        *,
        by_length: bool = True,
        evidence: bool = False,
    ) -> Array:
        """Recordings of every part, the longest first so that no long one is left over at the end; rates; counters."""
        counts, memory = events.counts, self._memory
        networks, n = counts.shape
        order = longest_first(counts, parts) if by_length else np.broadcast_to(np.arange(n), counts.shape)
        for name, values, dtype in (
            ("start", events.start, _LONG), ("stop", events.stop, _LONG), ("label", events.label, _INT)
        ):  # fmt: skip
            memory.put(
                name, np.stack([of[chosen] for of, chosen in zip(values, order, strict=True)]).astype(dtype, copy=False)
            )
        bounds = np.array([0, *(min(part.stop, n) for part in parts)], _INT)
        before = np.concatenate([np.zeros((networks, 1), _LONG), np.cumsum(counts, axis=1)], axis=1)
        memory.put("bounds", bounds)
        memory.put("events", np.diff(before[:, bounds], axis=1).T.astype(_FLOAT))
        memory.put("rates", rates.reshape(-1).view(_FLOAT))
        for name, size in (("batch", 1), ("next", 2 * len(self.stages) * self.networks), ("output", self.networks)):
            memory.zeros(name, size, _INT)
        memory.zeros("kept", counts.size * len(self.stages), _INT)
        memory.zeros("votes", counts.size * self.stages[-1].classes, _INT)
        if evidence:
            memory.zeros("evidence", counts.size * self.stages[-1].classes, np.float64)
        if "share" not in memory:
            memory.put("share", np.ones(self.networks, _FLOAT))
        return order

    def _counted(self, order: Array, *, evidence: bool = False) -> Counted:
        """What was counted, in the order in which the recordings were given."""
        classes = self.stages[-1].classes
        where, found = cp.asarray(order + np.arange(len(order))[:, None] * order.shape[1]).reshape(-1), []
        for name, columns, dtype in (
            ("kept", len(self.stages), _LONG), ("votes", classes, _LONG), ("evidence", classes, np.float64)
        )[: 2 + evidence]:  # fmt: skip
            values = self._memory[name][: order.size * columns].reshape(order.size, columns)
            as_given = cp.empty(values.shape, values.dtype)
            as_given[where] = values
            found.append(self._memory.fetched(as_given).reshape(*order.shape, columns).astype(dtype))
        return Counted(*found)

    def _start(
        self,
        kind: Kind,
        events: Events,
        parts: Sequence[slice],
        values: Mapping[str, float] | None = None,
        *,
        step: bool = True,
        **asked: bool,
    ) -> None:
        """Start the kernels: once, or to learn batch after batch with a step after each; `asked` goes to `Work`."""
        if not events.counts.size:
            return
        work = self._work(kind, events, parts, asked)
        path = paths.choose(work, launch.device())
        setup = path.setup(work, launch.device(), self._memory.free())
        self._make_room(setup)
        args = self._args(work, setup, events, values or {})
        module = launch.compiled(path.source)
        kernels = launch.launches(module, setup, args, self._memory, self.stream)
        if work.learns and step:
            grid = (abi.UPDATE_BLOCKS, len(self.stages), self.networks)
            self._starter.batches(kernels, module, setup, grid, args, len(parts))
        else:
            self._starter.once(kernels)

    def _work(self, kind: Kind, events: Events, parts: Sequence[slice], asked: Mapping[str, bool]) -> Work:
        """What is to be run, as far as sizes depend on it."""
        counts = events.counts
        largest, longest = max(counts[0, part].size for part in parts), (int(counts.max()) + 63) // 32 * 32
        return Work(
            self.stages, kind, self.networks, largest, longest, events.span, self._open, self.deterministic, **asked
        )  # fmt: skip

    def _make_room(self, setup: Setup) -> None:
        """Work space of the path, and of the update."""
        layers = self.networks * len(self.stages)
        for name, (size, dtype) in setup.spaces.items():
            self._memory.space(name, size, dtype)
        if setup.clocks:
            self._memory.clocks(*setup.clocks)
        self._memory.zeros("done", layers + 1, _INT)
        self._memory.space("partial", 2 * layers * abi.UPDATE_BLOCKS * max(map(row, self.stages)))

    def _args(self, work: Work, setup: Setup, events: Events, values: Mapping[str, float]) -> Array:
        """What the kernels are given."""
        args = np.zeros((), abi.args(len(self.stages)))
        for name in self._memory:
            args[name] = self._memory[name].data.ptr
        args["entry"], args["t"] = events.entry.data.ptr, events.t.data.ptr
        args["networks"], args["recordings"], args["log_stride"] = self.networks, events.counts.shape[1], work.longest
        args["keep"] = -1  # below any share: thresholds compete always
        for name, value in {**(setup.numbers or {}), **values}.items():
            args[name] = value
        for k, layer in enumerate(self._layers):
            for name, array in layer.items():
                args["layer"][k][name] = array.data.ptr
        return args
