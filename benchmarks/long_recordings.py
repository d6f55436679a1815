"""Peak memory of commands on ten million events, by the file that they are in.

Run: python benchmarks/long_recordings.py [JSON file]      needs Linux, the extra `formats` and 1 GB of disk

What the system counts for the process itself, with the pages of mapped files that it holds, is read when it ends.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from timesurf import Full, Network, Recordings
from timesurf.engines import Parameters
from timesurf.io import camera, npz
from timesurf.results import machine

EVENTS = 10_000_000
SIDE = 8  # pixels
INTERVAL = 30  # us
TIMES = 2  # how often a stream is run: how many events wait depends on what else the machine does
# The peak of the process itself: ru_maxrss would also have that of the process which started it.
PROGRAM = """
from timesurf.__main__ import main
try:
    main()
finally:
    with open("/proc/self/status") as status:
        print(status.read())
"""


def recordings(number):
    """Ten million events in so many recordings of equal length."""
    each = EVENTS // number
    place = np.tile((np.arange(each) % SIDE).astype(np.uint16), number)
    t = np.tile(np.arange(each) * INTERVAL, number)
    polarity, offsets = np.zeros(EVENTS, np.uint8), np.arange(number + 1) * each
    return Recordings([place, place], t, polarity, offsets, field=(SIDE, SIDE), polarities=2)


def write(folder):
    """The same events as CSV, AEDAT 4, and archives of one and of a thousand recordings."""
    with (folder / "long.csv").open("w", encoding="utf-8") as file:
        file.write("t,x,y,on\n")
        for first in range(0, EVENTS, 100_000):
            file.writelines(f"{n * INTERVAL},{n % SIDE},{n % SIDE},0\n" for n in range(first, first + 100_000))
    npz.write(folder / "many.npz", recordings(1000))
    whole = recordings(1)
    npz.write(folder / "long.npz", whole)
    camera.write(folder / "long.aedat4", whole)


def peak(folder, *command):
    """Bytes that a command held at most."""
    run = [sys.executable, "-c", PROGRAM, *command]
    done = subprocess.run(run, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=True)
    return int(re.search(r"VmHWM:\s+(\d+) kB", done.stdout)[1]) * 1024


def main(json_file=None):
    """Measure every command, print, and write the figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        network = Network([Full(tau="1 ms")], (SIDE, SIDE), 2, ["a", "b"])
        network.parameters = Parameters.of([np.zeros((2, SIDE, SIDE, 2))], [np.full(2, np.inf)])
        network.save(folder / "m.tsf")
        write(folder)
        npz.write(folder / "few.npz", recordings(1000)[:1])
        predict, stream = ("predict", "m.tsf", "--out", "decisions.csv"), ("stream", "m.tsf")
        peaks = {"the program itself": peak(folder, *predict, "few.npz")}
        for file in ("long.csv", "long.aedat4", "long.npz", "many.npz"):
            peaks[f"predict {file}"] = peak(folder, *predict, file)
        for file in ("long.csv", "long.aedat4"):
            peaks[f"stream {file}"] = max(peak(folder, *stream, "--from", file) for _ in range(TIMES))
    for what, found in peaks.items():
        print(f"{what:24s}{found / 1e6:6.0f} MB", flush=True)
    if json_file:
        result = {"events": EVENTS, "peak_bytes": peaks, "machine": machine.describe()}
        Path(json_file).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
