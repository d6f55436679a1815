"""The command line."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from timesurf import __version__
from timesurf.errors import TimesurfError
from timesurf.files import replacing

app = typer.Typer(
    help="Learn on event streams with hierarchies of time surfaces, trained end to end by Sup3r.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
bench = typer.Typer(help="Reproduce the paper's tables and measure speed.", no_args_is_help=True)
app.add_typer(bench, name="bench")
console = Console()

Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same figures.")]
Json = Annotated[Path | None, typer.Option("--json", help="Also write the figures to this file.", dir_okay=False)]


def main() -> None:
    """Run the command line; a user's mistake ends with a message and exit code 2, not with a traceback."""
    try:
        app()
    except (TimesurfError, OSError) as error:
        Console(stderr=True).print(f"[bold red]Error:[/] {error}", highlight=False)
        sys.exit(2)
    except KeyboardInterrupt:
        Console(stderr=True).print("Stopped.")
        sys.exit(130)


def _version(show: bool) -> None:
    if show:
        console.print(f"timesurf {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say it and end.")
    ] = False,
) -> None:
    pass


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the model and the figure.", file_okay=False)] = Path("demo"),
    seed: Seed = 0,
) -> None:
    """Train one network on the paper's benchmark, print the table, draw its features.

    Example: timesurf demo --out demo
    """
    from timesurf import plots
    from timesurf.bench import classification

    out.mkdir(parents=True, exist_ok=True)
    console.print(
        "Two sentences, [bold]v/v yty[/] and [bold]vxv yty[/], written by noisy pixels. "
        "Only x and / tell them apart.\nTraining a network of 3, 6 and 2 units on 1,000 recordings ..."
    )
    with _progress("training", 1) as told:
        sup3r, kmeans, test = classification.train(seed, 0, 1000, told)
    figures = {"sup3r": sup3r.evaluate(test), "kmeans": kmeans.evaluate(test)}
    console.print(_table1({name: {k: [v[k]] for k in ("accuracy", "kept")} for name, v in figures.items()}))
    sup3r.save(out / "sentences.tsf")
    trace = sup3r.trace(test[:200])
    through = trace.winner[trace.passed == len(sup3r.stages), 0]
    use = np.bincount(through, minlength=sup3r.stages[0].units) / max(len(through), 1)
    accuracy = (figures["sup3r"]["accuracy"], figures["kmeans"]["accuracy"])
    plots.compare_features(sup3r, kmeans, use, accuracy).savefig(out / "features.png", dpi=120)
    console.print(
        f"Layer-1 features of both: {out / 'features.png'}\nThe trained network:      {out / 'sentences.tsf'}"
    )


@app.command()
def warmup() -> None:
    """Compile the CPU kernels for this machine now, so that the first run does not wait for it.

    Example: timesurf warmup
    """
    from timesurf.engines import cpu

    began = time.perf_counter()
    with console.status("Compiling ..."):
        cpu.warm_up()
    console.print(f"Compiled in {time.perf_counter() - began:.0f} s, and kept on disk.", highlight=False)


@bench.command("classification")
def bench_classification(
    networks: Annotated[int, typer.Option(min=1, help="How many independent networks.")] = 10,
    seed: Seed = 0,
    recordings: Annotated[int, typer.Option(min=2, help="For training, and as many for testing.")] = 1000,
    beta: Annotated[float | None, typer.Option(help="Another beta than the preset's; the paper prints 1e-5.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Networks at a time; default: one a core.")] = None,
    json_file: Json = None,
) -> None:
    """The paper's Table 1: sentences told apart by Sup3r and by k-means.

    Example: timesurf bench classification --networks 10 --seed 0 --json table1.json
    """
    from timesurf.bench import classification
    from timesurf.presets import SENTENCES

    _check_writable(json_file)
    preset = SENTENCES if beta is None else replace(SENTENCES, rule=replace(SENTENCES.rule, beta=beta))
    with _progress("training", networks) as told:
        result = classification.run(
            networks, seed, recordings=recordings, preset=preset, workers=workers, progress=told
        )
    console.print(_table1(result))
    accuracy = np.array(result["sup3r"]["accuracy"])
    console.print(
        f"Sup3r after the first of a recording's 10 ms, when all lit pixels have fired: "
        f"{np.mean(result['sup3r']['settled']):.3%} of events right.",
        highlight=False,
    )
    converged = int((accuracy >= classification.CONVERGED).sum())
    console.print(
        f"{networks} networks, seed {seed}: {converged} converged, worst {accuracy.min():.2%}. "
        f"{result['seconds']:.0f} s on {result['machine']['cores']} cores ({result['machine']['processor']}).",
        highlight=False,
    )
    _write_json(json_file, result)


