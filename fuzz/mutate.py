"""Changes to an input: `(bytes, random.Random) -> bytes`. Of containers, the content is changed.

A flipped byte of an archive or of a model seldom passes the first check. So containers are taken apart, one part is
changed, and sizes and checksums are corrected: only the content of the part is wrong then.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

from containers import Member, model, model_parts, npy, npy_parts, unzip, zipped

Mutator = Callable[[bytes, Random], bytes]
INTEGERS = [
    *(0, 1, -1, 2, 33, 34, 127, 128, 240, 255, 256, 4095, 65535, 1 << 23, 1 << 31, (1 << 31) - 1, -(1 << 31)),
    *(1 << 32, 1 << 53, 1 << 62, (1 << 62) - 1, (1 << 63) - 1, -(1 << 63), 1 << 63, (1 << 64) - 1),
]
FLOATS = [float("nan"), float("inf"), float("-inf"), -1.0, -0.0, 1e308, 5e-324, 0.5]


def plain(data: bytes, rng: Random) -> bytes:
    """One change to bytes: flipped, overwritten, inserted, cut out, repeated or cut short."""
    if not data:
        return rng.randbytes(rng.randint(1, 16))
    at, n = rng.randrange(len(data)), 1 << rng.randrange(6)
    match rng.randrange(7):
        case 0:
            return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
        case 1:
            return data[:at] + rng.randbytes(1) + data[at + 1 :]
        case 2:
            return number(data, rng)
        case 3:
            return data[:at] + rng.randbytes(n) + data[at:]
        case 4:
            return data[:at] + data[at + n :]
        case 5:
            return data[: at + n] + data[at:]
        case _:
            return data[:at]


def number(data: bytes, rng: Random) -> bytes:
    """A number of 1 to 8 bytes overwritten with one that often causes trouble."""
    if rng.random() < 0.3:
        word = struct.pack(rng.choice("<>") + "d", rng.choice(FLOATS))
    else:
        width = rng.choice((1, 2, 4, 8))
        word = (rng.choice(INTEGERS) & (1 << 8 * width) - 1).to_bytes(width, rng.choice(("little", "big")))
    at = rng.randrange(max(len(data) // len(word), 1)) * len(word) if rng.random() < 0.8 else rng.randrange(len(data))
    return data[:at] + word + data[at + len(word) :]


# ---------------------------------------------------------------------- archives of arrays

_DTYPES = [
    "'<i8'", "'>i8'", "'<u8'", "'<i4'", "'|u1'", "'|i1'", "'|b1'", "'<f8'", "'<f2'", "'<c16'", "'|O'", "'<M8[us]'",
    "'|V0'", "'|S0'", "'<U3'", "'|V8'", "'O'", "''", "'<i8,<i8'", "[('a', '<i8')]", "[('t', '<i8', (3,))]",
    "('<i8', (1000000000,))", "[('a', '|O')]", "None", "7", "[]", "[('a',)]", "'<U4000000000'", "'x' * 9", "{}",
]  # fmt: skip
_SHAPES = [
    "()", "(0,)", "(1,)", "(3,)", "(-1,)", "(-3, -1)", "(3, 1)", "(1, 3)", "(0, 3)", "(1000000000000,)", "(True,)", "3",
    "(9223372036854775807,)", "(9223372036854775808,)", f"({10**30}, 0)", f"({10**300},)", "(1.0,)", "None", "(2, 2)",
    "(4294967296, 4294967296)", "(" + "1, " * 40 + ")", "(" + "0, " * 70 + ")", "(None,)", "((1,),)",
]  # fmt: skip
_NAMES = ["x", "y", "z", "x3", "t", "p", "offsets", "labels", "field", "polarities", "x_train", "y_train", "q", "../t"]
_DEEP = ["(" * 90, "-" * 9000, "[" * 300, "{" * 60, "~" * 3000, "1" * 5000, "0x" + "f" * 5000, "\0", "'" * 3, "(-" * 99]


def npz(data: bytes, rng: Random) -> bytes:
    """A change to an archive of arrays: to a member's header, data, name, compression or entry in the archive."""
    try:
        members = unzip(data)
        for _ in range(rng.randint(1, 3)):
            _change_archive(members, rng)
        changed = zipped(members)
    except ValueError:
        return plain(data, rng)
    return plain(changed, rng) if rng.random() < 0.15 else changed


