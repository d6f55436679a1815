"""A network as it is written in C: its layers, its constants, and the struct that holds its memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from timesurf.engines import Units
from timesurf.export.plan import COORDINATES, LayerPlan, limit
from timesurf.export.weights import Weights
from timesurf.rule import DOUBT

if TYPE_CHECKING:
    from timesurf.export.learning import Learning

Field = tuple[str, str, int, str]  # type, name, length (0: no array), what it holds
SIZES = {"uint8_t": 1, "uint16_t": 2, "uint32_t": 4, "float": 4, "int32_t": 4, "int64_t": 8, "double": 8}


class Numbers(Protocol):
    """The numbers that the C computes with: one of float32, int16, int8."""

    @property
    def name(self) -> str:
        """As the command line calls them."""

    @property
    def needs(self) -> str:
        """What the processor should have."""

    def weights(self, plan: LayerPlan, units: Units, usage: Any = None) -> Weights:
        """The constants of a layer."""

    def helpers(self, model: Model) -> list[str]:
        """C that the layers need."""

    def tables(self, model: Model) -> list[Any]:
        """Constant arrays beside those of the layers."""

    def layer(self, model: Model, plan: LayerPlan, weights: Weights) -> str:
        """C of a layer."""

    def evidence(self, model: Model) -> str:
        """C of what an output event says about every class."""


@dataclass(frozen=True, slots=True)
class Model:
    """All that is written."""

    name: str  # prefix of every public name
    classes: tuple[str, ...]
    plans: list[LayerPlan]
    weights: list[Weights]
    numbers: Numbers
    learning: Learning | None = None  # the numbers of C that learns
    preparation: str = ""  # of events, before the network sees them; empty: none
    temperature: float = 0.0  # of the shares that evidence is summed from; 0: votes decide

    @property
    def coordinates(self) -> tuple[str, ...]:
        """C variables of an event's coordinates."""
        return COORDINATES[: len(self.plans[0].stage.field)]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Of the field, then how many polarities."""
        return (*self.plans[0].stage.field, self.plans[0].stage.polarities)

    @property
    def decides(self) -> str:
        """Member of the struct that decides."""
        return "evidence" if self.temperature else "votes"

    @property
    def score(self) -> str:
        """C type of the last layer's scores."""
        weights = self.weights[-1]
        return "int64_t" if self.plans[-1].running and weights.sum != "float" else weights.sum

    @property
    def unit_class(self) -> str:
        """C of the class of a unit of the last layer, after its number."""
        per_class = self.plans[-1].stage.units_per_class
        return "" if per_class == 1 else f" / {per_class}u"

    def weighs(self, plan: LayerPlan) -> bool:
        """Whether this layer's scores become evidence."""
        return self.temperature > 0 and plan.number == len(self.plans)

    @property
    def start(self) -> int:
        """Where the clock begins: so late that at time 0 everything has decayed."""
        feedback = [limit(plan.stage.feedback_tau) for plan in self.plans] if self.learning else []
        return max([*feedback, *(plan.limit for plan in self.plans)]) + 1

    def times(self) -> list[tuple[str, int]]:
        """Members of the struct that hold times, and how many."""
        return [(name, size) for _, name, size, _ in self.fields() if name.startswith(("context", "spoke"))]

    def memory(self) -> list[str]:
        """Arrays of the struct that a reset clears."""
        learned = dict(self.learning.learned(self)) if self.learning else {}
        return [name for _, name, size, _ in self.fields() if size and name not in learned]

    def fields(self) -> list[Field]:
        """Members of the struct, the largest types first."""
        found: list[Field] = [
            ("uint32_t", "votes", len(self.classes), "events per class since the last reset"),
            ("uint32_t", "clock", 0, "us, on the network's own clock"),
            ("uint32_t", "latest", 0, "t of the latest event"),
        ]
        if self.temperature:
            found.append(
                ("int64_t", "evidence", len(self.classes), f"sum of log2(share of a class + {DOUBT:g}), times 2^20")
            )
        if self.temperature and not self.learning:
            found.append((self.score, "scores", len(self.weights[-1].half), "latest event: scores of the last layer"))
        for plan, weights in zip(self.plans, self.weights, strict=True):
            k, stage = plan.number, plan.stage
            found.append(("uint32_t", f"context{k}", plan.context, f"layer {k}: when each of its inputs last fired"))
            if plan.running:
                found.append(
                    (weights.sum, f"dots{k}", plan.blocks * stage.units, f"layer {k}: surface times centroids")
                )
                found.append(("uint32_t", f"halvings{k}", plan.blocks, f"layer {k}: when the dot products were halved"))
        found += self.learning.fields(self) if self.learning else []
        found += [
            ("uint16_t", "fired", len(self.plans), "latest event: the closest unit of each layer that it reached"),
            ("uint8_t", "passed", 0, "latest event: layers that let it pass"),
            ("uint8_t", "started", 0, "whether there was an event since the last reset"),
        ]
        return sorted(found, key=lambda field: -SIZES[field[0]])
