"""C of the layers in float32."""

from __future__ import annotations

import math
from typing import Any

from timesurf.engines import Units
from timesurf.export import evidence
from timesurf.export.ctext import filled, number
from timesurf.export.layer_text import described, written
from timesurf.export.model import Model
from timesurf.export.plan import LayerPlan, rate
from timesurf.export.weights import Weights, in_float32


class Float32:
    """Numbers of 32 bits with a floating point."""

    name = "float32"
    needs = "float in IEEE 754, best in hardware"

    def weights(self, plan: LayerPlan, units: Units, usage: Any = None) -> Weights:
        """The constants of a layer; float32 needs no scales, so how often entries fire does not matter."""
        return in_float32(plan, units)

    def helpers(self, model: Model) -> list[str]:
        """The decays that the layers need."""
        kinds = {plan.running for plan in model.plans}
        names = ["faded_float.c"] * (False in kinds) + ["risen_float.c"] * (True in kinds)
        return [*map(filled, ("halved.c", "decay_float.c", *names))]

    def tables(self, model: Model) -> list[Any]:
        """Constant arrays beside those of the layers: none."""
        return []

    def layer(self, model: Model, plan: LayerPlan, weights: Weights) -> str:
        """C of a layer."""
        values = described(model, plan, weights) | {"weight": "float", "scales": ""}
        if plan.running:
            shift = f"halved(halvings - (uint32_t)(phase >> {values['point']}))"
            return filled(
                "running.c", **values, rate=rate(plan.stage.tau), half_type="float", half_scale="", level="float",
                level_body=f"    return risen(phase, {values['point']}) * {shift};", change="float", bits=32,
                halving="dots[u] * halved(since)", score="float", most="3.2e38f",
                scored=f"half{plan.number}[u] * level",
            )  # fmt: skip
        values |= {
            "surface": "float", "most": "3.2e38f",
            "faded": f"faded(ages[m], {number(math.log2(math.e) / plan.stage.tau)})",
        }  # fmt: skip
        accept = f"energy - 2.0f * best < limits{plan.number}[fired]"
        return written(plan, weights, values, "float", "float", accept)

    def evidence(self, model: Model) -> str:
        """C of what an output event says about every class."""
        return evidence.in_float(model, "scores", 2.0)
