"""Arrays mapped from files: pages that are given back, arrays written part by part."""

import os
from pathlib import Path

import numpy as np
import pytest

from timesurf.storage import mapped
from timesurf.storage.mapped import Spool


def spooled(*parts):
    spool = Spool()
    for part in parts:
        spool.append(part)
    return spool.array()


def resident():
    """Bytes of mapped files in the memory of this process."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssFile"))


def test_parts_follow_one_another_and_no_file_is_left(tmp_path, monkeypatch):
    monkeypatch.setenv("TIMESURF_CACHE", str(tmp_path))
    whole = spooled(np.arange(3, dtype=np.int16), np.arange(0, dtype=np.int16), np.arange(6, dtype=np.int16)[::2])
    assert whole.tolist() == [0, 1, 2, 0, 2, 4]
    assert whole.dtype == np.int16
    assert not mapped.has_name(whole)
    assert list(tmp_path.iterdir()) == []


def test_nothing_and_nothing_is_an_empty_array():
    assert spooled(np.empty(0, np.uint8)).dtype == np.uint8
    assert len(spooled(np.empty(0, np.uint8), np.empty(0, np.uint8))) == 0


def test_parts_of_another_dtype_are_refused():
    with pytest.raises(TypeError, match="dtype int8 cannot follow parts of dtype int16"):
        spooled(np.zeros(1, np.int16), np.zeros(1, np.int8))


def test_a_cache_folder_that_cannot_be_made_does_not_stop_a_spool(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way", "utf-8")
    monkeypatch.setenv("TIMESURF_CACHE", str(tmp_path / "file" / "cache"))
    assert spooled(np.arange(2)).tolist() == [0, 1]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_disk_is_an_error_that_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("TIMESURF_CACHE", str(tmp_path))
    spool = Spool()
    spool._file.close()
    spool._file = open("/dev/full", "wb", buffering=0)  # noqa: SIM115
    with pytest.raises(OSError, match=r"No space left on device: .*Set TIMESURF_CACHE"):
        spool.append(np.zeros(10))
    spool._file.close()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's /proc")
def test_released_pages_leave_memory_and_are_read_again():
    whole = spooled(*[np.full(1 << 20, k, np.uint8) for k in range(32)])
    total = int(whole.sum())
    before = resident()
    mapped.release(whole[5:])
    assert resident() < before - (24 << 20)
    assert int(whole.sum()) == total


def test_changes_to_a_private_copy_are_not_released(tmp_path):
    (tmp_path / "a").write_bytes(bytes(1 << 16))
    own = np.memmap(tmp_path / "a", np.uint8, mode="c")
    own[:] = 7
    mapped.release(own)
    assert (own == 7).all()
    assert os.path.getsize(tmp_path / "a") == 1 << 16
