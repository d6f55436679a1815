"""Tuning where a comparison turns: what is clearly more, which step is next, and when it ends."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.learning.test_law import flashes
from timesurf import DivergedError, EventError, Recordings, SettingError, tuning
from timesurf.learning import law as law_module
from timesurf.learning.knobs import LAW, Knobs

real = law_module._pooled


def recordings(each=10):
    """So many recordings of two classes, one event each."""
    n = 2 * each
    return Recordings([[0] * n], t=range(n), offsets=range(n + 1), field=(1,), labels=["a", "b"] * each)


def likely(right, more):
    """Logarithms of probabilities, of which those with more than others are clearly likelier."""
    return more + 1e-6 * np.arange(len(right)) - 1.0


@pytest.mark.parametrize(("gained", "lost", "more"), [(1, 0, True), (1, 1, False), (2, 1, True), (0, 1, False)])
def test_more_are_right_and_not_as_many(gained, lost, more):
    mine = np.array([True] * gained + [False] * lost + [True, False])
    other = np.array([False] * gained + [True] * lost + [True, False])
    assert (
        tuning.clearly_better(tuning.Judged(mine, likely(mine, 0.01)), tuning.Judged(other, likely(other, 0))) == more
    )


def test_folds_have_every_class_to_learn_from_and_decide_all_that_can_be():
    labels = ["a"] * 7 + ["b"] * 2 + ["c", None]
    data = Recordings([[0] * 11], t=range(11), offsets=range(12), field=(1,), labels=labels)
    folds = tuning.divided(data, np.random.default_rng(0))
    assert len(folds) == tuning.FOLDS
    assert sorted(int(r.t[0]) for fold in folds for r in fold.judge) == list(range(9))
    for fold in folds:
        assert list(fold.learn.classes) == ["a", "b", "c"]
        assert len(fold.learn) + len(fold.judge) == 11
        assert [fold.learn.classes[c] for c in fold.label] == list(fold.judge.labels)
        assert not fold.looked


def test_a_fold_is_looked_at_once_for_all_steps_that_leave_its_structure(monkeypatch):
    seen = []
    monkeypatch.setattr(law_module, "_pooled", lambda *args: seen.append(args[-1]) or real(*args))
    data = flashes((12, 12))
    looked = {}
    law = law_module.law(data, looked=looked)
    for name in ("alpha", "passes", "temperature", "units_per_class", "copies"):
        knobs = Knobs(**{name: 2})
        other = law_module.law(data, knobs=knobs, looked=looked)
        assert other == law_module.law(data, knobs=knobs)
        assert other != law
        seen.pop()  # of the law without a memory
    assert seen == [LAW]
    law_module.law(data, knobs=Knobs(tau=2), looked=looked)
    assert seen == [LAW, Knobs(tau=2)]


def test_what_leads_to_the_same_network_is_alike():
    fold, options = tuning.Fold(flashes((12, 12)), flashes((12, 12)), np.zeros(24), {}), ("cpu", 1, 0)
    assert tuning.alike(fold, Knobs(copies=4), Knobs(copies=16), *options)  # there are four at most
    assert not tuning.alike(fold, Knobs(copies=4), LAW, *options)
    assert not tuning.alike(fold, Knobs(alpha=2), LAW, *options)
    assert not tuning.alike(fold, Knobs(temperature=2), LAW, *options)
    line = tuning.Fold(flashes((12,)), flashes((12,)), np.zeros(24), {})
    assert tuning.alike(line, Knobs(copies=4), LAW, *options)  # a line cannot be bent


def test_pieces_of_one_recording_stay_in_one_fold():
    data, origin = recordings(12), np.array([7, 7, 3, 3, 5, 5, 9, 9] * 3)
    data = data.with_labels(["ab"[o in (3, 9)] for o in origin])
    folds = tuning.divided(data, np.random.default_rng(0), origin)
    assert sum(len(fold.judge) for fold in folds) == 24
    for fold in folds:
        assert not set(origin[fold.judge.t.astype(int)]) & set(origin[fold.learn.t.astype(int)])
        assert len(fold.learn.classes) == 2


def test_pieces_of_one_recording_may_have_several_labels_or_none():
    data, origin = recordings(6), np.arange(12) // 4
    data = data.with_labels(["a", "b", None, "a", "b", "a", "a", "", "c", "a", "b", "a"])
    folds = tuning.divided(data, np.random.default_rng(0), origin.tolist())
    decided = sorted(int(r.t[0]) for fold in folds for r in fold.judge)
    assert decided == [0, 1, 3, 4, 5, 6, 9, 10, 11]  # c cannot be learned beside its only recording
    for fold in folds:
        assert [fold.learn.classes[c] for c in fold.label] == list(fold.judge.labels)
        assert not set(origin[fold.judge.t.astype(int)]) & set(origin[fold.learn.t.astype(int)])
    assert tuning.tune(data, trials=1, origin=origin).trials[0].recordings == 9


def test_a_class_that_one_recording_has_beside_another_class_is_compared():
    data = recordings(2).with_labels(["a", "b", "b", "c"])
    folds = tuning.divided(data, np.random.default_rng(0), [0, 0, 1, 1])
    assert sorted(int(r.t[0]) for fold in folds for r in fold.judge) == [1, 2]


def test_recordings_without_events_are_learned_from_in_every_fold():
    """All events in the fold that decides would leave nothing to choose settings from."""
    offsets = [0, 1, 2, *[2] * 20, 3]
    data = Recordings([[0] * 3], t=range(3), offsets=offsets, field=(1,), labels=[*"ab" * 11, "a"])
    folds = tuning.divided(data, np.random.default_rng(0))
    assert sorted(int(r.t[0]) for fold in folds for r in fold.judge) == [0, 2]
    assert [len(fold.learn) for fold in folds] == [22, 22]
    with pytest.raises(EventError, match="two labelled recordings with events:"):
        tuning.tune(data[:22], trials=1)


def test_silent_recordings_count_as_wrong(monkeypatch):
    data = Recordings([[0] * 2], t=range(2), offsets=[0, 1, 1, 2], field=(1,), labels=["a", "a", "b"])
    found = tuning.judged(data, data, np.array([0, 0, 1]), LAW, "cpu", 1, 0)
    assert not found.right[1]
    assert found.likely[1] == pytest.approx(math.log(0.5))


@pytest.mark.parametrize(("passes", "same"), [(0, True), (1, False)])
def test_rates_make_no_difference_without_passes(monkeypatch, passes, same):
    found = law_module.law(flashes((12, 12)))

    def law(*_, knobs, **__):
        rule = replace(found.rule, alpha=(0.0, knobs.alpha))
        return replace(found, rule=rule, fitting=found.fitting | {"passes": passes})

    monkeypatch.setattr(tuning, "law", law)
    assert tuning.alike(tuning.Fold(None, None, None, {}), Knobs(alpha=2), LAW, "cpu", 1, 0) is same


def test_every_factor_has_steps_and_none_is_its_own_inverse_twice():
    names = [name for name, _ in tuning.STEPS]
    assert set(names) == set(Knobs.__dataclass_fields__)
    assert len(set(tuning.STEPS)) == len(tuning.STEPS)
    assert all(0.2 < by < 5 and not math.isclose(by, 1) for _, by in tuning.STEPS)
    both = {name: sorted(by for other, by in tuning.STEPS if other == name) for name in set(names)}
    assert {name: pytest.approx(math.prod(by), abs=0.01) for name, by in both.items() if len(by) == 2} == {
        name: 1 for name, by in both.items() if len(by) == 2
    }
    assert {name: by for name, by in both.items() if len(by) == 1} == {
        "passes": [2],
        "units_per_class": [2],
        "copies": [4],
    }


def test_steps_follow_one_another_and_one_that_helped_comes_again(monkeypatch):
    monkeypatch.setattr(tuning, "STEPS", (("tau", 2), ("alpha", 0.5)))
    steps = tuning._Steps()
    steps.ended(True)  # the law itself is no step
    assert steps.next(LAW) == Knobs(tau=2)
    steps.ended(True)
    assert steps.next(Knobs(tau=2)) == Knobs(tau=4)
    steps.ended(False)
    assert steps.next(Knobs(tau=2)) == Knobs(tau=2, alpha=0.5)
    steps.ended(False)
    assert steps.next(LAW) is None


def test_the_first_step_needs_no_trial_before_it(monkeypatch):
    monkeypatch.setattr(tuning, "STEPS", (("tau", 2),))
    assert tuning._Steps().next(LAW) == Knobs(tau=2)


@pytest.fixture
def trials(monkeypatch):
    """A clock that says when each training ends, and trainings that take so long, of which none is right."""
    now = [100.0]
    monkeypatch.setattr(tuning.time, "perf_counter", lambda: now[0])

    def run(seconds, **limits):
        left, likely = list(seconds), iter(range(100))

        def right(learn, judge, label, *rest):
            now[0] += left.pop(0)
            assert len(learn.t) + len(judge.t) == 18
            return tuning.Judged(np.zeros(len(label), bool), np.full(len(label), float(next(likely))))

        monkeypatch.setattr(tuning, "judged", right)
        monkeypatch.setattr(tuning, "alike", lambda *_: False)
        return tuning.tune(recordings(9), **limits)

    return run


@pytest.mark.parametrize(("second", "n"), [(5, 3), (5.5, 2)])
def test_a_trial_starts_if_a_fold_of_it_ends_in_time_going_by_the_longest(trials, second, n):
    found = trials([10, 10, 10, second, second, 10, 10, 10], minutes=1)  # after 50 s one of 10 s still fits
    assert len(found.trials) == n
    assert [trial.seconds for trial in found.trials] == [30, 2 * second + 10, 10][:n]
    assert [trial.recordings for trial in found.trials] == [18, 18, 6][:n]
    assert [trial.number for trial in found.trials] == list(range(n))


@pytest.mark.parametrize(("first", "recordings"), [(10, 18), (10.5, 6)])
def test_folds_are_one_where_three_of_the_law_would_take_half_of_the_time(trials, first, recordings):
    assert trials([first, 1, 1, 99], minutes=1).trials[0].recordings == recordings


def test_the_law_runs_whatever_the_time(trials):
    assert len(trials([1000, 1], minutes=0.001).trials) == 1
    assert len(trials([1] * 6, trials=2, minutes=60).trials) == 2
    assert trials([1] * 3, trials=1).trials[0].recordings == 18


def test_what_was_found_is_ready_for_json(monkeypatch):
    right = {LAW: 1, Knobs(copies=4): 2}

    def judged(learn, judge, label, knobs, *rest):
        mine = np.arange(2) < right.get(knobs, 0)
        return tuning.Judged(mine, np.where(mine, -0.1, -2.0) + 1e-3 * np.arange(2))

    monkeypatch.setattr(tuning, "judged", judged)
    monkeypatch.setattr(tuning, "alike", lambda *_: False)
    seen = []
    found = tuning.tune(recordings(3), trials=3, report=seen.append)
    assert seen == list(found.trials)
    about = found.to_dict()
    assert about["knobs"] == {"copies": 4}
    names = ("number", "knobs", "recordings", "recording_accuracy", "gain", "best")
    kept = [[trial[name] for name in names] for trial in about["trials"]]
    assert kept == [[0, {}, 6, 0.5, 0.0, True], [1, {"copies": 4}, 6, 1.0, 0.5, True]]
    assert found.why == "tuning: copies x 4: 50.0% -> 100.0% (2 trials, cross-validated on 6 recordings)"


def test_limits_that_are_none(monkeypatch):
    for wrong in ({}, {"minutes": 0}, {"minutes": -1}, {"trials": 0}, {"minutes": float("nan")}, {"trials": -1}):
        with pytest.raises(SettingError, match="Tuning needs"):
            tuning.tune(recordings(), **wrong)
    with pytest.raises(EventError, match="two labelled"):
        tuning.tune(recordings(1), trials=1)
    with pytest.raises(EventError, match="pieces of one count as one"):
        tuning.tune(recordings(), trials=1, origin=[0, 1] * 10)
    with pytest.raises(SettingError, match=r"20 recordings, but origin has shape \(3,\)"):
        tuning.tune(recordings(), trials=1, origin=range(3))


def test_a_network_that_diverges_is_right_nowhere(monkeypatch):
    def diverge(*_, **__):
        raise DivergedError("no")

    monkeypatch.setattr(tuning.Network, "fit", diverge)
    data = recordings()
    nothing = tuning.judged(data, data, np.zeros(20, np.int64), LAW, "cpu", 1, 0)
    assert not nothing.right.any()
    assert (nothing.likely == math.log(1e-6)).all()