def _change_archive(members: list[Member], rng: Random) -> None:
    i = rng.randrange(len(members))
    one = members[i]
    match rng.randrange(10):
        case 0 | 1:
            header, body = npy_parts(one.content)
            members[i] = one.holding(_npy(_other_header(header, rng), body, rng), deflated=one.method == 8)
        case 2 | 3:
            header, body = npy_parts(one.content)
            if body:
                changed = number(body, rng)[: len(body)]
                members[i] = one.holding(npy(header, changed), deflated=one.method == 8)
        case 4:
            members[i] = one.holding(_resized(one.content, rng), deflated=one.method == 8)
        case 5:
            members[i] = one.holding(one.content, deflated=one.method != 8)
        case 6:
            name = rng.choice(_NAMES).encode() + rng.choice([b".npy", b".npy", b".npy", b""])
            if rng.random() < 0.5:
                one.name = name
            else:
                members.append(Member(name, one.stored, one.method, one.flags, one.size, one.crc))
        case 7:
            if len(members) > 1:
                del members[i]
        case 8:
            _lie(one, rng)
        case _:
            members[i] = bomb(one.name, rng.choice((4, 5, 6, 7)))


def _lie(member: Member, rng: Random) -> None:
    match rng.randrange(4):
        case 0:
            member.size = rng.choice(INTEGERS) & 0xFFFFFFFF
        case 1:
            member.crc = rng.getrandbits(32)
        case 2:
            member.flags = rng.choice((1, 8, 0x20, 0x40, 0x800, 0x2000, 0xFFFF))
        case _:
            member.method = rng.choice((0, 1, 8, 9, 12, 14, 93, 95, 99))


def _other_header(header: str, rng: Random) -> str:
    match rng.randrange(6):
        case 0 | 1:
            return f"{{'descr': {rng.choice(_DTYPES)}, {_from(header, chr(39) + 'fortran')}"
        case 2 | 3:
            return f"{header[: header.find('(')]}{rng.choice(_SHAPES)}, }}"
        case 4:
            return header.replace("False", rng.choice(("True", "None", "0", "[]")))
        case _:
            if rng.random() < 0.3:
                return header[: rng.randrange(len(header) + 1)] + rng.choice(_DEEP)
            return plain(header.encode("latin1"), rng).decode("latin1")


def _from(text: str, word: str) -> str:
    return text[max(text.find(word), 0) :]


def _npy(header: str, body: bytes, rng: Random) -> bytes:
    return npy(header, body, rng.choice((1, 1, 1, 1, 1, 2, 3, 9)))


def _resized(content: bytes, rng: Random) -> bytes:
    """An array that is longer or shorter, with a header to match."""
    header, body = npy_parts(content)
    items = int(header[header.find("(") + 1 : header.find(",", header.find("("))])
    item = len(body) // max(items, 1)
    count = rng.choice((0, 1, 2, 3, 5, 8, 40))
    body = (body * (count + 1))[: count * item]
    return npy(f"{header[: header.find('(')]}({count},), }}", body)


@cache
def bomb(name: bytes, digits: int) -> Member:
    """A small member that unpacks to 10**digits zeros, with a header to match."""
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({10**digits},), }}"
    return Member(name, b"").holding(npy(header, bytes(10**digits)), deflated=True)


# ---------------------------------------------------------------------- text with a structure

_VALUES: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        3,
        1.0,
        2.5,
        1e308,
        float("nan"),
        float("inf"),
        10**9,
        10**18,
        10**400,
        -(10**40),
    ),
    *("", "x", "1 ms", "1e999 s", "\0", "\ud800", "float64", "object", "Full", "Tile", "Window", "9" * 500),
    *([], {}, [1], [[1]], [1, "a"], [None], {"a": 1}, [1, 1], ["a", "b"], [0.5, 0.5], [10**9, 10**9], [1.0, 2.0]),
    *("@deep9", "@deep200", "@deep400", "@deep900", "@deep990", "@deep991", "@deep992", "@deep3000"),
]  # "@deep9" stands for 9 lists inside one another


def tree(value: Any, rng: Random) -> Any:
    """One change somewhere in a JSON value, which is changed in place where possible."""
    places = list(_places(value))
    if not places or rng.random() < 0.01:
        return rng.choice(_VALUES)
    inside, key = rng.choice(places)
    match rng.randrange(6):
        case 0:
            del inside[key]
        case 1:
            other, its = rng.choice(places)
            if its in (other if isinstance(other, dict) else range(len(other))):
                inside[key] = json.loads(json.dumps(other[its]))
        case 2:
            if isinstance(inside, list):
                inside.insert(key, inside[key])
            else:
                inside[rng.choice(("extra", "kind", "units", "size", "shape", "tau", "seed", "format"))] = inside[key]
        case 3 if isinstance(inside[key], int | float):
            inside[key] = rng.choice((-inside[key], inside[key] + 1, float(min(inside[key], 1e9)), str(inside[key])))
        case _:
            inside[key] = rng.choice(_VALUES)
    return value


