"""A small version of class-incremental digits on real recordings, where there are some."""

import pytest

from timesurf.datasets import nmnist
from timesurf.paper import digits


def test_new_digits_leave_old_ones_known(data_folder):
    if not (data_folder / nmnist.SAMPLE).is_file():
        pytest.skip(f"{nmnist.SAMPLE} is not there")
    result = digits.run(nmnist.prepared(nmnist.read(data_folder / nmnist.SAMPLE))[:200], splits=1)
    extended, unfrozen, together = (result[way]["average_accuracy"][0] for way in ("extended", "unfrozen", "together"))
    assert extended >= 0.6  # chance: 0.1
    assert together >= extended
    assert [len(row) for row in result["extended"]["rows"][0]] == [1, 2, 3, 4, 5]
    assert 0 <= unfrozen <= 1
