"""A session on packets that may hold anything: what is not valid is refused and counted, and the session goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import EventError
from timesurf.live.decision import Decision
from timesurf.live.session import Session

Array = NDArray[Any]


class Refusals:
    """How much of a stream was refused, and why. Any thread may add to it.

    Parameters
    ----------
    report : callable
        Called with this object after each refusal, by the thread that added it.

    Attributes
    ----------
    count : int
        Packets, or lines of text, that were refused.
    reason : str or None
        Why the latest of them was refused.

    """

    def __init__(self, report: Callable[[Refusals], None] = lambda _: None) -> None:
        self.count, self._report = 0, report
        self.reason: str | None = None
        self._lock = threading.Lock()

    def add(self, reason: str, count: int = 1) -> None:
        """Note why something was refused, and how much."""
        with self._lock:
            self.count += count
            self.reason = reason
        self._report(self)


def decisions(
    session: Session,
    packets: Iterable[Any],
    refusals: Refusals,
    *,
    one_by_one: bool = False,
    prepare: Callable[[Any], Any] | None = None,
    label: Callable[[], Any] = lambda: None,
    until: Callable[[Array], int] = len,
) -> Iterator[Decision]:
    """The decision of a session after every packet that it accepts.

    Parameters
    ----------
    session : Session
        Gets the packets.
    packets : iterable of structured arrays
        Fields x, y, t and p, as `Session.push` takes them. Polarities are left out for a network with only one.
    refusals : Refusals
        Counts the packets that are refused.
    one_by_one : bool
        Whether events were sent one by one, and a packet is only what was read at once: then an event that is not
        valid is refused alone, and the others of its packet are not.
    prepare : callable, optional
        What each packet goes through first, see `Preparation.stream`.
    label : callable
        Called before each packet: what it shows, or None.
    until : callable
        Called with the times of the events that come next in a packet: after how many of them a decision is due, at
        least one. A valid packet is cut there, so that what is due does not depend on the size of packets.

    Yields
    ------
    Decision
        After each packet, or each part of one, or after each event of a packet that holds an event that is not valid.

    Examples
    --------
    >>> import numpy as np
    >>> from timesurf.bench import workloads
    >>> data = workloads.strokes(2, events=300, field=(8, 8))
    >>> session, refusals = Session(workloads.started(workloads.NMNIST, data)), Refusals()
    >>> packets = [np.array([(x, 0, 5, 0)], [(name, int) for name in "xytp"]) for x in (7, 8, 6)]
    >>> len(list(decisions(session, packets, refusals))), refusals.count
    (2, 1)
    >>> refusals.reason
    'event 0 of the packet: x = 8 is off the field (0 to 7) of the network. Crop the events, or train ...'

    """
    for whole in packets:
        packet, later = whole, prepare  # filters that remember must not see an event twice
        try:
            if prepare is not None:
                packet, later = prepare(whole), None
            shown, t = label(), np.ascontiguousarray(packet["t"])
            end = until(t)
            if end < len(t) and not session.accepts(*_arrays(session, packet)):
                end = len(t)  # it is refused as a whole, or begins a new stream
            decision = session.take(*_arrays(session, packet[:end]), shown)
        except EventError as error:
            if not one_by_one or len(packet) <= 1:
                refusals.add(str(error))
            else:
                events = [packet[i : i + 1] for i in range(len(packet))]
                yield from decisions(session, events, refusals, prepare=later, label=label)
        else:
            yield decision
            while end < len(t):
                begin, end = end, end + until(t[end:])
                yield session.take(*_arrays(session, packet[begin:end]), shown)


def _arrays(session: Session, packet: Any) -> tuple[list[Array], Array, Array | None]:
    """Coordinates, times and polarities, as a session takes them."""
    coords = [packet[axis] for axis in session.places]
    return coords, packet["t"], packet["p"] if session.network.polarities > 1 else None
