"""The rule at its edges: where a comparison turns, what a default is, what a constant is worth."""

import numpy as np
import pytest

from timesurf.errors import SettingError
from timesurf.rule import RATES, Rule, centroid_step, near, separability, threshold_steps

JUST_WITHIN, JUST_BEYOND = -0.95e-6, -1.05e-6  # of the slack below 0


def steps(*, th=(1.0, 1.0), dist=(0.2, 0.3), fired=0, S=0.5, dS=0.5, gain=0.1, d=0.5, rule=None):
    return threshold_steps(np.array(th), np.array(dist), fired, S, dS, gain, d, rule or Rule())


@pytest.mark.parametrize("close", [{"S": JUST_WITHIN}, {"dS": JUST_WITHIN}, {"S": 0.0, "dS": 0.0}])
def test_units_compete_down_to_the_slack_below_zero(close):
    assert steps(**close)[1] < 0


@pytest.mark.parametrize("far", [{"S": JUST_BEYOND}, {"dS": JUST_BEYOND}])
def test_units_do_not_compete_beyond_the_slack(far):
    assert steps(**far)[1] == 0


@pytest.mark.parametrize(("S", "dS"), [(-1e-6, 0.5), (0.5, -1e-6)])
def test_units_compete_on_the_slack_itself(S, dS):
    assert steps(S=S, dS=dS)[1] < 0


def test_a_unit_whose_distance_is_its_threshold_is_not_pushed_back():
    assert steps(dist=(0.2, 1.0))[1] == 0


def test_a_unit_just_inside_its_threshold_is_pushed_back_by_the_whole_gain():
    assert steps(dist=(0.2, np.nextafter(1.0, 0.0)))[1] == pytest.approx(-0.1)


def test_the_unit_that_fired_gains_what_its_neighbours_lose():
    np.testing.assert_allclose(steps(dist=(0.3, 0.3), gain=0.1), [0.1 * np.exp(-1.4), -0.1 * np.exp(-1.4)])


def test_the_unit_that_fired_moves_even_from_beyond_its_threshold():
    assert steps(dist=(1.5, 2.0))[0] == pytest.approx(0.1 * np.exp(1.0))


def test_a_negative_gain_lowers_the_threshold_of_the_unit_that_fired_alone():
    np.testing.assert_allclose(steps(S=-0.5, dS=-0.5, gain=-0.1), [-0.1 * np.exp(-1.6), 0])


@pytest.mark.parametrize("kernel", ["border", "centre"])
def test_infinite_thresholds_stay_infinite(kernel):
    th = np.full(3, np.inf)
    moved = th + steps(th=th, dist=(0.1, 0.2, 0.3), rule=Rule(kernel=kernel))
    assert moved.tolist() == [np.inf] * 3


def test_an_infinite_threshold_does_not_move_a_finite_one():
    assert steps(th=(np.inf, 1.0))[1] == pytest.approx(-0.1 * np.exp(-1.4))


def test_the_kernel_of_the_rule_weighs_the_steps():
    np.testing.assert_allclose(steps(rule=Rule(kernel="centre")), [0.1 * np.exp(-0.4), -0.1 * np.exp(-0.6)])


@pytest.mark.parametrize("kernel", ["border", "centre"])
def test_a_surface_at_the_distance_d_weighs_one_over_e(kernel):
    away = {"border": (np.array(1.0), np.array(0.75)), "centre": (np.array(1.0), np.array(0.25))}[kernel]
    assert near(*away, 0.25, kernel) == pytest.approx(np.exp(-1))


def test_s_takes_the_mean_over_the_other_units():
    assert separability(np.array([0.5, 1.0, 0.25]), 1, G=+1) == 1 - (0.5 + 0.25) / 2
    assert separability(np.array([0.5, 1.0]), 1, G=-1) == -0.5


def test_s_of_one_unit_is_the_sign_whatever_its_feedback():
    assert separability(np.array([0.25]), 0, G=+1) == 1


def test_a_centroid_moves_towards_the_surface_by_the_gain():
    np.testing.assert_allclose(centroid_step(np.array([1.0, 0.0]), np.array([0.5, 0.5]), 0.2), [0.1, -0.1])


def test_default_rates():
    rule = Rule()
    assert [getattr(rule, name) for name in RATES] == [1e-4, 1e-4, 1e-4, 5e-6, 0.3]
    assert (rule.kernel, rule.competition) == ("border", True)


@pytest.mark.parametrize("whole", [2, np.float32(2), np.int8(2)])
def test_a_rate_becomes_a_plain_float(whole):
    rate = Rule(alpha=whole).alpha
    assert rate == 2
    assert type(rate) is float


def test_a_list_of_rates_becomes_a_tuple_of_floats():
    assert Rule(gamma=[1, np.float64(2)]).gamma == (1.0, 2.0)
    assert hash(Rule(gamma=[1, 2])) == hash(Rule(gamma=(1.0, 2.0)))


def test_competition_becomes_a_truth_value():
    assert Rule(competition=np.False_).competition is False
    assert Rule(competition=1).competition is True


@pytest.mark.parametrize("bad", [{"alpha": 10**400}, {"beta": (0.1, "x")}, {"d": (0.3, 0.0)}, {"delta": None}])
def test_a_single_bad_rate_among_good_ones_is_refused(bad):
    with pytest.raises(SettingError, match=next(iter(bad))):
        Rule(**bad)


def test_rates_other_than_d_may_be_zero_or_negative():
    rule = Rule(alpha=0, beta=-1.0, gamma=0, delta=-0.5, d=1e-9)
    assert (rule.alpha, rule.beta, rule.gamma, rule.delta, rule.d) == (0, -1, 0, -0.5, 1e-9)


def test_rates_per_layer_stand_in_the_columns_of_their_names():
    rule = Rule(alpha=(1, 2), beta=3, gamma=(4, 5), delta=6, d=(7, 8))
    assert rule.per_layer(2).tolist() == [[1, 3, 4, 6, 7], [2, 3, 5, 6, 8]]


def test_a_tuple_of_one_rate_does_not_stand_for_all_layers():
    with pytest.raises(SettingError, match="beta"):
        Rule(beta=(0.1,)).per_layer(2)


def test_adapting_takes_a_tenth_of_beta_alone():
    assert Rule(beta=0.5).for_adapting() == Rule(beta=0.05)
    assert Rule(beta=(0.5, 2.0)).for_adapting().beta == (0.05, 0.2)


def test_scaling_leaves_d_alone():
    rule = Rule(alpha=1.0, beta=2.0, gamma=(3.0, 4.0), delta=5.0, d=0.7, kernel="centre", competition=False)
    half = Rule(alpha=0.5, beta=1.0, gamma=(1.5, 2.0), delta=2.5, d=0.7, kernel="centre", competition=False)
    assert rule.scaled(0.5) == half


def test_a_rule_is_made_again_from_its_settings():
    rule = Rule(alpha=(1.0, 2.0), d=0.4, kernel="centre", competition=False)
    assert Rule(**rule.to_dict()) == rule
