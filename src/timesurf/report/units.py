"""Sections on units: centroids, what each unit fires for, thresholds."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from timesurf.display import unit_names
from timesurf.layers import Stage
from timesurf.plots.network import picture, pixels, surface_at_once
from timesurf.report import pictures
from timesurf.report.findings import Findings, Use, uses
from timesurf.report.markup import Html, count, figure, joined, left_out, percent, tag

_UNITS = 96  # units of a layer that are drawn, at most
_NAMED = 10  # classes with a bar per unit, at most
_PLACES = 10_000  # places in the box of an upper layer that is drawn back to pixels, at most


def features(found: Findings) -> Html:
    """Units of every layer as images, and their thresholds."""
    parts = [_first_layer(found)]
    for k in range(1, len(found.network.stages)):
        parts.append(_upper_layer(found, k))
    parts.append(tag("div", *_thresholds(found), class_="pair"))
    return joined(parts)


def _first_layer(found: Findings) -> Html:
    """Layer 1, whose units can be selected."""
    centroids = surface_at_once(found.network.stages[0], found.network.parameters[0].centroids)
    shown = centroids[:_UNITS]
    most = float(shown.max(initial=0))
    names = _unit_names(found, 0)
    small = [pictures.image(picture(c), most, "") for c in shown]
    if found.traced is None:
        grid = tag("div", *(pictures.tile(img, name) for img, name in zip(small, names, strict=False)), class_="units")
        return figure("Layer 1: centroids", grid, _how_centroids(most) + left_out(len(centroids), _UNITS))
    picks = [
        tag("a", img, tag("span", name), href=f"#unit-{n}", id=f"pick-{n}", aria_label=f"unit {name}", class_="unit")
        for n, (img, name) in enumerate(zip(small, names, strict=False), start=1)
    ]
    use = zip(small, uses(found.network, found.traced), strict=False)
    panels = [_panel(found, n, img, of) for n, (img, of) in enumerate(use, start=1)]
    both = tag("div", tag("div", *picks, class_="units"), tag("div", *panels, class_="panels"), class_="picking")
    how = _how_centroids(most) + left_out(len(centroids), _UNITS)
    hint = "Select a unit to see what it fires for: click, or use Tab, arrow keys and Enter."
    return figure("Layer 1: centroids", joined([tag("p", hint), both]), how)


def _how_centroids(most: float) -> str:
    """How to read images of centroids."""
    return (
        "Each image is the centroid of a unit, the time surface that it responds to: bright where events are recent, "
        f"dark where they are old or missing (yellow is {most:.2g}). x is to the right, y down; polarities are side by "
        "side."
    )


def _panel(found: Findings, n: int, centroid: Html, use: Use) -> Html:
    """What one unit of layer 1 fires for."""
    assert found.traced is not None
    threshold = float(found.network.parameters[0].thresholds[n - 1])
    facts = [
        ("events", f"{use.events:,}, {percent(use.events / max(len(found.traced.trace.passed), 1))} of all"),
        ("passed on", f"{percent(use.passed)} are within its threshold"),
        ("output", f"{percent(use.output)} pass all layers"),
        ("threshold", "none" if math.isinf(threshold) else f"{threshold:.3g}"),
    ]
    listed = tag("dl", *(joined([tag("dt", name), tag("dd", value)]) for name, value in facts if use.events))
    silent = "" if use.events else tag("p", "No event is closest to this unit.")
    where = pictures.image(use.where.T, float(use.where.max()), f"map of the {use.events:,} events of unit {n}")
    fires = pictures.tile(where, "fires at") if use.events else ""
    pair = tag("div", pictures.tile(centroid, "centroid"), fires, class_=f"maps{pictures.broad(use.where.T)}")
    source = f"In {count(len(found.traced.label), 'recording')}, drawn evenly from the classes."
    parts = [tag("h4", f"Unit {n}"), silent, pair, listed, _classes_of(found, use), tag("p", source, class_="note")]
    return tag("section", *parts, id=f"unit-{n}", class_="panel", aria_label=f"unit {n}")


def _classes_of(found: Findings, use: Use) -> Html:
    """The classes whose recordings make a unit fire most."""
    if not use.by_class.any():
        return Html()
    order = np.argsort(-use.by_class, kind="stable")[:_NAMED]
    rows = [(found.classes[c], [float(use.by_class[c])]) for c in order]
    of = f" (the {_NAMED} with most)" if len(found.classes) > _NAMED else ""
    return joined([tag("h5", f"Its events by class{of}"), pictures.bars(rows, full=float(use.by_class.max()))])


def _upper_layer(found: Findings, k: int) -> Html:
    """A layer above the first, drawn back to pixels."""
    network, stage = found.network, found.network.stages[k]
    name = f"Layer {k + 1}: centroids in pixels"
    if not _can_be_drawn(network.stages, k):
        why = "Its units are not drawn: they cover too many places, or their field is not an image."
        return tag("figure", tag("h3", name), tag("p", why))
    every = pixels(network, k)[:_UNITS]
    tiles = [
        pictures.tile(pictures.image(picture(c), 1, ""), of)
        for c, of in zip(every, _unit_names(found, k), strict=False)
    ]
    how = (
        "Weighted sums of the centroids of the layers below, each at the place where the unit expects it: bright where "
        "the unit responds to recent events (yellow: its brightest pixel)."
    )
    return figure(
        name,
        tag("div", *tiles, class_=f"units large{pictures.broad(picture(every[0]))}"),
        how + left_out(stage.units, _UNITS),
    )


def _can_be_drawn(stages: Sequence[Stage], k: int) -> bool:
    """Whether units of a layer can be drawn as images of pixels."""
    small = all(math.prod(stage.layer.box(stage.field)) <= _PLACES for stage in stages[: k + 1])
    return small and len(stages[0].field) in (1, 2)


def _thresholds(found: Findings) -> list[Html]:
    """One chart per layer that has thresholds."""
    charts = []
    for k, units in enumerate(found.network.parameters):
        th = units.thresholds
        if np.isinf(th).all():
            continue
        names = _unit_names(found, k)
        tips = [f"unit {name}: {_threshold(float(value))}" for name, value in zip(names, th, strict=True)]
        short = [name.removesuffix(" (silent)") for name in names]
        words = f"Thresholds of {count(len(th), 'unit')}."
        drawn = pictures.columns(th, names=short, tips=tips, xlabel="unit", words=words)
        how = (
            "The distance from each centroid beyond which an event is rejected. A low column is a selective unit, a "
            "cross a silent one, an open column one without a threshold."
        )
        charts.append(figure(f"Layer {k + 1}: thresholds", drawn, how))
    return charts


def _threshold(value: float) -> str:
    """A threshold in words."""
    return "no threshold" if math.isinf(value) else "silent" if value == 0 else f"threshold {value:.3g}"


def _unit_names(found: Findings, k: int) -> list[str]:
    """Names of units: numbers from 1, or classes in the last layer."""
    names, th = unit_names(found.network, k), found.network.parameters[k].thresholds
    return [name if value > 0 else f"{name} (silent)" for name, value in zip(names, th, strict=True)]
