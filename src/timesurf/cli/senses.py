"""`timesurf bench senses`: the default settings on many kinds of events."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from timesurf.cli.app import Engine, Json, bench, check_writable, console, one_of, write_json
from timesurf.cli.measuring import Folder, Only, Processes, Small, folder_of, plan_of

TITLES = {
    "default": "default", "counts_1": "counts", "counts_8": "counts, 8 stretches", "hots": "HOTS, histogram",
    "preset": "paper's preset", "tuned": "tuned",
}  # fmt: skip


@bench.command("senses")
def bench_senses(
    data: Folder = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help="Splits and networks per data set. Default: every fold or speaker once, else 3."),
    ] = None,
    only: Only = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            autocompletion=one_of(*TITLES),
            help="default, counts_1, counts_8, hots, preset or tuned; repeatable. Default: all but tuned.",
        ),
    ] = None,
    minutes: Annotated[float, typer.Option(min=0.01, help="Minutes of tuning, for the method tuned.")] = 5.0,
    trials: Annotated[
        int | None, typer.Option(min=1, help="Trials of tuning, instead of minutes: then reproducible.")
    ] = None,
    small: Small = None,
    parallel: Processes = 1,
    engine: Engine = "cpu",
    json_file: Json = None,
) -> None:
    """Train with default settings on every data set at hand, beside plain counts, HOTS and the paper's preset.

    Example: timesurf bench senses --data recordings --processes 8 --json senses.json
    """
    from timesurf.bench import senses

    check_writable(json_file)
    methods = tuple(method or senses.USUAL)
    result = senses.run(
        folder_of(data), seeds, only=only or (), methods=methods, minutes=minutes, trials=trials, small=small,
        engine=engine, plan=plan_of(parallel, None, json_file),
    )  # fmt: skip
    console.print(_table(result["senses"], methods))
    write_json(json_file, result)


def _table(rows: list[dict[str, Any]], methods: tuple[str, ...]) -> Table:
    """Means over the seeds, with the standard error of the first method."""
    table = Table(title="Recording accuracy on recordings that chose nothing")
    titles = [TITLES[name] for name in methods]
    for column in ("data", titles[0], "+-", *titles[1:], "seconds"):
        table.add_column(column, justify="left" if column == "data" else "right")
    for row in rows:
        mine = np.array(row[methods[0]])
        error = mine.std(ddof=1) / len(mine) ** 0.5 if len(mine) > 1 else float("nan")
        means = [f"{np.mean(row[name]):.1%}" for name in methods]
        seconds = f"{np.mean(row['seconds']):.0f}" if row.get("seconds") else ""
        table.add_row(row["data"], means[0], f"{error:.1%}", *means[1:], seconds)
    return table
