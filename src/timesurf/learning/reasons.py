"""Why the law chose as it did, in lines for people: `timesurf.learning.law` decides, and this says so."""

from __future__ import annotations

from timesurf.layers import Full, Window
from timesurf.learning.probe import Strides
from timesurf.times import readable


def hidden_layer(window: Window, ratio: float) -> str:
    """The hidden layer, and what a probe said of a longer time constant."""
    sizes = f"{window.units} units over {window.size} pixels per dimension"
    beside = f"the probe errs {abs(ratio - 1):.0%} {'less' if ratio < 1 else 'more'} with the longer of two"
    return f"hidden layer: {sizes}, tau {readable(round(float(window.tau)))} ({beside})"


def chosen_stride(stride: Strides, tried: list[tuple[Strides, float]]) -> str:
    """The stride that was chosen, what a probe said of all, and why another was not taken though it said more of it."""
    shown = ", ".join(f"{_named(each)} {accuracy:.1%}" for each, accuracy in tried)
    chosen = dict(tried)[stride]
    better = any(accuracy > chosen for _, accuracy in tried)
    reason = "; a coarser one is taken only if the probe is clearly better with it" if better else ""
    return f"stride: {_named(stride)} (probe: {shown}{reason})"


def _named(stride: Strides) -> str:
    return "all places as one" if stride == "field" else " x ".join(map(str, stride))


def last_layer(last: Full, longest: float) -> str:
    """The last layer: its units and time constants."""
    taus, units = last.taus, last.units_per_class
    times = " and ".join(readable(max(round(tau), 1)) for tau in taus)
    reach = "side by side" if len(taus) > 1 else "the longest" if taus[0] == max(longest, 1.0) else ""
    reach = reach or f"1/{longest / taus[0]:.0f} of the longest"
    return f"last layer: {units} unit{'s' * (units > 1)} per class, tau {times}, {reach}"


def places(moved: tuple[int, ...], ratio: float) -> str:
    """Whether recordings are moved in each pass, and what the probe said."""
    probed = f"the probe errs {abs(ratio - 1):.0%} {'less' if ratio < 1 else 'more'} with moved copies"
    if not moved:
        return f"places: as they are ({probed})"
    return f"places: each pass moves recordings by up to {' x '.join(map(str, moved))} pixels ({probed})"


def training(alpha: float, passes: int, recordings: int, batch: int | None, start: str = "quick", bent: int = 0) -> str:
    """How the last layer learns, in a line."""
    first = f"the last layer by ridge regression on {recordings:,} recordings and parts of them"
    if passes == 0:
        return f"training: {first}, no passes" if start == "ridge" else "training: no passes after the start"
    steps = "one by one" if batch is None else f"in batches of {batch}"
    times = "1 pass" if passes == 1 else f"{passes} passes"
    over = f"{recordings:,} recording{'s' * (recordings > 1)}"
    over += f" and {bent} bent cop{'y' if bent == 1 else 'ies'} of each" if bent else ""
    then = f"alpha {alpha:.2g} per event, {times} over {over} {steps}"
    return f"training: {first}, then {then}" if start == "ridge" else f"training: {then}"
