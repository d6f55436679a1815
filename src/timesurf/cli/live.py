"""`timesurf stream`, `bench latency` and `bench endurance`: live streams."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.live import Live
from rich.table import Table
from rich.text import Text

from timesurf.cli.app import Json, Model, Seed, app, bench, check_writable, console, one_of, say_next, write_json
from timesurf.cli.data import load
from timesurf.cli.preparing import fitted, for_stream, opened, prepares
from timesurf.cli.using import Decide, Sure
from timesurf.cli.view import View
from timesurf.cli.wording import count
from timesurf.errors import DivergedError, EventError, SettingError
from timesurf.io.receive import Datagrams

_REFRESH = 10  # times per second
_ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")  # the last is Windows', which has no SIGHUP
_ON_DRIFT = ("say", "adapt")
_PATIENCE = 0.2  # s: a stream that is silent is looked at so often
_QUIET = 1.0  # s between two lines about refused packets where there is no live display


@app.command()
@prepares
def stream(
    model: Model,
    source: Annotated[
        str, typer.Option("--from", help="A camera file, an .npz, udp://HOST:PORT, or - for standard input.")
    ],
    vote_tau: Annotated[
        str, typer.Option(help="Time constant with which votes fade, such as '100 ms'; 'never' for a plain count.")
    ] = "100 ms",
    adapt: Annotated[bool, typer.Option("--adapt", help="Continue to learn, without labels.")] = False,
    decide: Decide = None,
    sure: Sure = None,
    teach: Annotated[
        str | None,
        typer.Option(
            help="Where commands come from, - (standard input) or udp://HOST:PORT: label NAME, new NAME, undo."
        ),
    ] = None,
    teach_rate: Annotated[
        float | None,
        typer.Option(
            help="Factor of the rates of the model's rule while it is taught; default: 10 for the delta rule with "
            "--rehearse, else 1."
        ),
    ] = None,
    rehearse: Annotated[
        str | None,
        typer.Option(help="Labelled recordings of what the model knows: one per class is shown after each lesson."),
    ] = None,
    save_every: Annotated[str, typer.Option(help="How often to save what was learned so far to --out.")] = "60 s",
    if_behind: Annotated[
        str | None,
        typer.Option(
            autocompletion=one_of("block", "drop"),
            help="If events come too fast: block the source, or drop the oldest; default: drop for UDP, else block.",
        ),
    ] = None,
    backlog: Annotated[int, typer.Option(min=1, help="Events that may wait, at most.")] = 1 << 22,
    jump: Annotated[
        str, typer.Option(help="Refuse events that come later than this after the one before; 'never' to accept any.")
    ] = "1 h",
    on_jump: Annotated[
        str,
        typer.Option(
            autocompletion=one_of("restart", "refuse"),
            help="After two packets in a row beyond the jump, or over 1 s back: restart or refuse.",
        ),
    ] = "restart",
    speed: Annotated[
        float, typer.Option(min=0, help="Play a file: 1: as fast as it happened; 0: as fast as this machine can.")
    ] = 0.0,
    on_drift: Annotated[
        str,
        typer.Option(
            autocompletion=one_of("say", "adapt"),
            help="If the share of rejected events, or S, leaves its usual range: say so, or also adapt.",
        ),
    ] = "say",
    log: Annotated[
        Path | None, typer.Option(help="File for decisions over time, one JSON object per line.", dir_okay=False)
    ] = None,
    log_every: Annotated[str, typer.Option(help="Time of the stream from one line of it to the next.")] = "10 ms",
    out: Annotated[Path | None, typer.Option(help="File for the adapted or taught model.", dir_okay=False)] = None,
    json_file: Json = None,
    *,
    given: dict[str, Any],
) -> None:
    """Run a model on a live stream and show event rate, delay, kept events, S and the decision. Ctrl-C ends it.

    Events that come faster than this machine can process them wait; if some must be dropped, their number is shown.
    Packets that are not valid are refused, and their number and the latest reason are shown. The first seconds set how
    many events are usually rejected, and how large S is; where the stream leaves that range, a line says so. What
    was learned is saved now and then, and with the figures however the stream ends.

    With --teach, a line such as "label 9" says what the events show from then on: the model learns from them. "label"
    ends that, "new dog" adds a class from the events of the last second, "undo" goes back. A model that is taught one
    class alone forgets others: give recordings of them to --rehearse, such as those that it was trained on.

    Example: timesurf stream digits.tsf --from recording.aedat4 --vote-tau "50 ms"
    """
    from timesurf.io.playback import paced
    from timesurf.live.backlog import Backlog
    from timesurf.live.commands import Teacher, lines_of
    from timesurf.live.intake import Refusals, decisions
    from timesurf.live.log import Log
    from timesurf.live.rehearsal import rule_to_teach
    from timesurf.live.session import Session
    from timesurf.live.watch import Watch
    from timesurf.network import Network
    from timesurf.times import microseconds

    for path in (out, json_file, log):
        check_writable(path)
    if on_drift not in _ON_DRIFT:
        raise SettingError(f"--on-drift {on_drift}: it is one of {', '.join(_ON_DRIFT)}.")
    if teach == source == "-":
        raise SettingError("Standard input has the events: take commands from udp://HOST:PORT.")
    if teach is None and (rehearse, teach_rate) != (None, None):
        raise SettingError("--rehearse and --teach-rate are for teaching: say with --teach where commands come from.")
    pause, commands = microseconds(save_every, "save_every") / 1e6, lines_of(teach) if teach else iter(())
    network, refusals = Network.load(model), Refusals(_occasional_line())
    times = {"vote_tau": vote_tau, "jump": jump}
    how: dict[str, Any] = {name: None if value == "never" else value for name, value in times.items()}
    recent = "1 s" if teach else None
    decides: Any = {"decide": decide, "sure": sure, "on_jump": on_jump}
    rehearsal = None if rehearse is None else _rehearsal(rehearse, network, given)
    rule = rule_to_teach(network, rehearsed=rehearsal is not None, pace=teach_rate)
    session = Session(network, adapt=adapt, teach=rule, **how, **decides, recent=recent)
    teacher = Teacher(session, commands, lambda text: console.print(Text(text)), rehearsal)
    packets, prepare = _packets(source, network, refusals.add, given)
    played = paced(packets, speed) if speed and not isinstance(packets, Datagrams) else packets
    # datagrams that are not read at once are lost as well, and not always counted
    policy: Any = if_behind or ("drop" if isinstance(packets, Datagrams) else "block")
    waiting = Backlog(played, events=backlog, if_behind=policy)
    view = View(session, waiting, packets, refusals, live=bool(speed) or isinstance(packets, Datagrams))
    watch = Watch(session, adapt=on_drift == "adapt", report=lambda text: console.print(text, highlight=False))
    view.watch = watch
    with ExitStack() as at_end:  # the last one first, each of them even if another fails
        at_end.enter_context(_ended_by_signal(view, waiting.stop))
        at_end.callback(lambda: console.print(view.table(), highlight=False))
        at_end.callback(lambda: write_json(json_file, view.figures()))
        saved = _Saved(session, out, pause)
        at_end.callback(saved.at_end)
        lines = None if log is None else at_end.enter_context(Log(log, log_every))
        at_end.push(view.note_error)
        if teach and out is None:
            console.print("What is taught is lost at the end: --out FILE saves it.", highlight=False)
        if isinstance(packets, Datagrams):
            console.print(f"Listening on {source}", highlight=False)
        with (
            waiting,
            Live(get_renderable=view.table, console=console, refresh_per_second=_REFRESH, transient=True) as live,
        ):
            if not console.is_terminal:
                live.stop()
            found = decisions(
                session, teacher.between(saved.between(waiting, teacher.apply)), refusals,
                one_by_one=source == "-", prepare=prepare, label=lambda: teacher.label,
                until=lambda t: min(each.until(t) for each in (watch, lines) if each is not None),
            )  # fmt: skip
            for decision in found:
                view.update(decision)
                watch.update(decision)
                if lines is not None:
                    lines.add(session.latest, session.events, decision)
    if refusals.count and not session.events:
        raise EventError(f"{source}: all packets were refused, {refusals.count:,}. The latest: {refusals.reason}")
    if saved.wanted:
        say_next(f"timesurf evaluate {out} DATA", "what learning did to it")
    say_next(f"timesurf live {model} --from {source}", "see it in the browser, and teach it")


def _rehearsal(what: str, network: Any, given: dict[str, Any]) -> Any:
    """Recordings to rehearse, of classes that the network has."""
    from timesurf.live.rehearsal import Rehearsal

    recordings = fitted(load(what, given=given, network=network), network, given, what)
    if not set(map(str, recordings.classes)) & set(map(str, network.classes)):
        names = ", ".join(map(str, network.classes.tolist()))
        raise SettingError(f"{what} has no recordings with a label of this model ({names}): nothing can be rehearsed.")
    return Rehearsal(recordings)


class _Saved:
    """What a session has learned, as a file: every so often, and at the end."""

    def __init__(self, session: Any, out: Path | None, pause: float) -> None:
        self.session, self.out, self.pause, self.due = session, out, pause, time.monotonic() + pause
        self._written, self._holds = self._now, False

    @property
    def wanted(self) -> bool:
        """Whether there is a place to write to, and something to write, or a file with what may have been undone."""
        return self.out is not None and bool(self.session.adapts or self.session.changes or self._holds)

    @property
    def _now(self) -> tuple[int, int, Any]:
        """Where the session is: nothing was learned if it is still there."""
        return self.session.events, self.session.changes, self.session.network

    def between(self, waiting: Any, silent: Callable[[], None] = lambda: None) -> Iterator[Any]:
        """Packets of a backlog; it is written now and then, also while none comes: then `silent` is called as well."""
        while not waiting.ended:
            packet = waiting.poll(_PATIENCE)
            if packet is not None:
                yield packet
            else:
                silent()
            self._now_and_then()

    def _now_and_then(self) -> None:
        """Write what is new if it is time to; a model that has diverged replaces no good one."""
        if self.wanted and time.monotonic() >= self.due and self._written != self._now:
            self._written = self._now
            with suppress(DivergedError):
                self.session.adapted().save(self.out)
                self._holds = True
            self.due = time.monotonic() + self.pause

    def at_end(self) -> None:
        """Write it."""
        if self.wanted:
            self.session.adapted().save(self.out)
            console.print(f"Adapted model written to {self.out}", highlight=False)


@contextmanager
def _ended_by_signal(view: View, stop: Callable[[], None]) -> Iterator[None]:
    """Let signals that would end the process end the stream after the present packet instead; results are written."""

    def end(number: int, _: object) -> None:
        view.ended_by = signal.Signals(number).name
        stop()

    numbers = [getattr(signal, name) for name in _ENDING if name in signal.Signals.__members__]  # not all on Windows
    before = {number: signal.getsignal(number) for number in numbers}
    caught = [number for number in numbers if before[number] is not signal.SIG_IGN]  # nohup ignores SIGHUP
    if threading.current_thread() is not threading.main_thread():
        caught = []  # only the main thread may handle signals
    for number in caught:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in caught:
            signal.signal(number, before[number])


def _occasional_line() -> Callable[[Any], None]:
    """Print how much was refused, at most once per second, where there is no live display that shows it."""
    due = 0.0

    def report(refusals: Any) -> None:
        nonlocal due
        if not console.is_terminal and time.monotonic() >= due:
            due = time.monotonic() + _QUIET
            refused = count(refusals.count, "packet")
            console.print(Text(f"{refused} refused. The latest: {refusals.reason}"), soft_wrap=True)

    return report


def _packets(source: str, network: Any, refuse: Any, given: dict[str, Any]) -> tuple[Iterator[Any], Any]:
    """Packets as they arrive, and what prepares them, if anything does; recordings of an .npz file are prepared."""
    from timesurf.io import camera
    from timesurf.io.playback import in_turn

    if source.endswith(".npz"):
        return in_turn(fitted(load(source, given=given, network=network), network, given, source)), None
    if len(network.field) > 2:
        raise EventError(
            f"{source} has events with x and y; the network has a field of {len(network.field)} dimensions."
        )
    if source == "-" or source.startswith("udp:"):
        preparation = for_stream(network, given)  # refuses before anything listens
        packets: Any = camera.packets(source, refuse=refuse)
    else:
        file = opened(source, network, given)
        packets, preparation = file.packets, for_stream(network, given, file, source)
    return packets, preparation and preparation.stream()


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
    for name, row in result["waiting"].items():
        figures = [row[figure] for figure in ("p50", "p99", "p99_9", "max")]
        table.add_row(f"waiting as long as {name}", *(f"{figure:,.1f}" for figure in figures), "-")
    console.print(table)
    console.print(
        f"An empty packet takes {result['empty_us']:.1f} us, the overhead of Python; "
        f"the kernel alone takes {result['kernel_us_per_event']:.2f} us per event.",
        highlight=False,
    )
    console.print(
        f"A long recording through the network that training chooses: {result['stream_events_per_s']:,.0f} events per "
        f"second in packets of 1000, {result['stream_to_infer']:.0%} of the speed of predict on one core.",
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
