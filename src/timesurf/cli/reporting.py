"""`timesurf report`: a training run, or a model on other data, as one HTML page."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from timesurf.cli.app import TestSplit, app, check_writable, console, data_sets, say_next
from timesurf.cli.cutting import Every, Overlap, cut
from timesurf.cli.data import load_test
from timesurf.cli.preparing import as_texts, fitted, prepares
from timesurf.errors import SettingError


def _without_data(every: str | None, overlap: float, split: str | None, given: dict[str, Any]) -> str:
    """The first of the options that only matter for other recordings; empty where none is given."""
    options = {"every": every, "overlap": overlap or None, "split": split, **as_texts(given)}
    return next((f"--{name.replace('_', '-')} {value}" for name, value in options.items() if value is not None), "")


@app.command()
@prepares
def report(
    run: Annotated[
        Path, typer.Argument(help="The folder of a run, made by `timesurf train`; or a model, with --data.")
    ],
    data: Annotated[
        str | None,
        typer.Option(autocompletion=data_sets, help="Report on these recordings instead of those held out."),
    ] = None,
    every: Every = None,
    overlap: Overlap = 0.0,
    split: TestSplit = None,
    out: Annotated[Path | None, typer.Option(help="File to write; default: RUN/report.html", dir_okay=False)] = None,
    *,
    given: dict[str, Any],
) -> None:
    """Write one HTML file that shows what a network learned, its mistakes, and how it was trained.

    Example: timesurf report digits.tsf.run --data test.npz
    """
    from timesurf import modelfile
    from timesurf import report as page
    from timesurf.network import Network
    from timesurf.results import run as runs

    check_writable(out)
    if data is None and (unused := _without_data(every, overlap, split, given)):
        raise SettingError(f"{unused} is of other recordings: give them by --data.")
    if modelfile.is_model(run):
        if data is None:
            raise SettingError(f"{run} is a model without recordings: give --data, or the folder of its run.")
        network = Network.load(run)
        about = {"config": {"model": str(run)}, "history": network.history, "when": time.strftime("%Y-%m-%d %H:%M")}
        found = runs.Run(about, network, None)
        out = out or run.with_suffix(".html")
    else:
        found = runs.read(run)
    if data is not None:
        recordings = fitted(load_test(data, split, given, found.network), found.network, given, data)
        held = cut(recordings, every, overlap).recordings
        found = replace(found, about=found.about | {"reported_on": data}, held_out=held)
    with console.status("Drawing ..."):
        written = page.write(found, out or run / "report.html")
    console.print(f"Report written to {written}: open it in a browser.", highlight=False)
    if data is None:
        say_next(f"timesurf report {run} --data DATA", "the same on other recordings")
    else:
        model = run if modelfile.is_model(run) else found.about.get("config", {}).get("model", "MODEL")
        say_next(f"timesurf predict {model} DATA", "classifies recordings without labels")
