"""A short selection of tests/gpu: every path against the reference, and a whole pass.

PYTHONPATH=src python3 -m pytest tests/gpu -k quick
"""

import numpy as np
import pytest

pytest.importorskip("cupy", reason="the CUDA engine needs CuPy")

from tests.gpu.cases import alone, draw, window
from tests.gpu.checks import check_decisions, check_learning, check_outputs, cuda, deeper, digits, network_of, same_bits
from timesurf.engines import Learner, Options, pack, reference
from timesurf.engines.cuda import general
from timesurf.rule import Rule


def case(path, seed):
    """A random network that takes this path."""
    if path == "layer by layer":
        return deeper(seed)
    return draw(seed, most_units=16, most_events=400, windows=1 if path == "blocks" else 0)


# Chosen for strides, several units per class, and outputs with a label.
CASES = [("general", 0), ("general", 2), ("blocks", 0), ("blocks", 4), ("layer by layer", 1), ("layer by layer", 2)]


@pytest.mark.parametrize(("path", "seed"), CASES)
def test_decides_as_the_reference(path, seed):
    stages, parameters, _, batch = case(path, seed)
    check_decisions(stages, parameters, batch)


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize(("path", "seed"), CASES)
def test_learns_as_the_reference(path, seed, deterministic):
    check_learning(*case(path, seed), Options(deterministic=deterministic))


@pytest.mark.parametrize("width", [1024, 3], ids=["written", "wide"])
@pytest.mark.parametrize("seed", [4, 9])
def test_learns_by_the_delta_rule_as_the_reference(seed, width, monkeypatch):
    monkeypatch.setattr(general, "WIDE", width)
    general.plan.cache_clear()
    stages, parameters, rule, batch = draw(seed, most_units=40, windows=1, last="delta")
    check_learning(stages, parameters, rule, batch, Options(deterministic=seed == 4))
    check_decisions(stages, parameters, batch, rule.temperature)
    general.plan.cache_clear()


@pytest.mark.parametrize("seed", [6, 7])
def test_winners_of_layers_that_rest_are_the_references(seed):
    check_outputs(*window(seed))


@pytest.mark.parametrize("last", ["sup3r", "delta"])
def test_a_full_layer_alone_is_the_references(last):
    stages, parameters, rule, batch = alone(4, most_units=40, last=last)
    check_learning(stages, parameters, rule, batch, Options(deterministic=True))
    check_decisions(stages, parameters, batch, rule.temperature)


def test_surfaces_are_the_references():
    stages, parameters, _, batch = draw(0)
    for layer in range(len(stages)):
        expected, found = (of.surfaces(stages, parameters, batch, layer) for of in (reference, cuda))
        if found.shape == expected.shape:  # a near-tie below may let one more or less through
            np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("deep", [False, True])
def test_a_pass_equals_batch_after_batch(deep):
    data, options = digits(), Options(deterministic=True)
    network = network_of(data, deep=deep)
    passed, batched = network.snapshot(), network.snapshot()
    label, rule, parts = network.class_numbers(data), Rule(alpha=1e-3), [slice(0, 16), slice(16, 40)]
    reported = []
    cuda.learn_pass(
        [Learner(network.stages, passed, data, label)], parts, [[rule] * 2], options,
        report=lambda part, _: reported.append(part),
    )  # fmt: skip
    for part in parts:
        cuda.learn_batch(network.stages, batched, rule, pack(data[part], label[part]), options)
    assert same_bits(passed, batched)
    assert reported == [slice(0, 40)]
