"""A small version of class-incremental digits on real recordings, where there are some; seed 0."""

from dataclasses import replace

import pytest

from timesurf.datasets import nmnist
from timesurf.paper import digits


def test_new_digits_do_not_replace_old_ones(data_folder, monkeypatch):
    if not (data_folder / nmnist.SAMPLE).is_file():
        pytest.skip(f"{nmnist.SAMPLE} is not there")
    monkeypatch.setattr(digits, "GENTLE", replace(digits.GENTLE, passes=5, sample=6))
    monkeypatch.setattr(digits, "TOGETHER", replace(digits.TOGETHER, passes=8, sample=6))
    result = digits.run(nmnist.prepared(nmnist.read(data_folder / nmnist.SAMPLE))[:200], splits=1, seed=0)
    extended, unfrozen, together = (result[way]["average_accuracy"][0] for way in ("extended", "unfrozen", "together"))
    assert extended >= 0.6  # chance is 0.1, and 800 recordings reach 0.8; of 40 tested the standard error is 0.08
    assert together >= extended
    assert [len(row) for row in result["extended"]["rows"][0]] == [1, 2, 3, 4, 5]
    assert 0 <= unfrozen <= 1
