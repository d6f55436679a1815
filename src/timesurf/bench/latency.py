"""Latency of a live session: from a packet to its decision, through the public call."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from timesurf.bench import workloads
from timesurf.engines import pack
from timesurf.engines.cpu import engine
from timesurf.events import Recordings
from timesurf.io.playback import in_turn
from timesurf.live.session import Session
from timesurf.network import Network
from timesurf.results import machine
from timesurf.rule import Rule

PACKETS = (1, 10, 100, 1000)  # events each
_REPEATS = 4
_SHARES = {"p50": 50, "p99": 99, "p99_9": 99.9, "max": 100}


def run(*, quick: bool = False, progress: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Microseconds of `Session.push` by packet size and of `Session.push_one`, on the paper's network for digits.

    An empty packet, and the kernel alone, show how much of it is the cost of Python.

    Parameters
    ----------
    quick : bool
        Use less data.
    progress : callable
        Called with what is measured next.

    Returns
    -------
    dict
        The machine, percentiles per packet size, an empty packet, the kernel's time per event, and the speed of a
        stream beside that of `Network.infer`, on the network that `Network.for_data` chooses. "waiting" has a loop that
        does nothing for as long as the median of a `push_one`: what it is interrupted by is not the session's.

    """
    data = workloads.strokes(2 if quick else 50)
    network = Network(workloads.NMNIST, data.field, data.polarities, range(10)).start(data)
    swift = Network(workloads.NMNIST, data.field, data.polarities, range(10), precision="float32").start(data)
    result: dict[str, Any] = {"machine": machine.describe(), "packets": {}, "waiting": {}}
    for adapt in (False, True):
        for size in PACKETS:
            name = f"{size}{', adapting' if adapt else ''}"
            progress(f"packets of {name}")
            result["packets"][name] = _measure(Session(network, adapt=adapt), data, size)
        for of in (network, swift):
            name = f"push_one, {of.precision}{', adapting' if adapt else ''}"
            progress(name)
            row = _measure_one(Session(of, adapt=adapt), data)
            result["packets"][name] = row
            result["waiting"][name] = _measure_waiting(row["p50"], row["packets"])
    session, (events, *_) = Session(network), data[0].to_structured()
    result["empty_us"] = _percentiles([_timed(session.push, events[:0]) for _ in range(2000)])["p50"]
    progress("the kernel alone")
    batch, rule = pack(data), Rule(alpha=0, beta=0, gamma=0, delta=0)
    engine.learn_online(network.stages, network.snapshot(), rule, batch)
    began = time.perf_counter()
    engine.learn_online(network.stages, network.snapshot(), rule, batch)
    result["kernel_us_per_event"] = 1e6 * (time.perf_counter() - began) / len(batch.entry)
    progress("a stream beside inference")
    return result | _beside_inference(data)


def _beside_inference(data: Recordings) -> dict[str, float]:
    """Events per second of a long recording, by inference and by packets of 1000 events, in turn: the best of each."""
    packets = list(in_turn(data))
    whole = Recordings.from_structured([np.concatenate(packets)], field=data.field, polarities=data.polarities)
    network = Network.for_data(data, seed=0).start(data)
    session = Session(network, vote_tau="100 ms")

    def stream() -> None:
        session.reset()
        for packet in packets:
            session.push(packet)

    best = {"infer": np.inf, "stream": np.inf}
    for _ in range(_REPEATS):
        for name, call in (("infer", lambda: network.infer(whole)), ("stream", stream)):
            began = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - began)
    events = int(whole.counts.sum())
    speeds = {f"{name}_events_per_s": events / took for name, took in best.items()}
    return speeds | {"stream_to_infer": best["infer"] / best["stream"]}


def _measure(session: Session, data: Any, size: int) -> dict[str, Any]:
    taken, later = [], 0
    packets = []
    for recording in data:
        (events,) = recording.to_structured()
        events["t"] += later
        later = int(events["t"][-1]) + 1
        packets += [events[i : i + size] for i in range(0, len(events), size)]
    for packet in packets[:100]:  # warms up
        session.push(packet)
    session.reset()
    gc.collect()
    for packet in packets:
        taken.append(_timed(session.push, packet))
    figures = _percentiles(taken)
    return {"packets": len(packets), **figures, "p50_per_event": figures["p50"] / size}


def _measure_one(session: Session, data: Any) -> dict[str, Any]:
    taken, later, clock = [], 0, time.perf_counter_ns
    session.push_one(0, 0, 0, 0)  # binds its arguments
    session.reset()
    for recording in data:
        columns = (*recording.coords, recording.p, recording.t + later)
        events = list(zip(*(column.tolist() for column in columns), strict=True))
        later = events[-1][-1] + 1
        gc.collect()
        for event in events:
            began = clock()
            session.push_one(*event)
            taken.append((clock() - began) / 1e3)
    figures = _percentiles(taken)
    return {"packets": len(taken), **figures, "p50_per_event": figures["p50"]}


def _measure_waiting(us: float, times: int) -> dict[str, float]:
    """Percentiles of a wait of so many us, as often: how long the machine takes this process off its core."""
    taken, clock, wait = [], time.perf_counter_ns, round(1e3 * us)
    gc.collect()
    for _ in range(times):
        began = now = clock()
        while now - began < wait:
            now = clock()
        taken.append((now - began) / 1e3)
    return _percentiles(taken)


def _timed(call: Callable[[Any], Any], packet: Any) -> float:
    began = time.perf_counter_ns()
    call(packet)
    return (time.perf_counter_ns() - began) / 1e3


def _percentiles(taken: list[float]) -> dict[str, float]:
    return {name: float(np.percentile(taken, share)) for name, share in _SHARES.items()}
