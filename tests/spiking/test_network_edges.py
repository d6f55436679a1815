"""Verbs of a spiking network where something turns: other fields, orders, falling rates, progress, sizes."""

from dataclasses import replace

import numpy as np
import pytest

from timesurf import Recordings, Rule, inference
from timesurf.engines import Outcome, Parameters
from timesurf.errors import EventError, SettingError
from timesurf.spiking import Neurons, SpikingNetwork, cpu, network
from timesurf.spiking.rule import default_rule

LAYERS = [Neurons((2,), units=2, tau=50, ready=0.1), Neurons(tau=50, ready=0)]


def recordings(n=6, field=(4,), polarities=1):
    rng = np.random.default_rng(0)
    x = [rng.integers(0, size, 10 * n) for size in field]
    t = np.sort(rng.integers(0, 500, (n, 10)), axis=1).ravel()
    labels = np.array(["a", "b"])[np.arange(n) % 2]
    return Recordings(x, t, None, np.arange(n + 1) * 10, field=field, polarities=polarities, labels=labels)


@pytest.fixture
def started():
    return SpikingNetwork(LAYERS, (4,), 1, ["a", "b"], seed=3).start(recordings())


@pytest.mark.parametrize("other", [{"field": (5,)}, {"polarities": 2}, {"field": (4, 1)}])
@pytest.mark.parametrize(
    "verb",
    [
        lambda one, r: one.start(r), lambda one, r: one.train(r), lambda one, r: one.adapt(r),
        lambda one, r: one.infer(r), lambda one, r: one.transform(r, 0), lambda one, r: one.evaluate(r),
    ],
    ids=["start", "train", "adapt", "infer", "transform", "evaluate"],
)  # fmt: skip
def test_recordings_of_another_field_are_refused_before_a_kernel_reads_them(started, verb, other):
    with pytest.raises(EventError):
        verb(started, recordings(**other))


@pytest.fixture
def learned(started, monkeypatch):
    """The orders and the first rate of every call of the kernel, which learns nothing."""
    found = []

    def run(stages, parameters, batch, rule, order=None):
        found.append((None if order is None else order.tolist(), rule.alpha))
        n = len(batch)
        return Outcome(np.full(n, 10), np.full((n, 2), 5), np.tile([[4, 1]], (n, 1)))

    monkeypatch.setattr(cpu, "run", run)
    monkeypatch.setattr(network, "_REPORTED", 4)
    return found


def test_a_pass_goes_through_all_recordings_in_another_order(started, learned):
    started.train(recordings())
    orders = [one + other for (one, _), (other, _) in zip(learned[::2], learned[1::2], strict=True)]
    assert len(orders) == 6
    assert [len(one) for one, _ in learned[:2]] == [4, 2]
    assert all(sorted(order) == list(range(6)) for order in orders)
    assert len(set(map(tuple, orders))) > 1
    expected = np.random.default_rng(3)
    assert orders == [expected.permutation(6).tolist() for _ in range(6)]
    assert {alpha for _, alpha in learned} == {default_rule(2).alpha}


def test_rates_fall_linearly_to_0_if_asked_to(started, learned):
    started.rule = Rule(alpha=1.0)
    started.train(recordings(), passes=2, decay=True)
    assert [alpha for _, alpha in learned] == pytest.approx([1, 1 - 4 / 12, 1 - 6 / 12, 1 - 10 / 12])


def test_progress_is_of_the_recordings_just_learned_from(started, learned):
    seen = []
    started.train(recordings(), passes=1, progress=seen.append)
    assert [(p.done, p.total, p.events) for p in seen] == [(4, 6, 40), (6, 6, 20)]
    labels = recordings().labels
    for p, (order, _) in zip(seen, learned, strict=True):
        assert p.event_accuracy == pytest.approx(np.where(labels[order] == "a", 0.8, 0.2).mean())
        assert p.kept == 0.5


def test_adapting_ignores_labels_and_takes_the_rule_of_the_network_or_another(started, learned):
    started.adapt(recordings())
    started.adapt(recordings(), rule=Rule(alpha=0.5))
    assert learned == [(None, default_rule(2).alpha), (None, 0.5)]
    with pytest.raises(SettingError, match="border"):
        started.adapt(recordings(), rule=Rule(last="delta"))


def test_the_reference_does_not_learn_by_itself(started):
    started.engine = "reference"
    with pytest.raises(SettingError, match="reference"):
        started.train(recordings())


@pytest.mark.parametrize("units", [(), (1, 1), (-1,)])
def test_new_units_are_a_number_for_each_hidden_layer(started, units):
    with pytest.raises(SettingError, match="for each of the hidden layers"):
        started.extend(recordings().with_labels(["c"] * 6), units=units, classes=["c"])
    started.extend(recordings().with_labels(["c"] * 6), units=(0,), classes=["c"])
    assert [len(one.thresholds) for one in started.parameters] == [2, 3]
    assert started.classes.tolist() == ["a", "b", "c"]
    assert [one.frozen.tolist() for one in started.parameters] == [[True] * 2, [True, True, False]]


def test_spikes_of_a_layer_are_recordings_of_its_places_and_neurons(started):
    first, last = started.transform(recordings(), 0), started.transform(recordings())
    assert (first.field, first.polarities, last.field, last.polarities) == ((2,), 2, (), 2)
    outcome = started.infer(recordings())
    assert first.counts.tolist() == outcome.kept[:, 0].tolist()
    assert last.counts.tolist() == outcome.votes.sum(axis=1).tolist()
    for one, votes in zip(last, outcome.votes, strict=True):
        assert np.bincount(one.p, minlength=2).tolist() == votes.tolist()
    assert first.labels.tolist() == recordings().labels.tolist()
    whole = cpu.emitted(started.stages[:1], Parameters(started.parameters[:1]), network.pack(recordings()))
    np.testing.assert_array_equal(first.entries(), whole.entry)


def test_unlabelled_recordings_cannot_be_evaluated(started):
    none = recordings().with_labels([None] * 6)
    with pytest.raises(EventError, match="no labels"):
        started.evaluate(none)
    some = recordings().with_labels(["a"] + [None] * 5)
    assert started.evaluate(some)["recordings"] == 6


def test_more_votes_than_there_may_be_are_refused_before_any_is_counted(monkeypatch):
    layers = [replace(LAYERS[0], units=3), *LAYERS[1:]]  # votes are of the last layer
    started = SpikingNetwork(layers, (4,), 1, ["a", "b"], seed=3).start(recordings())
    monkeypatch.setattr(inference, "_MOST_VOTES", 12)
    assert started.infer(recordings(6)).votes.shape == (6, 2)
    monkeypatch.setattr(inference, "_MOST_VOTES", 11)
    with pytest.raises(EventError, match="at most 5 recordings at a time"):
        started.infer(recordings(6))
