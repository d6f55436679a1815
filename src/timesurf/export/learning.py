"""C that learns: every layer in float32 with its parameters in RAM, and the online rule."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from timesurf.engines import Parameters, Units
from timesurf.errors import SettingError
from timesurf.export import evidence
from timesurf.export.ctext import array, filled, number
from timesurf.export.layer_text import constant, described, runs
from timesurf.export.model import Field, Model
from timesurf.export.plan import LayerPlan, limit
from timesurf.export.weights import OPEN, Weights
from timesurf.network import Network
from timesurf.rule import Rule


@dataclass(frozen=True, slots=True)
class Learning:
    """Numbers of 32 bits with a floating point, which change as the network learns."""

    rule: Rule
    frozen: tuple[Any, ...]  # one mask per layer
    digest: str  # of the parameters that it starts from
    name: str = "float32"

    @property
    def needs(self) -> str:
        """What the processor should have."""
        return f"{'double' if self.name == 'float64' else 'float'} in IEEE 754, best in hardware"

    @classmethod
    def of(cls, network: Network, numbers: str) -> Learning:
        """The network's own rule, if the C can follow it."""
        if numbers not in ("float32", "float64"):
            raise SettingError(f"C that learns computes in float32 or float64: its steps are too small for {numbers}.")
        if network.rule.last == "delta":
            raise SettingError(
                "This network learns its last layer by the delta rule, which moves every unit with each event: the C "
                "has Sup3r's rule only. Export without learning, or train with last = 'sup3r'."
            )
        parameters: Parameters = network.parameters
        if all(units.frozen.all() for units in parameters):
            raise SettingError("All units are frozen, so there is nothing to learn: export without learning.")
        return cls(network.rule, tuple(units.frozen for units in parameters), parameters.digest(), numbers)

    def weights(self, plan: LayerPlan, units: Units, usage: Any = None) -> Weights:
        """What a layer starts from: its centroids and, as `half`, its thresholds."""
        thresholds = np.minimum(units.thresholds, OPEN).astype(self.name)
        return Weights(units.centroids.reshape(-1).astype(self.name), thresholds, None)

    def helpers(self, model: Model) -> list[str]:
        """Decays, and the rule's steps."""
        away = "th[u] - root(apart[u])" if self.rule.kernel == "border" else "root(apart[u])"
        steps = filled("learning_steps.c", competition=int(self.rule.competition), away=away)
        more = (filled("decay_float.c"), filled("faded_float.c"), steps)
        return [filled("halved.c"), *map(self.typed, more)]  # a power of two is exact in float32

    def tables(self, model: Model) -> list[Any]:
        """Constant arrays beside those of the layers' parameters: rates, and which units never change."""
        masks = [self._mask(plan) for plan in model.plans]
        return [self._rates(model), *(mask for mask in masks if mask is not None)]

    def _mask(self, plan: LayerPlan) -> Any:
        """Which units of a layer never change; None where none does or none can."""
        mask = self.frozen[plan.number - 1]
        return mask.astype(np.uint8) if mask.any() and not mask.all() else None

    def _rates(self, model: Model) -> Any:
        """Rates of every layer, with labels and without."""
        columns = [rule.per_layer(len(model.plans)) for rule in (self.rule, self.rule.for_adapting())]
        for table in columns:
            table[:, 4] = math.log2(math.e) / table[:, 4]
        return np.array(columns, self.name)

    def layer(self, model: Model, plan: LayerPlan, weights: Weights) -> str:
        """C of a layer."""
        mask, k = self._mask(plan), plan.number
        frozen = "" if mask is None else constant(f"uint8_t frozen{k}", mask, "units that never change")
        run = f"runs{k}[m]" if len(plan.runs) > 1 else "0u"
        values = described(model, plan, weights) | {
            "rate": number(np.float64(math.log2(math.e) / plan.stage.tau).astype(self.name))
        }
        return self.typed(
            filled("learning_layer.c", **values, size=plan.units * plan.entries, frozen=runs(plan) + frozen, run=run)
        )

    def evidence(self, model: Model) -> str:
        """C of what an output event says about every class."""
        return self.typed(evidence.in_float(model, f"apart{len(model.plans)}", 1.0))

    def fields(self, model: Model) -> list[Field]:
        """Further members of the struct: what is learned, and what the rule remembers."""
        found: list[Field] = []
        for plan in model.plans:
            k = plan.number
            found += [
                ("float", f"centroids{k}", plan.units * plan.entries, f"layer {k}, learned"),
                ("float", f"thresholds{k}", plan.units, f"layer {k}, learned; 3e38: none"),
                ("float", f"lost{k}", _learned(plan), f"layer {k}: what rounding took from both"),
                ("float", f"ts{k}", plan.entries, f"layer {k}: surface of the latest event"),
                ("float", f"apart{k}", plan.units, f"layer {k}: squared distance of its units from it"),
            ]
            if k > self.lowest(model):
                found += [
                    (
                        "uint32_t",
                        f"spoke{k}",
                        plan.places * plan.units,
                        f"layer {k}: when each unit last fired at a place",
                    ),
                    (
                        "float",
                        f"previous{k}",
                        2 * plan.places,
                        f"layer {k}: sign and 1 - |S| of the latest output at a place",
                    ),
                    ("uint32_t", f"place{k}", 0, f"layer {k}: place of the latest output"),
                    ("float", f"density{k}", 0, f"layer {k}: its 1 - |S|"),
                ]
        return [(self.typed(kind), *more) for kind, *more in found]  # type: ignore[misc]

    def typed(self, text: str) -> str:
        """C in these numbers; templates are in float."""
        if self.name == "float32":
            return text
        return re.sub(r"\bfloat\b", "double", re.sub(r"(\d\.\d+(?:e[-+]?\d+)?)f\b", r"\1", text))

    def lowest(self, model: Model) -> int:
        """Layers up to this number have no S that anything learns from."""
        return min(1, len(model.plans) - 1)

    def remembered(self, model: Model, plan: LayerPlan) -> list[str]:
        """C after a layer let an event pass, where its coordinates are those of the output."""
        k, tau = plan.number, plan.stage.feedback_tau
        if k <= self.lowest(model):
            return []
        rate = number(np.float64(math.log2(math.e) / tau).astype(self.name))
        return [
            f"n->place{k} = {plan.place};",
            f"n->density{k} = density(n->spoke{k} + n->place{k} * {plan.units}u, {plan.units}u, n->fired[{k - 1}],",
            f"    n->clock, {limit(tau)}u, {rate});",
        ]

    def rule_text(self, model: Model) -> str:
        """C of what an output event teaches."""
        layers = len(model.plans)
        judge, learn = [], []
        for plan in model.plans:
            k, i, above = plan.number, plan.number - 1, min(plan.number, layers - 1)
            if k > self.lowest(model):
                judge.append(f"judged(sign, n->density{k}, n->previous{k} + 2u * n->place{k}, S + {i}, dS + {i});")
            mask = self.frozen[i]
            frozen = f"frozen{k}" if mask.any() else "0"
            if mask.all():
                continue
            learn.append(f"gain = rate[{i}][0] * dS[{above}] + rate[{i}][1] * S[{above}];")
            unless = f"if (!frozen{k}[n->fired[{i}]])\n        " if mask.any() else ""
            learn.append(
                f"{unless}approach(n->centroids{k} + n->fired[{i}] * {plan.entries}u, n->lost{k} + n->fired[{i}] * "
                f"{plan.entries}u, n->ts{k}, {plan.entries}u, gain);"
            )
            learn.append(f"adjust(n->thresholds{k}, n->lost{k} + {plan.units * plan.entries}, n->apart{k}, {frozen},")
            learn.append(f"    {plan.units}u, n->fired[{i}], S[{above}], dS[{above}], rate[{i}]);")
        text = filled(
            "learning_rule.c", name=model.name, NAME=model.name.upper(),
            rates=array(self._rates(model)), judge=_lines(judge), learn=_lines(learn),
        )  # fmt: skip
        return self.typed(text)

    def api(self, model: Model, values: dict[str, Any]) -> str:
        """C of the functions that learn, save and restore."""
        save, restore, at = [], [], 4
        for name, size in self.learned(model):
            save.append(f"memcpy(to + {at}, n->{name}, sizeof n->{name});")
            restore.append(f"memcpy(n->{name}, from + {at}, sizeof n->{name});")
            at += np.dtype(self.name).itemsize * size
        digest = f"0x{self.digest[:8]}"
        return self.typed(filled("learning_api.c", **values, digest=digest, save=_lines(save), restore=_lines(restore)))

    def learned(self, model: Model) -> list[tuple[str, int]]:
        """Members of the struct that hold what was learned, and their lengths."""
        return [
            (f"{what}{plan.number}", size)
            for plan in model.plans
            for what, size in (
                ("centroids", plan.units * plan.entries),
                ("thresholds", plan.units),
                ("lost", _learned(plan)),
            )
        ]

    def learned_bytes(self, model: Model) -> int:
        """Bytes of a save: which network, what was learned, a checksum."""
        return 8 + np.dtype(self.name).itemsize * sum(size for _, size in self.learned(model))


def _learned(plan: LayerPlan) -> int:
    """Numbers that a layer learns: centroids and thresholds."""
    return plan.units * (plan.entries + 1)


def _lines(lines: list[str]) -> str:
    return "\n".join(f"    {line}" for line in lines)
