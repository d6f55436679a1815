"""Sup3r for integrate-and-fire neurons: what S and dS of a spike teach, every equation once.

S, dS and G are those of `timesurf.rule`: recent spikes of the other neurons of a place, and whether the class is right.
A spike of the last layer is the end of a chain of spikes, one per layer, at the same moment. Each layer learns from S
and dS of the layer above it, the last from its own. With v the potentials of the place as neuron f fired, before the
reset, and u the direction of its synapses' traces::

    u     = (ts - inhibition) / ||ts - inhibition||      ts = exp(-(t - T) / trace_tau)
    w_f   = w_f + (alpha dS + beta S) (u - w_f), then divided by its length
    th_f *= exp(-(gamma dS + delta S) near_f)
    th_n *= exp(+(gamma dS + delta S) near_n)            for other n with v_n >= th_n, if S >= 0 and dS >= 0
    near  = exp(-(v - th) / (d th))                      1 at the threshold, less beyond it

The last layer's thresholds stay as they are, and so do infinite ones (none). Derivation: docs/spiking.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import SettingError
from timesurf.rule import SLACK, Rule

Array = NDArray[Any]
# Rates that learn the sentences. A spike sums up many events, so rates per spike are larger than those per event. The
# last layer is slow, so that it does not learn the label of the present recording from one spike to the next.
SPIKING = {"alpha": 3e-3, "beta": 3e-3, "gamma": 3e-3, "delta": 1e-4, "d": 0.3}
SLOW_LAST = 0.2  # factor of the last layer's rates


def default_rule(layers: int) -> Rule:
    """Rates for so many layers.

    Examples
    --------
    >>> default_rule(2).per_layer(2)[:, 0].round(6).tolist()
    [0.003, 0.0006]
    """
    slower = [1.0] * (layers - 1) + [SLOW_LAST]
    alpha, beta = (tuple(SPIKING[name] * factor for factor in slower) for name in ("alpha", "beta"))
    return Rule(alpha=alpha, beta=beta, gamma=SPIKING["gamma"], delta=SPIKING["delta"], d=SPIKING["d"])


def check_rule(rule: Rule, layers: int) -> Rule:
    """The rule, if neurons can learn by it."""
    if rule.kernel != "border" or rule.last != "sup3r":
        raise SettingError("Integrate-and-fire neurons learn by kernel='border' and last='sup3r' alone.")
    rule.per_layer(layers)
    return rule


def direction(ts: Array, inhibition: float) -> Array:
    """The traces less the inhibition, as a vector of length 1.

    Examples
    --------
    >>> direction(np.array([1.0, 0.0, 0.0]), inhibition=0.0)
    array([1., 0., 0.])
    """
    centred = ts - inhibition
    unit: Array = centred / np.sqrt((centred**2).sum())
    return unit


def moved(w: Array, u: Array, gain: float) -> Array:
    """Weights after a spike, again of length 1: towards u if the gain is positive, away from it otherwise."""
    w = w + gain * (u - w)
    unit: Array = w / np.sqrt((w**2).sum())
    return unit


def threshold_factors(th: Array, v: Array, fired: int, S: float, dS: float, gain: float, d: float, rule: Rule) -> Array:
    """What a spike multiplies the thresholds of its layer by: gain = gamma dS + delta S.

    Examples
    --------
    >>> threshold_factors(np.ones(2), np.array([1.0, 1.5]), 1, S=1.0, dS=0.0, gain=0.1, d=0.5, rule=Rule()).round(3)
    array([1.105, 0.964])
    """
    factors, sign = np.ones_like(th), np.zeros_like(th)
    if rule.competition and S >= -SLACK and dS >= -SLACK:
        sign[v >= th] = 1.0
    sign[fired] = -1.0
    moves = np.isfinite(th) & (sign != 0)  # far below a small threshold, where none moves, the exponential overflows
    near = np.exp(-(v[moves] - th[moves]) / (d * th[moves]))
    factors[moves] = np.exp(sign[moves] * gain * near)
    return factors
