"""What goes into an engine and comes out: packing, checks of mapped files, copies, joined outcomes."""

import hashlib

import numpy as np
import pytest

from timesurf import EventError
from timesurf.engines import Options, Outcome, Parameters, data, pack
from timesurf.events import Recordings
from timesurf.io import npz
from timesurf.layers import Full, Tile, stack

STAGES = stack([Tile((1,), units=3, tau=1), Full(units=4, units_per_class=2, tau=1)], (2,), 1)


def some():
    return Parameters.of([np.arange(6.0).reshape(2, 3), np.ones((1, 2))], [np.ones(2), np.full(1, np.inf)])


def test_no_unit_is_frozen_unless_it_is_said():
    assert [units.frozen.tolist() for units in some()] == [[False, False], [False]]
    frozen = Parameters.of([np.zeros((1, 1))], [np.ones(1)], [np.array([True])])
    assert frozen[0].frozen.tolist() == [True]


def test_parameters_are_the_same_only_to_the_bit():
    one = some()
    assert one.same(some().copy())
    for change in ("centroids", "thresholds", "frozen"):
        other = some()
        array = getattr(other[1], change)
        array[...] = True if change == "frozen" else np.nextafter(array, 0)
        assert not one.same(other)
        assert one.digest() != other.digest()
    assert not one.same(Parameters(one[:1]))
    assert not one.same(
        Parameters.of([np.arange(6.0).reshape(3, 2), one[1].centroids], [np.ones(2), np.full(1, np.inf)])
    )
    assert not Parameters.of([np.zeros(1)], [np.ones(1)]).same(Parameters.of([-np.zeros(1)], [np.ones(1)]))
    nan = Parameters.of([np.full(1, np.nan)], [np.ones(1)])
    assert nan.same(nan.copy())
    assert one.digest() == hashlib.sha256(b"".join(array.tobytes() for array in one.arrays)).hexdigest()[:16]


def test_copies_share_nothing_and_engines_get_contiguous_float64():
    one = some()
    copy = one.copy()
    for array in copy.arrays:
        array[...] = 1
    assert one.same(some())
    plain = Parameters.of([np.arange(6, dtype=np.int32).reshape(3, 2).T], [np.ones(2, np.float32)]).contiguous()
    assert [array.dtype for array in plain.arrays] == [np.float64, np.float64, np.bool_]
    assert plain[0].centroids.flags.c_contiguous
    frozen = np.array([True, False])
    kept = Parameters.of([np.zeros((2, 1))], [np.ones(2)], [frozen]).contiguous()
    kept[0].frozen[1] = True
    assert frozen.tolist() == [True, False]


# ------------------------------------------------------------------ packing


def test_a_batch_has_a_clock_of_its_own_for_each_recording(monkeypatch):
    recordings = Recordings(
        [[0, 1, 1, 0, 1]], [7, 9, 2**40, 2**40 + 5, 3], [1, 0, 1, 1, 0], [0, 2, 4, 4, 5], field=(2,), polarities=2
    )
    for at_once in (1 << 17, 1):
        monkeypatch.setattr(data, "_PACKED_AT_ONCE", at_once)
        batch = pack(recordings, np.array([0, 1, -1, 0]))
        assert batch.t.tolist() == [0, 2, 0, 5, 0]
        assert batch.entry.tolist() == [1, 2, 3, 1, 2]
        assert batch.offsets.tolist() == [0, 2, 4, 4, 5]
        assert batch.label.tolist() == [0, 1, -1, 0]
        assert (len(batch), batch.t.dtype, batch.entry.dtype, batch.label.dtype) == (4, np.int32, np.int32, np.int64)
    assert pack(recordings).label.tolist() == [-1] * 4


@pytest.mark.parametrize(("length", "kind"), [(2**29 - 1, np.int32), (2**29, np.int64)])
def test_times_take_64_bits_from_nine_minutes_on(length, kind):
    batch = pack(Recordings([[0, 0]], [5, 5 + length], field=(1,)))
    assert batch.t.dtype == kind
    assert batch.t.tolist() == [0, length]


