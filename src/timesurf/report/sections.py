"""Sections of the report on a run, each with explanations of its pictures.

A section is a function from the findings to HTML. An empty section is left out; one that lacks something says what.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterable
from pathlib import PurePath
from typing import Any

import numpy as np

from timesurf.plots.running import CURVES
from timesurf.report import pictures
from timesurf.report.decisions import confusions, keeping, soon, worst
from timesurf.report.findings import LONGEST, TRACED, WORST, Evaluated, Findings
from timesurf.report.markup import Html, count, figure, folded, joined, percent, table, tag
from timesurf.report.pictures import Curve
from timesurf.report.sureness import probabilities, sparsity
from timesurf.report.units import features

_NOTHING_HELD_OUT = (
    "No recordings were held out to evaluate the network on. Missing here: figures of recordings that it did not learn "
    "from, its mistakes, and what its units fire for."
)


# ------------------------------------------------------------------ above the sections


def title(found: Findings) -> str:
    """Title of the page: data, model, date, and how well it does."""
    return f"{_named(found)}: {_accuracy(found) or count(len(found.classes), 'class', 'classes')}"


def _named(found: Findings) -> str:
    """Which data, which model, and when, as far as the run says."""
    about = found.run.about
    data, config = about.get("data"), about.get("config")
    names = (
        about.get("reported_on") or (data.get("name") if isinstance(data, dict) else None),
        config.get("model") if isinstance(config, dict) else None,
    )
    known = [PurePath(name).name or name for name in names if isinstance(name, str) and name]
    when = about.get("when")
    return ", ".join([*known, *([when[:10]] if isinstance(when, str) else [])]) or "Training run"


def heading(found: Findings) -> Html:
    """Title, layers, and what is missing."""
    network = found.network
    field = " x ".join(map(str, network.field)) or "one point"
    classes, polarities = len(found.classes), network.polarities
    about = f"{count(classes, 'class', 'classes')}, field {field}, {count(polarities, 'polarity', 'polarities')}"
    layers = tag("ol", *(tag("li", str(stage)) for stage in network.stages), class_="layers")
    return joined([tag("h1", _named(found)), tag("p", about), layers, *missing(found)])


def missing(found: Findings) -> list[Html]:
    """A sentence for each thing that a full report would have had."""
    stopped = ["Training was stopped before its end."] if found.run.about.get("stopped") is True else []
    return [tag("p", words, class_="missing") for words in (*stopped, _not_evaluated(found.evaluated)) if words]


def _not_evaluated(evaluated: Evaluated | None) -> str:
    """What could not be evaluated, and why."""
    if evaluated is None:
        return _NOTHING_HELD_OUT
    every = len(evaluated.label)
    unknown = every - len(evaluated.known)
    if unknown == every:
        return "The held-out recordings have no labels, so there are no accuracies and no mistakes to show."
    rest = "they are left out of accuracies and mistakes."
    return f"{unknown:,} of the {every:,} held-out recordings have no label: {rest}" if unknown else ""


def _whose(found: Findings) -> str:
    """Which recordings the figures are of."""
    other = found.run.about.get("reported_on")
    if isinstance(other, str):
        return f"of {other}"
    return "held out" if found.evaluated else "evaluated"


def _accuracy(found: Findings) -> str:
    """The recording accuracy in words; nothing if it is unknown."""
    return _maybe(found.figures.get("recording_accuracy"), lambda share: f"recording accuracy {percent(share)}")


# ------------------------------------------------------------------ figures and settings


def headline(found: Findings) -> Html:
    """The figures that people ask for first."""
    figures, seconds = found.figures, found.run.about.get("seconds")
    shown = [
        ("recording accuracy", _maybe(figures.get("recording_accuracy"), percent), "recordings classified correctly"),
        ("event accuracy", _maybe(figures.get("event_accuracy"), percent), "output events on the right class"),
        ("kept", _maybe(figures.get("kept"), percent), "share of input events that are output"),
        ("calibration error", _maybe(figures.get("calibration_error"), percent), "of probabilities, expected"),
        ("silent", _maybe(figures.get("silent"), _counted), "recordings without output events"),
        ("recordings", _maybe(figures.get("recordings"), _counted), _whose(found)),
        ("events", _maybe(figures.get("events"), _counted), "in these recordings"),
        ("training time", _maybe(seconds, _duration), count(len(found.history), "pass", "passes")),
    ]
    cards = [
        tag("div", tag("dt", name), tag("dd", tag("strong", value), " ", tag("small", about)))
        for name, value, about in shown
        if value
    ]
    if not cards:
        return tag("p", "No figures were saved with this run.")
    source = "" if found.evaluated or not figures else tag("p", "These figures were saved when the run ended.")
    return joined([tag("dl", *cards, class_="cards"), source])


def settings(found: Findings) -> Html:
    """Everything needed to repeat the run."""
    about = {name: value for name, value in found.run.about.items() if name not in ("history", "evaluation")}
    if isinstance(about.get("command"), list):
        about["command"] = shlex.join(map(str, about["command"]))
    asked, chosen, _ = about.pop("config", None), about.pop("settings", None), about.pop("why", None)
    groups = {"Options given": asked, "All settings": chosen, "Command, seed, versions, machine": about}
    parts = [folded(name, table((), flat(values))) for name, values in groups.items() if values]
    if why := found.network.why:
        chose = tag("p", "Settings were chosen from the data:")
        parts = [chose, tag("ul", *(tag("li", line) for line in why)), *parts]
    return joined(parts) if parts else tag("p", "No settings were saved with this run.")


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
    """Learning curves and their table."""
    history = found.history
    if not history:
        how = "The network learned without passes, or its history was not saved: there are no passes to draw."
        return tag("p", how)
    values = {name: np.array([_float(line.get(name)) for line in history]) for name in CURVES}
    lines = [Curve(CURVES[name], y, n) for n, (name, y) in enumerate(values.items()) if not np.isnan(y).all()]
    if not lines:
        return tag("p", "The history of this run holds no figures to draw.")
    passes = np.arange(1, len(history) + 1)
    drawn = pictures.curves(passes, lines, xlabel="pass", words=pictures.in_words(lines, "pass by pass"))
    how = (
        "If lines still rise or fall at the right end, more passes may help. Event accuracy and kept events are those "
        "of the recordings learned from, during the pass."
    )
    rows = [(n, *(percent(float(line.y[n - 1])) for line in lines)) for n in passes]
    numbers = folded("The curves as a table", table(("pass", *(line.name for line in lines)), rows))
    return joined([figure("Learning curves", drawn, how), numbers])


# ------------------------------------------------------------------ how the report was made


def made(found: Findings) -> Html:
    """Which recordings the figures and the pictures are of."""
    if found.evaluated is None:
        return Html()
    traced = len(found.traced.label) if found.traced else 0
    text = (
        f"Figures are of all {count(len(found.evaluated.label), 'held-out recording')}. What units fire for and how "
        f"soon the network decides are of {traced:,} of them, drawn evenly from the classes (at most {TRACED}, and "
        f"{LONGEST:,} events in all). At most {WORST} recordings are drawn."
    )
    return tag("p", text)


# ------------------------------------------------------------------ values as text


def _is_number(value: Any) -> bool:
    """Whether a value from a file is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _float(value: Any) -> float:
    """A value from a file as a number; NaN if it is none."""
    return float(value) if _is_number(value) else math.nan


def _maybe(value: Any, words: Callable[[float], str]) -> str:
    """A number in words; nothing for anything else."""
    return words(value) if _is_number(value) else ""


def _counted(value: float) -> str:
    """A count, in millions from ten million on.

    Examples
    --------
    >>> _counted(3270058), _counted(81_234_567)
    ('3,270,058', '81.2 M')

    """
    return f"{value:,.0f}" if value < 1e7 else f"{value / 1e6:,.1f} M"


def _duration(seconds: float) -> str:
    """A duration in hours, minutes and seconds.

    Examples
    --------
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
    ("sparsity", "Accuracy over events kept", sparsity),
    ("sure", "How sure", probabilities),
    ("soon", "How soon", soon),
    ("worst", "Worst recordings", worst),
    ("settings", "Settings", settings),
    ("made", "About this report", made),
)
