"""What `timesurf stream` shows of a session while it runs, and what it writes of it at the end."""

from __future__ import annotations

import time
from typing import Any

from rich.table import Table
from rich.text import Text

from timesurf.cli.wording import count
from timesurf.io.receive import Datagrams
from timesurf.live.rate import Rate


class View:
    """A table that shows the state of a session."""

    def __init__(self, session: Any, waiting: Any, packets: Any, refusals: Any, *, live: bool) -> None:
        self.live, self.rate = live, Rate()
        self.watch: Any = None
        self.session, self.waiting, self.refusals, self.began = session, waiting, refusals, time.perf_counter()
        self.datagrams = packets if isinstance(packets, Datagrams) else None
        self.latest: Any = None
        self.S = 0.0
        self.ended_by = "end of input"

    def update(self, latest: Any) -> None:
        """Take the decision after a packet."""
        self.latest = latest
        if len(latest.S):
            self.S = float(latest.S.mean())

    def note_error(self, kind: Any, error: BaseException | None, _: object) -> None:
        """Note the error that ends the stream, if one does."""
        if error is not None:
            self.ended_by = f"{kind.__name__}: {error}"

    def figures(self) -> dict[str, Any]:
        """What is written as JSON."""
        session, latest = self.session, self.latest
        return {
            "events": session.events,
            "kept_by_layer": session.kept.tolist(),
            "votes": session.votes.tolist(),
            "dropped": self.waiting.dropped,
            "refused": self.refusals.count,
            "refused_reason": self.refusals.reason,
            "lost_datagrams": self.datagrams and self.datagrams.lost,
            "restarts": session.restarts,
            "drift_alarms": self.watch.drift.alarms,
            "drifting": self.watch.drift.drifting,
            "adapts": session.adapts,
            "ended_by": self.ended_by,
            "decision": None if latest is None or latest.decision is None else str(latest.decision),
            "confidence": 0.0 if latest is None else float(latest.confidence),
            "sure": None if session.sure is None else session.sure._asdict(),
        }

    def behind(self) -> str:
        """How far a live stream is ahead of what is shown."""
        newest = self.waiting.newest
        if not self.live or newest is None:
            return ""
        late = max(int(newest["t"][-1]) - self.session.latest, 0) / 1e6
        return f", {late:.3f} s behind ({self.waiting.waiting:,} events wait)"

    def table(self) -> Table:
        """The table now."""
        seconds, events = time.perf_counter() - self.began, self.session.events
        table = Table(show_header=False, title="Live")
        table.add_column()
        table.add_column(min_width=40)
        span = (self.session.latest - self.session.first) / 1e6
        table.add_row(
            "events",
            f"{events:,} in {span:.2f} s of the stream, {events / max(seconds, 1e-9):,.0f} per second here",
        )
        table.add_row("now", f"{self.rate.now(events):,.0f} events per second{self.behind()}")
        if self.watch.text:
            table.add_row("drift", Text(self.watch.text + (", adapting" if self.session.adapts else "")))
        if self.waiting.dropped:
            table.add_row("dropped", f"{self.waiting.dropped:,}: the stream is faster than this machine")
        if self.datagrams and self.datagrams.lost:
            table.add_row("lost datagrams", f"{self.datagrams.lost:,}: the system had no room for them")
        if self.refusals.count:
            table.add_row(
                "refused", Text(f"{count(self.refusals.count, 'packet')}, the latest: {self.refusals.reason}")
            )
        if self.session.restarts:
            table.add_row("restarts", f"{self.session.restarts:,}: the clock of the stream has jumped")
        if self.session.sure is not None:
            decision, used, time_used = self.session.sure
            table.add_row("sure", Text(f"{decision} after {used:,} events, {time_used / 1e3:,.1f} ms"))
        table.add_row("kept by each layer", "  ".join(f"{share:.1%}" for share in self.session.kept))
        table.add_row("S", f"{self.S:+.2f}  {_bar((self.S + 1) / 2)}")
        for name, share in zip(self.session.network.classes, self.session.probabilities, strict=True):
            ahead = self.latest is not None and self.latest.decision == name
            table.add_row(f"{'> ' if ahead else '  '}{name}", f"{_bar(share)} {share:.0%}")
        return table


def _bar(share: float, width: int = 24) -> str:
    """A share as a bar of text."""
    return "#" * round(width * min(max(share, 0.0), 1.0))
