import numpy as np
import pytest

from tests.memory import peak
from timesurf import Recordings, SettingError
from timesurf.datasets import wandering
from timesurf.transforms.cutting import pieces


@pytest.fixture(scope="module")
def thing():
    return Recordings([[0, 1, 2], [0, 0, 3]], t=[0, 500, 900], field=(3, 4), polarities=2, labels=["thing"])


def test_copies_stay_on_the_field_and_in_order(thing):
    (one,) = (wandering.wander(thing, field=(40, 30), duration="1 s", noise=100, seed=1),)
    assert one.field == (40, 30)
    assert one.labels.tolist() == ["thing"]
    assert (np.diff(one.t) >= 0).all()
    assert one.t.max() < 1_000_000
    assert np.ptp(one.coords[0]) > 20  # it moves


def test_a_seed_gives_the_same_ways(thing):
    a, b, c = (wandering.wander(thing, field=(40, 30), duration="1 s", seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(a.t, b.t)
    assert len(a.t) != len(c.t) or (a.t != c.t).any()


def test_a_thing_larger_than_the_field_is_refused(thing):
    with pytest.raises(SettingError, match="cannot wander"):
        wandering.wander(thing, field=(2, 30))


def test_pieces_hold_the_events_of_their_time_and_the_label_of_their_recording(thing):
    long = wandering.wander(thing, field=(40, 30), duration="3 s", noise=0, seed=1)
    cut = pieces(long, "1 s")
    assert len(cut) == 2  # what is left over makes no piece
    assert cut.labels.tolist() == ["thing"] * 2
    assert cut[0].t.max() < 1_000_000 <= cut[1].t.min()


def test_another_seed_draws_other_digits(monkeypatch):
    """Thirty things per class, told apart by how long they last."""
    labels = np.tile(wandering.CLASSES, 30)
    t = np.stack([np.zeros(120, int), 1000 * np.arange(1, 121)], axis=1).ravel()
    many = Recordings(
        [np.zeros(240, int)] * 2, t, offsets=2 * np.arange(121), field=(3, 3), polarities=2, labels=labels
    )
    monkeypatch.setattr(wandering.digits, "load", lambda split: many)
    monkeypatch.setattr(wandering, "_PER_CLASS", {"train": 1})
    drawn = []
    monkeypatch.setattr(wandering, "wander", lambda things, **how: drawn.append((things, how["seed"])) or things)
    monkeypatch.setattr(wandering, "pieces", lambda recordings, length: recordings)
    for seed in (0, 1, 1):
        wandering.load("train", seed=seed)
    first, second, again = drawn
    assert first[0].t.tolist() == [0, 1000, 0, 2000, 0, 3000, 0, 4000]  # seed 0 takes the first of each class
    assert second[0].labels.tolist() == list(wandering.CLASSES)
    assert second[0].t.tolist() == again[0].t.tolist() != first[0].t.tolist()
    assert [seed for _, seed in drawn] == [0, 2, 2]


def test_recordings_that_wander_for_long_do_not_have_to_fit_into_memory(thing):
    """Two million events of 13 bytes; what is in memory are those of one of twenty recordings on their way."""
    things = thing[[0] * 20]
    used, found = peak(lambda: wandering.wander(things, field=(40, 30), duration="50 s", noise=1500, seed=1))
    assert found.counts.sum() > 1_900_000
    assert used < 13e6
    assert found.labels.tolist() == ["thing"] * 20


def test_nothing_to_wander_is_refused(thing):
    with pytest.raises(SettingError, match="no recordings"):
        wandering.wander(thing[:0])
