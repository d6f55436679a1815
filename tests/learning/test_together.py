"""Networks trained side by side."""

import numpy as np
import pytest

from timesurf import Full, Network, Rule, SettingError, Window
from timesurf.bench import workloads
from timesurf.learning import together

DATA = workloads.strokes(24, events=120, field=(8, 8))


def network(alpha, seed=0, units=4, tau=1000):
    layers = [Window(3, units=units, tau=tau), Full(tau=1000)]
    return Network(layers, DATA.field, 1, range(10), rule=Rule(alpha=alpha), seed=seed).start(DATA)


def test_they_become_what_each_becomes_alone():
    alone, beside = ([network(1e-4), network(1e-3, seed=1, tau=300)] for _ in range(2))
    how = {"passes": 2, "batch_size": 8, "decay": True}
    for one in alone:
        one.train(DATA, **how)
    reports = []
    together.train(beside, DATA, **how, progress=reports.append)
    for a, b in zip(alone, beside, strict=True):
        for mine, theirs in zip([u.centroids for u in a.parameters], [u.centroids for u in b.parameters], strict=True):
            np.testing.assert_array_equal(mine, theirs)
    assert reports


def test_each_may_have_recordings_of_its_own():
    two = [network(1e-3), network(1e-3)]
    together.train(two, [DATA[:12], DATA[12:]], passes=1, batch_size=4)
    assert not np.array_equal(two[0].parameters[1].centroids, two[1].parameters[1].centroids)
    with pytest.raises(SettingError, match="one each"):
        together.train(two, [DATA], batch_size=4)


def test_only_networks_of_one_shape():
    with pytest.raises(SettingError, match="network 1 differs"):
        together.train([network(1e-3), network(1e-3, units=5)], DATA, batch_size=4)


def test_one_that_is_lost_does_not_take_the_others_with_it():
    wild, tame = network(1e3), network(1e-4)
    alone = network(1e-4)
    alone.train(DATA, passes=1, batch_size=8)
    lost = together.train([wild, tame], DATA, passes=1, batch_size=8)
    assert "diverged" in lost[0]
    assert lost[1] is None
    np.testing.assert_array_equal(tame.parameters[1].centroids, alone.parameters[1].centroids)
