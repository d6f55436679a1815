"""Remote files: fetched once, again when they change, and sent to other processes by their address."""

import pickle

import numpy as np
import pytest

from timesurf.datasets import sentences, sources
from timesurf.errors import MissingEngineError
from timesurf.io import npz
from timesurf.storage import remote

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")


@pytest.fixture
def bucket(tmp_path, monkeypatch):
    """An address of a file, and the file."""
    monkeypatch.setenv("TIMESURF_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "bucket" / "words.npz"
    file.parent.mkdir()
    npz.write(file, sentences.make(4, seed=0))
    return f"file://{file}", file


def test_recordings_come_from_an_address(bucket):
    url, file = bucket
    recordings = sources.load(url)
    assert recordings.mapped
    np.testing.assert_array_equal(recordings.t, npz.read(file).t)


def test_a_copy_is_made_once_and_again_when_the_file_has_changed(bucket):
    url, file = bucket
    copy = remote.local(url)
    written = copy.stat().st_mtime_ns
    assert remote.local(url) == copy
    assert copy.stat().st_mtime_ns == written
    npz.write(file, sentences.make(5, seed=0))
    assert len(sources.load(url)) == 5


def test_another_process_fetches_its_own_copy(bucket):
    url, _ = bucket
    pickled = pickle.dumps(sources.load(url)[1:3])
    remote.local(url).unlink()
    arrived = pickle.loads(pickled)  # our own
    np.testing.assert_array_equal(arrived.t, sources.load(url)[1:3].t)


def test_what_is_not_there_is_named(bucket):
    with pytest.raises(FileNotFoundError, match="nothing"):
        sources.load(bucket[0].replace("words", "nothing"))
    with pytest.raises(FileNotFoundError, match="Protocol not known"):
        sources.load("nowhere://words.npz")


def test_without_fsspec_it_says_what_to_install(bucket, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
    with pytest.raises(MissingEngineError, match=r"timesurf\[dask\]"):
        sources.load(bucket[0])
