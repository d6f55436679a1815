import numpy as np
import pytest

from timesurf.datasets import sentences
from timesurf.errors import SettingError


def test_recordings_have_the_papers_shape():
    data = sentences.make(1000, seed=0)
    assert (len(data), data.field, data.polarities) == (1000, (30, 5), 1)
    assert np.unique(data.labels, return_counts=True)[1].tolist() == [500, 500]
    assert data.t.max() < 10_000
    assert 4700 < data.counts.mean() < 4900


def test_lit_pixels_fire_at_10_khz_and_others_at_10_hz():
    data = sentences.make(200, seed=1)[::2]  # v/v yty
    x, y = data.coords
    counts = np.zeros((30, 5))
    np.add.at(counts, (x, y), 1)
    rate = counts / (100 * 10e-3)
    lit = sentences.bitmap("v/vyty")
    assert rate[lit].mean() == pytest.approx(10_000, rel=0.01)
    assert rate[~lit].mean() == pytest.approx(10, rel=0.3)
    assert rate[lit].min() > 9_000


def test_the_sentences_differ_in_four_pixels_only():
    one, two = (sentences.bitmap(s) for s in sentences.TASK1)
    assert (two & ~one).sum() == 4
    assert (one & ~two).sum() == 0


def test_intervals_are_exponential():
    """Poisson pixels: mean and standard deviation of the intervals are equal."""
    data = sentences.make(1, seed=2, duration="2 s")
    x, y = data.coords
    t = data.t[(x == 9) & (y == 0)]  # lit in /
    gaps = np.diff(t)
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.05)


def test_a_seed_gives_the_same_events():
    one, two, other = (sentences.make(5, seed=s) for s in (3, 3, 4))
    np.testing.assert_array_equal(one.t, two.t)
    assert not np.array_equal(one.t[:100], other.t[:100])


def test_unknown_characters_are_refused():
    with pytest.raises(SettingError, match="No character"):
        sentences.make(2, sentences=["v?v"])
    with pytest.raises(SettingError, match="at least 1"):
        sentences.make(0)
