"""Exported C in float32 does what the reference does, on random networks and streams."""

import numpy as np
from hypothesis import given, settings

from tests.export.cases import expected, network_of, run
from tests.random_networks import cases

NEAR = 1e-4  # of squared distances: closer units, or thresholds, are near-ties


@given(case=cases())
@settings(max_examples=25)
def test_same_winners_and_rejections_except_at_near_ties(case):
    """Recordings in which nothing is near: the same units, rejections and decisions, event by event."""
    ran, decided = run(network_of(case), case.recordings)
    right = expected(case)
    for r, (a, b) in enumerate(zip(case.batch.offsets[:-1], case.batch.offsets[1:], strict=True)):
        near = np.flatnonzero(right.margin[a:b] < NEAR)
        stop = a + (near[0] if len(near) else b - a)  # after a near-tie all may differ
        mine = slice(a, stop)
        np.testing.assert_array_equal(ran.passed[mine], right.passed[mine])
        reached = right.winner[mine] >= 0
        np.testing.assert_array_equal(ran.fired[mine][reached], right.winner[mine][reached])
        if stop == b:
            assert decided[r] == right.decisions[r]
