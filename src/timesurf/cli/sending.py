"""`timesurf send`: a file as a live stream, to try out a receiver."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer

from timesurf.cli.app import app, console, data_sets, say_next
from timesurf.cli.data import load
from timesurf.cli.preparing import parsed

_REFRESH = 0.2  # s between two updates of what is shown


@app.command()
def send(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE", autocompletion=data_sets, help="A camera file, or an .npz: its recordings in turn."
        ),
    ],
    to: Annotated[str, typer.Option("--to", help="Where to: udp://HOST:PORT.")] = "udp://127.0.0.1:7777",
    speed: Annotated[
        float, typer.Option(min=0, help="1: as fast as it happened; 2: twice as fast; 0: without waiting.")
    ] = 1.0,
    loop: Annotated[int, typer.Option(min=0, help="How often to send it, one after another; 0: until Ctrl-C.")] = 1,
    field: Annotated[
        str | None, typer.Option(help="Size of the sensor, such as 346x260, where a RAW or DAT file does not state it.")
    ] = None,
) -> None:
    """Send a file over UDP as a camera would, and show the rate. What receives it: timesurf stream --from udp://...

    The layout of a datagram is on the page about live streams. Datagrams that nobody receives are lost: start the
    receiver first.

    Example: timesurf send recording.aedat4 --to udp://127.0.0.1:7777 --speed 1
    """
    from timesurf.io.playback import paced, repeated
    from timesurf.io.send import Sender

    play = _player(source, parsed({"field": field}).get("field"))
    with Sender(to) as sender, console.status(f"Sending {source} to {to} ...") as status:
        began = shown = time.monotonic()
        first = last = 0
        for packet in paced(repeated(play, loop or None), speed):
            if not sender.events:
                first, began = int(packet["t"][0]), time.monotonic()
            sender.send(packet)
            last = int(packet["t"][-1])
            if time.monotonic() - shown > _REFRESH:
                shown = time.monotonic()
                status.update(f"{_summary(sender, began, first, last)} to {to} ... Ctrl-C ends it")
    console.print(f"{_summary(sender, began, first, last)} to {to}", highlight=False)
    say_next(f"timesurf stream MODEL --from {to}", "decides on what arrives: start it before you send")


def _player(source: str, field: tuple[int, ...] | None) -> Callable[[], Iterator[Any]]:
    """What opens the packets of a file, each time from its beginning."""
    from timesurf.io import camera
    from timesurf.io.playback import in_turn

    if source.endswith(".npz"):
        recordings = load(source)
        return lambda: in_turn(recordings)
    return lambda: camera.packets(source, field=field)


def _summary(sender: Any, began: float, first: int, last: int) -> str:
    took, span = max(time.monotonic() - began, 1e-9), (last - first) / 1e6
    return (
        f"{sender.events:,} events in {sender.datagrams:,} datagrams, {span:.2f} s of the stream in {took:.2f} s "
        f"({sender.events / took:,.0f} events per second) sent"
    )
