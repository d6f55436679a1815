"""`timesurf report`: a training run as one page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from timesurf.cli.app import app, check_writable, console


@app.command()
def report(
    run: Annotated[Path, typer.Argument(help="The folder of a run, which `timesurf train` made.")],
    out: Annotated[Path | None, typer.Option(help="The page; default: RUN/report.html", dir_okay=False)] = None,
) -> None:
    """One HTML file that shows what a network learnt, where it fails, and how it was trained. It needs no network.

    Example: timesurf report digits.tsf.run
    """
    from timesurf import report as page
    from timesurf.results import run as runs

    check_writable(out)
    found = runs.read(run)
    with console.status("Drawing ..."):
        written = page.write(found, out or run / "report.html")
    console.print(f"Report written to {written}", highlight=False)
