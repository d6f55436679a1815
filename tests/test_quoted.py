"""The figures that README and the pages quote are those of benchmarks/results."""

import json
import re
from pathlib import Path
from statistics import mean

import pytest

ROOT = Path(__file__).parents[1]
PLACES = {  # result file: {where the figure is in it: (how it is printed, the pages that quote it beside README)}
    "table1": {
        "sup3r.event_accuracy": ("{:.2%}", ["table1", "tables"]),
        "sup3r.kept": ("{:.2%}", ["table1", "tables"]),
        "kmeans.event_accuracy": ("{:.2%}", ["table1", "tables"]),
    },
    "nmnist_real": {
        "sup3r.recording_accuracy": ("{:.1%}", ["table3", "tables"]),
        "sup3r.kept": ("{:.1%}", ["table3", "tables"]),
        "hots_linear.recording_accuracy": ("{:.1%}", ["table3"]),
        "hots_svm.recording_accuracy": ("{:.1%}", ["table3", "tables"]),
    },
    "nmnist_simulated": {
        "sup3r.recording_accuracy": ("{:.2%}", ["table3", "tables", "limits"]),
        "ann_mnist.recording_accuracy": ("{:.2%}", ["table3", "tables", "limits"]),
    },
    "continual": {
        "adapting.steps.last": ("{:.2%}", ["continual", "tables"]),
        "ablated.steps.last": ("{:.2%}", ["continual", "tables"]),
    },
    "incremental_5": {
        "extended.average_accuracy": ("{:.2%}", ["continual"]),
        "unfrozen.average_accuracy": ("{:.2%}", ["continual"]),
    },
    "incremental_digits": {
        "extended.average_accuracy": ("{:.1%}", ["continual", "limits", "howto/extend"]),
        "together.average_accuracy": ("{:.1%}", ["continual", "limits", "howto/extend"]),
    },
    "peers": {
        "per_second.timesurf: same + class layer over 28 x 28 x 32": ("M.1", ["speed"]),
        "per_second.timesurf: surfaces + closest unit": ("M.1", ["speed"]),
        "per_second.NumPy loop: surfaces + closest unit": ("M.2", ["speed"]),
        "per_second.scikit-learn MiniBatchKMeans: closest unit, surfaces given": ("M.1", ["speed"]),
    },
}
QUOTED = [(file, where, *rest) for file, figures in PLACES.items() for where, rest in figures.items()]


def figure(file, where):
    """A figure of a result file; of a list, the mean over networks."""
    value = json.loads((ROOT / "benchmarks" / "results" / f"{file}.json").read_text())
    *keys, final = where.split(".")
    for key in keys:
        value = value[key]
    value = [of_network[-1] for of_network in value] if final == "last" else value[final]
    return mean(value) if isinstance(value, list) else value


@pytest.mark.parametrize(("file", "where", "form", "pages"), QUOTED, ids=[f"{q[0]} {q[1]}" for q in QUOTED])
def test_pages_quote_what_was_measured(file, where, form, pages):
    value = figure(file, where)
    printed = f"{value / 1e6:{form[1:]}f} M" if form.startswith("M") else form.format(value).replace("%", " %")
    for page in ("README.md", *(f"docs/{name}.md" for name in pages)):
        assert re.search(rf"(?<![\d.]){re.escape(printed)}", (ROOT / page).read_text()), f"{page} lacks {printed}"
