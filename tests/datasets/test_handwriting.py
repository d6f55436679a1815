"""Pictures in other handwriting, seen by other cameras."""

import numpy as np

from timesurf.datasets import handwriting
from timesurf.datasets.saccades import Camera


def bars(number=6):
    pictures = np.zeros((number, 28, 28), np.uint8)
    pictures[:, 4:24, 12:16] = 255
    return pictures


def test_each_picture_changes_in_its_own_way_and_keeps_its_ink():
    before, after = bars(), handwriting.rewritten(bars(), seed=1)
    assert (after.shape, after.dtype) == (before.shape, before.dtype)
    assert len({picture.tobytes() for picture in after}) == len(after)
    ink = after.sum(axis=(1, 2)) / before.sum(axis=(1, 2))
    assert 0.6 < ink.min() < ink.max() < 1.5
    assert not after[:, :1].any()  # nothing comes from the edge


def test_nothing_changes_where_amounts_are_none(monkeypatch):
    for name in ("TURN", "SIZE", "SHEAR", "BEND"):
        monkeypatch.setattr(handwriting, name, 0.0)
    np.testing.assert_array_equal(handwriting.rewritten(bars()), bars())


def test_the_same_for_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(handwriting, "_AT_ONCE", 2)
    one, three = (handwriting.rewritten(bars(), seed=[1, 2], threads=threads) for threads in (1, 3))
    np.testing.assert_array_equal(one, three)
    assert (one != handwriting.rewritten(bars(), seed=[1, 3])).any()


def test_cameras_lie_around_the_usual_one():
    rng = np.random.default_rng(0)
    found = [handwriting.camera(rng) for _ in range(30)]
    usual = Camera()
    for name, (low, high) in handwriting._FACTORS.items():
        shares = np.array([getattr(each, name) / getattr(usual, name) for each in found])
        assert low <= shares.min() < shares.max() <= high, name
    aside = np.array([np.subtract(each.path, usual.path) for each in found])
    assert np.abs(aside).max() <= 0.5
    assert np.ptp(aside, axis=1).max() < 1e-9  # a path is moved, not bent


def test_copies_come_one_after_another_with_their_labels(monkeypatch):
    monkeypatch.setattr(handwriting, "CAMERAS", 2)
    labels = np.array([3, 1, 4])
    seen = []
    found = handwriting.simulate(bars(3), labels, 2, prepare=lambda some: seen.append(len(some)) or some)
    assert found.labels.tolist() == [3, 1, 4] * 2
    assert sorted(seen) == [1, 1, 2, 2]
    assert (found.counts > 500).all()
    again = handwriting.simulate(bars(3), labels, 2)
    assert found.fingerprint() == again.fingerprint()
    assert found[:3].fingerprint() != found[3:].fingerprint()
