"""Malicious files: found by fuzzing, or made to claim wrong sizes. All are errors, and none allocates much memory."""

import io
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

from timesurf import EventError, Recordings
from timesurf.datasets import mnist, nmnist
from timesurf.io import camera, npz, tonic


def npy(header, data=b""):
    text = header.encode() + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text + data


def described(descr="'<i8'", shape="(1,)", data=bytes(8)):
    return npy(f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}", data)


def archive(path, method=zipfile.ZIP_STORED, **members):
    with zipfile.ZipFile(path, "w", method) as file:
        for name, content in members.items():
            if not isinstance(content, bytes):
                held = io.BytesIO()
                np.save(held, content)
                content = held.getvalue()
            file.writestr(f"{name}.npy", content)
    return path


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"t": npy("{'descr': '<i8', 'fortran_order': False, 'shape': (")}, "not a readable"),
        ({"t": npy("-" * 9000 + "1")}, "not a readable"),
        ({"t": npy("(" * 90)}, "not a readable"),
        ({"t": described("',i8'")}, "not a readable"),
        ({"t": described(shape=f"({10**30}, 0)", data=b"")}, "empty array with a shape"),
        ({"t": [1], "field": described(shape="(1000000000000, 0)", data=b"")}, "empty array with a shape"),
        ({"t": [1], "field": described("'|V0'", "(1000000000000,)", b"")}, "empty array with a shape"),
        ({"t": described(shape="(-1, -1)")}, "says 8 bytes"),
        ({"t": described("('<i8', (100000000,))")}, "says 800000000 bytes"),
        ({"t": [1], "polarities": np.array(np.inf)}, "polarities = inf must be whole"),
        ({"t": [1], "x": np.array([np.inf])}, "x has dtype float64"),
        ({"t": [1], "p": np.array(["a"])}, "p has dtype <U1"),
        ({"t": [1], "field": np.ones(1000, int)}, "field has shape"),
    ],
)
def test_headers_that_lie_are_refused(tmp_path, members, message):
    with pytest.raises(EventError, match=message):
        npz.read(archive(tmp_path / "a.npz", **members))


def test_offsets_whose_differences_run_over_are_refused(tmp_path):
    offsets = np.array([0, 2**63 - 1, -(2**63), -1, 2])  # each difference, in 64 bits, seems positive
    with pytest.raises(EventError, match="recording 1 ends"):
        npz.read(archive(tmp_path / "a.npz", t=[1, 2], offsets=offsets))


