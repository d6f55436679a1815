"""What a network learnt, for the report: centroids, what each unit fires for, thresholds."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from timesurf.layers import Stage
from timesurf.plots.network import picture, pixels
from timesurf.report import pictures
from timesurf.report.findings import Findings, Use, uses
from timesurf.report.markup import Html, count, figure, joined, left_out, percent, tag

_UNITS = 96  # units of a layer that are drawn, at most
_NAMED = 6  # classes with a bar of a unit
_PLACES = 10_000  # in the box of an upper layer that is drawn back to pixels, at most


def features(found: Findings) -> Html:
    """Units of every layer as images, and their thresholds."""
    parts = [_first_layer(found)]
    for k in range(1, len(found.network.stages)):
        parts.append(_upper_layer(found, k))
    parts.append(tag("div", *_thresholds(found), class_="pair"))
    return joined(parts)


def _first_layer(found: Findings) -> Html:
    """Layer 1, of which a unit can be picked."""
    centroids = found.network.parameters[0].centroids
    shown = centroids[:_UNITS]
    most = float(shown.max(initial=0))
    names = _unit_names(found, 0)
    small = [pictures.image(picture(c), most, "") for c in shown]
    if found.looked is None:
        grid = tag("div", *(pictures.tile(img, name) for img, name in zip(small, names, strict=False)), class_="units")
        return figure("Layer 1: what its units look for", grid, _how_centroids(most) + left_out(len(centroids), _UNITS))
    picks = [
        tag("a", img, tag("span", name), href=f"#unit-{n}", id=f"pick-{n}", aria_label=f"unit {name}", class_="unit")
        for n, (img, name) in enumerate(zip(small, names, strict=False), start=1)
    ]
    use = zip(small, uses(found.network, found.looked), strict=False)
    panels = [_panel(found, n, img, of) for n, (img, of) in enumerate(use, start=1)]
    both = tag("div", tag("div", *picks, class_="units"), tag("div", *panels, class_="panels"), class_="picking")
    how = _how_centroids(most) + left_out(len(centroids), _UNITS)
    hint = "Pick a unit to see what it fires for: click, or Tab, arrow keys and Enter."
    return figure("Layer 1: what its units look for", joined([tag("p", hint), both]), how)


def _how_centroids(most: float) -> str:
    return (
        "Each image is the time surface to which a unit is closest: bright where events are new, dark where they are "
        f"old or there are none (yellow is {most:.2g}); x runs to the right, y down, polarities lie side by side."
    )


def _panel(found: Findings, n: int, centroid: Html, use: Use) -> Html:
    """What one unit of layer 1 fires for."""
    assert found.looked is not None
    threshold = float(found.network.parameters[0].thresholds[n - 1])
    facts = [
        ("events", f"{use.events:,}, {percent(use.events / max(len(found.looked.trace.passed), 1))} of all"),
        ("kept", f"{percent(use.kept)} lie within its threshold"),
        ("come out", f"{percent(use.output)} pass every layer"),
        ("threshold", "none" if math.isinf(threshold) else f"{threshold:.3g}"),
    ]
    told = tag("dl", *(joined([tag("dt", name), tag("dd", value)]) for name, value in facts if use.events))
    silent = "" if use.events else tag("p", "No event is closest to this unit.")
    where = pictures.image(use.where.T, float(use.where.max()), f"map of the {use.events:,} events of unit {n}")
    fires = pictures.tile(where, "fires at") if use.events else ""
    pair = tag("div", pictures.tile(centroid, "looks for"), fires, class_=f"maps{pictures.broad(use.where.T)}")
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
    tiles = [
        pictures.tile(pictures.image(picture(c), 1, ""), of)
        for c, of in zip(every, _unit_names(found, k), strict=False)
    ]
    how = (
        "The centroids of the layers below, each placed where the unit looks for it and weighted by how much: bright "
        "where the unit expects recent events (yellow: its brightest pixel)."
    )
    return figure(
        name,
        tag("div", *tiles, class_=f"units large{pictures.broad(picture(every[0]))}"),
        how + left_out(stage.units, _UNITS),
    )


def _can_be_drawn(stages: Sequence[Stage], k: int) -> bool:
    small = all(math.prod(stage.surface_shape[:-1]) <= _PLACES for stage in stages[: k + 1])
    return small and len(stages[0].field) in (1, 2)


def _thresholds(found: Findings) -> list[Html]:
    charts = []
    for k, units in enumerate(found.network.parameters):
        th = units.thresholds
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
    stages, th = found.network.stages, found.network.parameters[k].thresholds
    names = found.classes if k == len(stages) - 1 else list(map(str, range(1, stages[k].units + 1)))
    return [name if value > 0 else f"{name} (silent)" for name, value in zip(names, th, strict=True)]
