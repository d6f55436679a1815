"""Noise and hot pixels that are added to recordings."""

from collections import Counter

import numpy as np
import pytest

from timesurf import Recordings, SettingError, transforms
from timesurf.transforms import disturbances

SECOND = 1_000_000


def rows(recording):
    return Counter(zip(*(a.tolist() for a in (*recording.coords, recording.p, recording.t)), strict=True))


@pytest.fixture
def two():
    """Two recordings of two and of one second, and one without events."""
    t = [5 * SECOND, 7 * SECOND, 0, SECOND]
    offsets, labels = [0, 2, 4, 4], ["a", "b", "c"]
    return Recordings([[0, 1, 2, 3]] * 2, t, [0, 1, 1, 0], offsets, field=(40, 30), polarities=2, labels=labels)


def test_noise_comes_at_its_rate_everywhere_while_a_recording_lasts(two):
    noisy = transforms.add_noise(two, rate=10, seed=1)
    assert noisy.labels.tolist() == ["a", "b", "c"]
    assert (noisy.field, noisy.polarities) == ((40, 30), 2)
    assert noisy.counts.tolist() == pytest.approx([24_002, 12_002, 0], rel=0.03)
    for before, after in zip(two, noisy, strict=True):
        assert rows(before) <= rows(after)
    first = noisy[0]
    assert (int(first.t[0]), int(first.t[-1])) == (5 * SECOND, 7 * SECOND)
    for values, middle in (*zip(first.coords, (19.5, 14.5), strict=True), (first.p, 0.5), (first.t, 6 * SECOND)):
        assert np.mean(values, dtype=float) == pytest.approx(middle, rel=0.03)
    assert {len(np.unique(first.entries()))} == {40 * 30 * 2}


def test_hot_pixels_are_the_same_in_all_recordings_and_fire_under_one_polarity(two):
    hot = transforms.add_hot_pixels(two, 3, rate=500, seed=2)
    added = [rows(after) - rows(before) for before, after in zip(two, hot, strict=True)]
    places = [Counter(row[:3] for row in some.elements()) for some in added]
    assert places[0].keys() == places[1].keys()
    assert len(places[0]) == 3
    assert len({place[:2] for place in places[0]}) == 3
    assert list(places[0].values()) == pytest.approx([1000] * 3, rel=0.15)
    assert list(places[1].values()) == pytest.approx([500] * 3, rel=0.2)
    assert not places[2]
    more = transforms.add_hot_pixels(two, 5, rate=500, seed=2)
    assert set(np.unique(hot.entries())) <= set(np.unique(more.entries()))
    assert len({place[2] for place in (rows(transforms.add_hot_pixels(two, 20)) - rows(two))}) == 2


def test_nothing_is_added_at_rate_0_and_the_same_for_the_same_seed(two):
    for add in (transforms.add_noise, lambda some, rate, seed: transforms.add_hot_pixels(some, 2, rate, seed)):
        assert add(two, 0, 0).fingerprint() == two.fingerprint()
        assert add(two, 100, 3).fingerprint() == add(two, 100, 3).fingerprint() != add(two, 100, 4).fingerprint()
    assert transforms.add_hot_pixels(two, 0).fingerprint() == two.fingerprint()


def test_narrow_types_hold_added_events_and_late_times():
    late = 2**62 - 1_000_000
    narrow = Recordings([np.array([0, 3], np.uint8)], np.array([late - 10_000, late], np.uint64), field=(1000,))
    noisy = transforms.add_noise(narrow, 100)
    assert noisy.coords[0].max() > 255
    assert noisy.t.dtype == np.uint64
    assert noisy.t.min() == late - 10_000
    assert noisy.t.max() == late


def test_events_without_a_place_and_arrays_take_noise_too():
    placeless = Recordings([], [0, SECOND], [0, 1], field=(), polarities=2)
    assert len(transforms.add_noise(placeless, 100).t) == pytest.approx(102, abs=30)
    events = np.zeros(2, [("x", "i2"), ("y", "i2"), ("t", "i8"), ("p", "i1")])
    events["t"], events["x"] = [0, SECOND], [0, 9]
    noisy = transforms.add_noise(events, 10)
    assert noisy.dtype == events.dtype
    assert len(noisy) > 50


def test_more_events_than_memory_holds_are_refused():
    long = Recordings([[0, 0]], [0, 10**13], field=(1000,))
    with pytest.raises(SettingError, match="would add 10,000,000,000 events"):
        transforms.add_noise(long, 1)
    longest = Recordings([[0, 0]], [0, 2**61], field=(1000,))
    with pytest.raises(SettingError, match="would add 11,529,215,046,068,470"):
        transforms.add_noise(longest, 5)
    edge = Recordings([[0, 0]], [0, SECOND], field=(1,))
    assert len(transforms.add_noise(edge, 1_000_000).t) > 900_000


def test_a_rate_is_at_most_one_event_per_microsecond_and_268_million_in_all():
    edge = Recordings([[0, 0]], [0, 1000], field=(1,))
    with pytest.raises(SettingError, match="between 0 and 1,000,000"):
        transforms.add_noise(edge, 1_000_000.5)
    with pytest.raises(SettingError, match="between 0 and"):
        transforms.add_noise(edge, -0.5)
    long = Recordings([[0, 0]], [0, 2**28 + 2], field=(1,))
    with pytest.raises(SettingError, match="would add 268,435,458 events, more than 268,435,456"):
        transforms.add_noise(long, 1_000_000)


def test_as_many_added_events_as_there_may_be_and_no_more(monkeypatch):
    monkeypatch.setattr(disturbances, "_MOST", 1000)
    assert len(transforms.add_noise(Recordings([[0, 0]], [0, 1000], field=(1,)), 1_000_000).t) > 800
    with pytest.raises(SettingError, match="more than 1,000"):
        transforms.add_noise(Recordings([[0, 0]], [0, 1001], field=(1,)), 1_000_000)


def test_the_first_pixel_and_polarity_beyond_a_byte_are_hit_too():
    some = Recordings([[0, 0]], [0, SECOND], [0, 0], field=(257,), polarities=257)
    noisy = transforms.add_noise(some, 20_000)
    assert int(noisy.coords[0].max()) == 256
    assert int(noisy.p.max()) == 256


def test_hot_pixels_are_at_most_all_of_the_field():
    some = Recordings([[0, 0]], [0, SECOND], field=(3,))
    assert set(transforms.add_hot_pixels(some, 3, rate=100).coords[0].tolist()) == {0, 1, 2}
    for wrong in (4, -1, True, 1.0):
        with pytest.raises(SettingError, match="from 0 to 3"):
            transforms.add_hot_pixels(some, wrong)
