"""Decisions on recordings as columns of a table, one row per recording."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from timesurf.engines import Outcome
from timesurf.errors import MissingEngineError, SettingError
from timesurf.events import Recordings
from timesurf.metrics import SILENT
from timesurf.network import Network

_TEXT = ("file", "label", "decision")
_FLOATS = ("confidence", "begin_s", "end_s")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # with which a spreadsheet takes text for a formula


def as_csv(table: dict[str, list[Any]]) -> str:
    r"""Columns as CSV that a spreadsheet can open: text that it would take for a formula gets an apostrophe before it.

    Parameters
    ----------
    table : dict of list
        Columns by name.

    Returns
    -------
    str
        One line of names, then one per row.

    Examples
    --------
    >>> print(as_csv({"label": ["=1+1", "cup"], "votes": [-1, 2]}).replace("\r", ""), end="")
    label,votes
    '=1+1,-1
    cup,2

    """
    text = io.StringIO()
    lines = csv.writer(text)
    lines.writerow(map(_cell, table))
    lines.writerows(map(_cell, row) for row in zip(*table.values(), strict=True))
    return text.getvalue()


def as_lines(table: dict[str, list[Any]]) -> str:
    """Columns as JSON lines: one object per row.

    Examples
    --------
    >>> print(as_lines({"label": ["cup", None], "votes": [1, 2]}), end="")
    {"label": "cup", "votes": 1}
    {"label": null, "votes": 2}

    """
    rows = zip(*table.values(), strict=True)
    return "".join(json.dumps(dict(zip(table, row, strict=True))) + "\n" for row in rows)


def as_parquet(table: dict[str, list[Any]]) -> bytes:
    """Columns as a Parquet file: names as text, confidences and times as floats, the others as integers."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingEngineError("Parquet needs pyarrow: pip install pyarrow.") from error
    arrays = {}
    for column, values in table.items():
        if column in _TEXT:
            arrays[column] = pa.array([None if value is None else str(value) for value in values], pa.string())
        else:
            whole = column not in _FLOATS and not any(isinstance(value, float) for value in values)
            arrays[column] = pa.array(values, pa.int64() if whole else pa.float64())
    buffer = io.BytesIO()
    pq.write_table(pa.table(arrays), buffer)
    return buffer.getvalue()


def encoder(out: str) -> Callable[[dict[str, list[Any]]], bytes]:
    """What makes the bytes of a file with this suffix: .csv, .jsonl or .parquet; "-" is CSV."""
    suffix = Path(out).suffix.lower()
    if out == "-" or suffix == ".csv":
        return lambda table: as_csv(table).encode(errors="backslashreplace")
    if suffix in (".jsonl", ".ndjson"):
        return lambda table: as_lines(table).encode()
    if suffix == ".parquet":
        return as_parquet
    raise SettingError(f"{out}: decisions are written as .csv, .jsonl or .parquet, or to standard output by '-'.")


def _cell(value: Any) -> Any:
    """A value as a spreadsheet should show it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def columns(network: Network, recordings: Recordings, outcome: Outcome) -> dict[str, list[Any]]:
    """Tabulate the decisions on recordings.

    Parameters
    ----------
    network : Network
        Whose decisions they are.
    recordings : Recordings
        What was decided on.
    outcome : Outcome
        What the network made of them.

    Returns
    -------
    dict of list
        Columns by name: `recording` (its number), `label` (None if unknown), `decision` and `confidence` (None for a
        recording without output events), `events` (input events), `output_events`, and `votes CLASS` and
        `probability CLASS` for each class (see `Network.probabilities`).

    """
    decided, likely = network.decide(outcome), network.probabilities(outcome).round(4)
    number = [int(c) for c in decided.classes]
    return {
        "recording": list(range(len(number))),
        "label": recordings.known_labels,
        "decision": [None if c == SILENT else network.classes[c].item() for c in number],
        "confidence": [
            None if c == SILENT else round(float(share), 4) for c, share in zip(number, decided.confidence, strict=True)
        ],
        "events": outcome.events.tolist(),
        "output_events": outcome.votes.sum(axis=1).tolist(),
        **{f"votes {name}": votes.tolist() for name, votes in zip(network.classes, outcome.votes.T, strict=True)},
        **{f"probability {name}": of.tolist() for name, of in zip(network.classes, likely.T, strict=True)},
    }
