"""Table 3 in small: fewer real recordings, two folds, where there are some."""

import numpy as np
import pytest

from timesurf.bench import nmnist as table3
from timesurf.datasets import nmnist


def test_folds_hold_every_recording_once_and_every_digit(data_folder):
    digits = _some(data_folder, 200)
    tested = [test for _, test in table3.split(digits, 5, seed=0)]
    assert sum(map(len, tested)) == 200
    assert all(len(np.unique(test.labels)) == 10 for test in tested)


def test_sup3r_learns_digits(data_folder):
    train, test = next(table3.split(_some(data_folder, 300), 3, seed=0))
    row = table3.sup3r(train, test, 0, lambda _: None)
    assert row["accuracy"] >= 0.75  # chance: 0.1
    assert np.sum(row["confusion"]) == len(test)


def test_hots_with_a_linear_classifier(data_folder):
    train, test = next(table3.split(_some(data_folder, 300), 3, seed=0))
    assert table3.hots_linear(train, test, 0, lambda _: None)["accuracy"] >= 0.7


def test_folds_are_summed_up():
    rows = [
        {"accuracy": 0.9, "tested": 10, "kept": 0.5, "seconds": 1.0},
        {"accuracy": 1.0, "tested": 30, "kept": 0.7, "seconds": 3.0},
    ]
    result = table3.summary(rows)
    assert result["accuracy"] == 39 / 40
    assert result["interval"][0] < result["accuracy"] < result["interval"][1]
    assert (result["kept"], result["seconds"]) == (0.6, 2.0)


def _some(data_folder, number):
    if not (data_folder / nmnist.SAMPLE).is_file():
        pytest.skip(f"{nmnist.SAMPLE} is not there")
    return nmnist.prepared(nmnist.read(data_folder / nmnist.SAMPLE))[:number]
