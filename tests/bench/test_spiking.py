"""`timesurf bench spiking` measures what it says, on few recordings."""

import json

import pytest
from typer.testing import CliRunner

from timesurf.bench import spiking
from timesurf.cli import app
from timesurf.errors import SettingError


def test_the_command_writes_every_part_on_sentences(tmp_path):
    out = tmp_path / "spiking.json"
    parts = [word for part in spiking.PARTS[:3] for word in ("--part", part)]
    done = CliRunner().invoke(
        app, ["bench", "spiking", "--networks", "1", "--recordings", "20", *parts, "--json", str(out)]
    )
    assert done.exit_code == 0, done.output
    found = json.loads(out.read_text())
    assert len(found["classification"]["spiking_event_accuracy"]) == 1
    assert len(found["continual"]["adapting"][0]) == 4
    assert 0 <= found["incremental"]["task1_after"][0] <= 1


def test_an_unknown_part_is_refused():
    with pytest.raises(SettingError, match="unknown part letters"):
        spiking.run(1, parts=["letters"])
