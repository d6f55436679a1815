"""Files taken apart and put together again: zip archives, `.npy` members and safetensors, with correct checksums.

Only what the seeds need is supported. Anything else raises ValueError, and is then mutated as plain bytes.
"""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import dataclass
from typing import Any

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_MAGIC = b"\x93NUMPY"


@dataclass
class Member:
    """A file inside a zip archive. What is None is computed; what is given may be wrong."""

    name: bytes
    stored: bytes  # as in the archive: deflated if the method says so
    method: int = 0  # 0: as it is, 8: deflated
    flags: int = 0
    size: int | None = None
    crc: int | None = None

    @property
    def content(self) -> bytes:
        """What the member holds."""
        try:
            return zlib.decompressobj(-15).decompress(self.stored, 1 << 16) if self.method == 8 else self.stored
        except zlib.error as error:
            raise ValueError(error) from error

    def holding(self, content: bytes, *, deflated: bool) -> Member:
        """A member of the same name that holds something else."""
        if not deflated:
            return Member(self.name, content)
        packer = zlib.compressobj(1 if len(content) < 1 << 16 else 9, zlib.DEFLATED, -15)
        packed = packer.compress(content) + packer.flush()
        return Member(self.name, packed, 8, size=len(content), crc=zlib.crc32(content))


def unzip(data: bytes) -> list[Member]:
    """The members of an archive as `zipped` makes it, one local header after another."""
    members, at = [], 0
    while data[at : at + 4] == b"PK\x03\x04" and at + _LOCAL.size <= len(data):
        _, _, flags, method, _, _, crc, packed, size, name, extra = _LOCAL.unpack_from(data, at)
        at += _LOCAL.size + name + extra
        if packed > len(data) - at:
            raise ValueError("a member is longer than the archive")
        name_at = at - name - extra
        members.append(Member(data[name_at : name_at + name], data[at : at + packed], method, flags, size, crc))
        at += packed
    if not members:
        raise ValueError("no members")
    return members


def zipped(members: list[Member]) -> bytes:
    """An archive of these members."""
    body, directory = b"", b""
    for member in members:
        crc = zlib.crc32(member.stored) if member.crc is None else member.crc
        size = len(member.stored) if member.size is None else member.size
        about = (member.flags & 0xFFFF, member.method & 0xFFFF, 0, 33, crc, len(member.stored), size & 0xFFFFFFFF)
        directory += _CENTRAL.pack(b"PK\1\2", 20, 20, *about, len(member.name), 0, 0, 0, 0, 0, len(body))
        directory += member.name
        body += _LOCAL.pack(b"PK\3\4", 20, *about, len(member.name), 0) + member.name + member.stored
    n = len(members)
    return body + directory + _END.pack(b"PK\5\6", 0, 0, n, n, len(directory), len(body), 0)


def npy_parts(content: bytes) -> tuple[str, bytes]:
    """The header's text and the data of a `.npy` file of version 1."""
    if content[:8] != _MAGIC + b"\1\0" or len(content) < 10:
        raise ValueError("no .npy of version 1")
    (size,) = struct.unpack_from("<H", content, 8)
    return content[10 : 10 + size].decode("latin1").rstrip(), content[10 + size :]


def npy(header: str, body: bytes, version: int = 1) -> bytes:
    """A `.npy` file."""
    text = header.encode("latin1", "replace") + b"\n"
    return _MAGIC + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text) & 0xFFFF) + text + body


def model_parts(data: bytes) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    """The entry of a model file about its network, the entries about its tensors, and the tensors."""
    try:
        (size,) = struct.unpack_from("<Q", data)
        tensors = json.loads(data[8 : 8 + size])
        about = json.loads(tensors.pop("__metadata__")["timesurf"])
    except (struct.error, AttributeError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(error) from error
    if not isinstance(about, dict):
        raise ValueError("no entry about a network")
    return about, tensors, data[8 + size :]


def model(about: str, tensors: str, body: bytes) -> bytes:
    """A model file of two texts in JSON and the tensors."""
    inner = tensors.strip()[1:-1]
    header = f'{{"__metadata__": {{"timesurf": {json.dumps(about)}}}{", " + inner if inner else ""}}}'.encode()
    return struct.pack("<Q", len(header)) + header + body
