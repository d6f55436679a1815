"""Write the seed corpus, `corpus/TARGET/`: small good files from which fuzzing starts.

Run: python fuzz/seeds.py
"""

from __future__ import annotations

import io
import shutil
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from containers import Member, zipped
from timesurf import Checkpoints, Full, Network, Recordings, Tile, Window
from timesurf.engines import Parameters
from timesurf.io import camera

CORPUS = Path(__file__).parent / "corpus"


def archive(*, deflated: bool = False, **arrays: Any) -> bytes:
    """An `.npz` without what zip needs beyond 4 GB."""
    members = []
    for name, values in arrays.items():
        content = io.BytesIO()
        np.save(content, np.asarray(values))
        header, _, body = content.getvalue().partition(b"}")
        text = header[10:] + b"}\n"  # NumPy pads the header with spaces; the seeds do not need them
        one = header[:8] + struct.pack("<H", len(text)) + text + body.lstrip(b" ").removeprefix(b"\n")
        members.append(Member(f"{name}.npy".encode(), b"").holding(one, deflated=deflated))
    return zipped(members)


def nmnist(*events: tuple[int, int, int, int]) -> bytes:
    """Events (x, y, p, t) in N-MNIST's 5 bytes."""
    return b"".join(bytes([x, y]) + (p << 23 | t).to_bytes(3, "big") for x, y, p, t in events)


def pieces(form: str, kind: bytes = b"", times: Iterable[int] = ()) -> bytes:
    """Packets of seven events each, with their sizes before them; after a byte that chooses a session."""
    packets = [kind + b"".join(_event(form, t + i, i % 8, i % 6, i % 2) for i in range(7)) for t in times]
    return b"\0" + b"".join(len(packet).to_bytes(2, "little") + packet for packet in packets)


def _event(form: str, t: int, x: int, y: int, p: int) -> bytes:
    """An event, with its time where the form has the widest number, and without polarity if it is short."""
    values = {"<QHHB": (t, x, y, p), "<HHqB": (x, y, t, p), ">QBB": (t, x, y), "<IHHB": (t, x, y, p)}[form]
    return struct.pack(form, *values)


def network(layers: list[Any], field: tuple[int, ...], classes: list[Any], path: Path) -> None:
    """A small model."""
    made = Network(layers, field, 1, classes)
    made.parameters = Parameters.of(
        [np.full((s.units, *s.surface_shape), 0.5) for s in made.stages], [np.ones(s.units) for s in made.stages]
    )
    made.history = [{"recordings": 2, "kept": 0.5}]
    made.save(path)


def checkpoint(path: Path) -> None:
    """A training in the middle of its second pass."""
    data = Recordings([[0, 1, 1]], t=[1, 2, 3], offsets=[0, 1, 2, 3], field=(2,), labels=[0, 1, 0])
    folder = path.parent / "made"
    Network([Full(tau=1)], (2,), 1, [0, 1]).fit(
        data, passes=2, batch_size=1, validation=0.4, checkpoints=Checkpoints(folder, recordings=1)
    )
    Checkpoints(folder).files()[1].rename(path)
    shutil.rmtree(folder)


def hdf5(folder: Path) -> None:
    """A table as Prophesee writes it, and arrays as DSEC does."""
    import h5py

    columns = {"x": [1, 3, 0], "y": [2, 0, 1], "p": [1, 0, 1], "t": [10, 300, 9000]}
    table = np.zeros(3, [("x", "<u2"), ("y", "<u2"), ("p", "<i2"), ("t", "<i8")])
    with h5py.File(folder / "prophesee", "w", libver="latest") as file:
        for name, values in columns.items():
            table[name] = values
        file["CD/events"] = table
        file.attrs["geometry"] = "4x3"
    with h5py.File(folder / "dsec", "w", libver="latest") as file:
        for name, values in columns.items():
            file[f"events/{name}"] = np.array(values)
        file["t_offset"], file["ms_to_idx"] = 5, [0]


def bag(folder: Path) -> None:
    """A bag of ROS 1 with one message of three events."""
    from rosbags.rosbag1 import Writer
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    from timesurf.io import ros

    store, kind = get_typestore(Stores.ROS1_NOETIC), "event_camera_msgs/msg/EventPacket"
    store.register(get_types_from_msg(ros.DEFINITIONS[kind], kind))
    header = store.types["std_msgs/msg/Header"](0, store.types["builtin_interfaces/msg/Time"](1, 2), "")
    words = np.array([0x8001, 0x6002, 0x0001, 0x2802, 0x3801, 0x4005, 0x5001], "<u2")
    message = store.types[kind](header, 3, 99, 0, 0, "evt3", False, words.view(np.uint8))
    path = folder / "one.bag"
    with Writer(path) as writer:
        topic = writer.add_connection("/e", kind, typestore=store)
        writer.write(topic, 1, store.serialize_ros1(message, kind))
    path.rename(folder / "one")


