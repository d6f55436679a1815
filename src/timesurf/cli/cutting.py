"""Long recordings cut into pieces, as options of commands."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer

from timesurf.errors import SettingError
from timesurf.events import Recordings
from timesurf.transforms.cutting import Pieces
from timesurf.transforms.cutting import cut as cut_recordings

Every = Annotated[
    str | None,
    typer.Option(help="Cut recordings into pieces: of a time, such as 1s, or of a number of events, such as 5000."),
]
Overlap = Annotated[float, typer.Option(min=0, max=0.99, help="Share of a piece that the next one repeats.")]


def cut(recordings: Recordings, every: str | None, overlap: float = 0.0, *, rest: bool = False) -> Pieces:
    """Recordings in pieces; as they are where no length is given."""
    if every is None:
        if overlap:
            raise SettingError("--overlap is of pieces: give their length by --every, such as --every 1s.")
        return Pieces(recordings, np.arange(len(recordings)), np.zeros(len(recordings), dtype=np.int64))
    text = every.strip()
    if text.isdecimal():
        return cut_recordings(recordings, events=int(text[:18]), overlap=overlap, rest=rest)
    return cut_recordings(recordings, text, overlap=overlap, rest=rest)
