"""Time constants have a stated range; other times do not."""

import numpy as np
import pytest

from timesurf import Full, Network, Session, SettingError, Window
from timesurf.datasets import sentences
from timesurf.presets import SENTENCES
from timesurf.times import LONGEST, SHORTEST, microseconds, time_constant


@pytest.mark.parametrize("value", [SHORTEST / 1.01, LONGEST * 1.01, "0.5 ns", "1e10 h", 1e-320, 1e308])
def test_a_time_constant_outside_its_range_is_refused_by_name(value):
    with pytest.raises(SettingError, match=r"^tau = .* between 0.001 us"):
        Window(3, units=1, tau=value)
    with pytest.raises(SettingError, match=r"^feedback_tau = .* between"):
        Full(tau=1, feedback_tau=value)
    data = sentences.make(2, seed=0, duration="1 ms")
    with pytest.raises(SettingError, match=r"^vote_tau = .* between"):
        Session(SENTENCES.network(data, data.classes, 0).start(data), vote_tau=value)


@pytest.mark.parametrize("value", [SHORTEST, LONGEST, "1 ns"])
def test_the_ends_of_the_range_are_allowed_and_give_numbers(value):
    data = sentences.make(2, seed=0, duration="1 ms")
    network = Network([Full(tau=time_constant(value))], data.field, 1, data.classes).fit(data, passes=1)
    assert np.isfinite(network.parameters[0].centroids).all()
    assert 0 <= network.infer(data).votes.sum() <= data.counts.sum()


def test_other_times_have_no_such_range():
    assert microseconds("1e10 h") > LONGEST
