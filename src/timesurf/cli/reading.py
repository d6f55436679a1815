"""What files do not say themselves, as options: the same ones on every command that reads events."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from timesurf.cli.app import one_of
from timesurf.cli.options import Options, extended
from timesurf.events.names import unit_of
from timesurf.io.formats import Asked, assuming

_PANEL = "Reading files (where they do not say it themselves)"
_READ = ("data", "source", "what")  # parameters that name events to read


def _option(name: str, help_text: str, *values: str) -> Any:
    offered = one_of(*values) if values else None
    return Annotated[
        str | None,
        typer.Option(name, help=help_text, rich_help_panel=_PANEL, show_default=False, autocompletion=offered),
    ]


_OPTIONS: Options = {
    "unit": _option("--time-unit", "Unit of the times in CSV or HDF5: s, ms, us or ns.", "s", "ms", "us", "ns"),
    "columns": _option("--columns", "Columns of CSV without a line of names, such as x,y,t,p; default: t,x,y,on."),
    "sensor": _option(
        "--sensor",
        "Sensor of an AEDAT 2 file: dvs128, davis240, davis346 or cochlea.",
        "dvs128",
        "davis240",
        "davis346",
        "cochlea",
    ),
}


def offer(app: typer.Typer) -> None:
    """Give these options to every command that reads events."""
    for command in app.registered_commands:
        if command.callback and set(_READ) & set(inspect.signature(command.callback).parameters):
            command.callback = reads(command.callback)


def reads(command: Callable[..., None]) -> Callable[..., None]:
    """The same command with these options; what it reads is read as they say."""

    def reading(own: Options, found: Options) -> None:
        asked = Asked(**found)
        unit_of(asked.unit)  # refuses what is none before anything is read
        with assuming(asked):
            command(**own)

    return extended(command, _OPTIONS, reading)
