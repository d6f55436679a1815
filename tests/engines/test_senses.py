"""Strides, several units per class, the delta rule and evidence: by hand, in the reference engine."""

from dataclasses import replace

import numpy as np
import pytest

from timesurf import Full, Recordings, Rule, SettingError, Window, inference
from timesurf.engines import Options, Parameters, load, pack, reference
from timesurf.layers import stack
from timesurf.rule import DOUBT, delta_gains, shares


@pytest.mark.parametrize(
    ("stride", "place", "field"),
    [(1, (33, 8), (34, 30)), (4, (8, 2), (9, 8)), ((4, 1), (8, 8), (9, 30)), ("field", (0, 0), (1, 1))],
)
def test_a_stride_divides_output_places(stride, place, field):
    layer = Window(3, units=2, tau=1, stride=stride)
    assert layer.output((33, 8)) == place
    assert layer.output_field((34, 30)) == field
    assert layer.corner((33, 8)) == (32, 7)  # where an event looks does not change


@pytest.mark.parametrize("stride", [0, -1, 1.5, "all", (2, 0)])
def test_a_stride_that_is_no_number_of_pixels_is_refused(stride):
    with pytest.raises(SettingError, match="stride"):
        Window(3, units=2, tau=1, stride=stride)


def test_a_stride_for_other_dimensions_is_refused():
    with pytest.raises(SettingError, match="2 numbers, the field has 1"):
        stack([Window(3, units=2, tau=1, stride=(2, 2)), Full(tau=1)], (8,), 1, classes=2)


def test_units_per_class_vote_for_their_class():
    """Units 0 and 1 vote for class 0, units 2 and 3 for class 1; the fourth unit is closest to the second event."""
    stages = stack([Full(tau=1000, units_per_class=2)], (2,), 1, classes=2)
    assert (stages[0].units, stages[0].classes) == (4, 2)
    centroids = np.array([[1, 0], [9, 9], [9, 9], [0, 1]], float).reshape(4, 2, 1)
    parameters = Parameters.of([centroids], [np.full(4, np.inf)])
    two = Recordings([[0, 1]], t=[0, 10**6], field=(2,))
    assert reference.infer(stages, parameters, pack(two)).votes.tolist() == [[1, 1]]


def test_the_class_decides_what_is_right_not_the_unit():
    """Unit 1 of class 0 fires: G = +1 for label 0, so it moves towards the surface; away from it for label 1."""
    stages = stack([Full(tau=1000, units_per_class=2)], (1,), 1, classes=2)
    for label, moved in ((0, 0.9 + 0.1 * 0.1), (1, 0.9 - 0.1 * 0.1)):
        parameters = Parameters.of([np.array([0.0, 0.9, 0.0, 0.0]).reshape(4, 1, 1)], [np.full(4, np.inf)])
        batch = pack(Recordings([[0]], t=[0], field=(1,)), np.array([label]))
        reference.learn_online(stages, parameters, Rule(alpha=0.1, beta=0.0), batch)
        assert parameters[0].centroids.ravel()[1] == pytest.approx(moved)


def test_the_number_of_units_must_fit_the_classes():
    with pytest.raises(SettingError, match="units_per_class = 2"):
        stack([Full(units=3, tau=1, units_per_class=2)], (2,), 1, classes=2)


def test_delta_gains_by_hand():
    q = np.exp(-2 * np.array([0.0, 1.0, 0.25]))
    q /= q.sum()
    np.testing.assert_allclose(delta_gains(np.array([0.0, 1.0, 0.25]), 2.0, 1, 1), np.array([0, 1, 0]) - q)
    two = np.array([1.0, 0.25])
    np.testing.assert_allclose(
        delta_gains(np.array([0.0, 9.0, 1.0, 0.25]), 2.0, 1, 2)[2:],
        shares(two, 2.0) - shares(np.array([0.0, 9.0, 1.0, 0.25]), 2.0)[2:],
    )


def test_delta_gains_far_away_are_numbers():
    """Shares of the right class that are 0 in floating point still give its closest unit the whole target."""
    assert delta_gains(np.array([0.0, 1e6, 2e6]), 5.0, 1, 1).tolist() == [-1, 1, 0]


