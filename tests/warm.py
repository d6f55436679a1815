"""Compile the kernels that many tests use, once for all of their processes: `python -m tests.warm`, before pytest.

Two processes share the work; no kernel is compiled in both, so that none writes what the other stores.
"""

import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from timesurf import Full, Network, Rule, Window
from timesurf.bench import workloads
from timesurf.datasets import saccades, sentences
from timesurf.engines import Options, Parameters, pack
from timesurf.engines.cpu import engine, yardstick
from timesurf.live.session import Session
from timesurf.spiking import Neurons, SpikingNetwork

DATA = workloads.strokes(1, events=2, field=(4, 4))


def network(precision="float64"):
    """A network whose parameters took no kernel to make."""
    layers = [Window(3, units=2, tau=1), Full(tau=1)]
    made = Network(layers, DATA.field, DATA.polarities, range(10), precision=precision)
    centroids = [np.zeros((stage.units, *stage.surface_shape)) for stage in made.stages]
    made.parameters = Parameters.of(centroids, [np.full(len(c), np.inf) for c in centroids])
    return made


def at_once():
    """Inference and batches, the plain engine, spiking networks, the simulator."""
    engine.warm_up(online=False)
    made, events = network(), pack(DATA, [0])
    for dtype in ("float32", "float64"):
        yardstick.learn_online(made.stages, made.snapshot(), Rule(), events, Options(dtype))
    yardstick.surfaces(made.stages, made.parameters, events, 0)
    words = sentences.make(2, seed=0, duration="1 ms")
    SpikingNetwork([Neurons(tau=1)], words.field, words.polarities, sentences.TASK1).fit(words, passes=1)
    saccades.simulate(np.zeros((1, 28, 28)))


def one_by_one():
    """Online learning and live streams."""
    engine.warm_up(batch=False)
    for precision in ("float32", "float64"):
        session = Session(network(precision))
        session.push(DATA)
        session.push_one(1, 1, 0, 10**6)


def main():
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        for job in [pool.submit(at_once), pool.submit(one_by_one)]:
            job.result()


if __name__ == "__main__":
    sys.exit(main())
