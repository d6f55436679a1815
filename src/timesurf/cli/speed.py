"""`timesurf bench speed` and `timesurf bench workers`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from timesurf.cli.app import Engine, Json, bench, check_writable, console, write_json, write_plot


@bench.command("speed")
def bench_speed(
    quick: Annotated[
        bool, typer.Option("--quick", help="Less data, fewer repeats: a look, not a measurement.")
    ] = False,
    engine: Engine = "cpu",
    plot: Annotated[Path | None, typer.Option(help="Draw how cost grows into this file.", dir_okay=False)] = None,
    json_file: Json = None,
) -> None:
    """Events a second of every job, beside the plain engine and the machine's multiply-add peak; or on a GPU.

    Example: timesurf bench speed --json speed.json --plot speed.png
    """
    check_writable(json_file)
    if engine == "cuda":
        _on_gpu(quick, json_file)
        return
    from timesurf import plots
    from timesurf.bench import speed

    check_writable(plot)
    with console.status("Measuring ...") as status:
        result = speed.run(quick=quick, progress=lambda what: status.update(f"Measuring {what} ..."))
    console.print(_speed_table(result))
    for name, rows in result["growth"].items():
        cells = "   ".join(f"{row[name]:,}: {row['infer_ns']:.0f}" for row in rows)
        console.print(f"  ns an event by {name:15s} {cells}", highlight=False)
    about = result["machine"]
    console.print(
        f"One core of {about['processor']}: {result['multiply_adds_per_s'] / 1e9:.0f} G multiply-adds/s in float32.",
        highlight=False,
    )
    write_plot(plot, lambda: plots.growth(result["growth"]))
    write_json(json_file, result)


def _on_gpu(quick: bool, json_file: Path | None) -> None:
    from timesurf import engines
    from timesurf.bench import gpu

    engines.load("cuda")  # says what is missing
    with console.status("Measuring ...") as status:
        result = gpu.run(quick=quick, progress=lambda what: status.update(f"Measuring {what} ..."))
    table = Table(title=f"Events a second on one {result['machine']['gpu']['name']}, in thousands of millions")
    for column in ("", "on the card", "whole call"):
        table.add_column(column, justify="right" if column else "left")
    for row in result["rows"]:
        table.add_row(row["what"], *(f"{row[f'{clock}_events_per_s'] / 1e9:.2f}" for clock in ("card", "call")))
    console.print(table)
    write_json(json_file, result)


def _speed_table(result: dict[str, Any]) -> Table:
    table = Table(title="Events a second, in millions")
    for column in ("network", "job", "one core", "all cores", "plain engine", "faster", "of peak"):
        table.add_column(column, justify="left" if column in ("network", "job") else "right")
    for name, network in result["networks"].items():
        for job in ("infer", "batch", "online"):
            row = network[job]
            every, share = row.get("all_cores_events_per_s"), row.get("share_of_peak")
            table.add_row(
                name,
                job,
                f"{row['events_per_s'] / 1e6:.2f}",
                f"{every / 1e6:.2f}" if every else "-",
                f"{row['plain_events_per_s'] / 1e6:.4f}",
                f"{row['times_plain']:.0f} x" if row["times_plain"] >= 10 else f"{row['times_plain']:.1f} x",
                f"{share:.0%}" if share else "-",
            )
    return table


@bench.command("workers")
def bench_workers(
    quick: Annotated[
        bool, typer.Option("--quick", help="Less data, fewer workers: a look, not a measurement.")
    ] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw how time falls with workers into this file.")] = None,
    json_file: Json = None,
) -> None:
    """Batches on local Dask workers: time, bytes, equal bits, workers killed; and on paper, many more of them.

    Example: timesurf bench workers --json workers.json --plot workers.png
    """
    from timesurf import plots
    from timesurf.bench import scaling, workers

    check_writable(json_file)
    check_writable(plot)
    with console.status("Measuring ...") as status:
        result = workers.run(quick=quick, progress=lambda what: status.update(f"Measuring: {what} ..."))
    table = Table(title="A batch on so many workers; 0: one core, without Dask")
    for column in ("batch", "workers", "ms", "faster than 1", "on paper", "kB sent", "kB back", "same bits"):
        table.add_column(column, justify="right")
    told = {(row["batch"], row["workers"]): row["simulated"] for row in result["simulated"]["batches"]}
    ones = {row["batch"]: row["seconds"] for row in result["rows"] if row["workers"] == 1}
    for row in sorted(result["rows"], key=lambda row: (row["batch"], row["workers"])):
        paper = told.get((row["batch"], row["workers"]))
        table.add_row(
            f"{row['batch']}", f"{row['workers']}", f"{1e3 * row['seconds']:.0f}",
            f"{ones[row['batch']] / row['seconds']:.2f} x", f"{1e3 * paper:.0f}" if paper else "",
            *(f"{row[way] / 1e3:.0f}" if way in row else "" for way in ("sent", "received")),
            "yes" if row["same_bits"] else "NO",
        )  # fmt: skip
    console.print(table)
    killed = result["killed"]
    same = "the same bits" if killed["same_bits"] else "OTHER BITS"
    console.print(f"{killed['workers_killed']} workers killed in {killed['batches']} batches: {same}.", highlight=False)
    for place, cost in scaling.clusters(result).items():
        for work in scaling.works(result):
            one, many = (scaling.epoch(cost, work, n) for n in (1, 16))
            console.print(
                f"{place}, {work.name}: a pass takes {one:,.0f} s on 1 worker, {many:,.0f} s on 16; "
                f"from {scaling.balance(cost, work)} on a batch takes longer to exchange than to compute.",
                highlight=False,
            )
    write_plot(plot, lambda: plots.scaling(result["simulated"]["batches"], scaling.curves(result)))
    write_json(json_file, result)
