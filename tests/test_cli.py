import json
import subprocess
import sys
from dataclasses import replace

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from timesurf import SettingError, cli

run = CliRunner().invoke


def timesurf(*words):
    return subprocess.run([sys.executable, "-m", "timesurf", *words], capture_output=True, text=True, check=False)


def test_bench_classification_writes_its_figures(tmp_path):
    path = tmp_path / "table1.json"
    done = run(cli.app, ["bench", "classification", "--networks", "1", "--recordings", "20", "--json", str(path)])
    assert done.exit_code == 0
    assert "paper" in done.output
    assert "99.92%" in done.output
    result = json.loads(path.read_text("utf-8"))
    assert len(result["sup3r"]["event_accuracy"]) == 1
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
        ["bench", "nmnist", "--simulated", "--transfer"],
        ["bench", "nmnist", "--simulated", "--rows", "hots_linear", "--mnist", "setup.cfg"],
        ["bench", "speed", "--check", "--engine", "cuda"],
        ["demo", "--out", "setup.cfg/x"],
    ],
)
def test_mistakes_end_with_a_message_and_code_2(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "setup.cfg").write_text("a file, not a folder", "utf-8")
    done = timesurf(*words)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.strip()


def commands(group=None, words=()):
    """Every command there is, by its words."""
    group = group or get_command(cli.app)
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*words, name))
        else:
            yield (*words, name)


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_every_command_has_help_with_an_example(words):
    assert f"Example: timesurf {' '.join(words)}" in " ".join(run(cli.app, [*words, "--help"]).output.split())


def test_version():
    from timesurf import __version__

    assert __version__ in timesurf("--version").stdout
    assert "Show the version and exit." in run(cli.app, ["--help"]).output


def test_import_is_light():
    """No numba, scikit-learn or matplotlib until something asks for it."""
    code = "import sys, timesurf; print([m for m in ('numba', 'sklearn', 'matplotlib', 'rich') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_bench_nmnist_reads_the_official_folders(tmp_path, rng, monkeypatch):
    """Blurred random pictures for digits, written as N-MNIST's own files: the whole way from bytes to the table."""
    import numpy as np
    from scipy.ndimage import gaussian_filter

    from tests.datasets.test_nmnist import encoded
    from timesurf.datasets import saccades
    from timesurf.paper import table3
    from timesurf.presets import nmnist

    monkeypatch.setattr(table3, "nmnist", lambda recordings: replace(nmnist(recordings), passes=10, sample=2))
    pictures = gaussian_filter(rng.random((10, 28, 28)), (0, 2, 2))
    pictures = (pictures > np.quantile(pictures, 0.8)).astype(np.float64)
    for split, each in (("Train", 2), ("Test", 1)):
        digits = np.tile(np.arange(10), each)
        for number, (digit, one) in enumerate(zip(digits, saccades.simulate(pictures[digits], seed=each), strict=True)):
            path = tmp_path / split / str(digit) / f"{number:05d}.bin"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(encoded(*one.coords, one.p, one.t))
    words = ["bench", "nmnist", "--data", str(tmp_path), "--json", str(tmp_path / "a.json")]
    done = run(cli.app, [*words, "--rows", "sup3r", "--plot", str(tmp_path / "a.png")])
    assert done.exit_code == 0, done.output
    assert "20 recordings in train, 60,000 in the official one" in " ".join(done.output.split())
    done = run(cli.app, [*words, "--rows", "hots_linear"])  # the other row stays
    assert done.exit_code == 0, done.output
    result = json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert result["data"] == "N-MNIST, 20 / 10 recordings"
    assert result["sup3r"]["recording_accuracy"] >= 0.8
    assert result["hots_linear"]["recording_accuracy"] >= 0.8
    assert (tmp_path / "a.png").stat().st_size > 10_000


@pytest.mark.parametrize("text", ["a = " + "[" * 5000, "passes = " + "9" * 5000, "a." * 2000 + "a = 1", "#" * 70_000])
def test_a_configuration_made_to_harm_is_refused(tmp_path, text):
    (tmp_path / "a.toml").write_text(text, "utf-8")
    with pytest.raises(SettingError, match=r"a\.toml (is not valid TOML|has 70000 bytes)"):
        get_command(cli.app).commands["train"].make_context(
            "train", ["a.npz", "--model", "m", "--config", str(tmp_path / "a.toml")]
        )
