"""A network on a live stream that comes in packets of any size.

State is kept from packet to packet: however a stream is cut, its outputs are those of the whole stream in one piece.

A packet may have a label, and then teaches. A stream is a row of recordings: a new one, with an empty memory, begins
where the label changes. What was learned is then that of `Network.partial_fit` on each recording with a label, and of
`Network.adapt` on each without, one after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Unpack, get_args

import numpy as np
from numpy.typing import NDArray

from timesurf.calibration import UNCALIBRATED, Calibration
from timesurf.engines.cpu import online, online_state, packets
from timesurf.engines.cpu.bundles import Counts, Events, Settings
from timesurf.engines.cpu.packets import Bound, compiled_for
from timesurf.engines.cpu.precision import ONLINE
from timesurf.engines.data import Parameters
from timesurf.errors import EventError, SettingError
from timesurf.events import LATEST, Recordings, axis_name
from timesurf.learning import grow
from timesurf.learning.divergence import check_sane
from timesurf.learning.start import Starting
from timesurf.live.checks import check_type, how_to_decide, why_not
from timesurf.live.decision import Decision, Sure
from timesurf.live.teaching import Marks, Recent, figures
from timesurf.network import Network
from timesurf.predicting import Decide
from timesurf.rule import Rule
from timesurf.times import Time, microseconds, time_constant

Array = NDArray[Any]
OnJump = Literal["refuse", "restart"]

_REFUSED = -2
_UNLABELLED, _NEW = -1, -2  # class numbers: of a packet without a label, and of none: the next begins a recording
_LATE = 1_000_000  # us: a packet that comes so much too late was overtaken by others; beyond, the clock was set back


class Session:
    """A network on a live stream. Online, on one core, in the network's `precision`.

    Parameters
    ----------
    network : Network
        A trained network; it is not changed.
    adapt : bool or Rule
        Whether to continue learning without labels while predicting, by `Rule.for_adapting` or by this rule.
    teach : Rule, optional
        What packets with a label are learned by; None: the network's own rule.
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
    marks : int
        How many of the latest changes `undo` can go back.
    recent : float or str, optional
        How long events are held for `add_class` to start from, at most a million of them; None: it must be given some.

    Attributes
    ----------
    network : Network
        As it is with all classes added and forgotten; `adapted` has what was learned as well.
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
        teach: Rule | None = None,
        vote_tau: Time | None = None,
        jump: Time | None = "1 h",
        on_jump: OnJump = "refuse",
        decide: Decide | None = None,
        sure: float | None = None,
        marks: int = 20,
        recent: Time | None = None,
    ) -> None:
        if on_jump not in get_args(OnJump):
            raise SettingError(f"on_jump = {on_jump!r} must be one of {', '.join(get_args(OnJump))}.")
        self.on_jump, self.adapts = on_jump, bool(adapt)
        self._jump = LATEST if jump is None else int(min(max(microseconds(jump, "jump"), 1), LATEST))
        self._adapting = adapt if isinstance(adapt, Rule) else network.rule.for_adapting()
        self._teaching = teach or network.rule
        self._forget = 0.0 if vote_tau is None else -1.0 / time_constant(vote_tau, "vote_tau")
        self._by, self._level = how_to_decide(network, decide, sure)
        self._sizes = np.array([*network.field, network.polarities])
        self.places = [axis_name(d) for d in range(len(network.field))]
        self._axes = [*self.places, "p"]
        self._dtype: Any = ()  # of the latest packets
        self._has_p = False
        self._wrong = np.zeros(2, np.int64)
        self._marks, self._recent = Marks(marks), Recent(0 if recent is None else microseconds(recent, "recent"))
        self._first = network.twin(network.snapshot())
        self._room = 256
        self._one: Any = None  # bound to the arrays of now by the first `push_one`
        self._become(self._first)
        self.reset()
        # Each kernel is compiled for exactly the arguments that it is called with: calls are not checked.
        self._unpack = compiled_for(packets.unpack, *self._arguments_of_unpack(0))
        self._run = compiled_for(self._kernels.run, *self._arguments_of_run())
        self._tally = compiled_for(packets.tally, *self._arguments_of_tally(0, 0))

    def reset(self) -> None:
        """Start a new stream: forget all events, and what was learned from them."""
        self._clock = np.full(3, -1, np.int64)
        self._marks.clear()
        self._recent.clear()
        self.events = self.restarts = 0
        self._kept = np.zeros(len(self._first.stages), np.int64)  # in recordings that have ended
        self._began = -1  # when the stream did
        self._stray = -1, -1  # `events`, and the time of the packet, when a jump was last refused
        if self.network is not self._first:
            self._become(self._first)
        self._begin(self._first.parameters, self._clock, _UNLABELLED)

    def _become(self, network: Network) -> None:
        """Use this network from now on."""
        self.network = network
        self._kernels = ONLINE[network.precision]
        self._plan = self._kernels.plan(network.stages)
        self._by_label = Settings.of(network.stages, self._teaching)
        self._by_itself = Settings.of(network.stages, self._adapting)
        self._classes = network.classes.tolist()
        self._numbers = {name: number for number, name in enumerate(self._classes)}
        self._weighed = len(self._classes) if self._by == "evidence" else 0
        self._calibration = network.calibration.get(self._by, UNCALIBRATED if self._weighed else Calibration(0.0))
        self._sure_from = self._level if self._by in network.calibration else 2.0
        self._grow(self._room)

    def _begin(self, parameters: Parameters, clock: Array, number: int) -> None:
        """Begin a recording of this class with these parameters."""
        self._parameters, self._number, self._clock = parameters, number, clock
        self._learns = number >= 0 or (self.adapts and number == _UNLABELLED)
        self._settings = self._by_label if number >= 0 else self._by_itself
        self._events.label[0] = max(number, _UNLABELLED)
        if self._learns:
            self._marks.add(self.network, parameters)
        self._state, self._one = self._kernels.begin(self._plan, parameters), None
        self._votes, self._ahead = np.zeros(len(self._classes)), np.array([-1.0, 0.0])
        self._evidence, self._sure = np.zeros(self._weighed), np.full(3, -1, np.int64)
        self._counts = Counts(np.zeros((1, len(self._kept)), np.int64), np.zeros((1, len(self._classes)), np.int64))
        self._before = self.events

    def _end(self) -> Parameters:
        """End the present recording: what was learned so far."""
        if self._began < 0:
            self._began = int(self._clock[0])
        if self._number >= 0 and self.events > self._before:
            self.network = self._history_of(self.network)
        self._kept += self._counts.kept[0]
        self._counts.kept[:] = 0
        return self._learned()

    def _history_of(self, network: Network) -> Network:
        """The network with the entry in its history that `Network.partial_fit` makes for the present recording."""
        later = network.twin(network.parameters)
        later.history.append(figures(self._counts, self._number, self.events - self._before))
        return later

    def cut(self) -> None:
        """End the present recording: the next packet begins a new one, with an empty memory."""
        self._restart(self._end())

    def _restart(self, parameters: Parameters) -> None:
        """Wait for a packet that begins a recording with these parameters."""
        self._begin(parameters, np.array([-1, self._clock[1], -1]), _NEW)

    def push(self, events: Array | Recordings, label: Any = None) -> Decision:
        """Run a packet of events through the network.

        Parameters
        ----------
        events : structured array or Recordings
            Fields x, y, ... (as many as the network's field has dimensions), t in us, and p, which may be left out.
            No event may be earlier than those of earlier packets.
        label : label, optional
            What the events show: the network learns from them by its rule. None: it adapts, or only predicts.

        Returns
        -------
        Decision
            The decision so far, and the packet's output events.

        Raises
        ------
        EventError
            If an event is invalid, or the label is none of the classes. The packet is refused as a whole, and the
            session stays as it was.

        """
        if isinstance(events, Recordings):
            return self.take(events.coords, events.t, events.p, label)
        if getattr(events, "dtype", None) is not self._dtype:  # checked once per type of packet
            self._has_p = check_type(events, self.places)
            self._dtype = events.dtype
        if events.ndim != 1:
            raise EventError(f"A packet is a flat array of events, not one of shape {events.shape}.")
        p = events["p"] if self._has_p else 0
        return self._pass(len(events), (*(events[axis] for axis in self.places), p, events["t"]), label)

    def take(self, coords: Any, t: Array, p: Array | None = None, label: Any = None) -> Decision:
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
        return self._pass(len(t), rows if p is not None else (*coords, 0, t), label)

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
        if self._number != _UNLABELLED or self._recent.span:
            return self._unit_of(event)
        if self._one is None:
            self._bind(event)
        unit: int = self._one(self._address, event, self.events - self._before)
        if unit == _REFUSED:  # the same way as a packet: to an error, or to a new stream
            return self._unit_of(event)
        self.events += 1
        return unit

    def _unit_of(self, event: tuple[int, ...]) -> int:
        out = self._pass(1, event, None).units
        return int(out[0]) if len(out) else -1

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

    def _pass(self, n: int, rows: tuple[Any, ...], label: Any) -> Decision:
        """Run n events through the network: coordinates, polarities, times."""
        number = _UNLABELLED if label is None else self._class_number(label)
        if n > self._packet.shape[1]:
            self._grow(2 * n)
        for row, values in zip(self._packet, rows, strict=True):
            row[:n] = values
        if number != self._number:
            self._turn_to(number, n)
        elif not self._unpack(*self._arguments_of_unpack(n)):
            self._refuse_or_restart(n, self._number)
        if self._recent.span:
            self._recent.add(self._packet[:, :n])
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
            self.adapts = self._learns = True
            self._marks.add(self.network, self._parameters)
            self._state, self._one = self._kernels.begin(self._plan, self._parameters), None

    def _class_number(self, label: Any) -> int:
        number = self._numbers.get(label, self._numbers.get(str(label)))  # one name that is a text makes texts of all
        if number is None:
            raise EventError(f"label {label!r} is none of {self._classes}: add_class adds it.")
        return number

    def _turn_to(self, number: int, n: int) -> None:
        """Begin a recording of another class with the present packet, if it is valid."""
        clock = np.array([-1, self._clock[1], -1])
        if self._unpack(self._packet, n, self._sizes, self._jump, clock, self._wrong, self._events):
            self._begin(self._end(), clock, number)
        else:
            self._refuse_or_restart(n, number)

    def add_class(
        self,
        name: Any,
        events: Array | None = None,
        *,
        units: Sequence[int] | None = None,
        freeze: bool = False,
        **starting: Unpack[Starting],
    ) -> None:
        """Add a class that packets may then be labelled with, as `Network.extend` does.

        Parameters
        ----------
        name : label
            Of the new class.
        events : structured array, optional
            What it looks like; None: the events of the latest `recent`.
        units : sequence of int, optional
            How many units to add to each hidden layer; None: none.
        freeze : bool
            Whether the units that there are rest from now on; else those that learn go on to learn.
        **starting
            As in `Network.start`, by default start="quick".

        Raises
        ------
        SettingError
            If there is such a class already.
        EventError
            If there are no events to start from.

        """
        if name in self._numbers:
            raise SettingError(f"There is a class {name!r} already.")
        window = self._recent.recordings(self.network, name, events)
        learned = self.adapted()
        units = [0] * (len(self.network.stages) - 1) if units is None else units
        grown = grow.extended(learned, window, units, [name], **{"start": "quick", **starting})  # type: ignore[arg-type]
        if not freeze:
            for new, old in zip(grown.parameters, learned.parameters, strict=True):
                new.frozen[: len(old.frozen)] = old.frozen
        self._change(grown, learned)

    def forget(self, name: Any) -> None:
        """Remove a class and its units."""
        self._class_number(name)
        learned = self.adapted()
        self._change(grow.without(learned, name), learned)

    def _change(self, network: Network, learned: Network) -> None:
        """Continue with another network, in a new recording; `undo` goes back to what was learned before."""
        network.history = list(learned.history)
        self._marks.add(learned, learned.parameters)
        self._end()
        self._become(network)
        self._restart(network.parameters)

    def undo(self, changes: int = 1) -> None:
        """Go back to before the latest changes: recordings that were learned from, classes added or forgotten.

        Raises
        ------
        SettingError
            If there are not so many; `marks` says how many are remembered.

        """
        network, parameters = self._marks.back(changes)
        self._end()
        self._become(network)
        self._restart(parameters)

    @property
    def changes(self) -> int:
        """Changes so far, without those undone; `undo` can go back the latest of them."""
        return self._marks.count

    @property
    def first(self) -> int:
        """Time of the stream's first event in us; -1 before it."""
        return self._began if self._began >= 0 else int(self._clock[0])

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
        share: Array = (self._kept + self._counts.kept[0]) / max(self.events, 1)
        return share

    def adapted(self) -> Network:
        """A network with what this session has learned so far; the session continues.

        Raises
        ------
        DivergedError
            If a centroid has diverged, or a layer has closed all its thresholds.

        """
        parameters = self._learned()
        if self._marks.count:
            check_sane(parameters)
        taught = self._number >= 0 and self.events > self._before
        return (self._history_of(self.network) if taught else self.network).twin(parameters.copy())

    def _learned(self) -> Parameters:
        """The parameters now; never changed in place."""
        if not self._learns:
            return self._parameters
        state = self._state.copy()
        now = self._clock[1] - self._clock[0] + self._plan.gap
        self._kernels.finish(now, self._plan.layout, self._settings, state)
        parameters = self._parameters.copy()
        online_state.take_back(self._plan, state, parameters)
        return parameters

    def _arguments_of_unpack(self, n: int) -> tuple[Any, ...]:
        return self._packet, n, self._sizes, self._jump, self._clock, self._wrong, self._events

    def _arguments_of_run(self) -> tuple[Any, ...]:
        network = self._plan.layout, self._settings, self._state
        return self._events, 0, 0, False, self._learns, *network, self._counts, self._outputs

    def _arguments_of_tally(self, found: int, n: int) -> tuple[Any, ...]:
        how = self._plan.layout.voted, self._forget, *self._calibration, self._sure_from, self.events - n - self._before
        what = self._clock, self._votes, self._evidence, self._ahead, self._sure
        return found, self._events, self._outputs, *how, *what

    def _grow(self, room: int) -> None:
        """Room for packets of so many events."""
        self._room, label = room, np.full(1, max(getattr(self, "_number", _UNLABELLED), _UNLABELLED))
        self._packet = np.zeros((len(self._axes) + 1, room), np.int64)
        self._events = Events(np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros(2, np.int64), label)
        self._outputs = online.Outputs.room(room, self._weighed)
        self._one = None

    def _refuse_or_restart(self, n: int, number: int) -> None:
        """Raise the reason why a packet is refused, unless it is the second after a jump and begins a new stream."""
        row, event = self._wrong.tolist()
        value, latest = int(self._packet[row, event]), int(self._clock[1])
        jumped = value - latest > self._jump or latest - value > min(_LATE, self._jump)
        if row == len(self._axes) and event == 0 and jumped and 0 <= value < LATEST:
            (since, stray), self._stray = self._stray, (self.events, value)
            if self.on_jump == "restart" and since == self.events and stray <= value <= stray + self._jump:
                clock = np.full(3, -1, np.int64)
                if self._unpack(self._packet, n, self._sizes, self._jump, clock, self._wrong, self._events):
                    self._begin(self._end(), clock, number)
                    self._began = -1
                    self.restarts += 1
                    return
                row, event = self._wrong.tolist()
        why = why_not(self._packet, row, event, self._sizes, latest, self._jump)
        raise EventError(f"event {event} of the packet: {why}")
