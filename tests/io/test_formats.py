"""Formats with readers of our own: on files that the test writes, on damaged ones, and on real ones where they are."""

import struct

import numpy as np
import pytest

from timesurf import EventError
from timesurf.datasets import sources
from timesurf.io import camera, formats
from timesurf.io.clock import Clock

# (x, y, t, p)
EVENTS = [(3, 1, 10, 1), (127, 0, 20, 0), (0, 127, 20, 1), (64, 100, 2_000_000, 0)]


def tuples(recording):
    """Events of a recording as (x, y, t, p)."""
    return list(zip(*(values.tolist() for values in (*recording.coords, recording.t, recording.p)), strict=True))


# ---------------------------------------------------------------------- AEDAT 2

HEADER2 = b"#!AER-DAT2.0\r\n# This is a raw AE data file - do not edit\r\n"


def dvs128(x, y, p):
    return (127 - y) << 8 | (127 - x) << 1 | (1 - p)


def davis346(x, y, p):
    return (259 - y) << 22 | (345 - x) << 12 | p << 11


def aedat2(path, events, address, header=HEADER2):
    path.write_bytes(header + b"".join(struct.pack(">II", address(x, y, p), t % 2**32) for x, y, t, p in events))
    return path


def test_aedat2_of_a_dvs128(tmp_path):
    path = aedat2(tmp_path / "a.aedat", EVENTS, dvs128)
    assert tuples(camera.read(path)) == EVENTS
    assert camera.read(path).field == (128, 128)
    assert sum(map(len, camera.packets(path))) == len(EVENTS)


def test_aedat2_names_its_sensor_or_is_told_it(tmp_path):
    header = HEADER2 + b"# AEChip: eu.seebetter.ini.chips.davis.Davis346BColor\r\n"
    named = aedat2(tmp_path / "a.aedat2", [(345, 259, 5, 1), (0, 0, 6, 0)], davis346, header)
    assert tuples(camera.read(named)) == [(345, 259, 5, 1), (0, 0, 6, 0)]
    silent = aedat2(tmp_path / "b.aedat2", [(345, 259, 5, 1), (1, 0, 6, 0)], davis346)
    with pytest.raises(EventError, match=r"b\.aedat2: it does not name its sensor; give sensor, one of dvs128"):
        camera.read(silent)
    assert camera.read(silent, sensor="davis346").field == (346, 260)
    with formats.assuming(formats.Asked(sensor="davis346")):
        assert tuples(camera.read(silent))[1] == (1, 0, 6, 0)
    with pytest.raises(EventError, match=r"the address 0x\S+ at byte \d+ is off the field of 240 x 180"):
        camera.read(silent, sensor="davis240")
    with pytest.raises(EventError, match="no sensor is called 'eye'"):
        camera.read(silent, sensor="eye")


def test_aedat2_leaves_out_frames_and_triggers(tmp_path):
    path = tmp_path / "a.aedat"
    others = struct.pack(">II", 1 << 31 | 5, 3) + struct.pack(">II", 1 << 10, 4)
    header = HEADER2 + b"# AEChip: Davis346\n"
    aedat2(path, [(1, 2, 5, 1)], davis346, header)
    path.write_bytes(path.read_bytes() + others)
    assert tuples(camera.read(path)) == [(1, 2, 5, 1)]


def test_aedat2_cut_short_names_the_byte(tmp_path):
    path = aedat2(tmp_path / "a.aedat", EVENTS, dvs128)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(EventError, match=rf"a\.aedat cannot be read: the event at byte {len(HEADER2) + 24} is cut"):
        camera.read(path)


def test_a_clock_that_begins_again_goes_on():
    clock = Clock(32)
    assert clock.whole(np.array([2**32 - 5, 3], np.uint32)).tolist() == [2**32 - 5, 2**32 + 3]
    assert clock.whole(np.array([2**31, 2**32 - 1, 0], np.uint32)).tolist()[-1] == 2 * 2**32
    assert Clock(32).whole(np.array([10, 4], np.uint32)).tolist() == [10, 4]  # a step back, not a restart


def test_events_out_of_order_are_named(tmp_path):
    path = aedat2(tmp_path / "a.aedat", [(1, 1, 10, 1), (100, 100, 12, 1), (1, 1, 11, 1)], dvs128)
    with pytest.raises(EventError, match=r"a\.aedat, event 2: time 11 us comes before 12 us, out of order"):
        camera.read(path)


# ---------------------------------------------------------------------- AEDAT 3.1

HEADER3 = b"#!AER-DAT3.1\r\n#Format: RAW\r\n#Source 1: DVS128\r\n#Start-Time: 2016\r\n#!END-HEADER\r\n"


