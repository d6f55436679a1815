"""Recordings whose arrays are made when they are first read, and the order in which recordings are run."""

import pickle

import numpy as np
import pytest

from timesurf import Recordings
from timesurf.bench import workloads
from timesurf.engines.cuda.held import HeldRecordings, Store, on_clock


@pytest.fixture
def pair():
    """The same recordings twice: plain ones, and held ones whose store lists when it was read."""
    plain, read = workloads.strokes(6, events=50, polarities=2), []

    def arrays():
        read.append(1)
        return plain.arrays[0], plain.arrays[1], plain.arrays[2:]

    held = HeldRecordings(
        Store(arrays), plain.offsets, field=plain.field, polarities=plain.polarities, labels=plain.labels
    )
    return plain, held, read


def test_nothing_is_read_until_events_are_asked_for_and_then_once(pair):
    plain, held, read = pair
    some = held[[4, 1]][:1]
    assert (len(held), some.counts.tolist(), some.labels.tolist()) == (6, [50], [4])
    assert held.origin == some.origin != held.on_field((40, 40), 2).origin
    assert not read
    np.testing.assert_array_equal(some.t, plain[[4]].t)
    np.testing.assert_array_equal(held.entries(), plain.entries())
    assert read == [1]


def test_whatever_is_done_with_recordings_can_be_done_with_held_ones(pair):
    plain, held, _ = pair
    assert held.fingerprint() == plain.fingerprint()
    assert held.with_one_polarity().polarities == 1
    np.testing.assert_array_equal(held.with_one_polarity().entries(), plain.with_one_polarity().entries())
    np.testing.assert_array_equal(held.on_field((40, 30), 3).entries(), plain.on_field((40, 30), 3).entries())
    np.testing.assert_array_equal((held + held).t, (plain + plain).t)
    again = pickle.loads(pickle.dumps(held[[2, 0]]))
    assert type(again) is Recordings
    np.testing.assert_array_equal(again.entries(), plain[[2, 0]].entries())
    np.testing.assert_array_equal(held.spans(), plain.spans())


def test_times_modulo_32_bits_come_back_on_the_recordings_clock():
    t = np.array([5, 9, 2**40, 2**40 + 3])
    wrapped = t.astype(np.uint32).view(np.int32)
    np.testing.assert_array_equal(on_clock(wrapped, t[[0, 2]], np.array([2, 2])), t)


@pytest.mark.parametrize("largest", [300, 1 << 20])
def test_recordings_are_run_the_longest_first_in_every_part(cuda, largest):
    counts = np.random.default_rng(0).integers(0, largest, (2, 60))
    parts = [slice(0, 20), slice(20, 45), slice(45, 80)]
    order = cuda.events.longest_first(counts, parts)
    for row, found in zip(counts, order, strict=True):
        assert sorted(found) == list(range(60))
        for part in (slice(0, 20), slice(20, 45), slice(45, 60)):
            mine = found[part]
            assert part.start <= mine.min() <= mine.max() < part.stop
            assert (np.diff(row[mine]) <= largest >> 16).all(), "beyond 16 bits to their first 16"
