"""Does a second hidden layer pay? Digits, spoken digits with a new speaker, braille touch: one layer against two.

    python benchmarks/depth.py FOLDER --processes 8 --json benchmarks/results/depth.json

FOLDER holds the real recordings. The first network is the default's, chosen from the training recordings, but never
moved, so that all hidden layers rest. The others have one more k-means layer between its hidden and its last layer,
over 3 places per dimension, with the time constant of the layer below or four times that; the temperature of the last
layer follows from the data by the same law. The last one has as many units as these in its one hidden layer.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from timesurf import Network, Window
from timesurf.bench import processes, senses
from timesurf.engines import load
from timesurf.learning import law as laws
from timesurf.learning.law import Law
from timesurf.learning.probe import mean_surfaces
from timesurf.results import machine

DATA = {"N-MNIST, real thousand": 3, "spoken digits, new speaker": 4, "braille touch": 3}  # and how many splits
NETWORKS = ("one layer", "two layers, tau x 1", "two layers, tau x 4", "one layer, twice the units")
SAMPLE = 100  # recordings that the temperature is found from


@dataclass(frozen=True)
class Job:
    """One network on one split."""

    data: str
    seed: int
    network: str
    folder: Path
    small: int | None

    def __str__(self) -> str:
        return f"{self.data}, seed {self.seed}, {self.network}"


def measure(job: Job) -> dict[str, Any]:
    """Recording accuracy on recordings that were not learned from, and on those that were."""
    train, test = senses.split_of(job.data, job.folder, job.seed, job.small)
    found = laws.law(train, threads=1, seed=job.seed)
    window, last = found.layers
    assert isinstance(window, Window)
    if job.network.startswith("two"):
        slower = 4 if job.network.endswith("4") else 1
        second = Window(3, units=window.units, tau=slower * float(window.tau))
        layers: tuple[Any, ...] = (window, second, last)
    elif job.network.endswith("units"):
        layers = (replace(window, units=2 * (window.units or 1)), last)
    else:
        layers = found.layers
    network = trained(found, layers, train, job.seed)
    right = {"recording_accuracy": network.evaluate(test)["recording_accuracy"]}
    right["training_accuracy"] = network.evaluate(train)["recording_accuracy"]
    about = {"data": job.data, "seed": job.seed, "network": job.network, "learned_from": len(train)}
    return about | right | {"layers": [str(stage) for stage in network.stages], "tested": len(test)}


def trained(found: Law, layers: tuple[Any, ...], train: Any, seed: int) -> Network:
    """A network of these layers that learned by what the law chose for another."""
    alpha = (*[0.0] * (len(layers) - 1), found.rule.per_layer(len(found.layers))[-1, 0])
    rule = replace(found.rule, alpha=alpha)
    network = Network(layers, train.field, train.polarities, train.classes, rule=rule, threads=1, seed=seed)
    how: dict[str, Any] = found.settings(layers) | {"moved": ()}
    starting = {name: how[name] for name in ("start", "margin", "sample", "hidden")}
    if layers != found.layers:
        network.start(train, **starting)  # to see what the last layer will see
        some = train[np.random.default_rng(seed).permutation(len(train))[:SAMPLE]]
        seen = network.transform(some, len(layers) - 2)
        means = mean_surfaces(load("cpu"), seen, max(layers[-1].taus))
        temperature = laws._temperature(means, network.class_numbers(some))
        network.rule = replace(rule, temperature=temperature)
        starting["hidden"] = [units.centroids for units in network.parameters[:-1]]
    network.fit(train, **(how | starting))
    return network


def main() -> None:
    """Measure and write."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("folder", type=Path)
    asked.add_argument("--processes", type=int, default=1)
    asked.add_argument("--minutes", type=float)
    asked.add_argument("--only", default="", help="data sets with this in their name")
    asked.add_argument("--small", type=int, help="learn from so many recordings at most")
    asked.add_argument("--json", type=Path, required=True)
    given = asked.parse_args()

    def save(result: dict[str, Any]) -> None:
        given.json.write_text(json.dumps(result, indent=1) + "\n", "utf-8")

    plan = processes.Plan(given.processes, given.minutes, lambda line: print(line, flush=True), save)
    splits = [(data, seed) for data, number in DATA.items() if given.only in data for seed in range(number)]
    jobs = [Job(data, seed, network, given.folder, given.small) for data, seed in splits for network in NETWORKS]
    rows: list[dict[str, Any]] = []
    result = {"depth": rows, "machine": machine.describe()}
    for _, row in processes.each(measure, jobs, plan):
        rows.append(row)
        save(result)
    for data in DATA:
        for network in NETWORKS:
            mine = [r["recording_accuracy"] for r in rows if (r["data"], r["network"]) == (data, network)]
            if mine:
                print(f"{data:30s} {network:28s} {np.mean(mine):.1%} of {len(mine)} splits")


if __name__ == "__main__":
    main()
