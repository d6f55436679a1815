"""Learning rates and time constants as the kernels want them. Needs no card."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from timesurf.engines.cuda.abi import CENTRE, COMPETITION, DELTA, RATES
from timesurf.engines.data import Array
from timesurf.layers import Stage
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
    table = np.zeros((len(rules[0]), len(networks), len(networks[0])), RATES.dtype())
    for n, (stages, own) in enumerate(zip(networks, rules, strict=True)):
        per_layer = np.array([rule.per_layer(len(stages)) for rule in own])
        for column, name in enumerate(("alpha", "beta", "gamma", "delta")):
            table[name][:, n] = per_layer[..., column]
        table["d"][:, n] = _LOG2_E / per_layer[..., 4]
        table["fade"][:, n] = [_LOG2_E / stage.tau for stage in stages]
        table["feedback"][:, n] = [_LOG2_E / stage.feedback_tau for stage in stages]
        table["temperature"][:, n] = np.array([_LOG2_E * rule.temperature for rule in own])[:, None]
        table["flags"][:, n] = np.array([_flags(rule) for rule in own])[:, None]
    return table


def _flags(rule: Rule) -> int:
    """What a rule switches on."""
    return COMPETITION * rule.competition + CENTRE * (rule.kernel == "centre") + DELTA * (rule.last == "delta")


def by_delta(table: Array) -> bool:
    """Whether any network learns by the delta rule in any batch of such a table."""
    return bool((table["flags"] & DELTA).any())
