"""A newcomer's way: files of a camera in a folder per class, and from there every step by the command line alone."""

import json
import re
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

WIDTH, HEIGHT = 346, 260
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def events(kind, rng, n=1500):
    """An edge that moves across the sensor, from left to right or from top to bottom, among some noise."""
    t = np.sort(rng.integers(0, 300_000, n))
    along, across = t / 1500 + 20 + rng.normal(0, 1, n), rng.integers(60, 200, n)
    x, y = (along, across) if kind == "across" else (across, along)
    noise = rng.random(n) < 0.1
    x, y = np.where(noise, rng.integers(0, WIDTH, n), x), np.where(noise, rng.integers(0, HEIGHT, n), y)
    return t, np.clip(x, 0, WIDTH - 1).astype(int), np.clip(y, 0, HEIGHT - 1).astype(int), rng.integers(0, 2, n)


def write_csv(path, columns):
    lines = ("t,x,y,on", *(",".join(map(str, row)) for row in zip(*columns, strict=True)))
    path.write_text("\n".join(lines) + "\n")


def timesurf(*words, folder):
    command = [sys.executable, "-m", "timesurf", *map(str, words)]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_from_a_folder_of_csv_files_to_decisions_on_a_live_stream(tmp_path):
    rng = np.random.default_rng(0)
    for kind in ("across", "down"):
        for part, number in (("train", 10), ("test", 3)):
            (tmp_path / part / kind).mkdir(parents=True)
            for n in range(number):
                write_csv(tmp_path / part / kind / f"{n}.csv", events(kind, rng))
    live = events("down", rng, 3000)
    write_csv(tmp_path / "unknown.csv", live)

    said = timesurf("train", "train", "--field", "346x260", "--downsample", 4, "--model", "m.tsf", folder=tmp_path)
    assert "87 x 65 pixels" in said
    assert "Next: timesurf evaluate m.tsf" in said
    assert "Next: timesurf report m.tsf.run" in said

    said = timesurf("evaluate", "m.tsf", "test", folder=tmp_path)
    accuracy = float(re.search(r"recording accuracy\D+([\d.]+)%", said)[1])
    assert accuracy > 80
    assert "Next: timesurf predict m.tsf" in said

    said = timesurf("predict", "m.tsf", "unknown.csv", folder=tmp_path)
    assert "unknown.csv: down" in said
    assert "Next: timesurf stream m.tsf" in said

    said = timesurf("report", "m.tsf.run", "--data", "test", folder=tmp_path)
    assert "open it in a browser" in said
    assert "recording accuracy" in (tmp_path / "m.tsf.run" / "report.html").read_text()

    assert streamed(tmp_path, live)["decision"] == "down"


def streamed(folder, live):
    """The figures of `timesurf stream` after the events of unknown.csv have come over UDP, as a camera sends them."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        address = free.getsockname()
    source = f"udp://{address[0]}:{address[1]}"
    command = [sys.executable, "-m", "timesurf", "stream", "m.tsf", "--from", source, "--json", "s.json"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    assert "Listening" in process.stdout.readline()
    said = timesurf("send", "unknown.csv", "--to", source, "--speed", 1, folder=folder)
    assert f"{len(live[0]):,} events" in said
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    result = json.loads((folder / "s.json").read_text())
    assert (result["events"], result["refused"]) == (len(live[0]), 0)
    return result
