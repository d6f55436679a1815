"""What is fuzzed: every reader of files, live input and transforms, each a function that takes a path.

A target may succeed, or raise an error of timesurf or of the system; any other error is a finding. What was read must
keep its promises: times in order, coordinates on the field, parameters finite, thresholds not negative.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import mutate
import streams
from timesurf import Network, Recordings
from timesurf.datasets import mnist, nmnist, poker, sources
from timesurf.errors import TimesurfError
from timesurf.io import tonic
from timesurf.learning import checkpoints

REFUSED = (TimesurfError, OSError)  # what a reader may raise


@dataclass(frozen=True)
class Target:
    """A reader and how inputs for it are made."""

    read: Callable[[Path], None]
    file: str  # name of the input's file: readers choose the format by its suffix
    mutate: mutate.Mutator
    spare: int = 4 << 20  # bytes that it may allocate beyond 10 times the file, mostly for parsers


def _events(recordings: Recordings) -> None:
    """The promises of `Recordings`, checked by other code than its own."""
    _promise(len(recordings) >= 1 and recordings.polarities >= 1, "nothing in it")
    _promise(math.prod(recordings.field) * recordings.polarities < 2**31, "a field beyond the bound")
    t, counts = recordings.t, recordings.counts
    _promise(bool((counts >= 0).all()) and sum(counts.tolist()) == len(t), "offsets that overlap")
    for x, size in zip((*recordings.coords, recordings.p), (*recordings.field, recordings.polarities), strict=True):
        _promise(len(x) == len(t), "arrays of different lengths")
        _promise(not len(x) or (int(x.min()) >= 0 and int(x.max()) < size), "coordinates off the field")
    _promise(not len(t) or (int(t.min()) >= 0 and int(t.max()) < 2**62), "times beyond the bound")
    for r in np.flatnonzero(counts > 1)[:100].tolist():
        times = recordings[r].t
        _promise(bool((times[1:] >= times[:-1]).all()), "times out of order")
    labels = recordings.labels
    _promise(labels is None or len(labels.tolist()) == len(recordings), "a wrong number of labels")


def _promise(kept: bool, what: str) -> None:
    if not kept:
        raise AssertionError(what)


def _read_any(path: Path) -> None:
    _events(sources.load(path))


def _read_poker(path: Path) -> None:
    _events(poker.read(path))


def _read_mnist(path: Path) -> None:
    images, digits = mnist.read(path)
    _promise(images.dtype == np.uint8 and images.ndim == 3, "no images")
    _promise(digits.shape == (len(images),) and digits.dtype == np.int64, "no digits")


def _read_nmnist(path: Path) -> None:
    x, y, p, t = nmnist.decode_file(path)
    _events(Recordings([x, y], t, p, field=nmnist.FIELD, polarities=2))


def _read_model(path: Path) -> None:
    network = Network.load(path)
    for stage, units in zip(network.stages, network.parameters, strict=True):
        c, th, frozen = units.arrays
        _promise(c.shape == (stage.units, *stage.surface_shape) and bool(np.isfinite(c).all()), "no centroids")
        _promise(th.shape == frozen.shape == (stage.units,) and bool((th >= 0).all()), "no thresholds")
        _promise(all(type(n) is int for n in (*c.shape, *stage.surface_shape, *stage.output_field)), "no sizes")
        _promise(0 < stage.tau < np.inf and 0 < stage.feedback_tau < np.inf, "no times")
    _promise(bool(np.isfinite(network.rule.per_layer(len(network.stages))).all()), "no rates")
    _promise(network.classes.dtype != object and len(network.classes) == network.stages[-1].units, "no classes")
    _promise(all(isinstance(line, dict) for line in network.history), "no history")
    np.random.default_rng(network.seed)  # the seed is valid
    _promise(bool(repr(network) and network._repr_html_()), "no name")


def _read_checkpoint(path: Path) -> None:
    about, tensors, standing = checkpoints.read(path)
    _promise(isinstance(about["how"], dict) and isinstance(about["history"], list), "no training")
    _promise(standing.passes >= 0 and 0 <= standing.done < 2**62, "no place in it")
    _promise(not standing.done or len(standing.outcomes[0].votes) == standing.done, "no outcome")
    _promise(all(isinstance(array, np.ndarray) for array in tensors.values()), "no tensors")


@cache
def _train() -> Any:
    from typer.main import get_command

    from timesurf.cli import app

    return get_command(app).commands["train"]  # type: ignore[attr-defined]


def _read_config(path: Path) -> None:
    """The settings of `timesurf train`, up to where training would begin."""
    import typer

    with suppress(
        typer.BadParameter.__base__, typer.Exit
    ):  # how the command line refuses settings, and ends after --help
        _train().make_context("train", ["digits.npz", "--model", "digits.tsf", "--config", str(path)])


_KINDS = [
    np.dtype([("x", "<u2"), ("y", "<u2"), ("t", "<i8"), ("p", "u1")]),
    np.dtype([("t", "<i4"), ("x", "<i2"), ("p", "?")]),
    np.dtype([("x", "<f4"), ("y", "<f4"), ("t", "<f4"), ("p", "<f4")]),
    np.dtype([("x", "<i2"), ("y", "<i2"), ("t", "<u8")]),
    np.dtype([("t", "<u8", (2,)), ("x", "u1")]),
    np.dtype([("x", "u1"), ("p", "u1")]),
    np.dtype("<i8"),
    np.dtype([("t", "<M8[us]"), ("x", "S2")]),
]
_SIZES: list[Any] = [
    None,
    (34, 34, 2),
    (None, 3, 2),
    (300, 1, 2),
    (0, 0, 0),
    (2,),
    (2.5, 3, 2),
    ("a", 1, 2),
    (1 << 70, 4, 2),
]
_LABELS: list[Any] = [0, "a", 2.5, None, [1], [1, 2], 1 << 70, -1]


class _Dataset:
    """An object like tonic's data sets, made from bytes: size of the sensor, number of recordings, then each one."""

    def __init__(self, content: bytes) -> None:
        sensor, number, *_ = content + b"\0\0"
        if sensor % 16:
            self.sensor_size = _SIZES[sensor % len(_SIZES)]
        self.parts = [content[2 + 40 * i : 42 + 40 * i] for i in range(number % 5)]

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, i: int) -> tuple[Any, Any]:
        kind, label, *_ = self.parts[i] + b"\0\0"
        dtype = _KINDS[kind % len(_KINDS)]
        raw = self.parts[i][2:]
        return np.frombuffer(raw[: len(raw) - len(raw) % dtype.itemsize], dtype), _LABELS[label % len(_LABELS)]


