"""Pictures of events, of networks, of decisions, and of benchmarks. matplotlib is in the extra `plots`.

=============  =============================================================================
of             functions
=============  =============================================================================
events         `space_time`, `kept`, `surface`
a network      `centroids`, `centroid`, `thresholds`
its decisions  `separability`, `decision`, `confusion`, `matrix`, `early`, `learning_curves`
an animation   `animate`
pieces         `timeline`: a whole figure
benchmarks     `compare_features`, `continual`, `digits`, `family`, `growth`,
               `incremental`, `robustness`, `scaling`, `search`, `settings`: each
               makes a whole figure
=============  =============================================================================

All others draw into the `ax` they are given, or into a new figure, and return the axes:
`plots.decision(network, recording).figure.savefig("decision.png")`. Layers are numbered from 0, as in
`Network.transform`; in the pictures layers and units are numbered from 1. No screen is needed, and matplotlib is
imported on first use.
"""

from timesurf.plots.events import kept, space_time, surface
from timesurf.plots.family import family, robustness, settings
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
    prequential,
    scaling,
)
from timesurf.plots.timeline import timeline

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
    "family",
    "figure",
    "growth",
    "incremental",
    "kept",
    "learning_curves",
    "matrix",
    "prequential",
    "robustness",
    "scaling",
    "search",
    "separability",
    "settings",
    "space_time",
    "surface",
    "thresholds",
    "timeline",
]
