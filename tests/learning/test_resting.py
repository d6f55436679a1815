"""Resting layers run once: what is learned above them is the same to the bit as when they run in every pass."""

import numpy as np
import pytest

from timesurf import DivergedError, Full, Network, Recordings, Rule, Window
from timesurf.learning import resting, trainer
from timesurf.learning.schedule import Schedule

RATES = {"alpha": (0.0, 1e-3), "beta": (0.0, 1e-4), "gamma": (0.0, 1e-3), "delta": 0.0}


@pytest.fixture(scope="module")
def recordings():
    rng, n = np.random.default_rng(0), 12 * 200
    t = np.sort(rng.integers(0, 2000, (12, 200)), axis=1).ravel()
    x, y, p = rng.integers(0, 6, n), rng.integers(0, 5, n), rng.integers(0, 2, n)
    return Recordings([x, y], t, p, np.arange(0, n + 1, 200), field=(6, 5), polarities=2, labels=np.arange(12) % 3)


def network(recordings, rule, **fitting):
    layers = [Window(3, units=4, tau=50, stride=2), Full(tau=100)]
    return Network(layers, recordings.field, 2, recordings.classes, rule=rule).start(recordings, **fitting)


def trained(recordings, monkeypatch, rule, *, every_pass, margin=np.inf, **training):
    net = network(recordings, rule, start="kmeans", margin=margin)
    runs = []
    if every_pass:
        monkeypatch.setattr(
            trainer, "learns_from", lambda trainee, recordings, schedule: resting.Seen(trainee, recordings)
        )
    else:
        emitted = resting.inference.emitted
        monkeypatch.setattr(resting.inference, "emitted", lambda *args: runs.append(1) or emitted(*args))
    net.train(recordings, passes=3, batch_size=5, decay=True, **training)
    return net, len(runs)


@pytest.mark.parametrize("last", ["sup3r", "delta"])
def test_the_same_bits_as_in_every_pass(recordings, monkeypatch, last):
    rule = Rule(**RATES, last=last)
    with monkeypatch.context() as patched:
        expected, _ = trained(recordings, patched, rule, every_pass=True)
    found, runs = trained(recordings, monkeypatch, rule, every_pass=False)
    assert runs == 1
    assert found.parameters.same(expected.parameters)
    assert found.history == expected.history


def test_layers_that_learn_run_in_every_pass(recordings, monkeypatch):
    assert trained(recordings, monkeypatch, Rule(), every_pass=False)[1] == 0


def test_layers_that_reject_run_once_and_what_they_reject_is_counted(recordings, monkeypatch):
    rule, margin = Rule(**(RATES | {"gamma": 0.0})), 0.6
    with monkeypatch.context() as patched:
        expected, _ = trained(recordings, patched, rule, every_pass=True, margin=margin)
    found, runs = trained(recordings, monkeypatch, rule, every_pass=False, margin=margin)
    assert runs == 1
    assert 0 < expected.history[-1]["kept"] < 1
    assert found.history == expected.history
    assert found.parameters.same(expected.parameters)


def test_frozen_units_rest(recordings):
    net = network(recordings, Rule(), start="kmeans", margin=np.inf)
    assert resting.resting(net.stages, net.parameters, net.rule) == 0
    net.freeze(0, slice(1, None))
    assert resting.resting(net.stages, net.parameters, net.rule) == 0
    net.freeze(0)
    assert resting.resting(net.stages, net.parameters, net.rule) == 1
    net.freeze()
    assert resting.resting(net.stages, net.parameters, net.rule) == 1, "the last layer is never below"


def test_what_does_not_fit_runs_in_every_pass(recordings, monkeypatch):
    monkeypatch.setattr(resting, "_memory", lambda: 12.0 * recordings.counts.sum() / resting._SHARE - 1)
    assert trained(recordings, monkeypatch, Rule(**RATES), every_pass=False)[1] == 0


def test_going_back_keeps_the_resting_layer(recordings):
    net = network(recordings, Rule(**RATES | {"alpha": (0.0, 20.0)}), start="kmeans", margin=np.inf)
    hidden = net.parameters[0].centroids.copy()
    net.train(recordings, passes=2, batch_size=5, if_diverged="back")
    assert net.history[-1]["pace"] < 1
    np.testing.assert_array_equal(net.parameters[0].centroids, hidden)


def test_what_diverges_is_named_as_the_network_counts(recordings):
    net = network(recordings, Rule(**RATES | {"alpha": (0.0, 1e3)}), start="kmeans", margin=np.inf)
    with pytest.raises(DivergedError, match="layer 2, unit"):
        net.train(recordings, passes=2, batch_size=5)


@pytest.mark.parametrize(("passes", "batch_size", "runs"), [(1, 5, 0), (2, 5, 1), (2, None, 0)])
def test_only_the_batch_rule_over_several_passes_runs_resting_layers_once(
    recordings, monkeypatch, passes, batch_size, runs
):
    net, found = network(recordings, Rule(**RATES), start="kmeans", margin=np.inf), []
    emitted = resting.inference.emitted
    monkeypatch.setattr(resting.inference, "emitted", lambda *args: found.append(1) or emitted(*args))
    resting.learns_from(net, recordings, Schedule(passes=passes, batch_size=batch_size))
    assert len(found) == runs


@pytest.mark.parametrize(("less", "runs"), [(0, 1), (0.5, 0)])
def test_what_layers_emit_takes_12_bytes_per_event_of_a_quarter_of_the_memory(recordings, monkeypatch, less, runs):
    monkeypatch.setattr(resting, "_memory", lambda: 4.0 * 12 * recordings.counts.sum() - less)
    net = network(recordings, Rule(**RATES), start="kmeans", margin=np.inf)
    upper, seen, *_ = resting.learns_from(net, recordings, Schedule(passes=2, batch_size=5))
    assert (upper is not net) == bool(runs)
    assert seen.polarities == (4 if runs else 2)


@pytest.mark.parametrize("rate", ["alpha", "beta", "gamma", "delta"])
def test_any_rate_but_d_moves_a_layer(recordings, rate):
    rule = Rule(**RATES | {rate: (1e-5, 1e-5)})
    net = network(recordings, rule, start="kmeans", margin=np.inf)
    assert resting.resting(net.stages, net.parameters, rule) == 0


def test_memory_is_pages_times_their_size_or_8_gib(monkeypatch):
    monkeypatch.setattr(resting.os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 10}.__getitem__)
    assert resting._memory() == 40960

    def unknown(name):
        raise ValueError(name)

    monkeypatch.setattr(resting.os, "sysconf", unknown)
    assert resting._memory() == 2**33


def test_the_upper_layers_are_those_of_the_network(recordings):
    net = network(recordings, Rule(**RATES), start="kmeans", margin=np.inf)
    upper = resting.Upper(net, 1)
    assert (upper.classes is net.classes, upper.stages, upper.seed) == (True, net.stages[1:], net.seed)
    assert (upper.history is net.history, upper.engine, upper.options) == (True, net.engine, net.options)
    assert upper.class_numbers(recordings).tolist() == [0, 1, 2] * 4
    before = net.parameters[0].centroids
    upper.parameters = upper.parameters.copy()
    assert len(net.parameters) == 2
    np.testing.assert_array_equal(net.parameters[0].centroids, before)