def _read_tonic(path: Path) -> None:
    _events(tonic.read(_Dataset(path.read_bytes())))


_ARCHIVE = 10 * (8 << 20) + (4 << 20)  # compressed arrays may unpack to 10 times the file and 8 MiB
TARGETS = {
    "npz": Target(_read_any, "a.npz", mutate.npz, _ARCHIVE),
    "poker": Target(_read_poker, "poker.npz", mutate.npz, _ARCHIVE),
    "mnist": Target(_read_mnist, "mnist.npz", mutate.npz, _ARCHIVE),
    "nmnist": Target(_read_nmnist, "00001.bin", mutate.nmnist),
    "tonic": Target(_read_tonic, "a.tonic", mutate.plain),
    "model": Target(_read_model, "a.tsf", mutate.network),
    "checkpoint": Target(_read_checkpoint, "a.tsf", mutate.network),
    "config": Target(_read_config, "a.toml", mutate.toml, 10 << 20),
    "csv": Target(_read_any, "a.csv", mutate.csv),
    "aedat2": Target(_read_any, "a.aedat", mutate.plain),
    "aedat3": Target(_read_any, "a.aedat", mutate.plain),
    "nas": Target(_read_any, "a.aedat", mutate.plain),
    "hdf5": Target(_read_any, "a.h5", mutate.plain),
    "ros": Target(_read_any, "a.bag", mutate.plain, 64 << 20),
    "dat": Target(_read_any, "a.dat", mutate.plain),
    "raw": Target(_read_any, "a.raw", mutate.plain),
    "es": Target(_read_any, "a.es", mutate.plain),
    "aedat4": Target(_read_any, "a.aedat4", mutate.plain),
    "udp": Target(streams.read_udp, "a.datagrams", mutate.datagrams),
    "stdin": Target(streams.read_stdin, "a.csv", mutate.csv),
    "session": Target(streams.read_session, "a.packets", mutate.datagrams),
    "transform": Target(streams.read_transform, "a.events", mutate.plain),
}
