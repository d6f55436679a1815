"""`timesurf export`: a network as C for a microcontroller."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from timesurf.cli.app import Json, Model, TestSplit, app, check_writable, console, counted, one_of, say_next, write_json
from timesurf.cli.data import load, load_test
from timesurf.cli.preparing import fitted
from timesurf.errors import SettingError


@app.command()
def export(
    model: Model,
    out: Annotated[Path, typer.Option(help="Folder to write NAME.h and NAME.c into.", file_okay=False)],
    to: Annotated[str, typer.Option(autocompletion=one_of("c"), help="What to export to: c, which is C99.")] = "c",
    name: Annotated[
        str | None, typer.Option(help="Prefix of all public names in C; default: the name of the model file.")
    ] = None,
    numbers: Annotated[
        str,
        typer.Option(
            autocompletion=one_of("float32", "int16", "int8", "float64"),
            help="What the C computes with: float32, int16 or int8; with --learn float32 or float64.",
        ),
    ] = "float32",
    learn: Annotated[bool, typer.Option("--learn", help="C that also learns online, with labels and without.")] = False,
    calibrate: Annotated[
        str | None,
        typer.Option(help="Data to choose the scales of int16 and int8 by, best what the model learned from."),
    ] = None,
    check: Annotated[
        str | None, typer.Option(help="Data to compare with: compile the C here and run both over it.")
    ] = None,
    split: TestSplit = None,
    json_file: Json = None,
) -> None:
    """Export a network to C that a microcontroller runs: no allocation, no libm, no global state.

    Example: timesurf export digits.tsf --out firmware --numbers int8 --calibrate train.npz --check test.npz
    """
    from timesurf import export as exports
    from timesurf.export.ctext import identifier
    from timesurf.network import Network

    if to != "c":
        raise SettingError(f"--to {to}: only c is known.")
    if json_file is not None and check is None:
        raise SettingError("--json is for what --check finds: name data to compare with.")
    check_writable(json_file)
    network = Network.load(model)
    sample = None if calibrate is None else fitted(load(calibrate), network, {}, calibrate)
    recordings = None if check is None else fitted(load_test(check, split, {}, network), network, {}, check)
    prefix = name or identifier(model.stem)
    with console.status("Writing ..."):
        made = exports.prepared(network, prefix, numbers=numbers, learn=learn, calibration=sample)
        header, source = exports.write(made, out)
    console.print(f"{header} and {source} written", highlight=False)
    if made.preparation:
        console.print(f"The C takes events that are already prepared: {made.preparation}.", highlight=False)
    if recordings is not None:
        from timesurf.export import check as checks

        with counted("comparing") as report:
            result = checks.compare(made, network, recordings, progress=report)
        console.print(_shown(result), highlight=False)
        write_json(json_file, result | {"model": str(model), "data": check, "numbers": numbers})
    else:
        options = {"--out": out, "--name": name, "--numbers": numbers, "--calibrate": calibrate}
        words = [str(word) for pair in options.items() if pair[1] is not None for word in pair]
        again = shlex.join(["timesurf", "export", str(model), *words, *["--learn"] * learn])
        say_next(f"{again} --check DATA", "compiles it here and compares it with the network")
    say_next(f"read {header}", "says how to call it, and what it takes")


def _shown(result: dict[str, Any]) -> Table:
    """The comparison as a table."""
    from timesurf.export.check import FIGURES

    by = result["decides"]
    table = Table("", "C", "network", title="Exported C beside the network")
    for column in table.columns[1:]:
        column.justify = "right"
    for figure, words in zip(FIGURES, (f"recording accuracy, by {by}", "event accuracy", "events kept"), strict=True):
        if figure in result:
            table.add_row(words, f"{result[figure]:.2%}", f"{result[f'network_{figure}']:.2%}")
    table.add_row("same decisions", f"{result['decisions']:.2%}", "")
    table.add_row("same events passed", f"{result['passed']:.3%}", "")
    table.add_row("same winners by layer", ", ".join(f"{share:.3%}" for share in result["winners"]), "")
    table.add_row("events/s on one core", f"{result['events_per_second'] / 1e6:.2f} M", "")
    table.add_row("RAM", f"{result['ram']:,} bytes", "")
    code = "" if result["code"] is None else f" + {result['code']:,} of code (Cortex-M4)"
    table.add_row("flash", f"{result['constants']:,} bytes of constants{code}", "")
    return table
