"""Live input and transforms as targets: bytes become datagrams, text in a pipe, packets of a session or recordings.

Whatever comes, a session must stay sane: votes and parameters finite, centroids near surfaces, at most all events kept.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from timesurf import Full, Network, Recordings, Tile, Window, transforms
from timesurf.engines import Parameters
from timesurf.errors import DivergedError, EventError, TimesurfError
from timesurf.io.receive import Datagrams, Lines
from timesurf.learning.divergence import check_sane
from timesurf.live.intake import Refusals, decisions
from timesurf.live.session import Session
from timesurf.rule import Rule
from timesurf.transforms import bounds, cutting, disturbances
from timesurf.transforms.preparation import Preparation

_FIELD = (8, 6)
_SINGLE = 20  # events of a packet
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
    sessions = [
        Session(_network(deep), adapt=rule, vote_tau="1 ms", on_jump="restart"),
        Session(_network(flat), adapt=True, jump=None, on_jump="restart"),
        Session(_network(flat), adapt=rule, vote_tau=1e15, jump="10 ms"),
    ]
    for session in sessions:
        session.push_one(0, 0, 0, 0)  # compiled before memory is measured
    return sessions


def _fresh(which: int) -> Session:
    """A session before its first event; one that has refused everything, jumps aside, is still that."""
    session = _sessions()[which]
    if session.events or session.restarts or session._strays != (-1, -1, 0):
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
    """Arrays of any type, pushed one after another: each piece is a byte for the type, then events.

    Of every second piece, the first events are pushed one by one.
    """
    content = path.read_bytes() + b"\0"
    session = _fresh(content[0] % 3)
    error: EventError | None = None
    for number, piece in enumerate(_datagrams(content[1:])):
        kind = _KINDS[piece[0] % len(_KINDS)] if piece else _KINDS[0]
        raw = piece[1 : 1 + (len(piece) - 1) // kind.itemsize * kind.itemsize] if piece else b""
        packet = np.frombuffer(raw, kind)
        if piece and piece[0] & 0x80:
            packet = packet.reshape(1, -1)
        for push in _singly(session, packet) if number % 2 else [partial(session.push, packet)]:
            before = session.events
            try:
                push()
            except EventError as refused:
                error = refused
                assert session.events == before, "a refused packet that was counted"
    _check(session)
    if error is not None and not session.events:
        raise error


def _singly(session: Session, packet: Any) -> list[Callable[[], int]]:
    """The first events of a packet of any type, each as the numbers of one event."""
    columns = [packet[name] for name in "xypt" if name in packet.dtype.names] if packet.dtype.names else [packet]
    events = zip(*(column.ravel()[:_SINGLE].tolist() for column in columns), strict=False)
    return [partial(session.push_one, *event) for event in events]


_NUMBERS: list[Any] = [
    *(0, 1, 2, 5, -1, 0.5, 1e-3, 5e-324, 1e308, float("nan"), float("inf"), float("-inf"), 2**31, 2**53 + 1, 2**62),
    *(2**63, 2**70, "1 ms", "1e999 s", "3 us", "x", ""),
]


_FIELDS: list[tuple[tuple[int, ...], int]] = [  # with polarities; of some hundred bytes that state them, or vast
    ((40, 30), 3), ((46340, 46340), 1), ((26754, 26754), 3), ((2**31 - 1,), 1), ((1,), 3), ((5, 4, 3), 2), ((), 2),
    ((2,) * 30, 1), ((1024, 1024), 2**11 - 1),
]  # fmt: skip


def read_transform(path: Path) -> None:
    """Recordings, 9 bytes per event, through two transforms; 8 bytes before them choose field, transforms, settings."""
    _lower_bounds()
    content = path.read_bytes()
    head, body = content[:8].ljust(8, b"\0"), content[8:]
    events = np.frombuffer(body[: len(body) // 9 * 9], [("t", "<u4"), ("x", "<u2"), ("y", "<u2"), ("p", "u1")])
    t = events["t"].astype(np.int64) << (head[0] % 31)
    n = len(events)
    field, polarities = _FIELDS[head[1] % len(_FIELDS)]
    places = [events["xyp"[k % 3]].astype(np.int64) % size for k, size in enumerate(field)]
    recordings = Recordings(
        places, t, events["p"].astype(np.int64) % polarities, [0, n // 3, n], field=field, polarities=polarities,
        labels=["a", None], sort=bool(head[0] & 0x80),
    )  # fmt: skip
    for which, one, other in (head[2:5], head[5:8]):
        a, b = _NUMBERS[one % len(_NUMBERS)], _NUMBERS[other % len(_NUMBERS)]
        fewer, others = _fewer(a, b), _others(a, b)
        number = which % (len(fewer) + len(others))
        changed = (fewer + others)[number](recordings)
        again = Recordings(
            changed.coords, changed.t, changed.p, changed.offsets, field=changed.field, polarities=changed.polarities,
        )  # fmt: skip
        if number < len(fewer):
            assert len(again) == len(recordings), "recordings that were lost"
            assert len(again.t) <= len(recordings.t), "events that were not there"
        recordings = changed


@cache
def _lower_bounds() -> None:
    """Bounds on what transforms hold that an input of some kilobytes meets too, within the memory that it may take.

    Filters are compiled here too, before time and memory are measured.
    """
    bounds.MOST_PIXELS, cutting.MOST_PIECES, disturbances._MOST = 1 << 14, 1 << 12, 1 << 12
    cutting._MOST_COUNTS = 1 << 18
    for field, polarities in _FIELDS:
        one = Recordings([[0]] * len(field), [0], [0], field=field, polarities=polarities)
        for changed in (transforms.refractory, transforms.denoise, transforms.hot_pixels, transforms.bend):
            with suppress(TimesurfError):
                changed(one, 5.0)


def _fewer(a: Any, b: Any) -> list[Callable[[Recordings], Recordings]]:
    """All transforms from recordings to as many recordings with as many events or fewer, with these settings."""
    whole, (share, other) = _whole(a, b), _real(a, b)
    return [
        lambda r: transforms.crop(r, *_corner_and_size(r, whole)),
        transforms.merge_polarities,
        lambda r: transforms.stabilise(r, [([share, other] * 15)[: len(r.field)] or [], [0.0] * len(r.field)], a),
        partial(transforms.time_crop, start=a, stop=b),
        partial(transforms.refractory, period=a),
        partial(transforms.denoise, period=a),
        partial(transforms.drop, share=share, seed=0),
        partial(transforms.jitter, pixels=share, time=b, seed=0),
        partial(transforms.hot_pixels, rate=share),
        partial(transforms.downsample, space=a, time=b),
        partial(transforms.downsample, space=a),
        partial(transforms.flip, axis=whole[0]),
        partial(transforms.only_polarity, p=whole[0]),
        partial(_prepared, a=a, b=b),
    ]


def _others(a: Any, b: Any) -> list[Callable[[Recordings], Recordings]]:
    """All transforms that add events, or cut recordings into others, with these settings."""
    whole, (share, other) = _whole(a, b), _real(a, b)
    return [
        partial(transforms.add_noise, rate=share, seed=0),
        partial(transforms.add_hot_pixels, pixels=whole[0], rate=other, seed=0),
        partial(cutting.pieces, every=a, overlap=other),
        partial(cutting.pieces, events=whole[0], overlap=other),
        lambda r: cutting.cut(r, a, overlap=other, rest=True).recordings,
        partial(_framed, every=a, overlap=other),
        partial(transforms.bend, turn=share, grow=other, seed=0, threads=1),  # at the end: seeds name others by number
    ]


def _whole(*numbers: Any) -> list[int]:
    return [n if isinstance(n, int) else 3 for n in numbers]


def _real(*numbers: Any) -> list[float]:
    return [n if isinstance(n, int | float) else 0.5 for n in numbers]


def _corner_and_size(recordings: Recordings, whole: list[int]) -> tuple[list[int], list[int]]:
    """A box with as many dimensions as the field, and once with others."""
    dimensions = len(recordings.field) or 2
    return (whole * 15)[:dimensions], (whole[::-1] * 15)[:dimensions]


def _framed(recordings: Recordings, every: Any, overlap: float) -> Recordings:
    """Counted into frames, which must hold every event of every piece."""
    pieces = cutting.pieces(recordings, every, overlap=overlap)
    frames = cutting.frames(recordings, every, overlap=overlap)
    assert int(frames.sum()) == len(pieces.t), "events that were not counted"
    return pieces


def _prepared(recordings: Recordings, a: Any, b: Any) -> Recordings:
    """As a preparation leaves them: at once, and as the packets of a stream, which must give the same events."""
    whole, (share, _) = _whole(a, b), _real(a, b)
    corner, size = _corner_and_size(recordings, whole)
    how = Preparation(
        recordings.field or None, recordings.polarities,
        crop=size if whole[0] % 2 else None, corner=corner if whole[0] % 4 == 1 else None,
        polarity=("both", "merge", "on", "off")[whole[1] % 4], hot_pixels=share if whole[1] % 3 else None,
        denoise=a if whole[1] % 5 else None, downsample=b if whole[0] % 3 else None,
    )  # fmt: skip
    prepared = how(recordings)
    for before, after in zip(recordings, prepared, strict=True):
        packets, through = before.to_structured()[0], how.stream()
        cut = [through(packet) for packet in np.array_split(packets, 3)]
        assert np.concatenate(cut).tolist() == after.to_structured()[0].tolist(), "packets that give other events"
    return prepared
