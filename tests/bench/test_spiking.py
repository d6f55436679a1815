"""`timesurf bench spiking` measures what it says, on few recordings."""

import json

import pytest
from typer.testing import CliRunner

from timesurf.bench import spiking
from timesurf.cli import app
from timesurf.errors import SettingError


def test_the_command_writes_every_part_on_sentences(tmp_path):
    """Seed 0: event accuracy 66 % on both tasks (chance: 50 %). From so few recordings the second takes votes from the
    first, 33 % of which are then right (chance among four classes: 25 %)."""
    out = tmp_path / "spiking.json"
    parts = [word for part in spiking.PARTS[:3] for word in ("--part", part)]
    done = CliRunner().invoke(
        app, ["bench", "spiking", "--networks", "1", "--recordings", "20", *parts, "--json", str(out)]
    )
    assert done.exit_code == 0, done.output
    found = json.loads(out.read_text())
    assert len(found["classification"]["spiking_event_accuracy"]) == 1
    assert len(found["continual"]["adapting"][0]) == 4
    grown = found["incremental"]
    assert grown["task1"] == found["classification"]["spiking_event_accuracy"]  # the parts begin with the same network
    assert grown["task2"][0] > 0.6
    assert 0.28 < grown["task1_after"][0] < grown["task1"][0] - 0.2
    assert grown["task1_after_recordings"] == [0]


def test_an_unknown_part_is_refused():
    with pytest.raises(SettingError, match="unknown part letters"):
        spiking.run(1, parts=["letters"])
