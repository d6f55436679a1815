"""Suits of playing cards, POKER-DVS, classified by the preset `camera`: five folds.

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
    folds, correct = [], 0
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(suits, suits):
        preset = named("camera", len(train))
        network = preset.network(recordings, np.unique(suits), 0).fit(recordings[train], **preset.training())
        figures = network.evaluate(recordings[test])
        folds.append({name: figures[name] for name in ("recording_accuracy", "kept")})
        correct += round(figures["recording_accuracy"] * len(test))
        print(f"fold {len(folds)}: recording accuracy {figures['recording_accuracy']:.1%}", flush=True)
    print(f"{correct} of {len(suits)} recordings classified correctly")
    if json_file:
        with open(json_file, "w", encoding="utf-8") as out:
            json.dump(
                {"folds": folds, "right": correct, "recordings": len(suits), "machine": machine.describe()},
                out,
                indent=1,
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
