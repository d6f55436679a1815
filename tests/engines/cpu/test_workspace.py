"""Memory that the CPU engine keeps from call to call."""

import tracemalloc

import numpy as np
import pytest

from timesurf.engines import Options, Parameters, pack
from timesurf.engines.cpu import engine as cpu
from timesurf.events import Recordings
from timesurf.layers import Full, Window, stack
from timesurf.rule import Rule

STAGES = stack([Full(units=2, tau=100.0)], (4,), 1)


def batch_of(events):
    rng = np.random.default_rng(0)
    return pack(Recordings([rng.integers(0, 4, events, dtype=np.int8)], np.arange(events), field=(4,)))


def bytes_left(call):
    """Bytes that are still in use after a call whose result is dropped."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("learn", [False, True])
def test_a_long_recording_leaves_no_large_workspace_behind(learn):
    batch, options = batch_of((1 << 20) + 1), Options("float32", threads=1)
    parameters = Parameters.of([np.random.default_rng(0).random((2, 4, 1))], [np.full(2, np.inf)])
    cpu.learn_batch(STAGES, parameters, Rule(), batch_of(8), options)  # compiles

    def call():
        if learn:
            cpu.learn_batch(STAGES, parameters, Rule(alpha=0, beta=0), batch, options)
        else:
            cpu.infer(STAGES, parameters, batch, options)

    assert bytes_left(call) < 4 << 20  # less than 4 bytes per event


def test_workspaces_of_other_shapes_are_given_back_before_a_large_one_is_made():
    """Each has the last time of every output: 400,000 places x 32 units, 51 MB."""
    data = Recordings([[0, 5], [0, 5]], t=[0, 9], field=(800, 500))

    def trace(tau):
        stages = stack([Window(1, units=32, tau=tau)], data.field, 1)
        parameters = Parameters.of([np.random.default_rng(0).random((32, 1, 1, 1))], [np.full(32, np.inf)])
        cpu.infer(stages, parameters, pack(data), Options(threads=1), trace=True)

    trace(1.0)  # compiles
    assert bytes_left(lambda: [trace(tau) for tau in (2.0, 3.0, 4.0)]) < 150e6  # with the tables of three networks
