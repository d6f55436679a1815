"""Transforms: each against what it says, on events drawn at random."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesurf import EventError, Recordings, SettingError, transforms


@st.composite
def recordings(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    counts = rng.integers(0, 30, draw(st.integers(1, 4)))
    n = int(counts.sum())
    t = np.concatenate([np.sort(rng.integers(0, 100, c)) for c in counts])
    x, y, p = rng.integers(0, 5, n), rng.integers(0, 4, n), rng.integers(0, 2, n)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    return Recordings([x, y], t, p, offsets, field=(5, 4), polarities=2, labels=np.arange(len(counts)))


def rows(recording):
    return list(zip(*(a.tolist() for a in (*recording.coords, recording.p, recording.t)), strict=True))


@given(recordings())
def test_crop_keeps_what_is_inside_and_moves_it(r):
    for before, after in zip(r, transforms.crop(r, corner=(1, 2), size=(3, 2)), strict=True):
        expected = [(x - 1, y - 2, p, t) for x, y, p, t in rows(before) if 1 <= x < 4 and 2 <= y < 4]
        assert rows(after) == expected
        assert after.field == (3, 2)


@given(recordings())
def test_merged_polarities_are_one(r):
    merged = transforms.merge_polarities(r)
    assert merged.polarities == 1
    assert rows(merged) == [(x, y, 0, t) for x, y, _, t in rows(r)]


@given(recordings(), st.integers(0, 100), st.integers(1, 100))
def test_time_crop(r, start, stop):
    cut = transforms.time_crop(r, start, stop)
    assert rows(cut) == [row for row in rows(r) if start <= row[3] < stop]
    assert cut.labels.tolist() == r.labels.tolist()


@given(recordings(), st.integers(1, 40))
def test_refractory_against_a_plain_loop(r, period):
    for before, after in zip(r, transforms.refractory(r, period), strict=True):
        last, expected = {}, []
        for x, y, p, t in rows(before):
            if t - last.get((x, y, p), -(10**9)) >= period:
                last[x, y, p] = t
                expected.append((x, y, p, t))
        assert rows(after) == expected


@given(recordings(), st.integers(1, 40))
def test_denoise_against_a_plain_loop(r, period):
    for before, after in zip(r, transforms.denoise(r, period), strict=True):
        last, expected = {}, []
        for x, y, p, t in rows(before):
            around = [(x + a, y + b) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)]
            if any(t - last.get(place, -(10**9)) <= period for place in around):
                expected.append((x, y, p, t))
            last[x, y] = t
        assert rows(after) == expected


@given(recordings())
def test_stabilising_a_still_image_changes_nothing(r):
    assert rows(transforms.stabilise(r, saccades=[(0, 0)], duration=10)) == rows(r)


def test_stabilise_moves_events_back_along_the_path():
    r = Recordings([[0, 5, 9], [0, 0, 0]], t=[0, 50, 90], field=(10, 1))
    assert transforms.stabilise(r, saccades=[(10, 0)], duration=100).coords[0].tolist() == [0, 0, 0]


@given(recordings(), st.floats(0, 1))
def test_drop_and_jitter_keep_the_seed_and_the_order(r, share):
    assert rows(transforms.drop(r, share, seed=3)) == rows(transforms.drop(r, share, seed=3))
    assert set(rows(transforms.drop(r, share))) <= set(rows(r))
    assert rows(transforms.jitter(r)) == rows(r)
    moved = transforms.jitter(r, pixels=1, time=10, seed=1)  # checks order, field and times itself
    assert len(moved) == len(r)
    assert rows(moved) == rows(transforms.jitter(r, pixels=1, time=10, seed=1))


def test_structured_arrays_go_through_as_in_a_tonic_compose():
    dtype = [("x", "i2"), ("y", "i2"), ("t", "i8"), ("p", "i1")]
    events = np.array([(3, 4, 10, 1), (0, 0, 20, 0), (4, 5, 30, 1)], dtype=dtype)
    for step in (partial(transforms.crop, corner=(3, 3), size=(28, 28)), transforms.merge_polarities):
        events = step(events)
    np.testing.assert_array_equal(events, np.array([(0, 1, 10, 0), (1, 2, 30, 0)], dtype=dtype))


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda r: transforms.crop(r, (0,), (2, 2)), SettingError, "2 numbers each"),
        (lambda r: transforms.crop(r, (0, 0), (0, 2)), EventError, "field"),
        (lambda r: transforms.drop(r, 2), SettingError, "share"),
        (lambda r: transforms.jitter(r, pixels=-1), SettingError, "pixels"),
        (lambda _: transforms.merge_polarities([1, 2]), EventError, "structured array"),
        (lambda r: transforms.refractory(r, "2 furlongs"), SettingError, "period"),
    ],
)
def test_mistakes_are_named(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong(Recordings([[0], [0]], t=[0], field=(5, 4)))
