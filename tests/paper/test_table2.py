"""A small version of Table 2: one network, both tasks, 200 recordings each, seed 0.

Margins: ten full networks reach 0.999 on task 1 and 1.000 on task 2; 0.98 allows for a fifth of the recordings.
"""

import pytest

from timesurf import plots
from timesurf.paper import table2 as incremental


@pytest.fixture(scope="module")
def result():
    return incremental.run(1, seed=0, tasks=2, recordings=200)


def test_a_new_task_is_learned_and_the_old_one_not_forgotten(result):
    assert result["task1"][0] >= 0.99
    assert result["task2"][0] >= 0.98
    assert result["task1_after"][0] >= 0.98


def test_the_comparisons_are_measured_too(result):
    assert [len(row) for row in result["unfrozen"]["rows"][0]] == [1, 2]
    assert [len(row) for row in result["together"]["rows"][0]] == [2]
    assert result["extended"]["forgetting"][0] == pytest.approx(result["task1"][0] - result["task1_after"][0])


def test_the_figure_is_drawn(result, tmp_path):
    plots.incremental(result).savefig(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 10_000


def test_progress_of_several_trainings_is_one():
    from timesurf.learning.trainer import Progress

    calls = []
    report = incremental._joined(40, 7, lambda number, now: calls.append((number, now.done, now.total)))
    for done in (10, 20, 10, 20):
        report(Progress(done, 20, 0, 1.0, 1.0))
    assert calls == [(7, 10, 40), (7, 20, 40), (7, 30, 40), (7, 40, 40)]