def test_all_places_and_polarities_of_a_mapped_file_are_packed(tmp_path):
    npz.write(tmp_path / "all.npz", Recordings([[0, 1, 2] * 2], range(6), [0, 0, 0, 1, 1, 1], field=(3,), polarities=2))
    mapped = npz.read(tmp_path / "all.npz")
    assert mapped.mapped
    assert pack(mapped).entry.tolist() == [0, 2, 4, 1, 3, 5]


def checked(t, entry=None, offsets=(0, 2, 4), part=slice(0, 2), size=4):
    entry = np.zeros(len(t), int) if entry is None else np.array(entry)
    data._check_again(data.Batch(entry, np.array(t), np.array(offsets), np.zeros(len(offsets) - 1)), part, size)


@pytest.mark.parametrize(
    ("t", "about"),
    [
        ([0, 5, 0, 5], {}), ([5, 5, 5, 5], {}), ([0, 1, 2, 0], {"offsets": [0, 3, 4]}),
        ([9, 0, 0, 9, 0], {"offsets": [0, 1, 1, 4, 5], "part": slice(0, 4)}),
        ([0, 0, 0, 0], {"entry": [0, 3, 1, 2]}), ([9, 1, 0, 5], {"part": slice(1, 2)}), ([], {"offsets": [0, 0, 0]}),
        ([0, 1], {"offsets": [0, 0, 2], "part": slice(0, 2)}), ([0, 1], {"offsets": [0, 2, 2]}),
    ],
)  # fmt: skip
def test_what_is_still_valid_passes(t, about):
    checked(t, **about)


@pytest.mark.parametrize(
    ("t", "about"),
    [
        ([5, 4, 0, 5], {}), ([0, 5, 5, 4], {}), ([0, 2, 1, 3], {"offsets": [0, 3, 4]}),
        ([0, 0, 0, 0], {"entry": [0, 4, 0, 0]}), ([0, 0, 0, 0], {"entry": [0, 0, 0, -1]}),
        ([0, 1, 5, 4], {"part": slice(1, 2)}), ([0, 1, 0], {"offsets": [0, 0, 3]}), ([0, 1, 0], {"offsets": [0, 3, 3]}),
    ],
)  # fmt: skip
def test_what_is_no_longer_valid_is_refused(t, about):
    with pytest.raises(EventError, match="written to while it was in use"):
        checked(t, **about)


# ------------------------------------------------------------------ outcomes


def test_outcomes_begin_empty():
    batch = pack(Recordings([[0, 1, 1]], [0, 1, 2], offsets=[0, 2, 3], field=(2,)))
    for trace, rows in ((True, 3), (False, 0)):
        found = Outcome.empty(STAGES, batch, trace=trace)
        assert found.events.tolist() == [2, 1]
        assert (found.kept.tolist(), found.votes.tolist(), found.evidence) == ([[0, 0]] * 2, [[0, 0]] * 2, None)
        assert found.trace.winner.tolist() == [[-1, -1]] * rows
        assert np.isnan(found.trace.distance).all()
        assert np.isnan(found.trace.S).all()
        assert found.trace.distance.shape == found.trace.S.shape == (rows, 2)
        assert found.trace.passed.tolist() == [0] * rows
    warm = Outcome.empty(STAGES, batch, Options(temperature=1e-9), trace=False)
    assert warm.evidence.tolist() == [[0, 0]] * 2


def test_outcomes_of_parts_are_joined_in_their_order():
    parts = [Outcome(np.array([n]), np.array([[n, 1]]), np.array([[n, 2]])) for n in (3, 5)]
    joined = Outcome.joined(parts)
    assert (joined.events.tolist(), joined.kept.tolist(), joined.votes.tolist()) == (
        [3, 5],
        [[3, 1], [5, 1]],
        [[3, 2], [5, 2]],
    )
    assert joined.evidence is None
    for n, part in enumerate(parts):
        part.evidence = np.array([[n, n]])
    assert Outcome.joined(parts).evidence.tolist() == [[0, 0], [1, 1]]


def test_defaults_of_an_engine():
    assert Options() == Options(
        dtype="float64", threads=None, deterministic=False, precision="float64", temperature=0.0
    )
    assert data._PACKED_AT_ONCE == 131_072
    assert data.Learner((), some(), None, None).kept == 1
    assert data.KEPT_WEIGHT == 0.2
