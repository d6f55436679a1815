"""What commands do with data: find it, fit it to a network, convert it to other files."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from timesurf.cli.app import Data, Engine, Seed, Split, app, check_writable, console, counted
from timesurf.cli.preparing import prepares, sized
from timesurf.cli.wording import count
from timesurf.errors import EventError, SettingError
from timesurf.events import Recordings
from timesurf.transforms.preparation import Preparation


def load(what: str, split: str = "train", given: dict[str, Any] | None = None, network: Any = None) -> Recordings:
    """Recordings that an argument names; `given` as for `prepares`, of which reading needs the size of the sensor.

    Where neither that nor a file states it, a crop is of the sensor that `network` was trained for.
    """
    from timesurf.datasets import sources

    given = given or {}
    with console.status(f"Reading {what} ..."), nullcontext() if network is None else sized(network, given):
        return sources.load(what, split=split, field=given.get("field"))


def load_to_learn(what: str, split: str, given: dict[str, Any]) -> Recordings:
    """The same, to learn from: says what size of the sensor is taken where no file states it."""
    from timesurf.io.formats import measuring

    with measuring() as files:
        recordings = load(what, split, given)
    if files and "field" not in given:
        one = files[0] if len(files) == 1 else f"{files[0]} and {count(len(files) - 1, 'other file')}"
        size = " x ".join(map(str, recordings.field))
        console.print(
            f"{one} state{'s' * (len(files) == 1)} no size of the sensor. {size} is assumed, the smallest that holds "
            f"the events; pass the true size with --field, as --field {size.replace(' ', '')}.",
            highlight=False,
        )
    return recordings


def load_test(what: str, split: str | None, given: dict[str, Any], network: Any) -> Recordings:
    """Recordings to judge a network by: of this split or, if None, of the test split where there is one."""
    if split is not None:
        return load(what, split, given, network)
    try:
        return load(what, "test", given, network)
    except EventError:
        found = load(what, "train", given, network)  # or the reason why it cannot be read at all
    console.print(f"{what} has no test split: these are the recordings to train on.", highlight=False)
    return found


@app.command()
@prepares
def convert(
    data: Data,
    out: Annotated[
        Path, typer.Argument(help="File to write: .npz for any number of recordings, or a camera's format for one.")
    ],
    split: Split = "train",
    *,
    given: dict[str, Any],
) -> None:
    """Convert recordings to another format, prepared if asked for.

    Example: timesurf convert recording.aedat4 recording.npz --downsample 2
    """
    from timesurf.io import camera, npz

    check_writable(out)
    recordings = Preparation(**given)(load(data, split, given))
    with console.status(f"Writing {out} ..."):
        if out.suffix == ".npz":
            npz.write(out, recordings)
        else:
            camera.write(out, recordings)
    console.print(f"{recordings} written to {out}", highlight=False)


@app.command()
def simulate(
    images: Annotated[
        str, typer.Argument(help="mnist.npz, an .npz with images (and labels), or digits (small, included).")
    ],
    out: Annotated[Path, typer.Argument(help="File of recordings to write, .npz.", dir_okay=False)],
    split: Split = "train",
    number: Annotated[int | None, typer.Option(min=1, help="Use only this many images, the first.")] = None,
    engine: Engine = "cpu",
    seed: Seed = 0,
) -> None:
    """Simulate the events that a camera sees of still images as it makes N-MNIST's three movements.

    Example: timesurf simulate digits events.npz --number 100
    """
    from timesurf.datasets import saccades
    from timesurf.io import npz

    check_writable(out)
    pictures, labels = _pictures(images, split)
    pictures, labels = pictures[:number], None if labels is None else labels[:number]
    with counted("simulating") as progress:
        recordings = saccades.simulate(pictures, labels, seed=seed, engine=engine, progress=progress)
    npz.write(out, recordings)
    console.print(f"{recordings} written to {out}", highlight=False)


def _pictures(what: str, split: str) -> tuple[Any, Any]:
    """Images and labels of MNIST, of an .npz, or of scikit-learn's small digits, which need no download."""
    from timesurf.datasets import digits, mnist
    from timesurf.io import npz

    if what == "digits":
        return digits.images(split)
    if what.endswith(".npz") and Path(what).is_file():
        held = npz.arrays(what, [], ["images", "labels"])
        if "images" in held:
            return held["images"], held.get("labels")
    return mnist.read(what, split)


def needs_labels(recordings: Recordings, what: str) -> None:
    """Refuse recordings without labels where labels are needed."""
    if not recordings.labelled.any():
        raise EventError(f"{what} has no labels: give an .npz with labels, or a folder with one folder per class.")


def taus_of(text: str | None) -> tuple[str, str] | None:
    """Two times, written as "10 ms, 1 ms"."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2:
        raise SettingError(f"taus = {text!r} must be two times, such as '10 ms, 1 ms'.")
    return parts[0], parts[1]
