"""Schedules: rates that fall, recordings held out, when to stop."""

import numpy as np
import pytest

from timesurf import Rule, SettingError
from timesurf.datasets import sentences
from timesurf.engines import Parameters
from timesurf.learning.trainer import Schedule, check_sane, hold_out
from timesurf.presets import SENTENCES

DATA = sentences.make(10, seed=0, duration="1 ms")


def network(**options):
    return SENTENCES.network(DATA, sentences.TASK1, 0, **options)


def test_rates_fall_linearly_to_nothing():
    rule = Rule(alpha=1.0, beta=(2.0, 4.0), d=0.3)
    assert Schedule(0, 100, decay=True).rule(rule, 0) == rule
    half = Schedule(40, 100, decay=True).rule(rule, 10)
    assert half.alpha == 0.5
    assert half.beta == (1.0, 2.0)
    assert half.d == 0.3
    assert Schedule(40, 100).rule(rule, 10) is rule


@pytest.mark.parametrize("batch_size", [None, 3])
def test_decay_learns_less(batch_size):
    start = network().fit(DATA, passes=0).parameters[0].centroids
    moved = {}
    for decay in (False, True):
        after = network().fit(DATA, passes=1, batch_size=batch_size, decay=decay).parameters[0].centroids
        moved[decay] = np.abs(after - start).sum()
    assert 0 < moved[True] < moved[False]


def test_held_out_recordings_are_of_every_class_and_not_learnt():
    label = np.array([0] * 10 + [1] * 20 + [-1] * 5)
    learnt, tested = hold_out(label, 0.1, np.random.default_rng(0))
    assert sorted([*learnt, *tested]) == list(range(35))
    assert np.bincount(label[tested]).tolist() == [1, 2]
    for bad in (0, 1, -0.5):
        with pytest.raises(SettingError, match="validation"):
            hold_out(label, bad, np.random.default_rng(0))


def test_validation_keeps_the_best_pass():
    n = network().fit(DATA, passes=3, validation=0.2)
    accuracies = [line["validation_accuracy"] for line in n.history]
    assert len(accuracies) == 3
    assert all(line["recordings"] == 8 for line in n.history)
    kept = network().fit(DATA, passes=3, validation=0.2)
    assert kept.history == n.history  # the same seed holds out the same recordings


def test_patience_stops_early():
    still = Rule(alpha=0, beta=0, gamma=0, delta=0)  # learns nothing, so that a later pass is never better
    n = network()
    n.rule = still
    assert len(n.fit(DATA, passes=9, validation=0.2, patience=2).history) == 3
    with pytest.raises(SettingError, match="validation"):
        n.fit(DATA, patience=2)


def test_thresholds_are_pushed_back_only_while_more_is_kept():
    rule = Rule(competition=True)
    schedule = Schedule(0, 100, keep=0.7)
    assert schedule.rule(rule, 0, kept=0.71).competition
    assert not schedule.rule(rule, 0, kept=0.7).competition
    with pytest.raises(SettingError, match="keep"):
        Schedule(0, 100, keep=1.5)


def test_the_share_kept_is_followed_from_batch_to_batch():
    """An engine that keeps half of the events: after some batches the mean falls below 0.6, and the brake is on."""
    from types import SimpleNamespace

    from timesurf.engines import Learner, Options, Outcome, Parameters
    from timesurf.learning.trainer import one_pass

    seen = []

    def learn(stages, parameters, rule, batch, options):
        seen.append(rule.competition)
        events = np.diff(batch.offsets)
        return Outcome(events, (events // 2)[:, None], np.ones((len(events), 1), dtype=int))

    engine = SimpleNamespace(learn_batch=learn)
    parameters = Parameters.of([np.zeros((1, 1))], [np.ones(1)])
    label, schedule = np.zeros(len(DATA), dtype=int), Schedule(0, len(DATA), batch_size=1, keep=0.6)
    one_pass(engine, Learner((), parameters, DATA, label), Rule(), schedule, Options())
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
