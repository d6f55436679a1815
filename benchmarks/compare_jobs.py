"""Jobs that `compare.py` times, in a process that imports one version of timesurf: a name on each line in, a time out.

Only public names are used, and each job imports its own, so that a version that lacks them says so and runs the others.
The events are made here and not by timesurf: the same for every version.
"""

import atexit
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np


def strokes(recordings: int, events: int = 3000):
    """Events of a pen stroke that moves over 28 x 28 pixels for 300 ms."""
    from timesurf import Recordings

    rng = np.random.default_rng(0)
    t = np.sort(rng.integers(0, 300_000, (recordings, events)), axis=1)
    centre = rng.uniform(8, 20, (recordings, 1, 2)) + 5 * np.sin(t[..., None] / 48_000 + rng.uniform(0, 6, 2))
    place = np.clip(centre + rng.normal(0, 1.5, centre.shape), 0, 27).astype(np.uint16)
    x, y = place[..., 0].ravel(), place[..., 1].ravel()
    offsets = np.arange(recordings + 1) * events
    return Recordings([x, y], t.ravel(), None, offsets, field=(28, 28), labels=np.arange(recordings) % 4)


def network(data, **options):
    """The paper's network for digits, with rates so small that it does not change while it is timed."""
    from timesurf import Full, Network, Rule, Window

    still = Rule(alpha=1e-12, beta=1e-12, gamma=1e-12, delta=1e-12)
    layers = [Window(9, units=32, tau="100 ms"), Full(tau="1 ms")]
    return Network(layers, (28, 28), 1, np.arange(4), rule=still, **options).start(data[:8], margin=1.4)


def predicting():
    data = strokes(64)
    some = network(data)
    return lambda: some.infer(data)


def learning_in_batches():
    data = strokes(64)
    some = network(data)
    return lambda: some.train(data, passes=1, batch_size=32)


def learning_online(**options):
    data = strokes(16)
    some = network(data, **options)
    return lambda: some.partial_fit(data)


def learning_online_in_float32():
    return learning_online(precision="float32")


def live_stream():
    from timesurf import Session

    data = strokes(8)
    some, events = network(data), data[0].to_structured()[0]
    packets = [events[a : a + 64] for a in range(0, len(events), 64)]

    def run():
        session = Session(some)
        for packet in packets:
            session.push(packet)

    return run


def choosing_settings():
    from timesurf import Network

    data = strokes(24)
    return lambda: Network.for_data(data)


def reading_csv():
    from timesurf.datasets import sources

    file = Path(tempfile.mkdtemp()) / "some.csv"
    atexit.register(shutil.rmtree, file.parent)
    events = strokes(1, 100_000)
    rows = np.stack([events.t, *events.coords, np.zeros(len(events.t))], axis=1).astype(int)
    np.savetxt(file, rows, "%d", ",", header="t,x,y,on", comments="")
    return lambda: sources.load(file)


def starting_the_command():
    return lambda: subprocess.run([sys.executable, "-m", "timesurf", "--version"], check=True, capture_output=True)


JOBS = {job.__name__.replace("_", " "): job for job in (
    predicting, learning_in_batches, learning_online, learning_online_in_float32, live_stream, choosing_settings,
    reading_csv, starting_the_command,
)}  # fmt: skip


def fastest(call, seconds: float = 0.3) -> float:
    """Time of the fastest of the calls that fit into so many seconds."""
    end, best = time.perf_counter() + seconds, float("inf")
    while True:
        began = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - began)
        if time.perf_counter() > end:
            return best


def main() -> None:
    """Prepare a job when it is first named, with one call that is not counted; each time, the fastest of some calls."""
    ready = {}
    for line in sys.stdin:
        name = line.strip()
        try:
            if name not in ready:
                ready[name] = JOBS[name]()
                ready[name]()
            answer = {"seconds": fastest(ready[name])}
        except Exception as error:  # whatever an old version does not know
            answer = {"lacks": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
