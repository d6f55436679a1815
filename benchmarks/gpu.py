"""Events a second on a GPU: the paper's network for digits, inference and training at several batch sizes.

Run on a machine with an NVIDIA GPU and CuPy: PYTHONPATH=src python3 benchmarks/gpu.py [JSON file]
"""

import json
import sys
import time

import cupy
import numpy as np

from timesurf import Network, Rule
from timesurf.bench import machine, workloads
from timesurf.engines import Options, cuda

RECORDINGS = 16_384
STILL = Rule(alpha=1e-12, beta=1e-12, gamma=1e-12, delta=1e-12)  # learns, but drifts nowhere while it is timed


def timed(call, repeats=3):
    """Seconds of the fastest of some calls, after one that warms up."""
    call()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        cupy.cuda.Device().synchronize()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main(json_file=None):
    some = workloads.strokes(1024)
    data = some[np.tile(np.arange(len(some)), RECORDINGS // len(some))]
    events = int(data.counts.sum())
    network = Network(workloads.NMNIST, data.field, 1, range(10), engine="cuda").start(some)
    label = network.class_numbers(data)
    card, (resident, order) = (
        cuda._Card(network.stages, network.parameters, Options()), cuda._Events.resident(data, label)
    )  # fmt: skip
    rates = {"inference": events / timed(lambda: card.run("infer", resident, order))}
    for deterministic in (False, True):
        for size in (RECORDINGS, 2048, 512, 128):
            steps = [(slice(r, r + size), STILL) for r in range(0, RECORDINGS, size)]
            options = Options(deterministic=deterministic)

            def one_pass(steps=steps, options=options):
                cuda.learn_pass(network.stages, network.parameters, data, label, steps, options)

            name = f"training, batches of {size}" + (", deterministic" if deterministic else "")
            rates[name] = events / timed(one_pass, repeats=1)
            print(f"{name:45s} {rates[name] / 1e9:.3f} G events/s", flush=True)
    print(f"{'inference':45s} {rates['inference'] / 1e9:.3f} G events/s")
    about = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    if json_file:
        with open(json_file, "w") as file:
            json.dump(
                {"gpu": about, "events_per_s": rates, "events": events, "machine": machine.describe()}, file, indent=1
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
