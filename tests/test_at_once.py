"""How much is read or computed at one time bounds memory and changes no result: mutants leave these numbers alone."""

import ast
import importlib

import numpy as np
import pytest

from tests.mutants import THIS
from tests.random_networks import blobs
from timesurf import Full, Network, Recordings, Window, metrics, transforms
from timesurf.io import npz
from timesurf.transforms.preparation import Preparation


def sizes():
    """Every constant of the core whose name ends in AT_ONCE, with its module."""
    found = []
    for module in THIS.core():
        for node in ast.parse((THIS.source / module).read_bytes()).body:
            names = [target.id for target in getattr(node, "targets", []) if isinstance(target, ast.Name)]
            name = module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            found += [(f"timesurf.{name}", one) for one in names if one.endswith("AT_ONCE")]
    return found


@pytest.fixture(scope="module")
def network():
    made = Network([Window(3, units=4, tau="5 ms"), Full(tau="20 ms")], (9, 9), 2, [0, 1, 2], dtype="float64")
    made.fit(blobs(12, seed=0), passes=1, batch_size=4)
    return made.tighten(blobs(12, seed=0), keep=0.7)


def results(network, path):
    """What recordings from a file give, all the way from checks to decisions."""
    whole = npz.read(path)
    some = whole[[5, 1, 3, 8]]
    yield from (*some.spans(), some.t, some.entries(), whole[::-1].t)
    for changed in (
        transforms.refractory(whole, 1500), transforms.drop(whole, 0.3, seed=1), transforms.jitter(whole, 1, 5, seed=1),
        Preparation(denoise=3000, downsample=2, hot_pixels=300)(whole),
    ):  # fmt: skip
        yield from (changed.offsets, changed.t, changed.p, *changed.coords)
    outcome = network.infer(whole)
    yield from (outcome.votes, outcome.kept, outcome.evidence)
    yield from metrics.decide(outcome.votes, outcome.evidence, network.calibration)
    above = network.transform(whole, 0)
    yield from (above.offsets, above.t, above.p, *above.coords)


def test_there_are_such_constants():
    assert {module for module, _ in sizes()} >= {"timesurf.events", "timesurf.inference", "timesurf.transforms.parts"}


@pytest.mark.parametrize(("module", "name"), sizes())
def test_results_do_not_depend_on_how_much_is_done_at_once(network, module, name, monkeypatch, tmp_path):
    npz.write(tmp_path / "some.npz", blobs(9, seed=1))
    network.decides = "evidence"
    usual = list(results(network, tmp_path / "some.npz"))
    monkeypatch.setattr(importlib.import_module(module), name, 7)
    for found, expected in zip(results(network, tmp_path / "some.npz"), usual, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_checks_in_small_parts_find_what_is_out_of_order(monkeypatch):
    for at_once in (1, 2, 3, 1 << 20):
        monkeypatch.setattr("timesurf.events.checks._CHECKED_AT_ONCE", at_once)
        with pytest.raises(ValueError, match="event 3"):
            Recordings([[0] * 5], [1, 2, 3, 2, 4], field=(1,))
