"""Figures of benchmarks that are not drawn by the tests of the benchmarks."""

import numpy as np

from timesurf import plots


def test_features_of_two_networks_are_drawn_in_two_rows(reader):
    fig = plots.compare_features(reader, reader, np.array([0.5, 0.5, 0.0]), (0.9, 0.6))
    titles = [ax.get_title() for ax in fig.axes]
    assert titles[:3] == ["unit 1", "unit 2", "unit 3"]
    assert titles[3:] == ["unit 1: 50% of output", "unit 2: 50% of output", "unit 3: unused"]


def test_digits_have_five_panels(rng):
    row = {
        "thresholds": [2.0, 1.0], "features": rng.random((2, 5, 5, 1)).tolist(), "kept": 0.5,
        "kept_by_class": [0.5] * 10, "confusion": np.eye(10, 11, dtype=int).tolist(), "recording_accuracy": 1.0,
        "early": {"events": [10, 100], "recording_accuracy": [0.3, 0.9]},
    }  # fmt: skip
    fig = plots.digits(row)
    assert [bar.get_height() for bar in fig.axes[1].patches] == [1, 2]  # smallest threshold first
    assert len(fig.axes[3].texts) == 10
    assert fig.axes[4].lines[0].get_ydata().tolist() == [0.3, 0.9]


def test_sizes_have_one_panel_each():
    fig = plots.growth({"units": [{"units": 4, "infer_ns": 10}, {"units": 8, "infer_ns": 15}]})
    assert fig.axes[0].lines[0].get_ydata().tolist() == [10, 15]
