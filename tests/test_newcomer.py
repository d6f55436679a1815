"""A newcomer's way: the tutorial as it stands, from camera files in a folder per class to a live decision."""

import json
import re
import shlex
import signal
import socket
import sys
from pathlib import Path

import pytest

from tests.processes import until
from tests.test_readme import commands

TUTORIAL = Path(__file__).parents[1] / "docs" / "tutorial.md"
PORT = "udp://127.0.0.1:7777"
EVENTS = 1500
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def test_from_a_folder_of_csv_files_to_decisions_on_a_live_stream(start, timesurf, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = TUTORIAL.read_text("utf-8")
    exec(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1], {})
    *steps, receiving, sending = commands(TUTORIAL)
    assert (receiving[0], sending[0]) == ("stream", "send")
    said = {}
    for words in steps:
        code, said[shlex.join(words)] = timesurf(*words)
        assert code == 0, said

    def of(begin):
        return next(text for words, text in said.items() if words.startswith(begin))

    assert "Next: timesurf train" in of("inspect")
    assert "87 x 65 pixels" in of("train")
    assert "Next: timesurf evaluate gestures.tsf" in of("train")
    assert "Next: timesurf report gestures.tsf.run" in of("train")
    assert float(re.search(r"recording accuracy\D+([\d.]+)%", of("evaluate"))[1]) > 80
    assert "Next: timesurf predict gestures.tsf" in of("evaluate")
    assert "unknown.csv: down" in of("predict gestures.tsf unknown.csv")
    assert "Next: timesurf stream gestures.tsf" in of("predict gestures.tsf unknown.csv")
    assert "open it in a browser" in of("report")
    assert "Next: timesurf predict gestures.tsf" in of("report")
    assert "Next: timesurf live gestures.tsf" in of("stream")
    assert "recording accuracy" in (tmp_path / "gestures.tsf.run" / "report.html").read_text("utf-8")
    assert len((tmp_path / "decisions.csv").read_text("utf-8").splitlines()) == 1 + 16
    assert streamed(start, tmp_path, receiving, sending)["decision"] == "down"


def streamed(start, folder, receiving, sending):
    """The figures of the stream after the file has come over UDP, as a camera sends it; on a port that is free."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        source = f"udp://127.0.0.1:{free.getsockname()[1]}"
    here, there = ([source if word == PORT else word for word in words] for words in (receiving, sending))
    assert source in here
    assert source in there
    log = folder / "decisions.jsonl"
    process = start("-m", "timesurf", *here, "--log", log, "--log-every", "1 us", cwd=folder)  # a line per packet
    assert "Listening" in process.stdout.readline()
    sender = start("-m", "timesurf", *there, cwd=folder)
    assert f"{EVENTS:,} events" in sender.communicate(timeout=300)[0]
    until(lambda: sum(json.loads(line)["events"] for line in whole_lines(log)) == EVENTS, process)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    result = json.loads((folder / "live.json").read_text("utf-8"))
    assert (result["events"], result["refused"]) == (EVENTS, 0)
    return result


def whole_lines(file):
    """Lines of a file that is being written."""
    return [line for line in file.read_text("utf-8").splitlines(keepends=True) if line.endswith("\n")]
