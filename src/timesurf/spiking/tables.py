"""A spiking network as flat arrays, as the kernel takes it: inputs and places are numbered through all layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from timesurf.engines.data import Parameters
from timesurf.rule import Rule
from timesurf.spiking.layers import Stage

Array = NDArray[Any]


class Wiring(NamedTuple):
    """Who hears whom: fixed by the layers."""

    reach: Array  # (inputs + 1,) rows reach[e] to reach[e + 1] of the next two are heard from input e
    place: Array  # the place that hears it
    synapse: Array  # by which of its synapses
    hears: Array  # (synapses of all places,) the input of each; -1: outside the field
    heard_at: Array  # (places,) where in `hears` a place begins
    emits: Array  # (places,) input of the layer above that its first neuron is
    layer: Array  # (places,) the layer that it is in
    neuron_at: Array  # (places,) where its neurons begin in arrays with one value per neuron
    units: Array  # (layers,) neurons per place
    synapses: Array  # (layers,) synapses per neuron
    weight_at: Array  # (layers,) where a layer's weights begin
    unit_at: Array  # (layers,) where a layer's thresholds begin


class Times(NamedTuple):
    """Settings, one value per layer."""

    tau: Array
    trace_tau: Array
    feedback_tau: Array
    refractory: Array
    inhibition: Array
    subtract: Array  # whether the reset subtracts


class Rates(NamedTuple):
    """Of the rule, one value per layer."""

    alpha: Array
    beta: Array
    gamma: Array
    delta: Array
    d: Array
    competition: bool
    learn: bool


class Learned(NamedTuple):
    """What learning changes."""

    weights: Array  # per layer (synapses, units), neurons innermost
    thresholds: Array
    frozen: Array


class State(NamedTuple):
    """What the network remembers within a recording, and room for one chain of spikes."""

    T: Array  # (inputs,) time of its last spike
    v: Array  # (neurons,) potential at the time `since` of its place
    FT: Array  # (neurons,) time of its last spike
    since: Array  # (places,)
    quiet: Array  # (places,) no spike before this time
    S: Array  # (places,) of the previous spike that an output followed from
    potentials: Array  # (units of all layers,) v of the chain's places as they fired, before the reset
    traces: Array  # (most synapses,)
    row: Array  # (layers,) which row of the wiring comes next
    stop: Array  # (layers,) where the rows of the layer's present input end
    fired: Array  # (layers,) the chain's neurons
    at: Array  # (layers,) the chain's places
    chain_S: Array  # (layers,)
    chain_dS: Array  # (layers,)


def wiring(stages: Sequence[Stage]) -> Wiring:
    """The tables of these layers."""
    inputs = places = neurons = 0
    reach: list[Array] = [np.zeros(1, np.int64)]
    place, synapse, hears, heard_at, emits, layer, neuron_at = columns = tuple[list[Array], ...]([] for _ in range(7))
    for k, stage in enumerate(stages):
        box = _boxes(stage)
        heard = math.prod(stage.field) * stage.polarities
        at, by = np.nonzero(box >= 0)
        order = np.argsort(box[at, by], kind="stable")  # by input, and for each in the order of places
        reach.append(np.cumsum(np.bincount(box[at, by], minlength=heard)) + reach[-1][-1])
        place.append(at[order] + places)
        synapse.append(by[order])
        heard_at.append(np.arange(len(box)) * box.shape[1] + sum(map(len, hears)))
        hears.append(np.where(box >= 0, box + inputs, -1).ravel())
        inputs += heard
        emits.append(np.arange(len(box)) * stage.units + inputs)
        layer.append(np.full(len(box), k))
        neuron_at.append(np.arange(len(box)) * stage.units + neurons)
        places, neurons = places + len(box), neurons + len(box) * stage.units
    units = np.array([stage.units for stage in stages])
    synapses = np.array([math.prod(stage.shape) for stage in stages])
    joined = [np.concatenate(of).astype(np.int64) for of in (reach, *columns)]
    return Wiring(*joined, units, synapses, _before(units * synapses), _before(units))


def _boxes(stage: Stage) -> Array:
    """The inputs that each place hears, -1 outside the field: (places, synapses)."""
    sides, field = stage.layer.sides(stage.field), stage.field
    box = np.full((math.prod(stage.output_field), math.prod(stage.shape)), -1, np.int64)
    for number, place in enumerate(np.ndindex(*stage.output_field)):
        corner = stage.layer.corner(place) or (0,) * len(field)
        x = np.indices((*sides, stage.polarities)).reshape(len(sides) + 1, -1)
        x[:-1] += np.array(corner, dtype=np.int64).reshape(-1, 1)
        inside = np.all([(v >= 0) & (v < n) for v, n in zip(x[:-1], field, strict=True)] or [x[0] >= 0], axis=0)
        box[number, inside] = np.ravel_multi_index(tuple(x[:, inside]), (*field, stage.polarities))
    return box


def _before(sizes: Array) -> Array:
    """Where each of consecutive parts begins."""
    return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)


def times(stages: Sequence[Stage]) -> Times:
    """The settings of these layers."""
    layers = [stage.layer for stage in stages]
    names = ("tau", "trace_tau", "feedback_tau", "refractory", "inhibition")
    numbers = [np.array([float(getattr(layer, name)) for layer in layers]) for name in names]
    return Times(*numbers, np.array([layer.reset == "subtract" for layer in layers]))


def rates(rule: Rule | None, layers: int) -> Rates:
    """Rates of the rule; None learns nothing."""
    table = (rule or Rule()).per_layer(layers)
    alpha, beta, gamma, delta, d = (np.ascontiguousarray(column) for column in table.T)
    return Rates(alpha, beta, gamma, delta, d, rule is None or rule.competition, rule is not None)


def learned(parameters: Parameters) -> Learned:
    """A copy of the parameters in the kernel's order."""
    weights = [units.centroids.reshape(len(units.centroids), -1).T.ravel() for units in parameters]
    return Learned(
        np.concatenate(weights).astype(np.float64),
        np.concatenate([units.thresholds for units in parameters]).astype(np.float64),
        np.concatenate([units.frozen for units in parameters]).astype(np.bool_),
    )


def give_back(found: Learned, parameters: Parameters) -> None:
    """Write what was learned into the parameters."""
    weight_at = unit_at = 0
    for units in parameters:
        c = units.centroids
        c[:] = found.weights[weight_at : weight_at + c.size].reshape(-1, len(c)).T.reshape(c.shape)
        units.thresholds[:] = found.thresholds[unit_at : unit_at + len(c)]
        weight_at, unit_at = weight_at + c.size, unit_at + len(c)


def state(of: Wiring) -> State:
    """Room for what a network remembers."""
    inputs, places, layers = len(of.reach) - 1, len(of.heard_at), len(of.units)
    neurons = int(of.neuron_at[-1] + of.units[-1])
    whole = [np.zeros(layers, np.int64) for _ in range(4)]
    return State(
        np.zeros(inputs), np.zeros(neurons), np.zeros(neurons), np.zeros(places), np.zeros(places), np.zeros(places),
        np.zeros(int(of.units.sum())), np.zeros(int(of.synapses.max())), *whole, np.zeros(layers), np.zeros(layers),
    )  # fmt: skip
