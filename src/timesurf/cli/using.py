"""`timesurf evaluate`, `predict` and `inspect`: use a network, and look at it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
import typer
from rich.table import Table

from timesurf.cli.app import (
    Dask,
    Data,
    Engine,
    Json,
    Model,
    Split,
    app,
    check_writable,
    console,
    counted,
    in_parts,
    write_json,
)
from timesurf.cli.data import fitted, load, needs_labels
from timesurf.cli.terminal import bold
from timesurf.errors import EventError, SettingError
from timesurf.events import Recordings
from timesurf.storage.atomic import replacing

Decide = Annotated[
    str | None,
    typer.Option(help="votes or evidence; default: evidence where the model has it (preset auto), else votes."),
]
Sure = Annotated[
    float | None,
    typer.Option(min=0.01, max=1, help="Decide as soon as the probability of a class reaches this level, as 0.95."),
]
_SHOWN = 10  # files that could not be read, or mistakes, at most
_MATRIX = 40  # classes in a confusion matrix, at most
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


def _confusion(names: list[str], counts: Any) -> Table:
    """The confusion matrix from `metrics.confusion_counts`; of many classes, the most frequent mistakes."""
    from timesurf import metrics

    if len(names) > _MATRIX:
        table = Table("true class", "predicted class", "recordings", title="The most frequent mistakes")
        wrong = counts[counts[:, 0] != counts[:, 1]]
        for true, decided, n in wrong[np.argsort(-wrong[:, 2], kind="stable")][:_SHOWN].tolist():
            table.add_row(names[true], [*names, "silent"][decided], f"{n:,}")
        return table
    table = Table(title="Recordings by true class (rows) and predicted class (columns)")
    table.add_column("")
    for name in [*names, "silent"]:
        table.add_column(name, justify="right")
    for true, name in enumerate(names):
        row = dict(counts[counts[:, 0] == true, 1:].tolist())
        table.add_row(name, *(str(row.get(decided, ".")) for decided in [*range(len(names)), metrics.SILENT]))
    return table


@app.command()
def evaluate(
    model: Model,
    data: Data,
    split: Split = "train",
    decide: Decide = None,
    engine: Engine = "cpu",
    json_file: Json = None,
) -> None:
    """Measure the accuracy of a model on labelled recordings.

    Example: timesurf evaluate digits.tsf more-digits.npz --json figures.json
    """
    from timesurf import metrics
    from timesurf.network import Network

    check_writable(json_file)
    network = Network.load(model, engine=engine)
    network.decides = cast(Any, decide)
    recordings = fitted(load(data, split), network)
    needs_labels(recordings, data)
    if not recordings.labelled.any():
        raise EventError(f"{data}: no recording has a label to compare with; `timesurf predict` needs none.")
    outcome = in_parts("classifying", recordings, network.infer)
    result = figures(network, recordings, outcome)
    console.print(shown(result), highlight=False)
    classes, label = result["classes"], network.class_numbers(recordings)
    counts = metrics.confusion_counts(outcome.votes, label, outcome.evidence)
    console.print(_confusion([str(name) for name in classes], counts), highlight=False)
    confusion = [[classes[true], [*classes, None][decided], n] for true, decided, n in counts.tolist()]
    write_json(json_file, result | {"confusion": confusion, "model": str(model), "data": data})


@app.command()
def predict(
    model: Model,
    data: Data,
    out: Annotated[
        str, typer.Option("--out", help="A CSV file of decisions, one row per recording; with --dask a folder.")
    ],
    split: Split = "train",
    decide: Decide = None,
    sure: Sure = None,
    engine: Engine = "cpu",
    dask: Dask = None,
) -> None:
    """Classify recordings: class, confidence, and the votes and the probability of every class.

    With --sure a recording is read only until the probability of a class reaches that level: the table then gives the
    events and the time that this took, and the accuracy and the mean share of events used are printed.

    With --dask every file in a folder or bucket is classified, on many workers, and written as Parquet. If interrupted,
    the same command continues; run again later, it adds new files.

    Example: timesurf predict digits.tsf unknown.npz --out decisions.csv
    """
    from timesurf.network import Network
    from timesurf.results.decisions import as_csv, columns

    network = Network.load(model, engine=engine)
    network.decides = cast(Any, decide)
    if dask is not None:
        if split != "train" or sure is not None:
            raise SettingError("--dask classifies every file of a folder, to its end: leave out --split and --sure.")
        _predict_files(dask, network, data, out)
        return
    check_writable(Path(out))
    recordings = fitted(load(data, split), network)
    if sure is not None:
        table = _until_sure(network, recordings, sure)
    else:
        table = columns(network, recordings, in_parts("classifying", recordings, network.infer))
    if recordings.labels is None:
        del table["label"]
    with replacing(out) as file:
        file.write(as_csv(table).encode(errors="backslashreplace"))
    console.print(f"{len(recordings):,} decisions written to {out}", highlight=False)


def _until_sure(network: Any, recordings: Recordings, sure: float) -> dict[str, list[Any]]:
    """Columns of early decisions; what they took is printed."""
    from timesurf.live.early import columns, early

    with counted("classifying") as report:
        found = early(network, recordings, sure, progress=report)
    label = network.class_numbers(recordings)
    known = label >= 0
    right = f"recording accuracy {(found.classes == label)[known].mean():.1%}; " if known.any() else ""
    console.print(
        f"{right}{found.share.mean():.1%} of a recording's events used on average; "
        f"{int(found.sure.sum()):,} of {len(recordings):,} recordings were sure before their end",
        highlight=False,
    )
    return columns(network, recordings, found)


def _predict_files(dask: str, network: Any, data: str, out: str) -> None:
    """Classify all files of a folder or bucket, and show what was done."""
    from timesurf.engines.dask import cluster
    from timesurf.results import many_files

    with cluster.connect(dask) as client, counted("files") as report:
        summary = many_files.predict_files(client, network, data, out, progress=report)
    new = f"{summary.recordings:,} decisions on {summary.events:,} events written to {out}"
    before = f"; {summary.before:,} of {summary.files:,} files were done before" if summary.before else ""
    console.print(new + before, highlight=False)
    for name, why in list(summary.failed.items())[:_SHOWN]:
        console.print(bold(name, f": {why}", "bold red"))
    if summary.failed:
        console.print(f"{len(summary.failed):,} files could not be read; the same command tries them again.")
        raise typer.Exit(1)


@app.command()
def inspect(
    what: Annotated[str, typer.Argument(help="A model file, or data.")], split: Split = "train", json_file: Json = None
) -> None:
    """Show what a model file, or data, contains.

    Example: timesurf inspect digits.tsf
    """
    from timesurf import modelfile

    result = _model(what) if modelfile.is_model(what) else _recordings(load(what, split))
    for name, value in result.items():
        console.print(bold(name, "" if isinstance(value, list) else f"  {value}"))
        for line in value if isinstance(value, list) else []:
            console.print(f"    {line}")
    write_json(json_file, result)


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
        "rule": ", ".join(f"{name} {value}" for name, value in network.rule.to_dict().items()),
        "passes": len(network.history),
        "last pass": ", ".join(f"{name} {value:.4g}" for name, value in last.items()) or "none",
    }


def _recordings(recordings: Recordings) -> dict[str, Any]:
    """What recordings contain, in words."""
    counts = recordings.counts
    some = counts > 0
    t = recordings.source
    length = (t[recordings.stops[some] - 1] - t[recordings.starts[some]]) / 1e6
    result: dict[str, Any] = {
        "recordings": f"{len(recordings):,}",
        "events": f"{int(counts.sum()):,} ({counts.min():,} to {counts.max():,} per recording)",
        "field": " x ".join(map(str, recordings.field)) + f", {recordings.polarities} polarities",
        "duration": f"{length.min():.3g} to {length.max():.3g} s" if some.any() else "no events",
    }
    if recordings.labels is not None:
        known = recordings.labelled
        names, numbers = np.unique(recordings.labels[known], return_counts=True)
        result["labels"] = [f"{name}: {number:,}" for name, number in zip(names, numbers, strict=True)]
        if not known.all():
            result["labels"].append(f"without a label: {int((~known).sum()):,}")
    return result
