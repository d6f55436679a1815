"""`timesurf train`: three parts, recordings without labels, too few recordings."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

from timesurf import Network, Recordings, cli, presets
from timesurf.datasets import nmnist, sentences
from timesurf.io import npz

QUICK = ["--preset", "sentences", "--passes", "2", "--alpha", "3e-3", "--gamma", "3e-3"]
DATA = sentences.make(40, seed=0, duration="2 ms")


@pytest.fixture
def train(monkeypatch, capsys, tmp_path):
    """Train on these recordings: what was printed, the model, the folder of its run."""

    def run(recordings, *words, code=0):
        npz.write(tmp_path / "data.npz", recordings)
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["timesurf", "train", "data.npz", "--model", "m.tsf", *QUICK, *words])
        with pytest.raises(SystemExit) as end:
            cli.main()
        printed = capsys.readouterr()
        said = " ".join((printed.out + printed.err).split())
        assert int(end.value.code or 0) == code, said
        return said, tmp_path / "m.tsf", tmp_path / "m.tsf.run"

    return run


def test_recordings_are_split_three_ways_and_the_run_keeps_which_are_which(train):
    said, model, run = train(DATA, "--validation", "0.2", "--held-out", "0.3", "--seed", "3")
    numbers = json.loads((run / "split.json").read_text("utf-8"))
    assert {name: len(part) for name, part in numbers.items()} == {"learn": 20, "validation": 8, "held_out": 12}
    assert sorted(n for part in numbers.values() for n in part) == list(range(40))
    about = json.loads((run / "run.json").read_text("utf-8"))
    assert about["split"] == {"learn": 20, "validation": 8, "held_out": 12}
    held = npz.read(run / "held_out.npz")
    assert held.fingerprint() == DATA[np.array(numbers["held_out"])].fingerprint()
    network = Network.load(model)
    assert about["evaluation"]["recording_accuracy"] == network.evaluate(held)["recording_accuracy"]
    chosen = network.evaluate(DATA[np.array(numbers["validation"])])["recording_accuracy"]
    assert chosen == max(line["validation_accuracy"] for line in about["history"])
    assert all(line["recordings"] == 20 for line in about["history"])
    assert "learns from 20 recordings, chooses the best pass by 8, reports on 12" in said


def test_pieces_are_counted_and_what_is_left_out_of_recordings(train, timesurf):
    last = max(int(of.t[-1]) for of in DATA) + 1
    assert last > 1500  # us
    said, *_ = train(DATA, "--every", "1.5ms")
    left = np.array([int(of.t[-1]) + 1 - 1500 for of in DATA])
    assert (left > 0).all()
    rests = f"40 rests of up to {left.max():g} us left out"
    assert f"40 pieces of 1.5 ms of 40 recordings; {rests}." in said
    assert "Training learns from 32 pieces" in said  # also where each recording makes one
    assert "of 40 recordings; pieces of one stay together." in said
    assert "On 4 pieces held out" in said
    code, said = timesurf("evaluate", "m.tsf", "data.npz", "--every", "1.5ms")
    assert (code, said.count(rests)) == (0, 1)
    code, said = timesurf("evaluate", "m.tsf", "data.npz", "--every", "100000")
    assert "40 pieces of 100,000 events of 40 recordings." in said
    code, said = timesurf("predict", "m.tsf", "data.npz", "--every", "1.5ms")
    assert (code, "left out" in said, "80 decisions" in said) == (0, False, True)


def test_recordings_held_out_have_no_part_in_training(train):
    """Whatever they contain, the model is the same."""
    _, model, run = train(DATA, "--held-out", "0.3")
    before, out = Network.load(model), json.loads((run / "split.json").read_text("utf-8"))["held_out"]
    number = np.arange(40)
    a, b = (np.array([n for n in out if DATA.labels[n] == name]) for name in DATA.classes)
    number[a], number[b] = np.roll(a, 1), np.roll(b, 1)
    _, model, _ = train(DATA[number], "--held-out", "0.3")
    assert Network.load(model).parameters.same(before.parameters)


def test_unlabelled_recordings_are_no_class_and_are_learned_from(train):
    number = np.unique(DATA.labels, return_inverse=True)[1]
    number[:10] = -1
    said, model, run = train(DATA.with_labels(number))
    assert Network.load(model).classes.tolist() == [0, 1]
    numbers = json.loads((run / "split.json").read_text("utf-8"))
    assert set(range(10)) <= set(numbers["learn"])
    assert "(10 without a label)" in said
    mixed = Network.load(model).parameters
    train(DATA[10:].with_labels(number[10:]))
    assert not Network.load(model).parameters.same(mixed)


def test_recordings_without_any_label_are_refused(train):
    said, model, _ = train(DATA.with_labels(np.full(40, -1)), code=2)
    assert "has no labels" in said
    assert not model.exists()


def test_too_few_recordings_train_without_validation_and_say_so(train):
    two = DATA[[0, int(np.argmax(DATA.labels != DATA.labels[0]))]]
    said, model, run = train(two)
    assert said.count("Too few recordings per class to split") == 1
    assert len(Network.load(model).history) == 2
    assert not (run / "held_out.npz").exists()
    assert json.loads((run / "run.json").read_text("utf-8"))["evaluation"] == {}


def test_a_run_that_is_resumed_ends_with_the_same_model(train):
    _, model, _ = train(DATA, "--checkpoint-every", "8")
    first = model.read_bytes()
    _, model, _ = train(DATA, "--checkpoint-every", "8", "--resume")
    assert model.read_bytes() == first


def test_so_many_recordings_are_drawn_and_the_preset_for_digits_crops_them(train, monkeypatch):
    full = presets.digits

    def small(recordings):
        preset = full(recordings)
        window, last = preset.layers
        return replace(preset, layers=(replace(window, units=8), last), passes=1, bent=1, sample=20)

    monkeypatch.setattr(presets, "digits", small)
    rng, n = np.random.default_rng(0), 30 * 50
    x, y, p = rng.integers(0, 34, n), rng.integers(0, 34, n), rng.integers(0, 2, n)
    t = np.tile(np.arange(50) * 1000, 30)
    whole = Recordings([x, y], t, p, np.arange(31) * 50, field=(34, 34), polarities=2, labels=np.arange(30) % 3)
    monkeypatch.setattr("tests.learning.test_commands.QUICK", ["--preset", "digits", "--alpha", "1e-6"])
    said, model, _ = train(whole, "--recordings", "20", "--validation", "0", "--held-out", "0")
    assert "learns from 20 recordings" in said
    network = Network.load(model)
    assert network.preparation.crop == nmnist.CROPPED.crop
    assert (network.field, network.polarities) == ((28, 28), 2)
