"""Decisions on recordings as columns of a table, one row per recording."""

from __future__ import annotations

import csv
import io
from typing import Any

from timesurf.engines import Outcome
from timesurf.events import Recordings
from timesurf.metrics import SILENT
from timesurf.network import Network

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
    labels = [None] * len(number) if recordings.labels is None else recordings.labels.tolist()
    known = recordings.labelled.tolist()
    return {
        "recording": list(range(len(number))),
        "label": [label if is_known else None for label, is_known in zip(labels, known, strict=True)],
        "decision": [None if c == SILENT else network.classes[c].item() for c in number],
        "confidence": [
            None if c == SILENT else round(float(share), 4) for c, share in zip(number, decided.confidence, strict=True)
        ],
        "events": outcome.events.tolist(),
        "output_events": outcome.votes.sum(axis=1).tolist(),
        **{f"votes {name}": votes.tolist() for name, votes in zip(network.classes, outcome.votes.T, strict=True)},
        **{f"probability {name}": of.tolist() for name, of in zip(network.classes, likely.T, strict=True)},
    }
