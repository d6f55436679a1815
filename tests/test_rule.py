import numpy as np
import pytest

from timesurf.engines import Parameters, pack, reference
from timesurf.errors import SettingError
from timesurf.events import Recordings
from timesurf.layers import Full, stack
from timesurf.rule import Rule, near, separability, sign, threshold_steps


def test_s_is_one_when_sparse_stable_and_right():
    assert separability(np.array([0.0, 1.0, 0.0]), 1, G=+1) == 1


def test_s_is_minus_one_when_sparse_stable_and_wrong():
    assert separability(np.array([0.0, 1.0, 0.0]), 1, G=-1) == -1


@pytest.mark.parametrize("G", [+1, -1])
def test_s_is_zero_when_dense(G):
    assert separability(np.ones(5), 2, G) == 0


@pytest.mark.parametrize("G", [+1, -1])
def test_one_unit_does_not_divide_by_zero(G):
    assert separability(np.ones(1), 0, G) == G


@pytest.mark.parametrize(("order", "label", "S"), [([0, 0, 0], 0, 1.0), ([0, 0, 0], 1, -1.0), ([0, 1, 2], 2, 0.0)])
def test_s_reaches_its_limits_in_a_network(order, label, S):
    """Three pixels, three units, each unit tied to its pixel: one unit firing, or all at the same time."""
    stages = stack([Full(units=3, tau=1, feedback_tau=1000)], (3,), 1)
    events = Recordings([order], t=[0, 0, 0] if S == 0 else [0, 50, 100], field=(3,))
    units = np.tril(np.ones((3, 3))) if S == 0 else np.eye(3)  # pixels 0, then 0 and 1, then all three are lit
    parameters = Parameters.of([units[:, :, None]], [np.full(3, np.inf)])
    trace = reference.infer(stages, parameters, pack(events, [label]), trace=True).trace
    assert trace.S[-1, 0] == pytest.approx(S)


def test_with_s_and_ds_one_the_rule_is_online_kmeans(rng):
    """First event of each recording, one unit fires, right class: S = dS = 1, and eta = alpha + beta."""
    stages = stack([Full(units=4, tau=10)], (6,), 1)
    start = Parameters.of([rng.random((4, 6, 1))], [np.full(4, np.inf)])
    pixels = rng.integers(0, 6, 200)
    events = Recordings([pixels], np.zeros(200, int), offsets=np.arange(201), field=(6,))
    parameters = start.copy()
    reference.learn_online(stages, parameters, Rule(alpha=0.03, beta=0.01), pack(events))
    means = start[0].centroids[:, :, 0].copy()
    for pixel in pixels:
        sample = np.eye(6)[pixel]
        f = np.argmin(((means - sample) ** 2).sum(axis=1))
        means[f] += 0.04 * (sample - means[f])
    np.testing.assert_allclose(parameters[0].centroids[:, :, 0], means, rtol=1e-12)


def test_sign_is_positive_without_a_label():
    assert (sign(1, -1), sign(1, 1), sign(1, 0)) == (1, 1, -1)


def test_border_kernel_weighs_the_border_and_centre_kernel_the_centre():
    th, dist = np.array([2.0, 2.0]), np.array([0.0, 2.0])
    np.testing.assert_allclose(near(th, dist, 0.5, "border"), [np.exp(-4), 1])
    np.testing.assert_allclose(near(th, dist, 0.5, "centre"), [1, np.exp(-4)])


@pytest.mark.parametrize(("S", "dS"), [(-0.5, 0.2), (0.5, -0.2)])
def test_no_competition_unless_s_and_ds_are_positive(S, dS):
    steps = threshold_steps(np.ones(2), np.array([0.2, 0.3]), 0, S, dS, 0.1, 0.5, Rule())
    assert steps[1] == 0
    assert steps[0] != 0


def test_rounding_does_not_decide_whether_units_compete():
    """While one unit fires steadily, dS is 0 up to rounding."""
    args = (np.ones(2), np.array([0.2, 0.3]), 0)
    for dS in (0.0, -1e-16, -1e-9):
        assert threshold_steps(*args, 1.0, dS, 0.1, 0.5, Rule())[1] < 0


def test_competition_can_be_switched_off():
    args = (np.ones(2), np.array([0.2, 0.3]), 0, 0.5, 0.5, 0.1, 0.5)
    assert threshold_steps(*args, Rule())[1] < 0
    assert threshold_steps(*args, Rule(competition=False))[1] == 0


def test_thresholds_stop_at_zero():
    stages = stack([Full(units=1, tau=10), Full(units=2, tau=10)], (1,), 1)
    start = Parameters.of([np.ones((1, 1, 1)), np.array([[1.0], [0.0]])], [np.array([0.1]), np.full(2, np.inf)])
    for learn in (reference.learn_online, reference.learn_batch):
        parameters = start.copy()
        learn(stages, parameters, Rule(delta=10.0), pack(Recordings([[0]], [0], field=(1,)), [1]))
        assert parameters[0].thresholds.item() == 0


def test_rates_may_differ_by_layer():
    assert Rule(alpha=(1, 2)).per_layer(2)[:, 0].tolist() == [1, 2]
    with pytest.raises(SettingError, match="alpha has 2 values for 3 layers"):
        Rule(alpha=(1, 2)).per_layer(3)


@pytest.mark.parametrize(
    "bad", [{"alpha": float("nan")}, {"beta": float("inf")}, {"d": 0}, {"d": -1}, {"kernel": "middle"}, {"gamma": "x"}]
)
def test_bad_rates_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        Rule(**bad)
