"""Pictures: of events, of networks, of networks at work, of benchmarks. matplotlib is the extra `plots`.

| of             | functions                                                                      |
|----------------|--------------------------------------------------------------------------------|
| events         | `space_time`, `kept`, `surface`                                                |
| a network      | `centroids`, `centroid`, `thresholds`                                          |
| it at work     | `separability`, `decision`, `confusion`, `matrix`, `early`, `learning_curves`  |
| the same, live | `animate`                                                                      |
| benchmarks     | `compare_features`, `continual`, `digits`, `growth`, `incremental`, `realism`, |
|                | `scaling`, `search`, `sensitivity`, `study`: each makes a whole figure         |

The others draw into the `ax` they are given, or into one of a new figure, and return it:
`plots.decision(network, recording).figure.savefig("decision.png")`. Layers count from 0, as in `Network.transform`;
in the pictures they and their units count from 1. Nothing needs a screen, and matplotlib is imported on first use.
"""

from timesurf.plots.events import kept, space_time, surface
from timesurf.plots.movie import animate
from timesurf.plots.network import centroid, centroids, thresholds
from timesurf.plots.running import confusion, decision, early, learning_curves, matrix, separability
from timesurf.plots.searching import search
from timesurf.plots.style import figure
from timesurf.plots.tables import (
    compare_features,
    continual,
    digits,
    growth,
    incremental,
    realism,
    scaling,
    sensitivity,
    study,
)

__all__ = [
    "animate",
    "centroid",
    "centroids",
    "compare_features",
    "confusion",
    "continual",
    "decision",
    "digits",
    "early",
    "figure",
    "growth",
    "incremental",
    "kept",
    "learning_curves",
    "matrix",
    "realism",
    "scaling",
    "search",
    "sensitivity",
    "separability",
    "space_time",
    "study",
    "surface",
    "thresholds",
]
