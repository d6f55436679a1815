"""One network, trained from a fixed seed: what it decides is written down in golden.json.

A change of the rule, of an engine or of the start shows here, however small. If it is meant, `make golden` writes the
file anew, and the difference belongs in the changelog. Decisions are held exactly, parameters to 1e-6: another
processor, or another version of LLVM, may round the last digits otherwise (docs/determinism.md).
"""

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from timesurf import Rule
from timesurf.datasets import sentences
from timesurf.presets import SENTENCES
from timesurf.rule import RATES

GOLDEN = Path(__file__).with_name("golden.json")
LEARN, TEST = sentences.make(100, seed=1), sentences.make(20, seed=2)
# Long enough that thresholds reject; in float64, where rounding is too small to turn a decision.
WAYS = {
    "online": (Rule().scaled(2), {"passes": 6}),
    "batch": (Rule(), {"passes": 3, "batch_size": 10}),
}


def train(way, **changed):
    rule, how = WAYS[way]
    network = SENTENCES.network(LEARN, sentences.TASK1, 0, dtype="float64")
    network.rule = replace(rule, **changed)
    return network.fit(LEARN, **how)


def digest():
    """Of the recordings: NumPy does not promise the same random numbers for ever."""
    arrays = [a for data in (LEARN, TEST) for a in (*data.coords, data.t, data.offsets)]
    return hashlib.sha256(b"".join(np.asarray(a, dtype="<i8").tobytes() for a in arrays)).hexdigest()


def written(network):
    """What is kept of a network, ready for JSON."""
    outcome = network.infer(TEST)
    layers = range(len(network.stages))
    centroids, thresholds = network.parameters.centroids, network.parameters.thresholds
    return {
        "votes": outcome.votes.tolist(),
        "kept": outcome.kept.tolist(),
        "centroids": [[float(f"{c:.10g}") for c in centroids[k].ravel()] for k in layers],
        "thresholds": [[float(f"{th:.10g}") for th in thresholds[k]] for k in layers[:-1]],
    }


def assert_as_written(network, expected):
    found = written(network)
    for name in ("centroids", "thresholds"):
        for mine, theirs in zip(found[name], expected[name], strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-6, err_msg=name)
    for name in ("votes", "kept"):
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


@pytest.fixture(scope="module")
def golden():
    kept = json.loads(GOLDEN.read_text())
    assert kept["recordings"] == digest(), "the recordings are others: sentences.make or NumPy's generator has changed"
    return kept


@pytest.mark.parametrize("way", WAYS)
def test_the_network_decides_as_it_always_did(golden, way):
    assert_as_written(train(way), golden[way])


@pytest.mark.parametrize("way", WAYS)
def test_float32_decides_the_same_of_every_recording(golden, way):
    """Of single events a few may turn, where two centroids are equally close."""
    network = train(way)
    network.dtype = "float32"
    votes, expected = network.infer(TEST).votes, np.array(golden[way]["votes"])
    np.testing.assert_array_equal(votes.argmax(1), expected.argmax(1))
    assert np.abs(votes - expected).sum() <= 0.001 * expected.sum()


@pytest.mark.parametrize("rate", RATES)
def test_a_rate_changed_by_a_thousandth_would_show(golden, rate):
    with pytest.raises(AssertionError):
        assert_as_written(train("batch", **{rate: 1.001 * getattr(WAYS["batch"][0], rate)}), golden["batch"])


@pytest.mark.parametrize("changed", [{"kernel": "centre"}, {"competition": False}])
def test_another_rule_would_show(golden, changed):
    with pytest.raises(AssertionError):
        assert_as_written(train("batch", **changed), golden["batch"])


if __name__ == "__main__":
    new = {"recordings": digest()} | {way: written(train(way)) for way in WAYS}
    one_row_a_line = re.sub(r"\[[^][]*\]", lambda row: " ".join(row[0].split()), json.dumps(new, indent=1))
    GOLDEN.write_text(one_row_a_line + "\n")