def packet3(events, kind=1, overflow=0, size=8, number=None):
    number = len(events) if number is None else number
    about = struct.pack("<hhiiiiii", kind, 1, size, 4, overflow, len(events), number, len(events))
    return about + b"".join(struct.pack("<Ii", x << 17 | y << 2 | p << 1 | 1, t) for x, y, t, p in events)


def test_aedat3_is_read_packet_by_packet(tmp_path):
    path = tmp_path / "a.aedat"
    other, later = packet3([(1, 1, 1, 1)], kind=0), packet3([(5, 6, 7, 1)], overflow=1)
    path.write_bytes(HEADER3 + packet3(EVENTS[:2]) + other + packet3(EVENTS[2:]) + later)
    assert tuples(camera.read(path)) == [*EVENTS, (5, 6, 2**31 + 7, 1)]
    assert camera.read(path).field == (128, 128)
    assert [len(packet) for packet in camera.packets(path)] == [2, 2, 1]


def test_events_that_aedat3_calls_invalid_are_left_out(tmp_path):
    invalid = bytearray(packet3(EVENTS[:2]))
    invalid[28] &= 0xFE
    (tmp_path / "a.aedat3").write_bytes(HEADER3 + invalid)
    assert tuples(camera.read(tmp_path / "a.aedat3")) == EVENTS[1:2]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (HEADER3[:40], "header does not end"),
        (HEADER3.replace(b"RAW", b"Serial-TS"), "its format is Serial-TS"),
        (HEADER3 + packet3(EVENTS)[:20], rf"the packet at byte {len(HEADER3)} is cut short"),
        (HEADER3 + packet3(EVENTS)[:-1], rf"byte {len(HEADER3)} says 4 events of 8 bytes, which do not fit"),
        (HEADER3 + packet3(EVENTS, number=-1), "says -1 events"),
        (HEADER3 + packet3(EVENTS, number=2**31 - 1), "do not fit"),
        (HEADER3 + packet3(EVENTS, size=2, number=3), "no packet of polarity events"),
    ],
)
def test_damaged_aedat3_is_an_error_in_one_line(tmp_path, content, why):
    (tmp_path / "a.aedat").write_bytes(content)
    with pytest.raises(EventError, match=rf"^[^\n]*a\.aedat cannot be read: [^\n]*{why}[^\n]*$"):
        camera.read(tmp_path / "a.aedat")


# ---------------------------------------------------------------------- NAS, DAT


def test_nas_is_one_dimension_of_channels(tmp_path):
    path = tmp_path / "a.aedat"
    spikes = [(9, 100), (64, 104), (127, 2**31), (0, 2**32 - 1), (2, 9)]
    path.write_bytes(b"".join(struct.pack(">HI", *spike) for spike in spikes))
    spikes = camera.read(path)
    assert spikes.field == (64,)
    assert spikes.coords[0].tolist() == [4, 32, 63, 0, 1]
    assert spikes.p.tolist() == [1, 0, 1, 0, 0]
    assert spikes.t.tolist() == [20, 20, 2**31 // 5, (2**32 - 1) // 5, (2**32 + 9) // 5]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(
        EventError, match=r"29 bytes are no whole number of NAS's records of 6; the last begins at byte 24"
    ):
        camera.read(path)
    path.write_bytes(struct.pack(">HI", 5, 0) + struct.pack(">HI", 5000, 0))
    with pytest.raises(EventError, match="the address at byte 6 is of channel 2500"):
        camera.read(path)


@pytest.mark.parametrize(("kind", "good"), [(0x00, True), (0x0C, True), (0x28, False)])
def test_dat_is_read_without_faery(tmp_path, kind, good):
    records = b"".join(struct.pack("<II", t, p << 28 | y << 14 | x) for x, y, t, p in EVENTS)
    path = tmp_path / "a.dat"
    path.write_bytes(b"% Data file\n% Version 2\n% Width 304\n% Height 240\n" + bytes([kind, 8]) + records)
    if good:
        assert tuples(camera.read(path)) == EVENTS
        assert camera.read(path).field == (304, 240)
    else:
        with pytest.raises(EventError, match="at byte 49 there are no events"):
            camera.read(path)


# ---------------------------------------------------------------------- HDF5


@pytest.fixture
def h5py():
    return pytest.importorskip("h5py", reason="h5py is an extra: pip install 'timesurf[hdf5]'")


def arrays():
    x, y, t, p = (np.array(values) for values in zip(*EVENTS, strict=True))
    return {"x": x.astype("u2"), "y": y.astype("u2"), "t": t, "p": p.astype("u1")}


