"""Recordings turned, scaled and sheared: how far, about which point, and the same for any number of threads."""

import numpy as np
import pytest

from timesurf import Recordings, SettingError, transforms


def cloud(recordings=40, events=300, seed=0):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(10, 31, (2, recordings * events))
    offsets = np.arange(recordings + 1) * events
    t = np.tile(np.arange(events), recordings)
    return Recordings([x, y], t, None, offsets, field=(41, 41), labels=np.arange(recordings) % 3)


def fitted(before, after):
    """The matrix of each recording, by least squares about the middle."""
    found = []
    for a, b in zip(before, after, strict=True):
        one, other = (np.array(r.coords, float).T - 20 for r in (a, b))
        found.append(np.linalg.lstsq(one, other, rcond=None)[0].T)
    return np.array(found)


def test_each_recording_is_bent_in_its_own_way_within_the_amounts():
    plain = cloud()
    bent = transforms.bend(plain, turn=12, grow=0.1, shear=0.15, seed=3)
    a = fitted(plain, bent)
    size, angle = np.hypot(a[:, 0, 0], a[:, 1, 0]), np.rad2deg(np.arctan2(a[:, 1, 0], a[:, 0, 0]))
    assert np.abs(angle).max() < 13
    assert angle.std() > 3
    assert 0.88 < size.min() < 0.95 < 1.05 < size.max() < 1.12
    slant = a[:, 0, 1] / size + np.sin(np.deg2rad(angle))
    assert 0.05 < slant.std() < 0.15
    assert np.abs(slant).max() < 0.18


def test_times_polarities_and_labels_stay():
    plain = cloud(5)
    bent = transforms.bend(plain, seed=1)
    np.testing.assert_array_equal(bent.t, plain.t)
    np.testing.assert_array_equal(bent.p, plain.p)
    assert (bent.field, bent.labels.tolist(), bent.counts.tolist()) == (plain.field, plain.labels.tolist(), [300] * 5)
    assert not np.array_equal(bent.coords[0], plain.coords[0])


def test_the_same_for_any_number_of_threads_and_another_for_another_seed(monkeypatch):
    monkeypatch.setattr("timesurf.transforms.bending._AT_ONCE", 700)
    plain = cloud()
    one, four, other = (
        transforms.bend(plain, seed=seed, threads=threads).coords for seed, threads in ((1, 1), (1, 4), (2, 1))
    )
    for a, b in zip(one, four, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(one[0], other[0])


def test_a_selection_of_recordings_and_what_would_leave_the_field():
    corners = Recordings([[0, 8, 0, 8], [0, 0, 8, 8]], t=[0, 1, 2, 3], offsets=[0, 2, 4], field=(9, 9))
    grown = transforms.bend(corners[[1]], turn=0, grow=0.9, shear=0, seed=8)
    assert grown.counts.tolist() == [2]
    assert all(0 <= c.min() <= c.max() <= 8 for c in grown.coords)


def test_what_is_bent_by_nothing_stays_also_at_the_edges():
    corners = Recordings([[0, 12, 0, 12, 6], [0, 0, 8, 8, 4]], t=range(5), field=(13, 9))
    same = transforms.bend(corners, turn=0, grow=0, shear=0, seed=8)
    assert [c.tolist() for c in same.coords] == [c.tolist() for c in corners.coords]


def test_events_that_would_leave_the_field_come_at_its_edges():
    corners = Recordings([[1, 11] * 20, [1, 7] * 20], t=[0, 1] * 20, offsets=range(0, 41, 2), field=(13, 9))
    grown = transforms.bend(corners, turn=0, grow=0.99, shear=0, seed=8)
    assert [(int(c.min()), int(c.max())) for c in grown.coords] == [(0, 12), (0, 8)]


@pytest.mark.parametrize("amounts", [{"turn": -1}, {"turn": 181}, {"grow": 1.0}, {"grow": -0.1}, {"shear": 1.1}])
def test_amounts_out_of_range_are_refused(amounts):
    with pytest.raises(SettingError, match=next(iter(amounts))):
        transforms.bend(cloud(1), **amounts)


def test_a_line_cannot_be_bent():
    with pytest.raises(SettingError, match="two"):
        transforms.bend(Recordings([[1, 2]], t=[0, 1], field=(5,)))


def test_the_middle_of_a_field_stays_where_it_is():
    """Means of 800 events beside the middle, half on either side (seed 4; a margin of five standard errors)."""
    x = np.tile([16, 24], 400 * 20)
    beside = Recordings([x, x - 8], t=np.tile(np.arange(800), 20), offsets=np.arange(21) * 800, field=(41, 25))
    bent = transforms.bend(beside, turn=0, grow=0.5, shear=0, seed=4)
    means = np.array([[c.mean() for c in one.coords] for one in bent])
    np.testing.assert_allclose(means, np.tile([20.0, 12.0], (20, 1)), atol=0.1)


def test_a_seed_turns_and_scales_as_its_draws_say():
    """One angle, one size and one slant per recording, drawn in this order: the matrix is written out here."""
    plain = cloud(6, events=2000)
    rng = np.random.default_rng(5)
    angle, size, slant = (rng.uniform(-most, most, 6) for most in (np.deg2rad(10), 0.2, 0.3))
    expected = [
        (1 + s) * np.array([[np.cos(a), k - np.sin(a)], [np.sin(a), np.cos(a)]])
        for a, s, k in zip(angle, size, slant, strict=True)
    ]
    bent = transforms.bend(plain, turn=10, grow=0.2, shear=0.3, seed=5)
    np.testing.assert_allclose(fitted(plain, bent), expected, atol=0.01)
