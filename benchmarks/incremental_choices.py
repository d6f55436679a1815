"""What each choice behind the five tasks is worth: one choice changed at a time, several networks each.

Run: python benchmarks/incremental_choices.py [networks] [JSON file]
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from timesurf.datasets import sentences
from timesurf.metrics import average_accuracy, forgetting
from timesurf.paper.table2 import PRESET
from timesurf.presets import Preset
from timesurf.results import machine

# As similar as possible to t, which has the same place in every sentence: 8 of 25 pixels differ.
Z = np.array([[c == "*" for c in row] for row in ("*****", "...*.", "..*..", ".*...", "*****")]).T


@dataclass(frozen=True)
class Choice:
    """Settings of one variant."""

    preset: Preset = PRESET
    units: tuple[int, int] = (3, 6)
    tight: bool = True
    tasks: tuple[tuple[str, str], ...] = sentences.TASKS


def upper_tau(tau: str) -> Preset:
    """The preset with another tau in the upper layers."""
    first, *upper = PRESET.layers
    return replace(PRESET, layers=(first, *(replace(layer, tau=tau) for layer in upper)))


CHOICES = {
    "as published here": Choice(),
    "beta 3e-5": Choice(replace(PRESET, rule=replace(PRESET.rule, beta=3e-5))),
    "not tightened": Choice(tight=False),
    "two new units in the first layer, not three": Choice(units=(2, 6)),
    "upper tau 1 us": Choice(upper_tau("1 us")),
    "upper tau 0.1 us": Choice(upper_tau("0.1 us")),
    "z for =, in the third task": Choice(tasks=tuple((a.replace("=", "z"), b) for a, b in sentences.TASKS)),
}


def one(choice: Choice, seed: int) -> list[list[float]]:
    """Event accuracy on every task after every task, for one network."""
    train = [sentences.make(1000, [seed, k, 0], sentences=task) for k, task in enumerate(choice.tasks)]
    test = [sentences.make(200, [seed, k, 1], sentences=task) for k, task in enumerate(choice.tasks)]
    network = choice.preset.network(train[0], choice.tasks[0], seed, threads=1)
    network.fit(train[0], **choice.preset.training())
    rows = []
    for k, data in enumerate(train):
        if k > 0:
            network.extend(data, units=choice.units, classes=choice.tasks[k])
            network.train(data, passes=choice.preset.passes)
        if choice.tight:
            network.tighten(data)
        rows.append([network.evaluate(known)["event_accuracy"] for known in test[: k + 1]])
    return rows


def main(networks: int = 4, path: str | None = None) -> None:
    """Train networks for every choice, print, and write the figures."""
    sentences.CHARACTERS["z"] = Z
    result = {"networks": networks, "machine": machine.describe(), "choices": {}}
    for name, choice in CHOICES.items():
        with ThreadPoolExecutor() as pool:
            rows = list(pool.map(lambda seed, c=choice: one(c, seed), range(networks)))
        result["choices"][name] = rows
        averages = [average_accuracy(r) for r in rows]
        shown = ", ".join(f"{a:.1%}" for a in averages)
        lost = 100 * np.mean([forgetting(r) for r in rows])
        print(f"{name:44s} average {np.mean(averages):.2%} ({shown}), forgetting {lost:.2f} points", flush=True)
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)


if __name__ == "__main__":
    main(*(int(word) if word.isdigit() else word for word in sys.argv[1:]))
