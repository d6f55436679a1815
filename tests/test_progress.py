"""What a progress bar says is what is done: first centroids are computed once, and every learning has a bar."""

import os
import subprocess
import sys

import pytest

from timesurf.bench import workloads
from timesurf.io import npz

TRAIN = ("--passes", "3", "--validation", "0.2", "--held-out", "0")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "strokes.npz"
    npz.write(path, workloads.strokes(40, events=400, field=(12, 12)))
    return path


def shown(data, tmp_path, *options):
    """All that a terminal shows of a training, also what is then overwritten."""
    command = [sys.executable, "-m", "timesurf", "train", data, "--model", tmp_path / "m.tsf", *TRAIN, *options]
    environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": "200"}
    ended = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment, timeout=300)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_first_centroids_that_chose_the_network_are_not_shown_as_computed_again(data, tmp_path):
    said = shown(data, tmp_path)
    assert "Choosing settings from the data: first centroids by k-means" in said
    _, training = said.split("Choosing settings", 1)
    assert "first centroids of the last layer" in training
    assert training.count("first centroids by k-means") == training.count("from the data: first centroids by k-means")


def test_learning_again_from_fewer_events_has_a_bar_of_its_own(data, tmp_path):
    said = shown(data, tmp_path, "--preset", "camera", "--units", "8", "--keep", "0.3")
    assert "first centroids by k-means" in said
    bars = [line for line in said.split("\r") if "the last layer learns again" in line]
    assert "thresholds that keep the share" in bars[0]
    assert "event accuracy" in bars[-1]
