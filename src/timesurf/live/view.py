"""What there is to see of a session: filled by the thread that runs it, read by others, and neither waits.

A frame is bytes: the length of a JSON object in 4 bytes, the object, then arrays of the events to draw::

    x, y (2 bytes each), p (1 byte), and per hidden layer the unit that won (2 bytes; -1: rejected or not reached)

each for all events, little-endian.
"""

from __future__ import annotations

import json
import struct
import time
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.engines import Options, Parameters, pack
from timesurf.engines.cpu import engine
from timesurf.events import Recordings
from timesurf.network import Network

Array = NDArray[Any]
DRAWN = 1200  # events per frame, at most
CONTEXT = 1200  # earlier events that their surfaces are made of
SURE = 0.6  # confidence from which a decision counts as sure
_PACKETS = 256  # that wait to be drawn
_RECENT = 1.0  # s: what rates are counted over


class View:
    """What a session does, for people.

    Parameters
    ----------
    network : Network
        At work.

    """

    def __init__(self, network: Network) -> None:
        self._fresh: deque[Array] = deque(maxlen=_PACKETS)
        self._earlier: Array | None = None
        self._added = self._drawn = 0
        self._times: deque[tuple[float, int, float]] = deque(maxlen=4096)  # when, how many events, how long they took
        self.refused, self.reason = 0, ""
        self._session: Any = None  # its figures are read without a lock: at worst a frame shows them one packet late
        self._latest: Any = None
        self.began = -1  # us of the stream
        self.recordings = 0  # that have ended
        self.previous: Any = None  # the decision on the latest of them
        self.decision: Any = None
        self.confidence = 0.0
        self.sure: int | None = None  # us after the recording's first event
        self._since: Any = None  # the decision so far
        self.show(network)

    def show(self, network: Network) -> None:
        """The network has changed."""
        self.network = network
        self.version = time.monotonic_ns()

    def begin(self) -> None:
        """A new recording begins."""
        if self.began >= 0:
            self.recordings, self.previous = self.recordings + 1, self.decision
        self.began, self.sure, self._since, self.decision, self.confidence = -1, None, None, None, 0.0

    def look(self) -> None:
        """Somebody begins to look: what came while nobody did is not missing from the picture."""
        self._fresh.clear()
        self._drawn = self._added

    def refuse(self, reason: str) -> None:
        """A packet was refused."""
        self.refused, self.reason = self.refused + 1, reason

    def add(self, packet: Array, latest: Any, session: Any, seconds: float) -> None:
        """A packet was run: the engine's thread notes it, and all that takes longer is left to `frame`."""
        self._fresh.append(packet)
        self._added += len(packet)
        self._times.append((time.monotonic(), len(packet), seconds))
        self._session, self._latest = session, latest
        self.decision, self.confidence = latest.decision, latest.confidence
        if self.began < 0:
            self.began = int(packet["t"][0])
        if self.decision != self._since:
            self._since, self.sure = self.decision, None
        if self.sure is None and self.confidence >= SURE:
            self.sure = session.latest - self.began

    @property
    def events(self) -> int:
        """Events that the session has taken."""
        return 0 if self._session is None else int(self._session.events)

    @property
    def probabilities(self) -> Array:
        """Probability of every class, or its share of the votes, see `Session.probabilities`."""
        none: Array = np.zeros(len(self.network.classes))
        return none if self._session is None else self._session.probabilities

    def rates(self) -> dict[str, float]:
        """Events per second, and the engine's time per event, of the latest second."""
        since = time.monotonic() - _RECENT
        recent = [entry for entry in list(self._times) if entry[0] >= since]
        events, busy = sum(entry[1] for entry in recent), sum(entry[2] for entry in recent)
        longest = max((entry[2] for entry in recent), default=0.0)
        return {"rate": events / _RECENT, "per_event_us": 1e6 * busy / max(events, 1), "packet_ms": 1e3 * longest}

    def about(self) -> dict[str, Any]:
        """What a page needs to know of the network: sent when it has changed."""
        network, stages = self.network, self.network.stages
        hidden = [
            {
                "units": stage.units,
                "kind": str(stage),
                "shape": list(stage.surface_shape),
                "pictures": self._pictures(k),
            }
            for k, stage in enumerate(stages[:-1])
        ]
        return {
            "version": self.version,
            "classes": [str(name) for name in network.classes.tolist()],
            "field": list(network.field),
            "polarities": network.polarities,
            "hidden": hidden,
            "last": str(stages[-1]),
        }

    def _pictures(self, k: int) -> list[list[int]]:
        """Centroids over a plane as bytes, summed over polarities; none where they are large or of another shape."""
        centroids = self.network.parameters[k].centroids
        if self.network.stages[k].scales > 1:
            centroids = centroids.sum(axis=-1)
        if k > 0 or centroids.ndim != 4 or centroids[0].size > 4096 or len(centroids) > 256:
            return []
        flat = centroids.sum(axis=-1)
        flat = flat / np.maximum(flat.max(axis=(1, 2), keepdims=True), 1e-9)
        pictures: list[list[int]] = (
            np.round(255 * np.clip(flat, 0, 1)).astype(int).swapaxes(1, 2).reshape(len(flat), -1).tolist()
        )
        return pictures

    def frame(self, more: dict[str, Any]) -> bytes:
        """What is new since the last frame; `more` is added to the object."""
        packets = []
        while self._fresh:
            packets.append(self._fresh.popleft())
        new = _joined(packets)
        self._drawn += len(new)
        winners = self._winners(new)
        session, latest = self._session, self._latest
        state = {
            **more, **self.rates(),
            "version": self.version,
            "n": len(new),
            "layers": winners.shape[1],
            "events": self.events,
            "stream_s": 0 if session is None else (session.latest - session.first) / 1e6,
            "restarts": 0 if session is None else session.restarts,
            "kept": [] if session is None else [round(float(share), 4) for share in session.kept],
            "S": 0.0 if latest is None or not len(latest.S) else round(float(latest.S.mean()), 3),
            "shares": [round(float(share), 4) for share in self.probabilities],
            "calibrated": session is not None and session.calibrated,
            "decision": None if self.decision is None else str(self.decision),
            "previous": None if self.previous is None else str(self.previous),
            "recordings": self.recordings,
            "confidence": round(float(self.confidence), 4),
            "sure_ms": None if self.sure is None else self.sure / 1000,
            "not_drawn": max(int(self._added - self._drawn), 0),
            "refused": self.refused,
            "reason": self.reason,
        }  # fmt: skip
        head = json.dumps(state).encode()
        head += b" " * (-len(head) % 4)
        arrays = [new[:, 0].astype("<u2"), new[:, 1].astype("<u2"), *winners.T.astype("<i2"), new[:, 2].astype("u1")]
        return struct.pack("<I", len(head)) + head + b"".join(array.tobytes() for array in arrays)

    def _winners(self, new: Array) -> Array:
        """The unit of each hidden layer that each event fired, -1 where it was rejected or did not arrive."""
        network, layers = self.network, len(self.network.stages) - 1
        if layers == 0 or len(new) == 0:
            return np.zeros((len(new), layers), np.int64)
        earlier = self._earlier
        if earlier is None or earlier[-1, 3] > new[0, 3]:
            earlier = new[:0]
        window = np.concatenate([earlier, new])
        self._earlier = window[-CONTEXT:]
        back = np.flatnonzero(np.diff(window[:, 3]) < 0)  # the clock was set back: what was before is of another stream
        window = window[back[-1] + 1 :] if len(back) else window
        p, t = np.minimum(window[:, 2], network.polarities - 1), window[:, 3]
        coords = list(window[:, : len(network.field)].T)
        one = Recordings(coords, t, p, [0, len(t)], field=network.field, polarities=network.polarities)
        below = Parameters(network.parameters[:-1])
        found = engine.infer(network.stages[:-1], below, pack(one), Options("float32", 1), trace=True).trace
        assert found is not None
        reached = np.arange(layers) < found.passed[:, None]
        winners = np.full((len(new), layers), -1)
        late = min(len(new), len(window))
        winners[len(new) - late :] = np.where(reached, found.winner, -1)[len(window) - late :]
        return winners


def _joined(packets: list[Array]) -> Array:
    """Rows of x, y, p and t of the latest events; what a packet lacks is 0."""
    rows: list[Array] = []
    count = 0
    for packet in reversed(packets):
        late, names = packet[-DRAWN:], packet.dtype.names or ()
        columns = [late[name].astype(np.int64) if name in names else np.zeros(len(late), np.int64) for name in "xypt"]
        rows.append(np.stack(columns, axis=1))
        count += len(late)
        if count >= DRAWN:
            break
    return np.concatenate(rows[::-1])[-DRAWN:] if rows else np.zeros((0, 4), np.int64)
