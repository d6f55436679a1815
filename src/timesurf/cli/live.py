"""`timesurf stream`, `bench latency` and `bench endurance`: live streams."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.live import Live
from rich.table import Table

from timesurf.cli.app import Json, Model, Seed, app, bench, check_writable, console, write_json
from timesurf.cli.data import fitted, load

_REFRESH = 10  # times per second
_PACKET = 1000  # events per packet of a file without packets


@app.command()
def stream(
    model: Model,
    source: Annotated[
        str, typer.Option("--from", help="A camera file, an .npz, udp://HOST:PORT, or - for standard input.")
    ],
    vote_tau: Annotated[
        str, typer.Option(help="Time constant with which votes fade, such as '100 ms'; 'never' for a plain count.")
    ] = "100 ms",
    adapt: Annotated[bool, typer.Option("--adapt", help="Continue to learn, without labels.")] = False,
    if_behind: Annotated[
        str | None,
        typer.Option(
            help="If events come too fast: block the source, or drop the oldest; default: drop for UDP, else block."
        ),
    ] = None,
    backlog: Annotated[int, typer.Option(min=1, help="Events that may wait, at most.")] = 1 << 22,
    out: Annotated[Path | None, typer.Option(help="File for the adapted model.", dir_okay=False)] = None,
    json_file: Json = None,
) -> None:
    """Run a model on a live stream and show event rate, kept events, S and the decision. Ctrl-C ends it.

    Events that come faster than this machine can process them wait; if some must be dropped, their number is shown.

    Example: timesurf stream digits.tsf --from recording.aedat4 --vote-tau "50 ms"
    """
    from timesurf.live.backlog import Backlog
    from timesurf.live.session import Session
    from timesurf.network import Network

    check_writable(out)
    check_writable(json_file)
    network = Network.load(model)
    session = Session(network, adapt=adapt, vote_tau=None if vote_tau == "never" else vote_tau)
    policy: Any = if_behind or (
        "drop" if source.startswith("udp:") else "block"
    )  # UDP itself would drop events without counting them
    waiting = Backlog(_packets(source, network), events=backlog, if_behind=policy)
    view, latest = _View(session, waiting), None
    try:
        with (
            waiting,
            Live(get_renderable=view.table, console=console, refresh_per_second=_REFRESH, transient=True) as live,
        ):
            if not console.is_terminal:
                live.stop()
            for packet in waiting:
                coords = [packet[axis] for axis in ("x", "y")[: len(network.field)]]
                latest = session.take(coords, packet["t"], packet["p"] if network.polarities > 1 else None)
                view.update(packet, latest)
    except KeyboardInterrupt:
        console.print("Stopped.")
    console.print(view.table(), highlight=False)
    if adapt and out is not None:
        session.adapted().save(out)
        console.print(f"Adapted model written to {out}", highlight=False)
    decision = None if latest is None or latest.decision is None else str(latest.decision)
    result = {"events": session.events, "kept_by_layer": session.kept.tolist(), "votes": session.votes.tolist()}
    result |= {
        "dropped": waiting.dropped,
        "decision": decision,
        "confidence": 0.0 if latest is None else float(latest.confidence),
    }
    write_json(json_file, result)


def _packets(source: str, network: Any) -> Iterator[Any]:
    """Packets as they arrive; recordings of an .npz file one after another, fitted to the network."""
    from timesurf.io import camera

    if not source.endswith(".npz"):
        yield from camera.packets(source)
        return
    later = 0
    for recording in fitted(load(source), network):
        (events,) = recording.to_structured()
        events = events.astype([(name, np.int64) for name in events.dtype.names or ()])
        events["t"] += later - (events["t"][0] if len(events) else 0)
        later = int(events["t"][-1]) + 1 if len(events) else later
        for i in range(0, len(events), _PACKET):
            yield events[i : i + _PACKET]


class _View:
    """A table that shows the state of a session."""

    def __init__(self, session: Any, waiting: Any) -> None:
        self.session, self.waiting, self.began = session, waiting, time.perf_counter()
        self.latest: Any = None
        self.S = self.span = 0.0

    def update(self, packet: Any, latest: Any) -> None:
        """Take the decision after a packet."""
        self.latest = latest
        if len(latest.S):
            self.S = float(latest.S.mean())
        if len(packet):
            self.span = (int(packet["t"][-1]) - int(self.session.first)) / 1e6

    def table(self) -> Table:
        """The table now."""
        seconds, events = time.perf_counter() - self.began, self.session.events
        table = Table(show_header=False, title="Live")
        table.add_column()
        table.add_column(min_width=40)
        table.add_row(
            "events",
            f"{events:,} in {self.span:.2f} s of the stream, {events / max(seconds, 1e-9):,.0f} per second here",
        )
        if self.waiting.dropped:
            table.add_row("dropped", f"{self.waiting.dropped:,}: the stream is faster than this machine")
        table.add_row("kept by each layer", "  ".join(f"{share:.1%}" for share in self.session.kept))
        table.add_row("S", f"{self.S:+.2f}  {_bar((self.S + 1) / 2)}")
        votes = self.session.votes
        total = max(votes.sum(), 1e-12)
        for name, vote in zip(self.session.network.classes, votes, strict=True):
            ahead = self.latest is not None and self.latest.decision == name
            table.add_row(f"{'> ' if ahead else '  '}{name}", f"{_bar(vote / total)} {vote / total:.0%}")
        return table


def _bar(share: float, width: int = 24) -> str:
    """A share as a bar of text."""
    return "#" * round(width * min(max(share, 0.0), 1.0))


@bench.command("latency")
def bench_latency(
    quick: Annotated[
        bool, typer.Option("--quick", help="Use less data: a rough impression, not a measurement.")
    ] = False,
    json_file: Json = None,
) -> None:
    """Measure the time from a packet of events to the decision in a live session, by the size of the packet.

    Example: timesurf bench latency --json latency.json
    """
    from timesurf.bench import latency

    check_writable(json_file)
    # a spinner would run in a thread of its own and disturb the measurement
    result = latency.run(quick=quick, progress=lambda what: console.print(f"Measuring {what} ...", highlight=False))
    table = Table(title="Session.push, the paper's network for digits, microseconds per packet")
    for column in ("events per packet", "p50", "p99", "p99.9", "longest", "p50 per event"):
        table.add_column(column, justify="right")
    for name, row in result["packets"].items():
        figures = [row[figure] for figure in ("p50", "p99", "p99_9", "max", "p50_per_event")]
        table.add_row(name, *(f"{figure:,.1f}" for figure in figures))
    console.print(table)
    console.print(
        f"An empty packet takes {result['empty_us']:.1f} us, the overhead of Python; "
        f"the kernel alone takes {result['kernel_us_per_event']:.2f} us per event.",
        highlight=False,
    )
    write_json(json_file, result)


@bench.command("endurance")
def bench_endurance(
    hours: Annotated[float, typer.Option(min=0.01, help="Hours of simulated time.")] = 24,
    events: Annotated[int, typer.Option(min=100_000, help="Events in each stream.")] = 20_000_000,
    seed: Seed = 0,
    json_file: Json = None,
) -> None:
    """Test whether memory stays constant and results stay correct over a day of simulated stream.

    Example: timesurf bench endurance --hours 24 --json endurance.json
    """
    from timesurf.bench import endurance

    check_writable(json_file)
    with console.status("") as status:
        result = endurance.run(hours=hours, events=events, seed=seed, progress=status.update)
    table = Table(title=f"{hours:g} simulated hours through one session, the paper's network for digits")
    for column in ("", "events", "M events/s", "memory growth, kB", "largest growth, kB"):
        table.add_column(column, justify="right" if column else "left")
    for name, row in result["streams"].items():
        figures = (row["events_per_s"] / 1e6, row["growth_bytes"] / 1e3, row["most_bytes"] / 1e3)
        table.add_row(name, f"{row['events']:,}", *(f"{figure:,.1f}" for figure in figures))
    console.print(table)
    same = "bit-identical" if result["adapted_to_the_same_bits"] else "NOT bit-identical"
    console.print(
        f"Compared with the same day as one recording: {result['votes_differ']} votes differ; "
        f"the adapted models are {same}.",
        highlight=False,
    )
    write_json(json_file, result)
