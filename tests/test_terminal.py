"""Names of classes and files are shown as they are, whatever they hold: markup, control characters, formulas."""

import csv
import sys
import warnings

import numpy as np
import pytest

from timesurf import Network, cli
from timesurf.cli.terminal import Terminal, visible
from timesurf.datasets import sentences
from timesurf.io import npz

TITLE = "\x1b]0;owned\x07"  # renames the window of a terminal
NAMES = (f"[/bold]{TITLE}", "=1+1")
FILE = f"[red]{TITLE}\u202e"  # of a file, or of a folder
QUICK = ["--preset", "sentences", "--passes", "1", "--validation", "0", "--held-out", "0"]


def named(seed, names=NAMES, recordings=12):
    data = sentences.make(recordings, seed=seed, duration="1 ms")
    return data.with_labels(np.where(data.labels == data.classes[0], names[0], names[1]))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("names") / FILE
    place.mkdir()
    npz.write(place / "data.npz", named(0))
    npz.write(place / "new.npz", named(1, (f"[red]{TITLE}new", "@new")))
    return place


@pytest.fixture(params=["pipe", "terminal"])
def timesurf(request, monkeypatch, capsys, place):
    """Run a command in that folder: exit code and raw output."""
    if request.param == "terminal":
        monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.chdir(place)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["timesurf", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        printed = capsys.readouterr()
        said = printed.out + printed.err
        assert TITLE not in said, ascii(said)
        assert "\x1b]" not in said, ascii(said)
        assert "\u202e" not in said, ascii(said)
        return int(end.value.code or 0), said

    return run


@pytest.fixture
def model(place, timesurf):
    path = place / "m.tsf"
    if not path.exists():
        code, said = timesurf("train", place / "data.npz", "--model", path, *QUICK)
        assert code == 0, said
        assert r"\x1b]0;owned" in said  # of the folder
    return path


@pytest.mark.parametrize(
    "words",
    [
        ["train", "data.npz", "--model", "again.tsf", *QUICK],
        ["evaluate", "m.tsf", "data.npz", "--json", f"{FILE}.json"],
        ["predict", "m.tsf", "data.npz", "--out", f"{FILE}.csv"],
        ["adapt", "m.tsf", "data.npz", "--out", f"{FILE}.tsf"],
        ["extend", "m.tsf", "new.npz", "--units", "1", "--passes", "1", "--out", f"{FILE}-more.tsf"],
        ["inspect", "m.tsf"],
        ["inspect", "data.npz"],
        ["convert", "data.npz", f"{FILE}.npz"],
        ["simulate", "digits", f"{FILE}-digits.npz", "--number", "1"],
        ["stream", "m.tsf", "--from", "data.npz"],
    ],
    ids=lambda words: words[0],
)
def test_commands_show_names_and_do_not_obey_them(words, model, timesurf):
    code, said = timesurf(*words)
    assert code == 0, said
    if words[0] in ("evaluate", "inspect", "stream"):
        assert r"[/bold]\x1b]0;owned" in said


@pytest.mark.parametrize(
    "words",
    [
        ["inspect", FILE],  # nothing there
        ["evaluate", FILE, "data.npz"],
        ["evaluate", ".", "data.npz"],
        ["train", "data.npz", "--model", f"{FILE}/{FILE}/m.tsf"],
        ["train", "data.npz", "--model", "m", "--preset", FILE],
        ["train", "data.npz", "--model", "m", "--config", f"{FILE}.toml"],
        [f"--{FILE}"],
        [FILE],
        ["report", FILE],
    ],
    ids=lambda words: words[0] if words[0].isalpha() else "typed",
)
def test_errors_show_names_and_do_not_obey_them(words, model, timesurf, place):
    (place / f"{FILE}.toml").write_text(f'"{visible(TITLE)}" = 1'.replace("\\x", "\\u00"), "utf-8")
    code, said = timesurf(*words)
    assert code == 2, said
    assert "Traceback" not in said
    assert "Error" in said


def test_a_spreadsheet_sees_no_formula(model, timesurf, place):
    code, said = timesurf("predict", model, "data.npz", "--out", "p.csv")
    assert code == 0, said
    with open(place / "p.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["label"] for row in rows} == {NAMES[0], "'=1+1"}
    assert all(not cell.startswith(("=", "+", "@")) for row in rows for cell in row.values())
    assert Network.load(model).classes.tolist() == sorted(NAMES)


def test_warnings_are_one_line_and_do_not_obey_names(capsys, monkeypatch):
    def warn(**_):
        warnings.warn(f"Skipped {FILE}", stacklevel=1)

    monkeypatch.setattr(sys.modules["timesurf.cli.app"], "app", warn)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with pytest.raises(SystemExit):
            cli.main()
    said = capsys.readouterr().err
    assert said.startswith("Warning: Skipped [red]\\x1b]0;")


def test_a_status_takes_no_markup(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    with Terminal().status(f"Reading {NAMES[0]} ..."):
        pass
    assert TITLE not in capsys.readouterr().out
