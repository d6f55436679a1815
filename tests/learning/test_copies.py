"""Moved copies of recordings: what is learned from, and where the data ask for it."""

import numpy as np
import pytest

from timesurf import Full, Network, Recordings, Rule, SettingError, Window
from timesurf.learning import copies
from timesurf.learning.law import law
from timesurf.learning.probe import cross_validated
from timesurf.learning.schedule import Schedule


def bars(number, *, moves, seed=0):
    """Upright (class 1) and lying (class 0) bars of ten pixels in the middle of 30 x 30, moved by up to so many pixels.

    A third class is an upright bar 2 pixels beside the others, which only its place gives away.
    """
    rng = np.random.default_rng(seed)
    coords, labels = [], np.arange(number) % (2 if moves else 3)
    for label in labels:
        along = rng.permutation(np.tile(np.arange(10, 20), 4))
        across = np.full(40, 17 if label == 2 else 15)
        x, y = (along, across) if label == 0 else (across, along)
        by = rng.integers(-moves, moves + 1, 2)
        coords.append(np.array([x + by[0], y + by[1]]))
    t = np.tile(np.arange(40) * 100, number)
    return Recordings(
        np.concatenate(coords, axis=1), t, None, np.arange(number + 1) * 40, field=(30, 30), labels=labels
    )


def test_copies_go_both_ways_along_each_dimension_and_lose_what_leaves_the_field():
    corner = Recordings([[0, 3], [2, 1]], t=[5, 6], field=(4, 3), labels=["a"])
    found = copies.with_moved(corner, (1, 1))
    each = [list(zip(*(x.tolist() for x in found[r].coords), found[r].t.tolist(), strict=True)) for r in range(5)]
    assert each == [
        [(0, 2, 5), (3, 1, 6)],
        [(2, 1, 6)],  # to the left
        [(1, 2, 5)],
        [(0, 1, 5), (3, 0, 6)],  # up
        [(3, 2, 6)],
    ]
    assert found.field == (4, 3)
    assert found.labels.tolist() == ["a"] * 5


def test_no_distance_means_no_copies():
    data = bars(4, moves=0)
    assert copies.with_moved(data, ()) is data
    assert copies.with_moved(data, (0, 0)) is data
    assert copies.number((0, 2)) == 3


@pytest.mark.parametrize("moved", [(1,), (1, 1, 1)])
def test_distances_must_be_one_per_dimension(moved):
    with pytest.raises(SettingError, match="one number per dimension"):
        copies.with_moved(bars(4, moves=0), moved)


@pytest.mark.parametrize("moved", [(-1, 0), (0.5, 1), (True, 1), ("1", "1")])
def test_distances_are_whole_and_not_negative(moved):
    with pytest.raises(SettingError, match="moved"):
        Schedule(moved=moved)


def test_a_pass_learns_from_recordings_and_copies():
    data = bars(12, moves=0)
    layers = [Window(3, units=4, tau="1 ms", stride=3), Full(tau="1 ms")]
    how = {"passes": 2, "batch_size": 4, "start": "kmeans", "margin": np.inf}
    rule = Rule(alpha=(0, 1e-3), last="delta")
    given = Network(layers, data.field, 1, data.classes, rule=rule, seed=1).fit(data, moved=(1, 1), **how)
    assert [done["recordings"] for done in given.history] == [60, 60]
    by_hand = Network(layers, data.field, 1, data.classes, rule=rule, seed=1)
    by_hand.start(data, start="kmeans", margin=np.inf).train(copies.with_moved(data, (1, 1)), passes=2, batch_size=4)
    assert given.parameters.same(by_hand.parameters)


def test_training_with_copies_resumes_to_the_bit(tmp_path):
    data = bars(12, moves=0)
    layers = [Window(3, units=4, tau="1 ms"), Full(tau="1 ms")]
    how = {"batch_size": 4, "start": "kmeans", "moved": (1, 0)}

    def network():
        return Network(layers, data.field, 1, data.classes, rule=Rule(alpha=1e-3), seed=1)

    whole = network().fit(data, passes=4, **how)

    class StopError(Exception):
        """In the middle of the third pass."""

    def interrupt(progress):
        if progress.done > 2.5 * 36:
            raise StopError

    with pytest.raises(StopError):
        network().fit(data, passes=4, checkpoints=tmp_path, progress=interrupt, **how)
    assert whole.parameters.same(network().fit(data, passes=4, checkpoints=tmp_path, resume=True, **how).parameters)


def test_the_data_choose_copies_where_things_lie_anywhere_and_none_where_places_tell():
    anywhere, fixed = law(bars(60, moves=4), seed=0), law(bars(60, moves=0), seed=0)
    assert anywhere.fitting["moved"] == (1, 1)
    assert any("moved copies: 4 of each recording, by 1 x 1 pixels" in line for line in anywhere.why)
    assert fixed.fitting["moved"] == ()
    assert any("moved copies: none" in line for line in fixed.why)
    assert anywhere.fitting["passes"] == 12  # 60, over five times as many


def test_copies_that_would_be_too_many_events_are_not_tried(monkeypatch):
    data = bars(60, moves=4)
    monkeypatch.setattr("timesurf.learning.law.MOST_COPIED", 5 * int(data.counts.sum()) - 1)
    found = law(data, seed=0)
    assert found.fitting["moved"] == ()
    assert not any("copies" in line for line in found.why)


def test_copies_are_learned_from_but_never_tested():
    """Copies of one class that look like the other mislead the regression about both."""
    rng, label = np.random.default_rng(0), np.arange(20) % 2
    surfaces = np.eye(2)[label] + rng.normal(0, 0.01, (20, 2))
    plain = cross_validated(surfaces, label, np.random.default_rng(1))
    misled = cross_validated(surfaces, label, np.random.default_rng(1), copies=[surfaces[:, ::-1]] * 2)
    assert plain.accuracy == 1.0
    assert plain.error < 0.01
    assert misled.accuracy == 0.0
    same = cross_validated(surfaces, label, np.random.default_rng(1), copies=[surfaces])
    assert same.accuracy == 1.0
