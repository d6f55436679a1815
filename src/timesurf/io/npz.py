"""Recordings in NumPy's `.npz`: arrays `x, y, z` (as many as there are dimensions), `t`, `p`, `offsets`, `labels`.

`write` stores them uncompressed, and `read` then maps the arrays into memory instead of loading them: a data set may
be larger than memory. Compressed files are read too, and loaded whole. `field` and `polarities` are in the file, or as
large as the events need.
"""

from __future__ import annotations

import math
import struct
import sys
import tokenize
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from timesurf.errors import EventError
from timesurf.events import AXES, Recordings, axis_name, sizes
from timesurf.io import formats
from timesurf.storage.atomic import replacing
from timesurf.storage.kinds import check_input

Array = NDArray[Any]
_PLACES = [*AXES, *(axis_name(d) for d in range(len(AXES), 32))]
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")  # of a member of a zip archive
_UNPACKED, _SPARE = 100, 8 << 20  # a compressed file may unpack to so many times its size (a bomb: 1,000), plus bytes
_UNPACKED_AT_ONCE = 1 << 18
_LARGEST_HEADER = 500  # characters: NumPy writes a few hundred, and its parser recurses into brackets
_DAMAGED = (  # what zipfile, zlib, NumPy and the parser of its headers raise for damaged bytes
    zipfile.BadZipFile, zlib.error, struct.error, tokenize.TokenError, ArithmeticError, EOFError, MemoryError,
    RuntimeError, SyntaxError, TypeError, ValueError,
)  # fmt: skip


def read(path: str | Path, *, field: Sequence[int] | None = None, polarities: int | None = None) -> Recordings:
    """Recordings from a file.

    Parameters
    ----------
    path : str or Path
        The file.
    field : sequence of int, optional
        Size along each dimension; None: as the file says, else the smallest that holds the events.
    polarities : int, optional
        How many there are; None: as the file says, else as many as the events need.

    Returns
    -------
    Recordings
        Mapped into memory where the file is not compressed.

    Raises
    ------
    EventError
        If the file is damaged, lacks arrays, or its events are not valid.

    """
    held = arrays(path, ["t"], [*_PLACES, "p", "offsets", "labels", "field", "polarities"])
    coords = [held[name] for name in _PLACES if name in held]
    p = held.get("p")
    try:
        if field is None:
            field = _field(held["field"]) if "field" in held else formats.measured(path, coords)
        if polarities is None:
            known = held.get("polarities")
            polarities = known.item() if known is not None else 1 if p is None else sizes([p], ["p"])[0]
        return Recordings(
            coords,
            held["t"],
            p,
            held.get("offsets"),
            field=field,
            polarities=polarities,
            labels=held.get("labels"),
        )
    except (EventError, TypeError, ValueError) as error:
        raise EventError(f"{path}: {error}") from error


def write(path: str | Path, recordings: Recordings) -> None:
    """Write recordings so that `read` can map them into memory.

    Parameters
    ----------
    path : str or Path
        Replaced if it exists; it never holds a part of a file.
    recordings : Recordings
        What to write. One array of theirs is in memory at a time, if they are not adjacent.

    """
    with replacing(path) as file, zipfile.ZipFile(file, "w", allowZip64=True) as archive:
        for name, values in _members(recordings):
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                npy.write_array(member, np.asanyarray(values), allow_pickle=False)
            recordings.release()


def _members(recordings: Recordings) -> Iterator[tuple[str, Array]]:
    """The arrays of a file by name, each gathered when its turn comes."""
    t, p, *coords = recordings.arrays
    for name, values in [*((axis_name(d), x) for d, x in enumerate(coords)), ("t", t), ("p", p)]:
        yield name, recordings.gather(values)
    yield "offsets", recordings.offsets
    yield "field", np.array(recordings.field, dtype=np.int64)
    yield "polarities", np.array(recordings.polarities)
    if recordings.labels is not None:
        yield "labels", recordings.labels


