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
from timesurf.live.session import Session

_LONGEST = 200  # bytes of a line
_MOST_WAITING = 1000  # lines
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

    Attributes
    ----------
    label : label or None
        Of the packets to come.

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

    def __init__(self, session: Session, lines: Iterable[str], report: Callable[[str], None]) -> None:
        self.session, self._report = session, report
        self.label: Any = None
        self._waiting: deque[str] = deque(maxlen=_MOST_WAITING)
        threading.Thread(target=self._read, args=(lines,), daemon=True, name="timesurf teacher").start()

    def _read(self, lines: Iterable[str]) -> None:
        self._waiting.extend(lines)

    def apply(self) -> None:
        """Obey all lines that have come since the last call."""
        while self._waiting:
            self.obey(self._waiting.popleft())

    def between(self, packets: Iterable[Any]) -> Iterator[Any]:
        """These packets; lines are obeyed before each, and after the last."""
        for packet in packets:
            self.apply()
            yield packet
        self.apply()

    def obey(self, line: str) -> None:
        """Obey one line; what it says that is not possible is reported, and changes nothing."""
        verb, _, about = line.strip().partition(" ")
        about = about.strip()
        try:
            if verb == "label":
                self.label = self._named(about) if about else None
            elif verb == "new" and about:
                if about in map(str, self.session.network.classes.tolist()):
                    raise SettingError(f"there is a class {about!r} already.")
                self.session.add_class(about)
                self.label = about
            elif verb == "forget" and about:
                self.session.forget(self._named(about))
                self.label = None
            elif verb == "undo":
                self.session.undo(int(about or 1))
                self.label = None
            elif line.strip():
                raise SettingError("commands are label, label NAME, new NAME, forget NAME, undo and undo NUMBER.")
            else:
                return
        except (TimesurfError, ValueError) as error:
            self._report(f"{verb}: {error}")
        else:
            self._report(f"label: {self.label}" if verb in ("label", "new") else line.strip())

    def _named(self, text: str) -> Any:
        """The class that a text names."""
        classes = self.session.network.classes.tolist()
        for name in classes:
            if str(name) == text:
                return name
        raise EventError(f"{text!r} is none of {', '.join(map(str, classes))}. 'new {text}' adds it.")


def lines_of(source: str) -> Iterator[str]:
    """Lines on standard input ("-"), or datagrams at udp://HOST:PORT, one line each."""
    if source == "-":
        return _standard_input()
    host, _, port = source.removeprefix("udp://").rpartition(":")
    if not source.startswith("udp://") or not host or not port.isdigit():
        raise SettingError(f"commands come from - (standard input) or udp://HOST:PORT, not {source!r}.")
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        receiver.bind((host, int(port)))
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


def _datagrams(receiver: socket.socket) -> Iterator[str]:
    with receiver:
        while True:
            # Windows refuses to cut a datagram short
            yield from receiver.recv(_DATAGRAM)[:_LONGEST].decode(errors="replace").splitlines()
