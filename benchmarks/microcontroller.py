"""What exported C takes on a microcontroller: accuracy, RAM, flash, instructions per event, for four networks.

Run: python benchmarks/microcontroller.py FOLDER [--models FOLDER] [--only NETWORK] [--json FILE]

FOLDER has nmnist_train_1000.npz and braille_touch_1348.npz. One of five folds is tested on; scales of int16 and int8
come from the recordings that the network learned from. Networks are trained once and kept in the folder of models.
Instructions are counted by QEMU (examples/microcontroller); the host's speed stands beside that of the engine that
numba compiles, event by event.
"""

import argparse
import importlib.util
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from timesurf import Network, export, presets
from timesurf.datasets import nmnist, sentences
from timesurf.engines import pack
from timesurf.engines.cpu import engine
from timesurf.export import check
from timesurf.io import npz
from timesurf.learning import split
from timesurf.results import machine
from timesurf.rule import Rule

NUMBERS = ("float32", "int16", "int8")
EVENTS = 10_000  # on the emulated processor, about


def fold(recordings):
    held = split.folds(np.asarray(recordings.labels), 5, np.random.default_rng(0)) == 0
    return recordings[np.flatnonzero(~held)], recordings[np.flatnonzero(held)]


def digits(folder, units):
    train, test = fold(nmnist.prepared(npz.read(folder / "nmnist_train_1000.npz")))
    preset = presets.nmnist(len(train), units=units)
    return train, test, lambda: preset.network(train, train.classes, 0).fit(train, **preset.training())


def braille(folder):
    train, test = fold(npz.read(folder / "braille_touch_1348.npz"))
    return train, test, lambda: Network.for_data(train, seed=0).fit(train)


def words(folder):
    train, test, preset = sentences.make(1000, seed=0), sentences.make(200, seed=1), presets.SENTENCES
    return train, test, lambda: preset.network(train, train.classes, 0).fit(train, **preset.training())


NETWORKS = {
    "sentences": words,
    "digits32": lambda folder: digits(folder, 32),
    "digits64": lambda folder: digits(folder, 64),
    "braille": braille,
}


def event_by_event(network, recordings):
    """Seconds per event of the online kernel with all rates 0."""
    batch, rule, best = pack(recordings), Rule(alpha=0, beta=0, gamma=0, delta=0), np.inf
    for _ in range(4):
        began = time.process_time()
        engine.learn_online(network.stages, network.snapshot(), rule, batch)
        best = min(best, time.process_time() - began)
    return best / len(batch.entry)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", type=Path, default=Path("models"))
    parser.add_argument("--only", choices=list(NETWORKS))
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    place = Path(__file__).parents[1] / "examples" / "microcontroller" / "run.py"
    about = importlib.util.spec_from_file_location("firmware", place)
    firmware = importlib.util.module_from_spec(about)
    about.loader.exec_module(firmware)
    if firmware.missing():
        sys.exit(f"Not installed: {', '.join(firmware.missing())}.")
    args.models.mkdir(exist_ok=True)
    result = json.loads(args.json.read_text()) if args.json and args.json.exists() else {"networks": {}}
    for name in [args.only] if args.only else NETWORKS:
        train, test, fitted = NETWORKS[name](args.folder)
        model = args.models / f"{name}.tsf"
        if not model.exists():
            fitted().save(model)
        network = Network.load(model)
        some = test[: max(1, int(EVENTS / test.counts.mean()))]
        row = {"numba_ns": 1e9 * event_by_event(network, some)}
        for numbers in NUMBERS:
            made = export.prepared(network, "net", numbers=numbers, calibration=train)
            with tempfile.TemporaryDirectory() as temporary:
                size = firmware.build(made, Path(temporary))
                emulated = firmware.run(some, Path(temporary))
            row[numbers] = {"firmware": size | emulated, "check": check.compare(made, network, test)}
            print(name, numbers, row[numbers], flush=True)
        result["networks"][name] = row
        result["machine"] = machine.describe()
        if args.json:
            args.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
