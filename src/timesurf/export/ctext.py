"""Pieces of C: names, numbers, strings, arrays, and templates to put them in."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import SettingError

Array = NDArray[Any]
_WIDTH = 118  # characters per line of an array
_LONGEST = 40  # characters of a name
_RESERVED = {
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float",
    "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed", "sizeof",
    "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "class", "new", "main",
    # headers of the C library, which files of the same name would hide
    "assert", "complex", "ctype", "errno", "fenv", "inttypes", "limits", "locale", "math", "setjmp", "signal", "stdarg",
    "stdbool", "stddef", "stdint", "stdio", "stdlib", "string", "tgmath", "time", "unistd", "wchar", "wctype",
    # types of the C library, without their _t
    "blkcnt", "blksize", "clock", "clockid", "dev", "div", "fpos", "gid", "id", "ino", "key", "ldiv", "lldiv",
    "max_align", "mbstate", "mode", "nlink", "off", "pid", "ptrdiff", "sig_atomic", "size", "ssize", "suseconds",
    "timer", "uid", "useconds", "wctrans", "wint",
    *(f"{u}int{kind}{n}" for u in ("", "u") for kind in ("", "_least", "_fast") for n in (8, 16, 32, 64)),
    *(f"{u}int{kind}" for u in ("", "u") for kind in ("ptr", "max")),
}  # fmt: skip


def filled(template: str, **values: Any) -> str:
    """A template of this package with its names replaced; one that is missing is an error."""
    return _template(template).substitute(values)


@cache
def _template(name: str) -> Template:
    return Template(files("timesurf.export").joinpath("templates", name).read_text(encoding="ascii"))


def identifier(text: str) -> str:
    """A name that C accepts, in lower case, made from a text such as the name of a file.

    Examples
    --------
    >>> identifier("My digits-32"), identifier("2024"), identifier("int"), identifier("time")
    ('my_digits_32', 'net_2024', 'net_int', 'net_time')
    """
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")[:_LONGEST].strip("_")
    if not name or name[0].isdigit() or name in _RESERVED or keyword.iskeyword(name):
        name = f"net_{name}".rstrip("_")
    return name


def checked_name(name: str) -> str:
    """A prefix that a user chose, if C accepts it."""
    if identifier(name) != name:
        raise SettingError(
            f"name = {name!r} cannot be a prefix in C: use lower-case letters, digits and _, at most {_LONGEST} of "
            f"them, and no word of C or its library, such as {identifier(name)!r}."
        )
    return name


def string(text: str) -> str:
    r"""A string literal, in ASCII; other characters are escaped byte by byte, in UTF-8.

    Examples
    --------
    >>> print(string('a "b" ??/ é'))
    "a \"b\" \?\?/ \303\251"
    """
    plain = {ord('"'): '\\"', ord("\\"): "\\\\", ord("?"): "\\?"}  # ?? begins a trigraph
    escaped = (
        plain.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}")
        for byte in text.encode("utf-8", errors="backslashreplace")
    )
    return f'"{"".join(escaped)}"'


def comment(text: str) -> str:
    """A text as part of a comment: in ASCII, on one line, and not ending it."""
    plain = text.encode("ascii", errors="backslashreplace").decode()
    return " ".join(
        "".join(c if c.isprintable() else " " for c in plain).replace("*/", "* /").replace("/*", "/ *").split()
    )


def number(value: float) -> str:
    """A literal that gives back every bit of a float64 of NumPy, or of a float32.

    Examples
    --------
    >>> number(1.0), number(0.1), number(-1e-30)
    ('1.0f', '0.100000001f', '-1e-30f')
    """
    wide = isinstance(value, np.float64)
    digits = f"{value:.17g}" if wide else f"{np.float32(value):.9g}"
    return f"{digits if '.' in digits or 'e' in digits else digits + '.0'}{'' if wide else 'f'}"


def integer(value: int) -> str:
    """An integer literal of the type that its size asks for; the most negative numbers have none of their own."""
    if -(2**31) < value < 2**31:
        return str(value)
    return f"{value}u" if 0 <= value < 2**32 else f"{value}ll"


def array(values: Array) -> str:
    """The numbers of an array as lines of an initialiser, with braces around each of its rows.

    Examples
    --------
    >>> print(array(np.array([[1, 2], [3, 4]], np.int8)))
        {1, 2},
        {3, 4},
    """
    literal = number if values.dtype.kind == "f" else integer
    if values.ndim == 1:
        return _lines(map(literal, values))
    if values.ndim == 2:
        return "\n".join(_row(list(map(literal, row))) for row in values)
    return "\n".join(f"    {{\n{array(part)}\n    }}," for part in values)


def _row(literals: Sequence[str]) -> str:
    line = f"    {{{', '.join(literals)}}},"
    return line if len(line) <= _WIDTH else f"    {{\n{_lines(literals)}\n    }},"


def _lines(literals: Iterable[str]) -> str:
    """Comma-separated numbers on lines of a bounded width."""
    lines, line = [], "   "
    for literal in literals:
        if len(line) + len(literal) + 2 > _WIDTH:
            lines.append(line)
            line = "   "
        line += f" {literal},"
    return "\n".join([*lines, line])
