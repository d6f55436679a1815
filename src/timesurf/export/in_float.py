"""C of the layers in float32."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from timesurf.engines import Units
from timesurf.export.ctext import array, filled, number
from timesurf.export.model import Model
from timesurf.export.plan import LayerPlan, point, rate
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
        return [decay(), *map(filled, names)]

    def layer(self, model: Model, plan: LayerPlan, weights: Weights) -> str:
        """C of a layer."""
        values = described(model.name, plan, weights)
        if plan.running:
            return filled("running_float.c", **values, rate=rate(plan.stage.tau))
        gated = weights.limits is not None
        values["rate"] = number(math.log2(math.e) / plan.stage.tau)
        return filled(
            "written_float.c", **values, tables=tables(plan, weights, "float"), multiply=multiply(values["lanes"]),
            gather=gather("float", plan, values, "energy += v * v;" if gated else ""),
            energy_start=", energy = 0.0f" if gated else "",
            accept=f"energy - 2.0f * best < limits{plan.number}[fired]" if gated else "1",
        )  # fmt: skip


def decay() -> str:
    """Powers of two for all decays."""
    return filled("decay_float.c", powers=array(0.5 ** np.arange(32, dtype=np.float32)))


def described(name: str, plan: LayerPlan, weights: Weights) -> dict[str, Any]:
    """What the templates of all layers name."""
    return {
        "name": name, "k": plan.number, "index": plan.number - 1, "about": plan.stage, "entries": plan.entries,
        "units": plan.units, "arguments": plan.arguments, "limit": plan.limit, "point": point(plan.stage.tau),
        "centroids": array(weights.centroids), "half": array(weights.half), "padded": len(weights.half),
        "groups": len(weights.centroids), "lanes": weights.centroids.shape[-1], "begin": plan.begin, "own": plan.own,
        "blocks": plan.blocks, "block": plan.block, "entry": plan.own, "rows": len(plan.runs), "row": plan.row,
    }  # fmt: skip


def gather(numbers: str, plan: LayerPlan, values: dict[str, Any], energy: str = "") -> str:
    """C that writes a surface out; its square is summed only where there are thresholds."""
    kind, by = ("rows", 16) if len(plan.runs) > 1 else ("block", 12)
    add = f"{' ' * by}{energy}\n" if energy else ""
    return filled(f"gather_{kind}_{numbers}.c", **values, energy_add=add).rstrip("\n")


def multiply(lanes: int) -> str:
    """C that adds an entry to the sums of all lanes, one by one: most compilers then keep them in registers."""
    return "\n".join(f"            sum[{u}] += v * c[{u}];" for u in range(lanes))


def tables(plan: LayerPlan, weights: Weights, kind: str, unit: str = "") -> str:
    """Further tables of a layer that writes its surfaces out."""
    text, k = "", plan.number
    if weights.limits is not None:
        text += f"static const {kind} limits{k}[{plan.units}] = {{ /* squared thresholds{unit} */\n"
        text += f"{array(weights.limits)}\n}};\n"
    if len(plan.runs) > 1:
        text += f"static const uint32_t runs{k}[{len(plan.runs)}] = {{ /* where the rows of a surface begin */\n"
        text += f"{array(np.array(plan.runs))}\n}};\n"
    return text
