"""Networks and events on which a comparison of the rule turns, for engines of any kind."""

import numpy as np

from timesurf.engines import Parameters, pack
from timesurf.events import Recordings
from timesurf.layers import Full, Tile, Window, stack
from timesurf.rule import Rule

LAYERS = {"full": Full(units=2, tau=1), "tile": Tile((1,), units=2, tau=1), "window": Window(1, units=2, tau=1)}
LENGTHS = [2**29 - 1, 2**29, 2**30 + 7, 2**31 - 1, 2**31, 2**31 + 1]


def one_event():
    return pack(Recordings([[0]], [0], field=(1,)))


def two_layers(layer, centroids, thresholds):
    """A layer over one pixel, whose surface is always 1, and one unit above it."""
    stages = stack([layer, Full(units=1, tau=1)], (1,), 1)
    first = np.array(centroids, float).reshape(len(centroids), *stages[0].surface_shape)
    above = np.zeros((1, *stages[1].surface_shape))
    return stages, Parameters.of([first, above], [np.array(thresholds, float), np.array([np.inf])]).copy()


def pushed_by_second_event(learn, fall, *, events=2):
    """How far the second event pushes back the threshold of a unit that it reaches; dS of the layer above is -fall.

    Above, unit 1 fires at 0 us and unit 0 at 1000 us: S is first 1, then 1 - exp(-1000 / feedback_tau).
    """
    above = Full(units=2, tau=0.01, feedback_tau=1000 / -np.log(fall))
    stages = stack([Full(units=3, tau=0.01), above], (2,), 1)
    first = np.array([[1.0, 0.0], [0.0, 1.0], [0.75, 0.0]])[:, :, None]  # pixel 0, pixel 1, near pixel 0
    last = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    parameters = Parameters.of([first, last], [np.array([2.0, 2.0, 1.0]), np.full(2, np.inf)]).copy()
    batch = pack(Recordings([[1, 0][:events]], [0, 1000][:events], field=(2,)))
    rule = Rule(alpha=0, beta=0, gamma=0, delta=0.1, d=1.0)
    learn(stages, parameters, rule, batch)
    return parameters[0].thresholds[2]


def long_recording(length):
    """Bursts of events at both ends, on a clock that began long ago; a short recording follows."""
    rng = np.random.default_rng(0)
    burst = np.sort(rng.integers(0, 40, 15))
    t = np.concatenate([burst - burst[0], length - (burst[-1] - burst)])
    pixels = rng.integers(0, 4, 45)
    return Recordings([pixels], np.concatenate([2**33 + t, burst]), offsets=[0, 30, 45], field=(4,))


def two_layers_for_long_recordings(tau):
    """Two layers with the same time constant, and parameters among their surfaces."""
    stages = stack([Window(3, units=3, tau=tau), Full(units=2, tau=tau)], (4,), 1)
    rng = np.random.default_rng(1)
    centroids = [rng.random((stage.units, *stage.surface_shape)) for stage in stages]
    return stages, Parameters.of(centroids, [np.full(3, 1.2), np.full(2, np.inf)])
