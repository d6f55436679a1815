import numpy as np

from timesurf import Recordings
from timesurf.baselines import counts
from timesurf.datasets import sentences


def test_counts_are_square_roots_per_stretch_place_and_polarity():
    one = Recordings([[0, 1, 1, 0]], t=[0, 1, 2, 10], p=[0, 1, 1, 0], field=(2,), polarities=2)
    np.testing.assert_allclose(counts.features(one), [[2**0.5, 0, 0, 2**0.5]])
    np.testing.assert_allclose(counts.features(one, 2), [[1, 0, 0, 2**0.5, 1, 0, 0, 0]])


def test_large_fields_are_pooled():
    one = Recordings([[0, 999], [0, 999]], t=[0, 1], field=(1000, 1000))
    assert counts.features(one).shape[1] <= counts.LARGEST
    assert counts.features(one).sum() == 2


def test_counts_separate_sentences_that_differ_in_one_character():
    """Margin: the two classes differ in the pixels of one character; seeds 0 and 1."""
    assert counts.classified(sentences.make(60, seed=0), sentences.make(40, seed=1)) >= 0.95
