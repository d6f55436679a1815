"""Sections on decisions: kept events, mistakes, how soon the network can decide, and the worst recordings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from timesurf import metrics
from timesurf.plots.running import settled, shares_so_far
from timesurf.report import pictures
from timesurf.report.findings import Array, Evaluated, Findings, field_map
from timesurf.report.markup import Html, count, escaped, figure, joined, left_out, percent, scrolling, table, tag
from timesurf.report.pictures import Curve

_ROWS = 40  # classes in bars, at most
_MATRIX = 15  # classes in a matrix, at most: a larger one is mostly empty cells
_MISTAKES = 25  # in a list of them, at most
_NAMED = 6  # classes with a curve
_POINTS = 900  # events of a recording that are drawn, at most
_MOMENTS = 120  # points of a decision curve that are drawn, at most
_NO_OUTPUT = "without output events"


def keeping(found: Findings) -> Html:
    """Kept events by class and by layer."""
    evaluated = found.evaluated
    if evaluated is None:
        return Html()
    rejecting = [k for k, units in enumerate(found.network.parameters) if np.isfinite(units.thresholds).any()] or [-1]
    names = [f"after layer {k % len(found.network.stages) + 1}" for k in rejecting]
    rows = [("all", metrics.kept_by_layer(evaluated.outcome)[rejecting].tolist())]
    if len(evaluated.known):
        by_class = evaluated.kept_by_class(len(found.classes))[:, rejecting]
        rows += [(name, of.tolist()) for name, of in zip(found.classes, by_class, strict=True)][:_ROWS]
    how = (
        "Share of the input events that remain after each layer that can reject events, averaged over recordings. A "
        "short bar means that many events of the class are rejected."
    )
    how += left_out(len(found.classes), _ROWS) if len(evaluated.known) else ""
    return figure("Kept events by class and layer", pictures.bars(rows, names), how)


def confusions(found: Findings) -> Html:
    """The confusion matrix."""
    evaluated = found.evaluated
    if evaluated is None or not len(evaluated.known):
        return Html()
    what = evaluated.outcome.votes, evaluated.label, evaluated.outcome.evidence
    top = _most_confused(found.classes, metrics.confusion_counts(*what))
    if len(found.classes) > _MATRIX:
        return joined([tag("p", top), _mistakes(found.classes, metrics.confusion_counts(*what))])
    counts = metrics.confusion(*what)
    how = (
        "Rows are true classes, columns predicted ones. Blue cells are correct, orange cells mistakes; the stronger "
        "the colour, the larger the share of the row."
    )
    return figure("Confusion matrix", joined([_matrix(found.classes, counts), tag("p", top)]), how)


def _mistakes(classes: Sequence[str], counts: Array) -> Html:
    """The most frequent mistakes as a list, from `metrics.confusion_counts`."""
    wrong = counts[counts[:, 0] != counts[:, 1]]
    if not len(wrong):
        return Html()
    of = np.bincount(counts[:, 0], weights=counts[:, 2], minlength=len(classes))
    most = wrong[np.argsort(-wrong[:, 2], kind="stable")[:_MISTAKES]].tolist()
    rows = [
        (classes[i], "none" if j == metrics.SILENT else classes[j], f"{n:,}", percent(n / of[i])) for i, j, n in most
    ]
    how = f"The {len(most):,} most frequent of {count(len(wrong), 'kind')} of mistakes; shares are of the true class."
    return figure("Mistakes", table(("true class", "predicted", "recordings", "share"), rows), how)


def _matrix(classes: Sequence[str], counts: Array) -> Html:
    """The matrix as a table."""
    silent = bool(counts[:, -1].any())
    columns = [*classes, "none"] if silent else list(classes)
    head = tag("tr", tag("td"), *(tag("th", tag("span", name, title=name), scope="col") for name in columns))
    body = []
    for i, name in enumerate(classes):
        row = counts[i, : len(columns)]
        cells = [_cell(name, columns[j], int(n), int(row.sum()), i == j) for j, n in enumerate(row)]
        body.append(tag("tr", tag("th", tag("span", name, title=name), scope="row"), *cells))
    long = " upright" if max(map(len, columns)) > 3 else ""
    whole = tag("table", tag("thead", head), tag("tbody", *body), class_=f"matrix{long}")
    return tag("div", scrolling(whole), tag("output", class_="readout", aria_live="polite"), class_="cells")


def _cell(true: str, predicted: str, n: int, of: int, right: bool) -> Html:
    """One cell of the matrix, with its count and share in words."""
    share = n / max(of, 1)
    outcome = _outcome(predicted, right) if predicted != "none" else _NO_OUTPUT
    tip = f"{true} {outcome}: {n:,} of {of:,}, {percent(share)}"
    look = None if not n else f"--a:{0.12 + 0.5 * math.sqrt(share):.2f}"
    return tag("td", f"{n}" if n else "", data_tip=tip, style=look, class_="right" if right else None)


def _outcome(predicted: str, right: bool) -> str:
    """What happened to a recording, in words."""
    return "classified correctly" if right else f"classified as {predicted}"


def _most_confused(classes: Sequence[str], counts: Array) -> Html:
    """The five most frequent mistakes in words, from `metrics.confusion_counts`."""
    wrong = counts[(counts[:, 0] != counts[:, 1]) & (counts[:, 1] != metrics.SILENT)]
    if not len(wrong):
        return escaped("No recording is classified as another class.")
    order = np.argsort(-wrong[:, 2], kind="stable")[:5]
    most = [f"{classes[i]} classified as {classes[j]} ({n:,})" for i, j, n in wrong[order].tolist()]
    return escaped(f"Most confused: {', '.join(most)}.")


def soon(found: Findings) -> Html:
    """Recording accuracy over the number of events seen."""
    curve = found.traced.early(found.network) if found.traced else None
    if curve is None or found.traced is None or len(curve[0]) < 2:
        return Html()
    after, right = curve
    line = Curve("recording accuracy", right)
    drawn = pictures.curves(
        after, [line], xlabel="events seen", words=pictures.in_words([line], "over events seen"), log=True
    )
    known = int((found.traced.label >= 0).sum())
    how = (
        "Recording accuracy if the network decided after this number of events. Where the line becomes flat, further "
        f"events add little ({count(known, 'recording')}, drawn evenly from the classes)."
    )
    return figure("How soon it can decide", drawn, how)


# ------------------------------------------------------------------ the worst


def worst(found: Findings) -> Html:
    """Recordings to look at first."""
    evaluated = found.evaluated
    if evaluated is None:
        return Html()
    numbers = evaluated.worst()
    if not len(numbers):
        return tag("p", "There is no recording to draw: all have no events or are too long.")
    known = len(evaluated.known) > 0
    which = (
        "wrong ones first, by the share of votes on the right class"
        if known
        else "without labels, those with the lowest confidence"
    )
    how = (
        f"The {count(len(numbers), 'recording')} to look at first: {which}. Dots are output events, crosses events "
        "that a layer rejected. The curves are each class's share of the votes so far; after the dotted line the "
        "decision does not change."
    )
    cards = [_card(found, evaluated, int(n)) for n in numbers]
    return joined([tag("p", how), tag("div", *cards, class_="pair")])


def _card(found: Findings, evaluated: Evaluated, n: int) -> Html:
    """One recording: the decision, its events, the votes over time."""
    recording, truth, decided = evaluated.recordings[n], int(evaluated.label[n]), int(evaluated.decided.classes[n])
    trace = found.network.trace(recording)
    kept = trace.passed == len(found.network.stages)
    outcome = _outcome(found.classes[decided], decided == truth) if decided != metrics.SILENT else _NO_OUTPUT
    name = f"{found.classes[truth]} {outcome}" if truth >= 0 else outcome
    votes = int(evaluated.outcome.votes[n].sum())
    on = found.classes[truth if truth >= 0 else decided] if max(truth, decided) >= 0 else ""
    about = f"{percent(float(evaluated.share[n]))} of {count(votes, 'vote')} on {on}; " if on else ""
    about += f"{percent(float(kept.mean()))} of {count(len(kept), 'event')} kept."
    parts = [tag("h3", f"Recording {n}: {name}"), tag("p", about), _maps(recording, kept), _events(recording, kept)]
    vote = metrics.voted(trace, found.network.stages)
    return tag("article", *parts, _decision(found, recording, vote, truth))


def _maps(recording: Any, kept: Array) -> Html:
    """Maps of kept and of rejected events, on one scale."""
    groups = {f"{name} ({some.sum():,})": some for name, some in (("kept", kept), ("rejected", ~kept)) if some.any()}
    counts = {name: field_map(recording, some).T for name, some in groups.items()}
    most = float(max(of.max() for of in counts.values()))
    tiles = [pictures.tile(pictures.image(of, most, f"map of events {name}"), name) for name, of in counts.items()]
    return tag("div", *tiles, class_=f"maps{pictures.broad(next(iter(counts.values())))}")


def _events(recording: Any, kept: Array) -> Html:
    """Events over time, by x, or by polarity where there are no coordinates."""
    some = np.unique(np.linspace(0, len(kept) - 1, min(len(kept), _POINTS)).astype(int))
    ms = (recording.t[some] - recording.t[0]) / 1e3
    along, high = (recording.coords[0], recording.field[0]) if recording.field else (recording.p, recording.polarities)
    label = "x" if recording.field else "p"
    words = f"Events over time: {kept.sum():,} kept as dots, {(~kept).sum():,} rejected as crosses."
    chart = pictures.points(ms, along[some], kept[some], ylabel=label, high=int(high), words=words)
    note = f"{len(some):,} of {len(kept):,} events drawn." if len(some) < len(kept) else ""
    return joined([chart, tag("p", note, class_="note") if note else ""])


def _decision(found: Findings, recording: Any, vote: Array, truth: int) -> Html:
    """Share of the votes so far over time, for the classes with most votes."""
    kept = vote >= 0
    if not kept.any():
        return tag("p", "No output event, so no decision.")
    voted = np.unique(np.append(vote[kept], truth if truth >= 0 else vote[kept][0]))  # all other shares are 0
    shares = shares_so_far(np.where(kept, np.searchsorted(voted, vote), -1), len(voted))
    since = settled(shares)
    some = np.unique(np.linspace(0, len(vote) - 1, min(len(vote), _MOMENTS)).astype(int))
    ms = (recording.t - recording.t[0]) / 1e3
    order = np.argsort(-shares[-1], kind="stable")
    named = [c for n, c in enumerate(order) if (n < _NAMED and shares[-1, c]) or voted[c] == truth]
    lines = [
        Curve(found.classes[voted[c]] + (" (true)" if voted[c] == truth else ""), shares[some, c], n, voted[c] == truth)
        for n, c in enumerate(named)
    ]
    if ms[some[-1]] <= 0:
        return tag("p", "All its events have the same time: there is no decision over time to draw.")
    words = pictures.in_words(lines, "of shares of votes over time")
    return pictures.curves(ms[some], lines, xlabel="ms", words=words, mark=ms[since])
