"""Networks for digits beyond the paper's: both polarities, pooled places, more units, the delta rule, moves, depth.

The first two change the paper's network (32 units that learn by Sup3r's rule) by one thing each. In all others hidden
layers are the k-means of their surfaces and rest, and the last layer learns by the delta rule; the settings are those
of `timesurf.presets.digits`, which is one of the rows, and the rows around it leave out or change one thing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from timesurf.layers import Window
from timesurf.presets import Preset, digits, nmnist

UNITS = (64, 128, 256, 512)
KEPT = (70, 50, 20)  # per cent of the events, by thresholds
STRIDE = 4  # of 28 pixels: 7 x 7 places
DEEP = (
    Window(9, units=32, tau="20 ms", stride=2),
    Window(5, units=256, tau="40 ms", stride=2),
)


def as_printed(recordings: int, stride: int = 1) -> Preset:
    """The paper's network and rule; only the data has both polarities, and places may be pooled."""
    preset = nmnist(recordings)
    window, last = preset.layers
    assert isinstance(window, Window)
    return replace(preset, layers=(replace(window, stride=stride), last))


PRESETS: dict[str, Callable[[int], Preset]] = {
    "both": as_printed,
    "both_stride": partial(as_printed, stride=STRIDE),
    **{f"units_{n}": partial(digits, units=n, per_class=1, moved=(), bent=0) for n in UNITS},
    "per_class": partial(digits, units=512, per_class=3, moved=(), bent=0),
    "moved": partial(digits, units=512, per_class=3, bent=0),
    "digits": digits,
    **{f"keep_{share}": partial(digits, keep=share / 100) for share in KEPT},
    "two_layers": lambda recordings: digits(recordings, *DEEP, per_class=3, moved=(), bent=0),
}
ROWS = {
    "both": "Sup3r, 32 units, both polarities",
    "both_stride": f"the same, places pooled by {STRIDE}",
    **{f"units_{n}": f"{n} k-means units, delta rule, both polarities, pooled" for n in UNITS},
    "per_class": "512 k-means units, 3 units per class",
    "moved": "the same, moved by up to a pixel in each pass",
    "digits": "the preset digits: moved, and bent copies",
    **{f"keep_{share}": f"the preset digits, thresholds that keep {share} % of the events" for share in KEPT},
    "two_layers": "32 and 256 k-means units in two layers, 3 units per class",
}
