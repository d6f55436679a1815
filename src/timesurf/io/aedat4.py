r"""The structure of an AEDAT4 file, checked before faery reads it: faery trusts it, and damage ends the whole program.

"#!AER-DAT4.0\r\n", 4 bytes of size, then a flatbuffer of that size: compression, where the table of packets lies,
and a description of the streams, XML in UTF-8; then packets, each with 4 bytes of stream and 4 of size; the table
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import BinaryIO
from xml.etree import ElementTree

_MAGIC = b"#!AER-DAT4.0\r\n"
_LARGEST = 1 << 20  # bytes of a description; a camera writes a few thousand
_TABLE, _DESCRIPTION = 1, 2  # their numbers among the fields of the flatbuffer


def check(path: Path) -> None:
    """Raise ValueError if a part of the file is not where the file says, or its description is damaged."""
    with path.open("rb") as file:
        whole = os.fstat(file.fileno()).st_size
        begin = file.read(len(_MAGIC) + 4)
        if begin[: len(_MAGIC)] != _MAGIC or len(begin) < len(_MAGIC) + 4:
            raise ValueError("it does not begin as an AEDAT4 file")
        (size,) = struct.unpack_from("<I", begin, len(_MAGIC))
        if size > min(_LARGEST, whole - len(begin)):
            raise ValueError(f"its description of {size} bytes does not fit in the file")
        buffer = file.read(size)
        try:
            fields = _fields(buffer)
            text = _text(buffer, fields[_DESCRIPTION]).decode()
            if "<!" in text:
                raise ValueError("it contains XML declarations, which no camera writes")
            ElementTree.fromstring(text)
            table = struct.unpack_from("<q", buffer, fields[_TABLE])[0] if _TABLE in fields else -1
        except (struct.error, KeyError, ValueError, ElementTree.ParseError) as error:
            raise ValueError(f"its description is damaged ({error})") from error
        _check_packets(file, whole if table == -1 else table, whole)


def _check_packets(file: BinaryIO, until: int, whole: int) -> None:
    at = file.tell()
    if not at <= until <= whole:
        raise ValueError(f"its table of packets is said to be at byte {until} of {whole}")
    while at < until:
        file.seek(at)
        head = file.read(8)
        size = struct.unpack("<4xI", head)[0] if len(head) == 8 else whole
        if at + 8 + size > until:
            raise ValueError(f"the packet at byte {at} does not fit in the file")
        at += 8 + size


def _fields(buffer: bytes) -> dict[int, int]:
    """Position of each field of a flatbuffer's root table, by number; only of fields that are present."""
    (table,) = struct.unpack_from("<I", buffer)
    about = table - struct.unpack_from("<i", buffer, table)[0]
    if about < 0:
        raise ValueError("it has no fields")
    size, length = struct.unpack_from("<HH", buffer, about)
    places = struct.unpack_from(f"<{max(size - 4, 0) // 2}H", buffer, about + 4)
    if size % 2 or table + length > len(buffer) or max(places, default=0) + 4 > length:
        raise ValueError("its fields are cut off")
    return {field: table + place for field, place in enumerate(places) if place}


def _text(buffer: bytes, at: int) -> bytes:
    at += struct.unpack_from("<I", buffer, at)[0]
    (size,) = struct.unpack_from("<I", buffer, at)
    if at + 4 + size > len(buffer):
        raise ValueError("it is cut off")
    return buffer[at + 4 : at + 4 + size]
