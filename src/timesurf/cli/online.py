"""`timesurf bench online`: learning while predicting, over a stream that changes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from timesurf.cli.app import Json, Seed, bench, check_plot, check_writable, console, write_json, write_plot


@bench.command("online")
def bench_online(
    data: Annotated[
        Path | None,
        typer.Option(help="A file of labelled recordings; default: simulated digits.", exists=True, dir_okay=False),
    ] = None,
    each: Annotated[int, typer.Option(min=4, help="Recordings per phase of the stream.")] = 200,
    seed: Seed = 0,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the accuracy over time into this file.", dir_okay=False)
    ] = None,
    json_file: Json = None,
) -> None:
    """Test on every recording, then train on it: while the sensor drifts, classes are new, and old ones return.

    Example: timesurf bench online --json online.json --plot online.png
    """
    from timesurf import plots
    from timesurf.bench import online
    from timesurf.io import npz

    check_writable(json_file)
    check_plot(plot)
    with console.status("Measuring ...") as status:
        recordings = None if data is None else npz.read(data)
        result = online.run(
            recordings, each=each, seed=seed, progress=lambda what: status.update(f"Measuring: {what} ...")
        )
    table = Table(title="Recording accuracy before learning from each recording")
    for column in ("", *online.PHASES, "all"):
        table.add_column(column, justify="right" if column else "left")
    for name, row in result["learners"].items():
        table.add_row(name, *(f"{share:.1%}" for share in (*row["phases"], row["recording_accuracy"])))
    console.print(table)
    for name in result["left_out"]:
        console.print(f"{name}: not measured. pip install 'timesurf[bench]' adds it.", highlight=False)
    write_plot(plot, lambda: plots.prequential(result))
    write_json(json_file, result)
