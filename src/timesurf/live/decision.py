"""What a session decides."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

Array = NDArray[Any]


class Sure(NamedTuple):
    """The first decision of a stream that was as sure as asked for.

    Attributes
    ----------
    decision : label
        The class.
    events : int
        After how many input events.
    time : int
        How long after the first event, in us.

    """

    decision: Any
    events: int
    time: int


class Decision(NamedTuple):
    """The decision after a packet, and the packet's output events.

    Attributes
    ----------
    events : array of int
        Which events of the packet the network output, by their index in it.
    units : array of int
        The unit of the last layer that each of them fired; unit u votes for class u // units_per_class.
    S : array of float
        Separability of each of them.
    decision : label or None
        The class with most votes, or most evidence, so far; None before the first vote.
    confidence : float
        Its probability, where the network is calibrated or decides by evidence; else its share of the votes.
    sure : Sure or None
        The first decision of the stream that was sure; None before it.

    """

    events: Array
    units: Array
    S: Array
    decision: Any
    confidence: float
    sure: Sure | None = None
