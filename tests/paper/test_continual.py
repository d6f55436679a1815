"""A small version of the continual-learning figure: one network, a shorter last step, seed 0.

Margins: ten full networks adapt to at least 0.998 at every step, and end at 0.002 without adapting; where nothing
changes, the worst of ten loses 0.0004.
"""

import pytest

from timesurf import plots
from timesurf.paper import continual


@pytest.fixture(scope="module")
def result():
    return continual.run(1, seed=0, steps=(250, 250, 250, 250), unshifted=500)


def test_adapting_follows_the_shift(result):
    assert all(v >= 0.99 for v in result["adapting"]["steps"][0])


def test_without_adapting_the_network_ends_up_wrong(result):
    assert result["ablated"]["steps"][0][-1] <= 0.02


def test_where_nothing_changes_adapting_does_no_harm(result):
    assert result["unshifted"]["after"][0] >= result["unshifted"]["before"][0] - 0.002


def test_a_cap_holds_back_a_recording_that_lasts_too_long(result):
    assert result["guards"]["cap 0.01"]["stuck_moves"][0] <= 0.0101
    assert result["guards"]["none"]["stuck_moves"][0] > 0.05


def test_the_figure_is_drawn(result, tmp_path):
    plots.continual(result).savefig(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 10_000
