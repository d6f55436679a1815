"""A spiking network as a graph of NIR (github.com/neuromorphs/NIR), which simulators and neuromorphic chips read.

Every layer becomes a `Linear` of all its synapses and a `LIF` of all its neurons, place after place::

    tau dv/dt = -v + r I,   fires if v > v_threshold,   then v = 0

In these equations a spike is an impulse of current. Simulators instead walk through time in steps, by Euler's method,
and a spike is a current of 1 for one step::

    v = v + step / tau (r I - v)

For a given step, tau and the weights are written such that one step is what it is here: v decays by exp(-step / tau)
and a spike adds its weight. Potentials are counted in thresholds and r is 1, because some simulators want the same
threshold for all neurons of a layer (snnTorch) or pass over r (norse). NIR counts time in seconds.

NIR's neurons know nothing of each other, and so it lacks what those of a place share (one fires at most, and resets
all), the refractory period, the reset by subtraction, and learning. `left_out` names what a network would lose.
"""

from __future__ import annotations

import io
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf import __version__
from timesurf.engines.data import Units
from timesurf.errors import MissingEngineError, SettingError
from timesurf.spiking import tables
from timesurf.spiking.layers import Stage
from timesurf.spiking.network import SpikingNetwork
from timesurf.storage.atomic import replacing
from timesurf.times import Time, time_constant

Array = NDArray[Any]
_SECOND = 1e-6  # of a microsecond
_MOST_WEIGHTS = 1 << 26  # of one layer: NIR has no shared weights on a field of any shape


def left_out(network: SpikingNetwork) -> list[str]:
    """What NIR cannot express of this network, one line per layer and reason; empty: it has the same spikes.

    Examples
    --------
    >>> from timesurf.spiking import Neurons
    >>> layers = [Neurons((5, 5), units=1, tau="1 ms"), Neurons(tau="1 ms", refractory="2 ms")]
    >>> left_out(SpikingNetwork(layers, (30, 5), 1, ["only"]))
    ['layer 2: the refractory period']
    """
    found = []
    for k, stage in enumerate(network.stages, start=1):
        if stage.units > 1:
            found.append(f"layer {k}: that one neuron of a place fires at a time and resets all")
        if stage.layer.refractory:
            found.append(f"layer {k}: the refractory period")
        if stage.layer.reset == "subtract":
            found.append(f"layer {k}: the reset by subtraction")
        if stage.layer.ready == 0:
            found.append(f"layer {k}: neurons without a threshold, which become leaky integrators")
    return found


def graph(network: SpikingNetwork, *, lossy: bool = False, step: Time | None = None) -> Any:
    """The network as a `nir.NIRGraph`; inputs are numbered coordinates first, then polarities, in C order.

    Parameters
    ----------
    network : SpikingNetwork
        With weights.
    lossy : bool
        Whether to leave out what NIR cannot express; by default a network that has such is refused.
    step : float or str, optional
        Time step of the simulator that will run the graph: us, or text such as "100 us". None: spikes are impulses.

    Raises
    ------
    SettingError
        If something would be left out and `lossy` is False; the message names it.
    MissingEngineError
        If the package nir is not installed.
    """
    missing = left_out(network)
    if missing and not lossy:
        raise SettingError(f"NIR cannot express {'; '.join(missing)}. lossy=True writes the rest.")
    try:
        import nir
    except ImportError as error:
        raise MissingEngineError("The package nir is not installed: pip install 'timesurf[nir]'.") from error
    dt = None if step is None else time_constant(step, "step") * _SECOND
    first = network.stages[0]
    inputs = math.prod(first.field) * first.polarities
    nodes: dict[str, Any] = {"input": nir.Input(input_type={"input": np.array([inputs])})}
    for k, (stage, units) in enumerate(zip(network.stages, network.parameters, strict=True), start=1):
        weight = weights(stage, units)
        tau, charge = _decay(float(stage.layer.tau) * _SECOND, dt)
        leaky = {"tau": np.full(len(weight), tau), "r": np.ones(len(weight)), "v_leak": np.zeros(len(weight))}
        if stage.layer.ready == 0:
            nodes[f"synapses_{k}"] = nir.Linear(weight / charge)
            nodes[f"neurons_{k}"] = nir.LI(**leaky)
        else:
            threshold = np.tile(units.thresholds, len(weight) // stage.units)
            nodes[f"synapses_{k}"] = nir.Linear(weight / charge / threshold[:, None])
            nodes[f"neurons_{k}"] = nir.LIF(**leaky, v_threshold=np.ones(len(weight)), v_reset=np.zeros(len(weight)))
    nodes["output"] = nir.Output(output_type={"output": np.array([len(weight)])})
    names = list(nodes)
    about = {"timesurf": __version__, "left_out": "; ".join(missing), "step": "none" if dt is None else f"{dt:g} s"}
    return nir.NIRGraph(nodes=nodes, edges=list(pairwise(names)), metadata=about)


def _decay(tau: float, step: float | None) -> tuple[float, float]:
    """Time constant to write, and the share of a current of 1 that a spike leaves in the potential; all in seconds."""
    if step is None:
        return tau, 1 / tau
    charge = -math.expm1(-step / tau)
    return step / charge, charge


def weights(stage: Stage, units: Units) -> Array:
    """All synapses of a layer as one matrix: (neurons of all places, inputs)."""
    wires, inputs = tables.wiring((stage,)), math.prod(stage.field) * stage.polarities
    places = len(wires.heard_at)
    if places * stage.units * inputs > _MOST_WEIGHTS:
        raise SettingError(
            f"A layer of {places * stage.units:,} neurons over {inputs:,} inputs is too large for NIR, which has no "
            "shared weights for it: use larger steps or fewer units."
        )
    matrix = np.zeros((places, stage.units, inputs))
    hears, flat = wires.hears.reshape(places, -1), units.centroids.reshape(stage.units, -1)
    for place in range(places):
        heard = hears[place] >= 0
        matrix[place][:, hears[place][heard]] = flat[:, heard]
    return matrix.reshape(places * stage.units, inputs)


def write(network: SpikingNetwork, path: str | Path, *, lossy: bool = False, step: Time | None = None) -> None:
    """Write the graph to a file, completely or not at all; parameters as in `graph`."""
    made = graph(network, lossy=lossy, step=step)
    import nir

    content = io.BytesIO()
    nir.write(content, made)  # type: ignore[arg-type,unused-ignore]  # any file of bytes will do
    with replacing(path) as file:
        file.write(content.getvalue())
