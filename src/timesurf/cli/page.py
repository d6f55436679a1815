"""`timesurf live`: a page in the browser on which a network works on live events, and can be taught."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import webbrowser
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from timesurf.cli.app import app, check_writable, console, counted
from timesurf.cli.data import load
from timesurf.cli.preparing import fitted, for_stream, prepares
from timesurf.errors import DivergedError, SettingError

_TURN = 5e-4  # s that frames may keep the engine waiting for the interpreter; Python's own is ten times that


@app.command("live")
@prepares
def live(
    model: Annotated[Path | None, typer.Argument(help="A model file; without one, a model of digits is made.")] = None,
    source: Annotated[
        list[str] | None,
        typer.Option(
            "--from", help="Files of recordings, udp://HOST:PORT, - for standard input, or draw, the default."
        ),
    ] = None,
    adapt: Annotated[bool, typer.Option("--adapt", help="Continue to learn, without labels.")] = False,
    vote_tau: Annotated[str, typer.Option(help="Time constant with which votes fade; 'never' for a plain count.")] = (
        "200 ms"
    ),
    held_out: Annotated[
        str | None, typer.Option(help="Labelled recordings that show what teaching does to what the model knew.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where Save writes the model.", dir_okay=False)] = None,
    host: Annotated[str, typer.Option(help="Address to serve the page at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 chooses a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page.")] = True,
    *,
    given: dict[str, Any],
) -> None:
    """Open a page on which a model works on live events: draw, look, and teach it. Ctrl-C ends it.

    Anyone who has the address, which holds a token, can look. What was taught and not saved is saved when it ends.

    Example: timesurf live digits.tsf --from test.npz --out taught.tsf
    """
    from timesurf.live.acts import Acts
    from timesurf.live.host import Host
    from timesurf.live.show import Show

    sys.setswitchinterval(_TURN)
    check_writable(out)
    network, rehearsal, starters = _model(model)
    if len(network.field) > 2:
        raise SettingError(f"{model} has a field of {len(network.field)} dimensions: a page shows at most two.")
    held = starters if held_out is None else load(held_out, given=given, network=network)

    def preparing(network: Any) -> Any:
        preparation = for_stream(network, given)
        return preparation and preparation.stream()

    def fit(recordings: Any, network: Any, name: str) -> Any:
        return fitted(recordings, network, {} if recordings is starters else given, name)

    with ExitStack() as at_end:
        show = Show(
            network, rehearsal=rehearsal, preparing=preparing, adapt=adapt,
            vote_tau=None if vote_tau == "never" else vote_tau,
        )  # fmt: skip
        files, show.camera = _sources(source or ["draw"], given, network, show.refuse, at_end)
        acts = Acts(show, files, out, held, fit)
        at_end.callback(lambda: _keep(show, out))
        at_end.enter_context(show)
        with suppress(KeyboardInterrupt):
            asyncio.run(_serve(Host(acts, host, port), show, browser))
    if show.error is not None:
        raise show.error


def _model(path: Path | None) -> tuple[Any, Any, Any]:
    """The model to begin with, recordings to rehearse with, and recordings to score it on."""
    from timesurf.live import starter
    from timesurf.network import Network

    if path is not None:
        if not path.is_file():
            raise SettingError(f"{path} does not exist. Without a model, one of digits is made.")
        return Network.load(path), None, None
    with counted("Making a model of digits, once") as bar:
        made = starter.make(report=lambda what, done, total: bar(done, total))
    return made.network, made.rehearsal, made.held_out


def _sources(
    names: list[str], given: dict[str, Any], network: Any, refuse: Any, at_end: ExitStack
) -> tuple[dict[str, Any], Any]:
    """Recordings to play back by name, and a camera; neither: the drawing pad."""
    from timesurf.io import camera
    from timesurf.live.backlog import Backlog

    files, packets = {}, None
    for name in names:
        if name.startswith("udp://") or name == "-":
            if packets is not None:
                raise SettingError("One camera at a time.")
            packets = camera.packets(name, refuse=refuse)
            policy: Any = "drop" if name != "-" else "block"
            waiting = Backlog(packets, if_behind=policy)
            at_end.enter_context(waiting)
            console.print(f"Listening on {name}", highlight=False)
        elif name != "draw":
            files[Path(name).name] = load(name, given=given, network=network)
    return files, waiting if packets is not None else None


async def _serve(host: Any, show: Any, browser: bool) -> None:
    """Serve the page until a signal, or until the show ends by an error."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK"):
            if name in signal.Signals.__members__:
                number = getattr(signal, name)
                try:
                    loop.add_signal_handler(number, stop.set)
                except NotImplementedError:  # Windows
                    signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop.set))

    def ready() -> None:
        console.print(f"Live at {host.address}", highlight=False, soft_wrap=True)
        if host.elsewhere is not None:
            console.print(
                f"From other machines: {host.elsewhere}: the address holds the only key.",
                highlight=False,
                soft_wrap=True,
            )
        if browser:
            threading.Thread(target=webbrowser.open, args=(host.address,), daemon=True).start()

    async def watch() -> None:
        while show.working:
            await asyncio.sleep(0.2)
        stop.set()

    watching = asyncio.create_task(watch())
    try:
        await host.serve(stop, ready)
    finally:
        watching.cancel()


def _keep(show: Any, out: Path | None) -> None:
    """Save what was taught and not saved yet."""
    from timesurf.storage.cache import folder

    if not show.learned:
        return
    path = out or folder() / "unsaved.tsf"
    try:
        show.session.adapted().save(path)
    except DivergedError as error:
        console.print(f"What was learned is not saved: {error}", highlight=False, soft_wrap=True)
    else:
        console.print(f"What was taught is saved to {path}", highlight=False, soft_wrap=True)
