"""Tuning where a comparison turns: what is clearly more, which step is next, and when it ends."""

import math

import numpy as np
import pytest

from timesurf import DivergedError, EventError, Recordings, SettingError, tuning
from timesurf.learning.law import LAW, Knobs


def recordings(each=10):
    """So many recordings of two classes, one event each."""
    n = 2 * each
    return Recordings([[0] * n], t=range(n), offsets=range(n + 1), field=(1,), labels=["a", "b"] * each)


def likely(right, more):
    """Logarithms of probabilities, of which those with more than others are clearly likelier."""
    return more + 1e-6 * np.arange(len(right)) - 1.0


@pytest.mark.parametrize(("gained", "lost", "more"), [(1, 0, False), (2, 0, True), (3, 1, False), (4, 1, True)])
def test_clearly_more_are_right_by_more_than_a_standard_error(gained, lost, more):
    mine = np.array([True] * gained + [False] * lost + [True, False])
    other = np.array([False] * gained + [True] * lost + [True, False])
    assert (
        tuning.clearly_better(tuning.Judged(mine, likely(mine, 0.01)), tuning.Judged(other, likely(other, 0))) == more
    )
    assert not tuning.clearly_better(tuning.Judged(other, likely(other, 0.01)), tuning.Judged(mine, likely(mine, 0)))


def test_every_factor_has_steps_and_none_is_its_own_inverse_twice():
    names = [name for name, _ in tuning.STEPS]
    assert set(names) == set(Knobs.__dataclass_fields__)
    assert len(set(tuning.STEPS)) == len(tuning.STEPS)
    assert all(0.2 < by < 5 and not math.isclose(by, 1) for _, by in tuning.STEPS)
    both = {name: sorted(by for other, by in tuning.STEPS if other == name) for name in set(names)}
    assert {name: pytest.approx(math.prod(by), abs=0.01) for name, by in both.items() if len(by) == 2} == {
        name: 1 for name, by in both.items() if len(by) == 2
    }
    assert {name: by for name, by in both.items() if len(by) == 1} == {"passes": [2], "units_per_class": [2]}


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
    """A clock that says when each trial ends, and trials that take so long, of which none is right."""
    now = [100.0]
    monkeypatch.setattr(tuning.time, "perf_counter", lambda: now[0])

    def run(seconds, **limits):
        left = list(seconds)

        def right(learn, judge, label, *rest):
            now[0] += left.pop(0)
            assert (len(learn.t), len(judge.t), len(label)) == (14, 6, 6)
            return tuning.Judged(np.zeros(len(label), bool), np.zeros(len(label)))

        monkeypatch.setattr(tuning, "judged", right)
        return tuning.tune(recordings(), **limits)

    return run


@pytest.mark.parametrize(("second", "n"), [(20, 3), (20.5, 2)])
def test_a_trial_starts_if_it_ends_in_time_going_by_the_longest(trials, second, n):
    found = trials([20, second, 20, 1], minutes=1)  # after 40 s one of 20 s still fits, one of 20.5 s does not
    assert len(found.trials) == n
    assert [trial.seconds for trial in found.trials] == [20, second, 20][:n]
    assert [trial.number for trial in found.trials] == list(range(n))


def test_the_law_runs_whatever_the_time(trials):
    assert len(trials([1000, 1], minutes=0.001).trials) == 1
    assert len(trials([1, 1, 1], trials=2, minutes=60).trials) == 2
    assert trials([1], trials=1).held_out == 6


def test_what_was_found_is_ready_for_json(monkeypatch):
    right = {LAW: 3, Knobs(last_tau=0.25): 6}

    def judged(learn, judge, label, knobs, *rest):
        mine = np.arange(6) < right.get(knobs, 0)
        return tuning.Judged(mine, np.where(mine, -0.1, -2.0))

    monkeypatch.setattr(tuning, "judged", judged)
    seen = []
    found = tuning.tune(recordings(), trials=3, report=seen.append)
    assert seen == list(found.trials)
    about = found.to_dict()
    assert (about["knobs"], about["held_out"]) == ({"last_tau": 0.25}, 6)
    kept = [(trial["number"], trial["knobs"], trial["recording_accuracy"], trial["best"]) for trial in about["trials"]]
    assert kept == [(0, {}, 0.5, True), (1, {"last_tau": 0.25}, 1.0, True), (2, {"last_tau": 0.0625}, 0.0, False)]
    assert found.why == "tuning: last_tau x 0.25: 50.0% -> 100.0% (3 trials on 6 recordings held out)"


def test_limits_that_are_none(monkeypatch):
    for wrong in ({}, {"minutes": 0}, {"minutes": -1}, {"trials": 0}, {"minutes": float("nan")}, {"trials": -1}):
        with pytest.raises(SettingError, match="Tuning needs"):
            tuning.tune(recordings(), **wrong)
    with pytest.raises(EventError, match="two labelled"):
        tuning.tune(recordings(1), trials=1)


def test_a_network_that_diverges_is_right_nowhere(monkeypatch):
    def diverge(*_, **__):
        raise DivergedError("no")

    monkeypatch.setattr(tuning.Network, "fit", diverge)
    data = recordings()
    nothing = tuning.judged(data, data, np.zeros(20, np.int64), LAW, "cpu", 1, 0)
    assert not nothing.right.any()
    assert (nothing.likely == math.log(1e-6)).all()
