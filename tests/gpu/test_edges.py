"""The CUDA engine where a comparison turns; it computes in float32, so a little further from the edge than others."""

import numpy as np
import pytest

pytest.importorskip("cupy", reason="the CUDA engine needs CuPy")

from tests.engines import edges
from tests.gpu.checks import check_decisions, cuda
from timesurf.engines import pack
from timesurf.engines.cuda.events import LONGEST
from timesurf.rule import Rule

LAYER = pytest.mark.parametrize("layer", edges.LAYERS.values(), ids=edges.LAYERS)
CLOSE = 1e-4


def taught(layer, centroids, thresholds, **rates):
    stages, parameters = edges.two_layers(layer, centroids, thresholds)
    cuda.learn_batch(stages, parameters, Rule(**rates), edges.one_event())
    return parameters[0].thresholds


@LAYER
def test_an_event_exactly_at_the_threshold_is_rejected(layer):
    for threshold, kept in ((0.5, [[0, 0]]), (0.5 + CLOSE, [[1, 1]])):
        stages, parameters = edges.two_layers(layer, [0.5, -4.0], [threshold, 9.0])
        assert cuda.infer(stages, parameters, edges.one_event()).kept.tolist() == kept


@LAYER
def test_a_threshold_stops_at_0_and_the_others_do_not(layer):
    for threshold, expected in ((0.75, 0.0), (5.0, 5.0 - np.exp(-4.5))):
        found = taught(layer, [1.0, 0.5], [0.5, threshold], gamma=1, delta=0, d=1.0)
        np.testing.assert_allclose(found, [0.5 + np.exp(-0.5), expected], rtol=1e-4)


@LAYER
def test_a_unit_exactly_at_its_threshold_is_not_pushed_back(layer):
    for threshold, moves in ((0.5, False), (0.5 + CLOSE, True)):
        found = taught(layer, [1.0, 0.5], [0.5, threshold], gamma=0.1, delta=0, d=1.0)
        assert (found[1] != threshold) == moves


@LAYER
def test_infinite_thresholds_stay_infinite(layer):
    assert taught(layer, [1.0, 0.5], [np.inf, np.inf], gamma=0.1, delta=0.1).tolist() == [np.inf, np.inf]


@LAYER
def test_a_unit_without_a_threshold_pushes_back_those_that_have_one(layer):
    found = taught(layer, [1.0, 0.5], [np.inf, 1.0], gamma=0.1, delta=0, d=1.0)
    np.testing.assert_allclose(found, [np.inf, 1.0 - 0.1 * np.exp(-0.5)], rtol=1e-4)


@pytest.mark.parametrize(("fall", "competes"), [(0.7e-6, True), (1.4e-6, False)])
def test_units_compete_down_to_the_slack_and_no_further(fall, competes):
    both, alone = (edges.pushed_by_second_event(cuda.learn_batch, fall, events=n) for n in (2, 1))
    assert (both < alone) == competes


@pytest.mark.parametrize("tau", [10.0, 2.0**28])
@pytest.mark.parametrize("length", [n for n in edges.LENGTHS if n < LONGEST])
def test_long_recordings_are_decided_as_in_the_reference(tau, length):
    stages, parameters = edges.two_layers_for_long_recordings(tau)
    check_decisions(stages, parameters, pack(edges.long_recording(length)))
