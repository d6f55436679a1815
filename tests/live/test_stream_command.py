"""`timesurf stream` in a process of its own, with a real socket or pipe: it survives bad input and writes results."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest

from timesurf import Network
from timesurf.bench import workloads
from timesurf.cli.live import _Saved
from timesurf.io import npz
from timesurf.live import commands
from timesurf.live.session import Session

WIRE = np.dtype([("t", "<i8"), ("x", "<u2"), ("y", "<u2"), ("on", "u1")])
HOUR = 3_600_000_000
GARBLED = b"x" * 17
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes of POSIX")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    data = workloads.strokes(4, events=300, field=(8, 8))
    path = tmp_path_factory.mktemp("model") / "n.tsf"
    workloads.started(workloads.NMNIST, data).save(path)
    return path


class Stream:
    """The command, what it has printed so far, and a socket to send to it."""

    def __init__(self, model, folder, source, *options):
        self.out, self.json = folder / "adapted.tsf", folder / "s.json"
        command = [sys.executable, "-m", "timesurf", "stream", model, "--from", source, "--adapt", "--out", self.out]
        self.process = subprocess.Popen(
            [*map(str, command), "--json", str(self.json), *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, "COLUMNS": "200"},
        )  # fmt: skip
        self.lines = []
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def _listen(self):
        with self.process.stdout as printed:
            for line in printed:
                self.lines.append(line.decode())

    def wait_for(self, sign, meanwhile=lambda: None):
        self.wait_until(lambda: any(re.search(sign, line) for line in self.lines), meanwhile)

    def wait_until(self, true, meanwhile=lambda: None):
        deadline = time.monotonic() + 300
        while not true():
            assert self.process.poll() is None, "".join(self.lines)
            assert time.monotonic() < deadline, "".join(self.lines)
            meanwhile()
            time.sleep(0.05)

    def wait_for_refusals(self, least):
        """Until so many packets were refused; garbled ones are sent meanwhile, so that a line about it is printed."""
        self.wait_for(
            rf"^({'|'.join(map(str, range(least, least + 500)))}) packets? refused", lambda: self.send(GARBLED)
        )

    def send(self, *datagrams):
        for one in datagrams:
            self.socket.sendto(one, ("127.0.0.1", self.port))

    def end(self, sign=None):
        if sign is not None:
            self.process.send_signal(sign)
        code = self.process.wait(30)
        self.listener.join(5)
        said = "".join(self.lines)
        assert "Traceback" not in said, said
        return code, said, json.loads(self.json.read_text("utf-8"))


@contextmanager
def running(*about):
    stream = Stream(*about)
    try:
        yield stream
    finally:
        stream.process.kill()
        stream.process.wait(10)
        stream.listener.join(10)
        stream.process.stdin.close()
        stream.socket.close()


@contextmanager
def listening(model, folder, *options):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with running(model, folder, f"udp://127.0.0.1:{port}", *options) as stream:
        stream.port = port
        stream.wait_for("Listening on")
        yield stream


def datagram(*times, x=3):
    events = np.zeros(len(times), WIRE)
    events["x"], events["t"] = x, np.array(times, np.uint64).astype(np.int64)
    return events.tobytes()


def assert_sane(path):
    for units in Network.load(path).parameters:
        assert np.isfinite(units.centroids).all()
        assert abs(units.centroids).max() < 10


def test_bad_datagrams_are_refused_counted_and_shown_and_the_session_goes_on(model, tmp_path):
    with listening(model, tmp_path) as stream:
        stream.send(datagram(10, 20, 30), GARBLED, datagram(40, x=99), datagram(2**62), datagram(2**63 - 1))
        stream.send(datagram(2**64 - 1), datagram(5), datagram(50, 60), b"\xff" * 13 * 40, datagram(70))
        stream.wait_for_refusals(7)
        stream.send(datagram(80, x=99))
        stream.wait_for("x = 99 is off the field", lambda: stream.send(datagram(80, x=99)))
        code, said, result = stream.end(signal.SIGTERM)
    assert code == 0, said
    assert result["events"] == 6
    assert result["refused"] >= 8
    assert result["refused_reason"]
    assert result["lost_datagrams"] == (0 if sys.platform == "linux" else None)
    assert (result["ended_by"], result["dropped"], result["restarts"]) == ("SIGTERM", 0, 0)
    assert max(result["kept_by_layer"]) <= 1
    assert re.search(r"refused .*packets, the latest", said)
    assert_sane(stream.out)


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_model_and_figures_are_written_when_a_signal_ends_it(model, tmp_path, sign):
    with listening(model, tmp_path) as stream:
        stream.send(datagram(10, 20, 30), GARBLED)
        stream.wait_for("1 packet refused")
        code, said, result = stream.end(sign)
    assert code == 0, said
    assert (result["events"], result["ended_by"]) == (3, sign.name)
    assert_sane(stream.out)


def test_a_stray_time_does_not_make_it_deaf_and_a_new_clock_begins_a_new_stream(model, tmp_path):
    with listening(model, tmp_path) as stream:
        stream.send(datagram(2**61), datagram(10), datagram(11), datagram(12))  # even the first may be a stray
        stream.wait_for_refusals(1)
        stream.send(datagram(50 * HOUR), datagram(13))
        stream.send(datagram(60 * HOUR), datagram(60 * HOUR + 1), datagram(60 * HOUR + 2))
        stream.wait_for_refusals(30)
        code, said, result = stream.end(signal.SIGTERM)
    assert code == 0, said
    assert result["events"] == 1 + 2 + 1 + 2  # each new clock costs one packet
    assert result["restarts"] == 2
    assert_sane(stream.out)


def test_a_jump_can_be_refused_for_good(model, tmp_path):
    with listening(model, tmp_path, "--on-jump", "refuse", "--jump", "1 s") as stream:
        stream.send(datagram(10), datagram(HOUR), datagram(HOUR), datagram(HOUR), datagram(20))
        stream.wait_for_refusals(4)
        code, said, result = stream.end(signal.SIGTERM)
    assert code == 0, said
    assert (result["events"], result["restarts"]) == (2, 0)


def test_bad_lines_are_refused_one_by_one(model, tmp_path):
    with running(model, tmp_path, "-") as stream:
        text = "t,x,y,on\n10,1,2,1\nnonsense\n12,99,2,1\n13,1,2,0\n5,1,2,0\n14,1,2,1,1\n15,1,2,1"
        stream.process.stdin.write(text.encode())
        stream.process.stdin.close()
        code, said, result = stream.end()
    assert code == 0, said
    assert (result["events"], result["refused"], result["ended_by"]) == (3, 4, "end of input")
    assert_sane(stream.out)


def test_input_of_which_nothing_is_valid_ends_with_an_error_and_the_figures(model, tmp_path):
    with running(model, tmp_path, "-") as stream:
        stream.process.stdin.write(b"\x00\xff" * 5000 + b"\n1,2\n")
        stream.process.stdin.close()
        code, said, result = stream.end()
    assert code == 2
    assert "all packets were refused" in said
    assert (result["events"], result["refused"]) == (0, 2)


def test_results_are_written_when_nobody_reads_its_output(model, tmp_path):
    reads, writes = os.pipe()
    os.close(reads)
    command = [sys.executable, "-m", "timesurf", "stream", model, "--from", "-", "--adapt"]
    command += ["--out", tmp_path / "adapted.tsf", "--json", tmp_path / "s.json"]
    with open(writes, "wb") as nobody:
        process = subprocess.run(
            list(map(str, command)), input=b"10,1,2,1\n11,1,2,1\n", stdout=nobody, stderr=subprocess.PIPE, check=False,
            timeout=60,
        )  # fmt: skip
    assert b"Traceback" not in process.stderr, process.stderr
    assert json.loads((tmp_path / "s.json").read_text("utf-8"))["events"] == 2
    assert_sane(tmp_path / "adapted.tsf")


def test_results_are_written_when_the_source_fails(model, tmp_path):
    rows = [f"{t},1,2,1" for t in range(200_000)]
    (tmp_path / "a.csv").write_text("\n".join(["t,x,y,on", *rows, "nonsense"]) + "\n", "utf-8")
    with running(model, tmp_path, tmp_path / "a.csv") as stream:
        code, said, result = stream.end()
    assert code == 2
    assert "a.csv, line 200002" in " ".join(said.split())
    assert result["events"] > 0
    assert result["ended_by"].startswith("EventError: ")
    assert_sane(stream.out)


def test_what_was_taught_is_saved_while_it_runs_even_if_no_more_events_come(model, tmp_path):
    with listening(model, tmp_path, "--teach", "-", "--save-every", "2 s") as stream:
        stream.process.stdin.write(b"label 2\n")
        stream.process.stdin.flush()
        clock = iter(range(10, 10**9, 100))
        stream.wait_for("label: 2", lambda: stream.send(datagram(next(clock))))
        stream.wait_until(stream.out.exists)
        stream.process.kill()  # nothing can be written at the end
        stream.process.wait(10)
    assert Network.load(stream.out).history[-1]["recordings"] == 1
    assert not Network.load(model).history


def test_what_was_learned_is_saved_once_while_no_packet_comes(model, tmp_path):
    session, saved, when = Session(Network.load(model), adapt=True), [], iter([None, 1, 2, None, None, 3])
    writing = _Saved(session, tmp_path / "saved.tsf", 0.0)

    class Silent:
        ended = False

        def poll(self, _):
            saved.append(writing.out.exists())
            writing.out.unlink(missing_ok=True)
            t = next(when)
            writing.due, self.ended = 0.0 if t is None else np.inf, t == 3  # it is time to while none comes
            return t

    for t in writing.between(Silent()):
        session.push(np.array([(1, 2, t)], [("x", int), ("y", int), ("t", int)]))
    assert saved == [False, False, False, False, True, False]
    assert not writing.out.exists()


def test_what_was_undone_is_not_left_in_a_file_that_was_saved_before(model, tmp_path):
    network = Network.load(model)
    session = Session(network)
    saved = _Saved(session, tmp_path / "saved.tsf", 0.0)
    saved.at_end()
    assert not saved.out.exists()  # nothing was learned
    session.push(np.array([(1, 2, 5)], [("x", int), ("y", int), ("t", int)]), label=2)
    saved._now_and_then()
    assert len(Network.load(saved.out).history) == len(network.history) + 1
    session.undo()
    saved.at_end()
    assert Network.load(saved.out).parameters.same(network.parameters)
    assert len(Network.load(saved.out).history) == len(network.history)


def test_another_change_in_place_of_one_that_was_undone_is_saved(model, tmp_path):
    session = Session(Network.load(model))
    saved = _Saved(session, tmp_path / "saved.tsf", 0.0)
    session.forget(1)
    saved._now_and_then()
    session.undo()
    session.forget(2)
    saved._now_and_then()
    assert Network.load(saved.out).classes.tolist() == [0, 1, 3]


def test_commands_are_obeyed_while_no_event_comes(model, tmp_path):
    with listening(model, tmp_path, "--teach", "-") as stream:
        stream.process.stdin.write(b"label 2\nforget 1\n")
        stream.process.stdin.flush()
        stream.wait_for("label: 2")
        stream.wait_for("forget 1")
        code, said, result = stream.end(signal.SIGINT)
    assert (code, result["events"]) == (0, 0), said
    assert Network.load(stream.out).classes.tolist() == [0, 2, 3]


def test_other_classes_are_rehearsed_after_a_lesson_and_at_the_end(model, tmp_path):
    npz.write(tmp_path / "old.npz", workloads.strokes(4, events=300, field=(8, 8))[[0, 1, 2]])
    options = "--teach", "-", "--rehearse", tmp_path / "old.npz", "--teach-rate", "2", "--save-every", "1 h"
    with listening(model, tmp_path, *map(str, options)) as stream:
        clock = iter(range(10, 10**9, 100))
        for line in ("label 2", "label 1"):
            stream.process.stdin.write(line.encode() + b"\n")
            stream.process.stdin.flush()
            stream.wait_for(line.replace(" ", ": "), lambda: stream.send(datagram(next(clock))))
            stream.send(datagram(next(clock)))
        stream.wait_until(lambda: stream.send(datagram(next(clock))) or True)
        code, said, result = stream.end(signal.SIGINT)
    assert code == 0, said
    learned = [entry for entry in Network.load(stream.out).history if entry["recordings"] == 1]
    assert len(learned) >= 2 * 3  # two lessons, after each two others
    assert result["events"] < 300  # those of the stream


def test_without_a_place_for_it_a_line_says_that_nothing_taught_is_kept(model, timesurf, tmp_path, monkeypatch):
    npz.write(tmp_path / "two.npz", workloads.strokes(2, events=30, field=(8, 8)))
    monkeypatch.setattr(commands, "_standard_input", lambda: iter(()))
    words = "stream", model, "--from", tmp_path / "two.npz", "--teach", "-"
    assert "lost at the end" in timesurf(*words)[1]
    assert "lost at the end" not in timesurf(*words, "--out", tmp_path / "o.tsf")[1]


def test_lines_on_standard_input_teach_while_events_flow_and_the_model_is_saved(model, tmp_path):
    with listening(model, tmp_path, "--teach", "-", "--save-every", "1 ms") as stream:

        def say(line, sign):
            stream.process.stdin.write(line.encode() + b"\n")
            stream.process.stdin.flush()
            clock = iter(range(stream.clock, 10**9, 100))
            stream.wait_for(sign, lambda: stream.send(datagram(next(clock))))
            stream.clock = next(clock)

        stream.clock = 10
        say("label 2", "label: 2")
        say("new dog", "label: dog")
        say("label cat", "'new cat' adds it")
        say("new duck", "label: duck")
        say("undo 2", "undo 2")  # what it was taught, and the class
        code, said, result = stream.end(signal.SIGINT)
    assert code == 0, said
    taught = Network.load(stream.out)
    assert taught.classes.tolist() == ["0", "1", "2", "3", "dog"]
    assert not np.array_equal(taught.parameters[-1].centroids[:4], Network.load(model).parameters[-1].centroids)
    assert result["events"] > 4
