"""`timesurf evaluate`, `predict` and `inspect`: what a network says and what it is."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape
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
from timesurf.errors import SettingError
from timesurf.events import Recordings
from timesurf.storage.atomic import replacing

_SHOWN = 10  # files that could not be read


def figures(network: Any, recordings: Recordings, outcome: Any = None) -> dict[str, Any]:
    """What a network makes of recordings, in figures; those about right and wrong only where there are labels."""
    from timesurf import metrics

    outcome = in_parts("running", recordings, network.infer) if outcome is None else outcome
    label = None if recordings.labels is None else network.class_numbers(recordings)
    return {"classes": network.classes.tolist(), **metrics.summary(outcome, label)}


def shown(result: dict[str, Any]) -> Table:
    """Those figures as a table."""
    table = Table(show_header=False)
    table.add_column(justify="left")
    table.add_column(justify="right")
    for name, title in (
        ("recording_accuracy", "recordings right"),
        ("event_accuracy", "output events right"),
        ("kept", "events kept"),
    ):
        if name in result:
            table.add_row(title, f"{result[name]:.2%}")
    by_layer = ", ".join(f"{share:.1%}" for share in result["kept_by_layer"])
    table.add_row("kept by each layer", by_layer)
    table.add_row("silent recordings", f"{result['silent']:,} of {result['recordings']:,}")
    return table


def _confusion(result: dict[str, Any]) -> Table:
    counts = np.array(result["confusion"])
    names = [str(name) for name in result["classes"]]
    table = Table(title="Recordings by their class (rows) and what they were told to be")
    table.add_column("")
    for name in [*names, "silent"][: counts.shape[1]]:
        table.add_column(name, justify="right")
    for name, row in zip(names, counts, strict=True):
        table.add_row(name, *(str(n) if n else "." for n in row))
    return table


@app.command()
def evaluate(model: Model, data: Data, split: Split = "train", engine: Engine = "cpu", json_file: Json = None) -> None:
    """How well a model tells labelled recordings.

    Example: timesurf evaluate digits.tsf more-digits.npz --json figures.json
    """
    from timesurf.network import Network

    check_writable(json_file)
    network = Network.load(model, engine=engine)
    recordings = fitted(load(data, split), network)
    needs_labels(recordings, data)
    result = figures(network, recordings)
    console.print(shown(result), highlight=False)
    console.print(_confusion(result), highlight=False)
    write_json(json_file, result | {"model": str(model), "data": data})


@app.command()
def predict(
    model: Model,
    data: Data,
    out: Annotated[
        str, typer.Option("--out", help="Decisions, one line a recording: a CSV file; with --dask a folder.")
    ],
    split: Split = "train",
    engine: Engine = "cpu",
    dask: Dask = None,
) -> None:
    """What a model takes each recording for: class, share of the vote, votes of every class.

    With --dask: every file in a folder or bucket, on many workers, as Parquet; the same command goes on where it was
    interrupted, and adds files that are new.

    Example: timesurf predict digits.tsf unknown.npz --out decisions.csv
    """
    from timesurf.network import Network
    from timesurf.results.table import table

    if dask is not None:
        if split != "train":
            raise SettingError("--dask decides on every file of a folder: there is no --split.")
        _predict_files(dask, Network.load(model, engine=engine), data, out)
        return
    check_writable(Path(out))
    network = Network.load(model, engine=engine)
    recordings = fitted(load(data, split), network)
    columns = table(network, recordings, in_parts("running", recordings, network.infer))
    if recordings.labels is None:
        del columns["label"]
    text = io.StringIO()
    lines = csv.writer(text)
    lines.writerow(columns)
    lines.writerows(zip(*columns.values(), strict=True))
    with replacing(out) as file:
        file.write(text.getvalue().encode())
    console.print(f"{len(recordings):,} decisions written to {out}", highlight=False)


def _predict_files(dask: str, network: Any, data: str, out: str) -> None:
    from timesurf.engines.dask import cluster
    from timesurf.results import table as decisions

    with cluster.connect(dask) as client, counted("files") as told:
        summary = decisions.predict_files(client, network, data, out, progress=told)
    new = f"{summary.recordings:,} decisions on {summary.events:,} events written to {out}"
    before = f"; {summary.before:,} of {summary.files:,} files were done before" if summary.before else ""
    console.print(new + before, highlight=False)
    for name, why in list(summary.failed.items())[:_SHOWN]:
        console.print(f"[bold red]{escape(name)}[/]: {escape(why)}", highlight=False)
    if summary.failed:
        console.print(f"{len(summary.failed):,} files could not be read; the same command tries them again.")
        raise typer.Exit(1)


@app.command()
def inspect(
    what: Annotated[str, typer.Argument(help="A model file, or data.")], split: Split = "train", json_file: Json = None
) -> None:
    """What a model, or a file of recordings, holds.

    Example: timesurf inspect digits.tsf
    """
    from timesurf import modelfile

    result = _model(what) if modelfile.is_model(what) else _recordings(load(what, split))
    for name, value in result.items():
        console.print(
            f"[bold]{name}[/]  {value}" if not isinstance(value, list) else f"[bold]{name}[/]", highlight=False
        )
        for line in value if isinstance(value, list) else []:
            console.print(f"    {line}", highlight=False, markup=False)
    write_json(json_file, result)


def _model(path: str) -> dict[str, Any]:
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
    counts = recordings.counts
    some = counts > 0
    t = recordings.source
    length = (t[recordings.stops[some] - 1] - t[recordings.starts[some]]) / 1e6
    result: dict[str, Any] = {
        "recordings": f"{len(recordings):,}",
        "events": f"{int(counts.sum()):,} ({counts.min():,} to {counts.max():,} a recording)",
        "field": " x ".join(map(str, recordings.field)) + f", {recordings.polarities} polarities",
        "duration": f"{length.min():.3g} to {length.max():.3g} s" if some.any() else "no events",
    }
    if recordings.labels is not None:
        names, numbers = np.unique(np.asarray(recordings.labels), return_counts=True)
        result["labels"] = [f"{name}: {number:,}" for name, number in zip(names, numbers, strict=True)]
    return result
