"""Figures at their edges: ties, silent recordings, missing labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesurf import metrics
from timesurf.engines import Outcome


@given(st.integers(0, 2**32 - 1))
def test_the_lowest_of_equal_classes_is_decided_and_silence_is_no_class(seed):
    votes = np.random.default_rng(seed).integers(0, 3, (8, 3))
    decided = metrics.decide(votes)
    for row, c, share in zip(votes, *decided, strict=True):
        if row.sum() == 0:
            assert (c, share) == (metrics.SILENT, 0)
        else:
            assert c == min(n for n in range(3) if row[n] == row.max())
            assert share == row.max() / row.sum()


def outcome_of(votes, events=None):
    votes = np.array(votes)
    events = votes.sum(axis=1) * 2 if events is None else np.array(events)
    return Outcome(events, np.stack([events, votes.sum(axis=1)], axis=1), votes)


def test_summary_counts_all_recordings_and_judges_those_with_a_label():
    figures = metrics.summary(outcome_of([[3, 1], [0, 4], [0, 0], [0, 0]]), np.array([0, -1, 1, -1]))
    assert figures == {
        "kept": 0.5, "kept_by_layer": [1.0, 0.5], "silent": 2, "recordings": 4, "events": 16,
        "event_accuracy": 0.375, "recording_accuracy": 0.5,
    }  # fmt: skip


def test_a_silent_recording_is_wrong_also_where_its_class_is_0():
    figures = metrics.summary(outcome_of([[0, 0]], events=[5]), np.array([0]))
    assert (figures["recording_accuracy"], figures["event_accuracy"], figures["silent"]) == (0, 0, 1)


@pytest.mark.parametrize("label", [None, np.array([-1, -1])])
def test_without_any_label_summary_has_no_accuracies(label):
    figures = metrics.summary(outcome_of([[1, 0], [0, 1]]), label)
    assert set(figures) == {"kept", "kept_by_layer", "silent", "recordings", "events"}


def test_one_label_suffices_for_accuracies():
    assert metrics.summary(outcome_of([[1, 0], [0, 1]]), np.array([-1, 1]))["recording_accuracy"] == 1


def test_nothing_is_kept_of_no_events():
    nothing = Outcome(np.zeros(2, int), np.zeros((2, 3), int), np.zeros((2, 2), int))
    assert metrics.kept_by_layer(nothing).tolist() == [0, 0, 0]


def test_event_accuracy_without_output_events_is_0():
    assert metrics.event_accuracy(np.zeros((2, 2), int), np.array([0, 1])) == 0


def test_sparsity_without_output_events_is_no_number():
    from timesurf.engines import Trace

    S = np.full((2, 2), np.nan)
    assert np.isnan(metrics.sparsity(Trace(S, S, S, np.zeros(2)))).all()


def test_task_figures_by_hand():
    rows = [[0.9], [0.8, 1.0], [0.7, 0.9, 0.6]]
    assert metrics.average_accuracy(rows) == pytest.approx((0.7 + 0.9 + 0.6) / 3)
    assert metrics.forgetting(rows) == pytest.approx(((0.9 - 0.7) + (1.0 - 0.9)) / 2)
    assert metrics.backward_transfer(rows) == pytest.approx(((0.7 - 0.9) + (0.9 - 1.0)) / 2)


def test_forgetting_is_measured_from_the_best_accuracy_before_the_last_task():
    assert metrics.forgetting([[0.5], [0.9, 0.8], [0.6, 0.9, 1.0]]) == pytest.approx((0.3 - 0.1) / 2)


def test_early_decisions_end_at_the_median_length_and_judge_by_the_label():
    vote = np.concatenate([np.repeat([1, 0], [5, 35]), np.repeat([1], 40)])
    after, right = metrics.early(vote, np.array([0, 40, 80]), np.array([0, 1]), 2)
    assert (after[0], after[-1]) == (10, 40)
    assert len(after) == 15  # of 16 moments on a logarithmic scale two fall on the same event
    assert right[-1] == 1
    assert (after == np.unique(after)).all()
    tied = 10  # five votes each: the tie goes to class 0, which is right
    assert right[after == tied].tolist() == [1.0]


def test_early_decisions_on_very_short_recordings_begin_with_the_first_event():
    after, right = metrics.early(np.array([0, 0]), np.array([0, 1, 2]), np.array([0, 1]), 2)
    assert after[0] == 1
    assert right.tolist() == [0.5] * len(after)
