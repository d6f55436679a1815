"""Long recordings cut into pieces, as options of commands."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer

from timesurf.cli.app import console
from timesurf.cli.wording import count
from timesurf.errors import SettingError
from timesurf.events import Recordings
from timesurf.times import microseconds, readable
from timesurf.transforms.cutting import Pieces
from timesurf.transforms.cutting import cut as cut_recordings

Every = Annotated[
    str | None,
    typer.Option(help="Cut recordings into pieces: of a time, such as 1s, or of a number of events, such as 5000."),
]
_LEAST = 0.9  # share of a piece that the last one of a recording needs: its last event is seldom at its very end
Overlap = Annotated[float, typer.Option(min=0, max=0.99, help="Share of a piece that the next one repeats.")]


def cut(recordings: Recordings, every: str | None, overlap: float = 0.0, *, rest: bool = False) -> Pieces:
    """Recordings in pieces, and a line that counts them; as they are where no length is given."""
    if every is None:
        if overlap:
            raise SettingError("--overlap is of pieces: give their length by --every, such as --every 1s.")
        nothing = np.zeros(len(recordings), dtype=np.int64)
        return Pieces(recordings, np.arange(len(recordings)), nothing, nothing)
    text = every.strip()
    _check_length(text)
    if text.isdecimal():
        pieces = cut_recordings(recordings, events=int(text[:18]), overlap=overlap, rest=rest, least=_LEAST)
    else:
        pieces = cut_recordings(recordings, text, overlap=overlap, rest=rest, least=_LEAST)
    if not rest:
        console.print(f"{_counted(pieces, text)}.", highlight=False)
    return pieces


def _check_length(text: str) -> None:
    """Refuse what is neither a time nor a number of events, or is nothing."""
    try:
        whole = not text.isdecimal() or int(text[:18])
        if whole and (text.isdecimal() or microseconds(text, "every")):
            return
    except SettingError:
        pass
    raise SettingError(f"--every {text}: a time is needed, such as 1s, or a number of events, such as 5000.")


def _counted(pieces: Pieces, length: str) -> str:
    """How many pieces there are, and what is left out."""

    def long(n: float) -> str:
        return count(int(n), "event") if length.isdecimal() else readable(n)

    each = int(length[:18]) if length.isdecimal() else microseconds(length, "every")
    said = f"{count(len(pieces.origin), 'piece')} of {long(each)} of {count(len(pieces.left), 'recording')}"
    if left := pieces.left[pieces.left > 0].tolist():
        up_to = "up to " if len(left) > 1 else ""
        said += f"; {count(len(left), 'rest')} of {up_to}{long(max(left))} left out"
    return said
