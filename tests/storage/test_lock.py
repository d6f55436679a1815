"""A folder is held by one training at a time, and a process that dies leaves nothing behind."""

import re
import subprocess
import sys

import pytest

from timesurf import Network
from timesurf.datasets import sentences
from timesurf.errors import FolderInUseError
from timesurf.presets import SENTENCES
from timesurf.storage import lock

HOLD = """
import sys, time
from timesurf.storage import lock
with lock.held(sys.argv[1]):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def other(tmp_path):
    """Another process that holds the folder."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_folder_that_another_process_holds_is_refused_and_named(tmp_path, other):
    with (
        pytest.raises(FolderInUseError, match=f"{re.escape(str(tmp_path))} is in use by another training"),
        lock.held(tmp_path),
    ):
        pass


def test_a_killed_process_leaves_the_folder_free(tmp_path, other):
    other.kill()
    other.wait(30)
    with lock.held(tmp_path):
        pass


def test_a_folder_can_be_held_again_after_an_error(tmp_path):
    with pytest.raises(ZeroDivisionError), lock.held(tmp_path / "new"):
        raise ZeroDivisionError
    with lock.held(tmp_path / "new"), pytest.raises(FolderInUseError), lock.held(tmp_path / "new"):
        pass


def test_two_trainings_do_not_share_checkpoints(tmp_path, other):
    data = sentences.make(4, seed=0, duration="1 ms")
    network = SENTENCES.network(data, sentences.TASK1, 0)
    with pytest.raises(FolderInUseError, match="choose another folder"):
        network.fit(data, passes=1, checkpoints=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]
    other.kill()
    other.wait(30)
    assert isinstance(network.fit(data, passes=1, checkpoints=tmp_path), Network)
