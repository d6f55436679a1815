"""The speed benchmark measures everything; whether it is fast enough is for `timesurf bench speed --check`."""

import copy
import math

import pytest

from timesurf.bench import limits, speed, workloads


@pytest.fixture(scope="module")
def result():
    return speed.run(quick=True)


def test_every_network_and_job_is_measured(result):
    assert set(result["networks"]) == {"window", "nmnist", "deeper", "sentences"}
    assert set(result["growth"]) == {"events", "units", "window", "field", "scattered field", "layers"}
    for network in result["networks"].values():
        for job in speed.JOBS:
            row = network[job]
            assert 0 < row["events_per_s"] < math.inf
            assert row["times_plain"] == pytest.approx(row["events_per_s"] / row["plain_events_per_s"])
        swift, infer = network["online32"], network["infer"]
        assert swift["times_infer"] == pytest.approx(swift["events_per_s"] / infer["events_per_s"])
    assert result["networks"]["nmnist"]["infer"]["share_of_peak"] > 0


def test_networks_of_digits_run_on_recordings_that_are_given():
    data = workloads.strokes(130, events=20)
    found = [(name, len(some), len(some.t)) for name, _, some in speed._networks(data[:120])]
    assert found[:3] == [("window", 120, 2400), ("nmnist", 120, 2400), ("deeper", 30, 600)]


def test_sizes_grow_as_stated(result):
    assert result["digits"] == "generated pen strokes"
    for name, rows in result["growth"].items():
        sizes = [row[name] for row in rows]
        assert sizes == sorted(set(sizes))
        assert all(math.isfinite(row["infer_ns"]) for row in rows)
    assert result["growth"]["field"][-1]["field"] > 50 * result["growth"]["field"][0]["field"]


def test_limits_name_what_is_too_slow(result):
    slow = copy.deepcopy(result)
    for network, job, figure, least in limits.AT_LEAST:
        slow["networks"][network][job][figure] = 0.9 * least
    field = slow["growth"]["field"]
    field[0]["infer_ns"], field[-1]["infer_ns"] = 1.0, 1.1 * limits.LARGEST_FIELD
    sentences = limits.missed(slow)
    assert len(sentences) == len(limits.AT_LEAST) + 1
    assert "nmnist, infer: times plain is 45, at least 50 is asked for." in sentences
