import pytest

from timesurf import EventError
from timesurf.datasets import poker


def test_the_real_hundred(data_folder):
    if not (data_folder / poker.SAMPLE).is_file():
        pytest.skip(f"{poker.SAMPLE} is not there")
    cards = poker.read(data_folder)
    assert len(cards) == 100
    assert set(cards.labels.tolist()) == set(poker.SUITS)


def test_missing_data_says_where_to_put_it(tmp_path):
    with pytest.raises(EventError, match="POKER-DVS"):
        poker.read(tmp_path)
