"""`timesurf report`: a training run as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from timesurf.cli.app import app, check_writable, console


@app.command()
def report(
    run: Annotated[Path, typer.Argument(help="The folder of a run, made by `timesurf train`.")],
    out: Annotated[Path | None, typer.Option(help="File to write; default: RUN/report.html", dir_okay=False)] = None,
) -> None:
    """Write one HTML file that shows what a network learned, its mistakes, and how it was trained.

    Example: timesurf report digits.tsf.run
    """
    from timesurf import report as page
    from timesurf.results import run as runs

    check_writable(out)
    found = runs.read(run)
    with console.status("Drawing ..."):
        written = page.write(found, out or run / "report.html")
    console.print(f"Report written to {written}", highlight=False)
