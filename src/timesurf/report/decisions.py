"""How a network decides, for the report: what it keeps, what it confuses, how soon, and its worst recordings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from timesurf import metrics
from timesurf.plots.running import settled
from timesurf.report import pictures
from timesurf.report.findings import Array, Findings, Judged, field_map
from timesurf.report.markup import Html, count, escaped, figure, joined, left_out, percent, scrolling, tag
from timesurf.report.pictures import Curve

_ROWS = 40  # classes in a matrix or in bars, at most
_NAMED = 6  # classes with a curve
_POINTS = 900  # events of a recording that are drawn
_MOMENTS = 120  # of a decision that are drawn


def keeping(found: Findings) -> Html:
    """Kept events by class and by layer."""
    judged = found.judged
    if judged is None:
        return Html()
    picky = [k for k, units in enumerate(found.network.parameters) if np.isfinite(units.thresholds).any()] or [-1]
    names = [f"after layer {k % len(found.network.stages) + 1}" for k in picky]
    rows = [("all", metrics.kept_by_layer(judged.outcome)[picky].tolist())]
    if len(judged.known):
        by_class = judged.kept_by_class(len(found.classes))[:, picky]
        rows += [(name, of.tolist()) for name, of in zip(found.classes, by_class, strict=True)][:_ROWS]
    how = (
        "Share of the input events that are left after each layer that can reject, averaged over recordings: a short "
        "bar is a class of which much is new to the units."
    )
    how += left_out(len(found.classes), _ROWS) if len(judged.known) else ""
    return figure("Kept events by class and layer", pictures.bars(rows, names), how)


def confusions(found: Findings) -> Html:
    """What is taken for what."""
    judged = found.judged
    if judged is None or not len(judged.known):
        return Html()
    counts = metrics.confusion(judged.outcome.votes[judged.known], judged.label[judged.known])
    top = _most_confused(found.classes, counts)
    if len(counts) > _ROWS:
        return tag("p", f"{len(counts):,} classes are too many for a matrix. ", top)
    how = (
        "Rows are the truth, columns what the network said: blue cells are right, orange ones mistakes, and the "
        "stronger the colour the larger the share of the row."
    )
    return figure("Confusion matrix", joined([_matrix(found.classes, counts), tag("p", top)]), how)


def _matrix(classes: Sequence[str], counts: Array) -> Html:
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


def _cell(true: str, said: str, n: int, of: int, right: bool) -> Html:
    share = n / max(of, 1)
    seen = "seen right" if right else "without any output" if said == "none" else f"seen as {said}"
    told = f"{true} {seen}: {n:,} of {of:,}, {percent(share)}"
    look = None if not n else f"--a:{0.12 + 0.5 * math.sqrt(share):.2f}"
    return tag("td", f"{n}" if n else "", data_tip=told, style=look, class_="right" if right else None)


def _most_confused(classes: Sequence[str], counts: Array) -> Html:
    wrong = counts[:, :-1].copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:5]
    pairs = [np.unravel_index(n, wrong.shape) for n in order if wrong.flat[n]]
    if not pairs:
        return escaped("No recording is taken for another class.")
    told = [f"{classes[i]} seen as {classes[j]} ({wrong[i, j]:,})" for i, j in pairs]
    return escaped(f"Most confused: {', '.join(told)}.")


def soon(found: Findings) -> Html:
    """How many events it takes to decide."""
    curve = found.looked.early(found.network) if found.looked else None
    if curve is None or found.looked is None or len(curve[0]) < 2:
        return Html()
    after, right = curve
    line = Curve("majority right", right)
    drawn = pictures.curves(
        after, [line], xlabel="events seen", words=pictures.in_words([line], "over events seen"), log=True
    )
    known = int((found.looked.label >= 0).sum())
    how = (
        "Share of recordings whose votes so far would have told the right class: where the line turns flat, the rest "
        f"of a recording adds little ({count(known, 'recording')} looked at, drawn evenly from the classes)."
    )
    return figure("How soon it can decide", drawn, how)


# ------------------------------------------------------------------ the worst


def worst(found: Findings) -> Html:
    """Recordings to look at first."""
    judged = found.judged
    if judged is None:
        return Html()
    numbers = judged.worst()
    if not len(numbers):
        return tag("p", "There is no recording to draw: all are without events or too long.")
    known = len(judged.known) > 0
    which = (
        "those told wrong first, by the share of votes on the right class"
        if known
        else "without labels, those with the smallest share of votes on the class they are taken for"
    )
    how = (
        f"The {count(len(numbers), 'recording')} to look at first: {which}. Dots are events that came out of the last "
        "layer, crosses events that some layer rejected; the curves are each class's share of the votes so far, and "
        "the dotted line is where the majority stopped changing."
    )
    cards = [_card(found, judged, int(n)) for n in numbers]
    return joined([tag("p", how), tag("div", *cards, class_="pair")])


def _card(found: Findings, judged: Judged, n: int) -> Html:
    """One recording: what it is taken for, its events, how the decision came about."""
    recording, truth, said = judged.recordings[n], int(judged.label[n]), int(judged.said[n])
    trace = found.network.trace(recording)
    kept = trace.passed == len(found.network.stages)
    taken = f"seen as {found.classes[said]}" if said >= 0 else "without any output"
    name = f"{found.classes[truth]} {'seen right' if said == truth else taken}" if truth >= 0 else taken
    votes = int(judged.outcome.votes[n].sum())
    on = found.classes[truth if truth >= 0 else said] if max(truth, said) >= 0 else ""
    told = f"{percent(float(judged.share[n]))} of {count(votes, 'vote')} on {on}; " if on else ""
    told += f"{percent(float(kept.mean()))} of {count(len(kept), 'event')} kept."
    parts = [tag("h3", f"Recording {n}: {name}"), tag("p", told), _maps(recording, kept), _events(recording, kept)]
    votes_over_time = np.where(kept, trace.winner[:, -1], -1)
    return tag("article", *parts, _decision(found, recording, votes_over_time, truth))


def _maps(recording: Any, kept: Array) -> Html:
    """Where the kept events happened, and where the rejected ones, on one scale."""
    groups = {f"{name} ({some.sum():,})": some for name, some in (("kept", kept), ("rejected", ~kept)) if some.any()}
    counts = {name: field_map(recording, some).T for name, some in groups.items()}
    most = float(max(of.max() for of in counts.values()))
    tiles = [pictures.tile(pictures.image(of, most, f"map of events {name}"), name) for name, of in counts.items()]
    return tag("div", *tiles, class_=f"maps{pictures.broad(next(iter(counts.values())))}")


def _events(recording: Any, kept: Array) -> Html:
    """Events over time, x upon it, or the polarity where there is no place."""
    some = np.unique(np.linspace(0, len(kept) - 1, min(len(kept), _POINTS)).astype(int))
    ms = (recording.t[some] - recording.t[0]) / 1e3
    along, high = (recording.coords[0], recording.field[0]) if recording.field else (recording.p, recording.polarities)
    label = "x" if recording.field else "p"
    words = f"Events over time: {kept.sum():,} kept as dots, {(~kept).sum():,} rejected as crosses."
    chart = pictures.points(ms, along[some], kept[some], ylabel=label, high=int(high), words=words)
    note = f"{len(some):,} of {len(kept):,} events drawn." if len(some) < len(kept) else ""
    return joined([chart, tag("p", note, class_="note") if note else ""])


def _decision(found: Findings, recording: Any, vote: Array, truth: int) -> Html:
    """Share of the votes so far of the classes with most of them, over time."""
    votes = np.cumsum(vote[:, None] == np.arange(len(found.classes)), axis=0)
    shares = votes / np.maximum(votes.sum(axis=1, keepdims=True), 1)
    since = settled(shares)
    if since is None:
        return tag("p", "No event came out: it says nothing.")
    some = np.unique(np.linspace(0, len(vote) - 1, min(len(vote), _MOMENTS)).astype(int))
    ms = (recording.t - recording.t[0]) / 1e3
    first = [c for c in np.argsort(-shares[-1], kind="stable")[:_NAMED] if shares[-1, c] or c == truth]
    named = first if truth < 0 or truth in first else [*first, truth]
    lines = [
        Curve(found.classes[c] + (" (true)" if c == truth else ""), shares[some, c], n, c == truth)
        for n, c in enumerate(named)
    ]
    if ms[some[-1]] <= 0:
        return tag("p", "All its events share one time: there is no decision over time to draw.")
    words = pictures.in_words(lines, "of shares of votes over time")
    return pictures.curves(ms[some], lines, xlabel="ms", words=words, mark=ms[since])
