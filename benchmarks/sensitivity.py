"""How much each setting matters: one changed at a time, for sentences and for digits.

Run: python benchmarks/sensitivity.py mnist.npz [JSON file] [PNG file]    (a quarter of an hour on two cores)

Sentences: event accuracy, mean of two networks. Digits: recording accuracy of one network that learns from 1,000
simulated recordings and is tested on 2,000 others.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from timesurf import plots
from timesurf.datasets import mnist, nmnist, saccades, sentences
from timesurf.presets import SENTENCES
from timesurf.presets import nmnist as preset
from timesurf.results import machine

FACTORS = (0.1, 0.3, 1, 3, 10)
DIGITS = replace(preset(1000), passes=15)
FIGURES = {"sentences": "event_accuracy", "digits": "recording_accuracy"}  # what each study measures


def rate(name, extra=None):
    """Multiply a rate by a factor; one that is 0 in the preset becomes `extra` times the factor."""

    def changed(base, factor):
        value = getattr(base.rule, name)
        return replace(base, rule=replace(base.rule, **{name: factor * (value or extra)}))

    return changed


def tau(layer, name="tau"):
    """Multiply a time constant of a layer."""

    def changed(base, factor):
        layers = list(base.layers)
        layers[layer] = replace(layers[layer], **{name: factor * getattr(layers[layer], name)})
        return replace(base, layers=tuple(layers))

    return changed


def number(name):
    """Multiply another setting of the preset."""

    def changed(base, factor):
        value = getattr(base, name)
        scaled = factor * value
        return replace(base, **{name: max(round(scaled), 1) if isinstance(value, int) else scaled})

    return changed


def units(base, factor):
    """Multiply the number of units of the first layer."""
    return replace(base, layers=(replace(base.layers[0], units=round(32 * factor)), *base.layers[1:]))


RATES = {name: rate(name) for name in ("alpha", "beta", "gamma", "delta", "d")}
STUDIES = {
    "sentences": RATES
    | {"tau 1": tau(0), "tau 2": tau(1), "tau 3": tau(2), "feedback tau 2": tau(1, "feedback_tau")}
    | {"feedback tau 3": tau(2, "feedback_tau"), "zeta": number("zeta"), "margin": number("margin")},
    "digits": RATES
    | {"beta": rate("beta", 2e-6), "gamma": rate("gamma", 2.5e-6)}
    | {"tau 1": tau(0), "tau 2": tau(1), "feedback tau 2": tau(1, "feedback_tau"), "margin": number("margin")}
    | {"batch size": number("batch_size"), "passes": number("passes"), "units": units},
}
# Settings that make no sense, or take too long, ten times larger or smaller.
LIMITED = {
    "zeta": (0.1, 0.3, 1, 3),
    "margin": (0.7, 0.85, 1, 1.4, 2),
    "passes": (0.1, 0.3, 1),
    "units": (0.25, 0.5, 1, 2),
}


def on_sentences(settings):
    """Event accuracy and kept events on sentences, mean of two networks."""
    accuracies, kept = [], []
    for seed in (0, 1):
        train, test = sentences.make(1000, [seed, 0]), sentences.make(300, [seed, 1])
        network = settings.network(train, sentences.TASK1, seed, threads=1).fit(train, **settings.training())
        figures = network.evaluate(test)
        accuracies.append(figures["event_accuracy"])
        kept.append(figures["kept"])
    return {"event_accuracy": sum(accuracies) / 2, "kept": sum(kept) / 2}


def on_digits(train, test, settings):
    """Recording accuracy and kept events on digits."""
    network = settings.network(train, range(10), 0, threads=1).fit(train, **settings.training())
    figures = network.evaluate(test)
    return {name: figures[name] for name in ("recording_accuracy", "kept")}


def draw(studies):
    """Draw accuracy as one setting at a time is multiplied: one row of panels per study, one panel per setting."""
    names = {study: list(dict.fromkeys(row["setting"] for row in about["changed"])) for study, about in studies.items()}
    columns = max(map(len, names.values()))
    fig, axes = plots.figure(len(studies), columns, (1.5 * columns, 2.4 * len(studies)))
    for row_of_axes, (study, about) in zip(axes, studies.items(), strict=True):
        for ax in row_of_axes[len(names[study]) :]:
            ax.set_axis_off()
        for ax, name in zip(row_of_axes, names[study], strict=False):
            points = {row["factor"]: row[FIGURES[study]] for row in about["changed"] if row["setting"] == name}
            points.setdefault(1, about["as_preset"][FIGURES[study]])
            ax.plot(*zip(*sorted(points.items()), strict=True), marker=".", markersize=8)
            ax.axvline(1, color="grey", linewidth=0.8, linestyle=":")
            ax.set(xscale="log", ylim=(0, 1.02), xlim=(0.08, 12.5), xticks=(0.1, 1, 10), title=name)
            ax.set_xticklabels(("/10", "1", "x10"))
            ax.title.set_fontsize(9)
            ax.label_outer()
        row_of_axes[0].set_ylabel(study)
    return fig


def main(images_file, json_file=None, png_file=None):
    """Train a network for every changed setting, print, and write the figures."""
    images, labels = mnist.read(images_file)
    recordings = nmnist.prepared(saccades.simulate(images[1000:4000], labels[1000:4000]))
    train, test = recordings[:1000], recordings[1000:]
    bases = {"sentences": SENTENCES, "digits": DIGITS}
    judges = {"sentences": on_sentences, "digits": lambda settings: on_digits(train, test, settings)}
    tasks = [
        (study, name, factor)
        for study, settings in STUDIES.items()
        for name in settings
        for factor in LIMITED.get(name, FACTORS)
        if factor != 1 or name in ("beta", "gamma")
    ]

    def one(task):
        study, name, factor = task
        try:
            figures = judges[study](STUDIES[study][name](bases[study], factor))
        except Exception as error:  # training may diverge, which is a result too
            figures = {FIGURES[study]: 0.0, "kept": 0.0, "error": str(error)}
        accuracy = figures[FIGURES[study]]
        print(f"{study:10s} {name:15s} x {factor:<5g} {accuracy:.2%}, kept {figures['kept']:.1%}", flush=True)
        return {"setting": name, "factor": factor, **figures}

    with ThreadPoolExecutor(machine.describe()["cores"]) as pool:
        starts = dict(zip(bases, pool.map(lambda study: judges[study](bases[study]), bases), strict=True))
        rows = list(pool.map(one, tasks))
    result = {
        study: {
            "preset": bases[study].to_dict(), "as_preset": starts[study],
            "changed": [row for task, row in zip(tasks, rows, strict=True) if task[0] == study],
        }
        for study in bases
    } | {"machine": machine.describe()}  # fmt: skip
    for study in bases:
        print(study, "with the preset:", starts[study])
    if json_file:
        with open(json_file, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
    if png_file:
        draw({study: result[study] for study in bases}).savefig(png_file, dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:])
