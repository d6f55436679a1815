"""What people stumble over in their first hour: sizes that no file states, bad options, few recordings."""

import json
import signal
import sys

import numpy as np
import pytest

from tests.processes import until
from tests.random_networks import blobs
from timesurf import Checkpoints, Full, Network, Recordings, Window
from timesurf.engines import Parameters
from timesurf.io import camera, npz
from timesurf.rule import Rule

TRAIN = ("--passes", "2", "--held-out", "0")


@pytest.fixture(scope="module")
def spots(tmp_path_factory):
    """24 recordings of 3 classes as CSV files, which state no size, and as one file that does."""
    place = tmp_path_factory.mktemp("spots")
    recordings = blobs(24, seed=0)
    for r in range(len(recordings)):
        folder = place / "csv" / f"class {recordings.labels[r]}"
        folder.mkdir(parents=True, exist_ok=True)
        camera.write(folder / f"{r}.csv", recordings[r])
    npz.write(place / "spots.npz", recordings)
    return place


def test_training_says_what_size_it_took_and_how_few_decide(spots, timesurf, tmp_path):
    code, said = timesurf("train", spots / "csv", "--model", tmp_path / "m.tsf", *TRAIN)
    assert code == 0, said
    assert "and 23 other files state no size of the sensor. 9 x 9 is assumed" in said
    assert "--field 9x9" in said
    assert "2 passes over 21 recordings" in said
    assert "10 passes" not in said
    assert "60 passes" not in said
    assert "Only 3 recordings, 1 of class class 0, choose the best pass" in said
    code, said = timesurf("train", spots / "csv", "--model", tmp_path / "n.tsf", *TRAIN, "--field", "12x9")
    assert "no size of the sensor" not in said
    assert Network.load(tmp_path / "n.tsf").field == (12, 9)
    code, said = timesurf("train", spots / "spots.npz", "--model", tmp_path / "n.tsf", *TRAIN)
    assert "no size of the sensor" not in said
    larger = Recordings([[11], [3]], [0], [1], field=(12, 9), polarities=2, labels=["class 0"])
    npz.write(tmp_path / "larger.npz", larger)
    code, said = timesurf("evaluate", tmp_path / "m.tsf", tmp_path / "larger.npz")
    assert code == 2
    assert "train it with --field 12x9" in said


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--alpha", "1e300"), "--alpha 1e+300 must lie between"),
        (("--taus", "fast, 1 ms"), "fast"),
        (("--taus", "1 ms"), "must be two times"),
        (("--crop", "0x5"), "--crop 0x5 must be whole numbers"),
    ],
)
def test_options_that_are_none_are_refused_before_data_is_read(words, why, timesurf, tmp_path):
    code, said = timesurf("train", tmp_path / "missing.npz", "--model", tmp_path / "m.tsf", *words)
    assert code == 2
    assert why in said
    assert "does not exist" not in said


def test_no_mistakes_are_said_without_an_empty_table(timesurf, tmp_path):
    classes = 16
    network = Network([Full(tau=1.0)], (classes,), 1, range(classes))
    network.parameters = Parameters.of([np.eye(classes)[:, :, None]], [np.full(classes, np.inf)])
    network.save(tmp_path / "m.tsf")
    each = np.arange(classes)
    npz.write(
        tmp_path / "d.npz", Recordings([each], each, offsets=np.arange(classes + 1), field=(classes,), labels=each)
    )
    code, said = timesurf("evaluate", tmp_path / "m.tsf", tmp_path / "d.npz")
    assert code == 0
    assert "No mistakes: every recording gets its class." in said
    assert "predicted class" not in said


def test_rates_of_layers_are_shown_as_numbers(timesurf, tmp_path):
    network = Network([Full(tau=1.0)], (2,), 1, ["a", "b"], rule=Rule(alpha=(0.25,)))
    network.parameters = Parameters.of([np.eye(2)[:, :, None]], [np.full(2, np.inf)])
    network.save(tmp_path / "m.tsf")
    assert "alpha 0.25, beta 0.0001" in timesurf("inspect", tmp_path / "m.tsf")[1]


def test_what_to_do_next_after_tighten_export_and_report(timesurf, spots, tmp_path):
    network = Network([Window(3, units=4, tau="5 ms"), Full(tau="5 ms")], (9, 9), 2, range(3))
    network.fit(npz.read(spots / "spots.npz"), passes=1).save(tmp_path / "m.tsf")
    words = (tmp_path / "m.tsf", spots / "spots.npz", "--keep", "0.5", "--passes", "0", "--out", tmp_path / "k.tsf")
    code, said = timesurf("tighten", *words)
    assert code == 0, said
    assert f"Next: timesurf evaluate {tmp_path / 'k.tsf'} DATA" in said
    assert "Only 3 recordings, 1 of class 0, measure what is kept" in said
    code, said = timesurf("export", tmp_path / "m.tsf", "--out", tmp_path / "c")
    assert "Next: " in said
    assert "--check DATA" in said
    code, said = timesurf("report", tmp_path / "m.tsf", "--data", spots / "spots.npz")
    assert code == 0, said
    assert f"Next: timesurf predict {tmp_path / 'm.tsf'} DATA" in said


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM to catch")
def test_training_that_the_system_ends_saves_its_model(start, spots, tmp_path):
    """As with Ctrl-C: the model so far, and how to continue."""
    words = ["train", spots / "spots.npz", "--model", tmp_path / "m.tsf", "--json", tmp_path / "j", "--passes", 100000]
    running = start("-m", "timesurf", *words, "--checkpoint-every", "200")  # more than there are in a pass
    until(Checkpoints(tmp_path / "m.tsf.run" / "checkpoints").files, running)
    running.send_signal(signal.SIGTERM)
    said = running.communicate(timeout=60)[0]
    assert running.returncode == 130, said
    assert "--resume" in said
    assert Network.load(tmp_path / "m.tsf").history
    assert json.loads((tmp_path / "j").read_text("utf-8"))["stopped"]


@pytest.mark.parametrize(("factor", "told"), [(1, False), (30, False), (0.01, False), (1000, True), (1e-4, True)])
def test_times_in_another_unit_are_noticed(timesurf, tmp_path, factor, told):
    """A pixel fires every 15 ms, or `factor` times as slowly; the time constant is 60 ms."""
    data = blobs(24, seed=0)
    layers = [Window(3, units=4, tau="60 ms"), Full(tau="10 ms")]
    Network(layers, data.field, data.polarities, data.classes).start(data).save(tmp_path / "m.tsf")
    t = (data.t * factor).astype(np.int64)
    about = {"field": data.field, "polarities": data.polarities, "labels": data.labels}
    npz.write(tmp_path / "other.npz", Recordings(data.coords, t, data.p, data.offsets, **about))
    for command in ("evaluate", "predict"):
        code, said = timesurf(command, tmp_path / "m.tsf", tmp_path / "other.npz")
        assert code == 0
        assert ("give it: --time-unit" in said) is told
