"""Lanes: dealt by the batch alone, added in a tree that does not care who holds which."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from timesurf.engines.lanes import add_up, deal, nodes


def test_every_recording_goes_to_one_lane_and_lanes_are_balanced():
    counts = np.random.default_rng(0).integers(1000, 9000, 200)
    dealt = deal(counts, 8)
    assert sorted(np.concatenate(dealt).tolist()) == list(range(200))
    loads = [counts[lane].sum() for lane in dealt]
    assert max(loads) < 1.02 * min(loads)


@given(st.integers(1, 20), st.data())
def test_sums_are_the_same_bits_however_lanes_are_spread(lanes, data):
    values = [np.float32(v) for v in np.random.default_rng(lanes).normal(size=lanes)]
    alone = [np.array([v]) for v in values]
    add_up(alone)
    cuts = sorted({0, lanes, *data.draw(st.lists(st.integers(0, lanes), max_size=4))})
    handed_on = {}
    for first, last in itertools.pairwise(cuts):
        for a, b in nodes(lanes, first, last):
            mine = [np.array([v]) for v in values[a:b]]
            add_up(mine)
            handed_on[a, b] = mine[0]

    def total(a, b):
        if (a, b) in handed_on:
            return handed_on[a, b]
        middle = a + (1 << ((b - a - 1).bit_length() - 1))
        return total(a, middle) + total(middle, b)

    assert total(0, lanes) == alone[0]
    assert sum(b - a for a, b in handed_on) == lanes
