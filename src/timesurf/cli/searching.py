"""`timesurf search`: settings that classify better from fewer events."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from timesurf.cli.app import (
    Config,
    Dask,
    Engine,
    Seed,
    Split,
    app,
    check_engine,
    console,
    counted,
    data_sets,
    one_of,
    progress,
    say_next,
    write_json,
    write_plot,
)
from timesurf.cli.data import load_to_learn, needs_labels
from timesurf.cli.preparing import as_texts, for_training, prepares
from timesurf.cli.wording import count
from timesurf.errors import SettingError
from timesurf.storage.atomic import replacing
from timesurf.transforms.preparation import Preparation


def _settings(ctx: typer.Context) -> list[str]:
    """What may vary of the preset that is chosen so far."""
    from timesurf.presets import named
    from timesurf.search import space

    return list(space.narrowed(named(ctx.params.get("preset") or "camera", 1)).options)


@app.command()
@prepares
def search(
    data: Annotated[
        str | None,
        typer.Argument(
            autocompletion=data_sets, help="Recordings, as `train` takes them; not needed with --preset sentences."
        ),
    ] = None,
    preset: Annotated[
        str,
        typer.Option(
            autocompletion=one_of("camera", "nmnist", "sentences"),
            help="Default settings: camera, nmnist or sentences.",
        ),
    ] = "camera",
    out: Annotated[
        Path, typer.Option(help="Folder of the study (search.db) and of its results.", file_okay=False)
    ] = Path("search"),
    trials: Annotated[
        int, typer.Option(min=1, help="Trials in all, including those that the study already has.")
    ] = 100,
    minutes: Annotated[
        float | None, typer.Option("--time", min=0, help="Minutes for everything: trials, finalists and report.")
    ] = None,
    passes: Annotated[int | None, typer.Option(min=1, help="Passes of each trial; default: the preset's.")] = None,
    only: Annotated[
        list[str] | None, typer.Option(autocompletion=_settings, help="Vary only this: NAME. Repeat for more.")
    ] = None,
    fix: Annotated[
        list[str] | None, typer.Option(autocompletion=_settings, help="Do not vary this: NAME or NAME=VALUE.")
    ] = None,
    vary: Annotated[
        list[str] | None, typer.Option(help="Vary this over other values: NAME=LOW:HIGH, or NAME=A,B,C.")
    ] = None,
    validation: Annotated[
        float, typer.Option(min=0.01, max=0.9, help="Share of the recordings that settings are chosen by.")
    ] = 0.2,
    held_out: Annotated[
        float, typer.Option(min=0.01, max=0.9, help="Share reported on in the end and used for nothing else.")
    ] = 0.2,
    recordings: Annotated[int, typer.Option(min=10, help="Sentences to learn from, and as many held out.")] = 1000,
    networks: Annotated[
        int, typer.Option(min=1, help="Networks that judge each finalist, and that report on the best.")
    ] = 5,
    jobs: Annotated[int, typer.Option(min=1, help="Trials at a time.")] = 1,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Cores per trial; default: all / --jobs; 1 on Dask.")
    ] = None,
    dask: Dask = None,
    storage: Annotated[
        str | None, typer.Option(help="Database for many machines, as an SQLAlchemy URL; default: OUT/search.db")
    ] = None,
    name: Annotated[str, typer.Option(help="Name of the study, where a database has several.")] = "timesurf",
    grace: Annotated[float, typer.Option(min=1, help="Seconds without a heartbeat until a trial is run again.")] = 60,
    engine: Engine = "cpu",
    seed: Seed = 0,
    split: Split = "train",
    config: Config = None,
    *,
    given: dict[str, Any],
) -> None:
    """Search for settings: high recording accuracy, few events kept. If interrupted, the same command continues.

    Example: timesurf search digits.npz --preset nmnist --trials 100 --out digits.search
    """
    from timesurf import plots, report
    from timesurf import search as searching
    from timesurf.learning.split import check_shares
    from timesurf.presets import named
    from timesurf.search.study import optuna, without_password

    if preset == "auto":
        raise SettingError(
            "A search varies the settings of a preset, such as --preset camera. For those that the data choose, "
            "timesurf train DATA --tune MINUTES tries their neighbours."
        )
    named(preset, recordings)
    check_shares(validation, held_out)
    if dask is None:
        check_engine(engine)
    optuna().logging.set_verbosity(optuna().logging.WARNING)
    parts, preparation = _parts(data, preset, split, validation, held_out, recordings, seed, given)
    out.mkdir(parents=True, exist_ok=True)
    with counted("searching") as counts:

        def report_trial(row: dict[str, Any], done: int, leads: bool) -> None:
            counts(done, trials)
            if leads:
                console.print(
                    f"trial {row['number']}: recording accuracy {row['recording_accuracy'][-1]:.1%}, "
                    f"events kept {row['kept'][-1]:.2%}",
                    highlight=False,
                )

        result = searching.run(
            parts, named(preset, len(parts.learn)), trials=trials, minutes=minutes, seed=seed, passes=passes,
            only=only or (), fix=_fixed(fix or [], named(preset, len(parts.learn))), vary=_varied(vary or []),
            storage=storage or _sqlite(out / "search.db"), name=name, engine=engine, threads=threads,
            jobs=jobs, dask=dask, grace=grace, networks=networks, report=report_trial,
            progress=lambda done, total: counts(done, total, "training finalists"),
        )  # fmt: skip
    result = {"command": ["timesurf", *map(without_password, sys.argv[1:])], "data": data or "sentences", **result}
    _show(result)
    write_json(out / "search.json", result)
    console.print(f"Report written to {report.write_search(result, out / 'search.html')}", highlight=False)
    write_plot(out / "search.png", lambda: plots.search(result), optional=True)
    if "test" in result:
        _leave(out, result["test"]["settings"], parts, preparation, given, seed, engine)
    if result["stopped"]:
        console.print("Stopped. The same command continues the search.", highlight=False)
        sys.exit(130)


def _sqlite(file: Path) -> str:
    """The URL of a database in that file, whatever characters its name has."""
    from sqlalchemy import URL  # it comes with Optuna

    url: str = URL.create("sqlite", database=str(file.resolve())).render_as_string()
    return url


def _parts(
    data: str | None,
    preset: str,
    split: str,
    validation: float,
    held_out: float,
    recordings: int,
    seed: int,
    given: dict[str, Any],
) -> Any:
    from timesurf import search as searching
    from timesurf.learning.split import split as split_recordings

    if data is None:
        if preset != "sentences":
            raise SettingError("Give recordings to learn from: only --preset sentences generates its own.")
        return searching.of_sentences(recordings, seed), Preparation()
    preparation, some = for_training(load_to_learn(data, split, given), given, preset)
    needs_labels(some, data)
    return split_recordings(some, validation, held_out, seed), preparation


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
            raise SettingError(f"--vary {text}: give the values, as {name}=LOW:HIGH; or use --only {name}.")
        found[name] = space.parsed_options(name, options)
    return found


def _show(result: dict[str, Any]) -> None:
    """Front, importance, figures on recordings held out, and how to train the settings found."""
    import numpy as np

    rows = {row["number"]: row for row in result["trials"]}
    ended = [row["ended"] for row in result["trials"]]
    table = Table(title="Pareto front: trials that no other beats in both objectives")
    for column in ("trial", "recording accuracy", "events kept", "largest changes"):
        table.add_column(column, justify="left" if column == "largest changes" else "right")
    for number in result["front"]:
        row = rows[number]
        table.add_row(
            str(number),
            f"{row['recording_accuracy'][-1]:.1%}",
            f"{row['kept'][-1]:.2%}",
            _changes(result, row["values"]),
        )
    console.print(table)
    table = Table(title="Importance: share of the variance that each setting explains by itself (fANOVA)")
    for column in ("setting", "recording accuracy", "events kept"):
        table.add_column(column, justify="right" if column != "setting" else "left")
    shares = [result["importance"].get(objective, {}) for objective in ("recording_accuracy", "kept")]
    for name in sorted(result["defaults"], key=lambda name: -sum(of.get(name, 0) for of in shares)):
        table.add_row(name, *(f"{of[name]:.0%}" if name in of else "-" for of in shares))
    console.print(table)
    if "test" in result:
        tested = result["test"]
        each = count(len(tested["chosen"]["kept"]), "network")
        table = Table(title=f"{each} each, on recordings held out, used for nothing else")
        for column in ("", "recording accuracy", "event accuracy", "events kept"):
            table.add_column(column, justify="right" if column else "left")
        for title, of in (("defaults", tested["defaults"]), ("found", tested["chosen"])):
            names = ("recording_accuracy", "event_accuracy", "kept")
            table.add_row(title, *(f"{np.mean(of[figure]):.2%}" for figure in names))
        console.print(table)
        right, kept = (f"{100 * by:+.2f} ± {100 * error:.2f} points" for by, error in tested["gains"].values())
        same = tested["values"] == result["defaults"]
        verdict = f"The settings found are {tested['verdict']}: recording accuracy {right}, fewer events kept {kept}."
        console.print("Nothing was better than the defaults." if same else verdict, highlight=False)
        console.print("To train with them:\n", highlight=False)
        console.print(tested["python"], highlight=False, soft_wrap=True)
    counts = ", ".join(f"{ended.count(how)} {how}" for how in ("whole", "pruned", "diverged"))
    again = f", {result['interrupted']} interrupted and run again" if result["interrupted"] else ""
    console.print(f"\n{count(len(ended), 'trial')} ({counts}{again}), {result['seconds']:.0f} s.", highlight=False)


def _leave(
    out: Path, settings: dict[str, Any], parts: Any, preparation: Any, given: dict[str, Any], seed: int, engine: str
) -> None:
    """Write the settings found as files that `train` takes, and a model trained with them."""
    from timesurf.presets import from_dict
    from timesurf.results.run import toml

    found, model = from_dict(settings), out / "best.tsf"
    config = {"preset": str(out.resolve() / "best.json"), "seed": seed} | as_texts(given)
    for name, text in (("best.json", json.dumps(settings, indent=1)), ("best.toml", toml(config))):
        with replacing(out / name) as file:
            file.write((text + "\n").encode())
    network = found.network(parts.learn, parts.learn.classes, seed, engine=engine)
    network.preparation = preparation
    with progress("training the model", 1, found.start) as report:
        network.fit(
            parts.learn, **found.training(), validation=parts.validation, if_diverged="back",
            progress=lambda now: report(0, now),
        )  # fmt: skip
    network.save(model)
    console.print(f"Model trained with the settings found: {model}", highlight=False)
    say_next(f"timesurf train DATA --config {out / 'best.toml'} --model m.tsf", "trains with them on other data")


def _changes(result: dict[str, Any], values: dict[str, Any], most: int = 3) -> str:
    """The settings that differ most from the defaults, as factors."""
    import math

    factors = {
        name: value / result["defaults"][name]
        for name, value in values.items()
        if value and result["defaults"][name] and value != result["defaults"][name]
    }
    far = sorted(factors, key=lambda name: -abs(math.log(factors[name])))[:most]
    return ", ".join(f"{name} x {factors[name]:.2g}" for name in far) or "none: the defaults"