def _places(value: Any, depth: int = 0) -> Any:
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys if depth < 8 else ():
        yield value, key
        yield from _places(value[key], depth + 1)


def text_of(value: Any) -> str:
    """JSON of a value, with `@deep` replaced by nested lists."""
    text = json.dumps(value)
    while (at := text.find('"@deep')) >= 0:
        end = text.index('"', at + 1)
        depth = int(text[at + 6 : end])
        text = text[:at] + "[" * depth + "]" * depth + text[end + 1 :]
    return text


def network(data: bytes, rng: Random) -> bytes:
    """A change to a model file: to the description of its network or its tensors, or to the tensors themselves."""
    try:
        about, tensors, body = model_parts(data)
        kind = rng.randrange(10)
        if kind < 5:
            about = tree(about, rng)
        elif kind < 7:
            tensors = tree(tensors, rng)
        elif kind < 9 and body:
            body = number(body, rng)[: len(body)]
        else:
            return plain(data, rng)
        return signed(about, tensors, body)
    except (ValueError, RecursionError):
        return plain(data, rng)


def signed(about: Any, tensors: Any, body: bytes) -> bytes:
    """A model file with a correct checksum, where model files have one."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    from timesurf import modelfile

    description = text_of(tensors)
    checksum = getattr(modelfile, "checksum", None)
    if checksum is not None and isinstance(about, dict):
        try:
            arrays = load(model("{}", description, body))
            said = json.loads(text_of(about))
            about = {**about, "checksum": checksum(said, arrays)}
        except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass  # no tensors to sign
    return model(text_of(about), description, body)


_TOML = [
    "[", "]", "[[a]]", "[a.b]", "= ", '"', "'''", "inf", "nan", "-1", "0", "1e400", "9" * 5000, "true", "1979-05-27",
    "{", "{a=1}", "[1, 2]", "\\u0000", '"\\u0000"', "\n", "a.a.a = 1", "[" * 900, "{a=" * 400, "a." * 900, "#", "\0",
    "é", "passes", "units", "alpha", "model", "run", "seed", "taus", "preset", "split", "data", "config", "help",
    "json_file",
]  # fmt: skip
_CSV = [
    "t,x,y,on",
    "x,y,t_ms,p",
    "timestamp;row;col",
    "1.5",
    ".5e-3",
    "e99",
    "true",
    "off",
    "\t",
    ";",
    "-1",
    "65535",
    "65536",
    str(2**63),
    "1e3",
    ",",
    ",,",
    "\n",
    "\r\n",
    '"',
    "nan",
    "",
    " ",
    "0",
    "1",
]


def tokens(words: list[str]) -> Mutator:
    """A change to text: one of these words inserted or put in place of another, or a change to its bytes."""

    def change(data: bytes, rng: Random) -> bytes:
        if rng.random() < 0.4 or not data:
            return plain(data, rng)
        at = rng.randrange(len(data) + 1)
        until = at + rng.choice((0, 0, 1, 2, 5))
        return data[:at] + rng.choice(words).encode() + data[until:]

    return change


toml, csv = tokens(_TOML), tokens(_CSV)


def nmnist(data: bytes, rng: Random) -> bytes:
    """A change to N-MNIST's 5 bytes per event; sometimes the events are sorted, so that some files are good."""
    if rng.random() < 0.7:
        return plain(data, rng)
    events = [data[i : i + 5] for i in range(0, len(data) - 4, 5)]
    if rng.random() < 0.3:
        return b"".join(events * rng.randint(2, 9))
    mended = (bytes([e[0] % 34, e[1] if e[1] == 240 else e[1] % 34]) + e[2:] for e in events)
    return b"".join(sorted(mended, key=lambda e: (e[2] & 127, e[3:])))


def datagrams(data: bytes, rng: Random) -> bytes:
    """A change to pieces with their sizes before them: to one piece, to their order, or to all as bytes."""
    pieces, at = [], 1  # the first byte chooses the session
    while at + 2 < len(data):
        size = int.from_bytes(data[at : at + 2], "little")
        pieces.append(data[at + 2 : at + 2 + size])
        at += 2 + size
    if not pieces or rng.random() < 0.1:
        return plain(data, rng)
    i = rng.randrange(len(pieces))
    match rng.randrange(5):
        case 0:
            pieces.insert(i, pieces[rng.randrange(len(pieces))])
        case 1:
            del pieces[i]
        case 2:
            rng.shuffle(pieces)
        case _:
            pieces[i] = plain(pieces[i], rng)
    body = b"".join(len(piece).to_bytes(2, "little") + piece for piece in (piece[:65535] for piece in pieces))
    return (data[:1] or b"\0") + body
