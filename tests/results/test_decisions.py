"""Decisions as columns of a table."""

import numpy as np

from timesurf import Full, Network, Recordings
from timesurf.engines import Outcome
from timesurf.results.decisions import columns


def test_ties_go_to_the_first_class_and_silent_recordings_have_no_decision():
    network = Network([Full(tau=1)], (2,), 1, ["a", "b"])
    recordings = Recordings([[0] * 6], t=range(6), offsets=[0, 3, 5, 6], field=(2,))
    outcome = Outcome(np.array([3, 2, 1]), np.array([[3], [2], [0]]), np.array([[1, 2], [1, 1], [0, 0]]))
    table = columns(network, recordings, outcome)
    assert table["decision"] == ["b", "a", None]
    assert table["confidence"] == [0.6667, 0.5, None]
    assert table["output_events"] == [3, 2, 0]
    assert table["votes b"] == [2, 1, 0]
    assert table["label"] == [None, None, None]


def test_unlabelled_recordings_among_labelled_ones_are_decided_on_too():
    network = Network([Full(tau=1)], (2,), 1, ["a", "b"])
    recordings = Recordings([[0, 1]], t=[0, 1], offsets=[0, 1, 2], field=(2,), labels=["a", ""])
    outcome = Outcome(np.array([1, 1]), np.array([[1], [1]]), np.array([[1, 0], [0, 1]]))
    table = columns(network, recordings, outcome)
    assert table["decision"] == ["a", "b"]
    assert table["label"] == ["a", None]
