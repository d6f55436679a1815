"""The folder of a training run: its settings, its results, and the recordings held out to evaluate it.

Its files::

    run.json        command, settings, seed, versions, machine, history of the passes, evaluation
    config.toml     the settings again, to repeat the run with `timesurf train DATA --config config.toml`
    model.tsf       the network
    held_out.npz    recordings that it did not learn from, if any were held out
    tuned.json      what tuning found, if it was asked for: written before training, for `--resume`

Each file is written completely or not at all; `run.json` is the last.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from timesurf.errors import ModelFileError
from timesurf.events import Recordings
from timesurf.io import npz
from timesurf.network import Network
from timesurf.storage.atomic import replacing


@dataclass(frozen=True, slots=True)
class Run:
    """A training run.

    Attributes
    ----------
    about : dict
        The content of run.json.
    network : Network
        The trained network.
    held_out : Recordings or None
        Recordings to evaluate it on.

    """

    about: dict[str, Any]
    network: Network
    held_out: Recordings | None


def write(folder: str | Path, run: Run) -> None:
    """Write a run to a folder, which is created if necessary; an earlier run in it is replaced."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    run.network.save(folder / "model.tsf")
    held = folder / "held_out.npz"
    if run.held_out is None:
        held.unlink(missing_ok=True)
    else:
        npz.write(held, run.held_out)
    for name, text in (
        ("config.toml", toml(run.about.get("config", {}))),
        ("run.json", json.dumps(run.about, indent=1)),
    ):
        with replacing(folder / name) as file:
            file.write((text + "\n").encode(errors="replace"))  # a name of a file may be no text


def read(folder: str | Path) -> Run:
    """Read a run from its folder.

    Parameters
    ----------
    folder : str or Path
        The folder that `write` made.

    Returns
    -------
    Run
        The run.

    Raises
    ------
    ModelFileError
        If the folder holds no run, or a damaged one.

    """
    folder = Path(folder)
    if not (folder / "run.json").is_file():
        raise ModelFileError(
            f"{folder} is not the folder of a run: it has no run.json. `timesurf train` creates such folders."
        )
    try:
        about = json.loads((folder / "run.json").read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{folder / 'run.json'} is damaged: {error}. Train again.") from error
    if not isinstance(about, dict):
        raise ModelFileError(f"{folder / 'run.json'} is damaged: it does not describe a run. Train again.")
    held = folder / "held_out.npz"
    return Run(about, Network.load(folder / "model.tsf"), npz.read(held) if held.is_file() else None)


def toml(settings: dict[str, Any]) -> str:
    """Settings as TOML; those that are None are left out.

    Examples
    --------
    >>> print(toml({"preset": "camera", "passes": 20, "decay": True, "units": None, "taus": ["10 ms", "1 ms"]}))
    preset = "camera"
    passes = 20
    decay = true
    taus = ["10 ms", "1 ms"]

    """
    lines = {name: json.dumps(value, ensure_ascii=False) for name, value in settings.items() if value is not None}
    return "\n".join(f"{name} = {text}" for name, text in lines.items()).replace("\x7f", "\\u007f")
