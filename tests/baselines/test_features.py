"""Features as layers, linear decay, and averaged surfaces: on random recordings, beside plain loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from timesurf import EventError, Recordings, Window
from timesurf.baselines import features, hats, hots, linear
from timesurf.baselines.online_hots import OnlineHots
from timesurf.baselines.restarts import squared_distances
from timesurf.datasets import sentences

LAYER = Window(3, units=4, tau=50)


def random_recordings(rng, field=(5, 4), polarities=2, counts=(30, 0, 20)):
    n = sum(counts)
    t = np.concatenate([np.sort(rng.integers(0, 400, k)) for k in counts])
    coords = [rng.integers(0, side, n) for side in field]
    labels = np.arange(len(counts)) % 2
    p = rng.integers(0, polarities, n)
    return Recordings(coords, t, p, np.cumsum([0, *counts]), field=field, polarities=polarities, labels=labels)


def all_surfaces(recordings, decay="exponential"):
    """Surfaces in the order of events: recording after recording."""
    stage = features.placed(LAYER, recordings)
    return np.concatenate([row for r in recordings for row in features.surfaces(stage, r, decay=decay)])


@examples(10)
@given(st.integers(0, 99), st.sampled_from([(6,), (5, 4), (3, 3, 2)]), st.sampled_from(["exponential", "linear"]))
def test_every_event_goes_to_the_closest_unit(seed, field, decay):
    rng = np.random.default_rng(seed)
    some = random_recordings(rng, field)
    stage, rows = features.placed(LAYER, some), all_surfaces(some, decay)
    centroids = rng.uniform(size=(4, rows.shape[1]))
    found = features.Features(stage, centroids, decay).emitted(some)
    apart = squared_distances(rows, centroids)
    np.testing.assert_allclose(apart[np.arange(len(rows)), found.p], apart.min(axis=1), rtol=1e-4)
    assert found.counts.tolist() == some.counts.tolist()
    assert found.polarities == 4


def test_linear_surfaces_are_straight_lines_that_end_after_two_tau():
    """By hand: an event 25 us before, with tau 50 us, counts 1 - 25 / 100; one 100 us before counts nothing."""
    some = Recordings([[0, 1, 2]], t=[0, 75, 100], field=(3,))
    rows = np.concatenate(list(features.surfaces(features.placed(LAYER, some), some, decay="linear")))
    np.testing.assert_allclose(rows, [[0, 1, 0], [0.25, 1, 0], [0.75, 1, 0]], atol=1e-12)


def test_units_of_length_1_are_compared_by_cosine(rng):
    some = random_recordings(rng)
    rows, centroids = all_surfaces(some), features.unit_length(rng.uniform(size=(4, 18)))
    found = features.Features(features.placed(LAYER, some), centroids).emitted(some)
    cosine = rows @ centroids.T / np.linalg.norm(rows, axis=1)[:, None]
    np.testing.assert_allclose(cosine[np.arange(len(rows)), found.p], cosine.max(axis=1), rtol=1e-5)


def test_surfaces_come_in_parts_of_a_bounded_size_and_from_no_more_recordings_than_needed(rng, monkeypatch):
    monkeypatch.setattr(features, "_NUMBERS", 18 * 10)
    some = random_recordings(rng, counts=(30, 25, 8, 9))
    parts = list(features.surfaces(features.placed(LAYER, some), some))
    assert max(map(len, parts)) <= 10
    assert sum(map(len, parts)) == 10 + 10 + 8 + 9  # of long recordings the beginning
    assert sum(map(len, features.surfaces(features.placed(LAYER, some), some, events=5))) <= 10


def test_features_are_the_same_for_the_same_seed_and_tell_sentences_apart():
    """Margin: histograms of 12 units on two sentences of which one character differs; seeds 0 and 1."""
    train, test = sentences.make(40, seed=0), sentences.make(40, seed=1)
    stage = features.placed(Window(5, units=12, tau="2 ms"), train)
    for of in (
        lambda: features.clustered(stage, train, cosine=True),
        lambda: features.clustered(stage, train, decay="linear"),
        lambda: features.learned(OnlineHots(features.drawn(stage, train, number=12)), stage, train, events=20_000),
    ):
        one, other = of(), of()
        assert (one.centroids == other.centroids).all()
        learned, asked = (hots.counts(one.emitted(some), places=False) for some in (train, test))
        assert hots.linear_classifier().fit(learned, train.labels).score(asked, test.labels) >= 0.9


def test_one_recording_per_class_is_enough_for_the_classifier():
    counts = hots.counts(
        Recordings([[0, 1]], t=[0, 0], p=[0, 1], offsets=[0, 1, 2], field=(2,), polarities=2), places=False
    )
    assert hots.linear_classifier().fit(counts, np.array(["a", "b"])).score(counts, np.array(["a", "b"])) == 1


def test_fewer_events_than_units_are_refused(rng):
    few = random_recordings(rng, counts=(3,))
    with pytest.raises(EventError, match="4 units need at least as many events"):
        features.drawn(features.placed(LAYER, few), few, number=4)


@examples(10)
@given(st.integers(0, 99), st.sampled_from([(7,), (5, 4)]), st.integers(1, 2), st.integers(1, 3))
def test_hats_is_its_equation(seed, field, radius, cells):
    some = random_recordings(np.random.default_rng(seed), field)
    side, tau = 2 * radius + 1, 50.0
    shape = [-(-n // cells) for n in field]
    grid = [-(-n // s) for n, s in zip(field, shape, strict=True)]
    expected = np.zeros((len(some), *grid, 2, *(side,) * len(field)))
    for r, one in enumerate(some):
        x, number = np.array(one.coords).T, np.zeros(grid)
        for i in range(len(x)):
            cell = tuple(x[i] // shape)
            number[cell] += 1
            for j in range(i):
                z = x[j] - x[i] + radius
                if one.p[j] == one.p[i] and (z >= 0).all() and (z < side).all():
                    expected[(r, *cell, one.p[i], *z)] += np.exp(-(one.t[i] - one.t[j]) / tau)
        expected[r] /= np.maximum(number, 1).reshape(*grid, *(1,) * (1 + len(field)))
    found = hats.features(some, tau, cells=cells, radius=radius)
    np.testing.assert_allclose(found, expected.reshape(len(some), -1), rtol=1e-4, atol=1e-6)


def test_exponential_surfaces_that_never_fired_stay_0():
    assert linear.from_exponential(np.zeros(3)).tolist() == [0, 0, 0]
