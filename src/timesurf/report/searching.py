"""How a search is told: what it found, what that is worth on fresh recordings, and which settings matter.

A section is a function from what `timesurf.search.run` gives to HTML; one that has nothing to say is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from timesurf.report import pictures
from timesurf.report.markup import Html, count, figure, folded, joined, percent, table, tag
from timesurf.report.pictures import Curve
from timesurf.report.sections import flat

Result = dict[str, Any]
_SHOWN = 8  # trials of the front
_OBJECTIVES = {"recording_accuracy": "recordings right", "kept": "events kept"}


def heading(result: Result) -> Html:
    """Title, how many trials, and what is missing."""
    ended = [row["ended"] for row in result["trials"]]
    counts = ", ".join(f"{ended.count(how)} {how}" for how in ("whole", "pruned", "diverged"))
    parts = [tag("h1", "Search"), tag("p", f"{count(len(ended), 'trial')}: {counts}.")]
    if result["stopped"]:
        words = "The search was stopped before its end: what it found has not been tested on fresh recordings."
        parts.append(tag("p", words, class_="missing"))
    return joined(parts)


def fresh(result: Result) -> Html:
    """The settings that were chosen beside the defaults, and how to train them."""
    if "test" not in result:
        return Html()
    test = result["test"]
    figures = {**_OBJECTIVES, "event_accuracy": "events right"}
    rows = [
        (title, *(f"{percent(float(np.mean(of[name])))} (worst {percent(_worst(name, of[name]))})" for name in figures))
        for title, of in (("defaults", test["defaults"]), ("chosen", test["chosen"]))
    ]
    networks = len(test["chosen"]["kept"])
    right, kept = (f"{100 * by:+.2f} points (standard error {100 * error:.2f})" for by, error in test["gains"].values())
    told = (
        f"Means of {count(networks, 'network')} each, on recordings that no trial has seen. What was chosen is "
        f"{test['verdict']}: {right} of recordings right, {kept} of events spared."
    )
    changes = [(name, _short(result["defaults"][name]), _short(value)) for name, value in test["values"].items()]
    return joined(
        [
            table(("", *figures.values()), rows),
            tag("p", told),
            table(("setting", "default", "chosen"), changes),
            folded("Python that trains it", tag("div", tag("pre", test["python"]), class_="wide")),
        ]
    )


def _worst(name: str, values: list[float]) -> float:
    return max(values) if name == "kept" else min(values)


def trials(result: Result) -> Html:
    """What each reached, those that no other beats, and how it went on."""
    rows = result["trials"]
    if not rows:
        return tag("p", "No trial has ended yet.")
    right, kept = (np.array([row[name][-1] for row in rows]) for name in ("recording_accuracy", "kept"))
    whole = np.array([row["ended"] == "whole" for row in rows])
    words = f"Recordings right over events kept of {count(len(rows), 'trial')}."
    drawn = pictures.trade(kept, right, whole, xlabel="events kept, %", words=words)
    how = (
        "Up and to the left is better. Dots went to their end; crosses were given up, or diverged, and show how far "
        "they came."
    )
    parts = [figure("Recordings right over events kept", drawn, how)]
    parts += [tag("h3", "Trials that no other beats"), _front(result)]
    best = _so_far(rows)
    if len(best) > 1:
        lines = [Curve(title, best[:, n], n) for n, title in enumerate(_OBJECTIVES.values())]
        at = np.arange(1, len(best) + 1)
        drawn = pictures.curves(at, lines, xlabel="trial", words=pictures.in_words(lines, "trial by trial"))
        parts.append(
            figure("The best so far", drawn, "Most recordings right, and the fewest events kept among equals.")
        )
    return joined(parts)


def _front(result: Result) -> Html:
    """A column a trial, a row a setting."""
    rows = {row["number"]: row for row in result["trials"]}
    found = [rows[n] for n in result["front"][:_SHOWN]]
    lines = [(title, *(percent(row[name][-1]) for row in found)) for name, title in _OBJECTIVES.items()]
    lines += [(name, *(_short(row["values"][name]) for row in found)) for name in result["defaults"]]
    return table(("trial", *(row["number"] for row in found)), lines)


def _so_far(rows: list[dict[str, Any]]) -> Any:
    """Objectives of the best trial up to each."""
    best, found = (0.0, -1.0), []
    for row in rows:
        if row["marks"]:
            best = max(best, (row["marks"][0], -row["marks"][1]))
        found.append((best[0], -best[1]))
    return np.array(found)


def importance(result: Result) -> Html:
    """Which settings matter."""
    shares = {title: result["importance"].get(name, {}) for name, title in _OBJECTIVES.items()}
    if not any(shares.values()):
        return tag("p", "The trials are too few, or too much alike, to tell.")
    names = sorted(result["defaults"], key=lambda name: -sum(of.get(name, 0.0) for of in shares.values()))
    rows = [(name, [of.get(name, 0.0) for of in shares.values()]) for name in names]
    drawn = pictures.bars(rows, list(shares), full=max(share for _, both in rows for share in both))
    how = (
        "Share of what varies between trials that a setting explains by itself (fANOVA), over the space that was "
        "searched."
    )
    return figure("What matters", drawn, how)


def settings(result: Result) -> Html:
    """What it takes to repeat the search."""
    about = {name: result[name] for name in ("command", "data", "seconds") if name in result}
    groups = {"What was searched": result["settings"], "Command and machine": about | {"machine": result["machine"]}}
    return joined(folded(name, table((), flat(values))) for name, values in groups.items())


def _short(value: Any) -> str:
    return "none" if value is None else f"{value:g}"


SECTIONS: tuple[tuple[str, str, Callable[[Result], Html]], ...] = (
    ("test", "Test", fresh),
    ("trials", "Trials", trials),
    ("importance", "What matters", importance),
    ("settings", "Settings", settings),
)
