"""Tuning: never worse than the law where they are compared, the same again by seed, and given back as a config."""

import json
import tomllib

import numpy as np
import pytest

from timesurf import EventError, Network, SettingError, tuning
from timesurf.cli.app import app
from timesurf.datasets import sentences
from timesurf.io import npz
from timesurf.learning.knobs import LAW, Knobs
from timesurf.learning.law import law
from timesurf.presets import for_data, from_dict
from timesurf.storage import toml


@pytest.fixture
def answers(monkeypatch):
    """Trials decide as scripted: (what is asked for, share of the recordings that is right)."""
    asked = []

    def scripted(script):
        def right(learn, judge, label, knobs, *rest):
            asked.append(knobs)
            share = script.get(tuple(knobs.changed.items()), 0.5)
            right = np.arange(len(label)) < round(share * len(label))
            return tuning.Judged(right, np.where(right, -0.1, -2.0))

        monkeypatch.setattr(tuning, "judged", right)
        monkeypatch.setattr(tuning, "alike", lambda fold, knobs, other, *rest: False)
        return asked

    return scripted


def test_the_law_comes_first_and_stays_where_nothing_is_better(answers):
    asked = answers({})
    found = tuning.tune(sentences.make(42), trials=5)
    assert asked[: tuning.FOLDS] == [LAW] * tuning.FOLDS
    assert (found.knobs, len(found.trials)) == (LAW, 5)
    assert [trial.best for trial in found.trials] == [True, False, False, False, False]
    assert found.why == "tuning: nothing was clearly better (50.0%; 5 trials, cross-validated on 42 recordings)"


def test_what_helps_is_kept_and_tried_again_in_the_same_direction(answers):
    (name, by), *_ = tuning.STEPS
    asked = answers({((name, by),): 0.9, ((name, by * by),): 0.4})
    found = tuning.tune(sentences.make(42), trials=4)
    assert found.knobs == Knobs(**{name: by})
    second, factor = tuning.STEPS[1]
    again, other = Knobs(**{name: by * by}), Knobs(**{name: by, second: factor})  # from the best, not from the last
    assert asked == [LAW] * 3 + [Knobs(**{name: by})] * 3 + [again, other]  # worse in its first fold: no other folds
    assert f"{name} x {by:g}: 50.0% -> 92.9% (4 trials" in found.why


def test_a_trial_that_is_worse_in_a_fold_is_compared_on_what_it_has_decided(answers):
    (name, by), *_ = tuning.STEPS
    answers({((name, by),): 0.2})
    law_, worse = tuning.tune(sentences.make(42), trials=2).trials
    assert (law_.recordings, worse.recordings) == (42, 14)
    assert worse.recording_accuracy == pytest.approx(3 / 14)
    assert worse.gain == pytest.approx(-4 / 14)


def test_where_the_law_makes_no_mistake_tuning_ends(answers):
    asked = answers({(): 1.0})
    found = tuning.tune(sentences.make(42), trials=5)
    assert asked == [LAW] * tuning.FOLDS
    assert found.why == "tuning: the settings make no mistake (100.0%; 1 trial, cross-validated on 42 recordings)"


@pytest.mark.parametrize(
    ("right", "likely", "better"),
    [
        ([1, 1, 1, 1], [-0.5, -0.4, -0.3, -2.0], True),  # more right, all of them likelier
        ([1, 1, 1, 0], [-0.5, -0.4, -0.3, -2.0], True),
        ([1, 1, 0, 0], [-0.5, -0.4, -0.3, -2.0], False),  # likelier, but no more right
        ([0, 1, 0, 0], [-0.5, -0.4, -0.3, -2.0], False),
        ([1, 1, 1, 1], [-0.5, -0.4, -0.3, -9.0], False),  # more right, and one of them far less likely
        ([1, 1, 1, 1], [-1.0, -1.0, -1.0, -2.9], False),  # no likelier
    ],
)
def test_better_is_more_right_and_likelier_by_two_standard_errors(right, likely, better):
    other = tuning.Judged(np.array([1, 1, 0, 0], bool), np.array([-1.0, -1.0, -1.0, -2.8]))
    assert tuning.clearly_better(tuning.Judged(np.array(right, bool), np.array(likely)), other) is better


def test_two_standard_errors_and_no_fewer():
    """Gains of 1 - x and 1 + x: their mean is 1, its standard error x."""
    other, right = tuning.Judged(np.zeros(2, bool), np.zeros(2)), np.ones(2, bool)
    for apart, better in ((0.49, True), (0.51, False)):
        assert tuning.clearly_better(tuning.Judged(right, np.array([1 - apart, 1 + apart])), other) is better
    assert not tuning.clearly_better(tuning.Judged(right[:1], np.ones(1)), tuning.Judged(right[:1] < 0, np.zeros(1)))


def test_trials_are_judged_by_the_probability_of_the_right_class():
    data = sentences.make(60, seed=0)
    learn, judge = data[:40], data[40:]
    label = (np.asarray(judge.labels) == learn.classes[1]).astype(int)
    found = tuning.judged(learn, judge, label, LAW, "cpu", None, 0)
    network = Network.for_data(learn, seed=0).fit(learn)
    assert (found.right == (network.predict(judge).classes == label)).all()
    network.calibrate_by([network.outcome(judge, evidence=True)], label)
    wanted = network.probabilities(network.infer(judge))[np.arange(20), label]
    np.testing.assert_allclose(found.likely, np.log(np.maximum(wanted, 1e-6)), rtol=1e-6)


def test_all_steps_end_it_without_a_limit_reached(answers):
    answers({})
    assert len(tuning.tune(sentences.make(40), minutes=60).trials) == 1 + len(tuning.STEPS)


