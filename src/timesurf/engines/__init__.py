"""One algorithm, several engines, one signature.

An engine is a module, or an object, with the functions of `Engine`. All take the network as `stages` (its layers in
their places), its `Parameters`, and a `Batch` of events; the two that learn change the parameters in place::

    infer(stages, parameters, batch, options, trace=False)   -> Outcome
    learn_online(stages, parameters, rule, batch, options)   -> Outcome   weights change after each event
    learn_batch(stages, parameters, rule, batch, options)    -> Outcome   weights change once, after the batch
    surfaces(stages, parameters, batch, layer)               -> array     time surfaces that reach a layer
    supports(stages, online)                                 -> text      why it cannot run a network; empty: it can

State (time contexts, feedback, previous S) starts empty at each recording.

=============  ======================================================================
engine         what it is
=============  ======================================================================
``reference``  NumPy, written straight from the equations: the oracle of every test
``cpu``        numba kernels that avoid most of the work, on all cores: the default
``cuda``       the same on an NVIDIA GPU; online learning falls back to ``cpu``
=============  ======================================================================

``"auto"`` is ``cuda`` where there is a GPU and CuPy, else ``cpu``. An engine may also be an object:
`engines.dask.workers.Workers` runs on the workers of a Dask cluster.

What only some engines can do is a protocol of its own, and callers ask for it with ``isinstance``:

==============  ===============  =====================  ============================================================
protocol        function         engines                purpose
==============  ===============  =====================  ============================================================
`TakesDataSet`  ``infer_all``    ``cuda``, `Workers`    inference over recordings whose events travel to the engine
`TakesPass`     ``learn_pass``   ``cuda``               all batches of a pass, many networks side by side
`Emits`         ``emitted``      ``cuda``               what layers emit, which stays with the engine
`TakesPart`     ``learn_part``   `Workers`              a batch of recordings, spread over machines
`TakesLanes`    ``learn_lanes``  ``cpu``, ``cuda``      parts of a batch, summed but not applied
`Clusters`      ``kmeans``       ``cuda``               k-means where the surfaces already are
==============  ===============  =====================  ============================================================

A network that an engine does not support runs on ``cpu`` instead, with one line in the log that says why: see `choose`.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from timesurf.engines.data import DEFAULT, Array, Batch, Learner, Options, Outcome, Parameters, Trace, Units, pack
from timesurf.errors import MissingEngineError, SettingError
from timesurf.events import Recordings
from timesurf.layers import Stage
from timesurf.rule import Rule

__all__ = [
    "ENGINES", "Batch", "Clusters", "Emits", "Engine", "Learner", "Options", "Outcome", "Parameters",
    "TakesDataSet", "TakesLanes", "TakesPart", "TakesPass", "Trace", "Units", "choose", "load", "pack",
]  # fmt: skip

ENGINES = {
    "cpu": "timesurf.engines.cpu.engine",
    "cuda": "timesurf.engines.cuda.engine",
    "reference": "timesurf.engines.reference",
}
_LOG = logging.getLogger("timesurf")
Stages = tuple[Stage, ...]


class Engine(Protocol):
    """What every engine offers."""

    def infer(
        self, stages: Stages, parameters: Parameters, batch: Batch, options: Options = DEFAULT, *, trace: bool = False
    ) -> Outcome:
        """Run the events; learn nothing. With trace, keep what happened to every event."""
        ...

    def learn_online(
        self, stages: Stages, parameters: Parameters, rule: Rule, batch: Batch, options: Options = DEFAULT
    ) -> Outcome:
        """Run the events and update the parameters after each."""
        ...

    def learn_batch(
        self, stages: Stages, parameters: Parameters, rule: Rule, batch: Batch, options: Options = DEFAULT
    ) -> Outcome:
        """Run the events with frozen parameters, sum the updates, apply them once."""
        ...

    def surfaces(self, stages: Stages, parameters: Parameters, batch: Batch, layer: int) -> Array:
        """Time surfaces of all events that reach a layer (0: the first), one row per event."""
        ...

    def supports(self, stages: Stages, *, online: bool = False) -> str:
        """Why this engine cannot run the network, or cannot learn online; empty where it can."""
        ...


# The signatures of these protocols stand again in the engines that have them: mypy compares the two, see below.


@runtime_checkable
class TakesDataSet(Protocol):
    """Infers over recordings; events that travel stay with the engine from call to call."""

    def infer_all(
        self, stages: Stages, parameters: Parameters, recordings: Recordings, options: Options = DEFAULT
    ) -> Outcome:
        """Run all recordings; learn nothing."""
        ...


@runtime_checkable
class Emits(Protocol):
    """Computes what layers emit in a way of its own; such events stay with the engine."""

    def emitted(
        self, stages: Stages, parameters: Parameters, recordings: Recordings, options: Options = DEFAULT
    ) -> Recordings | None:
        """The events that the last of these layers emits; None: this engine has no way of its own for them."""
        ...


@runtime_checkable
class TakesPass(Protocol):
    """Learns from all batches of a pass in one call, several networks of one shape side by side."""

    def learn_pass(
        self,
        learners: Sequence[Learner],
        parts: Sequence[slice],
        rules: Sequence[Sequence[Rule]],
        options: Options = DEFAULT,
        *,
        keep: float | None = None,
        report: Callable[[slice, list[Outcome]], None] | None = None,
    ) -> list[Outcome]:
        """Learn from batch after batch; `rules` has one per network and batch. One outcome per network."""
        ...


@runtime_checkable
class TakesPart(Protocol):
    """Spreads a batch over machines, so it takes recordings where others take packed events."""

    def learn_part(
        self,
        stages: Stages,
        parameters: Parameters,
        rule: Rule,
        recordings: Recordings,
        label: Array,
        options: Options = DEFAULT,
    ) -> Outcome:
        """The batch rule over these recordings."""
        ...


@runtime_checkable
class TakesLanes(Protocol):
    """Runs lanes of a batch and returns what nodes of their tree have summed, see `engines.cpu.lanes`."""

    def learn_lanes(
        self,
        stages: Stages,
        parameters: Parameters,
        rule: Rule,
        batch: Batch,
        options: Options,
        dealt: list[Array],
        nodes: list[tuple[int, int]],
    ) -> tuple[Outcome, list[Any]]:
        """Run lanes with frozen parameters; the sums of each of these nodes."""
        ...


@runtime_checkable
class Clusters(Protocol):
    """Has a k-means of its own."""

    def kmeans(self, points: Array, units: int, seed: int) -> Array:
        """Centroids of points, for a start."""
        ...


if TYPE_CHECKING:  # mypy holds every engine to what it says it offers
    from timesurf.engines import reference
    from timesurf.engines.cpu import engine as cpu
    from timesurf.engines.cuda import engine as cuda
    from timesurf.engines.dask.workers import Workers

    _engines: tuple[Engine, Engine, Engine, type[Workers]] = (reference, cpu, cuda, Workers)
    _sets: TakesDataSet = cuda
    _passes: TakesPass = cuda
    _emits: Emits = cuda
    _lanes: tuple[TakesLanes, TakesLanes] = (cpu, cuda)
    _clusters: Clusters = cuda

    def _workers(of: Workers) -> tuple[Engine, TakesDataSet, TakesPart]:
        return of, of, of


def load(name: str | Engine) -> Engine:
    """The engine of that name, imported on first use; an engine itself is taken as it is.

    >>> load("reference").__name__
    'timesurf.engines.reference'
    """
    if not isinstance(name, str):
        return name
    if name == "auto":
        name = "cuda" if has_gpu() else "cpu"
    if name not in ENGINES:
        raise SettingError(f"engine = {name!r} is unknown. Choose auto or one of {', '.join(ENGINES)}.")
    try:
        found = cast(Engine, importlib.import_module(ENGINES[name]))
    except ImportError as error:
        raise MissingEngineError(
            f"engine {name!r} cannot run here: {error}. Install what is missing, or use engine='cpu'."
        ) from error
    if name == "cuda" and not has_gpu():
        raise MissingEngineError("engine 'cuda' cannot run here: CuPy finds no NVIDIA GPU. Use engine='cpu'.")
    return found


def choose(name: str | Engine, stages: Stages, *, online: bool = False) -> Engine:
    """The engine of that name where it supports the network, else `cpu`; the log says why.

    >>> from timesurf.layers import Full, stack
    >>> choose("cpu", stack([Full(units=2, tau=1)], (3,), 1), online=True).__name__
    'timesurf.engines.cpu.engine'
    """
    engine = load(name)
    if why := engine.supports(stages, online=online):
        _say_once(why)
        return load("cpu")
    return engine


@lru_cache(maxsize=64)
def _say_once(why: str) -> None:
    """One line of log per reason, however often a network falls back."""
    _LOG.warning("%s The CPU engine runs it instead.", why)


def has_gpu() -> bool:
    """Whether there is a GPU, and CuPy to use it with."""
    try:
        import cupy

        return bool(cupy.cuda.runtime.getDeviceCount() > 0)
    except Exception:  # no CuPy, no driver, an old driver: whatever it is, there is no GPU to use
        return False
