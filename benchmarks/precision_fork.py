"""Does a network learn worse in float32, or only something else? One network from starts that hardly differ.

Online learning decides after every event, so rounding may send a network to another solution than exact arithmetic
would. Whether that solution is worse by chance or by precision shows if the start is changed as little as rounding
changes it: each centroid by a factor of 1 + 1e-7 x N(0, 1), in both precisions.

    python benchmarks/precision_fork.py --seed 2 --number 2 --json benchmarks/results/precision_fork.json
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from timesurf.datasets import sentences
from timesurf.learning.start import Starting
from timesurf.network import Network
from timesurf.paper import table1
from timesurf.presets import SENTENCES
from timesurf.results import machine

APART = 1e-7  # of one start from another, relative


def event_accuracy(train: Any, test: Any, seed: int, precision: str, draw: int) -> float:
    """Of the preset's network for sentences, from the start that its seed gives, changed by this draw; 0: as it is."""
    fitting = SENTENCES.training()
    network: Network = SENTENCES.network(train, sentences.TASK1, seed, threads=1, precision=precision)
    network.start(train, **{name: fitting.pop(name) for name in Starting.__annotations__ if name in fitting})
    rng = np.random.default_rng(draw)
    for units in network.parameters if draw else ():
        units.centroids *= 1 + APART * rng.normal(size=units.centroids.shape)
    network.train(train, **fitting)
    return float(network.evaluate(test)["event_accuracy"])


def run(seed: int, number: int, starts: int, recordings: int) -> dict[str, Any]:
    """Event accuracy from each start, per precision."""
    train, test, network_seed = table1.drawn(seed, number, recordings)
    found: dict[str, list[float]] = {"float64": [], "float32": []}
    for draw in range(starts):
        for precision, accuracies in found.items():
            accuracies.append(event_accuracy(train, test, network_seed, precision, draw))
            print(f"start {draw}, {precision}: {accuracies[-1]:.2%}", flush=True)
    settings = {"seed": seed, "number": number, "recordings": recordings, "apart": APART}
    return {"event_accuracy": found, "settings": settings, "machine": machine.describe()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=2, help="as of `timesurf bench continual`")
    parser.add_argument("--number", type=int, default=2, help="which of its networks, from 0")
    parser.add_argument("--starts", type=int, default=40)
    parser.add_argument("--recordings", type=int, default=1000, help="to learn from, and as many to test on")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    result = run(given.seed, given.number, given.starts, given.recordings)
    if given.json:
        given.json.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
