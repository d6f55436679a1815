"""Transforms: each against what it says, on events drawn at random."""

import pickle
import tracemalloc
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesurf import EventError, Recordings, SettingError, transforms
from timesurf.datasets import nmnist
from timesurf.engines import pack
from timesurf.io import npz
from timesurf.transforms import parts


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
        (lambda r: transforms.add_noise(r, -1), SettingError, "rate = -1 must lie between 0 and 1,000,000"),
        (lambda r: transforms.add_noise(r, 1.1e6), SettingError, "rate"),
        (lambda r: transforms.add_hot_pixels(r, 21), SettingError, "pixels = 21 must be a whole number from 0 to 20"),
        (lambda r: transforms.add_hot_pixels(r, 1.5), SettingError, "pixels"),
        (lambda _: transforms.merge_polarities([1, 2]), EventError, "structured array"),
        (lambda r: transforms.refractory(r, "2 furlongs"), SettingError, "period"),
    ],
)
def test_mistakes_are_named(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong(Recordings([[0], [0]], t=[0], field=(5, 4)))


def test_a_small_file_with_a_huge_field_is_refused_and_writes_nowhere(tmp_path):
    path = tmp_path / "huge.npz"
    np.savez(path, x=[2**31], y=[2**31], t=[0], field=[2**32, 2**32], polarities=1)
    with pytest.raises(EventError, match=r"huge\.npz: A field of 4294967296 x 4294967296"):
        transforms.refractory(npz.read(path), "1 ms")


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_late_times_stay_exact(dtype):
    late = 2**60 + np.array([0, 1, 127, 300], dtype=dtype)
    r = Recordings([[0, 0, 0, 0]], late, field=(1,))
    assert transforms.time_crop(r, 2**60 + 1, 2**60 + 127).t.tolist() == [2**60 + 1]
    assert transforms.time_crop(r, np.int64(2**60 + 127)).t.tolist() == [2**60 + 127, 2**60 + 300]
    early = Recordings([[0, 0, 0, 0]], late - late[0] + 1000, field=(1,))
    moved, expected = (transforms.jitter(some, time="5 us", seed=2).t.astype(np.int64) for some in (r, early))
    assert (moved - 2**60).tolist() == (expected - 1000).tolist()
    assert transforms.refractory(r, 100).t.tolist() == [2**60, 2**60 + 127, 2**60 + 300]
    assert transforms.denoise(Recordings([[0, 1, 0, 1]], late, field=(2,)), 126).t.tolist() == late[1:3].tolist()


def test_times_never_leave_the_clock_by_jitter():
    last = Recordings([[0, 0]], [0, 2**62 - 1], field=(1,))
    assert all(0 <= t < 2**62 for seed in range(20) for t in transforms.jitter(last, time=1e19, seed=seed).t.tolist())


EVERY = {
    "crop": partial(transforms.crop, corner=(1, 1), size=(3, 2)),
    "merge": transforms.merge_polarities,
    "stabilise": partial(transforms.stabilise, saccades=[(1, 2), (-1, 0)], duration=40),
    "time_crop": partial(transforms.time_crop, start=10, stop=70),
    "refractory": partial(transforms.refractory, period=20),
    "denoise": partial(transforms.denoise, period=20),
    "drop": partial(transforms.drop, share=0.5),
    "jitter": partial(transforms.jitter, pixels=1, time=5),
    "add_noise": partial(transforms.add_noise, rate=5000),
    "add_hot_pixels": partial(transforms.add_hot_pixels, pixels=2, rate=1e5),
}


@pytest.mark.parametrize("name", EVERY)
@given(r=recordings())
def test_parts_and_mapped_files_give_the_same_events(tmp_path_factory, name, r):
    transform, whole = EVERY[name], EVERY[name](r)
    path = tmp_path_factory.mktemp("parts") / "a.npz"
    npz.write(path, r)
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(parts, "AT_ONCE", 10)
        for source in (r, npz.read(path)):
            again = transform(source)
            assert rows(again) == rows(whole)
            assert again.offsets.tolist() == whole.offsets.tolist()
            assert again.labels.tolist() == whole.labels.tolist()
            assert (again.field, again.polarities) == (whole.field, whole.polarities)
            assert again.fingerprint() == whole.fingerprint()
            assert rows(again[::-1]) == rows(whole[::-1])
            assert rows(pickle.loads(pickle.dumps(again[::-1]))) == rows(whole[::-1])


def many(recordings=1000, events=2000):
    """A data set of two million events with N-MNIST's field, in the dtypes of its file."""
    rng = np.random.default_rng(0)
    n = recordings * events
    x, y = (rng.integers(0, 34, n, dtype=np.uint8) for _ in range(2))
    t = np.sort(rng.integers(0, 300_000, (recordings, events), dtype=np.int32), axis=1).ravel()
    p = rng.integers(0, 2, n, dtype=np.uint8)
    return Recordings([x, y], t, p, np.arange(recordings + 1) * events, field=(34, 34), polarities=2)


def bytes_per_event(call, events):
    """The most memory that a call needed, and the memory of what it returned, per event."""
    tracemalloc.start()
    result = call()
    size, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del result
    return peak / events, size / events


def test_preparing_and_packing_need_little_memory_beyond_the_data(tmp_path):
    r = many()
    n = len(r.t)
    npz.write(tmp_path / "a.npz", r)
    mapped = npz.read(tmp_path / "a.npz")
    order = np.random.default_rng(0).permutation(len(r))
    peak, size = bytes_per_event(lambda: nmnist.prepared(r), n)
    assert size < 7  # what it returns: two coordinates, both of 1 byte, polarity, time
    assert peak < size + 9  # parts of one array beside the whole, and what a part of the recordings needs
    assert bytes_per_event(lambda: nmnist.prepared(mapped), n)[0] < 12  # of a part: less for more events
    assert bytes_per_event(lambda: pack(mapped[order]), n)[0] < 8 + 1  # 8 are the result


def test_memory_for_a_mapped_file_does_not_grow_with_it(tmp_path):
    r = many()
    npz.write(tmp_path / "a.npz", r)
    mapped = npz.read(tmp_path / "a.npz")
    half, whole = (  # parts that threads happen to hold at the same time count too: less of them in the best of a few
        min(bytes_per_event(lambda n=n: nmnist.prepared(mapped[:n]), 1)[0] for _ in range(4)) for n in (500, 1000)
    )
    assert whole < 1.1 * half


@pytest.mark.parametrize("far", [2**70, -(2**70), 1e308, float("inf"), float("nan")])
def test_distances_beyond_any_field_are_refused(far):
    one = Recordings([[1], [2]], t=[5], field=(5, 4))
    for change in (
        lambda: transforms.crop(one, corner=(far, 0), size=(2, 2)),
        lambda: transforms.stabilise(one, saccades=[(far, 0), (0, far)]),
        lambda: transforms.jitter(one, pixels=far),
    ):
        with pytest.raises(SettingError, match="must"):
            change()
