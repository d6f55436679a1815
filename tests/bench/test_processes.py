"""Measurements side by side: in the order of the list, until a time, and never beyond the life of who asked."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from timesurf.bench.processes import MissingError, Plan, each


def test_jobs_run_in_their_order_and_none_begins_too_late():
    said = []
    assert list(each(lambda n: n * n, [3, 1, 2], Plan(report=said.append))) == [(3, 9), (1, 1), (2, 4)]
    assert said[0] == "3 measurements, 1 at a time"
    assert list(each(lambda n: n, [1, 2], Plan(minutes=0, report=said.append))) == []
    assert said[-1] == "2 measurements were left out after 0 minutes: 1, ..."


def absent(job):
    """Nothing is there for negative numbers."""
    if job < 0:
        raise MissingError("nothing is there")
    return job


@pytest.mark.parametrize("processes", [1, 2])
def test_what_is_missing_is_said_once_and_passed_over(processes):
    said = []
    assert dict(each(absent, [-1, 4, -2], Plan(processes, report=said.append))) == {4: 4}
    assert said.count("nothing is there") == 1
    assert sum("3 of 3" in line for line in said) == 1


def test_other_errors_are_raised():
    with pytest.raises(ZeroDivisionError):
        list(each(lambda job: 1 / job, [0]))


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="reads /proc")
def test_workers_end_with_a_parent_that_is_killed(tmp_path):
    work = tmp_path / "work.py"
    work.write_text(
        "import os, pathlib, sys, time\n"
        "from timesurf.bench.processes import Plan, each\n"
        "def wait(job):\n"
        "    pathlib.Path(sys.argv[1], str(os.getpid())).touch()\n"
        "    time.sleep(60)\n"
        "if __name__ == '__main__':\n"
        "    list(each(wait, [1, 2], Plan(2)))\n",
        "utf-8",
    )
    pids = tmp_path / "pids"
    pids.mkdir()
    parent = subprocess.Popen([sys.executable, work, pids], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _until(lambda: len(list(pids.iterdir())) == 2)
    finally:
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
    _until(lambda: not any(_runs(pid.name) for pid in pids.iterdir()))


def _runs(pid):
    """Whether a process is there and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _until(holds, seconds=60):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)
