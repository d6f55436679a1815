"""`timesurf bench spiking`: integrate-and-fire neurons beside time surfaces."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from timesurf.cli.app import Json, Seed, bench, check_writable, console, one_of, write_json
from timesurf.cli.measuring import Folder, folder_of


@bench.command("spiking")
def bench_spiking(
    networks: Annotated[int, typer.Option(min=1, help="Independent networks that learn sentences.")] = 10,
    seed: Seed = 0,
    recordings: Annotated[int, typer.Option(min=20, help="Of sentences: for training, and as many to test.")] = 1000,
    part: Annotated[
        list[str] | None,
        typer.Option(
            autocompletion=one_of("classification", "continual", "incremental", "digits"),
            help="classification, continual, incremental or digits; repeatable. Default: all.",
        ),
    ] = None,
    data: Folder = None,
    folds: Annotated[int, typer.Option(min=1, help="Folds of the digits.")] = 3,
    workers: Annotated[int | None, typer.Option(min=1, help="Networks at a time; default: one per core.")] = None,
    json_file: Json = None,
) -> None:
    """Train integrate-and-fire neurons by Sup3r, on sentences and on digits, beside time surfaces of the same size.

    Example: timesurf bench spiking --networks 10 --json spiking.json
    """
    from timesurf.bench import spiking

    check_writable(json_file)
    folder = folder_of(data)
    with console.status("Measuring ...") as status:
        result = spiking.run(
            networks, seed, recordings=recordings, parts=part or spiking.PARTS, folder=folder, folds=folds,
            workers=workers, report=lambda what: status.update(f"Measuring: {what} ..."),
        )  # fmt: skip
    for name, table in _TABLES.items():
        if name in result:
            console.print(table(result[name]))
    console.print(
        f"{result['seconds']:.0f} s on {result['machine']['cores']} cores ({result['machine']['processor']}).",
        highlight=False,
    )
    write_json(json_file, result)


def _shown(shares: list[float]) -> str:
    return f"{np.mean(shares):.2%} ({np.min(shares):.2%})"


def _table(title: str, *columns: str) -> Table:
    table = Table("", title=title)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def _classification(found: dict[str, Any]) -> Table:
    columns = ("event accuracy", "recording accuracy", "kept", "above 99 %")
    table = _table("Sentences, Table 1: mean (worst network)", *columns)
    for kind, title in (("spiking", "integrate-and-fire"), ("surfaces", "time surfaces")):
        shares = found[f"{kind}_event_accuracy"]
        converged = f"{int((np.array(shares) >= 0.99).sum())} of {len(shares)}"
        kept = f"{np.mean(found[f'{kind}_kept']):.2%}"
        table.add_row(title, _shown(shares), _shown(found[f"{kind}_recording_accuracy"]), kept, converged)
    return table


def _continual(found: dict[str, Any]) -> Table:
    steps = [f"{n} moved" for n in range(1, len(found["adapting"][0]) + 1)]
    table = _table("x and / change places: event accuracy at the end of each step, mean (worst network)", *steps)
    for name in ("adapting", "ablated"):
        table.add_row(name, *(_shown(list(of)) for of in zip(*found[name], strict=True)))
    return table


def _incremental(found: dict[str, Any]) -> Table:
    table = _table("A second task: event accuracy, mean (worst network)", "task 1", "task 2", "task 1 afterwards")
    table.add_row("integrate-and-fire", *(_shown(found[name]) for name in ("task1", "task2", "task1_after")))
    return table


def _digits(found: dict[str, Any]) -> Table:
    table = _table("Digits: mean over folds", "recording accuracy", "kept", "seconds")
    for data, figures in found.items():
        for kind, title in (("spiking", "integrate-and-fire"), ("surfaces", "time surfaces")):
            accuracy, kept, seconds = (
                float(np.mean(figures[f"{kind}_{name}"])) for name in ("recording_accuracy", "kept", "seconds")
            )
            table.add_row(f"{data}: {title}", f"{accuracy:.1%}", f"{kept:.2%}", f"{seconds:.0f}")
    return table


_TABLES = {
    "classification": _classification, "continual": _continual, "incremental": _incremental, "digits": _digits,
}  # fmt: skip
