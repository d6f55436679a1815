"""From simulated digits to real ones, on ten pictures; the "real" camera is a simulated one with other noise."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from typer.testing import CliRunner

from timesurf import SettingError, presets, transforms
from timesurf.cli.app import app
from timesurf.datasets import nmnist, saccades
from timesurf.io import npz
from timesurf.paper import transfer

REAL = 30
DIGITS = presets.digits


@pytest.fixture(scope="module")
def pictures():
    blurred = gaussian_filter(np.random.default_rng(0).random((10, 28, 28)), (0, 2, 2))
    digits = np.tile(np.arange(10), 7)
    return (blurred > np.quantile(blurred, 0.8)).astype(np.uint8)[digits] * 255, digits


@pytest.fixture(scope="module")
def simulated(pictures):
    return transforms.drop(saccades.simulate(*pictures, seed=1), 0.8)


@pytest.fixture(scope="module")
def real(pictures):
    """The first pictures, seen by another camera."""
    return transforms.drop(saccades.simulate(*(some[:REAL] for some in pictures), seed=2), 0.9)


def small(recordings, **how):
    preset = DIGITS(recordings, **how)
    window, last = preset.layers
    return replace(preset, layers=(replace(window, units=16), last), passes=3, bent=min(preset.bent, 1), sample=20)


def test_the_first_images_are_left_out(simulated, real):
    rest = transfer.others(simulated, real)
    assert rest.fingerprint() == simulated[REAL:].fingerprint()
    with pytest.raises(SettingError, match="first 29 training recordings"):
        transfer.others(simulated, real[1:])
    with pytest.raises(SettingError, match="none remains"):
        transfer.others(simulated[:REAL], real)


def test_each_number_of_recordings_adapts_the_same_network_and_is_tested_on_the_others(simulated, real):
    cropped, said = nmnist.cropped(real), []
    learned = nmnist.cropped(simulated[REAL:])
    how = {"preset": small(40), "progress": said.append}
    result = transfer.run(learned, cropped, shots=(10, 20, 30), test=learned[:12], **how)
    assert (result["simulated"]["tested"], result["simulated"]["kept"]) == (12, 1.0)
    assert result["simulated"]["recording_accuracy"] >= 0.8
    assert result["zero_shot"]["tested"] == REAL
    assert result["zero_shot"]["recording_accuracy"] >= 0.8  # of ten pictures; chance is 0.1
    assert [(row["recordings"], row["tested"]) for row in result["adapted"]] == [(10, 20), (20, 10)]  # 30 leave none
    alone = transfer.run(learned, cropped, shots=(20,), **how)
    assert alone["adapted"] == result["adapted"][1:]  # what 10 recordings taught is forgotten again
    assert "adapting on 10 real recordings" in said
    assert json.dumps(result)


def test_seeds_are_averaged_and_shown(simulated, real):
    cropped, learned = nmnist.cropped(real), nmnist.cropped(simulated[REAL:])
    several = transfer.run(learned, cropped, seed=3, seeds=2, shots=(20,), preset=small(40))
    alone = [transfer.run(learned, cropped, seed=seed, shots=(20,), preset=small(40)) for seed in (3, 4)]
    for found, (a, b) in (
        (several["zero_shot"], [one["zero_shot"] for one in alone]),
        (several["adapted"][0], [one["adapted"][0] for one in alone]),
    ):
        assert found["seeds"] == [a["recording_accuracy"], b["recording_accuracy"]]
        assert found["recording_accuracy"] == pytest.approx(np.mean(found["seeds"]))
        assert found["tested"] == a["tested"]


def test_recordings_come_in_turn_and_fewer_are_among_more():
    labels = np.repeat([0, 1, 2], [5, 2, 4])
    order = transfer._in_turn(labels, seed=3)
    assert sorted(order) == list(range(11))
    assert [sorted(labels[order[k : k + 3]]) for k in (0, 3)] == [[0, 1, 2]] * 2
    assert order.tolist() != transfer._in_turn(labels, seed=4).tolist()


def test_learning_from_real_recordings_changes_the_network(simulated, real, monkeypatch):
    """Wrong labels teach wrong decisions."""
    monkeypatch.setattr(transfer, "PASSES", 60)
    cropped = nmnist.cropped(real)
    wrong = cropped.with_labels((np.asarray(cropped.labels) + 1) % 10)
    strong = replace(small(40), rule=replace(small(40).rule, alpha=(0.0, 1e-3)))
    row = transfer.run(nmnist.cropped(simulated[REAL:]), wrong, shots=(20,), preset=strong)["adapted"][0]
    assert row["before"] <= 0.2
    assert row["recording_accuracy"] > row["before"] + 0.3


def test_the_command_shows_and_writes(pictures, real, tmp_path, monkeypatch):
    monkeypatch.setattr(presets, "digits", small)
    monkeypatch.setenv("TIMESURF_CACHE", str(tmp_path / "cache"))
    images, digits = pictures
    np.savez(tmp_path / "mnist.npz", x_train=images, y_train=digits, x_test=images[:10], y_test=digits[:10])
    npz.write(tmp_path / "real.npz", real)
    words = f"bench nmnist --transfer --npz {tmp_path}/real.npz --mnist {tmp_path}/mnist.npz --train 20"
    done = CliRunner().invoke(app, [*words.split(), "--json", str(tmp_path / "a.json")], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    result = json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert (result["settings"]["simulated"], result["settings"]["real"]) == (20, REAL)
    assert [row["recordings"] for row in result["adapted"]] == [10]
    assert "none" in done.output
    assert result["simulated"]["tested"] == 10
    more = CliRunner().invoke(app, [*words.split(), "--handwriting", "1", "--json", str(tmp_path / "b.json")])
    assert more.exit_code == 0, more.output
    rewritten = json.loads((tmp_path / "b.json").read_text("utf-8"))["settings"]
    assert (rewritten["simulated"], rewritten["handwriting"], rewritten["preset"]["bent"]) == (40, 1, 0)
    table = CliRunner().invoke(app, ["bench", "nmnist", "--npz", str(tmp_path / "real.npz"), "--handwriting", "1"])
    assert isinstance(table.exception, SettingError)