def test_hdf5_of_prophesee(tmp_path, h5py):
    table = np.zeros(len(EVENTS), [("x", "<u2"), ("y", "<u2"), ("p", "<i2"), ("t", "<i8")])
    for name, values in arrays().items():
        table[name] = values
    with h5py.File(tmp_path / "a.hdf5", "w") as file:
        file.create_dataset("CD/events", data=table)
        file.attrs["geometry"] = "1280x720"
    assert tuples(camera.read(tmp_path / "a.hdf5")) == EVENTS
    assert camera.read(tmp_path / "a.hdf5").field == (1280, 720)


def test_hdf5_of_dsec(tmp_path, h5py):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for name, values in arrays().items():
            file[f"events/{name}"] = values
        file["t_offset"], file["ms_to_idx"] = 5_000_000_000, [0, 3]
    assert tuples(camera.read(tmp_path / "a.h5")) == [(x, y, t + 5_000_000_000, p) for x, y, t, p in EVENTS]
    assert camera.read(tmp_path / "a.h5").field == (640, 480)


def test_other_hdf5_by_names_and_units(tmp_path, h5py):
    held = arrays()
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["events/xs"], file["events/ys"], file["events/ps"] = held["x"], held["y"], held["p"] * 2.0 - 1
        file["events/ts"] = held["t"] / 1e6
        file.attrs["sensor_resolution"] = [180, 240]
    assert tuples(camera.read(tmp_path / "a.h5")) == EVENTS
    assert camera.read(tmp_path / "a.h5").field == (240, 180)
    assert camera.read(tmp_path / "a.h5", unit="ms").t.tolist() == [0, 0, 0, 2000]


def test_damaged_hdf5_is_an_error_in_one_line(tmp_path, h5py):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["events/x"], file["events/t"] = [1, 2], [1, 2, 3]
        file["other"] = 1
    with pytest.raises(EventError, match=r"^[^\n]*different lengths: \[2, 3\][^\n]*$"):
        camera.read(path)
    with h5py.File(path, "w") as file:
        for name in ("x", "t"):
            file.create_dataset(f"events/{name}", shape=10**12, chunks=1000, dtype="i8")
    with pytest.raises(EventError, match="said to have 1,000,000,000,000 events"):
        camera.read(path)
    path.write_bytes(path.read_bytes()[:600])
    with pytest.raises(EventError, match=r"^[^\n]*a\.h5 cannot be read: [^\n]*$"):
        camera.read(path)
    with h5py.File(path, "w") as file:
        file["other"] = 1
    with pytest.raises(EventError, match="holds other: events are needed at CD/events"):
        camera.read(path)
    path.write_bytes(b"hello world")
    with pytest.raises(EventError, match="at byte 0 it begins with b'hello world', not as HDF5 does"):
        camera.read(path)


# ---------------------------------------------------------------------- bags of ROS


def bag(path, kind, messages):
    """A bag of one topic, written by rosbags: `.bag` for ROS 1, else a folder of ROS 2."""
    pytest.importorskip("rosbags", reason="rosbags is an extra: pip install 'timesurf[ros]'")
    from rosbags import rosbag1, rosbag2
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    from timesurf.io import ros

    one = path.suffix == ".bag"
    store = get_typestore(Stores.ROS1_NOETIC if one else Stores.ROS2_HUMBLE)
    for name, text in ros.DEFINITIONS.items():
        store.register(get_types_from_msg(text.replace("builtin_interfaces/Time", "time") if one else text, name))
    header = store.types["std_msgs/msg/Header"]
    time = store.types["builtin_interfaces/msg/Time"]
    made = rosbag1.Writer(path) if one else rosbag2.Writer(path, version=9)
    with made as writer:
        topic = writer.add_connection("/events", kind, typestore=store)
        for i, content in enumerate(messages):
            stamp = time(sec=1, nanosec=i)
            of = {"seq": i, "stamp": stamp, "frame_id": "camera"} if one else {"stamp": stamp, "frame_id": "camera"}
            message = store.types[kind](header=header(**of), height=480, width=640, **content(store))
            raw = store.serialize_ros1(message, kind) if one else store.serialize_cdr(message, kind)
            writer.write(topic, i, raw)
    return path


