"""`timesurf bench classification`, `continual`, `incremental`: the paper's tables and figures on sentences."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

from timesurf.cli.app import (
    Json,
    Precision,
    Seed,
    bench,
    check_plot,
    check_writable,
    console,
    progress,
    write_json,
    write_plot,
)


@bench.command("classification")
def bench_classification(
    networks: Annotated[int, typer.Option(min=1, help="How many independent networks.")] = 10,
    seed: Seed = 0,
    recordings: Annotated[int, typer.Option(min=2, help="For training, and as many for testing.")] = 1000,
    beta: Annotated[float | None, typer.Option(help="A beta other than the preset's; the paper prints 1e-5.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Networks at a time; default: one per core.")] = None,
    json_file: Json = None,
) -> None:
    """The paper's Table 1: sentences classified by Sup3r and by k-means.

    Example: timesurf bench classification --networks 10 --seed 0 --json table1.json
    """
    from timesurf.paper import table1 as classification
    from timesurf.presets import SENTENCES

    check_writable(json_file)
    preset = SENTENCES if beta is None else replace(SENTENCES, rule=replace(SENTENCES.rule, beta=beta))
    with progress("training", networks) as report:
        result = classification.run(
            networks, seed, recordings=recordings, preset=preset, workers=workers, progress=report
        )
    console.print(table1(result))
    accuracy = np.array(result["sup3r"]["event_accuracy"])
    console.print(
        f"Sup3r after the first of a recording's 10 ms, when all lit pixels have fired: "
        f"event accuracy {np.mean(result['sup3r']['settled']):.3%}.",
        highlight=False,
    )
    converged = int((accuracy >= classification.CONVERGED).sum())
    console.print(
        f"{networks} networks, seed {seed}: {converged} converged, worst {accuracy.min():.2%}. "
        f"{result['seconds']:.0f} s on {result['machine']['cores']} cores ({result['machine']['processor']}).",
        highlight=False,
    )
    write_json(json_file, result)


@bench.command("continual")
def bench_continual(
    networks: Annotated[int, typer.Option(min=1, help="How many independent networks.")] = 10,
    seed: Seed = 0,
    workers: Annotated[int | None, typer.Option(min=1, help="Networks at a time; default: one per core.")] = None,
    precision: Precision = "float64",
    plot: Annotated[
        Path | None, typer.Option(help="Draw accuracy and centroids into this file.", dir_okay=False)
    ] = None,
    json_file: Json = None,
) -> None:
    """The paper's continual learning: x and / change places while the network adapts without labels.

    Example: timesurf bench continual --networks 10 --json continual.json --plot continual.png
    """
    from timesurf import plots
    from timesurf.paper import continual

    check_writable(json_file)
    check_plot(plot)
    with progress("training", networks) as report:
        result = continual.run(networks, seed, workers=workers, precision=precision, progress=report)
    table = Table(title=f"Event accuracy over the last {continual.LAST} recordings of each step: mean (worst network)")
    table.add_column("")
    for step in range(len(continual.RECORDINGS)):
        table.add_column(f"{step + 1} pixel{'s' if step else ''} moved", justify="right")
    for name in ("adapting", "ablated"):
        steps = np.array(result[name]["steps"])
        table.add_row(name, *(f"{m:.2%} ({w:.2%})" for m, w in zip(steps.mean(axis=0), steps.min(axis=0), strict=True)))
    console.print(table)
    console.print("The paper: adapting > 99 %, ablated 0 % at the end.", highlight=False)
    change = 100 * np.subtract(result["unshifted"]["after"], result["unshifted"]["before"])
    console.print(
        f"Adapting to {result['settings']['unshifted']:,} recordings in which nothing changes: "
        f"{change.mean():+.2f} points, worst network {change.min():+.2f}.",
        highlight=False,
    )
    table = Table(title="Limits on adapting, mean (worst network)")
    for column in ("", "event accuracy, last step", "shift of a first-layer unit by a recording 300 times too long"):
        table.add_column(column, justify="right" if column else "left")
    for name, guard in result["guards"].items():
        last, moves = guard["last_step"], guard["stuck_moves"]
        table.add_row(name, f"{np.mean(last):.2%} ({np.min(last):.2%})", f"{np.mean(moves):.3f} ({np.max(moves):.3f})")
    console.print(table)
    write_plot(plot, lambda: plots.continual(result))
    write_json(json_file, result)


@bench.command("incremental")
def bench_incremental(
    networks: Annotated[
        int, typer.Option(min=1, help="How many independent networks; with --data, how many splits.")
    ] = 10,
    seed: Seed = 0,
    tasks: Annotated[int, typer.Option(min=2, max=5, help="How many tasks, one after another.")] = 2,
    recordings: Annotated[int, typer.Option(min=20, help="Per task for training, and as many for testing.")] = 1000,
    data: Annotated[
        Path | None,
        typer.Option(help="N-MNIST instead of sentences: its folder, or an .npz. Five tasks of two digits."),
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Networks at a time; default: one per core.")] = None,
    precision: Precision = "float64",
    plot: Annotated[Path | None, typer.Option(help="Draw accuracies into this file.", dir_okay=False)] = None,
    json_file: Json = None,
) -> None:
    """New classes with the old ones frozen: the paper's Table 2, more tasks one after another, or digits.

    Example: timesurf bench incremental --tasks 5 --networks 10 --json incremental.json --plot incremental.png
    """
    from timesurf import plots
    from timesurf.datasets import nmnist
    from timesurf.paper import digits
    from timesurf.paper import table2 as incremental

    check_writable(json_file)
    check_plot(plot)
    if data is not None:
        with console.status("Reading ...") as status:
            result = digits.run(
                nmnist.prepared(nmnist.read(data)), networks, seed,
                progress=lambda what: status.update(f"Training: {what} ..."),
            )  # fmt: skip
    else:
        with progress("training", networks) as report:
            result = incremental.run(
                networks, seed, tasks=tasks, recordings=recordings, workers=workers, precision=precision,
                progress=report,
            )  # fmt: skip
        console.print(_table2(result))
    table = Table(title=f"After {len(result['settings']['tasks'])} tasks, mean (worst network)")
    for column in ("", "average accuracy", "forgetting, points", "backward transfer, points"):
        table.add_column(column, justify="right" if column else "left")
    for way, title in incremental.WAYS.items():
        about = result[way]
        average = f"{np.mean(about['average_accuracy']):.2%} ({np.min(about['average_accuracy']):.2%})"
        others = (
            f"{100 * np.mean(about[name]):.2f}" if name in about else "-"
            for name in ("forgetting", "backward_transfer")
        )  # fmt: skip
        table.add_row(title, average, *others)
    console.print(table)
    console.print(f"Seed {seed}, {result['seconds']:.0f} s.", highlight=False)
    write_plot(plot, lambda: plots.incremental(result))
    write_json(json_file, result)


def _table2(result: dict[str, Any]) -> Table:
    from timesurf.paper.table2 import PAPER

    tasks = len(result["settings"]["tasks"])
    table = Table(title="Event accuracy, mean (worst network)" + (": the paper's Table 2" if tasks == 2 else ""))
    names = {"task1": "task 1", "task2": "task 2", "task1_after": f"task 1 after task {tasks}"}
    for column in ("", *names.values()):
        table.add_column(column, justify="right" if column else "left")
    table.add_row("Sup3r, extended", *(f"{np.mean(result[n]):.2%} ({np.min(result[n]):.2%})" for n in names))
    if tasks == 2:
        table.add_row("the paper", *(f"{PAPER[n]:.2%}" for n in names))
    return table


def table1(result: dict[str, Any]) -> Table:
    """Sup3r and k-means next to the paper's figures."""
    from timesurf.paper.table1 import PAPER

    table = Table(title="Classification of sentences (the paper's Table 1)")
    for column in ("", "event accuracy", "paper", "events kept", "paper"):
        table.add_column(column, justify="right" if column else "left")
    for name, title in (("sup3r", "Sup3r network"), ("kmeans", "k-means")):
        ours = (np.mean(result[name][figure]) for figure in ("event_accuracy", "kept"))
        cells = [f"{v:.2%}" for pair in zip(ours, PAPER[name].values(), strict=True) for v in pair]
        table.add_row(title, *cells)
    return table
