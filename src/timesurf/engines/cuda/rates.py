"""Learning rates and time constants as the kernels want them. Needs no card."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from timesurf.engines.cuda.abi import CENTRE, COMPETITION, DELTA, RATES
from timesurf.engines.data import Array
from timesurf.layers import Stage
from timesurf.rule import RATES as NAMES
from timesurf.rule import Rule

_LOG2_E = math.log2(math.e)  # the kernels compute powers of 2


def rates(networks: Sequence[tuple[Stage, ...]], rules: Sequence[Sequence[Rule]]) -> Array:
    """Rates of every batch, network and layer.

    Time constants are a network's own: all that networks side by side must share is their shape.

    Parameters
    ----------
    networks : sequence of stages
        The networks side by side.
    rules : sequence of sequences of Rule
        One per network and batch.

    Returns
    -------
    array
        Records of type `abi.RATES`, (batches, networks, layers).

    Examples
    --------
    >>> from timesurf.layers import Full, stack
    >>> rates([stack([Full(units=2, tau=10)], (3,), 1)], [[Rule(alpha=0.5), Rule(alpha=0.25)]])["alpha"].ravel()
    array([0.5 , 0.25], dtype=float32)
    """
    layers = len(networks[0])
    table = np.zeros((len(rules[0]), len(networks), layers), RATES.dtype())
    for n, (stages, own) in enumerate(zip(networks, rules, strict=True)):
        several = {id(rule): rule for rule in own}  # often the same for all batches
        found = {number: _row(rule, layers) for number, rule in several.items()}
        per_layer = np.array([found[id(rule)] for rule in own])
        for column, name in enumerate(("alpha", "beta", "gamma", "delta", "d", "temperature")):
            table[name][:, n] = per_layer[:, column]
        table["flags"][:, n] = per_layer[:, -1]
        table["fade"][:, n] = [_LOG2_E / stage.tau for stage in stages]
        table["feedback"][:, n] = [_LOG2_E / stage.feedback_tau for stage in stages]
    return table


def _row(rule: Rule, layers: int) -> list[tuple[float, ...]]:
    """Rates and flags of one rule, each for all layers; plain numbers: there may be one for each of many batches."""
    values = [getattr(rule, name) for name in NAMES]
    if any(isinstance(value, tuple) for value in values):
        values = [tuple(column) for column in rule.per_layer(layers).T]
    alpha, beta, gamma, delta, d = (value if isinstance(value, tuple) else (value,) * layers for value in values)
    others = (_LOG2_E * rule.temperature, float(_flags(rule)))
    return [alpha, beta, gamma, delta, tuple(_LOG2_E / each for each in d), *((value,) * layers for value in others)]


def _flags(rule: Rule) -> int:
    """What a rule switches on."""
    return COMPETITION * rule.competition + CENTRE * (rule.kernel == "centre") + DELTA * (rule.last == "delta")


def by_delta(table: Array) -> bool:
    """Whether any network learns by the delta rule in any batch of such a table."""
    return bool((table["flags"] & DELTA).any())