def test_a_small_file_does_not_unpack_to_a_large_one(tmp_path):
    path = archive(tmp_path / "a.npz", zipfile.ZIP_DEFLATED, t=np.zeros(10**7, np.int64))
    tracemalloc.start()
    with pytest.raises(EventError, match=r"unpack to 80000128, more than 100 times as much and 8 MiB; .*np\.savez"):
        npz.read(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 * path.stat().st_size


def test_many_entries_for_the_same_bytes_are_counted_each(tmp_path):
    packed = np.zeros(10**6, np.int64)
    path = archive(tmp_path / "a.npz", zipfile.ZIP_DEFLATED, t=packed, x=packed, y=packed)
    with pytest.raises(EventError, match="unpack to"):
        npz.read(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_packing_that_numpy_does_not_write_is_refused(tmp_path, method):
    with pytest.raises(EventError, match="NumPy does not write"):
        npz.read(archive(tmp_path / "a.npz", method, t=[1]))


def test_encrypted_archives_are_refused(tmp_path):
    path = archive(tmp_path / "a.npz", t=[1])
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\1\2") + 8] |= 1
    content[6] |= 1
    path.write_bytes(content)
    with pytest.raises(EventError, match="encrypted"):
        npz.read(path)


def test_arrays_that_are_not_asked_for_are_not_read(tmp_path):
    path = archive(tmp_path / "a.npz", t=[1, 2], notes=described("'|O'"))
    assert npz.read(path).t.tolist() == [1, 2]


def test_checking_events_needs_little_memory(tmp_path):
    path = archive(tmp_path / "a.npz", t=np.zeros(0, np.int64), offsets=np.zeros(10**6, np.uint8))
    tracemalloc.start()
    npz.read(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 * path.stat().st_size + 2**18


@pytest.mark.parametrize(
    "members",
    [
        {"x_train": described("'|u1'", "(1000000000000,)"), "y_train": [1]},
        {"x_train": np.zeros((2, 4, 4), np.uint8), "y_train": np.array(3)},
        {"x_train": np.zeros((2, 4, 4), np.uint8), "y_train": np.array(["a", "b"])},
        {"x_train": np.zeros((2, 4, 4), np.uint8), "y_train": np.zeros((2, 2), int)},
        {"x_train": npy("{'descr'"), "y_train": [1]},
        {"y_train": [1]},
    ],
)
def test_what_is_not_mnist_is_refused(tmp_path, members):
    with pytest.raises(EventError, match=r"Get mnist\.npz"):
        mnist.read(archive(tmp_path / "mnist.npz", **members))


def test_a_clock_that_runs_over_too_often_is_no_recording(tmp_path):
    (tmp_path / "a.bin").write_bytes(bytes([0, 240, 0, 0, 0]) * 2**19 + bytes([1, 1, 0, 0, 0]))
    with pytest.raises(EventError, match="overflows 524288 times"):
        nmnist.decode_file(tmp_path / "a.bin")


def test_structured_events_that_are_no_whole_numbers_are_named():
    good = np.zeros(2, [("t", "<i8"), ("x", "<i8")])
    for kind in ("<f4", "S2", "<M8[us]"):
        with pytest.raises(EventError, match="recording 1: x has dtype"):
            Recordings.from_structured([good, np.zeros(2, [("t", "<i8"), ("x", kind)])])
    with pytest.raises(EventError, match="x = -1 is off the field"):
        Recordings.from_structured([np.array([(0, -1)], [("t", "<i8"), ("x", "<i8")])])


def test_labels_of_different_shapes_are_named():
    good = np.zeros(2, [("t", "<i8"), ("x", "<i8")])
    with pytest.raises(EventError, match="labels are not one flat sequence"):
        tonic.read([(good, [1]), (good, [1, 2])])


@pytest.fixture
def aedat4(tmp_path):
    pytest.importorskip("faery", reason="faery is an extra: pip install 'timesurf[formats]'")
    path = tmp_path / "a.aedat4"
    camera.write(path, Recordings([[1, 3], [2, 0]], t=[10, 300], p=[1, 0], field=(4, 3), polarities=2))
    return path


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"<dv", b"\xff\xfe\xfd", "description is damaged"),
        (b"</dv>", b"</dw>", "description is damaged"),
        (b"<node", b"<!EN ", "no camera writes"),
        (b"\r\n\xac\x02", b"\r\n\xff\xff", "does not fit"),
        (b"IOHE", b"IOHE", None),
    ],
)
def test_aedat4_that_would_end_the_program_is_refused(aedat4, old, new, message):
    content = aedat4.read_bytes()
    assert old in content
    aedat4.write_bytes(content.replace(old, new, 1))
    if message is None:
        assert camera.read(aedat4).t.tolist() == [10, 300]
        return
    with pytest.raises(EventError, match=message):
        camera.read(aedat4)


def test_aedat4_with_packets_beyond_its_end_is_refused(aedat4):
    content = bytearray(aedat4.read_bytes())
    packet = 18 + struct.unpack_from("<I", content, 14)[0]
    struct.pack_into("<I", content, packet + 4, 2**31)
    aedat4.write_bytes(content)
    with pytest.raises(EventError, match=f"packet at byte {packet} does not fit"):
        camera.read(aedat4)


def test_text_that_is_no_text_is_refused(tmp_path):
    with pytest.raises(EventError, match="holds characters that are not Unicode"):
        npz.read(archive(tmp_path / "a.npz", t=[1], labels=described("'<U1'", data=b"\xff\xff\xff\xff")))


def test_events_that_compress_well_are_read(tmp_path):
    count = 1_000_000  # as dense as a cochlea's: zeros and steps, a fiftieth of their size when compressed
    zeros = np.zeros(count, dtype=np.int32)
    arrays = {"x": zeros, "t": np.arange(count, dtype=np.int64) // 8, "p": zeros, "offsets": np.array([0, count])}
    np.savez_compressed(tmp_path / "dense.npz", **arrays)
    assert 10 * (tmp_path / "dense.npz").stat().st_size + (8 << 20) < sum(a.nbytes for a in arrays.values())
    assert npz.read(tmp_path / "dense.npz").counts.tolist() == [count]
