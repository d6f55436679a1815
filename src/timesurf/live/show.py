"""A session for people to look at: a thread that feeds it, obeys them, and keeps a picture of what happens.

Only that thread touches the session. Others ask it for things (`Show.ask`), and take what there is to see from
`Show.view`, which it fills without ever waiting for anybody.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import DivergedError, EventError
from timesurf.events import Recordings
from timesurf.live.checks import as_class, named
from timesurf.live.pad import Pad
from timesurf.live.playback import Playback
from timesurf.live.recorder import Recorder
from timesurf.live.rehearsal import Rehearsal, rule_to_teach
from timesurf.live.session import Session
from timesurf.live.view import View
from timesurf.live.watch import Watch
from timesurf.network import Network

Array = NDArray[Any]
Prepare = Callable[[Array], Array]
_IDLE = 0.004  # s between two looks at a source that has nothing
_LOOK = {"saccades": 0.55, "edges": 0.04}  # s from one look at a drawing to the next; the first takes 0.3 s
_PAUSE = 1_000_000  # us of the stream between recordings, so that each begins with an empty memory
_MARKS = 120
_REFRESH = 2.0  # s from one picture of what is learned all the time to the next


class Source(Protocol):
    """Where events come from: a camera, as a rule."""

    def poll(self, seconds: float) -> Any:
        """The next packet, or None if none comes in this time."""

    @property
    def ended(self) -> bool:
        """Whether no more will come."""


class Show:
    """A network at work on a source of events, looked at and taught by people.

    Parameters
    ----------
    network : Network
        To begin with; it is not changed.
    source : Source, optional
        A camera; None: the drawing pad, until `play` shows recordings.
    rehearsal : Recordings, optional
        Labelled recordings of the classes that the network knows. After something was taught, one of each other class
        is shown to it as well, so that it does not forget them.
    preparing : callable, optional
        What the camera's packets go through, for a network: a function from packet to packet, or None.

    Attributes
    ----------
    view : View
        What there is to see.
    pad : Pad
        To draw on.

    """

    def __init__(
        self,
        network: Network,
        source: Source | None = None,
        *,
        rehearsal: Recordings | None = None,
        preparing: Callable[[Network], Prepare | None] = lambda _: None,
        **session: Any,
    ) -> None:
        self.camera, self._preparing = source, preparing
        self.rehearsal = None if rehearsal is None else Rehearsal(rehearsal)
        self.playback: Playback | None = None
        self.pad: Pad | None = None
        self.recorder, self._how = Recorder(), session
        self.error: BaseException | None = None
        self._asked: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        self._stop = threading.Event()
        self.begin(network)
        self._thread = threading.Thread(target=self._work, daemon=True, name="timesurf live")

    def begin(self, network: Network) -> None:
        """Continue with another network; what was taught and not saved is gone."""
        prepare = self._preparing(network)  # refuses a network that the camera does not fit
        rule = rule_to_teach(network, rehearsed=self.rehearsal is not None)
        how = {"vote_tau": "200 ms", "on_jump": "restart", "teach": rule, **self._how}
        self.session, self._prepare = Session(network, **how, marks=_MARKS, recent="1 s"), prepare
        self.learned = False  # something that was not saved yet
        self.diverged = ""  # why there is no picture of what is learned all the time, if there is none
        self.watch, self._refreshed = Watch(self.session), 0.0
        drawn = self.pad.strokes if self.pad is not None else []
        self.pad = Pad(network.field, network.polarities) if len(network.field) == 2 else None
        if self.pad is not None:
            self.pad.strokes = drawn
        self.label: Any = None
        self._before: list[int] = []  # changes of the session before each of those that people made
        self._forgotten = 0  # changes that can no longer be undone
        self._later, self._started = 0, time.perf_counter()  # us: when the next recording begins
        self._shift: int | None = 0  # us from the clock of the source to the session's; None: as `_later` says
        self._look: tuple[Array, float, int] | None = None  # events of a look, when it began, how many were taken
        self.view = View(network)

    def __enter__(self) -> Show:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(10)

    @property
    def working(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def ask(self, what: Callable[[], Any]) -> Future[Any]:
        """Have something done between two packets, by the thread that owns the session."""
        answer: Future[Any] = Future()
        self._asked.append((what, answer))
        return answer

    def _work(self) -> None:
        try:
            while not self._stop.is_set():
                while self._asked:
                    what, answer = self._asked.popleft()
                    try:
                        answer.set_result(what())
                    except Exception as error:  # told to who asked
                        answer.set_exception(error)
                packet = self._next()
                if packet is None or len(packet) == 0:
                    continue
                self._take(packet)
        except BaseException as error:  # raised again where the show is waited for
            self.error = error
        finally:
            while self._asked:
                self._asked.popleft()[1].cancel()

    def _next(self) -> Any:
        """Events that are due now, on the clock of the session."""
        if self.playback is not None:
            packet = self.playback.read()
            if self.playback.began:
                self.playback.began = False
                self._new_recording()
            if len(packet) == 0:
                time.sleep(_IDLE)
            return self._shifted(packet)
        if self.camera is not None:
            packet = self.camera.poll(0.02)
            if packet is None and self.camera.ended:
                time.sleep(_IDLE)
            return None if packet is None else self._shifted(self._prepared(packet))
        return self._drawn()

    def _prepared(self, packet: Array) -> Array:
        """A packet of the camera as the network takes it; empty if it is not valid."""
        try:
            return packet if self._prepare is None else self._prepare(packet)
        except EventError as error:
            self.view.refuse(str(error))
            return packet[:0]

    def _shifted(self, packet: Array) -> Array:
        """Events of a recording, after all that came before."""
        later = packet.astype([(name, np.int64) for name in packet.dtype.names or ()])
        if len(later) and self._shift is None:
            self._shift = self._later - int(later["t"][0])
        if len(later):
            later["t"] += self._shift
        return later

    def _new_recording(self) -> None:
        self._shift = None
        self._later = max(self.session.latest, 0) + _PAUSE
        self.session.cut()
        self.view.begin()

    def _drawn(self) -> Array | None:
        """What the camera sees of the drawing, in real time."""
        if self.pad is None:
            time.sleep(_IDLE)
            return None
        now = time.perf_counter()
        if self._look is None or (self._look[2] >= len(self._look[0]) and now >= self._look[1] + _LOOK[self.pad.look]):
            if self.pad.blank:
                self._look = None
                time.sleep(_IDLE)
                return None
            if self.pad.look == "saccades":
                self._new_recording()
            since_start = int(1e6 * (now - self._started))  # a camera at rest sees nothing for a while: time goes on
            self._later = max(self._later, self.session.latest + 1, since_start if self.pad.look == "edges" else 0)
            self._look = self.pad.events(self._later), now, 0
        events, began, done = self._look
        due = int(np.searchsorted(events["t"], self._later + 1e6 * (now - began))) if len(events) else 0
        self._look = events, began, due
        if due == done:
            time.sleep(_IDLE)
        return events[done:due]

    def _take(self, packet: Array) -> None:
        """Run a packet, and note what came of it."""
        session, began = self.session, time.perf_counter()
        try:
            decision = session.push(self._fitting(packet), label=self.label)
        except EventError as error:
            self.view.refuse(str(error))
            return
        self.view.add(packet, decision, session, time.perf_counter() - began)
        if self.playback is not None or self.camera is not None:  # a drawing changes whenever somebody draws
            self.watch.update(decision)
        self.recorder.add(packet, self.label)
        if self.label is not None or session.adapts:
            self.learned = True
            self._refresh()

    def _fitting(self, packet: Array) -> Array:
        if self.session.network.polarities == 1 and "p" in (packet.dtype.names or ()):
            return packet[[name for name in packet.dtype.names or () if name != "p"]]
        return packet

    # What people may ask for; each is called by `ask`.

    def refuse(self, reason: str, count: int = 1) -> None:
        """Something that came was refused; any thread may say so."""
        self.view.refuse(reason)

    def play(self, recordings: Recordings | None) -> None:
        """Show recordings; None: the camera, or the drawing pad."""
        self.playback, self.watch = None if recordings is None else Playback(recordings), Watch(self.session)
        self._new_recording()

    def clear(self) -> None:
        """Wipe the drawing."""
        if self.pad is not None:
            self.pad.clear()
            self._look = None
            self._new_recording()

    def teach(self, name: Any) -> None:
        """From now on events show this class; None: they show nothing in particular."""
        name = None if name is None else named(name, self._classes)
        if name == self.label:
            return
        taught, self.label = self.label, name
        if taught is not None:
            self.session.cut()
            if self.rehearsal is not None:
                self.rehearsal.after(self.session, taught, self._before[-1])
            self._changed()
        if name is not None:
            self.session.cut()
            self._before.append(self.session.changes)
            self._look = None  # a whole look at the drawing

    @property
    def _classes(self) -> list[Any]:
        classes: list[Any] = self.session.network.classes.tolist()
        return classes

    def add_class(self, name: str) -> None:
        """Add a class that starts from what was just seen."""
        name = " ".join(name.split())
        if not 0 < len(name) <= 40:
            raise EventError("A class has a name of 1 to 40 characters.")
        self.teach(None)
        before = self.session.changes
        self.session.add_class(as_class(name, self._classes))
        self._before.append(before)
        self._changed()

    def forget(self, name: Any) -> None:
        """Remove a class."""
        self.teach(None)
        before = self.session.changes
        self.session.forget(named(name, self._classes))
        self._before.append(before)
        self._changed()

    def undo(self) -> None:
        """Go back to before what was taught last."""
        self.teach(None)
        if not self.undoable:
            raise EventError("There is nothing to undo, or it was too many changes ago.")
        self._forgotten = self._oldest
        if changes := self.session.changes - self._before.pop():
            self.session.undo(changes)
        self._changed()

    @property
    def undoable(self) -> int:
        """How many changes that people made can be undone."""
        return sum(before >= self._oldest for before in list(self._before))

    @property
    def _oldest(self) -> int:
        """The fewest changes that undoing can lead back to: a session remembers the latest ones only."""
        return max(self._forgotten, self.session.changes - _MARKS)

    def adapt(self, on: bool) -> None:
        """Whether to learn without labels."""
        self.session.cut()
        self.session.adapts = bool(on)
        self._refreshed = 0.0
        self._refresh()

    def taught(self) -> Network:
        """The network with what it has learned."""
        return self.session.adapted()

    def behind(self) -> float:
        """How far the camera is ahead of what was run, s."""
        newest = getattr(self.camera, "newest", None)
        if newest is None or self.playback is not None or self.session.latest < 0:
            return 0.0
        return max(int(newest["t"][-1]) + (self._shift or 0) - self.session.latest, 0) / 1e6

    def _changed(self) -> None:
        self.learned = True
        self.view.show(self.session.adapted())
        self.diverged = ""

    def _refresh(self) -> None:
        """Show what is learned all the time, now and then; what has diverged has no picture, and that is said."""
        now = time.perf_counter()
        if now - self._refreshed >= _REFRESH:
            self._refreshed = now
            try:
                self.view.show(self.session.adapted())
                self.diverged = ""
            except DivergedError as error:
                self.diverged = str(error)
