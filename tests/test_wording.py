"""Messages as one who types commands reads them, and what a shell completes."""

import json
import ntpath
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer

from timesurf import EventError, Recordings
from timesurf.cli import wording
from timesurf.cli.app import app, data_sets, one_of
from timesurf.cli.training import say_few
from timesurf.io import npz


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        (None, "pip install 'timesurf[plots]'"),
        ({"url": "https://here/timesurf.whl", "archive_info": {}}, "pip install 'timesurf[plots]'"),
        (
            {"url": "file:///home/me/my%20code", "dir_info": {"editable": True}},
            "pip install -e '/home/me/my code[plots]'",
        ),
        ({"url": "file:///home/me/code", "dir_info": {}}, "pip install '/home/me/code[plots]'"),
    ],
)
def test_a_hint_names_what_to_install_from_where_one_is(origin, expected, monkeypatch):
    text = None if origin is None else json.dumps(origin)
    monkeypatch.setattr(wording, "distribution", lambda _: SimpleNamespace(read_text=lambda _: text))
    assert wording.installable("Pictures need matplotlib: pip install 'timesurf[plots]'.").endswith(f"{expected}.")


def test_only_options_that_were_given_are_named_as_options():
    message = "batch_size = 0 must be at least 1; split = 'x' must be one of train, test."
    said = wording.as_options(message, ["train", "--batch-size=0"])
    assert said == "--batch-size 0 must be at least 1; split = 'x' must be one of train, test."


def test_data_is_completed_by_files_anddata_sets(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "digits.npz").touch()
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "a.npz").touch()
    assert data_sets("dig") == ["digits.npz", "digits"]
    assert data_sets("inner/") == ["inner/a.npz"]
    assert data_sets(f"{tmp_path}/dig") == [f"{tmp_path}/digits.npz"]
    assert data_sets("nowhere/x") == []
    monkeypatch.setattr("os.path.basename", ntpath.basename)
    (tmp_path / "inner\\").mkdir(exist_ok=True)  # on Windows the same folder
    (tmp_path / "inner\\" / "a.npz").touch()
    assert data_sets("inner\\") == ["inner\\a.npz"]
    assert one_of("cpu", "cuda")() == ["cpu", "cuda"]


def test_commands_are_listed_by_use_and_all_of_them_on_the_page():
    main = typer.main.get_command(app)
    names = main.list_commands(typer.Context(main))
    assert names[:2] == ["train", "evaluate"]
    assert names[-1] == "bench"
    assert all(main.commands[name].rich_help_panel for name in names)
    page = (Path(__file__).parents[1] / "docs" / "commands.md").read_text("utf-8")
    rows = "\n".join(line for line in page.splitlines() if line.startswith("| "))
    assert [name for name in names if not re.search(rf"`timesurf {name}\b", rows)] == []


@pytest.mark.parametrize(
    ("message", "words", "said"),
    [
        (
            "a.csv: 2 coordinates for a field (346,): give one.",
            ["--field", "346"],
            "2 coordinates for a field 346: give",
        ),
        ("no sensor is called 'x'; give sensor, one of a, b.", ["--sensor", "x"], "give --sensor, one of"),
        ("unit = 'minutes' is not a unit.", ["--time-unit", "minutes"], "--time-unit 'minutes' is"),
    ],
)
def test_messages_have_the_names_of_options(message, words, said):
    assert said in wording.as_options(message, words)


@pytest.mark.parametrize("length", ["0", "0s", "soon", ""])
def test_the_length_of_a_piece_is_named_as_it_was_given(timesurf, tmp_path, length):
    npz.write(tmp_path / "one.npz", Recordings([[1], [2]], t=[5], labels=["a"], field=(4, 3)))
    code, said = timesurf("train", tmp_path / "one.npz", "--model", tmp_path / "m.tsf", "--every", length)
    assert (code, f"--every {length}: a time is needed".replace("  ", " ") in said) == (2, True), said


def test_numbers_of_one_thing_are_singular(timesurf, tmp_path):
    npz.write(tmp_path / "one.npz", Recordings([[1], [2]], t=[5], field=(4, 3)))
    assert "1 number, the field 4x3 2" in timesurf("inspect", tmp_path / "one.npz", "--crop", "3")[1]
    with pytest.raises(EventError, match="for 1 recording:"):
        Recordings([[1], [2]], t=[5], field=(4, 3), labels=["a", "b"])


@pytest.mark.parametrize(
    ("labels", "said"), [("ab" * 10, "Only 20 pieces choose it"), ("abb", ", 1 of class a, choose it")]
)
def test_few_recordings_are_said_with_commas_in_place(capsys, labels, said):
    say_few(
        Recordings(
            [[0] * len(labels)], t=range(len(labels)), offsets=range(len(labels) + 1), labels=list(labels), field=(1,)
        ),
        "choose it",
        "piece",
    )
    assert said in " ".join(capsys.readouterr().out.split())
