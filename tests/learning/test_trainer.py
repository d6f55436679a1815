"""The loop over passes: rates that fall, validation, when to stop, what each pass leaves."""

import numpy as np
import pytest

from timesurf import EventError, Rule, SettingError
from timesurf.datasets import sentences
from timesurf.engines import Learner, Options, Outcome, Parameters
from timesurf.learning.divergence import check_sane
from timesurf.learning.schedule import Schedule
from timesurf.learning.trainer import Turn, one_pass, passes, shuffler
from timesurf.presets import SENTENCES

DATA = sentences.make(10, seed=0, duration="1 ms")


def network(**options):
    return SENTENCES.network(DATA, sentences.TASK1, 0, **options)


def test_rates_fall_linearly_to_nothing():
    rule = Rule(alpha=1.0, beta=(2.0, 4.0), d=0.3)
    assert Schedule(decay=True).rule(rule, 0, 100) == rule
    half = Schedule(decay=True).rule(rule, 50, 100)
    assert half.alpha == 0.5
    assert half.beta == (1.0, 2.0)
    assert half.d == 0.3
    assert Schedule().rule(rule, 50, 100) is rule


def test_the_loop_yields_after_each_pass():
    one = network().start(DATA)
    loop = passes(one, DATA, Schedule(3), shuffler(one))
    first = next(loop)
    assert (first.number, len(one.history)) == (1, 1)
    assert first.figures is one.history[0]
    assert set(first.figures) == {"recordings", "event_accuracy", "kept"}
    assert first.parameters.same(one.parameters)
    assert [done.number for done in loop] == [2, 3]
    whole = network().fit(DATA, passes=3)
    assert whole.parameters.same(one.parameters)
    assert whole.history == one.history


def test_a_loop_that_is_left_has_learned_so_far():
    one = network().start(DATA)
    for done in passes(one, DATA, Schedule(9), shuffler(one)):
        if done.number == 2:
            break
    assert len(one.history) == 2


@pytest.mark.parametrize("batch_size", [None, 3])
def test_decay_learns_less(batch_size):
    start = network().fit(DATA, passes=0).parameters[0].centroids
    moved = {}
    for decay in (False, True):
        after = network().fit(DATA, passes=1, batch_size=batch_size, decay=decay).parameters[0].centroids
        moved[decay] = np.abs(after - start).sum()
    assert 0 < moved[True] < moved[False]


def test_validation_keeps_the_best_pass():
    n = network().fit(DATA, passes=3, validation=0.2)
    accuracies = [line["validation_accuracy"] for line in n.history]
    assert len(accuracies) == 3
    assert all(line["recordings"] == 8 for line in n.history)
    kept = network().fit(DATA, passes=3, validation=0.2)
    assert kept.history == n.history  # the same seed holds out the same recordings


def test_recordings_to_choose_by_can_be_given():
    others = sentences.make(6, seed=1, duration="1 ms")
    n = network().fit(DATA, passes=3, validation=others)
    assert all(line["recordings"] == len(DATA) for line in n.history)
    best = max(line["validation_accuracy"] for line in n.history)
    assert n.evaluate(others)["recording_accuracy"] == best
    plain = network().fit(DATA, passes=3)  # choosing changes nothing in what is learned
    assert [line["event_accuracy"] for line in plain.history] == [line["event_accuracy"] for line in n.history]


def test_recordings_too_few_to_hold_any_out_train_without_validation():
    two = DATA[[0, int(np.argmax(DATA.labels != DATA.labels[0]))]]
    with pytest.warns(UserWarning, match="Too few recordings"):
        n = network().fit(two, passes=2, validation=0.1, patience=1)
    assert len(n.history) == 2
    assert "validation_accuracy" not in n.history[0]


def test_unlabelled_recordings_take_no_part_in_validation():
    labels = np.where(np.arange(len(DATA)) < 3, "", DATA.labels)
    n = network().fit(DATA.with_labels(labels), passes=1, validation=0.2)
    assert n.history[0]["recordings"] >= 3
    unlabelled = DATA.with_labels([""] * len(DATA))
    n = network().fit(DATA, passes=1, validation=DATA.with_labels(labels))
    assert n.history[0]["validation_accuracy"] == n.evaluate(DATA[3:])["recording_accuracy"]
    with pytest.raises(EventError, match="no labels"):
        network().fit(DATA, passes=1, validation=unlabelled)


def test_unknown_settings_are_refused():
    with pytest.raises(TypeError, match="pases"):
        network().fit(DATA, pases=1)
    with pytest.raises(TypeError, match="pases"):
        network().start(DATA).train(DATA, pases=1)


def test_patience_stops_early():
    still = Rule(alpha=0, beta=0, gamma=0, delta=0)  # learns nothing, so that a later pass is never better
    n = network()
    n.rule = still
    assert len(n.fit(DATA, passes=9, validation=0.2, patience=2).history) == 3
    with pytest.raises(SettingError, match="validation"):
        n.fit(DATA, patience=2)


def test_thresholds_are_pushed_back_only_while_more_is_kept():
    rule = Rule(competition=True)
    schedule = Schedule(keep=0.7)
    assert schedule.rule(rule, 0, 100, kept=0.71).competition
    assert not schedule.rule(rule, 0, 100, kept=0.7).competition
    with pytest.raises(SettingError, match="keep"):
        Schedule(keep=1.5)


def test_the_share_kept_is_followed_from_batch_to_batch():
    """An engine that keeps half of the events: after some batches the mean falls below 0.6, and the brake is on."""
    from types import SimpleNamespace

    seen = []

    def learn(stages, parameters, rule, batch, options):
        seen.append(rule.competition)
        events = np.diff(batch.offsets)
        return Outcome(events, (events // 2)[:, None], np.ones((len(events), 1), dtype=int))

    engine = SimpleNamespace(learn_batch=learn)
    parameters = Parameters.of([np.zeros((1, 1))], [np.ones(1)])
    label, schedule = np.zeros(len(DATA), dtype=int), Schedule(1, batch_size=1, keep=0.6)
    one_pass(engine, Turn(1, Learner((), parameters, DATA, label), len(DATA)), Rule(), schedule, Options())
    assert seen[0]
    assert not seen[-1]
    assert seen == sorted(seen, reverse=True)


def test_a_layer_that_falls_silent_is_named_with_a_cause():
    parameters = Parameters.of([np.zeros((2, 3)), np.zeros((2, 3))], [np.array([0.0, 0.5]), np.full(2, np.inf)])
    check_sane(parameters)
    parameters[0].thresholds[:] = 0
    with pytest.raises(SettingError, match=r"Layer 1 has fallen silent.*keep"):
        check_sane(parameters)
    parameters[1].centroids[1, 2] = np.nan
    parameters[0].thresholds[:] = 1
    with pytest.raises(SettingError, match="diverged in layer 2, unit 1"):
        check_sane(parameters)
