"""What as many classes as recordings cost: time and memory of a pass and of a test, by votes and by evidence.

Run: python benchmarks/many_classes.py [classes] [JSON file]

Every class has one recording of 20 random events on 64 pixels: chance decides, so there is nothing to learn, and what
is measured is the cost of the classes alone. 16,000 by default, whose votes are about as many as are accepted.
"""

import json
import resource
import sys
import time

import numpy as np

from timesurf import Full, Network, Recordings, Rule
from timesurf.results import machine

EVENTS, PIXELS = 20, 64


def recordings(classes):
    """One of each class."""
    x = np.random.default_rng(0).integers(PIXELS, size=classes * EVENTS)
    t, offsets = np.tile(np.arange(EVENTS) * 100, classes), np.arange(classes + 1) * EVENTS
    return Recordings([x], t, offsets=offsets, field=(PIXELS,), labels=np.arange(classes))


def measured(call):
    """Seconds that a call takes, and what the process has held at most until then."""
    began = time.perf_counter()
    call()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"seconds": time.perf_counter() - began, "peak_bytes": peak}


def main(classes=16_000, json_file=None):
    """Measure a pass and tests, print, and write the figures."""
    data, rows = recordings(int(classes)), {}
    network = Network([Full(tau="1 ms")], data.field, 1, range(int(classes)), rule=Rule(last="delta"))
    network.start(data).train(data[:2], passes=1, batch_size=2)  # compiled before it is measured
    rows["a pass"] = measured(lambda: network.train(data, passes=1, batch_size=256))
    for by in ("votes", "evidence"):  # the peak of a process never falls: the larger comes last
        network.decides = by
        rows[f"a test, by {by}"] = measured(lambda: network.evaluate(data))
    for name, row in rows.items():
        print(f"{name:22s}{row['seconds']:8.1f} s  {row['peak_bytes'] / 1e9:6.2f} GB", flush=True)
    if json_file:
        with open(json_file, "w", encoding="utf-8") as file:
            json.dump({"classes": int(classes), "rows": rows, "machine": machine.describe()}, file, indent=1)


if __name__ == "__main__":
    main(*sys.argv[1:])
