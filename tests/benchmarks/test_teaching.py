"""A digit that was taught by showing it is recognised, and the others are not forgotten."""

import math

import numpy as np
import pytest
from benchmarks.teaching import NEW, accuracy, lessons, split, teach

from timesurf import Full, Network, Rule, Window
from timesurf.datasets import saccades
from timesurf.live import starter


@pytest.fixture(scope="module")
def data():
    shown, digit = starter.pictures()
    chosen = np.concatenate([np.flatnonzero(digit == d)[:36] for d in (0, 1, NEW)])
    return saccades.simulate(shown[chosen], digit[chosen], seed=3)


def test_a_taught_digit_is_recognised_and_the_others_are_not_forgotten(data):
    labels = np.asarray(data.labels)
    old, new, held_out = split(labels, test=45, seed=0)
    rule = Rule(alpha=(0, 1e-5), beta=0, gamma=0, delta=0, last="delta", temperature=0.7)
    layers = [Window(7, units=16, tau="25 ms", stride=3), Full(tau="40 ms")]
    network = Network(layers, data.field, data.polarities, [0, 1], rule=rule)
    network.fit(data[old], passes=3, batch_size=16, start="quick", margin=math.inf)
    tested = data[held_out]
    before, _ = accuracy(network, tested)
    after, learned = accuracy(teach(network, data, lessons(labels, old, new[:8], rehearse=4, seed=0), pace=10), tested)
    assert before > 0.9
    assert learned >= 0.85
    assert after >= before - 0.05


def test_lessons_show_old_classes_in_turn_between_new_recordings():
    labels = np.array([0, 1] * 6 + [NEW] * 4)
    shown = lessons(labels, np.arange(12), np.arange(12, 16), rehearse=4, seed=0)
    assert [int(label) for label in labels[shown]] == [NEW, 0, 1] * 4