def dvs_message(events):
    def content(store):
        event, time = store.types["dvs_msgs/msg/Event"], store.types["builtin_interfaces/msg/Time"]
        times = [time(sec=t // 10**6, nanosec=t % 10**6 * 1000) for _, _, t, _ in events]
        return {
            "events": [event(x=x, y=y, ts=ts, polarity=bool(p)) for (x, y, _, p), ts in zip(events, times, strict=True)]
        }

    return content


def packet_message(encoding, data, time_base=0):
    return lambda store: {
        "seq": 1, "time_base": time_base, "encoding": encoding, "is_bigendian": False,
        "events": np.frombuffer(data, np.uint8),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["a.bag", "folder"])
def test_bags_of_event_arrays(tmp_path, name):
    path = bag(tmp_path / name, "dvs_msgs/msg/EventArray", [dvs_message(EVENTS[:3]), dvs_message(EVENTS[3:])])
    for found in (camera.read(path), sources.load(path)):
        assert tuples(found) == EVENTS
        assert found.field == (640, 480)


@pytest.mark.parametrize("name", ["a.bag", "folder"])
def test_bags_of_event_packets(tmp_path, name):
    mono = b"".join(struct.pack("<Q", p << 63 | y << 48 | x << 32 | t * 1000) for x, y, t, p in EVENTS)
    kind = "event_camera_msgs/msg/EventPacket"
    assert tuples(camera.read(bag(tmp_path / name, kind, [packet_message("mono", mono)]))) == EVENTS
    strange = bag(tmp_path / f"strange{name}", kind, [packet_message("libcaer", mono)])
    with pytest.raises(EventError, match="message 0 of its events: its encoding is 'libcaer'"):
        camera.read(strange)


def test_evt3_keeps_its_state_between_messages():
    from timesurf.io.ros import Evt3

    decoder = Evt3()
    first = [0x2005, 0x8001, 0x6002, 0x0007, 0x2805, 0x3810, 0x4005]  # an event before any time, then three
    assert decoder(np.array(first, "<u2").view(np.uint8)).tolist() == [
        (5, 7, 4098, 1), (16, 7, 4098, 1), (18, 7, 4098, 1),
    ]  # fmt: skip
    again = [0x5081, 0x8FFF, 0x8000, 0x2003]
    assert decoder(np.array(again, "<u2").view(np.uint8)).tolist() == [
        (28, 7, 4098, 1), (35, 7, 4098, 1), (3, 7, 1 << 24, 0),
    ]  # fmt: skip


def test_damaged_bags_are_errors_in_one_line(tmp_path):
    path = bag(tmp_path / "a.bag", "dvs_msgs/msg/EventArray", [dvs_message(EVENTS)])
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(EventError, match=r"^[^\n]*a\.bag cannot be read: [^\n]*$"):
        camera.read(path)


def test_an_extra_that_is_missing_is_named(tmp_path, monkeypatch):
    import sys

    (tmp_path / "a.h5").write_bytes(b"\x89HDF\r\n\x1a\n")
    (tmp_path / "a.bag").write_bytes(b"#ROSBAG V2.0\n")
    for package, name in (("h5py", "a.h5"), ("rosbags.highlevel", "a.bag")):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(EventError, match=rf"pip install 'timesurf\[{'hdf5' if package == 'h5py' else 'ros'}\]'"):
            camera.read(tmp_path / name)


# ---------------------------------------------------------------------- real files, and folders

REAL = {
    "davis346.aedat4": (117_667, (346, 260), "faery"),
    "davis346_small.aedat4": (6_676, (346, 260), "faery"),
    "evt3_gen41_small.raw": (5_000, (1280, 720), "faery"),
    "ncars_a.dat": (2_009, (78, 42), "numpy"),
    "small.es": (2_628, (30, 32), "faery"),
    "ros1_evt3.bag": (343_474, (640, 480), "rosbags"),
    "cochlea_ams_vowels.aedat2": (111_318, (64,), "numpy"),
    "nas_mono32_6byte.aedat": (49_864, (32,), "numpy"),
}


@pytest.mark.parametrize("name", REAL)
def test_files_of_real_sensors(data_folder, name):
    path = data_folder / "files" / name
    if not path.exists():
        pytest.skip(f"{name} is not here")
    number, field, package = REAL[name]
    pytest.importorskip(package)
    recording = camera.read(path)
    assert (len(recording.t), recording.field, recording.polarities) == (number, field, 2)
    assert len(np.unique(recording.p)) == 2


def test_folders_of_csv_files_per_class_and_flat_ones(tmp_path):
    for name in ("cup/a.csv", "cup/b.csv", "pen/a.csv", "c.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x,y,t,p\n1,2,10,1\n3,0,12,-1\n", "utf-8")
    (tmp_path / "pen" / "notes.txt").write_text("nothing of interest", "utf-8")
    recordings = sources.load(tmp_path)
    assert recordings.labels.tolist() == ["", "cup", "cup", "pen"]
    assert recordings.field == (4, 3)
    assert (len(sources.load(tmp_path / "cup")), sources.load(tmp_path / "cup").labels) == (2, None)


def test_folders_do_not_mix_channels_and_pixels(tmp_path):
    (tmp_path / "a.csv").write_text("channel,t\n1,2\n", "utf-8")
    (tmp_path / "b.csv").write_text("x,y,t\n1,2,3\n", "utf-8")
    with pytest.raises(EventError, match=r"a\.csv has a field of 2 and b\.csv has a field of 2 x 3"):
        sources.load(tmp_path)
