"""Sections of the report on a search: what it found, accuracy on new recordings, importance of settings.

A section is a function from what `timesurf.search.run` returns to HTML; an empty section is left out.
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
_SHOWN = 8  # trials of the front, at most
_OBJECTIVES = {"recording_accuracy": "recording accuracy", "kept": "events kept"}


def heading(result: Result) -> Html:
    """Title, number of trials, and what is missing."""
    ended = [row["ended"] for row in result["trials"]]
    counts = ", ".join(f"{ended.count(how)} {how}" for how in ("whole", "pruned", "diverged"))
    parts = [tag("h1", "Search"), tag("p", f"{count(len(ended), 'trial')}: {counts}.")]
    if result["stopped"]:
        words = "The search was stopped before its end: what it found has not been tested on new recordings."
        parts.append(tag("p", words, class_="missing"))
    return joined(parts)


def fresh(result: Result) -> Html:
    """The chosen settings compared with the defaults, and how to train with them."""
    if "test" not in result:
        return Html()
    test = result["test"]
    figures = {**_OBJECTIVES, "event_accuracy": "event accuracy"}
    rows = [
        (title, *(f"{percent(float(np.mean(of[name])))} (worst {percent(_worst(name, of[name]))})" for name in figures))
        for title, of in (("defaults", test["defaults"]), ("chosen", test["chosen"]))
    ]
    networks = len(test["chosen"]["kept"])
    right, kept = (f"{100 * by:+.2f} points (standard error {100 * error:.2f})" for by, error in test["gains"].values())
    text = (
        f"Means of {count(networks, 'network')} each, on recordings that no trial used. The chosen settings are "
        f"{test['verdict']}: recording accuracy {right}, fewer events kept {kept}."
    )
    changes = [(name, _short(result["defaults"][name]), _short(value)) for name, value in test["values"].items()]
    return joined(
        [
            table(("", *figures.values()), rows),
            tag("p", text),
            table(("setting", "default", "chosen"), changes),
            folded("Python code to train with these settings", tag("div", tag("pre", test["python"]), class_="wide")),
        ]
    )


def _worst(name: str, values: list[float]) -> float:
    """The worst of several networks: of events kept the most, of accuracies the least."""
    return max(values) if name == "kept" else min(values)


def trials(result: Result) -> Html:
    """What each trial reached, the Pareto front, and the best trial so far."""
    rows = result["trials"]
    if not rows:
        return tag("p", "No trial has ended yet.")
    right, kept = (np.array([row[name][-1] for row in rows]) for name in _OBJECTIVES)
    whole = np.array([row["ended"] == "whole" for row in rows])
    words = f"Recording accuracy over events kept of {count(len(rows), 'trial')}."
    drawn = pictures.trade(kept, right, whole, xlabel="events kept, %", words=words)
    how = (
        "Up and to the left is better. Dots are complete trials; crosses were pruned or diverged, and show what they "
        "had reached."
    )
    parts = [figure("Recording accuracy over events kept", drawn, how)]
    parts += [tag("h3", "Trials that no other trial beats in both"), _front(result)]
    best = _so_far(rows)
    if len(best) > 1:
        lines = [Curve(title, best[:, n], n) for n, title in enumerate(_OBJECTIVES.values())]
        at = np.arange(1, len(best) + 1)
        drawn = pictures.curves(at, lines, xlabel="trial", words=pictures.in_words(lines, "trial by trial"))
        parts.append(
            figure("The best so far", drawn, "Highest recording accuracy, and the fewest events kept among equals.")
        )
    return joined(parts)


def _front(result: Result) -> Html:
    """A table with one column per trial and one row per setting."""
    rows = {row["number"]: row for row in result["trials"]}
    found = [rows[n] for n in result["front"][:_SHOWN]]
    lines = [(title, *(percent(row[name][-1]) for row in found)) for name, title in _OBJECTIVES.items()]
    lines += [(name, *(_short(row["values"][name]) for row in found)) for name in result["defaults"]]
    return table(("trial", *(row["number"] for row in found)), lines)


def _so_far(rows: list[dict[str, Any]]) -> Any:
    """Objectives of the best trial up to each trial."""
    best, found = (0.0, -1.0), []
    for row in rows:
        if row["marks"]:
            best = max(best, (row["marks"][0], -row["marks"][1]))
        found.append((best[0], -best[1]))
    return np.array(found)


def importance(result: Result) -> Html:
    """How much of the variance each setting explains."""
    shares = {title: result["importance"].get(name, {}) for name, title in _OBJECTIVES.items()}
    if not any(shares.values()):
        return tag("p", "There are too few trials, or they are too similar, to estimate the importance of settings.")
    names = sorted(result["defaults"], key=lambda name: -sum(of.get(name, 0.0) for of in shares.values()))
    rows = [(name, [of.get(name, 0.0) for of in shares.values()]) for name in names]
    drawn = pictures.bars(rows, list(shares), full=max(share for _, both in rows for share in both))
    how = (
        "Share of the variance between trials that each setting explains by itself (fANOVA), over the space that was "
        "searched."
    )
    return figure("Importance of settings", drawn, how)


def settings(result: Result) -> Html:
    """Everything needed to repeat the search."""
    about = {name: result[name] for name in ("command", "data", "seconds") if name in result}
    groups = {
        "Settings of the search": result["settings"],
        "Command and machine": about | {"machine": result["machine"]},
    }
    return joined(folded(name, table((), flat(values))) for name, values in groups.items())


def _short(value: Any) -> str:
    """A setting in few digits."""
    return "none" if value is None else f"{value:g}"


SECTIONS: tuple[tuple[str, str, Callable[[Result], Html]], ...] = (
    ("test", "Test", fresh),
    ("trials", "Trials", trials),
    ("importance", "Importance of settings", importance),
    ("settings", "Settings", settings),
)
