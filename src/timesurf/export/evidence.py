"""C of decisions by evidence: what an output event says about every class, see `Rule.temperature`.

Shares fall with the squared distance of the units, so the last layer keeps its scores: half of that distance, less a
number that all units have in common. A layer that keeps dot products has them times the level of an entry that fires
now. Evidence is summed in integers, so that a long recording loses nothing to rounding.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from timesurf.errors import SettingError
from timesurf.export.ctext import array, filled, number
from timesurf.export.model import Model
from timesurf.export.plan import point, rate
from timesurf.rule import DOUBT

BITS = 20  # after the point of evidence
LOGS = np.rint(np.log2(1 + np.arange(129) / 128) * 2**BITS).astype(np.int32)  # of fixed point
_SHARE = 24  # bits after the point of a unit's share in fixed point
_HALVING = 24  # a difference of scores that halves a share is shifted right until it takes at most so many bits
_STEEPEST = 2.0**20  # halvings per unit of a score: more than any that matters


def in_float(model: Model, scores: str, per_distance: float) -> str:
    """C in floating point.

    Parameters
    ----------
    model : Model
        Whose last layer has scores in a member of the struct.
    scores : str
        Name of that member.
    per_distance : float
        Squared distance per score: 2 of scores, 1 of squared distances themselves.

    Returns
    -------
    str
        C.
    """
    top = model.plans[-1]
    slope = number(per_distance * model.temperature * math.log2(math.e))
    if top.running:
        slope += f" / risen((uint64_t)n->clock * {rate(top.stage.tau)}u, {point(top.stage.tau)})"
    return filled(
        "evidence_float.c", **_described(model), scores=scores, slope=slope, doubt=number(DOUBT), one=f"{2**BITS}.0f"
    )


def in_fixed(model: Model) -> str:
    """C in fixed point."""
    top, weights = model.plans[-1], model.weights[-1]
    steepness = 2 * model.temperature * math.log2(math.e) / (weights.scale * 2.0**weights.bits)
    down = max(0, math.ceil(-math.log2(steepness)) - _HALVING)
    if down > 63:
        raise SettingError(f"Temperature {model.temperature:g} is too low for evidence in fixed point: use float32.")
    halving = math.log2(math.e) / min(steepness * 2.0**down, _STEEPEST)
    return filled(
        "evidence_fixed.c", **_described(model), bits=BITS, down=down, point=point(halving), whole_one=2**BITS,
        logs=array(LOGS), slope=_slope(top, rate(halving)), shift=max(0, top.units.bit_length() - (31 - _SHARE)),
        score=model.score, doubt=round(DOUBT * 2**32),
    )  # fmt: skip


def _slope(top: Any, steepness: int) -> str:
    """C of halvings per unit of a score; where those grow with the level, what a level has above 1 is divided out."""
    if not top.running:
        return f"    const uint32_t slope = {steepness}u;"
    values = {"rate": rate(top.stage.tau), "point": point(top.stage.tau), "steepness": steepness}
    return filled("evidence_level.c", **values).rstrip("\n")


def _described(model: Model) -> dict[str, Any]:
    return {
        "name": model.name, "NAME": model.name.upper(), "units": model.plans[-1].units, "index": len(model.plans) - 1,
        "per_class": model.unit_class,
    }  # fmt: skip
