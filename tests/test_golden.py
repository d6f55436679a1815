"""Networks trained from fixed seeds, in every way that the library trains: what they decide is recorded in golden.json.

A change of the rule, of an engine or of the start shows here, however small. If it is intended, `make golden` writes
the file again, and the difference belongs in the changelog. Decisions must match exactly, parameters to 1e-6: another
processor, or another version of LLVM, may round the last digits differently (docs/determinism.md).
"""

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from timesurf import Full, Network, Rule, Session, Window
from timesurf.datasets import saccades, sentences
from timesurf.presets import SENTENCES
from timesurf.rule import RATES

GOLDEN = Path(__file__).with_name("golden.json")
LEARN, TEST = sentences.make(100, seed=1), sentences.make(20, seed=2)
# Long enough that thresholds reject; in float64, where rounding is too small to change a decision.
WAYS = {
    "online": (Rule().scaled(2), {"passes": 6}),
    "batch": (Rule(), {"passes": 3, "batch_size": 10}),
}


def train(way, **changed):
    rule, how = WAYS[way]
    network = SENTENCES.network(LEARN, sentences.TASK1, 0, dtype="float64")
    network.rule = replace(rule, **changed)
    return network.fit(LEARN, **how)


def digits_in_batches():
    """A window layer on two polarities below a classifier, k-means start, falling rates, thresholds that reject."""
    small = load_digits()
    images = np.pad(np.kron(small.images[:60] / 16, np.ones((1, 2, 2))), ((0, 0), (2, 2), (2, 2)))
    data = saccades.simulate(images, small.target[:60], seed=3)
    rule = Rule(alpha=3e-5, beta=0, gamma=1e-4, delta=1e-5)
    layers = [Window(5, units=6, tau="10 ms"), Full(tau="5 ms")]
    network = Network(layers, data.field, data.polarities, range(10), rule=rule, dtype="float64")
    return network.fit(data, passes=2, batch_size=16, decay=True, keep=0.7, start="kmeans"), data


def adapted():
    network = train("online")
    network.adapt(TEST, cap=1e-3, confidence=0.6)
    network.adapt(TEST)
    return network, TEST


def extended():
    network = train("online").tighten(LEARN)
    new = sentences.make(40, seed=5, sentences=sentences.TASK2)
    return network.extend(new, units=[2, 6], classes=sentences.TASK2).train(new, passes=2), new


def streamed():
    session = Session(train("online"), adapt=True)
    (events,) = TEST[0].to_structured()
    for i in range(0, len(events), 37):
        session.push(events[i : i + 37])
    return session.adapted(), TEST


VERBS = {"digits": digits_in_batches, "adapt": adapted, "extend": extended, "stream": streamed}
_MOST = 1000  # values of a layer that are recorded one by one; larger layers as one weighted sum per unit


def digest():
    """Checksum of the recordings: NumPy does not guarantee the same random numbers in all versions."""
    arrays = [a for data in (LEARN, TEST) for a in (*data.coords, data.t, data.offsets)]
    return hashlib.sha256(b"".join(np.asarray(a, dtype="<i8").tobytes() for a in arrays)).hexdigest()


def listed(centroids):
    flat = centroids.reshape(len(centroids), -1)
    return (flat if flat.size <= _MOST else flat @ np.cos(np.arange(flat.shape[1]))).ravel()


def recorded(network, data=TEST):
    """What golden.json records of a network."""
    outcome = network.infer(data)
    layers = range(len(network.stages))
    centroids, thresholds = [u.centroids for u in network.parameters], [u.thresholds for u in network.parameters]
    return {
        "votes": outcome.votes.tolist(),
        "kept": outcome.kept.tolist(),
        "centroids": [[float(f"{c:.10g}") for c in listed(centroids[k])] for k in layers],
        "thresholds": [[float(f"{th:.10g}") for th in thresholds[k]] for k in layers[:-1]],
    }


def assert_as_recorded(network, expected, data=TEST):
    found = recorded(network, data)
    for name in ("centroids", "thresholds"):
        for mine, theirs in zip(found[name], expected[name], strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-6, err_msg=name)
    for name in ("votes", "kept"):
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


@pytest.fixture(scope="module")
def golden():
    golden = json.loads(GOLDEN.read_text("utf-8"))
    assert golden["recordings"] == digest(), "the recordings differ: sentences.make or NumPy's generator has changed"
    return golden


@pytest.mark.parametrize("way", WAYS)
def test_the_network_decides_as_recorded(golden, way):
    assert_as_recorded(train(way), golden[way])


@pytest.mark.parametrize("verb", VERBS)
def test_every_other_way_to_learn_ends_as_recorded(golden, verb):
    network, data = VERBS[verb]()
    assert_as_recorded(network, golden[verb], data)


@pytest.mark.parametrize("way", WAYS)
def test_float32_decides_the_same_for_every_recording(golden, way):
    """A few single events may differ, where two centroids are equally close."""
    network = train(way)
    network.dtype = "float32"
    votes, expected = network.infer(TEST).votes, np.array(golden[way]["votes"])
    np.testing.assert_array_equal(votes.argmax(1), expected.argmax(1))
    assert np.abs(votes - expected).sum() <= 0.001 * expected.sum()


@pytest.mark.parametrize("rate", RATES)
def test_a_rate_changed_by_a_thousandth_would_show(golden, rate):
    with pytest.raises(AssertionError):
        assert_as_recorded(train("batch", **{rate: 1.001 * getattr(WAYS["batch"][0], rate)}), golden["batch"])


@pytest.mark.parametrize("changed", [{"kernel": "centre"}, {"competition": False}])
def test_another_rule_would_show(golden, changed):
    with pytest.raises(AssertionError):
        assert_as_recorded(train("batch", **changed), golden["batch"])


if __name__ == "__main__":
    new = {"recordings": digest()} | {way: recorded(train(way)) for way in WAYS}
    new |= {verb: recorded(*learn()) for verb, learn in VERBS.items()}
    one_row_per_line = re.sub(r"\[[^][]*\]", lambda row: " ".join(row[0].split()), json.dumps(new, indent=1))
    GOLDEN.write_text(one_row_per_line + "\n", "utf-8")
