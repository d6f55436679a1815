import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from timesurf import metrics
from timesurf.engines import Outcome, Trace

VOTES = np.array([[8, 2], [0, 5], [0, 0], [3, 3]])
LABEL = np.array([0, 1, 0, 1])


def test_a_decision_is_the_majority_and_its_confidence_the_share():
    decided = metrics.decide(VOTES)
    assert decided.classes.tolist() == [0, 1, metrics.SILENT, 0]  # the tie goes to the lowest class
    assert decided.confidence.tolist() == [0.8, 1, 0, 0.5]


def test_shares_weights_and_single_recordings_are_decided_alike():
    for votes in (VOTES, VOTES / 7, VOTES.reshape(2, 2, 2)):
        assert metrics.decide(votes).classes.ravel().tolist() == [0, 1, -1, 0]
    assert int(metrics.decide(VOTES[1]).classes) == 1
    assert metrics.decide(VOTES[:0]).classes.shape == (0,)


def test_a_recording_without_output_is_wrong_whatever_its_class():
    np.testing.assert_allclose(metrics.event_shares(VOTES, LABEL), [0.8, 1, 0, 0.5])
    assert metrics.recording_accuracy(VOTES, LABEL) == 0.5  # the tie goes to class 0, which is wrong
    assert metrics.silent(VOTES) == 1


def test_kept_is_a_mean_over_recordings_that_had_events():
    outcome = Outcome(np.array([10, 100, 0]), np.array([[5, 1], [20, 10], [0, 0]]), VOTES[:3])
    np.testing.assert_allclose(metrics.kept_by_layer(outcome), [0.35, 0.1])
    assert metrics.kept(outcome) == 0.1


def test_sparsity_is_the_mean_size_of_s_over_output_events():
    S = np.array([[1.0, -0.5], [np.nan, np.nan], [0.5, 0.5]])
    np.testing.assert_allclose(metrics.sparsity(Trace(S, S, S, np.array([2, 0, 2]))), [0.75, 0.5])


def test_confusion_counts_silent_recordings_in_a_column_of_their_own():
    assert metrics.confusion(VOTES, LABEL).tolist() == [[1, 0, 1], [1, 1, 0]]


def test_unlabelled_recordings_are_left_out_of_accuracies_only():
    outcome = Outcome(np.array([10, 10, 10, 10]), np.array([[10], [5], [0], [6]]), VOTES)
    figures = metrics.summary(outcome, np.array([0, -1, 1, -1]))
    assert (figures["recording_accuracy"], figures["event_accuracy"]) == (0.5, 0.4)
    assert (figures["recordings"], figures["silent"]) == (4, 1)
    for unknown in (None, np.full(4, -1)):
        assert not {"recording_accuracy", "event_accuracy"} & metrics.summary(outcome, unknown).keys()


@given(st.integers(0, 2**32 - 1))
def test_running_decisions_equal_those_on_shortened_recordings(seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 12, 3)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    vote, after = rng.integers(-1, 3, offsets[-1]), np.array([1, 4, 20])
    decided = metrics.running_decisions(vote, offsets, after, 3)
    for r in range(3):
        for k, n in enumerate(after):
            some = vote[offsets[r] : offsets[r + 1]][:n]
            votes = np.bincount(some[some >= 0], minlength=3)
            assert decided[r, k] == (votes.argmax() if votes.any() else -1)
