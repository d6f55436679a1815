"""Messages as one who types commands reads them: numbers of things, names of options, what to install from where."""

from __future__ import annotations

import json
import re
from importlib.metadata import PackageNotFoundError, distribution
from urllib.parse import unquote, urlsplit

_SIZES = re.compile(r"\b(field|crop|corner|downsample) = \((\d+(?:, \d+)*,?)\)")  # as Python writes them
_FIELD = re.compile(r"\bfield \((\d+(?:, \d+)*),?\)")
_CALLED = {"unit": "time_unit"}  # settings whose options have other names
_EXTRA = re.compile(r"pip install 'timesurf\[(\w+)\]'")


def count(number: int, thing: str) -> str:
    """So many things.

    Examples
    --------
    >>> count(1, "recording"), count(2000, "recording"), count(2, "class"), count(2, "polarity")
    ('1 recording', '2,000 recordings', '2 classes', '2 polarities')

    """
    plural = f"{thing}es" if thing.endswith("s") else f"{thing[:-1]}ies" if thing.endswith("y") else f"{thing}s"
    return f"{number:,} {thing if number == 1 else plural}"


def as_options(message: str, words: list[str]) -> str:
    """A message about settings in which those that were given as options have the names of the options.

    Examples
    --------
    >>> as_options("batch_size = 0 must be at least 1.", ["timesurf", "train", "--batch-size", "0"])
    '--batch-size 0 must be at least 1.'
    >>> as_options("crop = (0, 5) must be whole numbers.", ["--crop", "0x5"])
    '--crop 0x5 must be whole numbers.'
    >>> as_options("engine 'cuda' cannot run here. Use engine='cpu'.", ["--engine", "cuda"])
    "engine 'cuda' cannot run here. Use --engine cpu."
    >>> as_options("Its size is not known: give field as well.", ["--crop", "5x5"])
    'Its size is not known: give --field as well.'
    >>> as_options("unit = 'minutes' is not a unit of time.", ["--time-unit", "minutes"])
    "--time-unit 'minutes' is not a unit of time."

    """
    message = _SIZES.sub(lambda found: f"{found[1]} = {found[2].replace(', ', 'x').rstrip(',')}", message)
    message = _FIELD.sub(lambda found: f"field {found[1].replace(', ', 'x')}", message)
    message = re.sub(r"\bgive field\b(=\(width, height\))?", "give --field", message)
    message = re.sub(r"\bgive sensor\b", "give --sensor", message)
    given = {word.partition("=")[0] for word in words if word.startswith("--")}

    def named(found: re.Match[str]) -> str:
        option = f"--{_CALLED.get(found[1], found[1]).replace('_', '-')}"
        return f"{option} " if option in given else found[0]

    return re.sub(r"\b([a-z_]+) = ", named, re.sub(r"\bengine='(\w+)'", r"--engine \1", message))


def installable(message: str) -> str:
    """A hint to install an extra, from the folder that this timesurf was installed from, if that is where it is."""
    try:
        origin = json.loads(distribution("timesurf").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return message
    if "dir_info" not in origin:
        return message
    editable = "-e " if origin["dir_info"].get("editable") else ""
    folder = unquote(urlsplit(origin.get("url", "")).path)
    return _EXTRA.sub(lambda found: f"pip install {editable}'{folder}[{found[1]}]'", message)
