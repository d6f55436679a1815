"""How a run is told: a section each, with a sentence on how to read each picture.

A section is a function from the findings to HTML; one that has nothing to say is left out, one that lacks something
says what.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from timesurf.report import pictures
from timesurf.report.decisions import confusions, keeping, soon, worst
from timesurf.report.findings import LONGEST, LOOKED_AT, WORST, Findings, Judged
from timesurf.report.markup import Html, count, figure, folded, joined, percent, table, tag
from timesurf.report.pictures import Curve
from timesurf.report.units import features

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
    parts = [folded(name, table((), flat(values))) for name, values in groups.items() if values]
    return joined(parts) if parts else tag("p", "This run kept no settings.")


def flat(values: Any, name: str = "") -> Iterable[tuple[str, str]]:
    """Nested settings as pairs of a dotted name and a value."""
    if isinstance(values, dict):
        for key, value in values.items():
            yield from flat(value, f"{name}.{key}" if name else str(key))
    elif isinstance(values, list | tuple) and any(isinstance(value, dict) for value in values):
        for n, value in enumerate(values, start=1):
            yield from flat(value, f"{name}.{n}")
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
    drawn = pictures.curves(passes, lines, xlabel="pass", words=pictures.in_words(lines, "pass by pass"))
    how = (
        "Lines that still rise or fall at the right end ask for more passes; events right and kept are of the "
        "recordings it learnt from, as it learnt."
    )
    rows = [(n, *(percent(float(line.y[n - 1])) for line in lines)) for n in passes]
    numbers = folded("The same as a table", table(("pass", *(line.name for line in lines)), rows))
    return joined([figure("Learning curves", drawn, how), numbers])


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
