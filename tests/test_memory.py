"""What a whole process needs at most, as the system counts it: many recordings do not have to fit into memory."""

import re
import subprocess
import sys

import numpy as np
import pytest
from benchmarks.long_recordings import EVENTS, PROGRAM

from timesurf import Full, Network, Recordings
from timesurf.engines import Parameters
from timesurf.io import camera, npz

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="read from Linux's /proc")
MB = 1000  # in kB, as Linux counts


def recordings_of(events):
    """Recordings of so many events each, ten million in all."""
    place = np.tile((np.arange(events) % 8).astype(np.uint16), EVENTS // events)
    t, offsets = np.tile(np.arange(events) * 30, EVENTS // events), np.arange(EVENTS // events + 1) * events
    return Recordings([place, place], t, np.zeros(EVENTS, np.uint8), offsets, field=(8, 8), polarities=2)


def write_csv(path):
    """The same in one recording: lines of equal length, so that arrays of bytes hold them."""
    with path.open("wb") as file:
        file.write(b"t,x,y,on\n")
        for first in range(0, EVENTS, 1_000_000):
            n = np.arange(first, first + 1_000_000)
            lines = np.full((len(n), 16), ord(","), np.uint8)
            for digit in range(9):
                lines[:, 8 - digit] = ord("0") + n * 30 // 10**digit % 10
            lines[:, 10] = lines[:, 12] = ord("0") + n % 8
            lines[:, 14], lines[:, 15] = ord("0"), ord("\n")
            file.write(lines.tobytes())


def written(folder, kind):
    """A file of this kind, and how many recordings are in it."""
    path, events = folder / f"long{kind.split()[-1]}", 10_000 if kind == "many in .npz" else EVENTS
    if path.suffix == ".npz":
        npz.write(path, recordings_of(events))
    elif path.suffix == ".csv":
        write_csv(path)
    else:
        pytest.importorskip("faery")
        camera.write(path, recordings_of(events))
    return path, EVENTS // events


@pytest.mark.parametrize("kind", ["many in .npz", "one in .npz", ".csv", ".aedat4"])
def test_ten_million_events_are_predicted_in_less_than_300_mb(tmp_path, kind):
    """As 64-bit numbers they would take 320 MB alone; the program itself takes some 200 MB (docs/limits.md)."""
    path, recordings = written(tmp_path, kind)
    network = Network([Full(tau="1 ms")], (8, 8), 2, ["a", "b"])
    network.parameters = Parameters.of([np.zeros((2, 8, 8, 2))], [np.full(2, np.inf)])
    network.save(tmp_path / "m.tsf")
    command = [sys.executable, "-c", PROGRAM, "predict", "m.tsf", path.name, "--out", "decisions.csv"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "decisions.csv").read_text("utf-8").splitlines()
    assert len(lines) == 1 + recordings
    assert f",{EVENTS // recordings}," in lines[1]
    peak = re.search(r"VmHWM:\s+(\d+) kB", done.stdout)
    assert int(peak[1]) < 300 * MB
