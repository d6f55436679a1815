"""A stream of hours, in seconds."""

import sys

import pytest

from timesurf.bench import endurance


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
def test_memory_stays_flat_and_results_stay_right():
    result = endurance.run(hours=2, events=400_000)
    for stream in result["streams"].values():
        assert stream["events"] > 390_000
        assert stream["growth_bytes"] < 1 << 20
    assert result["streams"]["a day, predicting"]["span_s"] > 7000
    assert result["votes_differ"] == 0
    assert result["adapted_to_the_same_bits"]
