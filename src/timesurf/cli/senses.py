"""`timesurf bench senses`: the default settings on many kinds of events."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.table import Table

from timesurf.cli.app import Engine, Json, bench, check_writable, console, write_json


@bench.command("senses")
def bench_senses(
    data: Annotated[
        Path | None, typer.Option(help="Folder with real recordings; default: $TIMESURF_DATA.", file_okay=False)
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Splits and networks per data set.")] = 3,
    engine: Engine = "cpu",
    json_file: Json = None,
) -> None:
    """Train with default settings on every data set at hand, and compare with logistic regression on plain counts.

    Example: timesurf bench senses --data recordings --json senses.json
    """
    from timesurf.bench import senses

    check_writable(json_file)
    folder = data or (Path(os.environ["TIMESURF_DATA"]) if os.environ.get("TIMESURF_DATA") else None)
    table = Table(title="Recording accuracy on recordings that chose nothing")
    for column in ("data", "default", "+-", "counts", "counts, 8 stretches", "seconds"):
        table.add_column(column, justify="left" if column == "data" else "right")
    with console.status("Measuring ...") as status:
        result = senses.run(folder, seeds, engine=engine, report=lambda what: status.update(f"Measuring: {what} ..."))
    for row in result["senses"]:
        mine = np.array(row["default"])
        error = mine.std(ddof=1) / len(mine) ** 0.5 if len(mine) > 1 else float("nan")
        table.add_row(
            row["data"], f"{mine.mean():.1%}", f"{error:.1%}", f"{np.mean(row['counts_1']):.1%}",
            f"{np.mean(row['counts_8']):.1%}", f"{np.mean(row['seconds']):.0f}",
        )  # fmt: skip
    console.print(table)
    write_json(json_file, result)
