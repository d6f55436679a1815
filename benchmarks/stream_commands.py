"""`timesurf stream` beside `timesurf predict`: whole commands, on the same file, with the network of default training.

Run: TIMESURF_DATA=FOLDER python benchmarks/stream_commands.py --json stream_commands.json

One long recording as .npz, .csv and .aedat4, and many recordings in one .npz: digits, real ones where TIMESURF_DATA has
nmnist_train_1000.npz, and three copies of a digit that wander over 346 x 260 pixels. `predict` runs recordings side by
side on all cores, a stream is one recording on one core. Each command runs several times in turn; the fastest counts,
by the clock and by processor time, with the start of the program.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from timesurf import Network, Recordings
from timesurf.datasets import digits, nmnist, wandering
from timesurf.io import camera, npz
from timesurf.io.playback import in_turn
from timesurf.results import machine

KINDS = {"one in .npz": "one.npz", ".csv": "one.csv", ".aedat4": "one.aedat4", "many in .npz": "many.npz"}


def data():
    """By name: what to train on, and what to predict and stream."""
    real = Path(os.environ.get("TIMESURF_DATA", "")) / nmnist.SAMPLE
    some = nmnist.read(real) if real.is_file() else digits.load("train")
    moving = wandering.wander(digits.load("test")[:4], duration="20 s", seed=3)
    return {"digits": (some[:300], some), "wandering": (wandering.load("train")[::3], moving)}


def write(folder, recordings):
    """The same recordings in all kinds of files."""
    npz.write(folder / "many.npz", recordings)
    events = np.concatenate(list(in_turn(recordings)))
    one = Recordings.from_structured([events], field=recordings.field, polarities=recordings.polarities)
    for name in ("one.npz", "one.csv", "one.aedat4"):
        (npz if name.endswith(".npz") else camera).write(folder / name, one)


def timed(folder, *command):
    """Seconds by the clock, and of processor time."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-m", "timesurf", *command], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    took, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(folder, repeats):
    """For every kind of file the fastest of each command, and the speed of `stream` as a share of `predict`'s."""
    found = {}
    for kind, file in KINDS.items():
        commands = {"predict": ["m.tsf", file, "--out", "d.csv"], "stream": ["m.tsf", "--from", file]}
        took = [{name: timed(folder, name, *how) for name, how in commands.items()} for _ in range(repeats)]
        for n, clock in enumerate(("seconds", "busy_seconds")):
            best = {name: min(one[name][n] for one in took) for name in commands}
            found.setdefault(kind, {})[clock] = best | {"stream_to_predict": best["predict"] / best["stream"]}
        print(kind, found[kind], flush=True)
    return found


def main():
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    result = {"machine": machine.describe(), "data": {}}
    for name, (learn, played) in data().items():
        with tempfile.TemporaryDirectory() as place:
            Network.for_data(learn, seed=0).fit(learn).save(Path(place) / "m.tsf")
            write(Path(place), played)
            print(f"{name}: {int(played.counts.sum()):,} events", flush=True)
            result["data"][name] = {
                "events": int(played.counts.sum()),
                "files": measured(Path(place), given.repeats),
            }
        if given.json:
            given.json.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
