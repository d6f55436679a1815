"""What the page of `timesurf live` costs the engine: events per second with a page and without, in turns.

Events are streamed in at a rate, or as fast as the engine takes them; a real Chromium shows the page.

    python benchmarks/live_page.py --seconds 20 --turns 3 --json benchmarks/results/live_page.json
    python benchmarks/live_page.py --picture live.png
    python benchmarks/live_page.py --film docs/images/live.gif
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.live.browser import chromium
from tests.live.strokes import DIGITS

from timesurf import Network
from timesurf.bench import workloads
from timesurf.live import starter
from timesurf.live.acts import Acts
from timesurf.live.host import Host
from timesurf.live.show import Show
from timesurf.results import machine

PACKET = 1000
FRAME, SHOWN = 0.1, 0.25  # s: from one frame of a film to the next, and how long each is shown
WIDTH, COLOURS = 640, 48  # of a film


class Steady:
    """A camera that sends the same strokes again and again, at a rate."""

    ended, dropped = False, 0

    def __init__(self, data: Any, rate: float) -> None:
        events = np.concatenate([recording.to_structured()[0] for recording in data])
        self.events = events.astype([(name, np.int64) for name in events.dtype.names])
        self.rate, self.sent, self.began, self.cpu = rate, 0, time.perf_counter(), 0.0

    def poll(self, seconds: float) -> Any:
        due = self.began + self.sent / self.rate
        if due > time.perf_counter() + seconds:
            time.sleep(seconds)
            return None
        time.sleep(max(due - time.perf_counter(), 0))
        self.cpu = time.thread_time()  # of the engine's thread, which alone calls this
        first = self.sent % (len(self.events) - PACKET)
        packet = self.events[first : first + PACKET].copy()
        packet["t"] = (self.sent + np.arange(PACKET)) * 1e6 / self.rate
        self.sent += PACKET
        return packet


@contextmanager
def serving(show: Show, **about: Any) -> Any:
    """A server for a show, in a thread."""
    host, loop = Host(Acts(show, **about)), asyncio.new_event_loop()
    stop, up = asyncio.Event(), threading.Event()
    thread = threading.Thread(target=lambda: loop.run_until_complete(host.serve(stop, up.set)))
    thread.start()
    up.wait(20)
    try:
        yield host
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(20)


def measured(rate: float, seconds: float, page: bool) -> dict[str, float]:
    """Events per second that the engine took, and the frames per second that a page showed."""
    data = workloads.strokes(50)
    network = Network(workloads.NMNIST, data.field, data.polarities, range(10)).start(data)
    show, shown = Show(network, Steady(data, rate)), 0
    with tempfile.TemporaryDirectory() as folder, show, serving(show) as host:
        if not page:
            time.sleep(3)
            taken = _taken(show, seconds)
        else:
            with chromium(Path(folder)) as open_tab:
                tab = open_tab(host.address)
                tab.wait_for("typeof network !== 'undefined' && network && 'rate' in state")
                time.sleep(3)
                tab.js("window.shown = 0; const old = frame; frame = (b) => { window.shown++; old(b); }")
                before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                taken = _taken(show, seconds)
                shown = tab.js("window.shown")
                grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
                assert tab.complaints == []
    assert show.error is None
    found = {"events_per_s": taken[0] / seconds, "cpu_us_per_event": 1e6 * taken[1] / max(taken[0], 1)}
    return found | ({"frames_per_s": shown / seconds, "growth_kb": grown} if page else {})


def _taken(show: Show, seconds: float) -> tuple[int, float]:
    """Events that the engine took in this time, and the processor time of its thread."""
    before, cpu = show.view.events, show.camera.cpu
    time.sleep(seconds)
    return int(show.view.events - before), show.camera.cpu - cpu


@contextmanager
def digits_page() -> Any:
    """A tab with the page at work on the drawing pad."""
    start = starter.make()
    show = Show(start.network, rehearsal=start.rehearsal)
    with (
        tempfile.TemporaryDirectory() as folder,
        show,
        serving(show, held_out=start.held_out) as host,
        chromium(Path(folder)) as open_tab,
    ):
        tab = open_tab(host.address)
        tab.wait_for("typeof network !== 'undefined' && network && acting && state.score")
        yield tab


def picture(path: Path) -> None:
    """The page at work on a drawing, as a picture."""
    with digits_page() as tab:
        for digit in (7, 3):
            tab.js("clear()")
            tab.draw(*DIGITS[digit])
            time.sleep(3)
        tab.wait_for("state.rate > 3000 && state.sure_ms !== null")
        time.sleep(0.1)
        tab.screenshot(path)


def film(path: Path) -> None:
    """The page while digits are drawn and decided, stroke by stroke, as an animated picture of what a tab showed."""
    from PIL import Image

    frames: list[Any] = []
    with digits_page() as tab, tempfile.TemporaryDirectory() as folder:
        shot = Path(folder) / "shot.png"

        def take(times: int = 1) -> None:
            for _ in range(times):
                time.sleep(FRAME)
                tab.screenshot(shot)
                with Image.open(shot) as whole:
                    frames.append(whole.convert("RGB").resize((WIDTH, round(whole.height * WIDTH / whole.width))))

        for digit in (7, 3, 4):
            tab.js("clear()")
            for stroke in DIGITS[digit]:
                for points in range(4, len(stroke) + 4, 4):  # a longer beginning of the stroke each time
                    tab.draw(stroke[max(points - 5, 0) : points])
                    take()
            take(4)
    some = frames[::4]
    sheet = Image.new("RGB", (WIDTH, some[0].height * len(some)))
    for n, frame in enumerate(some):
        sheet.paste(frame, (0, n * frame.height))
    colours = sheet.quantize(COLOURS)  # the same in all frames, so that what is still costs nothing
    first, *rest = (frame.quantize(palette=colours, dither=Image.Dither.NONE) for frame in frames)
    first.save(path, save_all=True, append_images=rest, duration=int(1000 * SHOWN), loop=0, optimize=True)
    print(f"{len(frames)} frames, {path.stat().st_size / 1e3:.0f} kB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=1e6, help="events per second that are streamed in")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--picture", type=Path, help="only write a picture of the page")
    parser.add_argument("--film", type=Path, help="only write a film of the page, a .gif")
    given = parser.parse_args()
    sys.setswitchinterval(5e-4)  # as the command does
    if given.picture or given.film:
        if given.picture:
            picture(given.picture)
        if given.film:
            film(given.film)
        return
    turns = []
    for _ in range(given.turns):
        turns.append({name: measured(given.rate, given.seconds, name == "page") for name in ("alone", "page")})
        print(json.dumps(turns[-1]), flush=True)
    ratio = float(np.median([turn["page"]["events_per_s"] / turn["alone"]["events_per_s"] for turn in turns]))
    cpu = float(np.median([turn["page"]["cpu_us_per_event"] / turn["alone"]["cpu_us_per_event"] for turn in turns]))
    result = {
        "cpu_ratio": cpu,
        "machine": machine.describe(),
        "rate": given.rate,
        "seconds": given.seconds,
        "ratio": ratio,
        "turns": turns,
    }
    print(f"with a page: {ratio:.3f} of the events per second without, {cpu:.3f} of the processor time per event")
    if given.json:
        given.json.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
