"""C of a layer, whatever numbers it computes with: what the templates of all layers need."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from timesurf.export.ctext import array, filled
from timesurf.export.model import Model
from timesurf.export.plan import LayerPlan, point
from timesurf.export.weights import Weights

_TOGETHER = 4  # groups of units that are compared at once, at most: as in templates/together.c


def described(model: Model, plan: LayerPlan, weights: Weights) -> dict[str, Any]:
    """Values of the names in the templates that follow from the layer and its place in the network alone."""
    lanes = weights.centroids.shape[-1]
    keep = "n->scores[u] = score;" if plan.running else f"    n->scores[g * {lanes}u + u] = -sum[u];"
    return {
        "name": model.name, "k": plan.number, "index": plan.number - 1, "about": plan.stage, "entries": plan.entries,
        "units": plan.units, "arguments": plan.arguments, "limit": plan.limit, "point": point(plan.stage.tau),
        "centroids": array(weights.centroids), "half": array(weights.half), "padded": len(weights.half),
        "groups": len(weights.centroids), "lanes": lanes, "begin": plan.begin, "own": plan.own,
        "blocks": plan.blocks, "block": plan.block, "rows": len(plan.runs), "row": plan.row, "sum": weights.sum,
        "keep": f"\n        {keep}" if model.weighs(plan) else "",
    }  # fmt: skip


def written(plan: LayerPlan, weights: Weights, values: dict[str, Any], square: str, limit: str, accept: str) -> str:
    """A layer that writes its surfaces out.

    Parameters
    ----------
    plan, weights, values : LayerPlan, Weights, dict
        The layer, and the values of the template.
    square, limit : str
        C types of a surface's square and of a squared threshold.
    accept : str
        C of whether the event passes, where there are thresholds.

    Returns
    -------
    str
        C.
    """
    gated, k = weights.limits is not None, plan.number
    kind = "rows" if len(plan.runs) > 1 else "block"
    add = f"    for (m = 0; m < entries; m++)\n        energy += ({square})ts[m] * ts[m];\n" if gated else ""
    together = math.gcd(values["groups"], _TOGETHER)
    tables = constant(f"{limit} limits{k}", weights.limits, "squared thresholds") if weights.limits is not None else ""
    return filled(
        "written.c", **values, tables=tables + runs(plan), accept=accept if gated else "1",
        gather=filled(f"gather_{kind}.c", **values).rstrip("\n"), energy_add=add,
        energy_start=f"\n    {square} energy = 0;" if gated else "",
        multiply="\n".join(f"    sum[{u}] += v * c[{u}];" for u in range(values["lanes"])),
        together="1u" if together == 1 else f"(TOGETHER < {together}u ? TOGETHER : {together}u)",
    )  # fmt: skip


def runs(plan: LayerPlan) -> str:
    """Where the rows of a surface begin, if it has several."""
    about = "where the rows of a surface begin"
    return constant(f"uint32_t runs{plan.number}", np.array(plan.runs), about) if len(plan.runs) > 1 else ""


def constant(declared: str, values: Any, about: str) -> str:
    """A constant array."""
    return f"static const {declared}[{len(values)}] = {{ /* {about} */\n{array(values)}\n}};\n"
