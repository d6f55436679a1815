"""Transforms at their edges: coordinates beyond a byte, borders of boxes and of periods."""

from functools import partial

import numpy as np
import pytest

from tests.memory import peak
from timesurf import Recordings, SettingError, transforms
from timesurf.io import npz
from timesurf.transforms import bounds, filters


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


def test_the_saccades_of_nmnist_are_three_of_105_ms():
    x, y = [0, 10, 10, 10], [0, 20, 20, 20]
    r = Recordings([x, y], [0, 105_000, 210_000, 315_000], field=(30, 40))
    still = transforms.stabilise(r)
    assert [axis.tolist() for axis in still.coords] == [[0, 6, 3, 10], [0, 13, 20, 20]]  # 3.5 is rounded to even


def test_the_farthest_that_events_are_moved():
    one = Recordings([[0], [0]], [0], field=(1, 1))
    for corner in (-(2**31), 2**31):
        assert len(transforms.crop(one, corner=(corner, 0), size=(1, 1)).t) == 0
        with pytest.raises(SettingError, match="must lie within"):
            transforms.crop(one, corner=(0, corner + corner // 2**31), size=(1, 1))
    transforms.stabilise(one, saccades=[(2**31, 0)])
    with pytest.raises(SettingError, match="must stay within"):
        transforms.stabilise(one, saccades=[(0, 2**31), (0, 1)])
    transforms.jitter(one, pixels=2**31)
    with pytest.raises(SettingError, match="must lie between"):
        transforms.jitter(one, pixels=2**31 + 1)


def test_a_time_crop_without_a_start_begins_at_0():
    r = Recordings([[0, 0, 0]], [0, 1, 2], field=(1,))
    assert transforms.time_crop(r).t.tolist() == [0, 1, 2]
    assert transforms.time_crop(r, stop=2).t.tolist() == [0, 1]
    assert transforms.time_crop(r, 1).t.tolist() == [1, 2]


@pytest.mark.parametrize("rate", [1, 1e6])
def test_rates_of_hot_pixels_have_ends(rate):
    r = Recordings([[0, 0]], [0, 10], field=(1,))
    assert transforms.hot_pixels(r, rate).t.tolist() == ([0] if rate == 1 else [0, 10])
    for wrong in (0.999, 1e6 + 1):
        with pytest.raises(SettingError, match="must lie between"):
            transforms.hot_pixels(r, wrong)


def test_hot_pixels_are_left_out_from_the_count_that_their_rate_makes():
    r = Recordings([[0] * 4], [0, 0, 0, 0], field=(1,))
    assert len(transforms.hot_pixels(r, 20).t) == 2  # 20 per second are 2 in 100 ms
    assert len(transforms.hot_pixels(r, 29).t) == 2
    assert len(transforms.hot_pixels(r, 30).t) == 3


def test_downsampled_fields_hold_what_does_not_divide_them():
    r = Recordings([[0, 4, 8], [0, 1, 2]], [7, 8, 29], field=(9, 3))
    coarse = transforms.downsample(r, (4, 2))
    assert (coarse.field, [x.tolist() for x in coarse.coords]) == ((3, 2), [[0, 1, 2], [0, 0, 1]])
    assert coarse.t.tolist() == [7, 8, 29]
    assert transforms.downsample(r, time=10).t.tolist() == [0, 0, 20]
    assert transforms.downsample(r, time=0.25).t.tolist() == [7, 8, 29]  # never finer than a microsecond
    assert transforms.downsample(r, time=10).field == (9, 3)
    assert transforms.downsample(r, time="1e30 s").t.tolist() == [0, 0, 0]
    for wrong in (0, 1.5, (2,), (1, 0), (1, 2, 3)):
        with pytest.raises(SettingError, match="2 of them or one"):
            transforms.downsample(r, wrong)
    assert transforms.downsample(r, np.int8(9)).field == (1, 1)


def test_factors_may_be_larger_than_what_coordinates_are_kept_in():
    narrow = Recordings([np.array([0, 200], np.uint8)], [0, 1], field=(1000,))
    assert transforms.downsample(narrow, 300).coords[0].tolist() == [0, 0]
    assert transforms.downsample(narrow, 300).field == (4,)
    for beyond in (1000, 2**63, 2**70):
        assert transforms.downsample(narrow, beyond).field == (1,)


def test_of_the_events_of_one_coarse_time_the_first_of_each_recording_remains():
    r = Recordings([[0, 0, 1, 0, 0]], [1, 2, 3, 4, 5], [0, 1, 0, 0, 0], offsets=[0, 3, 5], field=(2,), polarities=2)
    coarse = transforms.downsample(r, time=10)
    assert (coarse.coords[0].tolist(), coarse.p.tolist(), coarse.counts.tolist()) == (
        [0, 0, 1, 0],
        [0, 1, 0, 0],
        [3, 1],
    )


def test_axes_and_polarities_are_numbered_from_0():
    r = Recordings([[0, 3], [1, 1]], [1, 2], [0, 1], field=(6, 2), polarities=2)
    assert [x.tolist() for x in transforms.flip(r).coords] == [[5, 2], [1, 1]]
    assert [x.tolist() for x in transforms.flip(r, 1).coords] == [[0, 3], [0, 0]]
    for p in (0, 1):
        only = transforms.only_polarity(r, p)
        assert (only.t.tolist(), only.p.tolist(), only.polarities) == ([1 + p], [0], 1)
    for wrong in (-1, 2, "x"):
        with pytest.raises(SettingError, match="axis = "):
            transforms.flip(r, wrong)
        with pytest.raises(SettingError, match="p = "):
            transforms.only_polarity(r, wrong)


def test_noise_has_no_neighbour_on_any_side_of_any_dimension():
    for dimension in range(3):
        for step in (-1, 1):
            places = np.ones((2, 3), int)
            places[1, dimension] += step
            r = Recordings(list(places.T), [0, 5], field=(3, 3, 3))
            assert transforms.denoise(r, 5).t.tolist() == [5]
    same = Recordings([[1, 1]], [0, 1], field=(3,))
    assert transforms.denoise(same, 5).t.tolist() == []  # a pixel does not support itself


def test_jitter_moves_by_what_was_asked_for_and_drop_leaves_the_rest():
    n = 4000
    r = Recordings([np.full(n, 50), np.full(n, 60)], np.full(n, 10**6), field=(100, 120))
    moved = transforms.jitter(r, pixels=2, time=300, seed=1)
    assert len(moved.t) == n
    for values, mean, deviation in ((moved.coords[0], 50, 2), (moved.coords[1], 60, 2), (moved.t, 10**6, 300)):
        assert np.mean(values, dtype=float) == pytest.approx(mean, abs=0.1 * deviation)
        assert np.std(values.astype(float)) == pytest.approx(deviation, rel=0.1)
    assert (np.diff(moved.t) >= 0).all()
    assert len(transforms.drop(r, 0.25).t) == pytest.approx(0.75 * n, rel=0.05)
    for wrong in (-0.1, 1.1):
        with pytest.raises(SettingError, match="share"):
            transforms.drop(r, wrong)


FILTERS = {
    "refractory": partial(transforms.refractory, period=5),
    "denoise": partial(transforms.denoise, period=5),
    "hot_pixels": partial(transforms.hot_pixels, rate=10),
    "add_hot_pixels": partial(transforms.add_hot_pixels, pixels=1),
}


@pytest.mark.parametrize("name", FILTERS)
def test_a_small_file_with_a_vast_field_does_not_fill_the_memory(name, tmp_path):
    npz.write(tmp_path / "vast.npz", Recordings([[0, 46339], [0, 46339]], [0, 9], field=(46340, 46340)))
    vast = npz.read(tmp_path / "vast.npz")

    def refused():
        with pytest.raises(SettingError, match=r"field of 46340 x 46340 would take 16.0 GiB; at most .* Crop or down"):
            FILTERS[name](vast)

    assert peak(refused)[0] < 1 << 20
    small = transforms.crop(vast, (0, 0), (10, 10))
    assert FILTERS[name](small).field == (10, 10)


@pytest.mark.parametrize("name", FILTERS)
def test_as_many_pixels_as_a_filter_takes_and_no_more(name, monkeypatch):
    monkeypatch.setattr(bounds, "MOST_PIXELS", 12)
    FILTERS[name](Recordings([[0], [0]], [0], field=(4, 3)))
    with pytest.raises(SettingError, match="of 13 would"):
        FILTERS[name](Recordings([[0]], [0], field=(13,)))
    if name == "refractory":  # which remembers polarities apart
        with pytest.raises(SettingError, match=r"of 7 with 2 polarities would .* the 14 are"):
            FILTERS[name](Recordings([[0]], [0], field=(7,), polarities=2))
    else:
        FILTERS[name](Recordings([[0]], [0], field=(7,), polarities=2))


def test_noise_on_a_vast_field_needs_memory_for_its_events_alone():
    vast = Recordings([[0, 46339], [0, 46339]], [0, 1000], field=(46340, 46340))
    needed, noisy = peak(lambda: transforms.add_noise(vast, 1e-3))
    assert len(noisy.t) == pytest.approx(2150, abs=200)
    assert needed < 1 << 20


def test_between_recordings_filters_set_back_only_what_was_written():
    """Time is then linear in events, however large the field."""
    entry, t, offsets = np.array([0, 1, 1, 0]), np.array([3, 4, 5, 6]), np.array([0, 2, 4])
    last, count = np.array([0, 0, 99]), np.array([0, 0, 9.0])
    keep = np.zeros(4, np.bool_)
    filters.refractory(entry, t, offsets, 3.0, last, keep)
    assert (keep.all(), last.tolist()) == (True, [0, 0, 99])
    steps = np.array([[-1], [1]])
    filters.supported(entry[:, None], entry, t, offsets, np.array([2]), steps, 9.0, last, True, keep := keep & False)
    assert (keep.tolist(), last.tolist()) == ([False, True, False, True], [0, 0, 99])
    filters.not_hot(entry, t, offsets, 1.0, last, count, True, keep)
    assert (keep.all(), last.tolist(), count.tolist()) == (True, [0, 0, 99], [0, 0, 9])


def test_a_pixel_that_never_fired_supports_none_however_long_the_period():
    assert transforms.denoise(Recordings([[0, 5]], [0, 4], field=(6,)), period=1e30).t.tolist() == []
    assert transforms.refractory(Recordings([[0, 5]], [0, 4], field=(6,)), period=1e30).t.tolist() == [0, 4]


def test_neighbours_in_no_dimension_and_in_many():
    placeless = Recordings([], [0, 1], field=())
    assert transforms.denoise(placeless, 9).t.tolist() == []
    near = [[0, 1]] * 8
    assert transforms.denoise(Recordings(near, [0, 1], field=(2,) * 8), 9).t.tolist() == [1]
    with pytest.raises(SettingError, match="In 9 dimensions a pixel touches 19,682 others"):
        transforms.denoise(Recordings([*near, [0, 1]], [0, 1], field=(2,) * 9), 9)


def test_filters_hold_a_number_for_at_most_67_million_pixels_and_polarities():
    assert bounds.pixels((1 << 13, 1 << 13)) == 1 << 26
    assert bounds.pixels((1 << 13, 1 << 12), 2) == 1 << 26
    for field, polarities in (((1 << 13, (1 << 13) + 1), 1), (((1 << 25) + 1,), 2)):
        with pytest.raises(SettingError, match="at most 67,108,864"):
            bounds.pixels(field, polarities)