def main() -> None:
    """Write all seeds."""
    for name in (
        "npz",
        "poker",
        "mnist",
        "nmnist",
        "tonic",
        "model",
        "checkpoint",
        "config",
        "csv",
        "dat",
        "aedat2",
        "aedat3",
        "nas",
        "hdf5",
        "ros",
        "raw",
        "es",
        "aedat4",
        "udp",
        "stdin",
        "session",
        "transform",
    ):
        (CORPUS / name).mkdir(parents=True, exist_ok=True)
    events: dict[str, Any] = {
        "x": np.array([0, 2, 1, 3], np.uint8), "y": np.array([1, 0, 2, 2], np.int16),
        "t": np.array([5, 7, 1, 1], np.int64), "p": np.array([0, 1, 1, 0], np.uint8), "offsets": np.array([0, 2, 4]),
    }  # fmt: skip
    files = {
        "npz/all": archive(**events, field=[4, 3], polarities=2, labels=np.array(["a", "b"])),
        "npz/packed": archive(deflated=True, **events, labels=[1, 0]),
        "npz/times": archive(t=[3, 4]),
        "poker/two": archive(**events, labels=np.array(["cl", "sp"])),
        "mnist/two": archive(
            deflated=True, x_train=np.zeros((2, 28, 28), np.uint8), y_train=np.array([3, 4], np.uint8)
        ),
        "mnist/small": archive(x_train=np.zeros((1, 2, 2), np.uint8), y_train=[7]),
        "nmnist/three": nmnist((1, 2, 0, 10), (33, 0, 1, 300), (5, 5, 1, 70_000)),
        "nmnist/overflow": nmnist((1, 2, 0, 8000), (0, 240, 0, 0), (5, 5, 1, 100)),
        "tonic/two": b"\x01\x02" + b"\0\0" + bytes(38) + b"\0\0" + bytes(38),
        "config/some": b'preset = "camera"\npasses = 20\nalpha = 1e-4\ntaus = "10 ms, 1 ms"\n',
        "csv/named": b"t,x,y,on\n10,1,2,1\n12,3,0,0\n",
        "csv/bare": b"10,1,2,1\n12,3,0,0\n",
        "csv/other": b'"x";"timestamp [ms]";"pol";"y"\r\n1;0.5;-1;2\r\n3;0.75e0;1;0\r\n',
        "aedat2/three": b"#!AER-DAT2.0\r\n# AEChip: DVS128\r\n"
        + b"".join(struct.pack(">II", *event) for event in ((5, 7), (0x7F01, 9), (0x8000, 9))),
        "aedat3/three": b"#!AER-DAT3.1\r\n#Source 1: DVS128\r\n#!END-HEADER\r\n"
        + struct.pack("<hhiiiiii", 1, 1, 8, 4, 0, 3, 3, 3)
        + b"".join(struct.pack("<Ii", x << 17 | x << 2 | 3, 9 * x) for x in range(3))
        + struct.pack("<hhiiiiiiQ", 0, 1, 8, 4, 0, 1, 1, 1, 0),
        "nas/three": b"".join(struct.pack(">HI", *event) for event in ((5, 7), (63, 9), (2, 2**31))),
        "stdin/named": b"t,x,y,on\n10,1,2,1\n12,3,0,0\n",
        "stdin/bare": b"".join(b"%d,%d,%d,%d\n" % (9 * i, i % 8, i % 6, i % 2) for i in range(40)),
        "udp/three": pieces("<QHHB", times=(10, 300, 9000)),
        "udp/jump": pieces("<QHHB", times=(10, 4_000_000_000, 4_000_000_001)),
        **{f"session/{n}": bytes([n]) + pieces("<HHqB", b"\0", (10, 300, 9000))[1:] for n in range(3)},
        "session/bytes": pieces(">QBB", b"\1", (10, 300, 9000)),
        **{  # every transform with the next, then every field
            f"transform/{n}": bytes([0, 0, n, *by, n + 1, *by]) + pieces("<IHHB", b"", (10, 300, 9000))[3:66]
            for n, by in enumerate([(1, 1)] * 14 + [(17, 5)] * 6)
        },
        **{
            f"transform/field{n}": bytes([0, n, 1, 1, 1, 6, 5, 5]) + pieces("<IHHB", b"", (10, 300, 9000))[3:66]
            for n in range(1, 9)
        },
    }
    for name, content in files.items():
        (CORPUS / name).write_bytes(content)
    network([Window(1, units=1, tau=1), Full(tau=1)], (2,), [0, 1], CORPUS / "model/window")
    network([Tile((2, 2), units=2, tau="1 ms", feedback_tau=5), Full(tau=1)], (4, 2), ["a", "b"], CORPUS / "model/tile")
    checkpoint(CORPUS / "checkpoint/middle")
    one = Recordings([[1, 3, 0], [2, 0, 1]], t=[10, 300, 9000], p=[1, 0, 1], field=(4, 3), polarities=2)
    hdf5(CORPUS / "hdf5")
    bag(CORPUS / "ros")
    for suffix in ("dat", "raw", "es", "aedat4"):
        path = CORPUS / suffix / f"three.{suffix}"
        camera.write(path, one)
        path.rename(path.with_suffix(""))


if __name__ == "__main__":
    main()
