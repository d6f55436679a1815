"""Several units per class: how they start, and how a network with them grows."""

import numpy as np
import pytest

from timesurf import EventError, Full, Network, Recordings, Window


def two_looks(recordings=16):
    """Class 0 on the left or the far left of a line, class 1 on the right or the far right."""
    rng = np.random.default_rng(0)
    look = np.arange(recordings) % 4
    x = 4 * np.repeat(look, 30) + rng.integers(0, 4, 30 * recordings)
    t = np.tile(np.arange(30) * 100, recordings)
    return Recordings([x], t, offsets=np.arange(recordings + 1) * 30, field=(16,), labels=look // 2)


def network(classes=2, units=None):
    layers = [Window(3, units=3, tau="1 ms"), Full(units=units, tau="3 ms", units_per_class=2)]
    return Network(layers, (16,), 1, range(classes))


def test_units_of_a_class_start_at_its_different_looks():
    """Each unit of the last layer sees most where its own look has its events, and the four differ."""
    data = two_looks()
    started = network().start(data, start="kmeans", sample=4)
    where = started.parameters[1].centroids.sum(axis=-1).reshape(4, 4, 4).sum(axis=-1).argmax(axis=1)
    assert sorted(where[:2].tolist()) == [0, 1]
    assert sorted(where[2:].tolist()) == [2, 3]
    assert started.evaluate(data)["recording_accuracy"] == 1


def test_a_quick_start_has_the_units_of_a_class_a_little_apart_around_its_mean():
    data = two_looks()
    several = network().start(data, start="quick").parameters[1].centroids
    one = Network([Window(3, units=3, tau="1 ms"), Full(tau="3 ms")], (16,), 1, range(2)).start(data, start="quick")
    mean = np.repeat(one.parameters[1].centroids, 2, axis=0)
    apart = (several / np.where(mean > 0, mean, 1) - 1)[mean > 0]
    assert 0.015 < apart.std() < 0.025
    assert not np.array_equal(several[0], several[1])
    assert np.array_equal(several > 0, mean > 0)
    network().start(data[np.array([0, 2])], start="quick")  # one recording per class is enough


def test_a_class_with_fewer_recordings_than_units_is_refused():
    with pytest.raises(EventError, match="needs 2 recordings of every class, but class number 1 has 1"):
        network().start(two_looks()[np.array([0, 1, 2, 4, 5])], start="kmeans")


@pytest.mark.parametrize("units", [None, 2])
@pytest.mark.parametrize("start", ["mean", "kmeans"])
def test_new_classes_get_their_units_after_the_old(start, units):
    data = two_looks()
    first = data[data.labels == 0]
    grown = network(classes=1, units=units).start(first, start="kmeans")
    old = grown.snapshot()
    grown.extend(data[data.labels == 1], units=[1], classes=[1], start=start)
    last = grown.parameters[1]
    assert len(last.thresholds) == 4
    assert last.frozen.tolist() == [True, True, False, False]
    np.testing.assert_array_equal(last.centroids[:2, ..., :3], old[1].centroids)
    assert not np.array_equal(last.centroids[2], last.centroids[3])
    assert grown.infer(data).votes.shape == (16, 2)


def test_a_network_with_several_units_per_class_can_be_tightened():
    data = two_looks()
    started = network().start(data, start="kmeans")
    before = started.evaluate(data)["recording_accuracy"]
    assert started.tighten(data).evaluate(data)["recording_accuracy"] >= before
