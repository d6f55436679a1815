"""Kernels for a stream that comes in packets: check a packet, and count its votes; all of it at once for one event."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import exp
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import NativeValue, intrinsic, models, register_model, unbox

from timesurf.engines.cpu import compact, online, online32
from timesurf.engines.cpu.steps import bare, compiled, inlined
from timesurf.events import LATEST
from timesurf.storage.kernels import njit


def compiled_for(kernel: Any, *arguments: Any) -> Callable[..., Any]:
    """A kernel for arguments of these types alone, unchecked: a call of `online.run` then takes 2 us instead of 10.

    Otherwise numba finds out the type of every array of every bundle at each call.
    """
    entry: Callable[..., Any] = kernel.compile(tuple(map(numba.typeof, arguments)))
    return entry


class Bound:
    """A kernel of one event with all its other arguments bound: a call takes apart nothing but the event.

    numba takes named tuples of arrays apart at every call, which costs more than the event. Here it is done once: the
    result lies in memory, and the kernel loads it from there.

    Parameters
    ----------
    kernel : dispatcher
        `one` or `one32`.
    places : int
        Numbers of an event: coordinates, polarity, time.
    *arguments
        All arguments of the kernel after the event and the number of events before it. Their arrays must not be
        replaced while this is in use.

    """

    def __init__(self, kernel: Any, places: int, *arguments: Any) -> None:
        self._arguments = arguments  # keeps the arrays alive
        event, kinds = types.UniTuple(_WHOLE, places), tuple(map(numba.typeof, arguments))
        self._memory = np.zeros(_ROOM, np.uint8)
        keep, self.call = _bind(kernel, event, kinds)
        keep(self.address, arguments)

    @property
    def address(self) -> int:
        """Where the arguments lie, for `call(address, event, before)`."""
        return int(self._memory.ctypes.data)


class _Whole(types.Integer):
    """An integer of Python or NumPy; numba's own also takes what it must round, such as 1.9, and text."""


register_model(_Whole)(models.IntegerModel)
_WHOLE = _Whole("whole", 64, signed=True)


@unbox(_Whole)
def _unbox_whole(_, number, c):
    return NativeValue(c.pyapi.number_as_ssize_t(number), is_error=c.pyapi.c_api_error())


_ROOM = 1 << 14  # bytes: some 60 arrays of 56 bytes, and a few numbers


@lru_cache(maxsize=16)
def _bind(kernel: Any, event: Any, kinds: tuple[Any, ...]) -> tuple[Callable[..., Any], Callable[..., int]]:
    """Two functions for arguments of these types: one writes them to an address, one calls the kernel with them."""
    bundle, plain = types.Tuple(kinds), types.UniTuple(types.int64, event.count)

    @intrinsic
    def store(typing_context, address, arguments):
        def build(context, builder, signature, values):
            where = builder.inttoptr(values[0], context.get_value_type(bundle).as_pointer())
            builder.store(values[1], where)
            return context.get_dummy_value()

        return types.void(types.intp, bundle), build

    @intrinsic
    def load(typing_context, address):
        def build(context, builder, signature, values):
            return builder.load(builder.inttoptr(values[0], context.get_value_type(bundle).as_pointer()))

        return bundle(types.intp), build

    @intrinsic
    def as_plain(typing_context, event):
        return plain(event), lambda context, builder, signature, values: values[0]

    @njit(_nrt=False)
    def keep(address, arguments):
        store(address, arguments)

    @njit(nogil=True, _nrt=kernel.targetoptions.get("_nrt", True))
    def call(address, event, before):
        return kernel(as_plain(event), before, *load(address))

    return keep.compile((types.intp, bundle)), call.compile((types.intp, event, types.int64))


@compiled
def unpack(
    packet,  # IN     (coordinates + 2, room) int64: coordinates, polarity, time of every event
    n,  # IN     how many there are
    sizes,  # IN     (coordinates + 1,) of the field, and polarities
    jump,  # IN     us from one event to the next, at most
    clock,  # INOUT  (3,) when the stream began; time of its latest event, and of its latest vote; -1 before the first
    wrong,  # OUT    (2,) which row and which event is refused
    events,  # OUT    Events: places in the flat field, and us since the stream began
):
    """A packet of a stream for `online.run`; False where an event is refused, and then nothing has changed."""
    times, latest = len(packet) - 1, clock[1]
    for i in range(n):
        place = np.int64(0)
        for d in range(times):
            if packet[d, i] < 0 or packet[d, i] >= sizes[d]:
                wrong[0], wrong[1] = d, i
                return False
            place = place * sizes[d] + packet[d, i]
        now = packet[times, i]
        if now < 0 or now >= LATEST or now < latest or (latest >= 0 and now - latest > jump):
            wrong[0], wrong[1] = times, i
            return False
        latest = now
        events.entry[i] = place
    if n > 0:
        if clock[0] < 0:
            clock[0] = packet[times, 0]
        clock[1] = latest
        for i in range(n):
            events.t[i] = packet[times, i] - clock[0]
    events.offsets[1] = n
    return True


