"""Recordings in NumPy's `.npz`: arrays `x, y, z` (as many as there are dimensions), `t`, `p`, `offsets`, `labels`.

`write` stores them uncompressed, and `read` then maps the arrays into memory instead of loading them: a data set may
be larger than memory. Compressed files are read too, whole. `field` and `polarities` are in the file or read off the
events.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from timesurf.errors import EventError
from timesurf.events import AXES, Recordings, axis_name, sizes
from timesurf.files import replacing

Array = NDArray[Any]
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")  # of a member of a zip archive


def read(path: str | Path, *, field: Sequence[int] | None = None, polarities: int | None = None) -> Recordings:
    """Recordings from a file; field and polarities as given, else as the file says, else as the events need."""
    arrays = _arrays(Path(path))
    if "t" not in arrays:
        raise EventError(f"{path} holds {sorted(arrays)}: a recording needs at least t (and x, y, p, offsets, labels).")
    names = [*AXES, *(axis_name(d) for d in range(len(AXES), 32))]
    coords = [arrays[name] for name in names if name in arrays]
    p = arrays.get("p")
    try:
        if field is None:
            field = arrays["field"].tolist() if "field" in arrays else sizes(coords)
        if polarities is None:
            known = arrays.get("polarities")
            polarities = int(known) if known is not None else 1 if p is None else sizes([p])[0]
        return Recordings(
            coords,
            arrays["t"],
            p,
            arrays.get("offsets"),
            field=field,
            polarities=polarities,
            labels=arrays.get("labels"),
        )
    except (EventError, TypeError, ValueError) as error:
        raise EventError(f"{path}: {error}") from error


def write(path: str | Path, recordings: Recordings) -> None:
    """Write recordings so that `read` can map them into memory."""
    arrays = {axis_name(d): x for d, x in enumerate(recordings.coords)}
    arrays |= {"t": recordings.t, "p": recordings.p, "offsets": recordings.offsets}
    arrays |= {"field": np.array(recordings.field, dtype=np.int64), "polarities": np.array(recordings.polarities)}
    if recordings.labels is not None:
        arrays["labels"] = recordings.labels
    with replacing(path) as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]  # the stubs take a name for the keyword allow_pickle


def _arrays(path: Path) -> dict[str, Array]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = {m.filename.removesuffix(".npy"): m for m in archive.infolist() if m.filename.endswith(".npy")}
            return {name: _array(path, archive, member) for name, member in members.items()}
    except (zipfile.BadZipFile, struct.error, ValueError, EOFError, zlib.error, NotImplementedError) as error:
        raise EventError(f"{path} is not a readable .npz file: {error}") from error


def _array(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Array:
    with archive.open(member) as stream:
        version = npy.read_magic(stream)
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read_header(stream)
        begin = stream.tell()
        size = dtype.itemsize * int(np.prod(shape, dtype=object))
        if dtype.hasobject:
            raise ValueError(f"{member.filename} holds Python objects, which are not read")
        if size != member.file_size - begin:
            raise ValueError(f"{member.filename} says {size} bytes of data but holds {member.file_size - begin}")
        if member.compress_type != zipfile.ZIP_STORED or fortran or size == 0:
            return np.frombuffer(stream.read(size), dtype=dtype).reshape(shape)
    with path.open("rb") as file:  # stored as it is: the array can be mapped where it lies
        file.seek(member.header_offset)
        header = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    data = member.header_offset + _LOCAL_HEADER.size + header[9] + header[10] + begin
    if data + size > path.stat().st_size:
        raise ValueError(f"{member.filename} is cut off")
    return np.memmap(path, dtype=dtype, mode="r", offset=data, shape=shape)
