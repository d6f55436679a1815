"""`timesurf search`: settings that tell more by fewer events."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from timesurf.cli.app import Config, Dask, Engine, Seed, Split, app, console, counted, write_json, write_plot
from timesurf.cli.data import load, needs_labels, prepared
from timesurf.errors import MissingEngineError, SettingError


@app.command()
def search(
    data: Annotated[
        str | None, typer.Argument(help="Labelled recordings, as `train` takes them; none: made, with sentences.")
    ] = None,
    preset: Annotated[str, typer.Option(help="Where the search begins: camera, nmnist or sentences.")] = "camera",
    out: Annotated[
        Path, typer.Option(help="Folder of the study (search.db) and of what it found.", file_okay=False)
    ] = Path("search"),
    trials: Annotated[int, typer.Option(min=1, help="In all; what a study has already is not made again.")] = 100,
    minutes: Annotated[
        float | None, typer.Option("--time", min=0, help="Begin no trial after so many minutes.")
    ] = None,
    passes: Annotated[int | None, typer.Option(min=1, help="Of a trial; default: the preset's.")] = None,
    only: Annotated[list[str] | None, typer.Option(help="Vary nothing but this: NAME. Again for more.")] = None,
    fix: Annotated[list[str] | None, typer.Option(help="Do not vary this: NAME or NAME=VALUE.")] = None,
    vary: Annotated[list[str] | None, typer.Option(help="Vary it so: NAME=LOW:HIGH, or NAME=A,B,C.")] = None,
    validation: Annotated[float, typer.Option(min=0.01, max=0.9, help="Share of the data to judge trials by.")] = 0.2,
    test: Annotated[float, typer.Option(min=0.01, max=0.9, help="Share that no trial sees, for the end.")] = 0.2,
    recordings: Annotated[int, typer.Option(min=10, help="Of sentences, to learn from and to test.")] = 1000,
    networks: Annotated[int, typer.Option(min=1, help="That judge each finalist, and test the best.")] = 5,
    jobs: Annotated[int, typer.Option(min=1, help="Trials at a time.")] = 1,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Cores of a trial; default: all / --jobs; on Dask 1.")
    ] = None,
    dask: Dask = None,
    storage: Annotated[
        str | None, typer.Option(help="Database for many machines, as a URL of SQLAlchemy's; default: OUT/search.db")
    ] = None,
    name: Annotated[str, typer.Option(help="Of the study, where a database has several.")] = "timesurf",
    grace: Annotated[float, typer.Option(min=1, help="Seconds until a silent machine's trial is made again.")] = 60,
    engine: Engine = "cpu",
    seed: Seed = 0,
    split: Split = "train",
    config: Config = None,
) -> None:
    """Search for settings: most recordings right, fewest events kept. Killed, the same command goes on.

    Example: timesurf search digits.npz --preset nmnist --trials 100 --out digits.search
    """
    from timesurf import report
    from timesurf import search as searching
    from timesurf.presets import named
    from timesurf.search.study import optuna, veiled

    optuna().logging.set_verbosity(optuna().logging.WARNING)
    parts = _parts(data, preset, split, validation, test, recordings, seed)
    out.mkdir(parents=True, exist_ok=True)
    with counted("searching") as counts:

        def told(row: dict[str, Any], done: int, leads: bool) -> None:
            counts(done, trials)
            if leads:
                console.print(
                    f"trial {row['number']}: recording accuracy {row['recording_accuracy'][-1]:.1%}, "
                    f"{row['kept'][-1]:.2%} of events kept",
                    highlight=False,
                )

        result = searching.run(
            parts, named(preset, len(parts.train)), trials=trials, minutes=minutes, seed=seed, passes=passes,
            only=only or (), fix=_fixed(fix or [], named(preset, len(parts.train))), vary=_varied(vary or []),
            storage=storage or _sqlite(out / "search.db"), name=name, engine=engine, threads=threads,
            jobs=jobs, dask=dask, grace=grace, networks=networks, told=told,
        )  # fmt: skip
    result = {"command": ["timesurf", *map(veiled, sys.argv[1:])], "data": data or "sentences", **result}
    _show(result)
    write_json(out / "search.json", result)
    console.print(f"Report written to {report.write_search(result, out / 'search.html')}", highlight=False)
    _draw(out / "search.png", result)
    if result["stopped"]:
        console.print("Stopped. The same command goes on.", highlight=False)
        raise typer.Exit(130)


def _sqlite(file: Path) -> str:
    """The URL of a database in that file, whatever it is called."""
    from sqlalchemy import URL  # it comes with Optuna

    url: str = URL.create("sqlite", database=str(file.resolve())).render_as_string()
    return url


def _parts(
    data: str | None, preset: str, split: str, validation: float, test: float, recordings: int, seed: int
) -> Any:
    from timesurf import search as searching

    if data is None:
        if preset != "sentences":
            raise SettingError("Say which recordings to learn from; only --preset sentences makes its own.")
        return searching.of_sentences(recordings, seed)
    some = prepared(load(data, split), preset)
    needs_labels(some, data)
    return searching.parted(some, validation, test, seed)


def _fixed(texts: list[str], preset: Any) -> dict[str, Any]:
    """NAME or NAME=VALUE."""
    from timesurf.search import space

    found = {}
    for text in texts:
        name, given, value = text.partition("=")
        found[name] = space.parsed(name, value) if given else space.setting(preset, name)
    return found


def _varied(texts: list[str]) -> dict[str, Any]:
    """NAME=LOW:HIGH or NAME=A,B,C."""
    from timesurf.search import space

    found = {}
    for text in texts:
        name, given, options = text.partition("=")
        if not given:
            raise SettingError(f"--vary {text}: say over which values, as {name}=LOW:HIGH; or --only {name}.")
        found[name] = space.parsed_options(name, options)
    return found


def _show(result: dict[str, Any]) -> None:
    """Front, importance, test, and how to train what was found."""
    import numpy as np

    rows = {row["number"]: row for row in result["trials"]}
    ended = [row["ended"] for row in result["trials"]]
    table = Table(title="Trials that no other beats in both")
    for column in ("trial", "recordings right", "events kept", "changed most"):
        table.add_column(column, justify="left" if column == "changed most" else "right")
    for number in result["front"]:
        row = rows[number]
        table.add_row(
            str(number),
            f"{row['recording_accuracy'][-1]:.1%}",
            f"{row['kept'][-1]:.2%}",
            _changes(result, row["values"]),
        )
    console.print(table)
    table = Table(title="What matters: share of what varies that a setting explains by itself (fANOVA)")
    for column in ("setting", "recordings right", "events kept"):
        table.add_column(column, justify="right" if column != "setting" else "left")
    shares = [result["importance"].get(objective, {}) for objective in ("recording_accuracy", "kept")]
    for name in sorted(result["defaults"], key=lambda name: -sum(of.get(name, 0) for of in shares)):
        table.add_row(name, *(f"{of[name]:.0%}" if name in of else "-" for of in shares))
    console.print(table)
    if "test" in result:
        tested = result["test"]
        table = Table(title=f"{len(tested['chosen']['kept'])} networks each, on recordings that no trial has seen")
        for column in ("", "recordings right", "events right", "events kept"):
            table.add_column(column, justify="right" if column else "left")
        for title, of in (("defaults", tested["defaults"]), ("found", tested["chosen"])):
            names = ("recording_accuracy", "event_accuracy", "kept")
            table.add_row(title, *(f"{np.mean(of[name]):.2%}" for name in names))
        console.print(table)
        right, kept = (f"{100 * by:+.2f} ± {100 * error:.2f} points" for by, error in tested["gains"].values())
        same = tested["values"] == result["defaults"]
        told = f"What was found is {tested['verdict']}: recordings right {right}, events spared {kept}."
        console.print("Nothing was better than the defaults." if same else told, highlight=False)
        console.print("To train it:\n", highlight=False)
        console.print(tested["python"], highlight=False, soft_wrap=True)
    counts = ", ".join(f"{ended.count(how)} {how}" for how in ("whole", "pruned", "diverged"))
    again = f", {result['interrupted']} interrupted and made again" if result["interrupted"] else ""
    console.print(f"\n{len(ended)} trials ({counts}{again}), {result['seconds']:.0f} s.", highlight=False)


def _changes(result: dict[str, Any], values: dict[str, Any], most: int = 3) -> str:
    """The settings furthest from the defaults, as factors."""
    import math

    factors = {
        name: value / result["defaults"][name]
        for name, value in values.items()
        if value and result["defaults"][name] and value != result["defaults"][name]
    }
    far = sorted(factors, key=lambda name: -abs(math.log(factors[name])))[:most]
    return ", ".join(f"{name} x {factors[name]:.2g}" for name in far) or "nothing: the defaults"


def _draw(path: Path, result: dict[str, Any]) -> None:
    """The figure, where matplotlib is there: the search itself does not need it."""
    from timesurf import plots

    try:
        write_plot(path, lambda: plots.search(result))
    except MissingEngineError as error:
        console.print(f"Without a figure. {error}", highlight=False)
