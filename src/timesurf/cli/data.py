"""What commands do with data: find it, fit it to a network, turn it into other files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from timesurf.cli.app import Data, Engine, Seed, Split, app, check_writable, console, counted
from timesurf.errors import EventError, SettingError
from timesurf.events import Recordings


def load(what: str, split: str = "train") -> Recordings:
    """Recordings that an argument names."""
    from timesurf.datasets import sources

    with console.status(f"Reading {what} ..."):
        return sources.load(what, split=split)


def fitted(recordings: Recordings, network: Any) -> Recordings:
    """Recordings as a network takes them, where it is clear how."""
    from timesurf.datasets import sources

    return sources.fitted(recordings, network.field, network.polarities)


def prepared(recordings: Recordings, preset: str) -> Recordings:
    """Recordings as a preset wants them to be learnt from."""
    from timesurf.datasets import nmnist

    return nmnist.prepared(recordings) if preset == "nmnist" and nmnist.is_whole(recordings) else recordings


@app.command()
def convert(
    data: Data,
    out: Annotated[
        Path, typer.Argument(help="Where to: .npz for any number of recordings, or a camera's format for one.")
    ],
    split: Split = "train",
) -> None:
    """Turn recordings into another format.

    Example: timesurf convert recording.aedat4 recording.npz
    """
    from timesurf.io import camera, npz

    check_writable(out)
    recordings = load(data, split)
    with console.status(f"Writing {out} ..."):
        if out.suffix == ".npz":
            npz.write(out, recordings)
        else:
            camera.write(out, recordings)
    console.print(f"{recordings} written to {out}", highlight=False)


@app.command()
def simulate(
    images: Annotated[str, typer.Argument(help="mnist.npz, an .npz with images (and labels), or digits: small ones.")],
    out: Annotated[Path, typer.Argument(help="Recordings, as .npz.", dir_okay=False)],
    split: Split = "train",
    number: Annotated[int | None, typer.Option(min=1, help="The first so many images only.")] = None,
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
    with counted("simulating") as told:
        recordings = saccades.simulate(pictures, labels, seed=seed, engine=engine, progress=told)
    npz.write(out, recordings)
    console.print(f"{recordings} written to {out}", highlight=False)


def _pictures(what: str, split: str) -> tuple[Any, Any]:
    """Images and labels of MNIST, of an .npz, or of scikit-learn's 1,797 small digits, which need no download."""
    import numpy as np

    from timesurf.datasets import mnist
    from timesurf.io import npz

    if what == "digits":
        from sklearn.datasets import load_digits

        small = load_digits()
        part = slice(None, 1200) if split == "train" else slice(1200, None)
        large = np.kron(small.images[part] / small.images.max(), np.ones((1, 3, 3)))  # 8 x 8 pixels to 24 x 24
        return np.pad(large, ((0, 0), (2, 2), (2, 2))), small.target[part]
    if what.endswith(".npz") and Path(what).is_file():
        held = npz.arrays(what, [], ["images", "labels"])
        if "images" in held:
            return held["images"], held.get("labels")
    return mnist.read(what, split)


def needs_labels(recordings: Recordings, what: str) -> None:
    """Refuse recordings without labels where they are what it is about."""
    if not recordings.labelled.any():
        raise EventError(f"{what} has no labels: give an .npz with labels, or a folder with one folder a class.")


def taus_of(text: str | None) -> tuple[str, str] | None:
    """Two times, as "10 ms, 1 ms"."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2:
        raise SettingError(f"taus = {text!r} must be two times, such as '10 ms, 1 ms'.")
    return parts[0], parts[1]
