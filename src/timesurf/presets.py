"""Networks with all their settings, by name: what a table of the paper was made with, or a good place to start."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from timesurf.events import Recordings
from timesurf.init import Start
from timesurf.layers import Full, Layer, Tile
from timesurf.model import Network
from timesurf.modelfile import layer_to_dict
from timesurf.rule import Rule


@dataclass(frozen=True, slots=True)
class Preset:
    """Layers, rule and training of one kind of network."""

    layers: tuple[Layer, ...]
    rule: Rule = field(default_factory=Rule)
    passes: int = 6
    start: Start = "mean"
    zeta: float = 0.1
    margin: float = 1.4

    def network(self, recordings: Recordings, classes: Any, seed: int | None, **options: Any) -> Network:
        """An untrained network for such recordings."""
        return Network(
            self.layers, recordings.field, recordings.polarities, classes, rule=self.rule, seed=seed, **options
        )

    def training(self) -> dict[str, Any]:
        """Arguments of `Network.fit`."""
        return {"passes": self.passes, "start": self.start, "zeta": self.zeta, "margin": self.margin}

    def to_dict(self) -> dict[str, Any]:
        """All settings, ready for JSON."""
        return {**asdict(self), "layers": [layer_to_dict(layer) for layer in self.layers], "rule": self.rule.to_dict()}


# The paper's three layers: characters, words, sentences. Its time constants, read in thousandths: as printed, 1 ms in
# layers 2 and 3 spans hundreds of events and makes every event of a sentence look alike (docs/table1.md).
SENTENCES = Preset(
    layers=(
        Tile((5, 5), units=3, tau="2 ms"),
        Tile((3, 1), units=6, tau="1 us", feedback_tau="100 us"),
        Full(tau="1 us", feedback_tau="10 us"),
    ),
)

PRESETS = {"sentences": SENTENCES}
