"""What each choice behind Table 1 is worth: one choice changed at a time, several networks each.

Run: python benchmarks/table1_choices.py [networks] [JSON file]
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from timesurf import Full, Network, Tile
from timesurf.datasets import sentences
from timesurf.presets import SENTENCES
from timesurf.results import machine

PRINTED = (
    Tile((5, 5), units=3, tau="1 s"),
    Tile((3, 1), units=6, tau="1 ms", feedback_tau="100 ms"),
    Full(tau="1 ms", feedback_tau="10 ms"),
)


def first_tau(tau: str) -> tuple:
    """The layers with another tau in the first."""
    return (replace(SENTENCES.layers[0], tau=tau), *SENTENCES.layers[1:])


def with_rule(**changes):
    """The preset with changes of its rule."""
    return replace(SENTENCES, rule=replace(SENTENCES.rule, **changes))


CHOICES = {
    "as published here": SENTENCES,
    "beta 1e-5, as the paper prints it": with_rule(beta=1e-5),
    "beta 3e-5": with_rule(beta=3e-5),
    "time constants as the paper prints them": replace(SENTENCES, layers=PRINTED),
    "first tau 1 ms": replace(SENTENCES, layers=first_tau("1 ms")),
    "first tau 5 ms": replace(SENTENCES, layers=first_tau("5 ms")),
    "threshold kernel as printed, d 0.3": with_rule(kernel="centre"),
    "threshold kernel as printed, d 3": with_rule(kernel="centre", d=3.0),
    "no competition": with_rule(competition=False),
    "d 0.1": with_rule(d=0.1),
    "threshold margin 1.2": replace(SENTENCES, margin=1.2),
    "more noise at the start (zeta 0.5)": replace(SENTENCES, zeta=0.5),
    "rates three times as large": with_rule(alpha=3e-4, beta=3e-4, gamma=3e-4, delta=1.5e-5),
}


def one(preset, seed: int) -> tuple[float, float]:
    """Event accuracy and kept events of one network."""
    train, test = sentences.make(1000, [seed, 0]), sentences.make(400, [seed, 1])
    network: Network = preset.network(train, sentences.TASK1, seed).fit(train, **preset.training())
    found = network.evaluate(test)
    return found["event_accuracy"], found["kept"]


def main(networks: int = 4, path: str | None = None) -> None:
    """Train networks for every choice, print, and write the figures."""
    result = {"networks": networks, "machine": machine.describe(), "choices": {}}
    for name, preset in CHOICES.items():
        with ThreadPoolExecutor() as pool:
            accuracy, kept = zip(*pool.map(lambda seed, p=preset: one(p, seed), range(networks)), strict=True)
        result["choices"][name] = {"event_accuracy": accuracy, "kept": kept}
        shown = ", ".join(f"{a:.1%} ({k:.0%})" for a, k in zip(accuracy, kept, strict=True))
        print(f"{name:42s} mean {np.mean(accuracy):.2%}   event accuracy (kept): {shown}", flush=True)
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)


if __name__ == "__main__":
    main(*(int(word) if word.isdigit() else word for word in sys.argv[1:]))
