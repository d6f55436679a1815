"""`timesurf bench family` and `timesurf bench settings`: relatives of Sup3r, and which settings matter."""

from __future__ import annotations

import math
from typing import Annotated

import typer
from rich.table import Table

from timesurf.cli.app import Json, bench, check_plot, check_writable, console, write_json, write_plot
from timesurf.cli.measuring import Folder, Minutes, Only, Plot, Processes, Small, folder_of, plan_of


def _methods() -> list[str]:
    from timesurf.bench import family

    return list(family.METHODS)


@bench.command("family")
def bench_family(
    data: Folder = None,
    seeds: Annotated[int, typer.Option(min=1, help="Splits (folds, speakers) per data set.")] = 3,
    only: Only = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            autocompletion=_methods, help="Only this method, by its name in the table; repeatable. Default: all."
        ),
    ] = None,
    shots: Annotated[
        list[int] | None,
        typer.Option(
            min=0, help="Recordings per class of the few-shot curve; repeatable; 0: none. Default: 1 3 10 30."
        ),
    ] = None,
    small: Small = None,
    parallel: Processes = 1,
    minutes: Minutes = None,
    json_file: Json = None,
    plot: Plot = None,
) -> None:
    """Compare Sup3r with HOTS, homeostasis, FEAST, HATS and other relatives, on the same events.

    Example: timesurf bench family --data recordings --processes 8 --json family.json --plot family.png
    """
    from timesurf import plots
    from timesurf.bench import family

    check_writable(json_file)
    check_plot(plot)
    result = family.run(
        folder_of(data), seeds, only=only or family.DATA, methods=tuple(method or family.METHODS),
        shots=family.SHOTS if shots is None else [n for n in shots if n], small=small,
        plan=plan_of(parallel, minutes, json_file),
    )  # fmt: skip
    for title, figure, form in (
        ("Recording accuracy on recordings that chose nothing", "recording_accuracy", "{:.1%}"),
        ("Units that win as evenly as so many would", "evenly_used", "{:.0f}"),
        ("Events per second, as a multiple of the default's", "speed", "{:.2g}"),
    ):
        console.print(_table(title, family.summary(result["family"]), figure, form))
    write_plot(plot, lambda: plots.family(family.curves(result["family"])))
    write_json(json_file, result)


def _table(title: str, found: dict[str, dict[str, dict[str, float]]], figure: str, form: str) -> Table:
    """One row per method, one column per data set."""
    table = Table(title=title)
    for column in ("method", *found):
        table.add_column(column, justify="left" if column == "method" else "right")
    for method in dict.fromkeys(method for of in found.values() for method in of):
        values = [of.get(method, {}).get(figure) for of in found.values()]
        table.add_row(method, *("" if value is None else form.format(value) for value in values))
    return table


@bench.command("settings")
def bench_settings(
    data: Folder = None,
    only: Only = None,
    small: Small = None,
    seeds: Annotated[int, typer.Option(min=1, help="Splits per data set.")] = 1,
    json_file: Json = None,
    plot: Plot = None,
    parallel: Processes = 1,
    minutes: Minutes = None,
) -> None:
    """Change each setting that the data chooses, one at a time, and compare on recordings that are held out.

    Example: timesurf bench settings --data recordings --processes 8 --json settings.json --plot settings.png
    """
    from timesurf import plots
    from timesurf.bench import settings

    check_writable(json_file)
    check_plot(plot)
    result = settings.run(
        folder_of(data), seeds, only=only or (), small=small, plan=plan_of(parallel, minutes, json_file)
    )
    rows = result["settings"]
    console.print(_changes("recording accuracy, points", settings.changes(rows), 100, ".1f"))
    console.print(_changes("log probability of the right class", settings.changes(rows, "log_probability"), 1, ".2f"))
    write_plot(plot, lambda: plots.settings(settings.changes(rows)))
    write_json(json_file, result)


def _changes(figure: str, found: dict[str, dict[str, tuple[float, float]]], scale: float, form: str) -> Table:
    """One row per setting and factor, one column per data set, and the worst of them."""
    table = Table(title=f"Change of {figure}, on recordings that are held out")
    data = list(dict.fromkeys(name for of in found.values() for name in of))
    for column in ("setting", *data, "worst"):
        table.add_column(column, justify="left" if column == "setting" else "right")
    for setting, of in found.items():
        cells = [shown_change(*of[name], scale, form) if name in of else "" for name in data]
        table.add_row(setting, *cells, f"{scale * min(of.values())[0]:+{form}}")
    return table


def shown_change(mean: float, error: float, scale: float = 100, form: str = ".1f") -> str:
    """A change, in points unless another scale is named, with its standard error where there are several splits."""
    return f"{scale * mean:+{form}}" + ("" if math.isnan(error) else f" ± {scale * error:{form}}")
