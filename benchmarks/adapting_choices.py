"""Does a network that was trained with another beta lose anything while it adapts to recordings that do not change?

Run: python benchmarks/adapting_choices.py [networks] [JSON file]

Networks and recordings are those of `timesurf bench continual`, whose "unshifted" this repeats for some beta.
"""

import json
import sys
from dataclasses import replace

import numpy as np

from timesurf.datasets import sentences
from timesurf.paper import continual, table1
from timesurf.presets import SENTENCES
from timesurf.results import machine

BETAS = ("1e-4", "3e-5")


def one(beta, number):
    """Event accuracy before and after adapting."""
    preset = replace(SENTENCES, rule=replace(SENTENCES.rule, beta=float(beta)))
    network, _, test = table1.train(0, number, 1000, preset=preset)
    calm = np.random.SeedSequence([0, number, 1]).spawn(len(continual.RECORDINGS) + 2)[-2]
    before = network.evaluate(test)["event_accuracy"]
    network.adapt(sentences.make(continual.UNSHIFTED, np.random.default_rng(calm)))
    return before, network.evaluate(test)["event_accuracy"]


def main(networks=10, json_file=None):
    """Train networks with every beta, print, and write the figures."""
    result = {"networks": int(networks), "machine": machine.describe(), "beta": {}}
    for beta in BETAS:
        before, after = zip(*(one(beta, number) for number in range(int(networks))), strict=True)
        result["beta"][beta] = {"before": before, "after": after}
        changed = [100 * (b - a) for a, b in zip(before, after, strict=True)]
        print(f"beta {beta}: points {', '.join(f'{points:.2f}' for points in changed)}", flush=True)
    if json_file:
        with open(json_file, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)


if __name__ == "__main__":
    main(*sys.argv[1:])
