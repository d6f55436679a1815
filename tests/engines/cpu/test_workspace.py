"""Memory that the CPU engine keeps from call to call."""

import tracemalloc

import numpy as np
import pytest

from timesurf.engines import Options, Parameters, pack
from timesurf.engines.cpu import engine as cpu
from timesurf.events import Recordings
from timesurf.layers import Full, stack
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
