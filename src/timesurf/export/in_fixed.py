"""C of the layers in fixed point."""

from __future__ import annotations

from typing import Any

import numpy as np

from timesurf.engines import Units
from timesurf.export.ctext import array, filled
from timesurf.export.in_float import described, gather, multiply, tables
from timesurf.export.model import Model
from timesurf.export.plan import LayerPlan, rate
from timesurf.export.quantise import quantised
from timesurf.export.weights import Weights

_POINT = 24  # bits after the point of a decay


class Fixed:
    """Integers: centroids of 8 or 16 bits, sums of 32 or 64."""

    needs = "32-bit multiplication with a 64-bit result (Cortex-M3 and better); no floating point"

    def __init__(self, width: int) -> None:
        self.width = width
        self.name = f"int{width}"

    def weights(self, plan: LayerPlan, units: Units, usage: Any = None) -> Weights:
        """The constants of a layer."""
        return quantised(plan, units, self.width, usage)

    def helpers(self, model: Model) -> list[str]:
        """The decays that the layers need."""
        powers = np.rint(2.0 ** (np.arange(129) / 128) * 2**_POINT).astype(np.int64)
        decay = filled("decay_fixed.c", powers=array(powers))
        return [decay, *([filled("faded_fixed.c")] if any(not plan.running for plan in model.plans) else [])]

    def layer(self, model: Model, plan: LayerPlan, weights: Weights) -> str:
        """C of a layer."""
        values = described(model.name, plan, weights)
        values |= {
            "weight": f"int{self.width}_t", "sum": weights.sum, "scale": weights.scale, "one": 2**weights.bits,
            "rate": rate(plan.stage.tau), "shift": _POINT - weights.bits,
        }  # fmt: skip
        if plan.running:
            bits = 31 if weights.sum == "int32_t" else 63
            return filled("running_fixed.c", **values, finer=weights.finer, bits=bits)
        gated, k = weights.limits is not None, plan.number
        values["round"] = 2 ** (_POINT - weights.bits - 1)
        energy = "uint32_t" if self.width == 8 else "uint64_t"
        distance = f"(int64_t)energy * {weights.scale} - (int64_t)best * {2 ** (weights.bits + 1)}"
        return filled(
            "written_fixed.c", **values, tables=tables(plan, weights, "int64_t", " in these units"),
            multiply=multiply(values["lanes"]),
            gather=gather("fixed", plan, values, f"energy += ({energy})v * v;" if gated else ""),
            most=f"INT{weights.sum[3:5]}_MAX",
            energy_start=f"\n    {energy} energy = 0;" if gated else "",
            accept=f"{distance} < limits{k}[fired]" if gated else "1",
        )  # fmt: skip
