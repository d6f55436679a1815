"""`timesurf bench nmnist`: the paper's Table 3, on real recordings, on simulated ones, or from these to those."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from timesurf.cli.app import (
    Engine,
    Json,
    Seed,
    bench,
    check_plot,
    check_writable,
    console,
    counted,
    write_json,
    write_plot,
)
from timesurf.errors import SettingError
from timesurf.events import Recordings


@bench.command("nmnist")
def bench_nmnist(
    data: Annotated[
        Path | None, typer.Option(help="N-MNIST: the folder that holds Train and Test.", exists=True, file_okay=False)
    ] = None,
    npz: Annotated[
        Path | None,
        typer.Option("--npz", help="Or a subset of N-MNIST as .npz, cross-validated.", exists=True, dir_okay=False),
    ] = None,
    simulated: Annotated[bool, typer.Option("--simulated", help="Or events simulated from all of MNIST.")] = False,
    folds: Annotated[int, typer.Option(min=2, help="Folds of the cross-validation, with --npz.")] = 10,
    images: Annotated[
        Path | None,
        typer.Option("--mnist", help="mnist.npz, or the folder that holds it; default: $TIMESURF_DATA.", exists=True),
    ] = None,
    rows: Annotated[
        str,
        typer.Option(
            help="Which rows, names separated by commas; others are taken from the --json file, if it has them."
        ),
    ] = "",
    beyond: Annotated[
        bool,
        typer.Option(
            "--beyond",
            help="Also rows beyond the paper: both polarities, pooled places, more units, two layers, fewer events.",
        ),
    ] = False,
    transfer: Annotated[
        bool,
        typer.Option(
            "--transfer",
            help="Instead of the table: learn from simulated recordings of other digits, test and adapt on --npz.",
        ),
    ] = False,
    handwriting: Annotated[
        int,
        typer.Option(min=0, help="With --transfer: learn also from this many copies of each image, rewritten."),
    ] = 0,
    keep: Annotated[
        float | None, typer.Option(min=0.01, max=1, help="With --transfer: the share of events to keep.")
    ] = None,
    train: Annotated[int | None, typer.Option(min=20, help="Learn from this number of recordings only.")] = None,
    engine: Engine = "cpu",
    seed: Seed = 0,
    seeds: Annotated[int, typer.Option(min=1, help="Networks per row, of this seed and the next ones.")] = 1,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the network and its decisions into this file.", dir_okay=False)
    ] = None,
    json_file: Json = None,
) -> None:
    """Make the paper's Table 3: Sup3r on N-MNIST, compared with backpropagation and HOTS with a classifier.

    Example: timesurf bench nmnist --npz nmnist_train_1000.npz --folds 10 --json nmnist.json --plot nmnist.png
    """
    from timesurf import plots
    from timesurf.baselines import ann
    from timesurf.paper import table3

    if (data is not None) + (npz is not None) + simulated != 1:
        raise SettingError("Choose the recordings: exactly one of --data DIR, --npz FILE and --simulated.")
    check_writable(json_file)
    check_plot(plot)
    if transfer:
        if npz is None or rows or beyond or plot:
            raise SettingError("--transfer needs --npz, and takes neither --rows nor --beyond nor --plot.")
        how: dict[str, Any] = {"train": train, "copies": handwriting, "keep": keep, "engine": engine}
        write_json(json_file, _transferred(npz, images, seed, seeds, **how))
        return
    if handwriting or keep is not None:
        raise SettingError("--handwriting and --keep are for --transfer; the table has rows of its own.")
    usual = table3.ALL if beyond else table3.ROWS
    chosen = [name.strip() for name in rows.split(",")] if rows else list(usual)
    if any(name.startswith("ann") for name in chosen):
        ann.load()  # fails now, not in an hour, if PyTorch is missing
    if npz is not None:
        what, splits = _folded(npz, images, folds, seed)
    else:
        what, splits = _whole(data, images, train, engine)
    with console.status("Training ...") as status:
        result = table3.run(
            splits, what, seed, rows=chosen, engine=engine, seeds=seeds, progress=status.update,
            finished=lambda text: console.print(text, highlight=False),
        )  # fmt: skip
    result = _with_earlier(json_file, result)
    console.print(_table3(result))
    if "sup3r" in result:
        row = result["sup3r"]
        about = result["machine"]
        on = about["gpu"]["name"] if "gpu" in about else f"{about['cores']} cores"
        console.print(
            f"Sup3r on {on}: learns from {row['training_events_per_s'] / 1e6:.1f} M "
            f"events/s, classifies {row['events_per_s'] / 1e6:.1f} M events/s.",
            highlight=False,
        )
        write_plot(plot, lambda: plots.digits(row))
    write_json(json_file, result)


def _transferred(
    npz: Path,
    images: Path | None,
    seed: int,
    seeds: int,
    *,
    train: int | None,
    copies: int,
    keep: float | None,
    engine: str,
) -> dict[str, Any]:
    """Learn from simulated recordings of other digits, test and adapt on real ones; show and return the figures."""
    from dataclasses import replace

    from timesurf import presets
    from timesurf.datasets import handwriting, mnist, nmnist
    from timesurf.events.joining import joined
    from timesurf.paper import transfer

    real = nmnist.read(npz)
    learned = nmnist.cropped(transfer.others(_simulated(images, "train", engine), real)[:train])
    preset = presets.digits(len(learned), keep=keep, bent=copies or None)
    if copies:
        pictures, labels = (of[len(real) :][:train] for of in mnist.read(images, "train"))
        with console.status(f"{copies} more copies of {len(pictures):,} images, rewritten ..."):
            more = handwriting.simulate(pictures, labels, copies, engine=engine, prepare=nmnist.cropped)
        learned, preset = joined([learned, more]), replace(preset, bent=0)
    testing = nmnist.cropped(_simulated(images, "test", engine))
    with console.status("Training ...") as status:
        result = transfer.run(
            learned, nmnist.cropped(real), seed, seeds=seeds, preset=preset, test=testing, engine=engine,
            progress=status.update,
        )  # fmt: skip
    result["settings"]["handwriting"] = copies
    low, high = result["simulated"]["interval"]
    console.print(
        f"Simulated recordings of {len(testing):,} further images: {result['simulated']['recording_accuracy']:.2%} "
        f"({low:.1%} to {high:.1%}), {result['simulated']['kept']:.0%} of events kept.",
        highlight=False,
    )
    table = Table("real recordings learned from", title="Real recordings, learned from simulated ones of other digits")
    for column in ("tested on", "before", "after (95 %)"):
        table.add_column(column, justify="right")
    for row in ({"recordings": 0} | result["zero_shot"], *result["adapted"]):
        low, high = row["interval"]
        before = f"{row['before']:.2%}" if "before" in row else "-"
        after = f"{row['recording_accuracy']:.2%} ({low:.1%} to {high:.1%})"
        table.add_row(str(row["recordings"] or "none"), f"{row['tested']:,}", before, after)
    console.print(table)
    return result


def _simulated(images: Path | None, split: str, engine: str) -> Recordings:
    """All of a split of MNIST as the simulated camera sees it."""
    from timesurf.datasets import saccades

    with counted(f"simulating the {split} split") as report:
        return saccades.digits(images, split, engine="cuda" if engine == "cuda" else "cpu", progress=report)


def _with_earlier(path: Path | None, result: dict[str, Any]) -> dict[str, Any]:
    """The result, with the other rows of an earlier run on the same data with the same seed."""
    from timesurf.paper.table3 import ALL

    if path is None or not path.is_file():
        return result
    try:
        earlier = json.loads(path.read_text("utf-8"))
    except ValueError:  # not a result file, but what was just measured must not be lost
        return result
    if (earlier.get("data"), earlier.get("settings", {}).get("seed")) != (result["data"], result["settings"]["seed"]):
        return result
    return result | {name: earlier[name] for name in ALL if name in earlier and name not in result}


def _folded(npz: Path, images: Path | None, folds: int, seed: int) -> tuple[str, list[Any]]:
    """Folds of a subset, with the still images if they are of the same digits."""
    import numpy as np

    from timesurf.datasets import mnist, nmnist
    from timesurf.errors import EventError
    from timesurf.paper import table3

    recordings = nmnist.cropped(nmnist.read(npz))
    still = None
    try:
        pictures, labels = mnist.read(images)
        if np.array_equal(labels[: len(recordings)], np.asarray(recordings.labels)):
            still = pictures[: len(recordings)]
    except EventError as error:
        console.print(f"There are no still images, so their row is left out. {error}", highlight=False)
    what = f"{len(recordings):,} recordings of N-MNIST, {folds} folds"
    return what, list(table3.folds(recordings, folds, seed, still))


def _whole(data: Path | None, images: Path | None, train: int | None, engine: str) -> tuple[str, list[Any]]:
    """The official split of N-MNIST, or of events simulated from MNIST."""
    from timesurf.datasets import mnist, nmnist
    from timesurf.errors import EventError
    from timesurf.paper import table3

    parts: list[Recordings] = []
    for split in ("train", "test"):
        if data:
            with counted(f"reading the {split} split") as report:
                read = nmnist.read(data, split, progress=report)
        else:
            read = _simulated(images, split, engine)
        parts.append(nmnist.cropped(read))
        if data and not nmnist.complete(parts[-1], split):
            console.print(f"{data}: {len(read):,} recordings in {split}, {nmnist.COUNTS[split]:,} in the official one.")
    still = None
    try:
        still = mnist.read(images, "train")[0], mnist.read(images, "test")[0]
        if any(len(a) != len(b) for a, b in zip(still, parts, strict=True)):
            still = None
    except EventError as error:
        console.print(f"There are no still images, so their row is left out. {error}", highlight=False)
    if train is not None:
        parts[0] = parts[0][:train]
        still = None if still is None else (still[0][:train], still[1])
    what = "N-MNIST" if data else "events simulated from MNIST"
    return f"{what}, {len(parts[0]):,} / {len(parts[1]):,} recordings", [table3.Split(parts[0], parts[1], still)]


def _table3(result: dict[str, Any]) -> Table:
    """Table 3 beside the paper's figures."""
    from timesurf.paper.table3 import ALL, PAPER

    table = Table(title=f"{result['data']} (the paper's Table 3: all of N-MNIST)")
    for column in ("", "recording accuracy (95 %)", "paper", "events kept", "paper", "training, s"):
        table.add_column(column, justify="right" if column else "left")
    for name, title in ALL.items():
        if name in result:
            row, paper = result[name], PAPER.get(name, {})
            low, high = row["interval"]
            printed = [f"{paper[figure]:.2%}" if figure in paper else "-" for figure in ("recording_accuracy", "kept")]
            share = f"{row['kept']:.1%}" if "kept" in row else "-"
            accuracy = f"{row['recording_accuracy']:.2%} ({low:.1%} to {high:.1%})"
            table.add_row(title, accuracy, printed[0], share, printed[1], f"{row['seconds']:.0f}")
    return table
