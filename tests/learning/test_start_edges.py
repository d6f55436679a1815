"""First and new units by hand: who is drawn, how many surfaces k-means sees, which units help."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from timesurf import EventError, Full, Network, Recordings, Rule, SettingError, Tile, Window, engines
from timesurf.engines import Batch, Outcome, Parameters, Trace
from timesurf.layers import stack
from timesurf.learning import adapt, grow, means, start

CPU = engines.load("cpu")


# ------------------------------------------------------------------ who is drawn


def drawn(labels, sample, units_per_class=1, seed=0):
    """Labels of a sample, and whether it is in order."""
    data = Recordings([], np.arange(len(labels)), offsets=range(len(labels) + 1), field=())
    data = Recordings([], data.t, offsets=data.offsets, field=(), labels=np.arange(len(labels)))
    batch = start.sample_of(data, np.array(labels), sample, np.random.default_rng(seed), units_per_class)
    return batch.label.tolist()


def test_a_sample_has_each_class_once_at_least():
    labels = [0] * 30 + [1] * 2 + [2] + [-1] * 5
    for seed in range(5):
        found = drawn(labels, 3, seed=seed)
        assert {0, 1, 2} <= set(found)
        order = np.random.default_rng(seed).permutation(len(labels))[:3]
        first = [labels[n] for n in order]
        assert len(found) == 3 + len({0, 1, 2} - set(first))
        assert [label for label in found if label >= 0] == sorted(label for label in found if label >= 0)
    assert sorted(drawn(labels, 99)) == sorted(labels)


def test_several_units_per_class_have_four_recordings_each():
    found = drawn([0] * 30 + [1] * 5, 1, units_per_class=2)
    assert (found.count(0), found.count(1)) in ((8, 5), (9, 5))
    assert start._PER_UNIT == 4


@pytest.mark.parametrize(
    ("good", "bad", "word"),
    [
        ({"zeta": 0}, {"zeta": -0.01}, "zeta"),
        ({"zeta": 1}, {"zeta": 1.01}, "zeta"),
        ({"margin": 1e-9}, {"margin": 0}, "margin"),
    ],
)
def test_limits_of_a_start(good, bad, word):
    batch = Batch(np.zeros(1, np.int32), np.zeros(1, np.int32), np.array([0, 1]), np.zeros(1, int))
    plain = {"start": "mean", "zeta": 0.5, "margin": math.inf}
    start.check(batch, **plain | good)
    with pytest.raises(SettingError, match=word):
        start.check(batch, **plain | bad)
    with pytest.raises(EventError, match="no events"):
        start.check(Batch(batch.entry[:0], batch.t[:0], np.array([0, 0]), batch.label), **plain)


# ------------------------------------------------------------------ k-means


class Surfaces:
    """An engine with surfaces of one entry, numbered by event, and a k-means that notes what it is given."""

    def __init__(self):
        self.points = None

    def surfaces(self, stages, parameters, batch, layer):
        self.layer, self.batch = layer, batch
        return np.arange(len(batch.entry), dtype=float)[:, None, None]

    def kmeans(self, points, units, seed):
        self.points, self.seed = points, seed
        return points[:units]


def clustered(monkeypatch, units, counts=(40, 40, 40), *, quick=False, samples=50_000, entries=1 << 24, per_unit=100):
    for name, value in (("_KMEANS_SAMPLES", samples), ("_KMEANS_ENTRIES", entries), ("_QUICK_SAMPLES", per_unit)):
        monkeypatch.setattr(start, name, value)
    engine, n = Surfaces(), sum(counts)
    batch = Batch(np.zeros(n, np.int32), np.zeros(n, np.int32), np.cumsum([0, *counts]), np.zeros(len(counts), int))
    stages = stack([Full(units=2, tau=1)], (1,), 1)
    found = start._kmeans(engine, stages, Parameters(), batch, np.random.default_rng(0), units, quick=quick)
    return engine, found


@pytest.mark.parametrize(
    ("how", "recordings", "points"),
    [
        ({}, 3, 120), ({"samples": 119}, 3, 119), ({"samples": 20}, 1, 20), ({"samples": 21}, 2, 21),
        ({"samples": 40}, 2, 40), ({"samples": 41}, 3, 41), ({"entries": 7}, 3, 100), ({"entries": 110}, 3, 110),
        ({"quick": True, "per_unit": 10}, 1, 20), ({"quick": True, "per_unit": 99}, 3, 120),
        ({"quick": False, "per_unit": 10}, 3, 120),
    ],
)  # fmt: skip
def test_kmeans_sees_so_many_surfaces_of_so_many_recordings(monkeypatch, how, recordings, points):
    engine, found = clustered(monkeypatch, 2, **how)
    assert (len(engine.batch), len(engine.points)) == (recordings, points)
    assert len(set(engine.points[:, 0])) == points
    assert found.shape == (2, 1, 1)
    assert engine.layer == 0
    assert 0 <= engine.seed < 2**31


def test_kmeans_needs_an_event_per_unit(monkeypatch):
    assert clustered(monkeypatch, 3, (2, 1))[1].shape == (3, 1, 1)
    assert clustered(monkeypatch, 0)[1].shape == (0, 1, 1)
    with pytest.raises(EventError, match="at least 4 events for 4 units, not 3"):
        clustered(monkeypatch, 4, (2, 1))


def test_sizes_of_a_start():
    assert (start._KMEANS_SAMPLES, start._QUICK_SAMPLES, start._KMEANS_ENTRIES, means._LARGE) == (
        50_000, 100, 1 << 24, 1 << 20,
    )  # fmt: skip


def test_a_class_with_several_units_starts_from_means_of_its_recordings():
    """Two looks of class 0 (pixel 0 or 1), two of class 1 (pixel 2 or 3)."""
    pixels = np.repeat([0, 1, 0, 1, 2, 3, 2, 3], 3)
    data = Recordings([pixels], np.tile([0, 1, 2], 8), offsets=np.arange(9) * 3, field=(4,), labels=[0] * 4 + [1] * 4)
    network = Network([Full(tau=1, units_per_class=2)], (4,), 1, [0, 1]).start(data, start="kmeans")
    found = np.round(network.parameters[0].centroids[:, :, 0]).tolist()
    eye = np.eye(4).tolist()
    assert sorted(found[:2]) == sorted(eye[:2])
    assert sorted(found[2:]) == sorted(eye[2:])
    with pytest.raises(EventError, match=r"needs 2 recordings of every class, but class number 1 has 1"):
        network.start(data[:5], start="kmeans")


def test_a_mean_over_used_entries_and_over_all_are_one(monkeypatch):
    data = Recordings([[3, 1, 3, 0]], [0, 5, 7, 7], offsets=[0, 3, 4], field=(5,), labels=["a", "a"])
    stages = stack([Full(units=1, tau=10)], (5,), 1)
    batch = engines.pack(data)
    whole = means.mean_surface(CPU, stages, Parameters(), batch)
    seen = []
    monkeypatch.setattr(means, "_mean_of_used", lambda *_: seen.append("used"))
    monkeypatch.setattr(means, "_LARGE", 5)
    np.testing.assert_array_equal(means.mean_surface(CPU, stages, Parameters(), batch), whole)
    monkeypatch.setattr(means, "_LARGE", 4)
    means.mean_surface(CPU, stages, Parameters(), batch)
    assert seen == ["used"]
    tiles = stack([Tile((5,), units=1, tau=10)], (5,), 1)
    assert means.mean_surface(CPU, tiles, Parameters(), batch) is not None
    assert seen == ["used"]
    e = math.exp
    np.testing.assert_allclose(whole[:, 0], np.array([1, 1 + e(-0.2), 0, 1 + e(-0.5) + 1, 0]) / 4, rtol=1e-12)


# ------------------------------------------------------------------ which units help


def trace(winner, distance, passed):
    winner = np.array(winner)
    return Trace(winner, np.array(distance, float), np.zeros(winner.shape), np.array(passed))


def tight(winner, distance, passed, label, frozen=None, thresholds=(9.0, 9.0), **about):
    units = len(thresholds)
    parameters = Parameters.of(
        [np.arange(2.0 * units).reshape(units, 1, 2), np.arange(4.0 * units).reshape(4, 1, units)],
        [np.array(thresholds), np.full(4, np.inf)], [np.array(frozen or [False] * units), np.zeros(4, bool)],
    )  # fmt: skip
    return grow.tighten(
        parameters, trace(winner, distance, passed), np.array(label), **{"share": 1.0, "slack": 0.25} | about
    )


def test_thresholds_fall_to_the_events_that_were_right():
    winner, passed, label = [[0, 0], [0, 0], [0, 1], [1, 1], [1, 0]], [2, 2, 2, 2, 1], [0, 0, 0, 1, 1]
    distance = [[1.0, 0], [2.0, 0], [5.0, 0], [3.0, 0], [8.0, 0]]
    found = tight(winner, distance, passed, label)
    assert found[0].thresholds.tolist() == [2.25, 3.25]
    assert tight(winner, distance, passed, label, share=0.5)[0].thresholds.tolist() == [1.75, 3.25]
    assert tight(winner, distance, passed, label, thresholds=(2.0, 9.0))[0].thresholds.tolist() == [2.0, 3.25]
    assert tight(winner, distance, passed, label, frozen=[True, False])[0].thresholds.tolist() == [9.0, 3.25]
    assert found[1].thresholds.tolist() == [np.inf] * 4


@pytest.mark.parametrize(("right", "stays"), [(2, True), (1, False), (0, False)])
def test_units_that_are_right_less_often_than_half_way_from_chance_are_dropped(right, stays):
    """Unit 1 has four output events; unit 0 so many that the whole network is right in half of its events."""
    of_one = [[1, 0]] * right + [[1, 1]] * (4 - right)
    rest = [[0, 0]] * (8 - right) + [[0, 1]] * (4 + right)
    winner = np.array(of_one + rest)
    label = np.zeros(16, int)
    label[-1], winner[-1, 1] = 1, 0  # a second class, so that chance is a half; it is wrong
    found = tight(winner, np.ones(winner.shape), np.full(16, 2), label)
    assert len(found[0].thresholds) == 1 + stays
    assert found[1].centroids.shape == (4, 1, 1 + stays)
    assert found[1].centroids[1].tolist() == ([[2.0, 3.0]] if stays else [[2.0]])


def test_several_units_per_class_and_unlabelled_events_count_as_right():
    winner, passed = [[0, 1], [0, 2], [1, 3], [1, 0]], [2, 2, 2, 2]
    distance = [[1.0, 0], [2.0, 0], [3.0, 0], [4.0, 0]]
    by_class = tight(winner, distance, passed, [0, 1, 1, -1], units_per_class=2)
    assert by_class[0].thresholds.tolist() == [2.25, 4.25]
    with pytest.raises(EventError, match="No unit of layer 1 helps"):
        tight(winner, distance, [1, 0, 1, 1], [0, 1, 1, -1])


def test_limits_of_tightening_and_of_growing():
    network = SimpleNamespace(stages=(1, 2, 3))
    for share, slack in ((0, 0.1), (1.01, 0.1), (0.5, -0.01), (0.5, math.nan)):
        with pytest.raises(SettingError, match="share"):
            grow.tightened(network, None, share, slack, 5)
    for units in ([1], [1, 2, 3], [1, -1]):
        with pytest.raises(SettingError, match="each of the 2 hidden layers"):
            grow.extended(network, None, units, ["a"])


# ------------------------------------------------------------------ limits of adapting


@pytest.mark.parametrize(("name", "value"), [("cap", -0.1), ("confidence", -0.1), ("cap", math.nan)])
def test_limits_of_adapting_are_0_or_more(name, value):
    network = Network([Full(tau=1)], (2,), 1, ["a", "b"])
    network.parameters = Parameters.of([np.eye(2)[:, :, None]], [np.full(2, np.inf)])
    data = Recordings([[0, 1]], [0, 1], field=(2,))
    assert network.adapt(data, **{name: 0.0}).votes.sum() == 2
    with pytest.raises(SettingError, match=name):
        network.adapt(data, **{name: value})
    with pytest.raises(SettingError, match="alpha"):
        network.adapt(data, rule=Rule(alpha=(1, 2)))


def test_moves_are_shortened_to_the_cap_in_both_directions():
    before = Parameters.of([np.zeros((3, 2))], [np.array([1.0, 1.0, np.inf])])
    now = Parameters.of([np.array([[3.0, 4.0], [0.3, 0.4], [0.0, -1.0]])], [np.array([5.0, -5.0, np.inf])]).copy()
    adapt.limit(now, before, 0.5)
    np.testing.assert_allclose(now[0].centroids, [[0.3, 0.4], [0.3, 0.4], [0, -0.5]])
    assert now[0].thresholds.tolist() == [1.5, 0.5, np.inf]


def test_adapting_joins_what_it_did_to_each_recording():
    seen = []

    def learn(stages, parameters, rule, batch, options):
        seen.append((len(batch), batch.label.tolist()))
        return Outcome(np.diff(batch.offsets), np.ones((len(batch), 1), int), np.ones((len(batch), 2), int))

    network = Network([Full(tau=1)], (2,), 1, ["a", "b"])
    network.parameters = Parameters.of([np.eye(2)[:, :, None]], [np.full(2, np.inf)])
    network.engine = SimpleNamespace(supports=lambda *_, **__: "", learn_online=learn)
    data = Recordings([[0, 1, 0]], [0, 1, 0], offsets=[0, 2, 3], field=(2,), labels=["a", "b"])
    assert network.adapt(data).events.tolist() == [2, 1]
    assert network.adapt(data, cap=1.0).events.tolist() == [2, 1]
    assert seen == [(2, [-1, -1]), (1, [-1]), (1, [-1])]
    network.parameters[0].centroids[:] = 1e9
    with pytest.raises(SettingError, match="diverged"):
        network.adapt(data)


# ------------------------------------------------------------------ units from many recordings


def two_kinds(recordings, events):
    """The first recordings have one pixel, the others two beside each other that fire in turn."""
    pair = np.repeat(np.arange(recordings) >= recordings // 2, events)
    x = np.where(pair, np.tile([2, 3], recordings * events // 2), 0)
    offsets = np.arange(recordings + 1) * events
    return engines.pack(Recordings([x], np.tile(np.arange(events), recordings), offsets=offsets, field=(4,)))


def test_units_of_many_recordings_know_what_only_the_later_ones_show():
    (stage,) = stack([Window(3, units=3, tau=1e9)], (4,), 1)
    batch, seed = two_kinds(recordings=10, events=800), np.random.default_rng
    few = start.first_centroids(CPU, (stage, stage), 0, Parameters(), batch, seed(0), "quick", range(3), 0)
    many = start.centroids_of_many(CPU, stage, batch, seed(0))
    np.testing.assert_allclose(few.reshape(3, 3), [[0, 1, 0]] * 3, atol=1e-6)
    np.testing.assert_allclose(sorted(many.reshape(3, 3).tolist()), [[0, 1, 0], [0, 1, 1], [1, 1, 0]], atol=0.01)


def test_units_of_many_recordings_come_from_stretches_of_some_of_them(monkeypatch):
    (stage,) = stack([Window(1, units=2, tau=1)], (4,), 1)
    seen = []

    class Noting:
        @staticmethod
        def surfaces(stages, parameters, batch, layer):
            seen.append(np.diff(batch.offsets).tolist())
            return CPU.surfaces(stages, parameters, batch, layer)

    monkeypatch.setattr(start, "_STRETCHES", 7)
    monkeypatch.setattr(start, "_STRETCH", 30)
    monkeypatch.setattr(start, "_AT_ONCE", 60)
    monkeypatch.setattr(start, "kmeans_on_a_core", lambda rows, units, *rest: np.full((units, 1), len(rows)))
    found = start.centroids_of_many(Noting, stage, two_kinds(recordings=10, events=400), np.random.default_rng(0))
    assert [n for lengths in seen for n in lengths] == [30] * 7
    assert max(map(len, seen)) <= 2
    assert found[0, 0, 0] == pytest.approx(200, abs=len(seen))  # 100 per unit


def test_units_of_many_short_recordings_come_from_as_many_as_have_enough_events():
    (stage,) = stack([Window(3, units=128, tau=1e9)], (4,), 1)
    batch = two_kinds(recordings=300, events=2)
    assert start.centroids_of_many(CPU, stage, batch, np.random.default_rng(0)).shape == (128, 3, 1)
    with pytest.raises(EventError, match="at least 128 events"):
        start.centroids_of_many(CPU, stage, two_kinds(recordings=40, events=2), np.random.default_rng(0))
