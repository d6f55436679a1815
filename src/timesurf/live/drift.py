"""An alarm for a stream that is no longer what it was: the share of rejected events, or S, leaves its usual range.

A stream is looked at in windows of at least 0.5 s and 200 events. The first windows set what is usual: mean and
standard deviation of each figure. A window is unusual if a figure is further from its mean than 4 standard deviations
and 5 points. Two such windows in a row raise the alarm, two usual ones end it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
_SPAN = 500_000  # us, at least
_EVENTS = 200  # at least
_FIRST = 10  # windows that set what is usual
_WIDTH, _LEAST = 4.0, 0.05  # standard deviations, and points, beyond which a figure is unusual
_IN_A_ROW = 2


@dataclass(frozen=True)
class Change:
    """A change from usual to unusual, or back.

    Attributes
    ----------
    drifting : bool
        Whether the stream is unusual now.
    text : str
        What has changed, in words.

    """

    drifting: bool
    text: str


class Drift:
    """Watches the share of rejected events and mean S of a stream.

    Attributes
    ----------
    drifting : bool
        Whether the stream is unusual now.
    alarms : int
        How often it has become so.
    usual : array or None
        Mean (first row) and standard deviation of the share of rejected events and of S; None before the first windows.

    Examples
    --------
    >>> drift, rng = Drift(), np.random.default_rng(0)
    >>> def second(i, rejected):
    ...     kept = int(1000 * (1 - rejected)) + rng.integers(-5, 5)
    ...     return drift.update(i * 1_000_000, 1000, np.full(kept, 0.8))
    >>> [second(i, 0.3) for i in range(20)].count(None)
    20
    >>> print([second(i, 0.6) for i in range(20, 23)][-2].text)
    59.7% of events are rejected, usually 25.2% to 35.2%

    """

    def __init__(self) -> None:
        self.drifting, self.alarms = False, 0
        self.usual: Array | None = None
        self._windows: list[Array] = []
        self._row = 0
        self._begin(None)

    def _begin(self, t: int | None) -> None:
        self._since, self._events, self._outputs, self._S = t, 0, 0, 0.0

    def restart(self) -> None:
        """Forget the present window, since the clock of the stream has jumped."""
        self._begin(None)

    def until(self, t: Array) -> int:
        """After how many events, of those that come next at these times, a window is full; all of them if none is."""
        if self._since is None:
            return min(1, len(t))
        return min(max(int(np.searchsorted(t, self._since + _SPAN)) + 1, _EVENTS - self._events), len(t))

    def update(self, t: int, events: int, S: Array) -> Change | None:
        """Take a packet.

        Parameters
        ----------
        t : int
            Time of its last event, us.
        events : int
            How many events it has.
        S : array
            Separability of each of its output events.

        Returns
        -------
        Change or None
            What has changed with this packet, if anything has.

        """
        if self._since is None or t < self._since:
            self._begin(t)
        self._events += events
        self._outputs += len(S)
        self._S += float(S.sum())
        if self._since is None or t - self._since < _SPAN or self._events < _EVENTS:
            return None
        figures = np.array([1 - self._outputs / self._events, self._S / self._outputs if self._outputs else np.nan])
        self._begin(t)
        if self.usual is None:
            self._windows.append(figures)
            if len(self._windows) == _FIRST:
                held = np.array(self._windows)
                mean = _mean(held)
                self.usual = np.array([mean, np.sqrt(_mean((held - mean) ** 2))])
            return None
        return self._compared(figures)

    def _compared(self, figures: Array) -> Change | None:
        assert self.usual is not None
        mean, spread = self.usual
        width = np.maximum(_WIDTH * spread, _LEAST)
        unusual = np.abs(figures - mean) > width  # false where nothing was output, which the first figure tells
        self._row = self._row + 1 if bool(unusual.any()) != self.drifting else 0
        if self._row < _IN_A_ROW:
            return None
        self._row, self.drifting = 0, not self.drifting
        self.alarms += self.drifting
        if not self.drifting:
            return Change(False, "the stream is as usual again")
        low, high = mean - width, mean + width
        texts = [
            f"{figures[0]:.1%} of events are rejected, usually {max(low[0], 0):.1%} to {min(high[0], 1):.1%}",
            f"mean S is {figures[1]:+.2f}, usually {max(low[1], -1):+.2f} to {min(high[1], 1):+.2f}",
        ]
        return Change(True, "; ".join(text for text, wrong in zip(texts, unusual, strict=True) if wrong))


def _mean(held: Array) -> Array:
    """Mean of each column over the rows that have a number there; 0 if none has."""
    there = np.isfinite(held)
    total: Array = np.where(there, held, 0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    return total