@bench.command("continual")
def bench_continual(
    networks: Annotated[int, typer.Option(min=1, help="How many independent networks.")] = 10,
    seed: Seed = 0,
    workers: Annotated[int | None, typer.Option(min=1, help="Networks at a time; default: one a core.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw accuracy and centroids into this file.", dir_okay=False)
    ] = None,
    json_file: Json = None,
) -> None:
    """The paper's continual learning: x and / change places while the network works without labels.

    Example: timesurf bench continual --networks 10 --json continual.json --plot continual.png
    """
    from timesurf import plots
    from timesurf.bench import continual

    _check_writable(json_file)
    _check_writable(plot)
    with _progress("training", networks) as told:
        result = continual.run(networks, seed, workers=workers, progress=told)
    table = Table(title=f"Events right over the last {continual.LAST} recordings of each step: mean (worst network)")
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
    table = Table(title="Guards, mean (worst network)")
    for column in ("", "right at the last step", "a first-layer unit moves, after a recording 300 times too long"):
        table.add_column(column, justify="right" if column else "left")
    for name, guard in result["guards"].items():
        last, moves = guard["last_step"], guard["stuck_moves"]
        table.add_row(name, f"{np.mean(last):.2%} ({np.min(last):.2%})", f"{np.mean(moves):.3f} ({np.max(moves):.3f})")
    console.print(table)
    _write_plot(plot, lambda: plots.continual(result))
    _write_json(json_file, result)


