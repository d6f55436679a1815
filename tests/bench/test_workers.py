"""Many workers: a small measurement, and the cost model."""

import numpy as np
import pytest

from timesurf.bench import scaling, workers

TOUCHED = [{"recordings": n, "bytes": b, "of": 1_000_000} for n, b in ((1, 100_000), (64, 500_000), (512, 900_000))]


def measured(cost, cores=64):
    """Batches with the times that a cluster of this cost would need."""
    about = {"machine": {"cores": cores}, "events_per_recording": 4000.0, "touched": TOUCHED, "rows": []}
    about["bytes_per_s"] = cost.bytes_per_s
    work = scaling.digits(about)
    for batch in (64, 512):
        for n in (1, 2, 4, 8):
            sent, received = n * work.sum_bytes(batch), n * work.sum_bytes(batch / n)
            computing = batch * work.events / (cost.events_per_s * min(n, cores))
            seconds = computing + cost.batch + cost.task * n + (sent + received) / cost.bytes_per_s
            row = {"batch": batch, "workers": n, "seconds": float(seconds), "sent": sent, "received": received}
            about["rows"].append(row)
    return about


@pytest.mark.parametrize("cores", [64, 2])
def test_the_cost_model_finds_the_cost_that_batches_were_made_with(cores):
    cost = scaling.Cost(4e6, 0.01, 0.003, 1e9)
    found = scaling.fit(measured(cost, cores))
    for name in ("events_per_s", "batch", "task", "bytes_per_s"):
        assert found[name] == pytest.approx(getattr(cost, name), rel=1e-6)
    assert max(abs(row["off"]) for row in found["batches"]) < 1e-6


def test_times_without_any_pattern_still_give_finite_costs():
    noisy = measured(scaling.Cost(4e6, 0.01, 0.003, 1e9))
    for row in noisy["rows"]:
        row["seconds"] = 1 / row["batch"]  # larger batches seem faster
    assert np.isfinite(scaling.fit(noisy)["events_per_s"])


def test_more_workers_help_until_exchange_dominates():
    cost = scaling.Cost(4e6, 0.01, 0.003, 1e9)
    about = measured(cost)
    about["simulated"] = scaling.fit(about)
    work = scaling.digits(about)
    assert scaling.faster(cost, work, np.array([1]))[0] == pytest.approx(1)
    at = scaling.balance(cost, work)
    parts = scaling.seconds(cost, work, at)
    assert parts["waiting"] + parts["travelling"] > parts["computing"]
    parts = scaling.seconds(cost, work, at - 1)
    assert parts["waiting"] + parts["travelling"] <= parts["computing"]
    slower = scaling.Cost(4e6, 0.01, 0.003, 1e8)
    assert scaling.balance(slower, work) < at
    assert scaling.epoch(cost, work, 2) < scaling.epoch(cost, work, 1)
    tree = scaling.clusters(about)["sums in a tree"]
    assert scaling.epoch(tree, work, 1) == pytest.approx(scaling.epoch(cost, work, 1))
    assert scaling.balance(tree, work) > at
    curves = scaling.curves(about)
    assert {len(curve["faster"]) for curve in curves.values()} == {11}


@pytest.mark.filterwarnings("ignore")
def test_a_small_measurement_of_workers():
    pytest.importorskip("distributed", reason="Dask is not installed")
    result = workers.run(quick=True)
    assert [(row["batch"], row["workers"]) for row in result["rows"]] == [(64, 0), (64, 1), (64, 2)]
    assert all(row["same_bits"] for row in result["rows"])
    assert result["killed"] == {"workers_killed": 1, "batches": 8, "same_bits": True}
    one, two = result["rows"][1:]
    assert two["sent"] == 2 * one["sent"]
    assert all(row["bytes"] <= row["of"] * 1.05 for row in result["touched"])
