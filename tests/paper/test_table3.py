"""A small version of Table 3: 300 real recordings, where there are some; seed 0."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from timesurf import SettingError
from timesurf.datasets import nmnist
from timesurf.paper import table3
from timesurf.presets import nmnist as preset


def test_folds_hold_every_recording_once_and_every_digit(digits):
    folds = list(table3.folds(digits(200), 5, seed=0, images=np.arange(200)))
    assert sum(len(fold.test) for fold in folds) == 200
    assert all(len(np.unique(fold.test.labels)) == 10 for fold in folds)
    assert sorted(np.concatenate([fold.images[1] for fold in folds])) == list(range(200))


def quick(recordings):
    """The preset with fewer passes, and k-means on fewer recordings."""
    return replace(preset(recordings), passes=8, sample=6)


@pytest.fixture(scope="module")
def fold(digits):
    return next(table3.folds(digits(300), 3, seed=0))


@pytest.fixture(scope="module")
def row(fold):
    return table3.sup3r(fold, 0, lambda _: None, preset=quick(200))


def test_sup3r_learns_digits(fold, row):
    assert row["recording_accuracy"] >= 0.75  # chance is 0.1, 900 recordings reach 0.95; standard error of 100: 0.04
    assert np.sum(row["confusion"]) == len(fold.test)
    assert row["kept"] == pytest.approx(np.mean(row["kept_by_class"]), abs=0.05)
    assert (
        row["early"]["recording_accuracy"][0] < row["early"]["recording_accuracy"][-1]
    )  # more events, better decisions


def test_hots_with_a_linear_classifier(fold, monkeypatch):
    monkeypatch.setattr(table3, "nmnist", lambda recordings: replace(preset(recordings, units=8), sample=6))
    assert table3.hots_linear(fold, 0, lambda _: None)["recording_accuracy"] >= 0.7  # margin as above


def test_an_unknown_row_is_refused():
    with pytest.raises(SettingError, match="Unknown row sup4r: rows are sup3r"):
        table3.run([], "nothing", rows=["sup4r"])


def test_folds_are_combined():
    rows = [
        {"recording_accuracy": 0.9, "tested": 10, "kept": 0.5, "seconds": 1.0},
        {"recording_accuracy": 1.0, "tested": 30, "kept": 0.7, "seconds": 3.0},
    ]
    result = table3.summary(rows)
    assert result["recording_accuracy"] == 39 / 40
    assert result["interval"][0] < result["recording_accuracy"] < result["interval"][1]
    assert (result["kept"], result["seconds"]) == (0.6, 2.0)


def test_seeds_are_averaged_and_add_nothing_to_the_interval():
    def row(accuracy):
        return {"recording_accuracy": accuracy, "tested": 10, "seconds": 1.0}

    result = table3.summary([row(0.8), row(1.0), row(0.6), row(0.8)], seeds=2)  # of two splits
    assert result["seeds"] == pytest.approx([0.7, 0.9])
    assert result["splits"] == pytest.approx([0.9, 0.7])
    assert result["recording_accuracy"] == pytest.approx(0.8)
    assert result["interval"] == pytest.approx(table3.interval(16, 20))


def test_settings_follow_from_the_size_of_the_data():
    sizes = [preset(n) for n in (100, 1000, 10_000, 60_000, 10**6)]
    assert all(a.passes >= b.passes and a.batch_size <= b.batch_size for a, b in itertools.pairwise(sizes))
    assert all(p.rule.alpha <= 2e-4 for p in sizes)
    printed = preset(60_000, taus=table3.PRINTED)
    assert [layer.tau for layer in printed.layers] == [100_000, 1000]
    assert printed.rule.alpha < preset(60_000).rule.alpha


def test_the_figure_is_drawn(row):
    from timesurf import plots

    figure = plots.digits(row)
    assert len(figure.axes) == 6


@pytest.fixture(scope="module")
def digits(data_folder):
    if not (data_folder / nmnist.SAMPLE).is_file():
        pytest.skip(f"{nmnist.SAMPLE} is not there")
    every = nmnist.prepared(nmnist.read(data_folder / nmnist.SAMPLE))
    return lambda number: every[:number]