@bench.command("incremental")
def bench_incremental(
    networks: Annotated[int, typer.Option(min=1, help="How many independent networks; splits, with --data.")] = 10,
    seed: Seed = 0,
    tasks: Annotated[int, typer.Option(min=2, max=5, help="How many tasks, one after another.")] = 2,
    recordings: Annotated[int, typer.Option(min=20, help="Of each task for training, as many for testing.")] = 1000,
    data: Annotated[
        Path | None,
        typer.Option(help="N-MNIST instead of sentences: its folder, or an .npz. Five tasks of two digits."),
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Networks at a time; default: one a core.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw accuracies into this file.", dir_okay=False)] = None,
    json_file: Json = None,
) -> None:
    """New classes without forgetting: the paper's Table 2, more tasks in a row, or digits.

    Example: timesurf bench incremental --tasks 5 --networks 10 --json incremental.json --plot incremental.png
    """
    from timesurf import plots
    from timesurf.bench import digits, incremental
    from timesurf.datasets import nmnist

    _check_writable(json_file)
    _check_writable(plot)
    if data is not None:
        with console.status("Reading ...") as status:
            result = digits.run(
                nmnist.prepared(nmnist.read(data)), networks, seed,
                progress=lambda what: status.update(f"Training: {what} ..."),
            )  # fmt: skip
    else:
        with _progress("training", networks) as told:
            result = incremental.run(networks, seed, tasks=tasks, recordings=recordings, workers=workers, progress=told)
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
    _write_plot(plot, lambda: plots.incremental(result))
    _write_json(json_file, result)


@bench.command("nmnist")
def bench_nmnist(
    data: Annotated[Path, typer.Option("--npz", help="Recordings in our layout: a subset of N-MNIST.", dir_okay=False)],
    folds: Annotated[int, typer.Option(min=2, help="Of the cross-validation.")] = 10,
    seed: Seed = 0,
    json_file: Json = None,
) -> None:
    """The paper's Table 3 on a subset of N-MNIST, cross-validated: Sup3r beside HOTS with a classifier.

    Example: timesurf bench nmnist --npz nmnist_train_1000.npz --folds 10 --json nmnist.json
    """
    from timesurf.bench import nmnist as table3
    from timesurf.datasets import nmnist

    _check_writable(json_file)
    recordings = nmnist.prepared(nmnist.read(data))
    with console.status("Training ...") as status:

        def told(what: str, news: Any) -> None:
            share = f", {news.done / news.total:.0%}, {news.kept:.0%} of events kept" if news else ""
            status.update(f"{what}{share}")

        result = table3.run(recordings, folds, seed, progress=told)
    table = Table(title=f"{len(recordings):,} recordings of N-MNIST, {folds} folds (the paper's Table 3: all 70,000)")
    for column in ("", "recordings right (95 %)", "paper", "events kept", "paper", "seconds a fold"):
        table.add_column(column, justify="right" if column else "left")
    for name, title in table3.ROWS.items():
        row, paper = result[name], table3.PAPER.get(name, {})
        low, high = row["interval"]
        printed = [f"{paper[figure]:.2%}" if figure in paper else "-" for figure in ("accuracy", "kept")]
        accuracy = f"{row['accuracy']:.1%} ({low:.1%} to {high:.1%})"
        table.add_row(title, accuracy, printed[0], f"{row['kept']:.1%}", printed[1], f"{row['seconds']:.0f}")
    console.print(table)
    console.print(
        f"Inference: {result['sup3r']['events_per_s'] / 1e6:.1f} M events/s on {result['machine']['cores']} cores.",
        highlight=False,
    )
    _write_json(json_file, result)


@bench.command("speed")
def bench_speed(
    quick: Annotated[
        bool, typer.Option("--quick", help="Less data, fewer repeats: a look, not a measurement.")
    ] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw how cost grows into this file.", dir_okay=False)] = None,
    json_file: Json = None,
) -> None:
    """Events a second of every job, beside the plain engine and the machine's multiply-add peak.

    Example: timesurf bench speed --json speed.json --plot speed.png
    """
    from timesurf import plots
    from timesurf.bench import speed

    _check_writable(json_file)
    _check_writable(plot)
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
    _write_plot(plot, lambda: plots.growth(result["growth"]))
    _write_json(json_file, result)


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


def _table2(result: dict[str, Any]) -> Table:
    from timesurf.bench.incremental import PAPER

    tasks = len(result["settings"]["tasks"])
    table = Table(title="Events right, mean (worst network)" + (": the paper's Table 2" if tasks == 2 else ""))
    names = {"task1": "task 1", "task2": "task 2", "task1_after": f"task 1 after task {tasks}"}
    for column in ("", *names.values()):
        table.add_column(column, justify="right" if column else "left")
    table.add_row("Sup3r, extended", *(f"{np.mean(result[n]):.2%} ({np.min(result[n]):.2%})" for n in names))
    if tasks == 2:
        table.add_row("the paper", *(f"{PAPER[n]:.2%}" for n in names))
    return table


def _table1(result: dict[str, Any]) -> Table:
    from timesurf.bench.classification import PAPER

    table = Table(title="Classification of sentences (the paper's Table 1)")
    for column in ("", "events right", "paper", "events kept", "paper"):
        table.add_column(column, justify="right" if column else "left")
    for name, title in (("sup3r", "Sup3r network"), ("kmeans", "k-means")):
        ours = (np.mean(result[name][figure]) for figure in ("accuracy", "kept"))
        cells = [f"{v:.2%}" for pair in zip(ours, PAPER[name].values(), strict=True) for v in pair]
        table.add_row(title, *cells)
    return table


@contextmanager
def _progress(what: str, networks: int) -> Iterator[Any]:
    """A bar that counts recordings over all networks, with the latest accuracy and kept share; silent in a pipe."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    done: dict[int, int] = {}
    lock = threading.Lock()
    with Progress(*columns, TextColumn("{task.fields[news]}"), console=console, transient=True) as bar:
        bar.disable = not console.is_terminal
        task = bar.add_task(what, total=None, news="compiling on first use")

        def told(number: int, news: Any) -> None:
            with lock:
                done[number] = news.done
                text = f"{news.accuracy:.1%} right, {news.kept:.1%} kept"
                bar.update(task, completed=sum(done.values()), total=networks * news.total, news=text)

        yield told


def _check_writable(path: Path | None) -> None:
    """Say at once, not after minutes of work, that a result cannot be written."""
    if path is not None and not path.resolve().parent.is_dir():
        raise FileNotFoundError(f"Cannot write {path}: its folder does not exist.")


def _write_plot(path: Path | None, draw: Callable[[], Any]) -> None:
    if path is not None:
        draw().savefig(path, dpi=120)
        console.print(f"Figure written to {path}", highlight=False)


def _write_json(path: Path | None, result: dict[str, Any]) -> None:
    if path is not None:
        with replacing(path) as file:
            file.write((json.dumps(result, indent=1) + "\n").encode())
        console.print(f"Figures written to {path}", highlight=False)
