"""`timesurf live` in a process of its own: however it ends, there is no traceback, and what was taught is kept."""

import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time

import numpy as np
import pytest

from tests.live.test_stream_command import WIRE, model  # noqa: F401
from timesurf import Network

pytest.importorskip("websockets")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


@pytest.fixture
def started(model, tmp_path):  # noqa: F811
    processes = []

    def start(*options):
        command = [sys.executable, "-u", "-m", "timesurf", "live", str(model), "--no-browser", *map(str, options)]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, "COLUMNS": "200", "TIMESURF_CACHE": str(tmp_path)},
        )  # fmt: skip
        processes.append(process)
        said = ""
        while "Live at" not in said:
            line = process.stdout.readline()
            assert line, said
            said += line
        return process, re.search(r"http://\S+", said).group()

    yield start
    for process in processes:
        process.kill()
        process.wait(10)
        process.stdout.close()


def ended(process, sign):
    process.send_signal(sign)
    process.wait(120)
    said = process.stdout.read()  # `communicate` would lose lines that `readline` has read ahead
    assert "Traceback" not in said, said
    assert process.returncode == 0, said
    return said


def page_at(address):
    from websockets.sync.client import connect

    root, token = address.split("/?token=")
    return connect(f"{root.replace('http', 'ws')}/ws?token={token}", origin=root, proxy=None)


def test_nothing_is_written_where_nothing_was_taught(started, tmp_path):
    process, address = started()
    assert address.startswith("http://127.0.0.1:")
    assert "saved" not in ended(process, signal.SIGINT)
    assert not (tmp_path / "unsaved.tsf").exists()


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def frame_with(page, meanwhile, wanted):
    """The state that goes with the first frame that is as wanted; `meanwhile` is done between frames."""
    deadline = time.monotonic() + 120
    while True:
        meanwhile()
        frame = page.recv(timeout=60)
        if isinstance(frame, bytes):
            state = json.loads(frame[4 : 4 + struct.unpack("<I", frame[:4])[0]])
            if wanted(state):
                return state
        assert time.monotonic() < deadline


def test_a_camera_with_another_sensor_is_prepared_as_options_say(started):
    port = free_port()
    process, address = started("--from", f"udp://127.0.0.1:{port}", "--field", "16x16", "--downsample", "2")
    events = np.zeros(20, WIRE)
    events["x"] = events["y"] = 15  # the network has 8 x 8
    with page_at(address) as page, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:

        def send():
            events["t"] += 100
            sender.sendto(events.tobytes(), ("127.0.0.1", port))

        state = frame_with(page, send, lambda state: state["events"] > 0 and state["n"] > 0)
        assert (state["refused"], state["dropped"], state["lost"]) == (0, 0, 0)
    ended(process, signal.SIGINT)


def test_the_address_that_is_printed_can_be_opened_where_all_addresses_are_served(started):
    process, address = started("--host", "0.0.0.0")
    assert address.startswith("http://127.0.0.1:")
    with page_at(address) as page:
        assert page.recv(timeout=60)
    said = ended(process, signal.SIGINT)
    assert re.search(r"From other machines: http://(?!0\.0\.0\.0)\S+/\?token=", said)


@pytest.mark.parametrize("given", [True, False])
def test_what_a_camera_taught_is_saved_when_a_signal_ends_it(started, model, tmp_path, given):  # noqa: F811
    out = tmp_path / "taught.tsf"
    port = free_port()
    process, address = started("--from", f"udp://127.0.0.1:{port}", *(["--out", out] if given else []))
    events = np.zeros(20, WIRE)
    events["x"] = 3
    with page_at(address) as page, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        page.send('{"do": "label", "name": "2", "number": 1}')

        def send():
            events["t"] += 100
            sender.sendto(events.tobytes(), ("127.0.0.1", port))

        frame_with(page, send, lambda state: state["unsaved"])
        sender.sendto(b"garbled", ("127.0.0.1", port))
    said = ended(process, signal.SIGTERM)  # the camera has stopped, the page has gone
    path = out if given else tmp_path / "unsaved.tsf"
    assert f"saved to {path}" in said
    assert not Network.load(path).parameters.same(Network.load(model).parameters)
