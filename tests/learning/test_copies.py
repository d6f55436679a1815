"""Recordings that are moved in each pass: what is learned from, and where the data ask for it."""

import numpy as np
import pytest

from timesurf import Full, Network, Recordings, Rule, SettingError, Window
from timesurf.events import moving
from timesurf.learning import copies, resting, trainer
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


def test_recordings_move_each_by_its_own_distance_and_stay_at_the_edge():
    corner = Recordings([[0, 3, 2], [2, 1, 0]], t=[5, 6, 1], offsets=[0, 2, 3], field=(4, 3), labels=["a", "b"])
    found = moving.moved(corner, np.array([[1, -1], [0, 2]]))
    assert [x.tolist() for x in found.coords] == [[1, 3, 2], [1, 0, 2]]
    assert found.t.tolist() == [5, 6, 1]
    assert (found.field, found.labels.tolist(), found.counts.tolist()) == ((4, 3), ["a", "b"], [2, 1])


def test_places_are_pooled_after_moving():
    row = Recordings([np.arange(8)], t=np.arange(8), field=(8,))
    assert moving.moved(row, np.array([[1]]), (3,)).coords[0].tolist() == [0, 0, 1, 1, 1, 2, 2, 2]
    assert moving.moved(row, np.array([[1]]), (3,)).field == (3,)


def test_displacements_reach_as_far_as_asked_in_every_direction():
    drawn = copies.displacements((2, 0), 500, np.random.default_rng(0))
    assert sorted(set(drawn[:, 0].tolist())) == [-2, -1, 0, 1, 2]
    assert not drawn[:, 1].any()


@pytest.mark.parametrize("moved", [(1,), (1, 1, 1)])
def test_distances_must_be_one_per_dimension(moved):
    data = bars(4, moves=0)
    network = Network([Full(tau="1 ms")], data.field, 1, data.classes)
    with pytest.raises(SettingError, match="one number per dimension"):
        network.fit(data, passes=1, batch_size=2, moved=moved)


@pytest.mark.parametrize("moved", [(-1, 0), (0.5, 1), (True, 1), ("1", "1")])
def test_distances_are_whole_and_not_negative(moved):
    with pytest.raises(SettingError, match="moved"):
        Schedule(moved=moved)


def test_each_pass_moves_recordings_anew_before_the_network_sees_them():
    data = bars(12, moves=0)
    layers = [Window(3, units=4, tau="1 ms", stride=3), Full(tau="1 ms")]
    rule = Rule(alpha=(1e-4, 1e-3), last="delta")  # the hidden layer learns: nothing is computed ahead
    given, by_hand = (
        Network(layers, data.field, 1, data.classes, rule=rule, seed=1).start(data, start="kmeans") for _ in range(2)
    )
    given.train(data, moved=(1, 2), passes=2, batch_size=4)
    rng = trainer.shuffler(by_hand)
    seen = []
    for _ in range(2):
        order = rng.permutation(12)
        seen.append(copies.displacements((1, 2), 12, rng))
        by_hand.partial_fit(moving.moved(data[order], seen[-1]), batch_size=4)
    assert not np.array_equal(*seen)
    assert given.parameters.same(by_hand.parameters)


@pytest.mark.parametrize("stride", [1, 3, (2, 5)])
def test_a_resting_layer_runs_once_and_what_it_emits_is_moved(stride, monkeypatch):
    """Far from the edge that is what it emits for moved events."""
    data = bars(12, moves=0)
    layers = [Window(3, units=4, tau="1 ms", stride=stride), Full(tau="1 ms")]
    rule = Rule(alpha=(0.0, 1e-3), beta=0.0, gamma=0.0, delta=0.0, last="delta")
    once, every = (
        Network(layers, data.field, 1, data.classes, rule=rule, seed=1).start(data, start="kmeans", margin=np.inf)
        for _ in range(2)
    )
    how = {"moved": (2, 2), "passes": 3, "batch_size": 5}
    once.train(data, **how)
    monkeypatch.setattr(trainer, "learns_from", lambda trainee, data, schedule: resting.Seen(trainee, data))
    every.train(data, **how)
    assert once.parameters.same(every.parameters)
    assert once.history == every.history


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
        if progress.done > 2.5 * 12:
            raise StopError

    with pytest.raises(StopError):
        network().fit(data, passes=4, checkpoints=tmp_path, progress=interrupt, **how)
    assert whole.parameters.same(network().fit(data, passes=4, checkpoints=tmp_path, resume=True, **how).parameters)


def test_the_data_choose_copies_where_things_lie_anywhere_and_none_where_places_tell():
    anywhere, fixed = law(bars(60, moves=4), seed=0), law(bars(60, moves=0), seed=0)
    assert anywhere.fitting["moved"] == (1, 1)
    assert any("each pass moves recordings by up to 1 x 1 pixels" in line for line in anywhere.why)
    assert fixed.fitting["moved"] == ()
    assert any("places: as they are" in line for line in fixed.why)


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
