"""`timesurf evaluate` and `inspect`: how well a network does, and what it is."""

from __future__ import annotations

from typing import Annotated, Any, cast

import numpy as np
import typer
from rich.table import Table

from timesurf.cli.app import (
    Data,
    Engine,
    Json,
    Model,
    Split,
    TestSplit,
    app,
    check_engine,
    check_writable,
    console,
    data_sets,
    in_parts,
    one_of,
    say_next,
    write_json,
)
from timesurf.cli.cutting import Every, Overlap, cut
from timesurf.cli.data import load, load_test
from timesurf.cli.preparing import fitted, prepares
from timesurf.cli.terminal import bold
from timesurf.cli.wording import count
from timesurf.errors import EventError
from timesurf.events import Recordings
from timesurf.transforms.preparation import Preparation

Decide = Annotated[
    str | None,
    typer.Option(
        autocompletion=one_of("votes", "evidence"),
        help="votes or evidence; default: evidence where the model has it (preset auto), else votes.",
    ),
]
Sure = Annotated[
    float | None,
    typer.Option(min=0.01, max=1, help="Decide as soon as the probability of a class reaches this level, as 0.95."),
]
_SHOWN = 10  # mistakes, at most
_LOOKED_AT, _EVENTS_LOOKED_AT = 20, 20_000  # recordings, and events of each: enough for a median interval
_RESTS = 1e-3, 1e2  # time constants between two events of a pixel; a chosen network has 1/4 to 1/8
_MATRIX = 15  # classes in a confusion matrix, at most
_CELL = 3  # columns of a terminal that a cell takes beside its text
_FIGURES = {
    "recording_accuracy": "recording accuracy",
    "event_accuracy": "event accuracy",
    "calibration_error": "expected calibration error",
    "kept": "events kept",
}


def figures(network: Any, recordings: Recordings, outcome: Any = None) -> dict[str, Any]:
    """Figures of a network on recordings; accuracies only where there are labels."""
    from timesurf import metrics

    outcome = in_parts("classifying", recordings, network.infer) if outcome is None else outcome
    label = None if recordings.labels is None else network.class_numbers(recordings)
    return {"classes": network.classes.tolist(), **metrics.summary(outcome, label, network.calibrated(outcome))}


def shown(result: dict[str, Any]) -> Table:
    """These figures as a table."""
    table = Table(show_header=False)
    table.add_column(justify="left")
    table.add_column(justify="right")
    for name, title in _FIGURES.items():
        if name in result:
            table.add_row(title, f"{result[name]:.2%}")
    by_layer = ", ".join(f"{share:.1%}" for share in result["kept_by_layer"])
    table.add_row("events kept by layer", by_layer)
    table.add_row("silent recordings", f"{result['silent']:,} of {result['recordings']:,}")
    return table


def _confusion(names: list[str], counts: Any) -> Table | str:
    """The confusion matrix from `metrics.confusion_counts`; where it would not fit, the most frequent mistakes."""
    from timesurf import metrics

    columns = ["", *names, "silent"]
    width = sum(max(len(name), 3) + _CELL for name in columns) + max(map(len, names)) + 1
    if len(names) > _MATRIX or width > console.width:
        table = Table("true class", "predicted class", "recordings", title="The most frequent mistakes")
        wrong = counts[counts[:, 0] != counts[:, 1]]
        if not len(wrong):
            return "No mistakes: every recording gets its class."
        for true, decided, n in wrong[np.argsort(-wrong[:, 2], kind="stable")][:_SHOWN].tolist():
            table.add_row(names[true], [*names, "silent"][decided], f"{n:,}")
        return table
    table = Table(title="Recordings by true class (rows) and predicted class (columns)")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for true, name in enumerate(names):
        row = dict(counts[counts[:, 0] == true, 1:].tolist())
        table.add_row(name, *(str(row.get(decided, ".")) for decided in [*range(len(names)), metrics.SILENT]))
    return table


def say_if_clocks_differ(network: Any, recordings: Recordings) -> None:
    """Say so if pixels fire so much faster or slower than the network was made for that times have another unit."""
    from timesurf.learning.rhythm import intervals
    from timesurf.times import readable

    some = recordings[:_LOOKED_AT]
    some = some.cut(some.starts, np.minimum(some.starts + _EVENTS_LOOKED_AT, some.stops))
    rests, tau = intervals(some.entries(), some.t, some.counts), network.stages[0].tau
    rest = float(np.median(rests)) if len(rests) else tau
    if not _RESTS[0] < rest / tau < _RESTS[1]:
        console.print(
            f"The same pixel or channel fires every {readable(rest)} here, but the network's first time constant is "
            f"{readable(tau)}. If the file has times in another unit, give it: --time-unit.",
            highlight=False,
        )


def say_if_one_class(decided: list[Any], true: list[Any]) -> None:
    """Say so if all recordings get one class though they are of several."""
    if len(set(decided)) == 1 < len(set(true)):
        console.print(
            "All recordings get one class: the network has not learned to distinguish them. `timesurf train` without "
            "--preset chooses settings from the data.",
            highlight=False,
        )


