import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from timesurf import cli

run = CliRunner().invoke


def timesurf(*words):
    return subprocess.run([sys.executable, "-m", "timesurf", *words], capture_output=True, text=True, check=False)


def test_bench_classification_writes_its_figures(tmp_path):
    path = tmp_path / "table1.json"
    done = run(cli.app, ["bench", "classification", "--networks", "1", "--recordings", "20", "--json", str(path)])
    assert done.exit_code == 0
    assert "paper" in done.output
    assert "99.92%" in done.output
    result = json.loads(path.read_text())
    assert len(result["sup3r"]["accuracy"]) == 1
    assert result["settings"]["seed"] == 0


@pytest.mark.parametrize(
    "words",
    [
        ["bench", "classification", "--networks", "0"],
        ["bench", "classification", "--networks", "many"],
        ["bench", "classification", "--networks", "1", "--json", "no/such/folder/a.json"],
        ["bench", "nothing"],
        ["bench", "nmnist"],
        ["bench", "nmnist", "--simulated", "--data", "."],
        ["bench", "nmnist", "--simulated", "--rows", "hots_linear", "--mnist", "setup.cfg"],
        ["bench", "saccades", "--npz", "nowhere.npz"],
        ["demo", "--out", "setup.cfg/x"],
    ],
)
def test_mistakes_end_with_a_message_and_code_2(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "setup.cfg").write_text("a file, not a folder")
    done = timesurf(*words)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.strip()


def test_every_command_has_help_with_an_example():
    for words in (
        ["demo"],
        ["warmup"],
        ["bench", "classification"],
        ["bench", "speed"],
        ["bench", "continual"],
        ["bench", "incremental"],
        ["bench", "nmnist"],
        ["bench", "saccades"],
    ):
        assert f"Example: timesurf {' '.join(words)}" in " ".join(run(cli.app, [*words, "--help"]).output.split())


def test_version():
    from timesurf import __version__

    assert __version__ in timesurf("--version").stdout


def test_import_is_light():
    """No numba, scikit-learn or matplotlib until something asks for it."""
    code = "import sys, timesurf; print([m for m in ('numba', 'sklearn', 'matplotlib', 'rich') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
