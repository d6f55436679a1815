"""`timesurf predict`: decisions on recordings, on the screen or in a file."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.table import Table

from timesurf.cli.app import (
    Dask,
    Data,
    Engine,
    Model,
    Split,
    app,
    check_engine,
    check_plot,
    check_writable,
    console,
    counted,
    in_parts,
    say_next,
    write_plot,
)
from timesurf.cli.cutting import Every, Overlap, cut
from timesurf.cli.preparing import changed, fitted, prepares, sized
from timesurf.cli.terminal import bold
from timesurf.cli.using import Decide, Sure, say_if_clocks_differ, say_if_one_class
from timesurf.cli.wording import count
from timesurf.errors import SettingError
from timesurf.events import Recordings
from timesurf.storage.atomic import replacing

_SHOWN = 20  # decisions on the screen, at most
_FAILED = 10  # files that could not be read, at most


@app.command()
@prepares
def predict(
    model: Model,
    data: Data,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            help="File of decisions: .csv, .jsonl or .parquet; - for CSV on standard output; with --dask a folder.",
        ),
    ] = None,
    every: Every = None,
    overlap: Overlap = 0.0,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the decisions over time into this file; needs --every.", dir_okay=False)
    ] = None,
    split: Split = "train",
    decide: Decide = None,
    sure: Sure = None,
    engine: Engine = "cpu",
    dask: Dask = None,
    *,
    given: dict[str, Any],
) -> None:
    """Classify recordings: class, confidence, and the votes and the probability of every class.

    With --sure a recording is read only until the probability of a class reaches that level: the table then gives the
    events and the time that this took, and the accuracy and the mean share of events used are printed.

    Without --out the decisions are shown. With --dask every file in a folder or bucket is classified, on many workers,
    and written as Parquet. If interrupted, the same command continues; run again later, it adds new files.

    Example: timesurf predict digits.tsf unknown.npz --out decisions.csv
    """
    from timesurf.network import Network
    from timesurf.results.decisions import encoder

    console.stderr = out == "-"  # nothing but decisions on standard output
    check_engine(engine)
    network = Network.load(model, engine=engine)
    network.decides = cast(Any, decide)
    if dask is not None:
        _refuse_with_dask(out, split, every, sure)
        network.preparation = changed(network.preparation, given)
        _predict_files(dask, network, data, str(out))
        return
    encoded = None if out is None else encoder(out)
    check_writable(None if out in (None, "-") else Path(str(out)))
    check_plot(plot)
    if plot is not None and every is None:
        raise SettingError("--plot draws decisions over time: give the length of a piece by --every, such as 1s.")
    with sized(network, given):
        table = _table(network, data, split, (every, overlap), sure, given)
    if encoded is not None and out == "-":
        sys.stdout.buffer.write(encoded(table))
    elif encoded is not None:
        with replacing(str(out)) as file:
            file.write(encoded(table))
    if out is None:
        _show(table)
    if sure is not None:
        _say_how_soon(table)
    write_plot(plot, lambda: _drawn(table, network.classes.tolist()))
    _summarise(table, out)
    say_if_one_class(table["decision"], [label for label in table.get("label", []) if label is not None])
    say_next(f"timesurf stream {model} --from udp://0.0.0.0:7777", "the same on a live camera")


def _table(
    network: Any,
    data: str,
    split: str,
    cutting: tuple[str | None, float],
    sure: float | None,
    given: dict[str, Any],
) -> dict[str, list[Any]]:
    """Decisions on all recordings, file by file, as columns."""
    from timesurf.datasets import sources
    from timesurf.results.decisions import columns

    every, overlap = cutting
    whole: dict[str, list[Any]] = {}
    for name, found in sources.each(data, split=split, field=given.get("field")):
        prepared = fitted(found, network, given, name or data)
        if not whole:
            say_if_clocks_differ(network, prepared)
        pieces = cut(prepared, every, overlap, rest=True)
        recordings = pieces.recordings
        if sure is not None:
            some = _until_sure(network, recordings, sure)
        else:
            some = columns(network, recordings, in_parts(name or "classifying", recordings, network.infer))
        some["recording"] = pieces.origin.tolist()
        if every is not None:
            last = recordings.spans()[1]
            times = {"begin_s": (pieces.begin / 1e6).tolist(), "end_s": (last / 1e6).tolist()}
            some = {"recording": some.pop("recording"), **times, **some}
        if name is not None:
            some = {"file": [name] * len(recordings), **some}
        for column, values in some.items():
            whole.setdefault(column, []).extend(values)
    if all(label is None for label in whole["label"]):
        del whole["label"]
    return whole


def _until_sure(network: Any, recordings: Recordings, sure: float) -> dict[str, list[Any]]:
    """Columns of early decisions."""
    from timesurf.live.early import columns, early

    with counted("classifying") as report:
        found = early(network, recordings, sure, progress=report)
    return columns(network, recordings, found)


def _say_how_soon(table: dict[str, list[Any]]) -> None:
    """What early decisions took, over all files."""
    labels = table.get("label", [None] * len(table["decision"]))
    known = [a == b for a, b in zip(labels, table["decision"], strict=True) if a is not None]
    right = f"recording accuracy {sum(known) / len(known):.1%}; " if known else ""
    shares = [used / max(all_, 1) for used, all_ in zip(table["events_used"], table["events"], strict=True)]
    console.print(
        f"{right}{sum(shares) / max(len(shares), 1):.1%} of a recording's events used on average; "
        f"{sum(table['sure']):,} of {count(len(shares), 'recording')} sure before the end",
        highlight=False,
    )


def _show(table: dict[str, list[Any]]) -> None:
    """The first decisions on the screen; a single one in words."""
    if len(table["recording"]) == 1:
        decision, confidence = _cell("decision", table["decision"][0]), _cell("confidence", table["confidence"][0])
        sure = f", confidence {confidence}" if confidence else ""
        console.print(f"{table.get('file', ['The recording'])[0]}: {decision}{sure}", highlight=False)
        return
    names = [name for name in ("file", "recording", "begin_s", "label", "decision", "confidence") if name in table]
    if not any(table["recording"]) and ("file" in table or "begin_s" in table):  # files of one recording each
        names.remove("recording")
    shown = Table()
    for name in names:
        shown.add_column({"begin_s": "from, s"}.get(name, name), justify="right" if name == "begin_s" else "left")
    for row in list(zip(*(table[name] for name in names), strict=True))[:_SHOWN]:
        shown.add_row(*(_cell(name, value) for name, value in zip(names, row, strict=True)))
    console.print(shown, highlight=False)
    if (hidden := len(table["recording"]) - _SHOWN) > 0:
        console.print(f"and {hidden:,} more: --out decisions.csv writes all of them.", highlight=False)


def _cell(name: str, value: Any) -> str:
    if value is None:
        return {"decision": "silent: no event was output", "confidence": ""}.get(name, "")
    if name == "confidence":
        return f"{value:.1%}"
    return f"{value:.2f}" if name == "begin_s" else str(value)


def _summarise(table: dict[str, list[Any]], out: str | None) -> None:
    """How often each class was decided for, and where the decisions are."""
    if out is None and len(table["decision"]) == 1:
        return
    decided = Counter("silent" if name is None else str(name) for name in table["decision"])
    classes = ", ".join(f"{name} {number:,}" for name, number in decided.most_common(_SHOWN))
    where = "" if out in (None, "-") else f" written to {out}"
    console.print(f"{count(len(table['decision']), 'decision')}{where}: {classes}", highlight=False)


def _drawn(table: dict[str, list[Any]], classes: list[Any]) -> Any:
    from timesurf import plots

    return plots.timeline(table, classes)


def _refuse_with_dask(out: str | None, split: str, every: str | None, sure: float | None) -> None:
    if out in (None, "-"):
        raise SettingError("--dask writes a folder of Parquet files: give it by --out.")
    if split != "train" or sure is not None or every is not None:
        raise SettingError("--dask classifies whole files of a folder: leave out --split, --sure and --every.")


def _predict_files(dask: str, network: Any, data: str, out: str) -> None:
    """Classify all files of a folder or bucket, and show what was done."""
    from timesurf.engines.dask import cluster
    from timesurf.results import many_files

    with cluster.connect(dask) as client, counted("files") as report:
        summary = many_files.predict_files(client, network, data, out, progress=report)
    new = f"{count(summary.recordings, 'decision')} on {summary.events:,} events written to {out}"
    before = f"; {summary.before:,} of {summary.files:,} files were done before" if summary.before else ""
    console.print(new + before, highlight=False)
    for name, why in list(summary.failed.items())[:_FAILED]:
        console.print(bold(name, f": {why}", "bold red"))
    if summary.failed:
        console.print(f"{count(len(summary.failed), 'file')} could not be read; the same command tries again.")
        raise typer.Exit(1)
