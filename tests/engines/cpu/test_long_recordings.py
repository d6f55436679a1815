"""Long recordings: inference needs memory for their events alone, and they are packed in stretches."""

import numpy as np
import pytest

from timesurf import Full, Recordings, Window
from timesurf.engines import data, pack
from timesurf.engines.cpu import engine
from timesurf.layers import stack

STAGES = stack([Window(3, units=4, tau=100), Full(units=2, tau=100)], (5, 4), 2)


def test_inference_takes_as_much_memory_for_a_long_recording_as_for_a_short_one():
    few, many = (engine.memory(STAGES, np.array([n]), learn=False) for n in (1000, 10_000_000))
    assert few == many
    assert engine.memory(STAGES, np.array([10_000_000]), learn=True) > 100 * many  # to look back on


@pytest.mark.parametrize("at_once", [1, 7, 100])
def test_a_recording_is_packed_the_same_in_stretches(at_once, monkeypatch, rng):
    counts = [50, 0, 3, 120]
    n = sum(counts)
    t = np.concatenate([np.sort(rng.integers(0, 2**33, c)) for c in counts])
    x, y, p = rng.integers(0, 5, n), rng.integers(0, 4, n), rng.integers(0, 2, n)
    recordings = Recordings([x, y], t, p, np.cumsum([0, *counts]), field=(5, 4), polarities=2)
    for some in (recordings, recordings[[3, 0]], recordings[1]):
        whole = pack(some)
        with monkeypatch.context() as small:
            small.setattr(data, "_PACKED_AT_ONCE", at_once)
            stretches = pack(some)
        np.testing.assert_array_equal(stretches.entry, whole.entry)
        np.testing.assert_array_equal(stretches.t, whole.t)
        assert stretches.t.dtype == whole.t.dtype
