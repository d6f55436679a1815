"""`timesurf train`: a network from recordings, with the folder of its run."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.text import Text

from timesurf.cli import choosing
from timesurf.cli.app import (
    Config,
    Dask,
    Data,
    Engine,
    Json,
    Seed,
    Split,
    app,
    check_writable,
    console,
    one_of,
    progress,
    say_next,
    spread,
    write_json,
)
from timesurf.cli.cutting import Every, Overlap, cut
from timesurf.cli.data import load_to_learn, needs_labels
from timesurf.cli.preparing import for_training, prepares
from timesurf.cli.terminal import interrupted_when_ended
from timesurf.cli.using import figures, shown
from timesurf.cli.wording import as_options, count
from timesurf.errors import SettingError
from timesurf.storage import lock, toml
from timesurf.storage.atomic import replacing

_FEW, _FEW_PER_CLASS = 30, 3  # recordings below which what they decide is rough


@app.command()
@prepares
def train(
    ctx: typer.Context,
    data: Data,
    model: Annotated[Path, typer.Option(help="File to write the model to.", dir_okay=False)],
    preset: Annotated[
        str,
        typer.Option(
            autocompletion=one_of("auto", "camera", "digits", "nmnist", "sentences"),
            help="Settings: auto (chosen from the data), camera, digits, nmnist, sentences, or a .json of search.",
        ),
    ] = "auto",
    validation: Annotated[
        float, typer.Option(min=0, max=0.9, help="Share of the recordings that choose the best pass; 0: none.")
    ] = 0.1,
    held_out: Annotated[
        float, typer.Option(min=0, max=0.9, help="Share reported on and used for nothing else; 0: none.")
    ] = 0.1,
    recordings: Annotated[
        int | None, typer.Option(min=1, help="Take only this number of recordings, drawn at random.")
    ] = None,
    passes: Annotated[
        int | None, typer.Option(min=1, help="Passes over all recordings; default: the preset's.")
    ] = None,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Recordings per step; default: the preset's.")] = None,
    units: Annotated[int | None, typer.Option(min=1, help="Units of the first layer; default: the preset's.")] = None,
    taus: Annotated[str | None, typer.Option(help="Time constants of both layers, as '10 ms, 1 ms'.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Rate of centroids, weight of dS.")] = None,
    beta: Annotated[float | None, typer.Option(help="Rate of centroids, weight of S.")] = None,
    gamma: Annotated[float | None, typer.Option(help="Rate of thresholds, weight of dS.")] = None,
    delta: Annotated[float | None, typer.Option(help="Rate of thresholds, weight of S.")] = None,
    d: Annotated[float | None, typer.Option(help="How close to its border an event moves a threshold.")] = None,
    keep: Annotated[
        float | None, typer.Option(min=0.01, max=1, help="Share of events to keep; reached within 3 points.")
    ] = None,
    tune: Annotated[
        float | None, typer.Option(min=0.01, help="Minutes spent trying settings close to the chosen ones.")
    ] = None,
    tune_trials: Annotated[
        int | None, typer.Option(min=1, help="Trials of tuning, in place of or beside minutes: then reproducible.")
    ] = None,
    if_diverged: Annotated[
        str,
        typer.Option(
            autocompletion=one_of("stop", "clip", "back"),
            help="stop; clip; or back: repeat the pass at half the rates.",
        ),
    ] = "back",
    resume: Annotated[bool, typer.Option("--resume", help="Continue this command after an interruption.")] = False,
    minutes: Annotated[float, typer.Option(min=0, help="Minutes between checkpoints.")] = 5,
    checkpoint_every: Annotated[
        int | None, typer.Option(min=1, help="Recordings between checkpoints, if these come first.")
    ] = None,
    every: Every = None,
    overlap: Overlap = 0.0,
    engine: Engine = "cpu",
    dask: Dask = None,
    seed: Seed = 0,
    split: Split = "train",
    run: Annotated[Path | None, typer.Option(help="Folder of the run; default: MODEL.run", file_okay=False)] = None,
    config: Config = None,
    json_file: Json = None,
    *,
    given: dict[str, Any],
) -> None:
    """Train a network on recordings; a folder keeps the run, for `timesurf report`, and its checkpoints.

    Recordings are split three ways: learned from, chosen by (--validation), reported on (--held-out). Those without a
    label are learned from. Pieces of one recording (--every) stay together in one part.

    Example: timesurf train digits.npz --preset nmnist --model digits.tsf
    """
    from timesurf.engines import choose
    from timesurf.learning import split as splitting

    run = run or Path(f"{model}.run")
    for path in (model, json_file, None if run.is_dir() else run):
        check_writable(path)
    choosing.check(ctx)
    found = load_to_learn(data, split, given)
    if recordings is not None and recordings < len(found):
        found = found[np.sort(np.random.default_rng(seed).permutation(len(found))[:recordings])]
    preparation, found = for_training(found, given, preset)
    needs_labels(found, data)
    if len(found.classes) == 1:
        only = f"All labels are {found.classes[0]}: with a single class there is nothing to distinguish."
        console.print(Text(only))
    pieces = cut(found, every, overlap)
    found = pieces.recordings
    parts = splitting.split(found, validation, held_out, seed, origin=None if every is None else pieces.origin)
    what = ctx.with_resource(spread(dask, engine))
    origin = None if every is None else pieces.origin[parts.numbers["learn"]]
    settings, chosen = choosing.settings(ctx, parts.learn, what, origin, run)
    if dask is not None and settings.batch_size is None:
        raise SettingError("--dask spreads batches over workers, but this preset learns online: give --batch-size.")
    network = settings.network(found, found.classes, seed, engine=what)
    network.law, network.why = chosen.law, chosen.why
    network.preparation = preparation
    choose(network.engine, network.stages)  # refuses an unknown engine before there is a folder
    ctx.with_resource(lock.held(run))
    chosen.keep(run)
    _show_split(parts, validation, held_out, None if every is None else pieces, settings.passes)
    began = time.perf_counter()
    stopped = _trained(network, parts, settings, ctx.params, run)
    about = {
        "command": sys.argv, "config": _plain(ctx.params), "settings": settings.to_dict(), "seed": seed,
        **chosen.about(),
        "data": {"name": data, "recordings": len(found), "events": int(found.counts.sum())},
        "seconds": time.perf_counter() - began, "stopped": stopped, "when": time.strftime("%Y-%m-%d %H:%M"),
    }  # fmt: skip
    about = _finished(network, parts, about, model, run, engine)
    write_json(json_file, about)
    if stopped:
        console.print("The same command with --resume continues from the latest checkpoint.", highlight=False)
        sys.exit(130)


def _trained(network: Any, parts: Any, settings: Any, options: dict[str, Any], run: Path) -> bool:
    """Train with checkpoints and a progress bar; whether it was stopped before the end."""
    from timesurf.learning.checkpoints import Checkpoints

    stopped = False
    often = Checkpoints(run / "checkpoints", recordings=options["checkpoint_every"], minutes=options["minutes"])
    known = network.law is not None and network.law.settings(network.layers)["hidden"]
    with interrupted_when_ended():
        try:
            with progress("training", 1, "chosen" if known else settings.start) as report:
                network.fit(
                    parts.learn, **settings.training(), validation=parts.validation, if_diverged=options["if_diverged"],
                    checkpoints=often, resume=options["resume"], progress=lambda now: report(0, now),
                )  # fmt: skip
            if options["keep"] is not None and len(network.stages) > 1:
                tightened(network, parts, keep=options["keep"], **_again(settings))
        except KeyboardInterrupt:
            stopped = True
    if stopped and not (network.history or (settings.passes == 0 and network.started)):
        console.print("Stopped before the end of the first pass: there is no model to write.")
        sys.exit(130)
    return stopped


def tightened(network: Any, parts: Any, **how: Any) -> None:
    """Keep a share of the events, with a progress bar over the passes in which the last layer learns again."""
    with progress("the last layer learns again", 1, "tighten") as report:
        network.tighten(parts.learn, validation=parts.validation, **how, progress=lambda now: report(0, now))


def _again(settings: Any) -> dict[str, Any]:
    """How the last layer learns again, from fewer events."""
    same = {"batch_size": settings.batch_size, "moved": settings.moved, "bent": settings.bent}
    return {"passes": -(-settings.passes // 3), **same, "decay": True, "if_diverged": "back"}


def _show_split(parts: Any, validation: float, held_out: float, pieces: Any, passes: int) -> None:
    """How many recordings, or pieces of them, are in each part, and why one is missing, in a line each."""
    things = "recording" if pieces is None else "piece"
    counts = [f"learns from {count(len(parts.learn), things)}"]
    if parts.validation is not None:
        does = "chooses the best pass" if passes else "finds how sure decisions are"
        counts.append(f"{does} by {len(parts.validation):,}")
    if parts.held_out is not None:
        counts.append(f"reports on {len(parts.held_out):,}")
    if unlabelled := int((~parts.learn.labelled).sum()):
        counts[0] += f" ({unlabelled:,} without a label)"
    apart = "" if pieces is None else f" of {count(len(pieces.left), 'recording')}; pieces of one stay together"
    console.print(f"Training {', '.join(counts)}{apart}.", highlight=False)
    without = "the last pass is kept instead of the best" if passes else "probabilities are rough"
    lacking = [
        consequence
        for share, part, consequence in (
            (validation, parts.validation, without),
            (held_out, parts.held_out, "no accuracy is reported"),
        )
        if share and part is None
    ]
    if lacking:
        console.print(f"Too few recordings per class to split: {', and '.join(lacking)}.", highlight=False)
    say_few(parts.validation, f"choose {'the best pass and ' if passes else ''}how sure decisions are", things)


def say_few(recordings: Any, decide: str, things: str = "recording") -> None:
    """Say so if very few recordings, or pieces of them, decide something."""
    if recordings is None:
        return
    names, numbers = np.unique(recordings.labels[recordings.labelled].astype(str), return_counts=True)
    least = int(numbers.min(initial=_FEW))
    if len(recordings) < _FEW or least < _FEW_PER_CLASS:
        scarce = f", {least:,} of class {names[numbers.argmin()]}," if least < _FEW_PER_CLASS else ""
        console.print(
            Text(
                f"Only {count(len(recordings), things)}{scarce} {decide}: on so few that is rough. A larger "
                "--validation, or more recordings, make it more reliable."
            )
        )


def _finished(network: Any, parts: Any, about: dict[str, Any], model: Path, run: Path, engine: str) -> dict[str, Any]:
    """Evaluate, write the model and the folder of the run, and print both; what is known of the run."""
    from timesurf.learning import sparsity
    from timesurf.results import machine
    from timesurf.results import run as runs

    result: dict[str, Any] = {} if parts.held_out is None else figures(network, parts.held_out)
    if parts.held_out is not None:
        with console.status("Measuring accuracy over events kept ..."):
            result["over_kept"] = sparsity.curve(network, parts.learn, parts.validation, parts.held_out)
    about = about | {
        "split": {name: len(numbers) for name, numbers in parts.numbers.items()}, "history": network.history,
        "evaluation": result, "machine": machine.describe("cuda" if engine == "cuda" else "cpu"),
    }  # fmt: skip
    network.save(model)
    with replacing(run / "split.json") as file:
        file.write((json.dumps(parts.numbers) + "\n").encode())
    with replacing(run / "settings.toml") as file:
        file.write(toml.network(about["settings"]).encode())
    runs.write(run, runs.Run(about, network, parts.held_out))
    console.print(network, highlight=False)
    if accuracies := [line["validation_accuracy"] for line in network.history if "validation_accuracy" in line]:
        best = max(accuracies)
        last = len(accuracies) - accuracies[::-1].index(best)
        passes = count(len(accuracies), "pass")
        console.print(
            f"Best of {passes}: {last}, recording accuracy {best:.1%} on what it was chosen by.", highlight=False
        )
    if parts.held_out is not None:
        held = count(len(parts.held_out), "piece" if about["config"].get("every") else "recording")
        console.print(f"On {held} held out, used for nothing else:", highlight=False)
        console.print(shown(result), highlight=False)
    if why := sparsity.all_kept(network, parts.learn, about["config"].get("keep")):
        console.print(as_options(why, sys.argv), highlight=False)
    if about.get("tuning"):
        console.print(f"To train with these settings again (--config {run / 'settings.toml'}):\n", highlight=False)
        console.print(toml.network(about["settings"]), highlight=False, soft_wrap=True)
    stopped = f"Stopped; the model so far is in {model}, the run in {run}"
    console.print(stopped if about["stopped"] else f"Model written to {model}, the run to {run}", highlight=False)
    say_next(f"timesurf evaluate {model} DATA", "on recordings that it has not seen")
    say_next(f"timesurf report {run}", "what it learned, and its mistakes")
    return about


def _plain(parameters: dict[str, Any]) -> dict[str, Any]:
    """Settings of a command as text and numbers, without its files."""
    skipped = ("data", "config", "json_file", "run", "resume", "dask")
    plain = {name: str(value) if isinstance(value, Path) else value for name, value in parameters.items()}
    return {name: value for name, value in plain.items() if name not in skipped}
