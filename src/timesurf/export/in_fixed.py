"""C of the layers in fixed point."""

from __future__ import annotations

from typing import Any

import numpy as np

from timesurf.engines import Units
from timesurf.export import evidence
from timesurf.export.ctext import array, filled
from timesurf.export.layer_text import described, written
from timesurf.export.model import Model
from timesurf.export.plan import LayerPlan, rate
from timesurf.export.quantise import quantised
from timesurf.export.weights import Weights

_POINT = 24  # bits after the point of a decay
_POWERS = np.rint(2.0 ** (np.arange(129) / 128) * 2**_POINT).astype(np.uint32)  # 1 to 2


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
        decay = filled("decay_fixed.c", powers=array(_POWERS))
        fades = model.temperature or any(not plan.running for plan in model.plans)
        return [decay, *([filled("faded_fixed.c")] if fades else [])]

    def tables(self, model: Model) -> list[Any]:
        """Constant arrays beside those of the layers."""
        return [_POWERS, *([evidence.LOGS] if model.temperature else [])]

    def layer(self, model: Model, plan: LayerPlan, weights: Weights) -> str:
        """C of a layer."""
        scale, bits, k = weights.scale, weights.bits, plan.number
        scales = f"\n   Centroids are in units of 1/{scale}, surfaces in units of 1/{2**bits}."
        values = described(model, plan, weights) | {"weight": f"int{self.width}_t", "scales": scales}
        tick, point = rate(plan.stage.tau), values["point"]
        if plan.running:
            return filled(
                "running.c", **values, rate=tick, half_type="uint32_t",
                half_scale=f", in units of 1/({scale} * 2^{weights.finer})",
                level="uint32_t", level_body=filled("level_fixed.c", point=point, shift=_POINT - bits).rstrip("\n"),
                change="int32_t", bits=31 if weights.sum == "int32_t" else 63,
                halving=f"dots[u] / (({weights.sum})1 << since)", score="int64_t", most="INT64_MAX",
                scored=f"(int64_t)(((uint64_t)half{k}[u] * level) >> {weights.finer})",
            )  # fmt: skip
        shift = _POINT - bits
        values |= {
            "surface": "uint16_t", "most": f"INT{weights.sum[3:5]}_MAX",
            "faded": f"(faded(ages[m], {tick}u, {point}) + {2 ** (shift - 1)}u) >> {shift}",
        }  # fmt: skip
        accept = f"(int64_t)energy * {scale} - (int64_t)best * {2 ** (bits + 1)} < limits{k}[fired]"
        return written(plan, weights, values, "uint32_t" if self.width == 8 else "uint64_t", "int64_t", accept)

    def evidence(self, model: Model) -> str:
        """C of what an output event says about every class."""
        return evidence.in_fixed(model)
