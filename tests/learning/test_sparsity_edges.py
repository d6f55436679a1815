"""Thresholds that keep a given share of events, where a comparison turns."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from timesurf import EventError, Full, Network, Recordings, Rule, SettingError, Window
from timesurf.engines import Options, Outcome, Parameters
from timesurf.engines import reference as engine
from timesurf.learning import sparsity
from timesurf.learning.sparsity import _thresholds


def with_rates(*layers, **rates):
    return Network(
        list(layers), (9,), 1, ["a", "b"], rule=Rule(**{"alpha": 1, "beta": 1, "gamma": 0, "delta": 0} | rates)
    )


def test_thresholds_rest_where_neither_gamma_nor_delta_moves_them():
    hidden, last = Window(3, units=2, tau=1), Full(tau=1)
    assert sparsity.rests(with_rates(hidden, last))
    assert sparsity.rests(with_rates(hidden, last, gamma=(0, 1), delta=(0, 1)))  # of the last layer alone
    assert not sparsity.rests(with_rates(hidden, last, gamma=(1, 0)))
    assert not sparsity.rests(with_rates(hidden, last, delta=(1, 0)))
    assert not sparsity.rests(with_rates(last))  # there is no hidden layer


def test_shares_from_above_0_to_1():
    for good in (None, 1e-9, 1):
        sparsity.check(good)
    for wrong in (0, 1.0001):
        with pytest.raises(SettingError, match="share of events"):
            sparsity.check(wrong)


def recordings(counts):
    n = int(np.sum(counts))
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return Recordings([[0] * n], t=np.zeros(n, int), offsets=offsets, field=(9,))


@pytest.mark.parametrize(("events", "few"), [(10, 3), (9, 2), (1, 1), (100, 5)])
def test_thresholds_are_set_by_so_many_events_at_most(events, few):
    assert len(sparsity._sample(recordings([3] * 5), 0, events).label) == few


def test_thresholds_are_set_by_500_recordings_at_most():
    batch = sparsity._sample(recordings(range(600)), 3, 1 << 30)
    chosen = np.sort(np.random.default_rng(3).permutation(600)[:500])
    assert np.diff(batch.offsets).tolist() == chosen.tolist()


EIGHT = np.full(4, 1 / 4)


@pytest.mark.parametrize(
    ("old", "target", "new"),
    [
        (math.inf, 0.25, 0.15), (math.inf, 0.5, 0.25), (math.inf, 1.0, math.inf), (0.25, 0.25, 0.15),
        (0.25, 0.75, 0.35), (0.25, 1.0, math.inf), (math.inf, 1e-9, 0.05), (0.05, 0.5, 0.25),
    ],
)  # fmt: skip
def test_a_threshold_lies_between_the_last_event_kept_and_the_next(old, target, new):
    found = _thresholds(np.array([old]), np.zeros(4, int), np.array([0.4, 0.1, 0.3, 0.2]), EIGHT, target)
    assert found.tolist() == pytest.approx([new])


def test_an_event_at_its_threshold_is_rejected():
    # Two of four pass now (0.3 does not): half of them is one.
    found = _thresholds(np.array([0.3]), np.zeros(4, int), np.array([0.1, 0.2, 0.3, 0.4]), EIGHT, 0.25)
    assert found.tolist() == pytest.approx([0.15])


def test_equal_distances_are_not_parted_and_the_next_unit_makes_up_for_it():
    winner, distance = np.array([0, 0, 0, 0, 1, 1]), np.array([0.5, 0.5, 0.5 + 1e-8, 0.5, 0.1, 0.2])
    weight = np.full(6, 1 / 6)
    found = _thresholds(np.full(2, math.inf), winner, distance, weight, 0.5)
    # The first, with most events, keeps none or all four where it should keep two: none; the second keeps both.
    assert found.tolist() == pytest.approx([0.25, math.inf])
    found = _thresholds(np.full(2, math.inf), winner, distance, weight, 4 / 6)
    assert found.tolist() == pytest.approx([math.inf, 0.05])


def test_units_without_events_stay_as_they_are_and_selective_ones_stay_selective():
    winner, distance = np.array([0] * 4 + [1] * 4), np.tile([0.1, 0.2, 0.3, 0.4], 2)
    found = _thresholds(np.array([math.inf, 0.25, 0.7]), winner, distance, np.full(8, 1 / 8), 3 / 8)
    assert found.tolist() == pytest.approx([0.25, 0.15, 0.7])  # of 4 and 2 half
    found = _thresholds(np.array([0.25, 0.05, 0.7]), winner, distance, np.full(8, 1 / 8), 5 / 8)
    assert found.tolist() == pytest.approx([0.35, 0.25, 0.7])  # of the 2 and 4 that were rejected half are kept


def two_layers():
    network = Network([Window(1, units=1, tau=1), Full(tau=1)], (9,), 1, ["a", "b"], engine="reference")
    network.parameters = Parameters.of(
        [np.zeros((1, 1, 1)), np.zeros((2, 9, 1))], [np.full(1, np.inf), np.full(2, np.inf)]
    )
    return network


def test_a_share_within_a_point_changes_nothing_and_none_cannot_be_set():
    network = two_layers()
    how = engine, network.stages, network.parameters
    batch = sparsity._sample(recordings([4, 4]), 0, 100)
    assert not sparsity.set_thresholds(*how, batch, 0.9901, Options())
    assert network.parameters[0].thresholds.tolist() == [math.inf]
    assert sparsity.set_thresholds(*how, batch, 0.5, Options())
    with pytest.raises(EventError, match="no events"):
        sparsity.set_thresholds(*how, sparsity._sample(recordings([0, 0]), 0, 100), 0.5, Options())
    with pytest.raises(SettingError, match="single layer"):
        sparsity.tighten(with_rates(Full(tau=1)), recordings([3]), 0.5)


@pytest.mark.parametrize(
    ("kept", "again"),
    [
        ([50, 50, 0], 0),
        ([51, 50.9, 0], 0),
        ([51.2, 51.2, 0], 1),
        ([48.8, 48.8, 0], 1),
        ([30, 76, 0], 0),
        ([40, 64, 0], 0),
        ([51, 60, 0], 0),  # 5.5 points off, by 1.7 standard errors
        ([52, 60, 0], 1),  # 6 points, by 2.1
    ],
)
def test_thresholds_are_set_by_validation_where_that_clearly_keeps_another_share(monkeypatch, kept, again):
    """Of 100 events each; the third recording has none, and does not count."""
    calls = []
    monkeypatch.setattr(sparsity, "set_thresholds", lambda *of: calls.append(len(of[3].label)) or True)
    found = Outcome(np.array([100, 100, 0]), np.array(kept)[:, None], np.zeros((3, 2)))
    monkeypatch.setattr(sparsity.inference, "infer", lambda *of: found)
    assert sparsity.tighten(two_layers(), recordings([5]), 0.5, recordings([5, 5, 0]))
    assert calls == [1, 3][: 1 + again]
    for nothing in (None, 0.1, recordings([0])):
        calls.clear()
        sparsity.tighten(two_layers(), recordings([5]), 0.5, nothing)
        assert calls == [1]


def test_a_curve_has_the_levels_below_what_is_kept(monkeypatch):
    asked = []
    figures = {"kept": 0.705, "recording_accuracy": 0.9, "event_accuracy": 0.8, "more": 1}
    network = SimpleNamespace(stages=[1, 2], parameters=Parameters(), evaluate=lambda held: figures)
    network.twin = lambda parameters: network
    monkeypatch.setattr(sparsity, "tighten", lambda *of: asked.append((of[2], of[4])))
    rows = sparsity.curve(network, "learn", "validation", "held out")
    assert [row["keep"] for row in rows] == [0.705, 0.5, 0.3, 0.2, 0.1]
    assert set(rows[1]) == {"keep", "kept", "recording_accuracy", "event_accuracy"}
    assert asked == [(keep, 1 << 18) for keep in (0.5, 0.3, 0.2, 0.1)]
    figures["kept"] = 1.0
    assert [row["keep"] for row in sparsity.curve(network, *"abc")] == [1.0, 0.7, 0.5, 0.3, 0.2, 0.1]
    network.stages = [1]
    assert len(sparsity.curve(network, *"abc")) == 1
