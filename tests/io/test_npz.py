import contextlib
import io
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesurf.datasets import sentences
from timesurf.errors import EventError
from timesurf.events import Recordings
from timesurf.io import npz


@pytest.fixture
def data():
    return sentences.make(6, seed=3)


def assert_same(one, other):
    for mine, theirs in zip([*one.coords, one.t, one.p, one.offsets], [*other.coords, other.t, other.p, other.offsets],
                            strict=True):  # fmt: skip
        np.testing.assert_array_equal(mine, theirs)
    assert (one.field, one.polarities, one.labels.tolist()) == (other.field, other.polarities, other.labels.tolist())


def test_what_is_written_is_read_and_memory_mapped(tmp_path, data):
    npz.write(tmp_path / "a.npz", data)
    again = npz.read(tmp_path / "a.npz")
    assert_same(again, data)
    assert isinstance(again._t, np.memmap)
    assert [f.name for f in tmp_path.iterdir()] == ["a.npz"]


def test_a_selection_is_written_as_it_stands(tmp_path, data):
    npz.write(tmp_path / "a.npz", data[[4, 1]])
    assert_same(npz.read(tmp_path / "a.npz"), data[[4, 1]])


def test_compressed_files_without_a_field_are_read(tmp_path, data):
    x, y = data.coords
    np.savez_compressed(tmp_path / "a.npz", x=x, y=y, t=data.t, p=data.p, offsets=data.offsets, labels=data.labels)
    assert_same(npz.read(tmp_path / "a.npz"), data)


def test_real_recordings_are_read(data_folder):
    digits = npz.read(data_folder / "nmnist_train_1000.npz", field=(34, 34))
    assert (len(digits), digits.field, digits.polarities) == (1000, (34, 34), 2)
    pips = npz.read(data_folder / "poker_dvs_100.npz")
    assert sorted(set(pips.labels)) == ["cl", "di", "he", "sp"]


def test_a_failed_write_leaves_the_old_file(tmp_path, data, monkeypatch):
    npz.write(tmp_path / "a.npz", data)
    monkeypatch.setattr(npz.npy, "write_array", lambda *_, **__: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        npz.write(tmp_path / "a.npz", data[:1])
    assert_same(npz.read(tmp_path / "a.npz"), data)
    assert [f.name for f in tmp_path.iterdir()] == ["a.npz"]


def test_python_objects_are_not_read(tmp_path):
    np.savez(tmp_path / "a.npz", t=np.array([{}], dtype=object))
    with pytest.raises(EventError, match="Python objects"):
        npz.read(tmp_path / "a.npz")


def test_a_header_that_promises_too_much_is_refused(tmp_path):
    content = io.BytesIO()
    np.lib.format.write_array_header_1_0(content, {"descr": "<i8", "fortran_order": False, "shape": (10**12,)})
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("t.npy", content.getvalue())
    with pytest.raises(EventError, match=r"says 8000000000000 bytes"):
        npz.read(tmp_path / "a.npz")


def test_what_is_missing_is_said(tmp_path):
    np.savez(tmp_path / "a.npz", q=np.arange(3))
    with pytest.raises(EventError, match="needs at least t"):
        npz.read(tmp_path / "a.npz")
    with pytest.raises(FileNotFoundError):
        npz.read(tmp_path / "b.npz")


@given(cut=st.floats(0, 1), flip=st.integers(0, 10**9))
def test_damaged_files_are_errors_not_crashes(tmp_path_factory, cut, flip):
    path = tmp_path_factory.mktemp("npz") / "a.npz"
    npz.write(path, sentences.make(1, seed=0, duration="1 ms"))
    content = bytearray(path.read_bytes())
    content[flip % len(content)] ^= 0xFF
    for damaged in (content[: int(cut * len(content))], content):
        path.write_bytes(damaged)
        with contextlib.suppress(EventError):
            npz.read(path)


@pytest.mark.parametrize("labels", [["a", None, "bc"], [7, None, 3], [None, None, 1], [-1, -1, -1], None])
def test_unlabelled_recordings_are_written_and_read(tmp_path, labels):
    data = Recordings([[0, 0, 0]], t=[1, 2, 3], offsets=[0, 1, 2, 3], field=(1,), labels=labels)
    npz.write(tmp_path / "a.npz", data)
    again = npz.read(tmp_path / "a.npz")
    assert again.labelled.tolist() == data.labelled.tolist()
    assert again.classes.tolist() == data.classes.tolist()
    assert again[[1]].labelled.tolist() == data[[1]].labelled.tolist()


@pytest.mark.parametrize("labels", [[0.5], [b"a"], [1j], np.array(["2026-01-01"], "M8[D]")])
def test_a_file_with_labels_of_another_kind_is_named(tmp_path, labels):
    np.savez(tmp_path / "a.npz", t=[1], labels=labels)
    with pytest.raises(EventError, match=r"a\.npz: labels are .*: use integers or text"):
        npz.read(tmp_path / "a.npz")


def test_a_file_is_the_one_that_numpy_writes(tmp_path, data):
    npz.write(tmp_path / "a.npz", data)
    with np.load(tmp_path / "a.npz") as held:
        np.testing.assert_array_equal(held["t"], data.t)
        assert held["field"].tolist() == list(data.field)
