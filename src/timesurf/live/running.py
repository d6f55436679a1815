"""A network on a stream of packets: its memory, its votes and what it learns, from packet to packet.

`Session` adds what one does with it: packets in, decisions out, teaching.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from timesurf.calibration import UNCALIBRATED, Calibration, probabilities
from timesurf.engines.cpu import online, online_state, packets
from timesurf.engines.cpu.bundles import Counts, Events, Settings
from timesurf.engines.cpu.packets import compiled_for
from timesurf.engines.cpu.precision import online_kernel
from timesurf.engines.data import Parameters
from timesurf.errors import EventError, SettingError
from timesurf.events import LATEST, axis_name
from timesurf.live.checks import how_to_decide, rule_of_labels, why_not
from timesurf.live.decision import Decision, Sure
from timesurf.live.teaching import Marks, Recent, figures
from timesurf.network import Network
from timesurf.predicting import Decide
from timesurf.rule import Rule
from timesurf.times import Time, microseconds, time_constant

Array = NDArray[Any]
OnJump = Literal["refuse", "restart"]

UNLABELLED, NEW = -1, -2  # class numbers: of a packet without a label, and of none: the next begins a recording
_LATE = 1_000_000  # us: a packet that comes so much too late was overtaken by others; beyond, the clock was set back
_OVERTAKEN = 8  # packets that come too late in a row: as many, and the clock was set back


class Running:
    """The half of `Session` that runs packets; see there for parameters and attributes."""

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
        self._teaching = rule_of_labels(teach, network)
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
        self._compiled: Any = None  # the kernels that `_run` is one of
        self._become(self._first)
        self.reset()
        # Each kernel is compiled for exactly the arguments that it is called with: calls are not checked.
        self._unpack = compiled_for(packets.unpack, *self._arguments_of_unpack(0))
        self._tally = compiled_for(packets.tally, *self._arguments_of_tally(0, 0))

    def reset(self) -> None:
        """Start a new stream: forget all events, and what was learned from them."""
        self._clock = np.full(3, -1, np.int64)
        self._marks.clear()
        self._recent.clear()
        self.events = self.restarts = 0
        self._kept = np.zeros(len(self._first.stages), np.int64)  # in recordings that have ended
        self._began = -1  # when the stream did
        self._strays = -1, -1, 0  # `events` and its time when a packet was last refused for that; how many in a row
        if self.network is not self._first:
            self._become(self._first)
        self._begin(self._first.parameters, self._clock, UNLABELLED)

    def _become(self, network: Network) -> None:
        """Use this network from now on."""
        self.network = network
        self._kernels = online_kernel(network.precision, network.stages)
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
        self._learns = number >= 0 or (self.adapts and number == UNLABELLED)
        self._settings = self._by_label if number >= 0 else self._by_itself
        self._events.label[0] = max(number, UNLABELLED)
        if self._learns:
            self._marks.add(self.network, parameters)
        self._state, self._one = self._kernels.begin(self._plan, parameters), None
        self._votes, self._ahead = np.zeros(len(self._classes)), np.array([-1.0, 0.0])
        self._evidence, self._sure = np.zeros(self._weighed), np.full(3, -1, np.int64)
        self._counts = Counts(np.zeros((1, len(self._kept)), np.int64), np.zeros((1, len(self._classes)), np.int64))
        self._before = self.events
        if self._compiled is not self._kernels:  # a network that grows may need others
            self._compiled, self._run = self._kernels, compiled_for(self._kernels.run, *self._arguments_of_run())

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

    def _restart(self, parameters: Parameters) -> None:
        """Wait for a packet that begins a recording with these parameters."""
        self._begin(parameters, np.array([-1, self._clock[1], -1]), NEW)

    def _pass(self, n: int, rows: tuple[Any, ...], label: Any) -> Decision:
        """Run n events through the network: coordinates, polarities, times."""
        number = UNLABELLED if label is None else self._class_number(label)
        self._lay_out(n, rows)
        if n and number != self._number:
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

    def _lay_out(self, n: int, rows: tuple[Any, ...]) -> None:
        """Copy n events to where kernels read them."""
        if n > self._packet.shape[1]:
            self._grow(2 * n)
        for row, values in zip(self._packet, rows, strict=True):
            row[:n] = values

    def _class_number(self, label: Any) -> int:
        try:
            # one name that is a text makes texts of all
            number = self._numbers.get(label, self._numbers.get(str(label)))
        except TypeError as error:
            raise EventError(f"label {label!r} is no number and no text: give one of {self._classes}.") from error
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
        self._room, label = room, np.full(1, max(getattr(self, "_number", UNLABELLED), UNLABELLED))
        self._packet = np.zeros((len(self._axes) + 1, room), np.int64)
        self._events = Events(np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros(2, np.int64), label)
        self._outputs = online.Outputs.room(room, self._weighed)
        self._one = None

    def _refuse_or_restart(self, n: int, number: int) -> None:
        """Raise the reason why a packet is refused, unless it is the second after a jump and begins a new stream."""
        row, event = self._wrong.tolist()
        value, latest = int(self._packet[row, event]), int(self._clock[1])
        jumped = value - latest > self._jump or latest - value > min(_LATE, self._jump)
        if row == len(self._axes) and event == 0 and (jumped or value < latest) and 0 <= value < LATEST:
            since, last, many = self._strays
            many = many + 1 if since == self.events and last <= value <= last + self._jump else 1
            self._strays = self.events, value, many
            if self.on_jump == "restart" and many >= (2 if jumped else _OVERTAKEN):
                clock = np.full(3, -1, np.int64)
                if self._unpack(self._packet, n, self._sizes, self._jump, clock, self._wrong, self._events):
                    self._begin(self._end(), clock, number)
                    self._began = -1
                    self._recent.clear()  # their times are of another clock
                    self.restarts += 1
                    return
                row, event = self._wrong.tolist()
        why = why_not(self._packet, row, event, self._sizes, latest, self._jump)
        raise EventError(f"event {event} of the packet: {why}")

    @property
    def decision(self) -> Any:
        """The class with most votes so far; None before the first vote."""
        return self._classes[int(self._ahead[0])] if self._ahead[0] >= 0 else None

    @property
    def confidence(self) -> float:
        """Its probability, or its share of the votes where the network is not calibrated and decides by them."""
        return float(self._ahead[1])

    @property
    def sure(self) -> Sure | None:
        """The first decision of the stream that was sure; None before it."""
        if self._sure[0] < 0:
            return None
        decision, events, time = self._sure.tolist()
        return Sure(self._classes[decision], events, time)

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
    def calibrated(self) -> bool:
        """Whether `confidence` and `probabilities` are probabilities, and not shares of the votes."""
        return self._calibration.scale > 0

    @property
    def probabilities(self) -> Array:
        """Probability of every class so far, calibrated where the network is, else its share of the votes."""
        total = self._votes.sum()
        if total <= 0:
            return np.zeros(len(self._votes))
        if not self.calibrated:
            shares: Array = self._votes / total
            return shares
        return probabilities(self._evidence if self._weighed else self._votes, total, self._calibration)

    @property
    def kept(self) -> Array:
        """Share of all events that each layer let pass."""
        share: Array = (self._kept + self._counts.kept[0]) / max(self.events, 1)
        return share
