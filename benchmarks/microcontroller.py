"""What exported C takes on a microcontroller: accuracy, RAM, flash, instructions per event, for four networks.

Run: python benchmarks/microcontroller.py FOLDER [--folds 5] [--models FOLDER] [--only NETWORK] [--json FILE]

FOLDER has nmnist_train_1000.npz and braille_touch_1348.npz. Each of so many of five folds is tested on by a network
that learned from the others; scales of int16 and int8 come from what it learned from. Sentences are made, so they have
one fold. Networks are trained once and kept in the folder of models.
Instructions are counted by QEMU (examples/microcontroller), on the first fold; where it or the cross compiler is not
installed, they and the size of the firmware are left out. The host's speed, one core, stands beside that of the kernels
that numba compiles for one event after another: the shortest of runs that take turns.
`python -m benchmarks.microcontroller_tables` writes the figures into docs/howto/microcontroller.md.
"""

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from timesurf import Network, export, presets
from timesurf.datasets import nmnist, sentences
from timesurf.engines import Options, pack
from timesurf.engines.cpu import engine
from timesurf.export import check, compiled
from timesurf.io import npz
from timesurf.learning import split
from timesurf.results import machine
from timesurf.rule import Rule

NUMBERS = ("float32", "int16", "int8")
FOLDS = 5
SEED = 0  # of folds, networks and sentences; sentences to test on have the next
EVENTS = 10_000  # on the emulated processor, about
TIMED = 100_000  # on the host, about
HOST = ("-O3", "-march=native")  # as numba compiles for the processor that it runs on
TURNS = 5


def parted(recordings, fold):
    held = split.folds(np.asarray(recordings.labels), FOLDS, np.random.default_rng(SEED)) == fold
    return recordings[np.flatnonzero(~held)], recordings[np.flatnonzero(held)]


def digits(folder, fold, units):
    train, test = parted(nmnist.prepared(npz.read(folder / "nmnist_train_1000.npz")), fold)
    preset = presets.nmnist(len(train), units=units)
    return train, test, lambda: preset.network(train, train.classes, SEED).fit(train, **preset.training())


def braille(folder, fold):
    train, test = parted(npz.read(folder / "braille_touch_1348.npz"), fold)
    return train, test, lambda: Network.for_data(train, seed=SEED).fit(train)


def words(folder, fold):
    train, test, preset = sentences.make(1000, seed=SEED), sentences.make(1000, seed=SEED + 1), presets.SENTENCES
    return train, test, lambda: preset.network(train, train.classes, SEED).fit(train, **preset.training())


NETWORKS = {
    "sentences": words,
    "digits32": lambda folder, fold: digits(folder, fold, 32),
    "digits64": lambda folder, fold: digits(folder, fold, 64),
    "braille": braille,
}


def first(recordings, events):
    """So many recordings that they have about so many events."""
    return recordings[: max(1, int(events / recordings.counts.mean()))]


def firmware():
    """The module that builds and emulates the example firmware; None where its tools are not installed."""
    place = Path(__file__).parents[1] / "examples" / "microcontroller" / "run.py"
    about = importlib.util.spec_from_file_location("firmware", place)
    module = importlib.util.module_from_spec(about)
    about.loader.exec_module(module)
    if module.missing():
        print(f"No firmware: {', '.join(module.missing())} not installed.", file=sys.stderr)
        return None
    return module


def cross_compiler():
    """Name and version of what compiles the firmware."""
    name = check.CROSS[0]
    return f"{name} {subprocess.run([name, '-dumpversion'], check=True, capture_output=True, text=True).stdout.strip()}"


def laid_out(network, numbers, train):
    return export.prepared(network, "net", numbers=numbers, calibration=train)


def event_by_event(network, batch, precision):
    """Seconds of the online kernel with all rates 0."""
    still = Rule(alpha=0, beta=0, gamma=0, delta=0)
    began = time.process_time()
    engine.learn_online(network.stages, network.snapshot(), still, batch, Options(precision=precision))
    return time.process_time() - began


def speeds(network, train, recordings):
    """Nanoseconds per event on this machine, by votes: the C in each kind of numbers, and numba's kernels."""
    network.decides = "votes"  # the online kernel sums no evidence
    batch, (table, _) = pack(recordings), compiled.commands(recordings)
    with tempfile.TemporaryDirectory() as place:
        runs = {
            f"numba, {name}": lambda name=name: event_by_event(network, batch, name) for name in ("float64", "float32")
        }
        for numbers in NUMBERS:
            model, folder = laid_out(network, numbers, train), Path(place, numbers)
            export.write(model, folder)
            program = compiled.build(model, folder, HOST)
            runs[numbers] = lambda program=program: program.run(table).seconds
        seconds = [{name: run() for name, run in runs.items()} for _ in range(TURNS)]
    return {name: 1e9 / len(batch.entry) * min(turn[name] for turn in seconds) for name in runs}


def pooled(found):
    """Figures of all folds together, weighted by their recordings; sizes of the first."""
    weight = [figures["recordings"] for figures in found]
    shares = [
        name for name in ("decisions", *(p + f for p in ("", "network_") for f in check.FIGURES)) if name in found[0]
    ]
    return found[0] | {"recordings": sum(weight), "events": sum(figures["events"] for figures in found)} | {
        name: float(np.average([figures[name] for figures in found], weights=weight)) for name in shares
    }  # fmt: skip


def measured(name, args, emulator):
    """All figures of one network."""
    checks, row = {numbers: [] for numbers in NUMBERS}, {numbers: {} for numbers in NUMBERS}
    for fold in range(1 if name == "sentences" else args.folds):
        train, test, fitted = NETWORKS[name](args.folder, fold)
        file = args.models / f"{name}_{fold}.tsf"
        if not file.exists():
            fitted().save(file)
        network = Network.load(file)
        models = {numbers: laid_out(network, numbers, train) for numbers in NUMBERS}
        for numbers, model in models.items():
            checks[numbers].append(check.compare(model, network, test))
            print(name, fold, numbers, checks[numbers][-1], flush=True)
        if fold == 0:
            row["ns_per_event"] = speeds(Network.load(file), train, first(test, TIMED))
            print(name, row, flush=True)
            for numbers, model in models.items() if emulator else ():
                with tempfile.TemporaryDirectory() as place:
                    size = emulator.build(model, Path(place))
                    row[numbers]["firmware"] = size | emulator.run(first(test, EVENTS), Path(place))
                print(name, numbers, row[numbers], flush=True)
    for numbers, found in checks.items():
        row[numbers] |= {"check": pooled(found), "folds": found}
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--folds", type=int, choices=range(1, FOLDS + 1), default=1)
    parser.add_argument("--models", type=Path, default=Path("models"))
    parser.add_argument("--only", choices=list(NETWORKS))
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    emulator = firmware()
    args.models.mkdir(exist_ok=True)
    result = json.loads(args.json.read_text("utf-8")) if args.json and args.json.exists() else {"networks": {}}
    for name in [args.only] if args.only else NETWORKS:
        result["networks"][name] = measured(name, args, emulator)
        result |= {"seed": SEED, "machine": machine.describe()}
        if emulator:
            result["cross_compiler"] = cross_compiler()
        if args.json:
            args.json.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