def test_the_delta_rule_moves_all_units_of_the_last_layer_by_hand():
    stages = stack([Full(tau=1000)], (2,), 1, classes=2)
    start = np.array([[0.8, 0.0], [0.0, 0.6]]).reshape(2, 2, 1)
    parameters = Parameters.of([start.copy()], [np.full(2, np.inf)])
    batch = pack(Recordings([[0]], t=[0], field=(2,)), np.array([1]))
    reference.learn_online(stages, parameters, Rule(alpha=0.1, last="delta", temperature=3.0), batch)
    ts = np.array([1.0, 0.0]).reshape(2, 1)
    gains = 0.1 * delta_gains(np.array([0.04, 1.36]), 3.0, 1, 1)
    for n in range(2):
        np.testing.assert_allclose(parameters[0].centroids[n], start[n] + gains[n] * (ts - start[n]))


def test_without_a_label_the_last_layer_learns_by_sup3r():
    stages = stack([Window(3, units=2, tau=100), Full(tau=1000)], (4,), 1, classes=2)
    rng = np.random.default_rng(0)
    shapes = [(2, *stage.surface_shape) for stage in stages]
    start = Parameters.of([rng.random(shape) for shape in shapes], [np.full(2, 9.0), np.full(2, np.inf)])
    batch = pack(Recordings([rng.integers(0, 4, 20)], t=np.arange(20) * 10, field=(4,)))
    ends = []
    for last in ("sup3r", "delta"):
        parameters = start.copy()
        reference.learn_batch(stages, parameters, Rule(alpha=0.01, last=last), batch)
        ends.append(parameters)
    assert ends[0].same(ends[1])


def test_frozen_units_do_not_move_by_the_delta_rule():
    stages = stack([Full(tau=1000)], (2,), 1, classes=2)
    parameters = Parameters.of([np.full((2, 2, 1), 0.5)], [np.full(2, np.inf)], [np.array([True, False])])
    batch = pack(Recordings([[0]], t=[0], field=(2,)), np.array([1]))
    reference.learn_batch(stages, parameters, Rule(alpha=0.1, last="delta"), batch)
    assert (parameters[0].centroids[0] == 0.5).all()
    assert (parameters[0].centroids[1] != 0.5).all()


def test_evidence_by_hand():
    stages = stack([Full(tau=1000)], (2,), 1, classes=2)
    parameters = Parameters.of([np.array([[1.0, 0.0], [0.0, 1.0]]).reshape(2, 2, 1)], [np.full(2, np.inf)])
    batch = pack(Recordings([[0]], t=[0], field=(2,)))
    outcome = reference.infer(stages, parameters, batch, Options(temperature=1.5))
    q = shares(np.array([0.0, 2.0]), 1.5)
    np.testing.assert_allclose(outcome.evidence, [np.log(q + DOUBT)])
    assert reference.infer(stages, parameters, batch).evidence is None


@pytest.mark.parametrize("wrong", [{"last": "hebb"}, {"temperature": 0.0}, {"temperature": np.inf}])
def test_a_rule_that_is_none_is_refused(wrong):
    with pytest.raises(SettingError, match=next(iter(wrong))):
        replace(Rule(), **wrong)


@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_evidence_of_many_recordings_is_that_of_each(engine, monkeypatch):
    monkeypatch.setattr(inference, "_EVENTS_AT_ONCE", 1)  # one recording at a time
    stages = stack([Full(tau=1000)], (2,), 1, classes=2)
    parameters = Parameters.of([np.array([[1.0, 0.0], [0.0, 1.0]]).reshape(2, 2, 1)], [np.full(2, np.inf)])
    three = Recordings([[0, 1, 1]], t=[0, 1, 2], offsets=[0, 1, 2, 3], field=(2,))
    outcome = inference.infer(load(engine), stages, parameters, three, Options(temperature=1.5))
    alone = [
        reference.infer(stages, parameters, pack(three[r]), Options(temperature=1.5)).evidence[0] for r in range(3)
    ]
    np.testing.assert_allclose(outcome.evidence, alone, rtol=1e-6)


@pytest.mark.parametrize("events", [64, 65, 300])
def test_evidence_of_many_events_against_a_class_is_finite(events):
    """Each event leaves class 1 nothing but the doubt: the product of 81 such shares is no float64 any more."""
    stages = stack([Full(tau=1000)], (2,), 1, classes=2)
    parameters = Parameters.of([np.array([[1, 0], [9, 9]], float).reshape(2, 2, 1)], [np.full(2, np.inf)])
    same = Recordings([[0] * events], t=np.arange(events) * 10**6, field=(2,))
    for engine in ("reference", "cpu"):
        found = load(engine).infer(stages, parameters, pack(same), Options("float64", temperature=50.0)).evidence
        np.testing.assert_allclose(found, [[events * np.log(1 + DOUBT), events * np.log(DOUBT)]])
