"""Lanes depend on the batch alone, and are added in a fixed tree."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from timesurf.engines.cpu.lanes import add_up, deal


def test_every_recording_goes_to_one_lane_and_lanes_are_balanced():
    counts = np.random.default_rng(0).integers(1000, 9000, 200)
    dealt = deal(counts, 8)
    assert sorted(np.concatenate(dealt).tolist()) == list(range(200))
    loads = [counts[lane].sum() for lane in dealt]
    assert max(loads) < 1.02 * min(loads)


@given(st.integers(1, 20))
def test_sums_are_made_in_a_tree(lanes):
    values = np.random.default_rng(lanes).normal(size=lanes).astype(np.float32)
    added = [np.array([v]) for v in values]
    add_up(added)

    def total(a, b):
        if b - a == 1:
            return values[a]
        middle = a + (1 << ((b - a - 1).bit_length() - 1))  # the left side holds as many as the largest power of two
        return total(a, middle) + total(middle, b)

    assert added[0] == total(0, lanes)
