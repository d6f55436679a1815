"""Files of cameras: written and read by faery itself; what it cannot do ends in an error that names the file."""

import sys

import numpy as np
import pytest

from tests.memory import peak
from timesurf import EventError, Recordings
from timesurf.io import camera, formats

FIELD = (64, 48)


@pytest.fixture
def faery():
    return pytest.importorskip("faery", reason="faery is an extra: pip install 'timesurf[formats]'")


def made(n=1000, start=1_000, span=1_000_000):
    rng = np.random.default_rng(n)
    t = start + np.sort(rng.integers(0, span, n))
    x, y = (rng.integers(0, size, n) for size in FIELD)
    return Recordings([x, y], t, rng.integers(0, 2, n), field=FIELD, polarities=2)


def theirs(faery, recording):
    events = np.empty(len(recording.t), dtype=faery.EVENTS_DTYPE)
    events["x"], events["y"] = recording.coords
    events["t"], events["on"] = recording.t, recording.p
    return events


def assert_same_events(one, other):
    for mine, its in zip((*one.coords, one.t, one.p), (*other.coords, other.t, other.p), strict=True):
        np.testing.assert_array_equal(mine, its)


@pytest.mark.parametrize("suffix", [*camera.WRITTEN, ".ES"])
def test_what_is_written_is_read(tmp_path, faery, suffix):
    path = tmp_path / f"a{suffix}"
    camera.write(path, made(20_000))
    again = camera.read(path, field=FIELD if suffix == ".csv" else None)
    assert_same_events(again, made(20_000))
    assert (again.field, again.polarities, again.labels) == (FIELD, 2, None)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("name", "version"), [("a.raw", "evt2"), ("a.raw", "evt3"), ("a.dat", "dat1"), ("a.dat", "dat2"), ("a.es", None)]
)
def test_files_of_other_programs_are_read(tmp_path, faery, name, version):
    events = theirs(faery, made())
    faery.events_stream_from_array(events, FIELD).to_file(tmp_path / name, version=version, zero_t0=False)
    assert_same_events(camera.read(tmp_path / name), made())


def test_a_silence_of_an_hour_is_kept(tmp_path, faery):
    sparse = made(50, span=4_000_000_000)
    for suffix in camera.WRITTEN:
        camera.write(tmp_path / f"a{suffix}", sparse)
        np.testing.assert_array_equal(camera.read(tmp_path / f"a{suffix}").t, sparse.t)


def test_clocks_that_count_from_1970_are_kept_or_refused(tmp_path, faery):
    late = made(start=1_700_000_000_000_000)
    for suffix in (".aedat4", ".csv"):
        camera.write(tmp_path / f"a{suffix}", late)
        np.testing.assert_array_equal(camera.read(tmp_path / f"a{suffix}").t, late.t)
    for suffix in (".raw", ".dat", ".es"):
        with pytest.raises(EventError, match="subtract the first time"):
            camera.write(tmp_path / f"a{suffix}", late)
        assert not (tmp_path / f"a{suffix}").exists()


@pytest.mark.parametrize("suffix", camera.WRITTEN)
def test_long_files_come_in_small_packets(tmp_path, faery, suffix):
    long = made(200_000)
    camera.write(tmp_path / f"a{suffix}", long)
    parts = list(camera.packets(tmp_path / f"a{suffix}"))
    assert all(0 < len(part) < 2**15 and part.dtype == camera.DTYPE for part in parts)
    assert_same_events(Recordings.from_structured([np.concatenate(parts)], field=FIELD, polarities=2), long)


def test_an_aedat4_file_cut_short_is_an_error(tmp_path, faery):
    path = tmp_path / "a.aedat4"
    camera.write(path, made())
    path.write_bytes(path.read_bytes()[:-100])
    for call in (camera.read, camera.packets):
        with pytest.raises(EventError, match=r"a\.aedat4 cannot be read: .*record it again"):
            call(path)


@pytest.mark.parametrize("suffix", [".es", ".dat", ".raw"])
def test_other_files_cut_short_are_read_up_to_the_cut(tmp_path, faery, suffix):
    path = tmp_path / f"a{suffix}"
    camera.write(path, made())
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    part = camera.read(path)
    assert 300 < len(part.t) < 700
    np.testing.assert_array_equal(part.t, made().t[: len(part.t)])


@pytest.mark.parametrize("suffix", camera.WRITTEN)
def test_files_of_something_else_are_errors(tmp_path, faery, suffix):
    path = tmp_path / f"a{suffix}"
    for content in (b"\0" * 500, np.random.default_rng(0).bytes(500), b"hello world\n" * 40):
        path.write_bytes(content)
        with pytest.raises(EventError, match=f"a\\{suffix}[ ,]"):
            camera.read(path)


