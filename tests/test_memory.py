"""What a whole process needs at most, as the system counts it: many recordings do not have to fit into memory."""

import re
import subprocess
import sys

import numpy as np
import pytest

from timesurf import Full, Network, Recordings
from timesurf.engines import Parameters
from timesurf.io import npz

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="read from Linux's /proc")
MB = 1000  # in kB, as Linux counts
# The peak of the process itself: ru_maxrss would also have that of the process which started it.
PROGRAM = """
from timesurf.__main__ import main
try:
    main()
finally:
    with open("/proc/self/status") as status:
        print(status.read())
"""


def test_ten_million_events_are_predicted_in_less_than_300_mb(tmp_path):
    """As 64-bit numbers they would take 320 MB alone; the program itself takes some 200 MB (docs/limits.md)."""
    recordings, events = 1000, 10_000
    place, n = np.arange(events) % 8, recordings * events
    t = np.tile(np.arange(events) * 30, recordings)
    coords = [np.tile(place.astype(np.uint16), recordings)] * 2
    offsets = np.arange(recordings + 1) * events
    p = np.zeros(n, np.uint8)
    npz.write(tmp_path / "long.npz", Recordings(coords, t, p, offsets, field=(8, 8), polarities=2))
    network = Network([Full(tau="1 ms")], (8, 8), 2, ["a", "b"])
    network.parameters = Parameters.of([np.zeros((2, 8, 8, 2))], [np.full(2, np.inf)])
    network.save(tmp_path / "m.tsf")
    command = [sys.executable, "-c", PROGRAM, "predict", "m.tsf", "long.npz", "--out", "decisions.csv"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "decisions.csv").read_text("utf-8").count("\n") == 1 + recordings
    peak = re.search(r"VmHWM:\s+(\d+) kB", done.stdout)
    assert int(peak[1]) < 300 * MB