@app.command()
@prepares
def evaluate(
    model: Model,
    data: Data,
    every: Every = None,
    overlap: Overlap = 0.0,
    split: TestSplit = None,
    decide: Decide = None,
    engine: Engine = "cpu",
    json_file: Json = None,
    *,
    given: dict[str, Any],
) -> None:
    """Measure the accuracy of a model on labelled recordings: of the test split, where the data has one.

    Example: timesurf evaluate digits.tsf more-digits.npz --json figures.json
    """
    from timesurf import metrics
    from timesurf.network import Network

    check_writable(json_file)
    check_engine(engine)
    network = Network.load(model, engine=engine)
    network.decides = cast(Any, decide)
    whole = fitted(load_test(data, split, given, network), network, given, data)
    say_if_clocks_differ(network, whole)
    recordings = cut(whole, every, overlap).recordings
    if not recordings.labelled.any():
        raise EventError(
            f"{data} has no labels to compare with: give an .npz with labels, or a folder with one folder per class. "
            f"`timesurf predict {model} {data}` needs none."
        )
    outcome = in_parts("classifying", recordings, network.infer)
    result = figures(network, recordings, outcome)
    console.print(shown(result), highlight=False)
    classes, label = result["classes"], network.class_numbers(recordings)
    counts = metrics.confusion_counts(outcome.votes, label, outcome.evidence)
    console.print(_confusion([str(name) for name in classes], counts), highlight=False)
    confusion = [[classes[true], [*classes, None][decided], n] for true, decided, n in counts.tolist()]
    say_if_one_class(counts[:, 1].tolist(), counts[:, 0].tolist())
    write_json(json_file, result | {"confusion": confusion, "model": str(model), "data": data})
    say_next(f"timesurf predict {model} DATA", "classifies recordings without labels")


@app.command()
@prepares
def inspect(
    what: Annotated[str, typer.Argument(autocompletion=data_sets, help="A model file, or data.")],
    split: Split = "train",
    json_file: Json = None,
    *,
    given: dict[str, Any],
) -> None:
    """Show what a model file, or data, contains.

    Example: timesurf inspect digits.tsf
    """
    from timesurf import modelfile

    result = _model(what) if modelfile.is_model(what) else _recordings(Preparation(**given)(load(what, split, given)))
    for name, value in result.items():
        console.print(bold(name, "" if isinstance(value, list) else f"  {value}"))
        for line in value if isinstance(value, list) else []:
            console.print(f"    {line}")
    write_json(json_file, result)
    if "network" in result:
        say_next(f"timesurf evaluate {what} DATA", "how well it does on recordings with labels")
    elif "labels" in result:
        say_next(f"timesurf train {what} --model m.tsf", "learns to classify them")
    else:
        say_next("timesurf train FOLDER --model m.tsf", "learns from a folder with one subfolder per class")
        say_next(f"timesurf predict MODEL {what}", "classifies it, where there is a model")


def _model(path: str) -> dict[str, Any]:
    """What a model file contains, in words."""
    from timesurf.network import Network

    network = Network.load(path)
    thresholds = []
    for k, units in enumerate(network.parameters, start=1):
        th = units.thresholds
        finite = th[np.isfinite(th)]
        span = f"{finite.min():.3g} to {finite.max():.3g}" if len(finite) else "none"
        frozen = int(units.frozen.sum())
        thresholds.append(f"layer {k}: {span}, {int((th == 0).sum())} silent, {frozen} frozen of {len(th)} units")
    last = network.history[-1] if network.history else {}
    return {
        "network": repr(network).splitlines(),
        "classes": ", ".join(map(str, network.classes)),
        "thresholds": thresholds,
        "preparation": str(network.preparation),
        "rule": ", ".join(f"{name} {_each(value)}" for name, value in network.rule.to_dict().items()),
        "passes": len(network.history),
        "last pass": ", ".join(f"{name} {value:.4g}" for name, value in last.items()) or "none",
    }


def _each(value: Any) -> str:
    """A setting, or one per layer from the input up."""
    return " / ".join(f"{number:g}" for number in value) if isinstance(value, list | tuple) else str(value)


def _recordings(recordings: Recordings) -> dict[str, Any]:
    """What recordings contain, in words."""
    counts = recordings.counts
    some = counts > 0
    t = recordings.source
    length = (t[recordings.stops[some] - 1] - t[recordings.starts[some]]) / 1e6
    span = f" ({counts.min():,} to {counts.max():,} per recording)" if len(counts) > 1 else ""
    times = sorted({f"{length.min():.3g}", f"{length.max():.3g}"}, key=float) if some.any() else []
    result: dict[str, Any] = {
        "recordings": f"{len(recordings):,}",
        "events": f"{int(counts.sum()):,}{span}",
        "field": " x ".join(map(str, recordings.field)) + f", {count(recordings.polarities, 'polarity')}",
        "duration": f"{' to '.join(times)} s" if times else "no events",
    }
    if recordings.labels is not None:
        known = recordings.labelled
        names, numbers = np.unique(recordings.labels[known], return_counts=True)
        result["labels"] = [f"{name}: {number:,}" for name, number in zip(names, numbers, strict=True)]
        if not known.all():
            result["labels"].append(f"without a label: {int((~known).sum()):,}")
    return result
