"""What is done when a stream drifts: it is said, and the session may begin to adapt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from timesurf.live.decision import Decision
from timesurf.live.drift import Drift
from timesurf.live.session import Session

Array = NDArray[Any]


class Watch:
    """Watches a session for drift.

    Parameters
    ----------
    session : Session
        What is watched.
    adapt : bool
        Whether the session begins to learn without labels at the first alarm.
    report : callable
        Called with a line of text when the stream begins to drift, and when it is as usual again.

    Attributes
    ----------
    drift : Drift
        The figures that are watched.
    text : str
        The latest alarm; empty while the stream is as usual.

    """

    def __init__(
        self, session: Session, *, adapt: bool = False, report: Callable[[str], None] = lambda _: None
    ) -> None:
        self.drift, self.text = Drift(), ""
        self._session, self._adapt, self._report = session, adapt, report
        self._events, self._restarts = session.events, session.restarts

    def until(self, t: Array) -> int:
        """After how many of the events that come next it is to be updated, see `Drift.until`."""
        return self.drift.until(t)

    def update(self, decision: Decision) -> None:
        """Look at the decision after a packet."""
        session, events = self._session, self._session.events - self._events
        self._events = session.events
        if session.restarts != self._restarts:
            self._restarts = session.restarts
            self.drift.restart()
        change = self.drift.update(session.latest, events, decision.S)
        if change is None:
            return
        self.text = change.text if change.drifting else ""
        begins = change.drifting and self._adapt and not session.adapts
        if begins:
            session.start_adapting()
        at = (session.latest - session.first) / 1e6
        what = f"drift: {change.text}" if change.drifting else change.text
        self._report(f"{at:.1f} s: {what}{'; adapting from here on' if begins else ''}")
