"""Networks for digits beyond the paper's: both polarities, pooled places, more units, the delta rule, copies, depth.

The first two change the paper's network (32 units that learn by Sup3r's rule) by one thing each. In all others hidden
layers are the k-means of their surfaces and rest, and the last layer learns by the delta rule::

    Window(9, units, tau="20 ms", stride=4), Full(tau="38.4 ms", units_per_class=1 or 3)

One set of settings serves all of these rows. It is meant for 60,000 recordings; with fewer there are more passes and
smaller batches, and nothing else depends on the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from timesurf.layers import Full, Window
from timesurf.learning import copies
from timesurf.presets import Preset, nmnist
from timesurf.rule import Rule

UNITS = (64, 128, 256, 512)
KEPT = (70, 50, 20)  # per cent of the events, by thresholds
STRIDE = 4  # of 28 pixels: 7 x 7 places
PER_CLASS = 3
_SEVERAL = 256  # units where something else than their number is changed
_DEEP = (
    Window(9, units=32, tau="20 ms", stride=2),
    Window(5, units=128, tau="40 ms", stride=2),
)


def as_printed(recordings: int, stride: int = 1) -> Preset:
    """The paper's network and rule; only the data has both polarities, and places may be pooled."""
    preset = nmnist(recordings)
    window, last = preset.layers
    assert isinstance(window, Window)
    return replace(preset, layers=(replace(window, stride=stride), last))


def resting(
    recordings: int,
    *hidden: Window,
    units: int = _SEVERAL,
    per_class: int = PER_CLASS,
    keep: float | None = None,
    moved: tuple[int, ...] = (),
) -> Preset:
    """Hidden layers that rest below a last layer that learns by the delta rule.

    Parameters
    ----------
    recordings : int
        How many to learn from.
    *hidden : Window
        From the input up; by default one window of `units`.
    units : int
        Of that window.
    per_class : int
        Units per class of the last layer.
    keep : float, optional
        The share of events to keep, by thresholds of the hidden layers; None: all.
    moved : tuple of int
        Pixels by which copies are moved that are learned from as well, in as many fewer passes.

    Returns
    -------
    Preset
        For so many recordings.

    Examples
    --------
    >>> few, many = resting(900), resting(60_000)
    >>> (few.passes, few.batch_size), (many.passes, many.batch_size)
    ((60, 16), (8, 256))
    """
    below = hidden or (Window(9, units=units, tau="20 ms", stride=STRIDE),)
    alpha = (*[0.0] * len(below), 1e-5)
    return Preset(
        layers=(*below, Full(tau="38.4 ms", units_per_class=per_class)),
        rule=Rule(alpha=alpha, beta=0.0, gamma=0.0, delta=0.0, last="delta", temperature=0.857),
        passes=max(round(min(max(8 * math.sqrt(60_000 / recordings), 8), 60) / copies.number(moved)), 2),
        batch_size=min(max(recordings // 60, 16), 256),
        decay=True,
        keep=keep,
        moved=moved,
        start="quick",
        margin=math.inf,
        sample=500,
    )


PRESETS: dict[str, Callable[[int], Preset]] = {
    "both": as_printed,
    "both_stride": partial(as_printed, stride=STRIDE),
    **{f"units_{n}": partial(resting, units=n, per_class=1) for n in UNITS},
    "per_class": resting,
    "moved": partial(resting, moved=(1, 1)),
    **{f"keep_{share}": partial(resting, keep=share / 100) for share in KEPT},
    "two_layers": lambda recordings: resting(recordings, *_DEEP),
}
ROWS = {
    "both": "Sup3r, 32 units, both polarities",
    "both_stride": f"the same, places pooled by {STRIDE}",
    **{f"units_{n}": f"{n} k-means units, delta rule, both polarities, pooled" for n in UNITS},
    "per_class": f"{_SEVERAL} k-means units, {PER_CLASS} per class",
    "moved": "the same, learned from copies moved by a pixel too",
    **{f"keep_{share}": f"{_SEVERAL} k-means units, thresholds that keep {share} % of the events" for share in KEPT},
    "two_layers": f"32 and 128 k-means units in two layers, {PER_CLASS} per class",
}
