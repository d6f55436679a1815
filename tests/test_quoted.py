"""The figures that README and the pages quote are those of benchmarks/results."""

import json
import re
from pathlib import Path
from statistics import mean

import pytest

ROOT = Path(__file__).parents[1]
README = "../README"
PLACES = {  # result file: {where the figure is in it: (how it is printed, the pages of docs that quote it)}
    "table1": {
        "sup3r.event_accuracy": ("{:.2%}", [README, "table1"]),
        "sup3r.event_accuracy.worst": ("{:.2%}", [README, "table1"]),
        "sup3r.kept": ("{:.2%}", [README, "table1"]),
        "kmeans.event_accuracy": ("{:.2%}", [README, "table1"]),
    },
    "nmnist_real": {
        "sup3r.recording_accuracy": ("{:.1%}", [README, "table3", "rule"]),
        "sup3r.kept": ("{:.1%}", [README, "table3", "rule"]),
        "hots_linear.recording_accuracy": ("{:.1%}", [README, "table3"]),
        "hots_svm.recording_accuracy": ("{:.1%}", [README, "table3"]),
    },
    "nmnist_simulated": {
        "sup3r.recording_accuracy": ("{:.2%}", [README, "table3", "limits", "gpu"]),
        "ann_mnist.recording_accuracy": ("{:.2%}", [README, "table3", "limits", "gpu"]),
    },
    "nmnist_simulated_gpu": {"sup3r.recording_accuracy": ("{:.2%}", ["gpu"])},
    "continual": {
        "adapting.steps.last": ("{:.2%}", [README, "continual"]),
        "adapting.steps.last.worst": ("{:.2%}", [README, "continual"]),
        "ablated.steps.last": ("{:.2%}", [README, "continual"]),
    },
    "continual_three": {"adapting.steps.last": ("{:.2%}", ["continual"])},
    "continual_float32": {
        "adapting.steps.last": ("{:.2%}", ["continual"]),
        "adapting.steps.last.worst": ("{:.2%}", ["continual"]),
    },
    "online": {"learners.timesurf, online.recording_accuracy": ("{:.1%}", ["continual"])},
    "incremental_2": {
        "task1": ("{:.2%}", ["continual", "spiking"]),
        "task2": ("{:.2%}", ["continual", "spiking"]),
        "task1_after": ("{:.2%}", ["continual", "spiking"]),
    },
    "incremental_5": {
        "extended.average_accuracy": ("{:.2%}", [README, "continual"]),
        "unfrozen.average_accuracy": ("{:.2%}", [README, "continual"]),
    },
    "incremental_digits": {
        "extended.average_accuracy": ("{:.1%}", [README, "continual", "limits", "howto/extend"]),
        "together.average_accuracy": ("{:.1%}", [README, "continual", "limits", "howto/extend"]),
    },
    "peers": {
        "per_second.timesurf: same + class layer over 28 x 28 x 32": ("M.1", [README, "speed"]),
        "per_second.timesurf: surfaces + closest unit": ("M.1", [README, "speed"]),
        "per_second.NumPy loop: surfaces + closest unit": ("M.2", [README, "speed"]),
        "per_second.scikit-learn MiniBatchKMeans: closest unit, surfaces given": ("M.1", [README, "speed"]),
    },
    "speed": {
        "networks.nmnist.online.events_per_s": ("M.1", ["limits"]),
        "networks.nmnist.online32.events_per_s": ("M.1", ["limits"]),
        "networks.nmnist.batch.events_per_s": ("M.1", ["limits"]),
        "networks.nmnist.infer.events_per_s": ("M.2", ["speed"]),
        "networks.window.online32.events_per_s": ("M.2", ["speed"]),
        "networks.deeper.online32.events_per_s": ("M.2", ["speed"]),
        "networks.sentences.online32.events_per_s": ("M.2", ["speed"]),
    },
    "latency": {"stream_to_infer": ("{:.0%}", ["stream"])},
    "senses": {
        "senses.N-MNIST, real thousand.default": ("{:.1%}", ["rule"]),
        "senses.spoken digits, new speaker.default": ("{:.1%}", ["limits", "howto/few"]),
        "senses.spoken digits, new speaker.counts_8": ("{:.1%}", ["limits"]),
        "senses.braille touch.default": ("{:.1%}", ["limits"]),
        "senses.braille touch.counts_8": ("{:.1%}", ["limits"]),
        "senses.digits, wandering.default": ("{:.1%}", ["limits"]),
    },
    "wandering_few": {
        "default": ("{:.0%}", ["limits", "howto/moving"]),
        "delta": ("{:.0%}", ["howto/moving"]),
        "hots": ("{:.0%}", ["limits"]),
    },
}
QUOTED = [(file, where, *rest) for file, figures in PLACES.items() for where, rest in figures.items()]


def figure(file, where):
    """A figure of a result file; of a list, the mean over networks or splits, or the worst of them."""
    value = json.loads((ROOT / "benchmarks" / "results" / f"{file}.json").read_text())
    for key in where.removesuffix(".worst").split("."):
        if key == "last":
            value = [of_network[-1] for of_network in value]
        elif isinstance(value, list):
            value = next(of_data for of_data in value if of_data["data"] == key)
        else:
            value = value[key]
    if not isinstance(value, list):
        return value
    return min(value) if where.endswith(".worst") else mean(value)


@pytest.mark.parametrize(("file", "where", "form", "pages"), QUOTED, ids=[f"{q[0]} {q[1]}" for q in QUOTED])
def test_pages_quote_what_was_measured(file, where, form, pages):
    value = figure(file, where)
    printed = f"{value / 1e6:{form[1:]}f} M" if form.startswith("M") else form.format(value).replace("%", " %")
    for name in pages:
        page = ROOT / "docs" / f"{name}.md"
        assert re.search(rf"(?<![\d.]){re.escape(printed)}", page.read_text()), f"{page.name} lacks {printed}"
