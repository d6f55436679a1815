"""`timesurf bench online`: every recording is predicted before it is learned from, over a stream that changes."""

import json
import sys
import types

import numpy as np
import pytest

from timesurf import plots
from timesurf.bench import online, workloads
from timesurf.io import npz


@pytest.fixture(scope="module")
def recordings():
    return workloads.strokes(40, events=120)


def test_phases_have_the_classes_and_the_drift_that_they_are_named_after(recordings):
    found, phase = online.stream(recordings, each=5)
    labels = np.asarray(found.labels)
    assert np.bincount(phase).tolist() == [5, 5, 5, 5]
    assert (labels[phase == 2] >= 5).all()
    assert (labels[phase != 2] < 5).all()
    known = {one.t.tobytes(): one for one in recordings}
    for one, n in zip(found, phase, strict=True):
        original = known[one.t.tobytes()]
        by = online.SHIFT if n == 1 else 0
        np.testing.assert_array_equal(one.coords[0], (original.coords[0] + by) % recordings.field[0])
        np.testing.assert_array_equal(one.coords[1], original.coords[1])


def test_a_recording_is_predicted_before_it_is_learned_from(recordings):
    learn = online.growing(seed=0)
    first = recordings[0]
    assert learn(first) is None  # nothing is known yet
    assert learn(recordings[1]) == first.labels[0]  # one class is known, and it is not this one
    assert learn(first) == first.labels[0]


def test_a_frozen_network_never_predicts_a_class_it_has_not_learned(recordings):
    learn = online.growing(seed=0, until=1)
    assert [learn(one) for one in recordings[:4]] == [None, 0, 0, 0]


def test_counts_are_shown_to_a_classifier_of_river_in_the_right_order(recordings):
    seen = []
    model = types.SimpleNamespace(
        predict_one=lambda counts: seen.append(("predict", counts)),
        learn_one=lambda *what: seen.append(("learn", *what)),
    )
    online.neighbours(model)(recordings[3])
    assert [step[0] for step in seen] == ["predict", "learn"]
    assert seen[1][2] == 3
    assert sum(value**2 for value in seen[0][1].values()) == pytest.approx(120)


def test_result_is_drawn_and_written(recordings, tmp_path):
    result = online.run(recordings, each=5)
    assert json.loads(json.dumps(result))["learners"].keys() >= {"timesurf, online"}
    for row in result["learners"].values():
        assert len(row["right"]) == len(result["phase"]) == 20
        assert row["recording_accuracy"] == pytest.approx(np.mean(row["right"]))
    assert result["learners"]["timesurf, frozen after the first phase"]["phases"][2] == 0
    plots.prequential(result).savefig(tmp_path / "online.png")


def test_what_is_not_installed_is_said(timesurf, recordings, monkeypatch, tmp_path):
    npz.write(tmp_path / "a.npz", recordings)
    monkeypatch.setitem(sys.modules, "river", None)
    code, said = timesurf("bench", "online", "--data", tmp_path / "a.npz", "--each", 4, "--json", tmp_path / "o.json")
    assert code == 0, said
    assert "river, k-NN on counts: not measured. pip install 'timesurf[bench]' adds it." in said
    result = json.loads((tmp_path / "o.json").read_text("utf-8"))
    assert result["left_out"] == ["river, k-NN on counts"]
    assert not set(result["left_out"]) & set(result["learners"])
