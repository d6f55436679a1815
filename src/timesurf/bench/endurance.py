"""Endurance: whether memory stays constant and results stay correct over hours of simulated stream.

A stream consists of short recordings, one after another, with pauses between; in a day its time exceeds 2^36 us.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.bench import workloads
from timesurf.events import Recordings
from timesurf.live.session import Session
from timesurf.results import machine

Array = NDArray[Any]
_PACKET = 1000  # events per packet
_WARM = 0.1  # share of a stream after which caches, allocator and buffers have their final size
HOUR = 3_600_000_000  # us


def run(
    *, hours: float = 24, events: int = 20_000_000, seed: int = 0, progress: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Run a day with pauses, and an hour of bursts at ten million events per second.

    Parameters
    ----------
    hours : float
        Simulated time of the day; the hour of bursts is 1/24 of it.
    events : int
        Events in each stream.
    seed : int
        Seed of the recordings.
    progress : callable
        Called with the name of each stream.

    Returns
    -------
    dict
        Speed and growth of memory of each stream, and whether results equal those of the same day as one recording.

    """
    some = workloads.strokes(64, seed)
    network = workloads.started(workloads.NMNIST, some)
    streams = {
        "a day, predicting": (Session(network, jump=None), _stream(some, events, hours * HOUR)),
        "a day, adapting": (Session(network, adapt=True, jump=None), _stream(some, events, hours * HOUR)),
        "an hour of bursts": (Session(network, jump=None), _stream(some, events, HOUR * hours / 24, rate=10e6)),
    }
    result: dict[str, Any] = {"hours": hours, "seed": seed, "machine": machine.describe(), "streams": {}}
    for name, (session, packets) in streams.items():
        progress(name)
        result["streams"][name] = _measure(session, packets, events)
    progress("the same day offline")
    day, offline = _whole(some, events, hours * HOUR), network.twin(network.snapshot())
    offline.dtype = "float64"  # as sessions compute
    difference = offline.infer(day).votes[0] - result["streams"]["a day, predicting"]["votes"]
    result["votes_differ"] = int(np.abs(difference).sum()) // 2
    offline.adapt(day)
    adapted = streams["a day, adapting"][0].adapted().parameters
    same = zip(adapted.arrays, offline.parameters.arrays, strict=True)
    result["adapted_to_the_same_bits"] = all(a.tobytes() == b.tobytes() for a, b in same)
    return result


def _measure(session: Session, packets: Iterator[tuple[Any, Array]], events: int) -> dict[str, Any]:
    """Send all packets through a session: votes, growth of memory, events per second."""
    memory, began = [], time.perf_counter()
    every = max(events // _PACKET // 50, 1)
    counts = np.zeros(len(session.network.classes), np.int64)
    for n, (coords, t) in enumerate(packets):
        decision = session.take(coords, t)
        counts += np.bincount(decision.units // session.network.stages[-1].units_per_class, minlength=len(counts))
        if n % every == 0:
            memory.append(resident())
    warm = memory[round(_WARM * len(memory)) :]
    return {
        "events": session.events, "span_s": (int(t[-1]) - session.first) / 1e6, "votes": counts.tolist(),
        "growth_bytes": warm[-1] - warm[0], "most_bytes": max(warm) - warm[0],
        "events_per_s": session.events / (time.perf_counter() - began),
    }  # fmt: skip


def _stream(some: Recordings, events: int, span: float, rate: float | None = None) -> Iterator[tuple[Any, Array]]:
    """Packets of coordinates and times; `rate` replaces the events per second within each recording."""
    each = len(some.t) // len(some)
    number = events // each
    for n in range(number):
        recording = some[n % len(some)]
        t = recording.t.astype(np.int64)
        if rate is not None:
            t = np.arange(each) * 1_000_000 // int(rate)
        t = t + n * int(span / number)
        for a in range(0, each, _PACKET):
            yield [x[a : a + _PACKET] for x in recording.coords], t[a : a + _PACKET]


def _whole(some: Recordings, events: int, span: float) -> Recordings:
    """The stream as one recording."""
    coords, times = zip(*_stream(some, events, span), strict=True)
    return Recordings([np.concatenate(x) for x in zip(*coords, strict=True)], np.concatenate(times), field=some.field)


def resident() -> int:
    """Bytes of memory that this process occupies now."""
    try:
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) << 10
    except FileNotFoundError:
        pass
    raise OSError("The memory in use cannot be measured here: only Linux states it, in /proc/self/status.")