def test_a_step_that_changes_nothing_is_no_trial(answers, monkeypatch):
    asked = answers({})
    changes_nothing = [Knobs(**{name: by}) for name, by in tuning.STEPS[:2]]
    monkeypatch.setattr(tuning, "alike", lambda fold, knobs, other, *rest: knobs in changes_nothing)
    found = tuning.tune(sentences.make(42), trials=2)
    (name, by) = tuning.STEPS[2]
    assert found.trials[1].knobs == asked[-1] == Knobs(**{name: by})


@pytest.mark.parametrize("limits", [{}, {"minutes": 0}, {"trials": 0}])
def test_tuning_needs_an_end(limits):
    with pytest.raises(SettingError, match="Tuning needs"):
        tuning.tune(sentences.make(4), **limits)


def test_tuning_needs_recordings_to_compare_on():
    with pytest.raises(EventError, match="two labelled recordings"):
        tuning.tune(sentences.make(2, seed=0), trials=1)


def test_a_knob_is_a_positive_factor():
    with pytest.raises(SettingError, match="tau = 0"):
        Knobs(tau=0)


@pytest.mark.parametrize(("name", "of"), [("tau", 0), ("last_tau", 1)])
def test_a_knob_turns_what_it_names(name, of):
    data = sentences.make(20, seed=0)
    one, other = law(data, seed=0), law(data, seed=0, knobs=Knobs(**{name: 2.0}))
    assert other.layers[of].tau == pytest.approx(2 * one.layers[of].tau)
    assert other.layers[1 - of].tau == pytest.approx(one.layers[1 - of].tau, rel=0.5)


def test_settings_come_back_from_their_toml():
    preset, _ = for_data(sentences.make(20, seed=0), seed=0)
    assert from_dict(tomllib.loads(toml.network(preset.to_dict()))["network"]) == preset


def test_train_tunes_and_takes_its_choice_back(tmp_path, capsys):
    data, model, run = tmp_path / "some.npz", tmp_path / "a.tsf", tmp_path / "a.tsf.run"
    npz.write(data, sentences.make(60, seed=0))
    quick = ["--passes", "2", "--seed", "1"]
    app(["train", str(data), "--model", str(model), "--tune-trials", "2", *quick], standalone_mode=False)
    said = capsys.readouterr().out
    assert "trial 0:" in said
    assert "the settings make no mistake" in said
    assert "[network]" in said
    about = json.loads((run / "run.json").read_text("utf-8"))
    assert len(about["tuning"]["trials"]) == 1
    again = tmp_path / "b.tsf"
    arguments = ["train", str(data), "--model", str(again), "--config", str(run / "settings.toml"), *quick]
    app(arguments, standalone_mode=False)
    other = json.loads((tmp_path / "b.tsf.run" / "run.json").read_text("utf-8"))
    assert other["settings"] == about["settings"]
    with pytest.raises(SettingError, match="--tune starts from"):
        app([*arguments, "--tune", "1"], standalone_mode=False)


def test_pieces_of_a_recording_are_tuned_as_one(tmp_path, monkeypatch):
    data, asked = tmp_path / "some.npz", []
    npz.write(data, sentences.make(12, seed=0))

    def tune(recordings, *, origin, **_):
        asked.append((len(recordings), origin))
        return tuning.Tuned(LAW, (tuning.Trial(0, LAW, 4, 1.0, 0.0, True, 1.0),))

    monkeypatch.setattr(tuning, "tune", tune)
    arguments = ["train", str(data), "--model", str(tmp_path / "a.tsf"), "--passes", "1", "--tune-trials", "1"]
    app([*arguments, "--every", "5ms"], standalone_mode=False)
    ((pieces, origin),) = asked
    assert len(origin) == pieces
    assert set(np.bincount(origin)) == {0, 2}  # none of those to choose the best pass by, or to report on
    app(["train", str(data), "--model", str(tmp_path / "b.tsf"), *arguments[4:]], standalone_mode=False)
    assert asked[1][1] is None


def test_a_run_that_is_resumed_is_not_tuned_again(tmp_path, monkeypatch):
    """Within minutes tuning may find something else the second time, and what was trained would be lost."""
    data, run, asked = tmp_path / "some.npz", tmp_path / "a.tsf.run", []
    npz.write(data, sentences.make(30, seed=0))

    def tune(recordings, **how):
        asked.append(how["minutes"])
        return tuning.Tuned(Knobs(tau=2), (tuning.Trial(0, LAW, 4, 0.5, 0.0, True, 1.0),))

    monkeypatch.setattr(tuning, "tune", tune)
    arguments = ["train", str(data), "--model", str(tmp_path / "a.tsf"), "--passes", "2", "--checkpoint-every", "1"]
    app([*arguments, "--tune", "3"], standalone_mode=False)
    first = (tmp_path / "a.tsf").read_bytes()
    app([*arguments, "--tune", "3", "--resume"], standalone_mode=False)
    assert asked == [3]
    assert (tmp_path / "a.tsf").read_bytes() == first
    assert json.loads((run / "run.json").read_text())["tuning"]["knobs"] == {"tau": 2}
    (run / "tuned.json").write_text('{"asked": [')
    app([*arguments, "--tune", "3", "--resume"], standalone_mode=False)
    app([*arguments, "--tune", "4", "--resume"], standalone_mode=False)  # something else is asked for
    app([*arguments, "--tune", "4"], standalone_mode=False)
    assert asked == [3, 3, 4, 4]
    app(arguments, standalone_mode=False)
    assert not (run / "tuned.json").exists()
