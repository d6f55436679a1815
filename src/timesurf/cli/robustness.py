"""`timesurf bench robustness`: accuracy on recordings that are disturbed more and more."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from timesurf.cli.app import Json, bench, check_plot, check_writable, console, write_json, write_plot
from timesurf.cli.measuring import Folder, Minutes, Only, Plot, Processes, Small, folder_of, plan_of


@bench.command("robustness")
def bench_robustness(
    data: Folder = None,
    only: Only = None,
    seeds: Annotated[int, typer.Option(min=1, help="Splits per data set.")] = 3,
    small: Small = None,
    parallel: Processes = 1,
    minutes: Minutes = None,
    json_file: Json = None,
    plot: Plot = None,
) -> None:
    """Train on clean recordings; test with jitter, dropped events, noise and hot pixels, beside HOTS and plain counts.

    Example: timesurf bench robustness --data recordings --json robustness.json --plot robustness.png
    """
    from timesurf import plots
    from timesurf.bench import robustness

    check_writable(json_file)
    check_plot(plot)
    result = robustness.run(
        folder_of(data), seeds, only=only or robustness.DATA, small=small, plan=plan_of(parallel, minutes, json_file)
    )
    found = robustness.curves(result["robustness"])
    for name, disturbances in found.items():
        table = Table("disturbance", "level", title=f"{name}: recording accuracy")
        for method in robustness.METHODS:
            table.add_column(method, justify="right")
        for disturbance, methods in disturbances.items():
            for level in dict.fromkeys(level for curve in methods.values() for level in curve):
                cells = [f"{methods[m][level][0]:.1%}" if m in methods else "" for m in robustness.METHODS]
                table.add_row("" if level else disturbance, f"{level:g}" if level else "none", *cells)
        console.print(table)
    if found:
        write_plot(plot, lambda: plots.robustness(found))
    write_json(json_file, result)
