"""How digits depend on batch size, learning rate, time constants, units and depth: what a GPU makes affordable.

Run: python benchmarks/study.py mnist.npz [JSON file] [PNG file] [engine]    (six minutes on one H200)

What the JSON file has already is not measured again.

Learns from events simulated from MNIST's training images, all but the last 3,000, and is tested on those: the test
images are not looked at. One setting or two change at a time, the rest is the preset's. Networks of one shape learn
side by side.
"""

import json
import sys
import time
from dataclasses import replace
from pathlib import Path

from timesurf import Window, plots
from timesurf.bench import gpu
from timesurf.datasets import mnist, nmnist, saccades
from timesurf.learning import together
from timesurf.presets import nmnist as preset
from timesurf.results import machine
from timesurf.storage.atomic import replacing

PASSES, HELD_OUT, FEW = 6, 3000, 10_000
ALPHAS = (0.1, 0.3, 1, 3, 10)  # times the preset's
TAUS_1, TAUS_2 = (1, 3, 6, 10, 30, 100), (1, 3, 10, 20, 50)  # ms
BATCHES = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
UNITS = (4, 8, 16, 32, 64)


class Study:
    """Recordings, and the accuracy of networks on them by what was changed."""

    def __init__(self, images, labels, engine, json_file):
        self.engine, self.json_file = engine, json_file
        self.began, self.figures, self.beside_cpu = time.perf_counter(), {}, {}
        recordings = nmnist.prepared(saccades.simulate(images, labels, engine="cuda" if engine == "cuda" else "cpu"))
        self.train, self.test = recordings[:-HELD_OUT], recordings[-HELD_OUT:]
        base = preset(len(self.train))
        # 100 recordings are enough to start from, and there are many starts
        self.base = replace(base, passes=PASSES, sample=100)
        if json_file and Path(json_file).exists():
            earlier = json.loads(Path(json_file).read_text())
            self.figures, self.beside_cpu = earlier["figures"], earlier["beside_cpu"]
            self.began -= earlier["seconds"]

    def run(self, name, settings, recordings=None):
        """Train networks of one shape, one a setting; settings: presets by what was changed."""
        recordings = self.train if recordings is None else recordings
        rows = self.figures.setdefault(name, [])
        if all(any(dict(changed).items() <= row.items() for row in rows) for changed in settings):
            return
        networks = [of.network(recordings, range(10), 0, engine=self.engine) for of in settings.values()]
        for network, of in zip(networks, settings.values(), strict=True):
            network.start(recordings, **of.starting())
        together.train(networks, recordings, **next(iter(settings.values())).learning())
        for changed, network in zip(settings, networks, strict=True):
            figures = network.evaluate(self.test)
            rows.append(dict(changed) | {"accuracy": figures["majority"], "kept": figures["kept"]})
            print(f"{time.perf_counter() - self.began:6.1f} s  {name}:", rows[-1], flush=True)
        self.write()

    def engines(self, preset):
        """The same start and the same order of recordings on the CPU and on the GPU."""
        few, rows = self.train[:FEW], {}
        network = preset.network(few, range(10), 0).start(few, **preset.starting())
        start = network.snapshot()
        for name in ("cpu", self.engine):
            network.engine, network.history = name, []
            network.restore(start).train(few, **preset.learning())
            figures = network.evaluate(self.test)
            rows[name] = {"accuracy": figures["majority"], "events_right": figures["accuracy"], "kept": figures["kept"]}
            print(f"{time.perf_counter() - self.began:6.1f} s  {name}:", rows[name], flush=True)
        self.beside_cpu = rows | {"agreement": gpu.agreement(network, self.test[:64])}
        print(self.beside_cpu["agreement"], flush=True)
        self.write()

    def write(self):
        """What there is so far: a study that is stopped keeps it."""
        if self.json_file:
            result = {
                "figures": self.figures, "beside_cpu": self.beside_cpu, "train": len(self.train),
                "few": FEW, "test": len(self.test), "preset": self.base.to_dict(),
                "machine": machine.describe(self.engine), "seconds": time.perf_counter() - self.began,
            }  # fmt: skip
            with replacing(Path(self.json_file)) as file:
                file.write(json.dumps(result, indent=1).encode())


def with_taus(base, lower, upper):
    first, last = base.layers
    return replace(base, layers=(replace(first, tau=1000 * lower), replace(last, tau=1000 * upper)))


def with_alpha(base, factor):
    return replace(base, rule=replace(base.rule, alpha=factor * base.rule.alpha))


def main(images_file, json_file=None, png_file=None, engine="cuda"):
    study = Study(*mnist.read(images_file), engine, json_file)
    base = study.base
    first, last = base.layers
    grid = {(("tau_1", a), ("tau_2", b)): with_taus(base, a, b) for a in TAUS_1 for b in TAUS_2}
    study.run("time constants, ms", grid)
    lower = first.tau / 1000
    grid = {
        (("alpha", factor), ("tau_2", b)): with_alpha(with_taus(base, lower, b), factor)
        for factor in ALPHAS
        for b in TAUS_2
    }
    study.run("learning rate and last time constant, ms", grid)
    for size in BATCHES:
        study.run(
            "batch size",
            {(("batch", size), ("alpha", a)): with_alpha(replace(base, batch_size=size), a) for a in (1, 4)},
        )
    for units in UNITS:
        study.run("units", {(("units", units),): replace(base, layers=(replace(first, units=units), last))})
    few = study.train[:FEW]
    if engine != "cpu" and not study.beside_cpu:
        study.engines(replace(preset(FEW), passes=PASSES, sample=100))
    middle = Window(3, units=64, tau=first.tau, feedback_tau="1 ms")
    some = replace(preset(FEW), passes=PASSES, sample=100)
    for name, layers in {"32": some.layers, "32, 64 over 3 x 3": (some.layers[0], middle, some.layers[1])}.items():
        study.run("depth", {(("layers", name),): replace(some, layers=layers)}, few)
    if png_file:
        plots.study(study.figures).savefig(png_file, dpi=150)


if __name__ == "__main__":
    main(*sys.argv[1:])
