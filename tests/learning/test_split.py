"""Three parts: learned from, chosen by, reported on."""

import numpy as np
import pytest

from timesurf import Recordings, SettingError
from timesurf.datasets import sentences
from timesurf.learning.split import Parts, folds, hold_out, split

DATA = sentences.make(50, seed=0, duration="1 ms")


def test_each_recording_is_in_one_part_and_each_class_in_all_of_them():
    parts = split(DATA, validation=0.1, held_out=0.3, seed=1)
    assert sorted(n for numbers in parts.numbers.values() for n in numbers) == list(range(50))
    assert [len(some) for some in (parts.learn, parts.validation, parts.held_out)] == [30, 4, 16]
    for some in (parts.learn, parts.validation, parts.held_out):
        assert some.classes.tolist() == DATA.classes.tolist()
    assert parts.held_out.fingerprint() == DATA[np.array(parts.numbers["held_out"])].fingerprint()


def test_a_seed_gives_the_same_split():
    assert split(DATA, seed=3).numbers == split(DATA, seed=3).numbers != split(DATA, seed=4).numbers


def test_a_share_of_0_leaves_a_part_out():
    parts = split(DATA, validation=0, held_out=0)
    assert (len(parts.learn), parts.validation, parts.held_out) == (50, None, None)


def test_unlabelled_recordings_are_learned_from():
    labels = np.where(np.arange(50) % 2, "", DATA.labels)
    parts = split(DATA.with_labels(labels), validation=0.2, held_out=0.2)
    assert parts.validation.labelled.all()
    assert parts.held_out.labelled.all()
    assert set(np.flatnonzero(labels == "")) <= set(parts.numbers["learn"])


@pytest.mark.parametrize(("each", "sizes"), [(1, (2, 0, 0)), (2, (2, 0, 2)), (3, (2, 2, 2))])
def test_a_small_class_keeps_a_recording_to_learn_from(each, sizes):
    few = DATA[np.concatenate([np.flatnonzero(DATA.labels == name)[:each] for name in DATA.classes])]
    parts = split(few)
    assert tuple(map(len, parts.numbers.values())) == sizes
    assert parts.learn.classes.tolist() == DATA.classes.tolist()


def test_one_rare_class_does_not_stop_the_others_from_being_split():
    rare = DATA.with_labels(["rare", *DATA.labels[1:]])
    parts = split(rare)
    assert "rare" in parts.learn.classes
    assert len(parts.validation)
    assert len(parts.held_out)


def test_shares_that_leave_nothing_to_learn_from_are_refused():
    for bad in ({"validation": 0.5, "held_out": 0.5}, {"validation": -0.1}, {"held_out": 1.0}):
        with pytest.raises(SettingError, match=r"validation|held_out"):
            split(DATA, **bad)


def test_a_share_of_each_class_is_held_out():
    label = np.array([0] * 10 + [1] * 20 + [-1] * 5)
    learned, held = hold_out(label, 0.1, np.random.default_rng(0))
    assert sorted([*learned, *held]) == list(range(35))
    assert np.bincount(label[held]).tolist() == [1, 2]
    for bad in (0, 1, -0.5):
        with pytest.raises(SettingError, match="validation"):
            hold_out(label, bad, np.random.default_rng(0))


def test_shares_that_leave_nothing_are_refused_together():
    with pytest.raises(SettingError, match=r"validation = 0\.5 and held_out = 0\.5 leave nothing"):
        split(sentences.make(8, seed=0, duration="200 us"), validation=0.5, held_out=0.5)


def one_event_each(labels):
    n = len(labels)
    return Recordings([[0] * n], t=range(n), offsets=range(n + 1), field=(1,), labels=labels)


def test_by_default_a_tenth_is_chosen_by_and_a_tenth_reported_on():
    data = one_event_each(["a", "b"] * 100)
    parts = split(data)
    assert [len(numbers) for numbers in parts.numbers.values()] == [160, 20, 20]
    assert parts.numbers == split(data, 0.1, 0.1, seed=0).numbers
    assert Parts(data, None, None).numbers == {}


def test_recordings_without_any_label_are_all_learned_from():
    parts = split(one_event_each([None] * 10), 0.3, 0.3)
    assert (len(parts.learn), parts.validation, parts.held_out) == (10, None, None)


def test_classes_are_told_apart_also_where_the_first_is_number_0():
    label = np.array([0, 0, 0, 1, 1, 1, 1, -1])
    first, second = hold_out(label, 0.5, np.random.default_rng(0))
    assert np.bincount(label[second]).tolist() == [2, 2]
    assert 7 in first


def test_folds_begin_anywhere_and_share_every_class():
    label = np.array([0, 1, 0, 1, 0, 1, 0])
    found, rng = folds(label, 3, np.random.default_rng(4)), np.random.default_rng(4)
    for c in (0, 1):
        mine = rng.permutation(np.flatnonzero(label == c))
        begin = rng.integers(3)
        assert [found[i] for i in mine] == [(begin + n) % 3 for n in range(len(mine))]
