"""`timesurf doctor`: what works on this machine, and what is missing."""

from __future__ import annotations

import importlib.util
import shutil
from typing import Any

from rich.table import Table

from timesurf.cli.app import Json, app, console, write_json
from timesurf.cli.terminal import bold
from timesurf.cli.wording import as_options, installable

EXTRAS = {  # purpose of each extra, and the module that shows whether it is installed
    "plots": ("pictures and animations", "matplotlib"),
    "formats": ("camera files: AEDAT 4, RAW, ES", "faery"),
    "hdf5": ("camera files in HDF5", "h5py"),
    "ros": ("ROS bags", "rosbags"),
    "live": ("timesurf live", "websockets"),
    "cuda": ("an NVIDIA GPU", "cupy"),
    "tonic": ("tonic's data sets", "tonic"),
    "dask": ("many machines", "distributed"),
    "search": ("timesurf search", "optuna"),
    "nir": ("spiking networks for other software", "nir"),
    "bench": ("backpropagation in Table 3", "torch"),
}


@app.command()
def doctor(json_file: Json = None) -> None:
    """Show the machine, versions, the engines that run here, and what is missing and how to install it.

    Example: timesurf doctor
    """
    from timesurf.results import machine
    from timesurf.storage import kernels

    about: dict[str, Any] = {"machine": machine.describe(), "engines": _engines(), "extras": {}}
    about["kernels"] = kernels.notice()
    for name, value in about["machine"].items():
        console.print(bold(name, f"  {value}"))
    table = Table(title="Engines")
    for column in ("engine", "runs here", ""):
        table.add_column(column)
    for name, why in about["engines"].items():
        table.add_row(name, "no" if why else "yes", why)
    console.print(table)
    if about["kernels"]:
        console.print(about["kernels"])
    table = Table(title="Extras")
    for column in ("extra", "purpose", "installed", "to install it"):
        table.add_column(column)
    for extra, (purpose, module) in EXTRAS.items():
        there = about["extras"][extra] = importlib.util.find_spec(module) is not None
        table.add_row(
            extra, purpose, "yes" if there else "no", "" if there else installable(f"pip install 'timesurf[{extra}]'")
        )
    console.print(table)
    about["ffmpeg"] = shutil.which("ffmpeg") is not None
    if not about["ffmpeg"]:
        console.print("Animations as .mp4 need ffmpeg on the path; .gif works without it.", highlight=False)
    write_json(json_file, about)


def _engines() -> dict[str, str]:
    """Engines by name, each with the reason why it does not run here; empty if it does."""
    from timesurf import engines
    from timesurf.errors import TimesurfError

    found = {}
    for name in engines.ENGINES:
        try:
            engines.load(name)
            found[name] = ""
        except TimesurfError as error:
            found[name] = installable(as_options(str(error), []))
    return found
