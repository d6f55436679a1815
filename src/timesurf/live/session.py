"""Live: a network at work on a stream that comes in packets of any size.

State lives across packets. However a stream is cut, the outputs are those of the whole stream as one recording.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from timesurf.engines.cpu import online
from timesurf.errors import EventError
from timesurf.events import Recordings, axis_name, refusal
from timesurf.network import Network
from timesurf.rule import Rule
from timesurf.times import Time, time_constant

Array = NDArray[Any]


_UNLABELLED = np.full(1, -1)


class Heard(NamedTuple):
    """What came of a packet."""

    events: Array  # numbers of those that came out
    units: Array  # the unit of the last layer that each fired: a place in `network.classes`
    S: Array  # how separable each was
    decision: Any  # the class that is ahead now; None before the first vote
    confidence: float  # its share of the vote


class Session:
    """A network on a live stream. Online, on one core, in float64.

    Parameters
    ----------
    network : a trained one; it is left as it is
    adapt : go on learning without labels while predicting, by `Rule.for_adapting`, or by this rule
    vote_tau : how fast votes fade; None: they never do, and the decision is that of the whole stream so far

    >>> from timesurf.datasets import sentences
    >>> from timesurf.presets import SENTENCES
    >>> data = sentences.make(40, seed=0)
    >>> network = SENTENCES.network(data, sentences.TASK1, seed=0).fit(data, passes=1)
    >>> session = Session(network, vote_tau="10 ms")
    >>> (events,) = data[0].to_structured()
    >>> heard = [session.push(events[i : i + 100]) for i in range(0, len(events), 100)]
    >>> heard[-1].decision in sentences.TASK1, session.events == len(events)
    (True, True)

    """

    def __init__(self, network: Network, *, adapt: bool | Rule = False, vote_tau: Time | None = None) -> None:
        self.network = network
        self.adapts = bool(adapt)
        rule = adapt if isinstance(adapt, Rule) else network.rule.for_adapting()
        self._forget = 0.0 if vote_tau is None else -1.0 / time_constant(vote_tau, "vote_tau")
        self._start = network.snapshot()
        plan, _ = online.memory(network.stages, self._start)
        self._plan, self._fixed = plan, online.fixed(plan, network.stages, rule)
        self._sizes = np.array([*network.field, network.polarities])
        self._places = [axis_name(d) for d in range(len(network.field))]
        self._axes = [*self._places, "p"]
        self._dtype: Any = None  # of the latest packets
        self._has_p = False
        self._wrong, self._offsets = np.zeros(2, np.int64), np.zeros(2, np.int64)
        self._classes = network.classes.tolist()
        self._grow(256)
        self.reset()
        self.push(
            np.empty(0, [(name, np.int64) for name in (*self._axes, "t")])
        )  # compiles now, not at the first event

    def reset(self) -> None:
        """Begin a new stream: nothing has been seen, and what was adapted is forgotten."""
        _, changing = online.memory(self.network.stages, self._start)
        self._network = (*self._fixed, *changing)
        self._clock = np.full(3, -1, np.int64)
        self._kept = np.zeros((1, len(self.network.stages)), np.int64)
        self._counts = np.zeros((1, len(self.network.classes)), np.int64)
        self._votes = np.zeros(len(self.network.classes))
        self._ahead = np.array([-1.0, 0.0])
        self.events = 0  # so far

    def push(self, events: Array | Recordings) -> Heard:
        """Take a packet: a structured array with fields x, y, ... (as many as the field has), t in us, and p.

        Events must not come before those of earlier packets. A packet with a bad event is refused as a whole, and the
        session stays as it was.
        """
        if isinstance(events, Recordings):
            return self.take(events.coords, events.t, events.p)
        if events.dtype is not self._dtype:  # one look at each kind of packet is enough
            names = events.dtype.names or ()
            if "t" not in names or any(axis not in names for axis in self._places):
                raise EventError(f"A packet needs the fields {', '.join(self._places)} and t, not {', '.join(names)}.")
            self._dtype, self._has_p = events.dtype, "p" in names
        p = events["p"] if self._has_p else None
        return self.take([events[axis] for axis in self._places], events["t"], p)

    def take(self, coords: Any, t: Array, p: Array | None = None) -> Heard:
        """`push`, with one NumPy array a coordinate, of times and of polarities."""
        n = len(t)
        if n > self._events.shape[1]:
            self._grow(2 * n)
        rows = (*coords, self._zeros[:n] if p is None else p, t)
        if len(rows) != len(self._events):
            raise EventError(f"{len(rows) - 2} coordinates for a field of {len(self._axes) - 1} dimensions.")
        for row, values in zip(self._events, rows, strict=True):
            if values.dtype.kind not in "iub":
                raise EventError(f"Events are integers, not {values.dtype}: convert them.")
            row[:n] = values
        if not online.unpack(self._events, n, self._sizes, self._clock, self._wrong, self._entry, self._t):
            self._refuse(*self._wrong.tolist())
        self._offsets[1] = n
        self.events += n  # before they are counted as kept: an interrupt may come between
        found = online.run(
            self._entry, self._t, self._offsets, _UNLABELLED, 0, 0, False, self.adapts, *self._network,
            self._kept, self._counts, self._out, self._units, self._S,
        )  # fmt: skip
        online.tally(found, self._t, self._out, self._units, self._forget, self._clock, self._votes, self._ahead)
        ahead, share = self._ahead.tolist()
        out, units, S = self._out[:found].copy(), self._units[:found].copy(), self._S[:found].copy()
        return Heard(out, units, S, self._classes[int(ahead)] if ahead >= 0 else None, share)

    @property
    def first(self) -> int:
        """Time of the stream's first event, us; -1 before it."""
        return int(self._clock[0])

    @property
    def votes(self) -> Array:
        """The vote of every class, faded as of the latest one."""
        return self._votes.copy()

    @property
    def kept(self) -> Array:
        """Share of all events that each layer let pass."""
        share: Array = self._kept[0] / max(self.events, 1)
        return share

    def adapted(self) -> Network:
        """A network with what this session has learnt so far; the session goes on."""
        arrays = tuple(array.copy() for array in self._network[len(self._fixed) :])
        centroids, _, _, _, scale, moved, noted, amplitude, live, is_live, frame, *_ = arrays
        now, table, pace = self._clock[1] - self._clock[0] + self._plan.gap, self._fixed[0], self._fixed[5]
        online.finish(now, table, pace, centroids, scale, moved, noted, amplitude, live, is_live, frame)
        parameters = self._start.copy()
        online.take_back(self._plan, self.network.stages, arrays, parameters)
        return self.network.twin(parameters)

    def _grow(self, room: int) -> None:
        """Room for packets of so many events."""
        self._events = np.zeros((len(self._axes) + 1, room), np.int64)
        self._entry, self._t, self._out, self._units = (np.zeros(room, np.int64) for _ in range(4))
        self._S, self._zeros = np.zeros(room), np.zeros(room, np.int8)

    def _refuse(self, row: int, event: int) -> None:
        value = int(self._events[row, event])
        if row < len(self._axes):
            why = refusal(self._axes[row], value, int(self._sizes[row]))
        elif value < 0:
            why = refusal("t", value, 0)
        else:
            before = int(self._events[row, event - 1]) if event else int(self._clock[1])
            why = f"time {value} us comes before {before} us. A stream goes forward in time: sort its packets."
        raise EventError(f"event {event} of the packet: {why}")
