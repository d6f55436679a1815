"""A network on a live stream that comes in packets of any size.

State is kept from packet to packet: however a stream is cut, its outputs are those of the whole stream in one piece.

A packet may have a label, and then teaches. A stream is a row of recordings: a new one, with an empty memory, begins
where the label changes. What was learned is then that of `Network.partial_fit` on each recording with a label, and of
`Network.adapt` on each without, one after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from timesurf.engines.cpu.packets import Bound
from timesurf.errors import EventError
from timesurf.events import Recordings
from timesurf.learning import grow
from timesurf.learning.divergence import check_sane
from timesurf.learning.start import Starting
from timesurf.live.checks import check_new, check_numbers, check_type
from timesurf.live.decision import Decision
from timesurf.live.running import NEW, UNLABELLED, Running
from timesurf.live.teaching import Marks, Recent
from timesurf.network import Network

Array = NDArray[Any]
_REFUSED = -2


class Session(Running):
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
        a new stream when the next packet is there as well, or with the eighth in a row that is less than 1 s
        late. What was learned is kept.
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

    def cut(self) -> None:
        """End the present recording: the next packet begins a new one, with an empty memory."""
        self._restart(self._end())

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
        return self._pass(len(t), self._rows(coords, t, p), label)

    def accepts(self, coords: Any, t: Array, p: Array | None = None) -> bool:
        """Whether `take` would accept these events without beginning a new stream; the session stays as it is."""
        self._lay_out(len(t), self._rows(coords, t, p))
        _, *packet, clock, wrong, events = self._arguments_of_unpack(len(t))
        return bool(self._unpack(self._packet, *packet, clock.copy(), wrong, events))

    def _rows(self, coords: Any, t: Array, p: Array | None) -> tuple[Any, ...]:
        """Coordinates, polarities and times of a packet, if they are arrays of integers of one length."""
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
        return rows if p is not None else (*coords, 0, t)

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
            As by `push`, or if these are not as many integers of 64 bits.

        """
        if self._number != UNLABELLED:
            return self._unit_of(event)
        if self._one is None:
            self._bind()
        before = self.events - self._before
        self.events += 1  # before it is counted as kept: an interrupt may come between
        try:
            unit: int = self._one(self._address, event, before)
        except (IndexError, OverflowError, TypeError, ValueError):  # numbers that it cannot take
            unit = _REFUSED
        if unit == _REFUSED:  # the same way as a packet: to an error, or to a new stream
            self.events -= 1
            return self._unit_of(event)
        if self._recent.span:
            self._recent.add_one(event)
        return unit

    def _unit_of(self, event: tuple[int, ...]) -> int:
        check_numbers(event, [*self._axes, "t"])
        out = self._pass(1, event, None).units
        return int(out[0]) if len(out) else -1

    def _bind(self) -> None:
        """Bind the arguments of the kernel of one event to the arrays of now."""
        _, _, *unpacking = self._arguments_of_unpack(0)
        _, _, _, _, *running = self._arguments_of_run()
        _, _, _, _, forget, scale, prior, level, _, _, *counting = self._arguments_of_tally(0, 0)
        how = forget, scale, prior, level
        arguments = self._packet, *unpacking, *running, *how, *counting
        self._bound = Bound(self._kernels.one, len(self._packet), *arguments)
        self._one, self._address = self._bound.call, self._bound.address

    def start_adapting(self) -> None:
        """Learn without labels from now on, with an empty memory of events; votes stay. A lesson goes on as it is."""
        if self.adapts:
            return
        self.adapts = True
        if self._number == UNLABELLED:
            self._learns = True
            self._marks.add(self.network, self._parameters)
            self._state, self._one = self._kernels.begin(self._plan, self._parameters), None

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
            If there is such a class already, or it cannot have that name.
        EventError
            If there are no events to start from, or they are several recordings.

        """
        name = check_new(name, self._classes)
        window = self._recent.recordings(self.network, name, events)
        learned = self.adapted()
        units = [0] * (len(self.network.stages) - 1) if units is None else units
        grown = grow.extended(learned, window, units, [name], **{"start": "quick", **starting})  # type: ignore[arg-type]
        if not freeze:
            for new, old in zip(grown.parameters, learned.parameters, strict=True):
                new.frozen[: len(old.frozen)] = old.frozen
        self._change(grown, learned)

    def rehearse(self, recording: Recordings, label: Any) -> None:
        """Learn from a recording that is not of the stream, such as an old one of another class.

        The present recording of the stream ends, as by `cut`; times, counts and the events held for `add_class` are
        those of the stream alone. This is no change of its own: `undo` takes it back with the change before it.

        Parameters
        ----------
        recording : Recordings
            One recording, on the network's field; its times need not follow those of the stream.
        label : label
            What it shows.

        Raises
        ------
        EventError
            If it is not one valid recording, or the label is none of the classes.

        """
        self._class_number(label)
        if len(recording) != 1:
            raise EventError(f"One recording is rehearsed at a time, not {len(recording):,}.")
        before = learned = self._end()
        network, latest, began, marks, recent = self.network, self.latest, self._began, self._marks, self._recent
        events, kept = self.events, self._kept.copy()
        self._marks, self._recent = Marks(0), Recent(0)
        self._begin(learned, np.full(3, -1, np.int64), NEW)
        try:
            self.take(recording.coords, recording.t, recording.p if network.polarities > 1 else None, label)
            learned = self._end()
            if not marks.count:
                marks.add(network, before)
        finally:
            self._marks, self._recent, self._began = marks, recent, began
            self.events, self._kept, self._clock = events, kept, np.array([-1, latest, -1])
            self._restart(learned)

    def forget(self, name: Any) -> None:
        """Remove a class and its units."""
        name = self._classes[self._class_number(name)]
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
            If there are not so many, or that is no whole number; `marks` says how many are remembered.

        """
        network, parameters = self._marks.back(changes)
        self._end()
        self._become(network)
        self._restart(parameters)

    @property
    def changes(self) -> int:
        """Changes so far, without those undone; `undo` can go back the latest of them."""
        return self._marks.count

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
