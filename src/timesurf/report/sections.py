"""How a run is told: a section each, with a sentence on how to read each picture.

A section is a function from the findings to HTML; one that has nothing to say is left out, one that lacks something
says what.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from timesurf import metrics
from timesurf.layers import Stage
from timesurf.plots.network import picture, pixels
from timesurf.plots.running import settled
from timesurf.report import pictures
from timesurf.report.findings import LONGEST, LOOKED_AT, WORST, Array, Findings, Judged, Use, field_map, uses
from timesurf.report.markup import Html, count, escaped, figure, folded, joined, percent, scrolling, table, tag
from timesurf.report.pictures import Curve

_UNITS = 96  # units of a layer that are drawn, at most
_ROWS = 40  # classes in a matrix or in bars, at most
_NAMED = 6  # classes with a curve, or a bar of a unit
_POINTS = 900  # events of a recording that are drawn
_MOMENTS = 120  # of a decision that are drawn
_PLACES = 10_000  # in the box of an upper layer that is drawn back to pixels, at most
_NOTHING_HELD_OUT = (
    "No recordings were held out, so there is nothing to judge the network by. What is missing here: figures of "
    "recordings that it did not learn from, its mistakes, and what its units fire for."
)


# ------------------------------------------------------------------ above the sections


def title(found: Findings) -> str:
    """Of the page."""
    return f"Training run: {_right(found) or count(len(found.classes), 'class', 'classes')}"


def heading(found: Findings) -> Html:
    """Title, layers, and what is missing."""
    network = found.network
    field = " x ".join(map(str, network.field)) or "one point"
    classes, polarities = len(found.classes), network.polarities
    about = f"{count(classes, 'class', 'classes')}, field {field}, {count(polarities, 'polarity', 'polarities')}"
    layers = tag("ol", *(tag("li", str(stage)) for stage in network.stages), class_="layers")
    return joined([tag("h1", "Training run"), tag("p", about), layers, *missing(found)])


def missing(found: Findings) -> list[Html]:
    """A sentence for each thing that a full report would have had."""
    told = ["Training was stopped before its end."] if found.run.about.get("stopped") is True else []
    return [tag("p", words, class_="missing") for words in (*told, _not_judged(found.judged)) if words]


def _not_judged(judged: Judged | None) -> str:
    """What the network could not be judged by."""
    if judged is None:
        return _NOTHING_HELD_OUT
    every = len(judged.label)
    unknown = every - len(judged.known)
    if unknown == every:
        return "The held-out recordings bear no label: nothing can be said about right and wrong."
    rest = "they are left out wherever right and wrong are told apart."
    return f"{unknown:,} of the {every:,} held-out recordings bear no label: {rest}" if unknown else ""


def _right(found: Findings) -> str:
    return _maybe(found.figures.get("majority"), lambda share: f"{percent(share)} of recordings right")


# ------------------------------------------------------------------ figures and settings


def headline(found: Findings) -> Html:
    """The figures that people ask for first."""
    figures, seconds = found.figures, found.run.about.get("seconds")
    shown = [
        ("recordings right", _maybe(figures.get("majority"), percent), "by their most frequent output"),
        ("events right", _maybe(figures.get("accuracy"), percent), "of output events, averaged over recordings"),
        ("kept", _maybe(figures.get("kept"), percent), "output events of all that came in"),
        ("silent", _maybe(figures.get("silent"), _counted), "recordings without an output event"),
        ("recordings", _maybe(figures.get("recordings"), _counted), "held out" if found.judged else "judged"),
        ("events", _maybe(figures.get("events"), _counted), "in them"),
        ("training time", _maybe(seconds, _duration), count(len(found.history), "pass", "passes")),
    ]
    cards = [
        tag("div", tag("dt", name), tag("dd", tag("strong", value), " ", tag("small", about)))
        for name, value, about in shown
        if value
    ]
    if not cards:
        return tag("p", "This run kept no figures.")
    source = "" if found.judged or not figures else tag("p", "These figures are those that the run kept when it ended.")
    return joined([tag("dl", *cards, class_="cards"), source])


def settings(found: Findings) -> Html:
    """What it takes to repeat the run."""
    about = {name: value for name, value in found.run.about.items() if name not in ("history", "evaluation")}
    if isinstance(about.get("command"), list):
        about["command"] = shlex.join(map(str, about["command"]))
    asked, chosen = about.pop("config", None), about.pop("settings", None)
    groups = {"What was asked for": asked, "All settings": chosen, "Command, seed, versions, machine": about}
    parts = [folded(name, table((), _flat(values))) for name, values in groups.items() if values]
    return joined(parts) if parts else tag("p", "This run kept no settings.")


def _flat(values: Any, name: str = "") -> Iterable[tuple[str, str]]:
    """Nested settings as pairs of a dotted name and a value."""
    if isinstance(values, dict):
        for key, value in values.items():
            yield from _flat(value, f"{name}.{key}" if name else str(key))
    elif isinstance(values, list | tuple) and any(isinstance(value, dict) for value in values):
        for n, value in enumerate(values, start=1):
            yield from _flat(value, f"{name}.{n}")
    else:
        yield name or "value", ", ".join(map(str, values)) if isinstance(values, list | tuple) else str(values)


# ------------------------------------------------------------------ learning


def learning(found: Findings) -> Html:
    """How it went, pass by pass."""
    history = found.history
    if not history:
        return tag("p", "This network has not learnt, or its history was not kept: there are no passes to draw.")
    names = {"accuracy": "events right", "kept": "kept", "validation": "validation"}
    values = {name: np.array([_float(line.get(name)) for line in history]) for name in names}
    lines = [Curve(names[name], y, n) for n, (name, y) in enumerate(values.items()) if not np.isnan(y).all()]
    if not lines:
        return tag("p", "The history of this run holds no figures to draw.")
    passes = np.arange(1, len(history) + 1)
    drawn = pictures.curves(passes, lines, xlabel="pass", words=_words(lines, "pass by pass"))
    how = (
        "Lines that still rise or fall at the right end ask for more passes; events right and kept are of the "
        "recordings it learnt from, as it learnt."
    )
    rows = [(n, *(percent(float(line.y[n - 1])) for line in lines)) for n in passes]
    numbers = folded("The same as a table", table(("pass", *(line.name for line in lines)), rows))
    return joined([figure("Learning curves", drawn, how), numbers])


def _words(lines: Sequence[Curve], along: str) -> str:
    ends = ", ".join(f"{line.name} {percent(float(line.y[-1]))}" for line in lines)
    return f"Curves {along}; in the end {ends}."


# ------------------------------------------------------------------ what it learnt


def features(found: Findings) -> Html:
    """Units of every layer as images, and their thresholds."""
    parts = [_first_layer(found)]
    for k in range(1, len(found.network.stages)):
        parts.append(_upper_layer(found, k))
    parts.append(tag("div", *_thresholds(found), class_="pair"))
    return joined(parts)


def _first_layer(found: Findings) -> Html:
    """Layer 1, of which a unit can be picked."""
    centroids = found.network.parameters.centroids[0]
    shown = centroids[:_UNITS]
    most = float(shown.max(initial=0))
    names = _unit_names(found, 0)
    small = [pictures.image(picture(c), most, "") for c in shown]
    if found.looked is None:
        grid = tag("div", *(_tile(img, name) for img, name in zip(small, names, strict=False)), class_="units")
        return figure("Layer 1: what its units look for", grid, _how_centroids(most) + _left_out(len(centroids)))
    picks = [
        tag("a", img, tag("span", name), href=f"#unit-{n}", id=f"pick-{n}", aria_label=f"unit {name}", class_="unit")
        for n, (img, name) in enumerate(zip(small, names, strict=False), start=1)
    ]
    use = zip(small, uses(found.network, found.looked), strict=False)
    panels = [_panel(found, n, img, of) for n, (img, of) in enumerate(use, start=1)]
    both = tag("div", tag("div", *picks, class_="units"), tag("div", *panels, class_="panels"), class_="picking")
    how = _how_centroids(most) + _left_out(len(centroids))
    hint = "Pick a unit to see what it fires for: click, or Tab, arrow keys and Enter."
    return figure("Layer 1: what its units look for", joined([tag("p", hint), both]), how)


def _how_centroids(most: float) -> str:
    return (
        "Each image is the time surface to which a unit is closest: bright where events are new, dark where they are "
        f"old or there are none (yellow is {most:.2g}); x runs to the right, y down, polarities lie side by side."
    )


def _left_out(units: int, most: int = _UNITS) -> str:
    return f" The first {most} of {units:,} are shown." if units > most else ""


def _panel(found: Findings, n: int, centroid: Html, use: Use) -> Html:
    """What one unit of layer 1 fires for."""
    assert found.looked is not None
    threshold = float(found.network.parameters.thresholds[0][n - 1])
    facts = [
        ("events", f"{use.events:,}, {percent(use.events / max(len(found.looked.trace.passed), 1))} of all"),
        ("kept", f"{percent(use.kept)} lie within its threshold"),
        ("come out", f"{percent(use.output)} pass every layer"),
        ("threshold", "none" if math.isinf(threshold) else f"{threshold:.3g}"),
    ]
    told = tag("dl", *(joined([tag("dt", name), tag("dd", value)]) for name, value in facts if use.events))
    silent = "" if use.events else tag("p", "No event is closest to this unit.")
    where = pictures.image(use.where.T, float(use.where.max()), f"map of the {use.events:,} events of unit {n}")
    fires = _tile(where, "fires at") if use.events else ""
    pair = tag("div", _tile(centroid, "looks for"), fires, class_=f"maps{_broad(use.where.T)}")
    source = f"In {count(len(found.looked.label), 'recording')} looked at, drawn evenly from the classes."
    parts = [tag("h4", f"Unit {n}"), silent, pair, told, _classes_of(found, use), tag("p", source, class_="note")]
    return tag("section", *parts, id=f"unit-{n}", class_="panel", aria_label=f"unit {n}")


def _classes_of(found: Findings, use: Use) -> Html:
    """The classes whose recordings make a unit fire most."""
    if not use.by_class.any():
        return Html()
    order = np.argsort(-use.by_class, kind="stable")[: max(_NAMED, 10)]
    rows = [(found.classes[c], [float(use.by_class[c])]) for c in order]
    of = " (the ten with most)" if len(found.classes) > 10 else ""
    return joined([tag("h5", f"Its events by class{of}"), pictures.bars(rows, full=float(use.by_class.max()))])


def _upper_layer(found: Findings, k: int) -> Html:
    """A layer above the first, drawn back to pixels."""
    network, stage = found.network, found.network.stages[k]
    name = f"Layer {k + 1}: what its units look for, in pixels"
    if not _can_be_drawn(network.stages, k):
        why = "Its units are not drawn: they look at too many places, or at a field that is no image."
        return tag("figure", tag("h3", name), tag("p", why))
    every = pixels(network, k)[:_UNITS]
    tiles = [_tile(pictures.image(picture(c), 1, ""), of) for c, of in zip(every, _unit_names(found, k), strict=False)]
    how = (
        "The centroids of the layers below, each placed where the unit looks for it and weighted by how much: bright "
        "where the unit expects recent events (yellow: its brightest pixel)."
    )
    return figure(
        name, tag("div", *tiles, class_=f"units large{_broad(picture(every[0]))}"), how + _left_out(stage.units)
    )


def _can_be_drawn(stages: Sequence[Stage], k: int) -> bool:
    small = all(math.prod(stage.surface_shape[:-1]) <= _PLACES for stage in stages[: k + 1])
    return small and len(stages[0].field) in (1, 2)


def _thresholds(found: Findings) -> list[Html]:
    charts = []
    for k, th in enumerate(found.network.parameters.thresholds):
        if np.isinf(th).all():
            continue
        names = _unit_names(found, k)
        told = [f"unit {name}: {_threshold(float(value))}" for name, value in zip(names, th, strict=True)]
        short = [name.removesuffix(" (silent)") for name in names]
        words = f"Thresholds of {count(len(th), 'unit')}."
        drawn = pictures.columns(th, names=short, told=told, xlabel="unit", words=words)
        how = (
            "How far a surface may lie from each unit before its event is rejected: a low column is a choosy unit, a "
            "cross one that fell silent, an open column one that lets everything pass."
        )
        charts.append(figure(f"Layer {k + 1}: thresholds", drawn, how))
    return charts


def _threshold(value: float) -> str:
    return "no threshold" if math.isinf(value) else "silent" if value == 0 else f"threshold {value:.3g}"


def _unit_names(found: Findings, k: int) -> list[str]:
    """Numbers from 1 up, or classes in the last layer."""
    stages, th = found.network.stages, found.network.parameters.thresholds[k]
    names = found.classes if k == len(stages) - 1 else list(map(str, range(1, stages[k].units + 1)))
    return [name if value > 0 else f"{name} (silent)" for name, value in zip(names, th, strict=True)]


def _broad(image: Array) -> str:
    """Images that are broad and low get more room."""
    height, width = image.shape
    return " broad" if width > 2.5 * height else ""


def _tile(img: Html, name: str) -> Html:
    return tag("div", img, tag("span", name), class_="unit")


# ------------------------------------------------------------------ how it decides


def keeping(found: Findings) -> Html:
    """Kept events by class and by layer."""
    judged = found.judged
    if judged is None:
        return Html()
    picky = [k for k, th in enumerate(found.network.parameters.thresholds) if np.isfinite(th).any()] or [-1]
    names = [f"after layer {k % len(found.network.stages) + 1}" for k in picky]
    rows = [("all", metrics.kept_by_layer(judged.outcome)[picky].tolist())]
    if len(judged.known):
        by_class = judged.kept_by_class(len(found.classes))[:, picky]
        rows += [(name, of.tolist()) for name, of in zip(found.classes, by_class, strict=True)][:_ROWS]
    how = (
        "Share of the input events that are left after each layer that can reject, averaged over recordings: a short "
        "bar is a class of which much is new to the units."
    )
    how += _left_out(len(found.classes), _ROWS) if len(judged.known) else ""
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
    drawn = pictures.curves(after, [line], xlabel="events seen", words=_words([line], "over events seen"), log=True)
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
    tiles = [_tile(pictures.image(of, most, f"map of events {name}"), name) for name, of in counts.items()]
    return tag("div", *tiles, class_=f"maps{_broad(next(iter(counts.values())))}")


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
    words = _words(lines, "of shares of votes over time")
    return pictures.curves(ms[some], lines, xlabel="ms", words=words, mark=ms[since])


# ------------------------------------------------------------------ how the report was made


def made(found: Findings) -> Html:
    """What the figures and the pictures are of."""
    if found.judged is None:
        return Html()
    looked = len(found.looked.label) if found.looked else 0
    told = (
        f"Figures are of all {count(len(found.judged.label), 'held-out recording')}. What units fire for and how soon "
        f"it decides are of {looked:,} of them, drawn evenly from the classes (at most {LOOKED_AT}, and {LONGEST:,} "
        f"events in all); at most {WORST} are drawn by themselves."
    )
    return tag("p", told)


# ------------------------------------------------------------------ small words


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _float(value: Any) -> float:
    return float(value) if _is_number(value) else math.nan


def _maybe(value: Any, words: Callable[[float], str]) -> str:
    return words(value) if _is_number(value) else ""


def _counted(value: float) -> str:
    """A count, rounded where it has more than seven digits.

    >>> _counted(3270058), _counted(81_234_567)
    ('3,270,058', '81.2 M')
    """
    return f"{value:,.0f}" if value < 1e7 else f"{value / 1e6:,.1f} M"


def _duration(seconds: float) -> str:
    """A time as people say it.

    >>> _duration(3.21), _duration(75), _duration(7325)
    ('3.2 s', '1 min 15 s', '2 h 2 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


SECTIONS: tuple[tuple[str, str, Callable[[Findings], Html]], ...] = (
    ("figures", "Figures", headline),
    ("confusion", "Mistakes", confusions),
    ("learning", "Learning", learning),
    ("units", "Units", features),
    ("kept", "Kept events", keeping),
    ("soon", "How soon", soon),
    ("worst", "Worst recordings", worst),
    ("settings", "Settings", settings),
    ("made", "About this report", made),
)
