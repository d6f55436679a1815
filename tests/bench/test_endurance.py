"""A stream of hours, simulated in seconds."""

import sys

import pytest

from timesurf.bench import endurance


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
def test_memory_stays_constant_and_results_stay_correct():
    result = endurance.run(hours=2, events=400_000)
    for stream in result["streams"].values():
        assert stream["events"] > 390_000
        assert stream["growth_bytes"] < 1 << 20  # margin for the allocator, under 3 bytes per event
    assert result["streams"]["a day, predicting"]["span_s"] > 7000
    assert result["votes_differ"] == 0
    assert result["adapted_to_the_same_bits"]
