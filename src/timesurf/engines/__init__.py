"""One algorithm, several engines, one signature.

An engine is a module with four functions. All take the network as `stages` (its layers in their places), its
`Parameters`, and a `Batch` of events; the two that learn change the parameters in place.

    infer(stages, parameters, batch, options, trace=False)   -> Outcome
    learn_online(stages, parameters, rule, batch, options)   -> Outcome   weights change after each event
    learn_batch(stages, parameters, rule, batch, options)    -> Outcome   weights change once, after the batch
    surfaces(stages, parameters, batch, layer)               -> array     time surfaces that reach a layer

State (time contexts, feedback, previous S) starts empty at each recording. An engine to which events must travel may
also take whole data sets, and keep them: `infer_all`, and `learn_pass` for all batches of a pass and many networks side
by side; and may have a `kmeans` of its own (see `cuda`). One that spreads a batch over machines takes recordings where
others take a batch of packed events: `learn_part` (see `workers`).

| engine      | what it is                                                             |
|-------------|------------------------------------------------------------------------|
| `reference` | NumPy, written straight from the equations: the oracle of every test   |
| `plain`     | the same loop, compiled by numba: the yardstick of speed               |
| `cpu`       | numba kernels that avoid most of the work, on all cores: the default   |
| `cuda`      | the same on an NVIDIA GPU; no online learning                          |

`"auto"` is `cuda` where there is a GPU and CuPy, else `cpu`. An engine may also be an object: `workers.Workers(client)`
is the workers of a Dask cluster.
"""

from __future__ import annotations

import importlib
from typing import Protocol, cast

from timesurf.engines.batch import DEFAULT, Array, Batch, Learner, Options, Outcome, Parameters, Trace, pack
from timesurf.errors import MissingEngineError, SettingError
from timesurf.layers import Stage
from timesurf.rule import Rule

__all__ = ["ENGINES", "Batch", "Engine", "Learner", "Options", "Outcome", "Parameters", "Trace", "load", "pack"]

ENGINES = ("cpu", "cuda", "plain", "reference")


class Engine(Protocol):
    """What every engine module offers."""

    def infer(
        self,
        stages: tuple[Stage, ...],
        parameters: Parameters,
        batch: Batch,
        options: Options = DEFAULT,
        *,
        trace: bool = False,
    ) -> Outcome:
        """Run the events; learn nothing. With trace, keep what happened to every event."""
        ...

    def learn_online(
        self, stages: tuple[Stage, ...], parameters: Parameters, rule: Rule, batch: Batch, options: Options = DEFAULT
    ) -> Outcome:
        """Run the events and update the parameters after each."""
        ...

    def learn_batch(
        self, stages: tuple[Stage, ...], parameters: Parameters, rule: Rule, batch: Batch, options: Options = DEFAULT
    ) -> Outcome:
        """Run the events with frozen parameters, sum the updates, apply them once."""
        ...

    def surfaces(self, stages: tuple[Stage, ...], parameters: Parameters, batch: Batch, layer: int) -> Array:
        """Time surfaces of all events that reach a layer (0: the first), one row a event."""
        ...


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
        return cast(Engine, importlib.import_module(f"timesurf.engines.{name}"))
    except ImportError as error:
        raise MissingEngineError(
            f"engine {name!r} cannot run here: {error}. Install what is missing, or use engine='reference'."
        ) from error


def has_gpu() -> bool:
    """Whether there is a GPU, and CuPy to use it with."""
    try:
        import cupy

        return bool(cupy.cuda.runtime.getDeviceCount() > 0)
    except Exception:  # no CuPy, no driver, an old driver: whatever it is, there is no GPU to use
        return False
