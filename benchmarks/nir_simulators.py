"""A spiking network as a NIR graph in snnTorch and norse: how many of its spikes do they fire?

Both walk through time in steps. snnTorch's is always 100 us, so recordings and time constants are slowed down by 1, 10
and 100: steps of 100, 10 and 1 us for the sentences as they are.

Run: pip install 'timesurf[bench]' norse; python benchmarks/nir_simulators.py [JSON file]
"""

import contextlib
import importlib.util
import io
import json
import sys
import warnings
from collections import Counter
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

import numpy as np

from timesurf.datasets import sentences
from timesurf.engines import pack
from timesurf.events import Recordings
from timesurf.results import machine
from timesurf.spiking import Neurons, SpikingNetwork, cpu, nir

STEP = 100  # us
SLOWED = (1, 10, 100)
RECORDINGS = 10


def snntorch(graph):
    """The graph as a module of snnTorch."""
    from snntorch.import_nir import import_from_nir

    with contextlib.redirect_stdout(io.StringIO()):  # it prints what it does
        return import_from_nir(graph)


def norse(graph):
    """The graph as a module of norse."""
    from norse.torch import from_nir

    return from_nir(graph, dt=STEP * 1e-6)


SIMULATORS = {"snntorch": snntorch, "norse": norse}


def installed():
    """The simulators that are there."""
    return [name for name in SIMULATORS if importlib.util.find_spec(name) and importlib.util.find_spec("nirtorch")]


def simulated(simulator, network, recordings, *, lossy=False):
    """Spikes in a simulator: how often each (recording, step, neuron) occurs."""
    import torch

    torch.set_num_threads(1)  # more only wait for each other on matrices as small as these
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that parts of torch are about to change
        module = SIMULATORS[simulator](nir.graph(network, lossy=lossy, step=STEP))
    current, found, state = on_grid(recordings), Counter(), None
    with torch.no_grad():
        for step, now in enumerate(current):
            fired, state = module(torch.from_numpy(now), state)
            found.update((int(r), step, int(n)) for r, n in torch.nonzero(fired))
    return found


def on_grid(recordings):
    """Events of each step, recording and input."""
    batch = pack(recordings)
    steps = batch.t // STEP
    inputs = int(np.prod(recordings.field)) * recordings.polarities
    current = np.zeros((int(steps.max()) + 1, len(recordings), inputs), np.float32)
    np.add.at(current, (steps, _recording(batch), batch.entry), 1)
    return current


def fired(network, recordings):
    """Spikes of the network itself, counted in the same way."""
    batch = cpu.emitted(network.stages, network.parameters, pack(recordings))
    return Counter(zip(_recording(batch).tolist(), (batch.t // STEP).tolist(), batch.entry.tolist(), strict=True))


def _recording(batch):
    return np.repeat(np.arange(len(batch.offsets) - 1), np.diff(batch.offsets))


def slowed(recordings, factor):
    """The same events without labels, so many times as slow."""
    return _with_times(recordings, recordings.t * factor)


def in_turn(recordings):
    """The same events without labels, those that share a step put off to the next that is free."""
    t = recordings.t // STEP
    for first, stop in pairwise(recordings.offsets):
        order = np.arange(stop - first)
        t[first:stop] = np.maximum.accumulate(t[first:stop] - order) + order
    return _with_times(recordings, t * STEP)


def _with_times(recordings, t):
    return Recordings(
        recordings.coords, t, recordings.p, recordings.offsets,
        field=recordings.field, polarities=recordings.polarities,
    )  # fmt: skip


def network(factor, units=1, **more):
    """So many neurons per character, and one that hears all of them."""
    layers = [Neurons((5, 5), units=units, tau=500 * factor, **more), Neurons(tau=500 * factor)]
    return SpikingNetwork(layers, sentences.FIELD, sentences.POLARITIES, ["any"])


def cases():
    """What is compared: its name, the network, the events, and how much they were slowed down."""
    made = sentences.make(RECORDINGS, seed=0)
    for factor in SLOWED:
        yield "one neuron per place", network(factor), slowed(made, factor), factor
    slow, events = SLOWED[-1], in_turn(slowed(made, SLOWED[-1]))
    yield "one neuron per place, events in turn", network(slow), events, slow
    yield "three neurons per place, events in turn", network(slow, 3), events, slow
    yield "refractory period, events in turn", network(slow, refractory=500 * slow), events, slow
    yield "reset by subtraction, events in turn", network(slow, reset="subtract"), events, slow


def main(path=None):
    """Print, and save, how many spikes agree."""
    rows = []
    for name, untrained, recordings, factor in cases():
        started = untrained.start(recordings)
        ours = fired(started, recordings)
        for simulator in installed():
            theirs = simulated(simulator, started, recordings, lossy=True)
            both = (ours & theirs).total()
            counts = {"timesurf": ours.total(), "simulated": theirs.total(), "both": both}
            rows.append({"case": name, "step_us": STEP / factor, "simulator": simulator} | counts)
            print(
                f"{name}, steps of {STEP / factor:g} us: timesurf {ours.total()} spikes, "
                f"{simulator} {theirs.total()}, the same {both}",
                flush=True,
            )
    if path:
        packages = {name: version(name) for name in ("nir", "nirtorch", "torch", *installed())}
        Path(path).write_text(
            json.dumps({"spikes": rows, "machine": machine.describe() | packages}, indent=1) + "\n", "utf-8"
        )


if __name__ == "__main__":
    if not installed():
        sys.exit("Neither snnTorch nor norse is installed: pip install 'timesurf[bench]'.")
    main(*sys.argv[1:2])
