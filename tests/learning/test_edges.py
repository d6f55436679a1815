"""Learning where a comparison turns: limits of adapting, new units, falling rates, tiny classes, clipping."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesurf import EventError, Full, Network, Recordings, Rule, Tile
from timesurf.datasets import sentences
from timesurf.engines import Learner, Options, Outcome, Parameters, load
from timesurf.errors import DivergedError
from timesurf.learning import adapt as adapting
from timesurf.learning.adapt import limit
from timesurf.learning.divergence import check_sane, put_back
from timesurf.learning.schedule import Schedule
from timesurf.learning.split import hold_out, split
from timesurf.learning.trainer import Turn, one_pass
from timesurf.presets import SENTENCES

DATA = sentences.make(8, seed=0, duration="1 ms")
TASK2 = sentences.make(8, seed=1, sentences=sentences.TASK2, duration="1 ms")


# ------------------------------------------------------------------ limits of adapting


def moved(thresholds, centroid, cap):
    """Thresholds that began at 1 and a centroid that began at the origin, after a limit on their moves."""
    before = Parameters.of([np.zeros((len(thresholds), 2))], [np.ones(len(thresholds))])
    now = before.copy()
    now[0].thresholds[:], now[0].centroids[0] = thresholds, centroid
    limit(now, before, cap)
    return now[0]


def test_a_cap_shortens_moves_of_thresholds_in_both_directions():
    assert moved([1.5, 0.5, 1.125, 0.875, 1.0], [0, 0], 0.25).thresholds.tolist() == [1.25, 0.75, 1.125, 0.875, 1.0]


def test_a_cap_shortens_the_way_of_a_centroid_and_keeps_its_direction():
    np.testing.assert_allclose(moved([1.0], [-3.0, 4.0], 0.5).centroids, [[-0.3, 0.4]])


def test_a_move_exactly_as_far_as_the_cap_is_left_alone():
    assert moved([1.25, 0.75], [-0.15, 0.2], 0.25).centroids[0].tolist() == [-0.15, 0.2]


def test_a_cap_of_0_moves_nothing():
    now = moved([1.5, 0.5], [3.0, 4.0], 0.0)
    assert now.thresholds.tolist() == [1.0, 1.0]
    assert now.centroids[0].tolist() == [0.0, 0.0]


def test_a_cap_leaves_infinite_thresholds_alone():
    before = Parameters.of([np.zeros((1, 2))], [np.full(1, np.inf)])
    now = before.copy()
    limit(now, before, 0.1)
    assert now[0].thresholds.tolist() == [np.inf]


def votes_3_to_1():
    """A network of one layer whose unit n is pixel n, and a recording with three events on pixel 0, one on pixel 1."""
    network = Network([Full(tau=0.01)], (2,), 1, ["a", "b"])
    network.parameters = Parameters.of([np.array([[0.9, 0.0], [0.0, 0.9]])[:, :, None]], [np.full(2, np.inf)])
    return network, Recordings([[0, 0, 1, 0]], [0, 100, 200, 300], field=(2,))


@pytest.mark.parametrize(("confidence", "learns"), [(0.7, True), (0.75, True), (np.nextafter(0.75, 1), False)])
def test_a_confidence_that_is_met_exactly_suffices(confidence, learns):
    network, recording = votes_3_to_1()
    before = network.snapshot()
    outcome = network.adapt(recording, rule=Rule(alpha=0.1, beta=0.1), confidence=confidence)
    assert outcome.votes.tolist() == [[3, 1]]
    assert network.parameters.same(before) != learns


def test_one_vote_is_all_of_the_votes():
    network, _ = votes_3_to_1()
    before, single = network.snapshot(), Recordings([[0]], [0], field=(2,))
    assert network.adapt(single, rule=Rule(alpha=0.1, beta=0.1), confidence=1.0).votes.tolist() == [[1, 0]]
    assert not network.parameters.same(before)


@pytest.mark.parametrize("confidence", [0.0, 0.5])
def test_a_silent_recording_is_survived_by_a_limit_on_confidence(confidence):
    network, _ = votes_3_to_1()
    silent = Recordings([[]], [], field=(2,))
    assert network.adapt(silent, confidence=confidence).votes.tolist() == [[0, 0]]


def test_a_cap_is_a_limit_for_each_recording_and_not_for_all_together():
    network = SENTENCES.network(DATA, sentences.TASK1, 0).fit(DATA, passes=1)
    before = network.snapshot()
    network.adapt(DATA, rule=Rule(alpha=1e-3, beta=1e-3, gamma=0, delta=0), cap=1e-4)
    way = (network.parameters[0].centroids - before[0].centroids).reshape(len(before[0].centroids), -1)
    assert 1.5e-4 < np.linalg.norm(way, axis=1).max() <= len(DATA) * 1.001e-4


def test_adapting_refuses_recordings_of_another_field():
    network, _ = votes_3_to_1()
    with pytest.raises(EventError, match="this network takes"):
        network.adapt(Recordings([[0]], [0], field=(1,)))


def test_adapting_falls_back_where_an_engine_cannot_learn_online():
    network, recording = votes_3_to_1()
    network.engine = SimpleNamespace(supports=lambda _, *, online=False: "It learns in batches only." if online else "")
    before = network.snapshot()
    network.adapt(recording, rule=Rule(alpha=0.1, beta=0.1))
    assert not network.parameters.same(before)


# ------------------------------------------------------------------ first and new units


def test_a_mean_start_is_the_mean_surface_and_a_share_of_noise():
    network = SENTENCES.network(DATA, sentences.TASK1, 0)
    mean = network.start(DATA, zeta=0, sample=len(DATA)).parameters[0].centroids[0]
    for zeta in (0.25, 1.0):
        centroids = network.start(DATA, zeta=zeta, sample=len(DATA)).parameters[0].centroids
        noise = (centroids - (1 - zeta) * mean) / (zeta * mean.mean())
        assert 0 <= noise.min() < 0.2
        assert 0.8 < noise.max() <= 1


def test_kmeans_with_a_single_unit_is_the_mean_and_with_none_is_nothing():
    network = SENTENCES.network(DATA, sentences.TASK1, 0)
    few = Network([replace(network.layers[0], units=1), *network.layers[1:]], DATA.field, 1, sentences.TASK1)
    few.start(DATA, start="kmeans", sample=2)
    mean = few.surfaces(DATA, 0).mean(axis=0)
    assert np.abs(few.parameters[0].centroids[0] - mean).max() < 0.2  # the start sees some of the recordings
    assert few.parameters[0].centroids.any()
    few.extend(TASK2, units=[0, 1], classes=sentences.TASK2, start="kmeans")
    assert few.stages[0].units == 1


def extended(margin):
    network = SENTENCES.network(DATA, sentences.TASK1, 0).fit(DATA, passes=1)
    return network.extend(TASK2, units=[2, 6], classes=sentences.TASK2, margin=margin).parameters


def test_thresholds_of_new_units_are_the_margin_times_their_reach():
    narrow, wide = extended(1.5), extended(3.0)
    for k in (0, 1):
        new = ~narrow[k].frozen
        assert new.any()
        np.testing.assert_allclose(wide[k].thresholds[new], 2 * narrow[k].thresholds[new])
        np.testing.assert_array_equal(wide[k].thresholds[~new], narrow[k].thresholds[~new])


def test_the_reach_of_new_units_is_the_furthest_event_that_one_of_them_wins():
    """Nine events of polarity 1 and one of polarity 0, which the old unit wins from further away."""
    network = Network([Tile((1,), units=1, tau=0.01), Full(tau=0.01)], (1,), 2, ["a"])
    first, last = np.array([[[2.0, 0.0]]]), np.zeros((1, 1, 1))
    network.parameters = Parameters.of([first, last], [np.array([9.0]), np.full(1, np.inf)])
    p = np.ones(10, int)
    p[4] = 0
    events = Recordings([np.zeros(10, int)], np.arange(10) * 100, p, field=(1,), polarities=2, labels=["b"])
    network.extend(events, units=[1], classes=["b"], zeta=0, margin=2)
    np.testing.assert_allclose(network.parameters[0].centroids[1], [[0.1, 0.9]])
    np.testing.assert_allclose(network.parameters[0].thresholds, [9.0, 2 * np.hypot(0.1, 0.1)])


def test_an_infinite_margin_gives_new_units_no_thresholds():
    for units in extended(np.inf)[:-1]:
        assert (units.thresholds[~units.frozen] == np.inf).all()
        assert np.isfinite(units.thresholds[units.frozen]).all()


# ------------------------------------------------------------------ falling rates


def rules_seen(rule, *, number, batch_size, passes):
    """The rules that an engine is given in one pass."""
    seen = []

    def learn(stages, parameters, now, batch, options):
        seen.append(now)
        events = np.diff(batch.offsets)
        return Outcome(events, events[:, None], np.ones((len(events), 1), dtype=int))

    engine = SimpleNamespace(learn_batch=learn, learn_online=learn)
    parameters = Parameters.of([np.zeros((1, 1))], [np.ones(1)])
    learner = Learner((), parameters, DATA, np.zeros(len(DATA), dtype=int))
    schedule = Schedule(passes, batch_size=batch_size, decay=True)
    one_pass(engine, Turn(number, learner, passes * len(DATA)), rule, schedule, Options())
    return seen


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("batch_size", [None, 2])
def test_rates_of_every_layer_fall_linearly_over_all_passes(number, batch_size):
    rates = {"alpha": (0.4, 0.8), "beta": (0.1, 0.0), "gamma": (1.0, 2.0), "delta": (0.5, -0.5)}
    seen = rules_seen(Rule(**rates, d=(0.3, 0.6)), number=number, batch_size=batch_size, passes=2)
    step = batch_size or 1
    assert len(seen) == len(DATA) // step
    for n, rule in enumerate(seen):
        left = 1 - ((number - 1) * len(DATA) + n * step) / (2 * len(DATA))
        for name, rate in rates.items():
            assert getattr(rule, name) == pytest.approx(tuple(left * r for r in rate))
        assert rule.d == (0.3, 0.6)


def test_online_rates_fall_fifty_times_per_pass():
    many = DATA[np.zeros(120, int)]
    assert len(list(Schedule(decay=True).parts(many))) == 60  # of two recordings each: 120 // 50
    assert len(list(Schedule(keep=0.5).parts(many))) == 60
    assert len(list(Schedule().parts(many))) == 1


# ------------------------------------------------------------------ tiny classes


@given(
    counts=st.lists(st.integers(1, 12), min_size=1, max_size=5), share=st.floats(0.01, 0.99), seed=st.integers(0, 99)
)
def test_each_class_holds_out_its_share_at_least_one_and_never_all(counts, share, seed):
    label = np.repeat(np.arange(len(counts)), counts)
    first, second = hold_out(label, share, np.random.default_rng(seed))
    assert sorted([*first, *second]) == list(range(len(label)))
    for c, n in enumerate(counts):
        expected = 0 if n == 1 else min(max(round(share * n), 1), n - 1)
        assert (label[second] == c).sum() == expected


def test_a_class_of_two_is_held_out_before_it_is_chosen_by():
    two = DATA[np.concatenate([np.flatnonzero(DATA.labels == name)[:2] for name in DATA.classes])]
    assert {name: len(numbers) for name, numbers in split(two).numbers.items()} == {
        "learn": 2, "validation": 0, "held_out": 2,
    }  # fmt: skip


# ------------------------------------------------------------------ what has diverged


def test_what_has_diverged_is_clipped_to_where_surfaces_are():
    centroids = np.array([[2e3, -2e3, 0.25], [np.nan, np.inf, -np.inf], [1.5, -0.5, 999.0]])
    parameters = Parameters.of([centroids], [np.array([0.0, 0.5, 0.0])]).copy()
    put_back(parameters, [np.full(3, 7.0)])
    assert parameters[0].centroids.tolist() == [[1, 0, 0.25], [0, 1, 0], [1.5, -0.5, 999.0]]  # the last is not lost
    assert parameters[0].thresholds.tolist() == [0.0, 0.5, 0.0]  # the layer is not silent


def test_a_silent_layer_gets_the_thresholds_from_before():
    parameters = Parameters.of([np.zeros((2, 1)), np.zeros((1, 1))], [np.zeros(2), np.full(1, np.inf)]).copy()
    put_back(parameters, [np.array([0.5, 0.25]), np.full(1, 3.0)])
    assert [units.thresholds.tolist() for units in parameters] == [[0.5, 0.25], [np.inf]]
    check_sane(parameters)


@pytest.mark.parametrize(("size", "lost"), [(999.0, False), (1000.0, True), (-1000.0, True), (np.nan, True)])
def test_a_centroid_is_lost_from_a_thousand_on(size, lost):
    parameters = Parameters.of([np.array([[0.0, size]])], [np.ones(1)]).copy()
    put_back(parameters, [np.ones(1)])
    assert (abs(parameters[0].centroids[0, 1]) <= 1) == lost


def test_training_goes_back_to_a_sixty_fourth_of_the_rates_and_no_further():
    network = SENTENCES.network(DATA, sentences.TASK1, 0).start(DATA)
    alphas = []

    def learn(stages, parameters, rule, batch, options):
        alphas.append(rule.alpha)
        parameters[0].centroids[:] = 1e6
        events = np.diff(batch.offsets)
        return Outcome(events, np.zeros((len(events), 3), int), np.ones((len(events), 2), int))

    network.engine = SimpleNamespace(supports=lambda _, *, online=False: "", learn_batch=learn)
    with pytest.raises(DivergedError):
        network.train(DATA, passes=1, batch_size=len(DATA), if_diverged="back")
    assert alphas == [network.rule.alpha / 2**n for n in range(7)]


def test_adapting_asks_for_an_engine_that_learns_online(monkeypatch):
    asked = []

    def choose(engine, stages, *, online=False):
        asked.append(online)
        return load("cpu")

    monkeypatch.setattr(adapting, "choose", choose)
    network = Network([Tile((5, 5), units=2, tau=100), Full(tau=1)], DATA.field, 1, DATA.classes).start(DATA)
    network.adapt(DATA[:1])
    assert asked == [True]
