"""Live input and transforms as targets: bytes become datagrams, text in a pipe, packets of a session or recordings.

Whatever comes, a session must stay sane: votes and parameters finite, centroids near surfaces, at most all events kept.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from timesurf import Full, Network, Recordings, Tile, Window, transforms
from timesurf.engines import Parameters
from timesurf.errors import DivergedError, EventError
from timesurf.io.receive import Datagrams, Lines
from timesurf.learning.divergence import check_sane
from timesurf.live.intake import Refusals, decisions
from timesurf.live.session import Session
from timesurf.rule import Rule

_FIELD = (8, 6)
_LAST = struct.pack("<QHHB", 0, 65535, 65535, 255)  # a datagram after the input: all others have arrived


def _network(layers: list[Any]) -> Network:
    """A network that lets most events pass."""
    rng = np.random.default_rng(0)
    network = Network(layers, _FIELD, 2, ["a", "b"])
    network.parameters = Parameters.of(
        [rng.random((s.units, *s.surface_shape)) for s in network.stages],
        [np.full(s.units, 9.0 if s is not network.stages[-1] else np.inf) for s in network.stages],
    )
    return network


@cache
def _sessions() -> list[Session]:
    """Sessions of all kinds of layers that keep a memory, adapting fast, under all policies."""
    deep = [Window(3, units=4, tau="1 ms"), Tile((2, 2), units=3, tau=20), Full(tau="5 ms")]
    flat = [Window(5, units=40, tau="2 ms"), Full(tau=1)]
    rule = Rule(alpha=1e-2, beta=1e-3, gamma=1e-2, delta=1e-3)
    return [
        Session(_network(deep), adapt=rule, vote_tau="1 ms", on_jump="restart"),
        Session(_network(flat), adapt=True, jump=None, on_jump="restart"),
        Session(_network(flat), adapt=rule, vote_tau=1e15, jump="10 ms"),
    ]


def _fresh(which: int) -> Session:
    """A session before its first event; one that has refused everything, jumps aside, is still that."""
    session = _sessions()[which]
    if session.events or session.restarts or session._stray != (-1, -1):
        session.reset()
    return session


def _check(session: Session) -> None:
    """Nothing in a session is poisoned."""
    votes, kept = session.votes, session.kept
    assert np.isfinite(votes).all() and (votes >= 0).all(), "votes that are no numbers"  # noqa: PT018
    assert (kept <= 1).all() and (np.diff(kept) <= 0).all(), "more kept than came"  # noqa: PT018
    assert -1 <= session.first <= session.latest < 2**62, "a clock beyond the bound"
    if not session.events:
        return  # nothing was learned from
    learned = session._learned()  # as `adapted`, without a new network around it for every input
    try:
        check_sane(learned)
    except DivergedError as error:
        raise AssertionError("parameters that fled") from error
    for units in learned:
        assert np.isfinite(units.centroids).all() and abs(units.centroids).max() < 10, "centroids that fled"  # noqa: PT018
        assert (units.thresholds >= 0).all(), "thresholds that are no numbers"


def _run(packets: Callable[[Refusals], Any], *, one_by_one: bool) -> None:
    """Packets through the first session, as the command line does it; refused if there was no event in them."""
    session, refusals = _fresh(0), Refusals()
    for decision in decisions(session, packets(refusals), refusals, one_by_one=one_by_one):
        assert 0 <= decision.confidence <= 1, "a share beyond 1"
    _check(session)
    if refusals.count and not session.events:
        raise EventError(str(refusals.reason))


@cache
def _port() -> tuple[Datagrams, socket.socket]:
    """A port that listens, and a socket that sends to it."""
    receiver = Datagrams("udp", ("127.0.0.1", 0))
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.connect(receiver._socket.getsockname())
    return receiver, sender


def _datagrams(content: bytes) -> Iterator[bytes]:
    """Pieces of an input, each after two bytes that say how long it is."""
    while len(content) > 2:
        size = int.from_bytes(content[:2], "little")
        yield content[2 : 2 + size]
        content = content[2 + size :]


def read_udp(path: Path) -> None:
    """Datagrams through a real socket."""
    receiver, sender = _port()

    def packets(refusals: Refusals) -> Iterator[Any]:
        receiver._refuse = refusals.add
        for one in _datagrams(path.read_bytes()[1:]):
            sender.send(one[:60_000])  # one at a time: none is lost
            sender.send(_LAST)
            while (packet := next(receiver))["x"][0] != 65535 or packet["t"][0]:
                yield packet

    _run(packets, one_by_one=False)


def read_stdin(path: Path) -> None:
    """Text through a real pipe."""
    out, into = os.pipe()
    try:
        with open(into, "wb", buffering=0) as file:
            file.write(path.read_bytes()[:60_000])  # what a pipe holds
        _run(lambda refusals: Lines(out, "pipe", refusals.add), one_by_one=True)
    finally:
        os.close(out)


_KINDS = [
    np.dtype([("x", "<u2"), ("y", "<u2"), ("t", "<i8"), ("p", "u1")]),
    np.dtype([("t", ">u8"), ("x", "i1"), ("y", "i1")]),
    np.dtype([("x", "u1"), ("y", "u1"), ("t", "<u4"), ("p", "?")]),
    np.dtype([("x", "<i8"), ("y", "<i8"), ("t", "<i2"), ("p", "<u8")]),
    np.dtype([("x", "u1"), ("y", "u1"), ("t", "<f8"), ("p", "u1")]),
    np.dtype([("x", "u1"), ("y", "u1"), ("t", "<i8", (2,))]),
    np.dtype([("x", "u1"), ("t", "<M8[us]")]),
    np.dtype("<i8"),
]


def read_session(path: Path) -> None:
    """Arrays of any type, pushed one after another: each piece is a byte for the type, then events."""
    content = path.read_bytes() + b"\0"
    session = _fresh(content[0] % 3)
    error: EventError | None = None
    for piece in _datagrams(content[1:]):
        kind = _KINDS[piece[0] % len(_KINDS)] if piece else _KINDS[0]
        raw = piece[1 : 1 + (len(piece) - 1) // kind.itemsize * kind.itemsize] if piece else b""
        packet = np.frombuffer(raw, kind)
        if piece and piece[0] & 0x80:
            packet = packet.reshape(1, -1)
        before = session.events
        try:
            session.push(packet)
        except EventError as refused:
            error = refused
            assert session.events == before, "a refused packet that was counted"
    _check(session)
    if error is not None and not session.events:
        raise error


_NUMBERS: list[Any] = [
    *(0, 1, 2, 5, -1, 0.5, 1e-3, 5e-324, 1e308, float("nan"), float("inf"), float("-inf"), 2**31, 2**53 + 1, 2**62),
    *(2**63, 2**70, "1 ms", "1e999 s", "3 us", "x", ""),
]


def read_transform(path: Path) -> None:
    """Recordings of 9 bytes per event through two transforms; the first 8 bytes choose these and their settings."""
    content = path.read_bytes()
    head, body = content[:8].ljust(8, b"\0"), content[8:]
    events = np.frombuffer(body[: len(body) // 9 * 9], [("t", "<u4"), ("x", "<u2"), ("y", "<u2"), ("p", "u1")])
    t = events["t"].astype(np.int64) << (head[0] % 31)
    n = len(events)
    recordings = Recordings(
        [events["x"] % 40, events["y"] % 30], t, events["p"] % 3, [0, n // 3, n], field=(40, 30), polarities=3,
        labels=["a", None], sort=bool(head[0] & 0x80),
    )  # fmt: skip
    for which, one, other in (head[2:5], head[5:8]):
        a, b = _NUMBERS[one % len(_NUMBERS)], _NUMBERS[other % len(_NUMBERS)]
        recordings = _steps(a, b)[which % 8](recordings)
        again = Recordings(
            recordings.coords, recordings.t, recordings.p, recordings.offsets, field=recordings.field,
            polarities=recordings.polarities,
        )  # fmt: skip
        assert len(again) == 2, "recordings that were lost"
        assert len(again.t) <= n, "events that were not there"


def _steps(a: Any, b: Any) -> list[Callable[[Recordings], Recordings]]:
    """All transforms, with these settings."""
    whole = [n if isinstance(n, int) else 3 for n in (a, b)]
    share, other = (n if isinstance(n, int | float) else 0.5 for n in (a, b))
    return [
        partial(transforms.crop, corner=whole, size=whole[::-1]),
        transforms.merge_polarities,
        partial(transforms.stabilise, saccades=[(share, other), (other, share)], duration=a),
        partial(transforms.time_crop, start=a, stop=b),
        partial(transforms.refractory, period=a),
        partial(transforms.denoise, period=a),
        partial(transforms.drop, share=share, seed=0),
        partial(transforms.jitter, pixels=share, time=b, seed=0),
    ]
