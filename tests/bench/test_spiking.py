"""`timesurf bench spiking` measures what it says, on few recordings."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from timesurf import Full, Recordings, Window
from timesurf.bench import spiking
from timesurf.cli import app
from timesurf.datasets import sentences
from timesurf.errors import EventError, SettingError


def test_the_command_writes_every_part_on_sentences(tmp_path):
    """Seed 0: event accuracy 66 % on both tasks (chance: 50 %). From so few recordings the second takes votes from the
    first, 33 % of which are then right (chance among four classes: 25 %)."""
    out = tmp_path / "spiking.json"
    parts = [word for part in spiking.PARTS[:3] for word in ("--part", part)]
    done = CliRunner().invoke(
        app, ["bench", "spiking", "--networks", "1", "--recordings", "20", *parts, "--json", str(out)]
    )
    assert done.exit_code == 0, done.output
    found = json.loads(out.read_text("utf-8"))
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


def blinking(field, polarities=2, recordings=12, events=200):
    """Events anywhere, in half of the recordings mostly of polarity 0 and in the others mostly of polarity 1."""
    rng = np.random.default_rng(3)
    labels = np.arange(recordings) % 2
    p = (rng.random((recordings, events)) < 0.1) ^ labels[:, None]
    t = np.sort(rng.integers(0, 10_000, (recordings, events)), axis=1)
    coords = [rng.integers(0, n, recordings * events) for n in field]
    offsets = events * np.arange(recordings + 1)
    return Recordings(coords, t.ravel(), p.ravel(), offsets, field=field, polarities=polarities, labels=labels)


@pytest.mark.parametrize(
    ("field", "stride", "step"), [((8, 6), (2, 3), (2, 3)), ((12,), "field", (3,)), ((4, 9), 4, (4, 4))]
)
def test_a_network_for_any_recordings_has_the_window_and_the_places_of_the_default(field, stride, step):
    chosen = (Window(5, units=6, tau="2 ms", stride=stride), Full(tau="3 ms", units_per_class=3))
    network = spiking.fitted(blinking(field), chosen, seed=0)
    hidden, last = network.layers
    assert (hidden.box, hidden.step, hidden.units) == (tuple(min(5, n) for n in field), step, 6)
    assert (hidden.tau, hidden.trace_tau, last.tau, last.units) == (2000, 2000, 3000, None)
    assert network.evaluate(blinking(field))["recording_accuracy"] >= 0.9  # polarity alone tells; seed 3


def test_sentences_get_the_network_for_sentences():
    few = sentences.make(8, seed=0)
    assert spiking.fitted(few, (Full(tau=1),), seed=0).layers == spiking.LAYERS


def test_events_without_places_are_refused():
    with pytest.raises(EventError, match="no places"):
        spiking.fitted(blinking(()), (Full(tau=1),), seed=0)