def test_a_raw_file_that_names_no_field_is_read_with_one(tmp_path, faery):
    path = tmp_path / "a.raw"
    camera.write(path, made())
    _, _, events = path.read_bytes().partition(b"geometry 64x48\n")
    path.write_bytes(b"% evt 2.0\n" + events)
    with pytest.raises(EventError, match="size of its field"):
        camera.packets(path)
    assert_same_events(camera.read(path, field=FIELD), made())
    assert sum(map(len, camera.packets(path, field=FIELD))) == 1000


def test_a_panic_of_the_library_is_an_error(tmp_path, faery):
    (tmp_path / "a.raw").write_bytes(b"% evt 2.1\n% geometry 64x48\n% end\n" + bytes(64))
    with pytest.raises(EventError, match=r"a\.raw cannot be read: not yet implemented"):
        camera.read(tmp_path / "a.raw")


def test_events_off_a_field_that_is_given_are_named(tmp_path, faery):
    camera.write(tmp_path / "a.es", made())
    with pytest.raises(EventError, match=r"a\.es: recording 0, event \d+: x = \d+ is off the field"):
        camera.read(tmp_path / "a.es", field=(8, 48))


@pytest.mark.parametrize("suffix", camera.WRITTEN)
def test_files_without_events_are_errors(tmp_path, faery, suffix):
    path = tmp_path / f"a{suffix}"
    camera.write(path, Recordings([[], []], t=[], field=FIELD))
    assert list(camera.packets(path)) == []
    with pytest.raises(EventError, match="no events"):
        camera.read(path)
    path.write_bytes(b"")
    with pytest.raises(EventError, match="0 bytes"):
        camera.read(path)


def test_missing_files_and_other_formats_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        camera.read(tmp_path / "a.es")
    (tmp_path / "b.es").mkdir()
    with pytest.raises(FileNotFoundError, match="a folder"):
        camera.read(tmp_path / "b.es")
    for call in (camera.read, camera.packets, lambda path: camera.write(path, made())):
        with pytest.raises(EventError, match=r"no known format(?: to write)?; known are \.aedat4, \.aedat, "):
            call(tmp_path / "a.mp4")


def test_what_no_camera_sees_is_not_written(tmp_path):
    for odd in (
        Recordings([[0]], t=[0], field=(5,)),
        Recordings([[0], [0]], t=[0], p=[2], field=(5, 5), polarities=3),
    ):
        with pytest.raises(EventError, match=r"an \.npz file takes any"):
            camera.write(tmp_path / "a.es", odd)


def test_a_failed_write_leaves_the_old_file(tmp_path, faery):
    camera.write(tmp_path / "a.raw", made())
    wide = Recordings([[2999], [0]], t=[0], field=(3000, 10))
    with pytest.raises(EventError, match=r"a\.raw cannot be written: the width"):
        camera.write(tmp_path / "a.raw", wide)
    assert_same_events(camera.read(tmp_path / "a.raw"), made())
    assert [file.name for file in tmp_path.iterdir()] == ["a.raw"]
    with pytest.raises(FileNotFoundError, match="folder does not exist"):
        camera.write(tmp_path / "nowhere" / "a.raw", made())


def test_without_faery_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "faery", None)
    (tmp_path / "a.es").write_bytes(b"Event Stream")
    for call in (
        lambda: camera.read(tmp_path / "a.es"),
        lambda: camera.packets(tmp_path / "a.es"),
        lambda: camera.write(tmp_path / "b.es", made()),
    ):
        with pytest.raises(EventError, match=r"pip install 'timesurf\[formats\]'"):
            call()


def test_a_file_is_in_memory_once_while_it_is_read(tmp_path):
    """13 bytes per event, an eighth more while they grow, and what Recordings adds; a list of packets took 26."""
    n = 400_000
    camera.write(tmp_path / "a.csv", made(n))
    next(camera.packets(tmp_path / "a.csv"))  # the kernel is compiled
    most, found = peak(lambda: camera.read(tmp_path / "a.csv"))
    assert most < 21 * n
    np.testing.assert_array_equal(found.t, made(n).t)


def test_a_long_recording_is_mapped_and_otherwise_the_same(tmp_path, monkeypatch):
    recording = made(5000)
    camera.write(tmp_path / "a.csv", recording)
    monkeypatch.setattr(camera, "_IN_MEMORY", 700)
    monkeypatch.setattr(formats, "AT_ONCE", 300)
    read = camera.read(tmp_path / "a.csv")
    assert all(isinstance(values, np.memmap) for values in read.arrays)
    for one, other in zip(read.arrays, recording.arrays, strict=True):
        np.testing.assert_array_equal(one, other)
    assert read.field == recording.field
