"""`timesurf adapt`, `tighten` and `extend`: the commands that change a trained network."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from timesurf.cli.app import (
    Data,
    Json,
    Model,
    Seed,
    Split,
    app,
    check_writable,
    console,
    in_parts,
    progress,
    say_next,
    write_json,
)
from timesurf.cli.data import load, needs_labels
from timesurf.cli.preparing import fitted, prepares
from timesurf.cli.training import say_few, tightened
from timesurf.cli.using import figures, shown
from timesurf.errors import SettingError

Out = Annotated[Path, typer.Option("--out", help="File to write the changed model to.", dir_okay=False)]


@app.command()
@prepares
def adapt(
    model: Model,
    data: Data,
    out: Out,
    cap: Annotated[
        float | None, typer.Option(min=0, help="The furthest that a centroid may move in one recording.")
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Learn only from recordings whose class has at least this share of votes."),
    ] = None,
    split: Split = "train",
    json_file: Json = None,
    *,
    given: dict[str, Any],
) -> None:
    """Continue to learn without labels, recording by recording, and print how the recordings were classified.

    Example: timesurf adapt digits.tsf today.npz --out digits-today.tsf
    """
    from timesurf.network import Network

    check_writable(out)
    check_writable(json_file)
    network = Network.load(model)
    recordings = fitted(load(data, split, given, network), network, given, data)
    outcome = in_parts("adapting", recordings, lambda some: network.adapt(some, cap=cap, confidence=confidence))
    network.save(out)
    result = figures(network, recordings, outcome)
    console.print(shown(result), highlight=False)
    console.print(f"Adapted model written to {out}", highlight=False)
    write_json(json_file, result)


@app.command()
@prepares
def tighten(
    model: Model,
    data: Data,
    out: Out,
    keep: Annotated[float, typer.Option(min=0.01, max=1, help="Share of events to keep; reached within 3 points.")],
    passes: Annotated[
        int, typer.Option(min=0, help="Passes in which the last layer learns again from what is kept; 0: none.")
    ] = 10,
    batch_size: Annotated[int, typer.Option(min=1, help="Recordings per step.")] = 16,
    validation: Annotated[
        float,
        typer.Option(min=0, max=0.9, help="Share of the recordings that check what is kept and choose the best pass."),
    ] = 0.1,
    seed: Seed = 0,
    split: Split = "train",
    json_file: Json = None,
    *,
    given: dict[str, Any],
) -> None:
    """Keep a share of the events and reject the rest, those that are furthest from what the hidden units know.

    Give the recordings that the model was trained on. What is kept is then measured on those set aside.

    Example: timesurf tighten digits.tsf digits.npz --keep 0.3 --out sparse-digits.tsf
    """
    from timesurf.learning import split as splitting
    from timesurf.network import Network

    check_writable(out)
    check_writable(json_file)
    network = Network.load(model)
    recordings = fitted(load(data, split, given, network), network, given, data)
    parts = splitting.split(recordings, validation, 0, seed)
    how: dict[str, Any] = {}
    if passes and recordings.labelled.any():
        how |= {"passes": passes, "batch_size": batch_size, "decay": True, "if_diverged": "back"}
    tightened(network, parts, keep=keep, **how)
    network.save(out)
    result = figures(network, recordings if parts.validation is None else parts.validation)
    console.print(shown(result), highlight=False)
    console.print(f"Model that keeps {result['kept']:.1%} of events written to {out}", highlight=False)
    say_few(parts.validation, "measure what is kept and choose the best pass")
    write_json(json_file, result)
    say_next(f"timesurf evaluate {out} DATA", "on recordings that it has not seen")


@app.command()
@prepares
def extend(
    model: Model,
    data: Data,
    out: Out,
    units: Annotated[int, typer.Option(min=0, help="Units to add to each hidden layer.")] = 8,
    before: Annotated[
        str | None, typer.Option(help="Recordings that the model was trained on, to tighten its thresholds around.")
    ] = None,
    passes: Annotated[int, typer.Option(min=1, help="Passes over the new recordings.")] = 6,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Recordings per step; default: online.")] = None,
    split: Split = "train",
    json_file: Json = None,
    *,
    given: dict[str, Any],
) -> None:
    """Learn new classes, the labels that the model does not know, with all existing units frozen.

    Example: timesurf extend zero-to-seven.tsf eight-and-nine.npz --before zero-to-seven.npz --out all.tsf
    """
    from timesurf.network import Network

    check_writable(out)
    check_writable(json_file)
    network = Network.load(model)
    recordings = fitted(load(data, split, given, network), network, given, data)
    needs_labels(recordings, data)
    new = np.setdiff1d(recordings.classes, network.classes)
    if len(new) == 0:
        raise SettingError(f"{data} has no label that {model} does not know: use `timesurf train` or `adapt`.")
    if before is not None:
        with console.status("Tightening thresholds ..."):
            network.tighten(fitted(load(before, split, given, network), network, given, before))
    network.extend(recordings, units=[units] * (len(network.stages) - 1), classes=new.tolist())
    trained, stopped = len(network.history), False
    with progress("learning the new classes", 1, "trained") as report:
        try:
            network.train(recordings, passes=passes, batch_size=batch_size, progress=lambda now: report(0, now))
        except KeyboardInterrupt:
            stopped = True
    done = len(network.history) - trained
    if stopped and not done:
        console.print(f"Stopped before the end of the first pass: {out} was not written.")
        sys.exit(130)
    network.save(out)
    result = figures(network, recordings) | {"stopped": stopped}
    console.print(network, highlight=False)
    console.print(shown(result), highlight=False)
    wrote = f"Stopped after {done:,} of {passes:,} passes; the model so far, with" if stopped else "Model with"
    console.print(f"{wrote} {len(network.classes)} classes, written to {out}", highlight=False)
    write_json(json_file, result)
    if stopped:
        sys.exit(130)
