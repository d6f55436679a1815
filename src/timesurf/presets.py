"""Networks with all their settings, by name: what a table of the paper was made with, or a good place to start."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from timesurf.events import Recordings
from timesurf.init import Start
from timesurf.layers import Full, Layer, Tile, Window
from timesurf.model import Network
from timesurf.modelfile import layer_to_dict
from timesurf.rule import Rule


@dataclass(frozen=True, slots=True)
class Preset:
    """Layers, rule and training of one kind of network."""

    layers: tuple[Layer, ...]
    rule: Rule = field(default_factory=Rule)
    passes: int = 6
    batch_size: int | None = None
    decay: bool = False
    start: Start = "mean"
    zeta: float = 0.1
    margin: float = 1.4
    sample: int = 20

    def network(self, recordings: Recordings, classes: Any, seed: int | None, **options: Any) -> Network:
        """An untrained network for such recordings."""
        return Network(
            self.layers, recordings.field, recordings.polarities, classes, rule=self.rule, seed=seed, **options
        )

    def training(self) -> dict[str, Any]:
        """Arguments of `Network.fit`."""
        return {**self.starting(), "passes": self.passes, "batch_size": self.batch_size, "decay": self.decay}

    def starting(self) -> dict[str, Any]:
        """Arguments of `Network.start` and of `Network.extend`."""
        return {"start": self.start, "zeta": self.zeta, "margin": self.margin, "sample": self.sample}

    def to_dict(self) -> dict[str, Any]:
        """All settings, ready for JSON."""
        layers, rule = [layer_to_dict(layer) for layer in self.layers], self.rule.to_dict()
        margin = self.margin if math.isfinite(self.margin) else None  # JSON knows no infinity
        return {**asdict(self), "layers": layers, "rule": rule, "margin": margin}


# The paper's three layers: characters, words, sentences. Its time constants, read in thousandths: as printed, 1 ms in
# layers 2 and 3 spans hundreds of events and makes every event of a sentence look alike (docs/table1.md).
SENTENCES = Preset(
    layers=(
        Tile((5, 5), units=3, tau="2 ms"),
        Tile((3, 1), units=6, tau="1 us", feedback_tau="100 us"),
        Full(tau="1 us", feedback_tau="10 us"),
    ),
)

# The paper's network for digits, in batches, with rates that fall. The printed alpha of 5e-3 diverges; beta only hurts.
NMNIST = Preset(
    layers=(Window(9, units=32, tau="10 ms"), Full(tau="1 ms")),
    rule=Rule(alpha=2e-4, beta=0.0, gamma=0.0, delta=2.5e-7, d=0.3),
    passes=60,
    batch_size=16,
    decay=True,
    start="kmeans",
    margin=1.2,
    sample=500,
)

PRESETS = {"sentences": SENTENCES, "nmnist": NMNIST}