def arrays(path: str | Path, needed: Sequence[str], others: Sequence[str] = ()) -> dict[str, Array]:
    """Arrays of an `.npz` file by name, mapped where they are not compressed.

    Nothing in the file is trusted: the sizes that it states are compared with its own size before memory is allocated.

    Parameters
    ----------
    path : str or Path
        The file.
    needed : sequence of str
        Names of arrays that it must have.
    others : sequence of str
        Names of arrays to read if it has them.

    Returns
    -------
    dict of arrays
        By name.

    Raises
    ------
    EventError
        If the file is damaged or lacks an array.

    """
    path = Path(path)
    check_input(path)
    try:
        with zipfile.ZipFile(path) as archive:
            found = {m.filename.removesuffix(".npy"): m for m in archive.infolist() if m.filename.endswith(".npy")}
            missing = [name for name in needed if name not in found]
            if missing:
                raise EventError(
                    f"{path} holds {', '.join(found) or 'no arrays'}: it needs at least {' and '.join(needed)}"
                    f"{' (and ' + ', '.join(others) + ')' if others else ''}."
                )
            members = {name: found[name] for name in (*needed, *others) if name in found}
            _check_sizes(path.stat().st_size, members.values())
            mapped = np.memmap(path, dtype=np.uint8, mode="r")
            return {name: _array(mapped, archive, member) for name, member in members.items()}
    except EventError:
        raise
    except _DAMAGED as error:
        why = str(error).rstrip(".")
        raise EventError(f"{path} is not a readable .npz file: {why}. Copy or write it again.") from error


def _field(held: Array) -> list[int]:
    if held.ndim != 1 or len(held) > len(_PLACES):
        raise EventError(f"field has shape {held.shape}: one size per dimension is needed.")
    return held.tolist()  # type: ignore[no-any-return]


def _check_sizes(size: int, members: Iterable[zipfile.ZipInfo]) -> None:
    packed = [member for member in members if member.compress_type != zipfile.ZIP_STORED]
    for member in packed:
        if member.compress_type != zipfile.ZIP_DEFLATED:
            raise ValueError(f"{member.filename} is compressed in a way that NumPy does not write")
    unpacked = sum(member.file_size for member in packed)
    if unpacked > _UNPACKED * size + _SPARE:
        raise ValueError(
            f"its {size} bytes unpack to {unpacked}, more than {_UNPACKED} times as much and {_SPARE >> 20} MiB; "
            "if that is right, np.savez stores them uncompressed, without a limit"
        )


def _array(mapped: Array, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Array:
    with archive.open(member) as stream:
        version = npy.read_magic(stream)
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran, dtype = read_header(stream, max_header_size=_LARGEST_HEADER)
        begin = stream.tell()
        size = dtype.itemsize * math.prod(shape)
        if dtype.hasobject:
            raise ValueError(f"{member.filename} holds Python objects, which are not read")
        if min(shape, default=0) < 0 or size != member.file_size - begin:
            raise ValueError(f"{member.filename} says {size} bytes of data but holds {member.file_size - begin}")
        if member.compress_type == zipfile.ZIP_STORED:
            data = _where(mapped, member) + begin
            content = mapped[data : data + size]
            at = len(content)
        else:
            content, at = np.empty(size, dtype=np.uint8), 0
            while at < size:
                part = stream.read(min(_UNPACKED_AT_ONCE, size - at))
                if not part:
                    break
                content[at : at + len(part)] = np.frombuffer(part, dtype=np.uint8)
                at += len(part)
    if at < size:
        raise ValueError(f"{member.filename} is cut off")
    if size == 0:
        if shape != (0,):  # (10**12, 0) takes no bytes, but has rows to loop over
            raise ValueError(f"{member.filename} is an empty array with a shape")
        return np.empty(0, dtype=dtype)
    if dtype.kind == "U" and content.view(np.dtype(np.uint32).newbyteorder(dtype.byteorder)).max() > sys.maxunicode:
        raise ValueError(f"{member.filename} holds characters that are not Unicode")
    return content.view(dtype).reshape(shape, order="F" if fortran else "C")


def _where(mapped: Array, member: zipfile.ZipInfo) -> int:
    """Where a stored member begins in the file; `archive.open` has checked its header."""
    header = _LOCAL_HEADER.unpack(mapped[member.header_offset :][: _LOCAL_HEADER.size].tobytes())
    return member.header_offset + _LOCAL_HEADER.size + int(header[9]) + int(header[10])