@compiled
def tally(
    found,  # IN     output events of the packet
    events,  # IN     Events
    outputs,  # IN     Outputs
    voted,  # IN     (units,) class that each unit of the last layer votes for
    forget,  # IN     votes and evidence decay by exp(forget dt); 0: never
    scale,  # IN     of probabilities, see `timesurf.calibration`; 0: confidence is a share of the votes
    prior,  # IN     of probabilities
    level,  # IN     probability from which a decision is sure; above 1: never
    before,  # IN     events of the stream before this packet
    clock,  # INOUT  (3,) as in `unpack`
    votes,  # INOUT  (classes,)
    evidence,  # INOUT  (classes,), or empty: votes decide
    ahead,  # OUT    (2,) the leading class, its confidence
    sure,  # INOUT  (3,) class, number of events and time of the first sure decision; -1 before it
):
    """Count the votes, and sum the evidence, of a packet."""
    by = evidence if len(evidence) > 0 else votes
    for i in range(found):
        now = events.t[outputs.event[i]]
        if forget < 0:
            faded = exp((now - clock[2]) * forget) if clock[2] >= 0 else 0.0
            for c in range(len(votes)):
                votes[c] *= faded
            for c in range(len(evidence)):
                evidence[c] *= faded
        votes[voted[outputs.unit[i]]] += 1
        for c in range(len(evidence)):
            evidence[c] += outputs.evidence[i, c]
        clock[2] = now
        if level <= 1 and sure[0] < 0:
            best, confidence = leading(votes, by, scale, prior)
            if confidence >= level:
                sure[0], sure[1], sure[2] = best, before + outputs.event[i] + 1, now
    if found > 0:
        ahead[0], ahead[1] = leading(votes, by, scale, prior)


@compiled
def leading(votes, by, scale, prior):
    """The class with most votes or evidence, and how sure that is; see `timesurf.metrics.decide`."""
    best, total, others = 0, 0.0, 0.0
    for c in range(len(by)):
        total += votes[c]
        if by[c] > by[best]:
            best = c
    if scale == 0:
        return best, votes[best] / total
    for c in range(len(by)):
        others += exp(scale * (by[c] - by[best]) / (total + prior))
    return best, 1.0 / others


# Arguments after the event are those of `unpack`, `online.run` and `tally`. Returned is the unit of the last layer that
# fired, -1 if the network output nothing, -2 if the event is refused.


@compiled
def one(
    event, before, packet, sizes, jump, clock, wrong, events, learn, layout, settings, state, counts, outputs,
    forget, scale, prior, level, votes, evidence, ahead, sure,
):  # fmt: skip
    """One event of a stream, from its numbers to the vote."""
    if not admit(event, packet, sizes, jump, clock, wrong, events):
        return -2
    found = online.run(events, 0, 0, False, learn, layout, settings, state, counts, outputs)
    how = forget, scale, prior, level, before
    tally(found, events, outputs, layout.voted, *how, clock, votes, evidence, ahead, sure)
    return outputs.unit[0] if found else -1


@bare
def one32(
    event, before, packet, sizes, jump, clock, wrong, events, learn, layout, settings, state, counts, outputs,
    forget, scale, prior, level, votes, evidence, ahead, sure,
):  # fmt: skip
    """As `one`, with distances in float32."""
    if not admit(event, packet, sizes, jump, clock, wrong, events):
        return -2
    found = online32.run(events, 0, 0, False, learn, layout, settings, state, counts, outputs)
    how = forget, scale, prior, level, before
    tally(found, events, outputs, layout.voted, *how, clock, votes, evidence, ahead, sure)
    return outputs.unit[0] if found else -1


@bare
def one_compact(
    event, before, packet, sizes, jump, clock, wrong, events, learn, layout, settings, state, counts, outputs,
    forget, scale, prior, level, votes, evidence, ahead, sure,
):  # fmt: skip
    """As `one32`, for networks of small layers."""
    if not admit(event, packet, sizes, jump, clock, wrong, events):
        return -2
    found = compact.run(events, 0, 0, False, learn, layout, settings, state, counts, outputs)
    how = forget, scale, prior, level, before
    tally(found, events, outputs, layout.voted, *how, clock, votes, evidence, ahead, sure)
    return outputs.unit[0] if found else -1


@inlined
def admit(event, packet, sizes, jump, clock, wrong, events):
    """Check the event and write it where `online.run` reads it."""
    for row in range(len(packet)):
        packet[row, 0] = event[row]
    return unpack(packet, 1, sizes, jump, clock, wrong, events)
