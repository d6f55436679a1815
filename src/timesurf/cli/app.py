"""What all commands share: the two groups of commands, options, the console, progress bars, result files."""

from __future__ import annotations

import io
import json
import os
import sys
import threading
import time
import tomllib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from timesurf import __version__
from timesurf.cli.terminal import Terminal, bold
from timesurf.cli.wording import as_options, installable
from timesurf.errors import MissingEngineError, SettingError, TimesurfError
from timesurf.storage.atomic import replacing
from timesurf.storage.kinds import check_input, check_output

app = typer.Typer(
    help="Classify recordings and streams of events with hierarchies of time surfaces that learn by local rules.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
bench = typer.Typer(help="Reproduce the paper's tables, and measure speed on this machine.", no_args_is_help=True)
app.add_typer(bench, name="bench")
console = Terminal()
_BEFORE = {  # what comes before the first report of a progress bar
    "mean": "first centroids",
    "kmeans": "first centroids by k-means",
    "quick": "first centroids by k-means",
    "ridge": "centroids by k-means and by ridge regression",
    "chosen": "first centroids of the last layer",  # those below it were found when the data chose the network
    "tighten": "thresholds that keep the share",
    "trained": "the first recordings",
}
_EVENTS_PER_REPORT = 1 << 22  # between two updates of a progress bar
_LARGEST_CONFIG = 1 << 16  # bytes
_REFUSAL: Any = typer.BadParameter.__mro__[2]  # ClickException, which typer does not name
NETWORK = "timesurf.network"  # where a context keeps the table [network] of a file of settings
_MOST_DOTS = 200  # the memory that tomllib takes for a name such as a.a.a.a grows with the square of its dots


def one_of(*values: str) -> Callable[[], list[str]]:
    """What a shell offers to complete an option with."""
    return lambda: list(values)


def data_sets(incomplete: str) -> list[str]:
    """Files and folders, or data sets by name, that begin so."""
    from timesurf.datasets import MODULES

    begin = os.path.basename(incomplete)  # whatever separates folders on this system
    folder = incomplete.removesuffix(begin)
    here = Path(folder or ".")
    there = sorted(here.iterdir()) if here.is_dir() else []
    found = [f"{folder}{path.name}" for path in there if path.name.startswith(begin)]
    return [*found, *(name for name in MODULES if name.startswith(incomplete))]


Data = Annotated[
    str,
    typer.Argument(
        autocompletion=data_sets,
        help="An .npz, a camera file, a folder with one subfolder per class, N-MNIST's folder, or tonic:NAME.",
    ),
]
Split = Annotated[
    str,
    typer.Option(
        autocompletion=one_of("train", "test"), help="Which part of the data: train or test, where it has both."
    ),
]
Model = Annotated[Path, typer.Argument(help="A model file.", exists=True, dir_okay=False)]
TestSplit = Annotated[
    str | None,
    typer.Option(
        "--split",
        autocompletion=one_of("train", "test"),
        help="Which part of the data: train or test; default: test, where there is one.",
    ),
]
Engine = Annotated[
    str, typer.Option(autocompletion=one_of("cpu", "cuda"), help="What to compute on: cpu, or cuda for an NVIDIA GPU.")
]
Precision = Annotated[
    str, typer.Option(autocompletion=one_of("float64", "float32"), help="Of online learning: float64 or float32.")
]
Dask = Annotated[
    str | None,
    typer.Option(help="Dask workers: the address of a scheduler, or local for one worker per core of this machine."),
]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same figures.")]
Json = Annotated[Path | None, typer.Option("--json", help="Also write the figures to this file.", dir_okay=False)]


def _configured(ctx: typer.Context, value: Path | None) -> Path | None:
    """Use the settings of a TOML file as defaults of the command."""
    if value is None:
        return None
    check_input(value)
    if value.stat().st_size > _LARGEST_CONFIG:
        raise SettingError(f"{value} has {value.stat().st_size} bytes, which is too large for a file of settings.")
    try:
        text = value.read_text(encoding="utf-8")
        if text.count(".") > _MOST_DOTS:
            raise ValueError(f"more than {_MOST_DOTS} dots")
        settings = {name.replace("-", "_"): setting for name, setting in tomllib.loads(text).items()}
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, thousands of digits, deeply nested brackets
        raise SettingError(f"{value} is not valid TOML: {error}") from error
    known = {parameter.name for parameter in ctx.command.params}
    if "tune" in known and isinstance(settings.get("network"), dict):
        ctx.meta[NETWORK] = settings.pop("network")  # layers, rule and training, as tuning printed them
    unknown = sorted(settings.keys() - known)
    if unknown:
        names = ", ".join(sorted(name for name in known if name and name not in ("help", "config")))
        raise SettingError(f"{value}: unknown setting {', '.join(unknown)}. Known settings: {names}.")
    ctx.default_map = settings
    return value


Config = Annotated[
    Path | None,
    typer.Option(
        "--config", callback=_configured, is_eager=True, exists=True, dir_okay=False,
        help="Take settings from this TOML file, by the names of the options; options given here take precedence.",
    ),
]  # fmt: skip


def main() -> None:
    """Run the command line; user errors end with a message and exit code 2, an interrupt with 130: no tracebacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without Unicode shows what it can
    console.stderr = False
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            code = app(standalone_mode=False)
        stopped = code == 130  # some versions of typer return this for an interrupt, others raise Abort
    except _REFUSAL as error:  # the command line itself is wrong
        if usage := getattr(error, "ctx", None):
            Terminal(stderr=True).print(usage.get_usage(), f"Try '{usage.command_path} --help' for help.", sep="\n")
        _fail(error.format_message(), error.exit_code)
    except (TimesurfError, OSError) as error:
        _fail(installable(as_options(_in_words(error), sys.argv)), 2)
    except MemoryError as error:
        _fail(f"Not enough memory ({error}). Use fewer recordings at a time.", 2)
    except (KeyboardInterrupt, typer.Abort):
        stopped = True
    if stopped:
        Terminal(stderr=True).print("Stopped.")
        sys.exit(130)
    sys.exit(code if isinstance(code, int) else 0)


def _in_words(error: Exception) -> str:
    """What an error says; of the system's own, the file first and no number."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    return str(error)


def _fail(message: str, code: int) -> NoReturn:
    """Show what is wrong, and exit."""
    Terminal(stderr=True).print(bold("Error: ", message, "bold red"), soft_wrap=True)
    sys.exit(code)


def _show_warning(message: Warning | str, *about: Any, **more: Any) -> None:
    """A warning in one line, without the place in the source."""
    Terminal(stderr=True).print(bold("Warning: ", message, "bold yellow"))


def _version(show: bool) -> None:
    """Show the version and exit."""
    if show:
        console.print(f"timesurf {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def ordered(app: typer.Typer, panels: dict[str, tuple[str, ...]]) -> None:
    """Let `--help` list the commands in these panels, in this order; each command is in one of them."""
    panel = {name: title for title, names in panels.items() for name in names}
    commands = {one.name or getattr(one.callback, "__name__", ""): one for one in app.registered_commands}
    groups = {str(one.name): one for one in app.registered_groups}
    for name, one in (commands | groups).items():
        one.rich_help_panel = panel[name]
    app.registered_commands = [commands[name] for name in panel if name in commands]


@contextmanager
def progress(what: str, networks: int, start: str = "mean") -> Iterator[Any]:
    """A progress bar over all networks, with recent event accuracy, kept events and events/s; none in a pipe.

    What comes before the first report is named by `start`: one of `Network.start`, or another that `_BEFORE` has.
    """
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    done: dict[int, int] = {}
    lock = threading.Lock()
    latest = time.perf_counter()
    rate = 0.0
    with Progress(*columns, TextColumn("{task.fields[recent]}", markup=False), console=console, transient=True) as bar:
        bar.disable = not console.is_terminal
        task = bar.add_task(what, total=None, recent=_BEFORE[start])

        def report(number: int, now: Any) -> None:
            nonlocal latest, rate
            with lock:
                done[number] = now.done
                before, latest = latest, time.perf_counter()
                new_rate = now.events / max(latest - before, 1e-9)
                rate = new_rate if rate == 0 else 0.9 * rate + 0.1 * new_rate
                text = f"{rate / 1e6:.2f} M events/s, event accuracy {now.event_accuracy:.1%}, {now.kept:.1%} kept"
                bar.update(task, completed=sum(done.values()), total=networks * now.total, recent=text)

        yield report


def in_parts(what: str, recordings: Any, call: Callable[[Any], Any]) -> Any:
    """The outcome of a call on recordings, made for some of them at a time, with a progress bar."""
    from timesurf.engines import Outcome
    from timesurf.inference import check_votes, parts

    with counted(what) as report:
        outcomes = []
        for part in parts(recordings, None, _EVENTS_PER_REPORT):
            outcomes.append(call(recordings[part]))
            check_votes(len(recordings), outcomes[0].votes.shape[1])
            report(min(part.stop, len(recordings)), len(recordings))
    return Outcome.joined(outcomes)


@contextmanager
def counted(what: str) -> Iterator[Callable[..., None]]:
    """A progress bar for a call that reports the number done, the number of all, and what it does if that changes."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        bar.disable = not console.is_terminal
        task = bar.add_task(what, total=None)

        def report(done: int, total: int, now: str = what) -> None:
            bar.update(task, completed=done, total=total, description=now)

        yield report


@contextmanager
def spread(dask: str | None, engine: str) -> Iterator[Any]:
    """The engine of that name, or the Dask workers at an address as an engine."""
    if dask is None:
        yield engine
        return
    from timesurf.engines.dask import cluster
    from timesurf.engines.dask.workers import Workers

    with cluster.connect(dask) as client:
        yield Workers(client, engine=engine)


def say_next(command: str, why: str) -> None:
    """What one would do next, in a line."""
    console.print(f"Next: {command}   ({why})", highlight=False, soft_wrap=True)


def check_writable(path: Path | None) -> None:
    """Fail at once, not after minutes of work, if a result cannot be written."""
    if path is not None:
        check_output(path)


def check_engine(name: str) -> None:
    """Fail at once if this engine does not exist, or cannot run here."""
    from timesurf.engines import load

    load(name)


def check_plot(path: Path | None) -> None:
    """The same of a figure; also where matplotlib is missing, or does not write files of this kind."""
    if path is None:
        return
    from timesurf.plots import style

    check_writable(path)
    if (kind := _kind(path)) not in (known := style.formats()):
        raise SettingError(f"{path} cannot be written: .{kind} is none of .{', .'.join(sorted(known))}.")


def _kind(path: Path) -> str:
    return path.suffix.lstrip(".").lower() or "png"


def write_plot(path: Path | None, draw: Callable[[], Any], *, optional: bool = False) -> None:
    """Draw a figure into this file, if one is given; an optional one only if matplotlib is installed."""
    if path is None:
        return
    try:
        save_plot(path, draw())
    except MissingEngineError as error:
        if not optional:
            raise
        console.print(f"No figure was drawn. {installable(str(error))}", highlight=False)
    else:
        console.print(f"Figure written to {path}", highlight=False)


def save_plot(path: Path, figure: Any) -> None:
    """Write a figure completely or not at all, in the format of the suffix."""
    with replacing(path) as file:
        try:
            figure.savefig(file, dpi=120, format=_kind(path))
        except ValueError as error:
            raise SettingError(f"{path} cannot be written: {error}") from error


def save_json(path: Path | None, result: dict[str, Any]) -> None:
    """Write the figures so far to this file, if one is given."""
    if path is not None:
        with replacing(path) as file:
            file.write((json.dumps(result, indent=1) + "\n").encode())


def write_json(path: Path | None, result: dict[str, Any]) -> None:
    """Write the figures to this file, if one is given, and say so."""
    save_json(path, result)
    if path is not None:
        console.print(f"Figures written to {path}", highlight=False)
