"""Transforms at their edges: coordinates beyond a byte, borders of boxes and of periods."""

import numpy as np
import pytest

from timesurf import Recordings, transforms


@pytest.mark.parametrize(("size", "dtype"), [(255, np.uint8), (256, np.uint8), (257, np.uint16), (70_000, np.uint32)])
def test_a_crop_keeps_coordinates_in_the_smallest_integers_that_hold_them(size, dtype):
    r = Recordings([[9, 10, 10 + size - 1, 10 + size]], [0, 1, 2, 3], field=(size + 20,))
    cut = transforms.crop(r, corner=[10], size=[size])
    assert cut.coords[0].tolist() == [0, size - 1]
    assert cut.coords[0].dtype == dtype
    assert cut.t.tolist() == [1, 2]


def test_a_box_with_sides_on_both_sides_of_a_byte_is_cropped_along_each():
    r = Recordings([[300, 99, 100], [50, 50, 49]], [0, 1, 2], field=(1000, 100))
    cut = transforms.crop(r, corner=[100, 50], size=[600, 20])
    assert [x.tolist() for x in cut.coords] == [[200], [0]]


def test_stabilising_a_large_field_keeps_coordinates_beyond_a_byte():
    r = Recordings([[300, 299], [0, 0]], [0, 10], field=(400, 2))
    assert transforms.stabilise(r, saccades=[(-1, 0)], duration=10).coords[0].tolist() == [300, 300]


def test_periods_include_their_last_microsecond():
    r = Recordings([[0, 0, 0]], [0, 9, 10], field=(1,))
    assert transforms.refractory(r, 10).t.tolist() == [0, 10]
    near = Recordings([[0, 1]], [0, 10], field=(2,))
    assert transforms.denoise(near, 10).t.tolist() == [10]
    assert transforms.denoise(near, 9).t.tolist() == []


def test_dropping_nothing_and_everything():
    r = Recordings([np.zeros(50, int)], np.arange(50), field=(1,))
    assert len(transforms.drop(r, 0).t) == 50
    assert len(transforms.drop(r, 1).t) == 0
    assert 10 < len(transforms.drop(r, 0.5, seed=0).t) < 40


def test_jitter_of_time_stays_between_0_and_the_last_time():
    r = Recordings([[0, 0]], [0, 2], field=(1,))
    moved = [t for seed in range(20) for t in transforms.jitter(r, time=5, seed=seed).t.tolist()]
    assert min(moved) == 0
    assert max(moved) > 2
