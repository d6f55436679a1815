"""How accuracy on digits depends on batch size, learning rate, time constants, units and depth, on a GPU.

Run: python benchmarks/study.py mnist.npz [JSON file] [PNG file] [engine]    (six minutes on one H200)

What the JSON file already has is not measured again.

Networks learn from events simulated from MNIST's training images, all but the last 3,000, and are tested on those; the
test images are not used. One or two settings change at a time, the rest is the preset's. Networks of equal shape learn
side by side.
"""

import json
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from timesurf import Window, plots
from timesurf.bench import gpu
from timesurf.datasets import mnist, nmnist, saccades
from timesurf.learning import together
from timesurf.presets import nmnist as preset
from timesurf.results import machine
from timesurf.storage.atomic import replacing

PASSES, HELD_OUT, FEW = 6, 3000, 10_000
ALPHAS = (0.1, 0.3, 1, 3, 10)  # factors of the preset's
TAUS_1, TAUS_2 = (1, 3, 6, 10, 30, 100), (1, 3, 10, 20, 50)  # ms
BATCHES = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
UNITS = (4, 8, 16, 32, 64)


class Study:
    """Recordings, and the accuracy of networks on them by changed setting."""

    def __init__(self, images, labels, engine, json_file):
        self.engine, self.json_file = engine, json_file
        self.began, self.figures, self.beside_cpu = time.perf_counter(), {}, {}
        recordings = nmnist.prepared(saccades.simulate(images, labels, engine="cuda" if engine == "cuda" else "cpu"))
        self.train, self.test = recordings[:-HELD_OUT], recordings[-HELD_OUT:]
        base = preset(len(self.train))
        # there are many networks to start, and 100 recordings are enough for each
        self.base = replace(base, passes=PASSES, sample=100)
        if json_file and Path(json_file).exists():
            earlier = json.loads(Path(json_file).read_text(encoding="utf-8"))
            self.figures, self.beside_cpu = earlier["figures"], earlier["beside_cpu"]
            self.began -= earlier["seconds"]

    def run(self, name, settings, recordings=None):
        """Train networks of equal shape, one per setting; `settings` holds presets by what was changed."""
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
            rows.append(dict(changed) | {name: figures[name] for name in ("recording_accuracy", "kept")})
            print(f"{time.perf_counter() - self.began:6.1f} s  {name}:", rows[-1], flush=True)
        self.write()

    def engines(self, preset):
        """Train from the same start and in the same order on the CPU and on the GPU."""
        few, rows = self.train[:FEW], {}
        network = preset.network(few, range(10), 0).start(few, **preset.starting())
        start = network.snapshot()
        for name in ("cpu", self.engine):
            network.engine, network.history = name, []
            network.restore(start).train(few, **preset.learning())
            figures = network.evaluate(self.test)
            rows[name] = {figure: figures[figure] for figure in ("recording_accuracy", "event_accuracy", "kept")}
            print(f"{time.perf_counter() - self.began:6.1f} s  {name}:", rows[name], flush=True)
        self.beside_cpu = rows | {"agreement": gpu.agreement(network, self.test[:64])}
        print(self.beside_cpu["agreement"], flush=True)
        self.write()

    def write(self):
        """Write the figures so far, so that a study that is stopped keeps them."""
        if self.json_file:
            result = {
                "figures": self.figures, "beside_cpu": self.beside_cpu, "train": len(self.train),
                "few": FEW, "test": len(self.test), "preset": self.base.to_dict(),
                "machine": machine.describe(self.engine), "seconds": time.perf_counter() - self.began,
            }  # fmt: skip
            with replacing(Path(self.json_file)) as file:
                file.write(json.dumps(result, indent=1).encode())


def with_taus(base, lower, upper):
    """The preset with these time constants, in ms."""
    first, last = base.layers
    return replace(base, layers=(replace(first, tau=1000 * lower), replace(last, tau=1000 * upper)))


def with_alpha(base, factor):
    """The preset with a multiple of its alpha."""
    return replace(base, rule=replace(base.rule, alpha=factor * base.rule.alpha))


def draw(figures):
    """Draw recording accuracy as settings change: a map for two at a time, a line for one."""
    columns = min(3, len(figures))
    lines = -(-len(figures) // columns)
    fig, axes = plots.figure(lines, columns, (3.4 * columns, 3.0 * lines))
    for ax in axes.flat[len(figures) :]:
        ax.set_axis_off()
    for ax, (name, rows) in zip(axes.flat, figures.items(), strict=False):
        first, *second = [key for key in rows[0] if key not in ("recording_accuracy", "kept", "recordings")]
        if second and name != "batch size":
            _map(ax, rows, first, second[0])
        else:
            _lines(ax, rows, first, second)
        ax.set_title(name, fontsize=9)
    return fig


def _map(ax, rows, down, across):
    """Draw accuracy as a map of two settings."""
    ys, xs = ([*dict.fromkeys(row[key] for row in rows)] for key in (down, across))
    found = {(row[down], row[across]): 100 * row["recording_accuracy"] for row in rows}
    values = np.array([[found[y, x] for x in xs] for y in ys])
    ax.imshow(values, cmap="viridis", vmin=max(values.max() - 10, 0), vmax=values.max(), aspect="auto")
    middle = values.max() - 5
    for (i, j), value in np.ndenumerate(values):
        ax.text(
            j, i, f"{value:.1f}", ha="center", va="center", fontsize=7, color="white" if value < middle else "black"
        )
    ax.set(xticks=range(len(xs)), yticks=range(len(ys)), xlabel=across, ylabel=down)
    ax.set_xticklabels(xs)
    ax.set_yticklabels(ys)


def _lines(ax, rows, along, by):
    """Draw accuracy over one setting, one line per value of another."""
    for value in dict.fromkeys(row[by[0]] for row in rows) if by else [None]:
        mine = [row for row in rows if not by or row[by[0]] == value]
        label = f"{by[0]} x {value}" if by else None
        ax.plot(
            [str(row[along]).replace(", ", ",\n") for row in mine],
            [100 * row["recording_accuracy"] for row in mine],
            "o-",
            label=label,
        )
    if by:
        ax.legend(fontsize=7)
    ax.set(xlabel=along, ylabel="recording accuracy, %")
    ax.tick_params(axis="x", labelsize=7)


def main(images_file, json_file=None, png_file=None, engine="cuda"):
    """Run the whole study."""
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
        draw(study.figures).savefig(png_file, dpi=150)


if __name__ == "__main__":
    main(*sys.argv[1:])
