"""`timesurf train`, `adapt` and `extend`: what changes a network."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from timesurf.cli.app import (
    Config,
    Dask,
    Data,
    Engine,
    Json,
    Model,
    Seed,
    Split,
    app,
    check_writable,
    console,
    in_parts,
    progress,
    spread,
    write_json,
)
from timesurf.cli.data import fitted, load, needs_labels, prepared, taus_of
from timesurf.cli.using import figures, shown
from timesurf.errors import SettingError

_RATES = ("alpha", "beta", "gamma", "delta", "d")
Out = Annotated[Path, typer.Option("--out", help="The changed model.", dir_okay=False)]


@app.command()
def train(
    ctx: typer.Context,
    data: Data,
    model: Annotated[Path, typer.Option(help="Where the model goes.", dir_okay=False)],
    preset: Annotated[str, typer.Option(help="Layers and settings: camera, nmnist or sentences.")] = "camera",
    validation: Annotated[float, typer.Option(min=0, max=0.9, help="Share held out to judge by; 0: none.")] = 0.1,
    passes: Annotated[int | None, typer.Option(min=1, help="Over all recordings; default: the preset's.")] = None,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Recordings a step; default: the preset's.")] = None,
    units: Annotated[int, typer.Option(min=1, help="Of the first layer (camera, nmnist).")] = 32,
    taus: Annotated[str | None, typer.Option(help="Time constants of both layers, as '10 ms, 1 ms'.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Rate of centroids by dS.")] = None,
    beta: Annotated[float | None, typer.Option(help="Rate of centroids by S.")] = None,
    gamma: Annotated[float | None, typer.Option(help="Rate of thresholds by dS.")] = None,
    delta: Annotated[float | None, typer.Option(help="Rate of thresholds by S.")] = None,
    d: Annotated[float | None, typer.Option(help="How close to its border an event moves a threshold.")] = None,
    keep: Annotated[
        float | None, typer.Option(min=0.01, max=1, help="Share of events below which thresholds rest.")
    ] = None,
    if_diverged: Annotated[str, typer.Option(help="stop, clip, or go back a pass and on at half the rates.")] = "stop",
    resume: Annotated[bool, typer.Option("--resume", help="Go on where this command was interrupted.")] = False,
    minutes: Annotated[float, typer.Option(min=0, help="Between checkpoints.")] = 5,
    every: Annotated[int | None, typer.Option(min=1, help="Recordings between checkpoints, if that is less.")] = None,
    engine: Engine = "cpu",
    dask: Dask = None,
    seed: Seed = 0,
    split: Split = "train",
    run: Annotated[Path | None, typer.Option(help="Folder of the run; default: MODEL.run", file_okay=False)] = None,
    config: Config = None,
    json_file: Json = None,
) -> None:
    """Train a network on labelled recordings; a folder keeps how, for `timesurf report`, and checkpoints on the way.

    Example: timesurf train digits.npz --preset nmnist --model digits.tsf --validation 0.1
    """
    from timesurf.learning.checkpoints import Checkpoints
    from timesurf.learning.trainer import hold_out
    from timesurf.presets import named
    from timesurf.results import machine
    from timesurf.results import run as runs

    for path in (model, json_file, run := run or Path(f"{model}.run")):
        check_writable(path)
    recordings = prepared(load(data, split), preset)
    needs_labels(recordings, data)
    learnt = round(len(recordings) * (1 - validation))
    settings = named(preset, max(learnt, 1), units=units, taus=taus_of(taus))
    given = {name: ctx.params[name] for name in _RATES if ctx.params[name] is not None}
    settings = replace(settings, rule=replace(settings.rule, **given))
    chosen: dict[str, Any] = {"passes": passes, "batch_size": batch_size, "keep": keep}
    settings = replace(settings, **{name: value for name, value in chosen.items() if value is not None})
    if dask is not None and settings.batch_size is None:
        raise SettingError("--dask spreads batches over workers, and this preset learns online: give --batch-size.")
    what = ctx.with_resource(spread(dask, engine))
    network = settings.network(recordings, recordings.classes, seed, engine=what)
    held = None
    if validation:
        _, tested = hold_out(network.class_numbers(recordings), validation, network.shuffler())
        held = recordings[tested]
    began, stopped = time.perf_counter(), False
    with progress("training", 1) as told:
        try:
            network.fit(
                recordings, **settings.training(), validation=validation or None, if_diverged=if_diverged,  # type: ignore[arg-type]  # checked there
                checkpoints=Checkpoints(run / "checkpoints", recordings=every, minutes=minutes), resume=resume,
                progress=lambda news: told(0, news),
            )  # fmt: skip
        except KeyboardInterrupt:
            stopped = True
    if stopped and not network.history:
        console.print("Stopped before the first pass was done: nothing to keep.")
        raise typer.Exit(130)
    result: dict[str, Any] = {} if held is None else figures(network, held)
    about = {
        "command": sys.argv, "config": _plain(ctx.params), "settings": settings.to_dict(), "seed": seed,
        "data": {"name": data, "recordings": len(recordings), "events": int(recordings.counts.sum())},
        "machine": machine.describe("cuda" if engine == "cuda" else "cpu"),
        "history": network.history, "evaluation": result, "seconds": time.perf_counter() - began, "stopped": stopped,
    }  # fmt: skip
    network.save(model)
    runs.write(run, runs.Run(about, network, held))
    console.print(network, highlight=False)
    if held is not None:
        console.print(f"On {len(held):,} recordings held out:", highlight=False)
        console.print(shown(result), highlight=False)
    kept = "Stopped; what was learnt so far is in" if stopped else "Model written to"
    console.print(f"{kept} {model}, the run to {run} (timesurf report {run})", highlight=False)
    if stopped:
        console.print("The same command with --resume goes on from the latest checkpoint.", highlight=False)
    write_json(json_file, about)
    if stopped:
        raise typer.Exit(130)


@app.command()
def adapt(
    model: Model,
    data: Data,
    out: Out,
    cap: Annotated[float | None, typer.Option(min=0, help="The furthest a centroid may move in one recording.")] = None,
    confidence: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Learn only from recordings told with at least this share of votes."),
    ] = None,
    split: Split = "train",
    json_file: Json = None,
) -> None:
    """Go on learning without labels, recording after recording, and say what was told on the way.

    Example: timesurf adapt digits.tsf today.npz --out digits-today.tsf
    """
    from timesurf.network import Network

    check_writable(out)
    network = Network.load(model)
    recordings = fitted(load(data, split), network)
    outcome = in_parts("adapting", recordings, lambda some: network.adapt(some, cap=cap, confidence=confidence))
    network.save(out)
    result = figures(network, recordings, outcome)
    console.print(shown(result), highlight=False)
    console.print(f"Adapted model written to {out}", highlight=False)
    write_json(json_file, result)


@app.command()
def extend(
    model: Model,
    data: Data,
    out: Out,
    units: Annotated[int, typer.Option(min=0, help="To add to each hidden layer.")] = 8,
    before: Annotated[
        str | None, typer.Option(help="What it was trained on, to close the old units around it.")
    ] = None,
    passes: Annotated[int, typer.Option(min=1, help="Over the new recordings.")] = 6,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Recordings a step; default: online.")] = None,
    split: Split = "train",
    json_file: Json = None,
) -> None:
    """Take new classes, those labels of the data that the model does not know, without forgetting the old ones.

    Example: timesurf extend zero-to-seven.tsf eight-and-nine.npz --before zero-to-seven.npz --out all.tsf
    """
    import numpy as np

    from timesurf.network import Network

    check_writable(out)
    network = Network.load(model)
    recordings = fitted(load(data, split), network)
    needs_labels(recordings, data)
    new = np.setdiff1d(recordings.classes, network.classes)
    if len(new) == 0:
        raise SettingError(f"{data} has no label that {model} does not know: use `timesurf train` or `adapt`.")
    if before is not None:
        with console.status("Closing what is there ..."):
            network.tighten(fitted(load(before, split), network))
    network.extend(recordings, units=[units] * (len(network.stages) - 1), classes=new.tolist())
    with progress("learning the new classes", 1) as told, suppress(KeyboardInterrupt):
        network.train(recordings, passes=passes, batch_size=batch_size, progress=lambda news: told(0, news))
    network.save(out)
    result = figures(network, recordings)
    console.print(network, highlight=False)
    console.print(shown(result), highlight=False)
    console.print(f"Model with {len(network.classes)} classes written to {out}", highlight=False)
    write_json(json_file, result)


def _plain(parameters: dict[str, Any]) -> dict[str, Any]:
    """Settings of a command as text and numbers; what the command is called on is left out."""
    skipped = ("data", "config", "json_file", "run", "resume", "dask")
    plain = {name: str(value) if isinstance(value, Path) else value for name, value in parameters.items()}
    return {name: value for name, value in plain.items() if name not in skipped}
