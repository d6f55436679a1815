"""What benchmarks on many data sets share on the command line: their options, and how they run and report."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from timesurf.cli.app import console, save_json

if TYPE_CHECKING:
    from timesurf.bench.processes import Plan

Folder = Annotated[
    Path | None, typer.Option(help="Folder with real recordings; default: $TIMESURF_DATA.", file_okay=False)
]


def _data_sets() -> list[str]:
    from timesurf.bench import senses

    return list(senses.SENSES)


Only = Annotated[
    list[str] | None,
    typer.Option(autocompletion=_data_sets, help="Only data sets with this in their name; repeatable."),
]
Small = Annotated[int | None, typer.Option(min=20, help="At most this many training recordings (quick look only).")]
Processes = Annotated[int, typer.Option("--processes", min=1, help="Measurements side by side, one core each.")]
Minutes = Annotated[float | None, typer.Option(min=0.01, help="Start no measurement after this many minutes.")]
Plot = Annotated[Path | None, typer.Option(help="Also draw the figures to this file.", dir_okay=False)]


def folder_of(data: Path | None) -> Path | None:
    """Where data sets are: the folder that was named, or that of the environment."""
    return data or (Path(os.environ["TIMESURF_DATA"]) if os.environ.get("TIMESURF_DATA") else None)


def plan_of(parallel: int, minutes: float | None, json_file: Path | None) -> Plan:
    """Lines of progress, in a pipe too, and figures that are written as they come."""
    from timesurf.bench.processes import Plan

    return Plan(
        parallel,
        minutes,
        report=lambda line: console.print(line, highlight=False),
        save=lambda so_far: save_json(json_file, so_far),
    )
