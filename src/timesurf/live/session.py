"""A network on a live stream that comes in packets of any size.

State is kept from packet to packet: however a stream is cut, its outputs are those of the whole stream in one piece.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from timesurf.calibration import UNCALIBRATED, Calibration
from timesurf.engines.cpu import online, online_state, packets
from timesurf.engines.cpu.bundles import Counts, Events, Settings
from timesurf.engines.cpu.packets import Bound, compiled_for
from timesurf.engines.cpu.precision import ONLINE
from timesurf.engines.data import Parameters
from timesurf.errors import EventError, SettingError
from timesurf.events import LATEST, Recordings, axis_name, refusal
from timesurf.learning.divergence import check_sane
from timesurf.network import Network
from timesurf.predicting import Decide
from timesurf.rule import Rule
from timesurf.times import Time, microseconds, readable, time_constant

Array = NDArray[Any]
OnJump = Literal["refuse", "restart"]

_UNLABELLED = np.full(1, -1)
_REFUSED = -2
_LATE = 1_000_000  # us: a packet that comes so much too late was overtaken by others; beyond, the clock was set back


class Sure(NamedTuple):
    """The first decision of a stream that was as sure as asked for.

    Attributes
    ----------
    decision : label
        The class.
    events : int
        After how many input events.
    time : int
        How long after the first event, in us.

    """

    decision: Any
    events: int
    time: int


class Decision(NamedTuple):
    """The decision after a packet, and the packet's output events.

    Attributes
    ----------
    events : array of int
        Which events of the packet the network output, by their index in it.
    units : array of int
        The unit of the last layer that each of them fired; unit u votes for class u // units_per_class.
    S : array of float
        Separability of each of them.
    decision : label or None
        The class with most votes, or most evidence, so far; None before the first vote.
    confidence : float
        Its probability, where the network is calibrated or decides by evidence; else its share of the votes.
    sure : Sure or None
        The first decision of the stream that was sure; None before it.

    """

    events: Array
    units: Array
    S: Array
    decision: Any
    confidence: float
    sure: Sure | None = None


class Session:
    """A network on a live stream. Online, on one core, in the network's `precision`.

    Parameters
    ----------
    network : Network
        A trained network; it is not changed.
    adapt : bool or Rule
        Whether to continue learning without labels while predicting, by `Rule.for_adapting` or by this rule.
    vote_tau : float or str, optional
        Time constant by which votes decay, from 1 ns to 1e15 us (about 32 years). None: they do not, and the decision
        is that of the whole stream so far.
    jump : float or str, optional
        The longest time from one event to the next. An event that comes later than that is refused, since a damaged
        time would otherwise make all events after it too early. None: any time.
    on_jump : str
        What happens to packets after a jump, forward by more than `jump`, or back by more than 1 s: "refuse" refuses
        them until the stream continues where it was; "restart" refuses the first, which may be a stray one, and begins
        a new stream when the next packet is there as well. What was learned is kept.
    decide : {"votes", "evidence"}, optional
        How to decide; by default as the network does.
    sure : float, optional
        Note in `Decision.sure` when the probability of the leading class first reaches this level. Nothing else
        changes. The network must be calibrated (`Network.calibrate`).

    Attributes
    ----------
    places : list of str
        Names of the coordinates: x, y, ...
    events : int
        Events so far, of all streams since the last `reset`.
    restarts : int
        How often a jump has begun a new stream.

    Examples
    --------
    >>> from timesurf.datasets import sentences
    >>> from timesurf.presets import SENTENCES
    >>> data = sentences.make(40, seed=0)
    >>> network = SENTENCES.network(data, sentences.TASK1, seed=0).fit(data, passes=1)
    >>> session = Session(network, vote_tau="10 ms")
    >>> (events,) = data[0].to_structured()
    >>> decisions = [session.push(events[i : i + 100]) for i in range(0, len(events), 100)]
    >>> decisions[-1].decision in sentences.TASK1, session.events == len(events)
    (True, True)

    """

    def __init__(
        self,
        network: Network,
        *,
        adapt: bool | Rule = False,
        vote_tau: Time | None = None,
        jump: Time | None = "1 h",
        on_jump: OnJump = "refuse",
        decide: Decide | None = None,
        sure: float | None = None,
    ) -> None:
        if on_jump not in get_args(OnJump):
            raise SettingError(f"on_jump = {on_jump!r} must be one of {', '.join(get_args(OnJump))}.")
        self.network, self.on_jump = network, on_jump
        self.adapts = bool(adapt)
        self._jump = LATEST if jump is None else int(min(max(microseconds(jump, "jump"), 1), LATEST))
        rule = adapt if isinstance(adapt, Rule) else network.rule.for_adapting()
        self._forget = 0.0 if vote_tau is None else -1.0 / time_constant(vote_tau, "vote_tau")
        self._decide_by(network, decide, sure)
        self._start = network.snapshot()
        self._kernels = ONLINE[network.precision]
        self._plan, self._settings = self._kernels.plan(network.stages), Settings.of(network.stages, rule)
        self._sizes = np.array([*network.field, network.polarities])
        self.places = [axis_name(d) for d in range(len(network.field))]
        self._axes = [*self.places, "p"]
        self._dtype: Any = ()  # of the latest packets
        self._has_p = False
        self._wrong = np.zeros(2, np.int64)
        self._classes = network.classes.tolist()
        self._one: Any = None  # bound to the arrays of now by the first `push_one`
        self._grow(256)
        self.reset()
        # Each kernel is compiled for exactly the arguments that it is called with: calls are not checked.
        self._unpack = compiled_for(packets.unpack, *self._arguments_of_unpack(0))
        self._run = compiled_for(self._kernels.run, *self._arguments_of_run())
        self._tally = compiled_for(packets.tally, *self._arguments_of_tally(0, 0))

    def _decide_by(self, network: Network, decide: Decide | None, sure: float | None) -> None:
        """Note how to decide, and when a decision is sure."""
        if decide not in (None, *get_args(Decide)):
            raise SettingError(f"decide = {decide!r} must be one of {', '.join(get_args(Decide))}.")
        by = decide or network.decides
        if sure is not None and not 0 < sure <= 1:
            raise SettingError(f"sure = {sure!r} must lie between 0 and 1: the probability of the leading class.")
        if sure is not None and by not in network.calibration:
            raise SettingError(
                "This network has no calibrated probabilities to be sure by. Train it with recordings for validation "
                "(the default of `timesurf train`), or call Network.calibrate."
            )
        self._weighed = len(network.classes) if by == "evidence" else 0
        self._calibration = network.calibration.get(by, UNCALIBRATED if self._weighed else Calibration(0.0))
        self._level = 2.0 if sure is None else float(sure)

    def reset(self) -> None:
        """Start a new stream: forget all events, and what was learned from them."""
        self._begin(self._start, np.full(3, -1, np.int64))
        layers, classes = len(self.network.stages), len(self.network.classes)
        self._counts = Counts(np.zeros((1, layers), np.int64), np.zeros((1, classes), np.int64))
        self.events = self.restarts = 0
        self._stray = -1, -1  # `events`, and the time of the packet, when a jump was last refused

    def _begin(self, parameters: Parameters, clock: Array) -> None:
        """Begin a stream with these parameters."""
        self._state, self._clock, self._one = self._kernels.begin(self._plan, parameters), clock, None
        self._votes, self._ahead = np.zeros(len(self.network.classes)), np.array([-1.0, 0.0])
        self._evidence, self._sure = np.zeros(self._weighed), np.full(3, -1, np.int64)

    def push(self, events: Array | Recordings) -> Decision:
        """Run a packet of events through the network.

        Parameters
        ----------
        events : structured array or Recordings
            Fields x, y, ... (as many as the network's field has dimensions), t in us, and p, which may be left out.
            No event may be earlier than those of earlier packets.

        Returns
        -------
        Decision
            The decision so far, and the packet's output events.

        Raises
        ------
        EventError
            If an event is invalid. The packet is refused as a whole, and the session stays as it was.

        """
        if isinstance(events, Recordings):
            return self.take(events.coords, events.t, events.p)
        if getattr(events, "dtype", None) is not self._dtype:  # checked once per type of packet
            self._check_type(events)
        if events.ndim != 1:
            raise EventError(f"A packet is a flat array of events, not one of shape {events.shape}.")
        p = events["p"] if self._has_p else 0
        return self._pass(len(events), (*(events[axis] for axis in self.places), p, events["t"]))

    def take(self, coords: Any, t: Array, p: Array | None = None) -> Decision:
        """As `push`, with one NumPy array per coordinate, one of times and one of polarities."""
        rows = (*coords, t if p is None else p, t)
        if len(rows) != len(self._packet):
            raise EventError(f"{len(rows) - 2} coordinates for a field of {len(self._axes) - 1} dimensions.")
        for values in rows:
            if not isinstance(values, np.ndarray) or values.dtype.kind not in "iub":
                kind = getattr(values, "dtype", type(values).__name__)
                raise EventError(f"Events are arrays of integers, not {kind}: convert them.")
            if values.ndim != 1 or values.shape != t.shape:
                raise EventError(
                    f"An array of shape {values.shape} and times of {t.shape}: all need one value per event."
                )
        return self._pass(len(t), rows if p is not None else (*coords, 0, t))

    def push_one(self, *event: int) -> int:
        """Run a single event through the network, with the least delay: no array is made, none is checked.

        Parameters
        ----------
        *event : int
            x, y, ... (as many as the network's field has dimensions), p, t in us.

        Returns
        -------
        int
            The unit of the last layer that fired; -1 if the network output nothing. `decision` and `confidence` have
            the decision so far.

        Raises
        ------
        EventError
            As by `push`.

        """
        if self._one is None:
            self._bind(event)
        unit: int = self._one(self._address, event, self.events)
        if unit == _REFUSED:  # the same way as a packet: to an error, or to a new stream
            out = self._pass(1, event).units
            return int(out[0]) if len(out) else -1
        self.events += 1
        return unit

    def _bind(self, event: tuple[int, ...]) -> None:
        """Bind the arguments of the kernel of one event to the arrays of now."""
        if len(event) != len(self._packet):
            raise EventError(f"An event is {', '.join(self._axes)}, t: {len(self._packet)} numbers, not {len(event)}.")
        _, _, *unpacking = self._arguments_of_unpack(0)
        _, _, _, _, *running = self._arguments_of_run()
        _, _, _, _, forget, scale, prior, level, _, _, *counting = self._arguments_of_tally(0, 0)
        how = forget, scale, prior, level
        self._bound = Bound(self._kernels.one, len(event), self._packet, *unpacking, *running, *how, *counting)
        self._one, self._address = self._bound.call, self._bound.address

    @property
    def decision(self) -> Any:
        """The class with most votes so far; None before the first vote."""
        return self._classes[int(self._ahead[0])] if self._ahead[0] >= 0 else None

    @property
    def confidence(self) -> float:
        """Its share of the votes."""
        return float(self._ahead[1])

    def _pass(self, n: int, rows: tuple[Any, ...]) -> Decision:
        """Run n events through the network: coordinates, polarities, times."""
        if n > self._packet.shape[1]:
            self._grow(2 * n)
        for row, values in zip(self._packet, rows, strict=True):
            row[:n] = values
        if not self._unpack(*self._arguments_of_unpack(n)):
            self._refuse_or_restart(n, *self._wrong.tolist())
        self.events += n  # before they are counted as kept: an interrupt may come between
        found = self._run(*self._arguments_of_run())
        self._tally(*self._arguments_of_tally(found, n))
        ahead, confidence = self._ahead.tolist()
        out, units, S = (array[:found].copy() for array in self._outputs[:3])
        return Decision(out, units, S, self._classes[int(ahead)] if ahead >= 0 else None, confidence, self.sure)

    @property
    def sure(self) -> Sure | None:
        """The first decision of the stream that was sure; None before it."""
        if self._sure[0] < 0:
            return None
        decision, events, time = self._sure.tolist()
        return Sure(self._classes[decision], events, time)

    def start_adapting(self) -> None:
        """Learn without labels from now on, with an empty memory of events; votes stay."""
        if not self.adapts:
            self.adapts, self._state, self._one = True, self._kernels.begin(self._plan, self._start), None

    @property
    def first(self) -> int:
        """Time of the stream's first event in us; -1 before it."""
        return int(self._clock[0])

    @property
    def latest(self) -> int:
        """Time of the latest event in us; -1 before the first."""
        return int(self._clock[1])

    @property
    def votes(self) -> Array:
        """Votes of every class, decayed to the time of the latest one."""
        return self._votes.copy()

    @property
    def kept(self) -> Array:
        """Share of all events that each layer let pass."""
        share: Array = self._counts.kept[0] / max(self.events, 1)
        return share

    def adapted(self) -> Network:
        """A network with what this session has learned so far; the session continues.

        Raises
        ------
        DivergedError
            If a centroid has diverged, or a layer has closed all its thresholds.

        """
        parameters = self._learned()
        if self.adapts:
            check_sane(parameters)
        return self.network.twin(parameters)

    def _learned(self) -> Parameters:
        state = self._state.copy()
        now = self._clock[1] - self._clock[0] + self._plan.gap
        self._kernels.finish(now, self._plan.layout, self._settings, state)
        parameters = self._start.copy()
        online_state.take_back(self._plan, state, parameters)
        return parameters

    def _arguments_of_unpack(self, n: int) -> tuple[Any, ...]:
        return self._packet, n, self._sizes, self._jump, self._clock, self._wrong, self._events

    def _arguments_of_run(self) -> tuple[Any, ...]:
        network = self._plan.layout, self._settings, self._state
        return self._events, 0, 0, False, self.adapts, *network, self._counts, self._outputs

    def _arguments_of_tally(self, found: int, n: int) -> tuple[Any, ...]:
        how = self._plan.layout.voted, self._forget, *self._calibration, self._level, self.events - n
        what = self._clock, self._votes, self._evidence, self._ahead, self._sure
        return found, self._events, self._outputs, *how, *what

    def _grow(self, room: int) -> None:
        """Room for packets of so many events."""
        self._packet = np.zeros((len(self._axes) + 1, room), np.int64)
        self._events = Events(np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros(2, np.int64), _UNLABELLED)
        self._outputs = online.Outputs.room(room, self._weighed)
        self._one = None

    def _check_type(self, events: Any) -> None:
        """Refuse packets that are not arrays with the fields of the network, all of them integers."""
        if not isinstance(events, np.ndarray):
            raise EventError(f"A packet is a structured array or Recordings, not {type(events).__name__}.")
        names = events.dtype.names or ()
        if "t" not in names or any(axis not in names for axis in self.places):
            raise EventError(f"A packet needs the fields {', '.join(self.places)} and t, not {', '.join(names)}.")
        for name in (*self.places, "t", *(["p"] if "p" in names else [])):
            if events.dtype[name].kind not in "iub":
                raise EventError(f"Events are integers, and {name} is {events.dtype[name]}: convert them.")
        self._dtype, self._has_p = events.dtype, "p" in names

    def _refuse_or_restart(self, n: int, row: int, event: int) -> None:
        """Raise the reason why a packet is refused, unless it is the second after a jump and begins a new stream."""
        value, latest = int(self._packet[row, event]), int(self._clock[1])
        jumped = value - latest > self._jump or latest - value > min(_LATE, self._jump)
        if row == len(self._axes) and event == 0 and jumped and 0 <= value < LATEST:
            (since, stray), self._stray = self._stray, (self.events, value)
            if self.on_jump == "restart" and since == self.events and stray <= value <= stray + self._jump:
                clock = np.full(3, -1, np.int64)
                if self._unpack(self._packet, n, self._sizes, self._jump, clock, self._wrong, self._events):
                    self._begin(self._learned() if self.adapts else self._start, clock)
                    self.restarts += 1
                    return
                row, event = self._wrong.tolist()
        raise EventError(f"event {event} of the packet: {self._reason(row, event)}")

    def _reason(self, row: int, event: int) -> str:
        """Why an event is refused, and what to do."""
        value = int(self._packet[row, event])
        if row < len(self._axes):
            return refusal(self._axes[row], value, int(self._sizes[row]))
        if not 0 <= value < LATEST:
            return refusal("t", value, 0)
        before = int(self._packet[row, event - 1]) if event else int(self._clock[1])
        if value < before:
            return f"time {value} us comes before {before} us. A stream goes forward in time: sort its events."
        return (
            f"time {value} us is {readable(value - before)} after the event before, and jump = {readable(self._jump)}. "
            "A longer jump accepts such a pause; on_jump='restart' begins a new stream after it."
        )
