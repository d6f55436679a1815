"""Suits of playing cards, POKER-DVS, told by the preset that `timesurf train` takes by default: five folds.

Run: python benchmarks/poker.py poker_dvs_100.npz [JSON file]
"""

import json
import sys

import numpy as np
from sklearn.model_selection import StratifiedKFold

from timesurf.datasets import sources
from timesurf.presets import named
from timesurf.results import machine


def main(file, json_file=None):
    recordings = sources.load(file)
    suits = np.asarray(recordings.labels)
    folds, right = [], 0
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(suits, suits):
        preset = named("camera", len(train))
        network = preset.network(recordings, np.unique(suits), 0).fit(recordings[train], **preset.training())
        figures = network.evaluate(recordings[test])
        folds.append({"majority": figures["majority"], "kept": figures["kept"]})
        right += round(figures["majority"] * len(test))
        print(f"fold {len(folds)}: {figures['majority']:.1%}", flush=True)
    print(f"{right} of {len(suits)} recordings right")
    if json_file:
        with open(json_file, "w") as out:
            json.dump(
                {"folds": folds, "right": right, "recordings": len(suits), "machine": machine.describe()}, out, indent=1
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
