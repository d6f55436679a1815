"""Decisions over time as JSON lines, written as they are made."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.live.decision import Decision
from timesurf.times import Time, microseconds

Array = NDArray[Any]


class Log:
    """A file with one JSON object per line: t (us), decision, confidence, events, outputs and S since the line before.

    Parameters
    ----------
    path : str or Path
        The file; replaced if it exists. Lines are complete as soon as they are written: `tail -f` shows them.
    every : float or str
        Time of the stream from one line to the next.

    """

    def __init__(self, path: str | Path, every: Time = "10 ms") -> None:
        self._every = microseconds(every, "log_every")
        self._file = open(path, "w", encoding="utf-8", buffering=1)  # noqa: SIM115  closed by __exit__
        self._due: float | None = None
        self._events, self._outputs, self._S = 0, 0, 0.0
        self._latest: tuple[int, int, Decision] | None = None

    def until(self, t: Array) -> int:
        """After how many events, of those that come next at these times, a line is due; all of them if none is."""
        if self._due is None:
            return min(1, len(t))
        return min(int(np.searchsorted(t, math.ceil(self._due))) + 1, len(t))

    def add(self, t: int, events: int, decision: Decision) -> None:
        """Note the decision after a packet: the time of its last event, and all events so far."""
        self._outputs += len(decision.S)
        self._S += float(decision.S.sum())
        self._latest = t, events, decision
        if self._due is None or t >= self._due or t < self._due - 2 * self._every:  # or the clock has jumped back
            self._write()
            self._due = t + self._every

    def _write(self) -> None:
        if self._latest is None:
            return
        t, events, decision = self._latest
        label: Any = None if decision.decision is None else str(decision.decision)
        line = {
            "t": t,
            "decision": label,
            "confidence": round(float(decision.confidence), 6),
            "events": events - self._events,
            "outputs": self._outputs,
            "S": round(self._S / self._outputs, 6) if self._outputs else None,
        }
        self._file.write(json.dumps(line) + "\n")
        self._events, self._outputs, self._S, self._latest = events, 0, 0.0, None

    def close(self) -> None:
        """Write what has come since the last line, and close the file."""
        self._write()
        self._file.close()

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
