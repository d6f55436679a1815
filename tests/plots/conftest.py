import numpy as np
import pytest

from timesurf import Full, Network, Window
from timesurf.bench.workloads import strokes
from timesurf.datasets import sentences
from timesurf.presets import SENTENCES


@pytest.fixture(scope="package")
def text():
    return sentences.make(30, seed=0, duration="3 ms")


@pytest.fixture(scope="package")
def reader(text):
    """Three layers: characters, words, sentences."""
    return SENTENCES.network(text, sentences.TASK1, 0).fit(text, passes=3, validation=0.2)


@pytest.fixture(scope="package")
def camera():
    return strokes(10, events=300, field=(16, 12), polarities=2)


@pytest.fixture(scope="package")
def watcher(camera):
    """Windows, two of them, below a full layer; the second rejects some events."""
    layers = [Window(5, units=6, tau="20 ms"), Window(3, units=8, tau="20 ms"), Full(tau="20 ms")]
    network = Network(layers, camera.field, camera.polarities, range(10)).fit(camera, passes=1, batch_size=5)
    network.parameters[1].thresholds[:] = np.nanquantile(network.trace(camera).distance[:, 1], 0.6)
    return network
