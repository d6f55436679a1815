"""A side channel to a session: lines of text that say what the events show, while events flow.

::

    label 9         the packets that follow show class 9
    label           they show nothing in particular
    new dog         add a class, started from the latest events, and label what follows with it
    forget dog      remove a class
    undo, undo 3    go back to before the latest change, or the latest three
"""

from __future__ import annotations

import os
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

from timesurf.errors import EventError, SettingError, TimesurfError
from timesurf.io.camera import address
from timesurf.live.checks import as_class, check_new, named
from timesurf.live.rehearsal import Rehearsal
from timesurf.live.session import Session

_LONGEST = 200  # bytes of a line
_MOST_WAITING = 1000  # lines
_AT_ONCE = 20  # lines, at most, before the next packet: events and signals go on, however many come
_DATAGRAM = 1 << 16  # bytes, at most
_CHUNK = 1 << 12  # bytes read from a pipe at a time


class Teacher:
    """Applies the lines of a side channel to a session, between packets.

    Parameters
    ----------
    session : Session
        What is taught.
    lines : iterable of str
        Read in a separate thread, until they end.
    report : callable
        Called with a sentence about each line, by the thread that calls `apply`.
    rehearsal : Rehearsal, optional
        What is shown to the session after each lesson: where the label changes, and at the end.

    Attributes
    ----------
    label : label or None
        Of the packets to come.
    dropped : int
        Lines that came faster than they could be obeyed, the oldest of a thousand that wait.

    Examples
    --------
    >>> from timesurf.bench import workloads
    >>> data = workloads.strokes(2, events=300, field=(8, 8))
    >>> teacher = Teacher(Session(workloads.started(workloads.NMNIST, data)), [], print)
    >>> teacher.obey("label 1")
    label: 1
    >>> teacher.label, teacher.obey("label cat")
    label: 'cat' is none of 0, 1. 'new cat' adds it.
    (1, None)

    """

    def __init__(
        self,
        session: Session,
        lines: Iterable[str],
        report: Callable[[str], None],
        rehearsal: Rehearsal | None = None,
    ) -> None:
        self.session, self._report, self._rehearsal = session, report, rehearsal
        self.label: Any = None
        self._before = session.changes  # those before the present lesson
        self.dropped = self._reported = 0
        self._waiting: deque[str] = deque()
        threading.Thread(target=self._read, args=(lines,), daemon=True, name="timesurf teacher").start()

    def _read(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._waiting.append(line)
            if len(self._waiting) > _MOST_WAITING:
                self._waiting.popleft()
                self.dropped += 1

    def apply(self) -> None:
        """Obey the lines that have come, the oldest twenty of them."""
        for _ in range(min(len(self._waiting), _AT_ONCE)):
            self.obey(self._waiting.popleft())
        if (dropped := self.dropped) > self._reported:
            self._report(f"{dropped:,} lines were dropped: no more than {_MOST_WAITING:,} can wait.")
            self._reported = dropped

    def between(self, packets: Iterable[Any]) -> Iterator[Any]:
        """These packets; lines are obeyed before each, and after the last; how many are left is reported."""
        for packet in packets:
            self.apply()
            yield packet
        self.apply()
        if left := len(self._waiting):
            self._report(f"{left:,} lines were not obeyed: the stream has ended.")
        if self._rehearsal is not None and self.label is not None:
            self.obey("label")  # the last lesson is one as well

    def obey(self, line: str) -> None:
        """Obey one line; what it says that is not possible is reported, and changes nothing."""
        verb, _, about = line.strip().partition(" ")
        about = about.strip()
        try:
            if verb == "label":
                self._turn_to(self._named(about) if about else None)
            elif verb == "new" and about:
                name = check_new(as_class(about, self._classes), self._classes)
                self._rehearse()
                self.session.add_class(name)
                self._begin(name)
            elif verb == "forget" and about:
                name = self._named(about)
                self._rehearse()
                self.session.forget(name)
                self._begin(None)
            elif verb == "undo":
                self.session.undo(int(about or 1))
                self._begin(None)
            elif line.strip():
                raise SettingError("commands are label, label NAME, new NAME, forget NAME, undo and undo NUMBER.")
            else:
                return
        except (TimesurfError, ValueError) as error:
            self._report(f"{verb}: {error}")
        else:
            self._report(f"label: {self.label}" if verb in ("label", "new") else line.strip())

    def _turn_to(self, label: Any) -> None:
        """End a lesson and begin another, or none."""
        if label == self.label:
            return
        try:
            self._rehearse()
        finally:
            self._begin(label)

    def _begin(self, label: Any) -> None:
        self.label, self._before = label, self.session.changes

    def _rehearse(self) -> None:
        """Show old recordings after a lesson, if there was one."""
        if self._rehearsal is not None and self.label is not None:
            self._rehearsal.after(self.session, self.label, self._before)
            self._before = self.session.changes

    def _named(self, text: str) -> Any:
        return named(text, self._classes, f" 'new {text}' adds it.")

    @property
    def _classes(self) -> list[Any]:
        classes: list[Any] = self.session.network.classes.tolist()
        return classes


def lines_of(source: str) -> Iterator[str]:
    """Lines on standard input ("-"), or datagrams at udp://HOST:PORT, one line each."""
    if source == "-":
        return _standard_input()
    try:
        if not source.startswith("udp://"):
            raise EventError("it is no address.")
        where = address(source)
    except EventError as error:
        raise SettingError(f"commands come from - (standard input) or udp://HOST:PORT, not {source!r}.") from error
    receiver = socket.socket(socket.AF_INET6 if len(where) == 4 else socket.AF_INET, socket.SOCK_DGRAM)
    try:
        receiver.bind(where)
    except (OSError, OverflowError) as error:
        receiver.close()
        raise SettingError(f"{source} cannot be read: {error}.") from error
    return _datagrams(receiver)


def _standard_input() -> Iterator[str]:
    """Lines as they are typed; below Python's own buffer, which must not be held when the process ends."""
    rest = b""
    with suppress(OSError):  # nothing is connected
        while chunk := os.read(0, _CHUNK):
            *lines, rest = (rest + chunk).split(b"\n")
            rest = rest[:_LONGEST]
            yield from (line[:_LONGEST].decode(errors="replace") for line in lines)
    if rest:  # a last line need not end
        yield rest.decode(errors="replace")


def _datagrams(receiver: socket.socket) -> Iterator[str]:
    with receiver:
        while True:
            # Windows refuses to cut a datagram short
            yield from receiver.recv(_DATAGRAM)[:_LONGEST].decode(errors="replace").splitlines()
