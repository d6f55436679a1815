"""Learners of features: each rule written once more in NumPy, straight from its equation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from timesurf.baselines.feast import Feast
from timesurf.baselines.homeostasis import Homeostasis
from timesurf.baselines.online_hots import OnlineHots
from timesurf.baselines.restarts import Restarting, squared_distances

shapes = st.tuples(st.integers(1, 5), st.integers(1, 6), st.integers(1, 30), st.integers(0, 99))


def made(shape):
    units, entries, events, seed = shape
    rng = np.random.default_rng(seed)
    return rng.uniform(0.05, 1, (units, entries)), rng.uniform(0.05, 1, (events, entries))


@examples(15)
@given(shapes)
def test_online_hots_is_its_equation(shape):
    c, surfaces = made(shape)
    learner = OnlineHots(c)
    learner.learn(surfaces)
    wins = np.zeros(len(c))
    for ts in surfaces:
        f = np.argmin(((ts - c) ** 2).sum(axis=1))
        beta = ts @ c[f] / np.linalg.norm(ts) / np.linalg.norm(c[f])
        c[f] += 0.01 / (1 + wins[f] / 20000) * (ts - beta * c[f])
        wins[f] += 1
    np.testing.assert_allclose(learner.centroids, c, rtol=1e-9)
    assert learner.wins.tolist() == wins.tolist()


@examples(15)
@given(shapes, st.sampled_from([0.0, 0.25, 2.0]))
def test_homeostasis_is_its_equation(shape, strength):
    c, surfaces = made(shape)
    learner = Homeostasis(c, strength)
    learner.learn(surfaces)
    wins = np.ones(len(c))
    for ts in surfaces:
        ts = ts / np.linalg.norm(ts)
        s = c @ ts / np.linalg.norm(c, axis=1)
        f = np.argmax(np.exp(strength * (1 - len(c) * wins / wins.sum())) * s)
        c[f] += 0.01 / (1 + wins[f] / 20000) * s[f] * (ts - c[f])
        wins[f] += 1
    np.testing.assert_allclose(learner.centroids, c / np.linalg.norm(c, axis=1, keepdims=True), rtol=1e-9)
    assert learner.wins.tolist() == wins.tolist()


@examples(15)
@given(shapes, st.sampled_from([0.0, 0.9, 1.01]))
def test_feast_is_its_equation(shape, threshold):
    c, surfaces = made(shape)
    th = np.full(len(c), threshold)
    learner = Feast(c, th, eta=0.1, closing=0.02, opening=0.05)
    learner.learn(surfaces)
    c /= np.linalg.norm(c, axis=1, keepdims=True)
    missed = 0
    for ts in surfaces:
        ts = ts / np.linalg.norm(ts)
        s = np.where(c @ ts >= th, c @ ts, -np.inf)
        f = np.argmax(s)
        if s[f] == -np.inf:
            missed += 1
            th -= 0.05
            continue
        c[f] = 0.9 * c[f] + 0.1 * ts
        c[f] /= np.linalg.norm(c[f])
        th[f] += 0.02
    np.testing.assert_allclose(learner.centroids, c, rtol=1e-9)
    np.testing.assert_allclose(learner.thresholds, th, atol=1e-12)
    assert learner.missed == missed
    assert learner.wins.sum() + missed == len(surfaces)


def test_homeostasis_and_feast_use_units_that_plain_hots_leaves_dead(rng):
    """Margins: the surfaces lie far from all but one of the first centroids; seed of the fixture."""
    centroids = 5 * rng.uniform(size=(8, 4))
    centroids[0] = 0.5
    surfaces = rng.uniform(size=(4000, 4))
    used = {}
    for name, learner in {
        "hots": OnlineHots(centroids), "homeostasis": Homeostasis(centroids, 2.0),
        "feast": Feast(centroids, np.ones(8)), "restarts": Restarting(centroids),
    }.items():  # fmt: skip
        for part in np.array_split(surfaces, 4):
            before = learner.wins.copy()
            learner.learn(part)
            won = np.maximum(learner.wins - before, 0)
        used[name] = (won > 0.02 * won.sum()).sum()  # of the last part
    assert used["hots"] <= 2
    assert min(used["homeostasis"], used["feast"], used["restarts"]) >= 7


def test_only_idle_units_restart_on_surfaces_that_are_far_from_all_units():
    """One of three units wins nothing, and one surface of 61 has 99 % of the squared error (seed 1)."""
    learner = Restarting([[1.0, 0.0], [9.0, 9.0], [5.0, 5.0]], seed=1)
    surfaces = np.array([[1.0, 0.0]] * 50 + [[5.0, 5.0]] * 10 + [[0.0, 3.0]])
    learner.learn(surfaces)
    assert learner.restarts == 1
    assert learner.centroids[1].tolist() == [0.0, 3.0]
    assert learner.wins.tolist() == [51, 0, 10]  # those that won enough go on where they are
    assert squared_distances(surfaces, learner.centroids).min(axis=1).max() < 0.01


def test_where_all_surfaces_are_represented_nothing_restarts():
    learner = Restarting([[1.0, 0.0], [9.0, 9.0]])
    learner.learn(np.tile([1.0, 0.0], (20, 1)))
    assert learner.restarts == 0
    assert learner.centroids[1].tolist() == [9.0, 9.0]


@pytest.mark.parametrize("kind", [OnlineHots, Homeostasis, Restarting, lambda c: Feast(c, np.zeros(len(c)))])
def test_first_centroids_are_copied_and_the_same_surfaces_give_the_same_centroids(rng, kind):
    centroids, surfaces = rng.uniform(size=(3, 4)), rng.uniform(size=(50, 4))
    first = centroids.copy()
    one, other = kind(centroids), kind(centroids)
    one.learn(surfaces)
    other.learn(surfaces)
    assert (one.centroids == other.centroids).all()
    assert (centroids == first).all()
