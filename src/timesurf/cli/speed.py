"""`timesurf bench speed` and `timesurf bench workers`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from timesurf.cli.app import Engine, Json, bench, check_plot, check_writable, console, write_json, write_plot
from timesurf.cli.terminal import bold
from timesurf.errors import SettingError


@bench.command("speed")
def bench_speed(
    quick: Annotated[
        bool, typer.Option("--quick", help="Use less data and fewer repeats: a rough impression, not a measurement.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Fail with exit code 1 if a ratio is below what is asked for (CPU only).")
    ] = False,
    npz: Annotated[
        Path | None,
        typer.Option(
            "--npz",
            help="N-MNIST as .npz, for the networks of digits; default: generated pen strokes (CPU only).",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    engine: Engine = "cpu",
    plot: Annotated[
        Path | None, typer.Option(help="Draw the cost per event by size of the network into this file.", dir_okay=False)
    ] = None,
    json_file: Json = None,
) -> None:
    """Measure events per second of inference and learning, on the CPU or on a GPU.

    On the CPU also relative to an engine without optimisations, and to the multiply-add peak of the machine.

    Example: timesurf bench speed --json speed.json --plot speed.png
    """
    check_writable(json_file)
    if engine == "cuda":
        if check:
            raise SettingError("--check compares with limits for the CPU: leave out --engine cuda.")
        if npz:
            raise SettingError("--npz is measured on the CPU: leave out --engine cuda.")
        _on_gpu(quick, json_file)
        return
    from timesurf import plots
    from timesurf.bench import limits, speed
    from timesurf.datasets import nmnist

    check_plot(plot)
    digits = nmnist.prepared(nmnist.read(npz)) if npz else None
    with console.status("Measuring ...") as status:
        result = speed.run(digits=digits, quick=quick, progress=lambda what: status.update(f"Measuring {what} ..."))
    console.print(_speed_table(result))
    for name, rows in result["growth"].items():
        cells = "   ".join(f"{row[name]:,}: {row['infer_ns']:.0f}" for row in rows)
        console.print(f"  ns per event by {name:15s} {cells}", highlight=False)
    about = result["machine"]
    console.print(
        f"One core of {about['processor']}: {result['multiply_adds_per_s'] / 1e9:.0f} G multiply-adds/s in float32.",
        highlight=False,
    )
    write_plot(plot, lambda: plots.growth(result["growth"]))
    write_json(json_file, result)
    if check:
        missed = limits.missed(result)
        for sentence in missed:
            console.print(bold("Too slow. ", sentence, "bold red"))
        if missed:
            raise typer.Exit(1)
        console.print("All ratios are as asked for.", highlight=False)


def _on_gpu(quick: bool, json_file: Path | None) -> None:
    """Measure and show speed on a GPU."""
    from timesurf import engines
    from timesurf.bench import gpu

    engines.load("cuda")  # raises an error that says what is missing
    with console.status("Measuring ...") as status:
        result = gpu.run(quick=quick, progress=lambda what: status.update(f"Measuring {what} ..."))
    table = Table(title=f"Billions of events per second on one {result['machine']['gpu']['name']}")
    for column in ("", "on the card", "whole call"):
        table.add_column(column, justify="right" if column else "left")
    for row in result["rows"]:
        table.add_row(row["what"], *(f"{row[f'{clock}_events_per_s'] / 1e9:.2f}" for clock in ("card", "call")))
    console.print(table)
    write_json(json_file, result)


def _speed_table(result: dict[str, Any]) -> Table:
    """Speed on the CPU as a table."""
    from timesurf.bench import speed

    table = Table(title="Millions of events per second")
    for column in ("network", "job", "one core", "all cores", "plain engine", "times plain", "of peak", "of infer"):
        table.add_column(column, justify="left" if column in ("network", "job") else "right")
    for name, network in result["networks"].items():
        for job in speed.JOBS:
            row = network[job]
            every, share, ratio = (row.get(x) for x in ("all_cores_events_per_s", "share_of_peak", "times_infer"))
            table.add_row(
                name,
                job,
                f"{row['events_per_s'] / 1e6:.2f}",
                f"{every / 1e6:.2f}" if every else "-",
                f"{row['plain_events_per_s'] / 1e6:.4f}",
                f"{row['times_plain']:.0f} x" if row["times_plain"] >= 10 else f"{row['times_plain']:.1f} x",
                f"{share:.0%}" if share else "-",
                f"{ratio:.2f}" if ratio else "-",
            )
    return table


@bench.command("workers")
def bench_workers(
    quick: Annotated[
        bool, typer.Option("--quick", help="Use less data and fewer workers: a rough impression, not a measurement.")
    ] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw time and speed by number of workers into this file.")] = None,
    json_file: Json = None,
) -> None:
    """Measure batches on local Dask workers: time, bytes, identical results, killed workers.

    A cost model fitted to them estimates the time with many more workers.

    Example: timesurf bench workers --json workers.json --plot workers.png
    """
    from timesurf import plots
    from timesurf.bench import scaling, workers

    check_writable(json_file)
    check_plot(plot)
    with console.status("Measuring ...") as status:
        result = workers.run(quick=quick, progress=lambda what: status.update(f"Measuring: {what} ..."))
    table = Table(title="One batch by number of workers; 0: one core, without Dask")
    for column in ("batch", "workers", "ms", "speed-up", "ms, model", "kB sent", "kB received", "bit-identical"):
        table.add_column(column, justify="right")
    simulated = {(row["batch"], row["workers"]): row["simulated"] for row in result["simulated"]["batches"]}
    ones = {row["batch"]: row["seconds"] for row in result["rows"] if row["workers"] == 1}
    for row in sorted(result["rows"], key=lambda row: (row["batch"], row["workers"])):
        model = simulated.get((row["batch"], row["workers"]))
        table.add_row(
            f"{row['batch']}", f"{row['workers']}", f"{1e3 * row['seconds']:.0f}",
            f"{ones[row['batch']] / row['seconds']:.2f} x", f"{1e3 * model:.0f}" if model else "",
            *(f"{row[way] / 1e3:.0f}" if way in row else "" for way in ("sent", "received")),
            "yes" if row["same_bits"] else "NO",
        )  # fmt: skip
    console.print(table)
    killed = result["killed"]
    same = "the model is bit-identical" if killed["same_bits"] else "the model DIFFERS"
    console.print(f"{killed['workers_killed']} workers killed in {killed['batches']} batches: {same}.", highlight=False)
    for place, cost in scaling.clusters(result).items():
        for work in scaling.works(result):
            one, many = (scaling.epoch(cost, work, n) for n in (1, 16))
            console.print(
                f"{place}, {work.name}: a pass takes {one:,.0f} s on 1 worker, {many:,.0f} s on 16; "
                f"from {scaling.balance(cost, work)} workers on, a batch takes longer to exchange than to compute.",
                highlight=False,
            )
    write_plot(plot, lambda: plots.scaling(result["simulated"]["batches"], scaling.curves(result)))
    write_json(json_file, result)
