"""Figures of many classes: their memory follows what occurs, not all pairs of classes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.memory import peak
from timesurf import calibration, metrics
from timesurf.engines import Outcome

MANY = 3000  # classes: a table of all pairs has 9 million entries, 72 MB


def outcome_of(recordings, classes):
    votes = np.zeros((recordings, classes), np.int64)
    votes[np.arange(recordings), np.arange(recordings)] = 1
    return Outcome(np.ones(recordings, np.int64), np.ones((recordings, 1), np.int64), votes)


def test_figures_of_many_classes_take_no_table_of_all_pairs():
    outcome, label = outcome_of(20, MANY), np.arange(20)
    used, figures = peak(lambda: metrics.summary(outcome, label))
    assert figures["recording_accuracy"] == 1
    assert used < outcome.votes.nbytes


def test_figures_take_no_copy_of_the_votes_where_labels_are_missing():
    outcome, label = outcome_of(500, MANY), np.where(np.arange(500) % 2, np.arange(500), -1)
    used, figures = peak(lambda: metrics.summary(outcome, label))
    assert figures["recording_accuracy"] == 1
    assert used < outcome.votes.nbytes / 8


def test_decisions_by_evidence_take_no_copy_of_it():
    outcome = outcome_of(500, MANY)
    evidence = np.random.default_rng(0).normal(-9, 3, outcome.votes.shape)
    used, decided = peak(lambda: metrics.decide(outcome.votes, evidence))
    expected = calibration.probabilities(evidence, outcome.votes.sum(axis=1), calibration.UNCALIBRATED)
    np.testing.assert_array_equal(decided.confidence, expected.max(axis=1))
    np.testing.assert_array_equal(decided.classes, expected.argmax(axis=1))
    assert used < evidence.nbytes


def test_confusions_have_as_many_entries_as_pairs_occur():
    outcome, label = outcome_of(20, MANY), np.arange(20)
    used, counts = peak(lambda: metrics.confusion_counts(outcome.votes, label))
    assert counts.shape == (20, 3)
    assert used < outcome.votes.nbytes


@given(st.integers(0, 2**32 - 1))
def test_confusions_are_the_entries_of_the_table_that_are_not_0(seed):
    rng = np.random.default_rng(seed)
    votes, label = rng.integers(0, 2, (12, 3)), rng.integers(-1, 3, 12)
    table = np.zeros((3, 4), int)
    for vote, true in zip(votes, label, strict=True):
        if true >= 0:
            table[true, vote.argmax() if vote.any() else 3] += 1
    np.testing.assert_array_equal(metrics.confusion(votes, label), table)
    counts = metrics.confusion_counts(votes, label)
    assert {(i, j): n for i, j, n in counts.tolist()} == {
        (i, -1 if j == 3 else j): table[i, j] for i, j in zip(*np.nonzero(table), strict=True)
    }


@given(st.integers(0, 2**32 - 1))
def test_votes_on_the_label_give_the_event_accuracy_of_all_votes(seed):
    rng = np.random.default_rng(seed)
    votes, label = rng.integers(0, 3, (9, 4)), rng.integers(-1, 4, 9)
    outcome = Outcome(np.full(9, 9), np.zeros((9, 2), int), votes)
    short = metrics.on_label(outcome, label)
    assert short.votes.shape == (9, 2)
    np.testing.assert_array_equal(short.votes.sum(axis=1), votes.sum(axis=1))
    known = label >= 0
    if known.any():
        expected = metrics.event_accuracy(votes[known], label[known])
        assert metrics.labelled_event_accuracy(votes, label) == expected
        assert metrics.labelled_event_accuracy(short.votes, np.where(known, 0, -1)) == expected


def test_event_accuracy_without_a_label_is_no_number():
    assert np.isnan(metrics.labelled_event_accuracy(np.ones((3, 2), int), np.full(3, -1)))


def test_running_decisions_take_the_memory_of_one_recording():
    vote, offsets, after = np.zeros(400, int), np.arange(0, 401, 4), np.arange(1, 5)
    used, decided = peak(lambda: metrics.running_decisions(vote, offsets, after, MANY))
    assert (decided == 0).all()
    assert used < 10 * len(after) * MANY * 8
