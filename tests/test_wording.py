"""Messages as one who types commands reads them, and what a shell completes."""

import json
import ntpath
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer

from timesurf.cli import wording
from timesurf.cli.app import app, data_sets, one_of


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
