"""Looking ahead: packets of many events are decided as the same events one by one, also in doubtful cases."""

import numpy as np
import pytest

from timesurf import Full, Network, Session, Window
from timesurf.engines import Parameters


def network(rng, units, copies, thresholds):
    """Centroids between 0 and 1, some of them equal or nearly so, with thresholds that many events are close to."""
    made = Network([Window(3, units=units, tau="5 ms"), Full(tau="20 ms")], (6, 5), 2, ["a", "b", "c"])
    c = [rng.random((s.units, *s.surface_shape)) * 0.4 for s in made.stages]
    for one, other in copies:
        c[0][one] = c[0][other] * (1 + 1e-9 * (one % 2))
    th = [np.full(units, thresholds), np.full(3, np.inf)]
    made.parameters = Parameters.of(c, th)
    return made


def stream(rng, n):
    events = np.zeros(n, [("x", int), ("y", int), ("t", int), ("p", int)])
    events["t"] = np.cumsum(rng.integers(0, 400, n))
    for name, size in (("x", 6), ("y", 5), ("p", 2)):
        events[name] = rng.integers(0, size, n)
    return events


@pytest.mark.parametrize(("seed", "units"), [(0, 7), (1, 8), (2, 9), (3, 16), (4, 37), (5, 50)])
@pytest.mark.parametrize("thresholds", [np.inf, 1.15])
def test_outputs_are_those_of_single_events(seed, units, thresholds):
    """The closest of many units is looked for in vectors of sixteen, and among what is left over."""
    rng = np.random.default_rng(seed)
    copies = [(5, 2), (3, 2), (6, 0), (units - 1, 1)]
    one, events = network(rng, units, copies, thresholds), stream(rng, 2000)
    alone, together = Session(one), Session(one)
    found = [alone.push(events[i : i + 1]) for i in range(len(events))]
    single = np.concatenate(
        [[(i, u, S) for u, S in zip(now.units, now.S, strict=True)] for i, now in enumerate(found) if len(now.S)]
    )
    blocks = together.push(events)
    assert 100 < len(blocks.events) <= len(events)
    assert (thresholds == np.inf) == (len(blocks.events) == len(events))
    np.testing.assert_array_equal(blocks.events, single[:, 0])
    np.testing.assert_array_equal(blocks.units, single[:, 1])
    np.testing.assert_array_equal(blocks.S, single[:, 2])
    np.testing.assert_array_equal(alone.votes, together.votes)


def test_a_session_that_begins_to_adapt_learns_from_there_on():
    rng = np.random.default_rng(0)
    one, events = network(rng, 5, [], np.inf), stream(rng, 600)
    session = Session(one)
    session.push(events[:300])
    np.testing.assert_array_equal(session.adapted().parameters[0].centroids, one.parameters[0].centroids)
    session.start_adapting()
    session.push(events[300:])
    assert (session.adapted().parameters[0].centroids != one.parameters[0].centroids).any()


@pytest.mark.parametrize("seed", range(5))
def test_a_distance_next_to_the_threshold_is_looked_at_again(seed):
    """Events far apart have one surface each: a 1. Thresholds are its distance, and the numbers next to that."""
    rng = np.random.default_rng(seed)
    made = Network([Window(3, units=1, tau=10.0), Full(tau=10.0)], (6, 5), 1, ["a", "b"])
    c = [rng.random((s.units, *s.surface_shape)) for s in made.stages]
    events = np.zeros(300, [("x", int), ("y", int), ("t", int)])
    events["x"], events["y"], events["t"] = 3, 2, 100_000 * np.arange(300)
    surface = np.zeros(made.stages[0].surface_shape)
    surface[1, 1] = 1
    distance, found = np.sqrt(((surface - c[0][0]) ** 2).sum()), []
    for threshold in distance * (1 + 1e-12 * np.arange(-3, 4)):
        made.parameters = Parameters.of(c, [np.full(1, threshold), np.full(2, np.inf)])
        alone, together = Session(made), Session(made)
        single = sum(len(alone.push(events[i : i + 1]).events) for i in range(len(events)))
        assert len(together.push(events).events) == single
        found.append(single)
    assert (found[0], found[-1]) == (0, 300)
