"""Networks with all their settings, by name: those of the paper's tables, and good starting points."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from timesurf.engines import Engine
from timesurf.errors import SettingError, TimesurfError
from timesurf.events import Recordings
from timesurf.layers import Full, Layer, Tile, Window
from timesurf.learning.knobs import LAW, Knobs
from timesurf.learning.law import Law, law
from timesurf.learning.start import Start
from timesurf.modelfile import layer_from_dict, layer_to_dict, rule_from_dict
from timesurf.network import Network
from timesurf.rule import Rule
from timesurf.storage.kinds import check_input
from timesurf.times import Time, microseconds

_LARGEST_FILE = 1 << 16  # bytes of a preset


@dataclass(frozen=True, slots=True)
class Preset:
    """Layers, rule and training of one kind of network.

    Attributes
    ----------
    layers : tuple of Window, Tile or Full
        From the input up.
    rule : Rule
        Rates of Sup3r.
    passes, batch_size, decay, keep, moved, bent
        As in `Network.train`.
    start, zeta, margin, sample
        As in `Network.start`.
    """

    layers: tuple[Layer, ...]
    rule: Rule = field(default_factory=Rule)
    passes: int = 6
    batch_size: int | None = None
    decay: bool = False
    keep: float | None = None
    moved: tuple[int, ...] = ()
    bent: int = 0
    start: Start = "mean"
    zeta: float = 0.1
    margin: float = 1.4
    sample: int = 20

    def network(self, recordings: Recordings, classes: Any, seed: int | None, **options: Any) -> Network:
        """An untrained network for such recordings."""
        return Network(
            self.layers, recordings.field, recordings.polarities, classes, rule=self.rule, seed=seed, **options
        )

    def training(self) -> dict[str, Any]:
        """Arguments of `Network.fit`."""
        return {**self.starting(), **self.learning()}

    def learning(self) -> dict[str, Any]:
        """Arguments of `Network.train`."""
        return {name: getattr(self, name) for name in ("passes", "batch_size", "decay", "keep", "moved", "bent")}

    def starting(self) -> dict[str, Any]:
        """Arguments of `Network.start` and of `Network.extend`."""
        return {"start": self.start, "zeta": self.zeta, "margin": self.margin, "sample": self.sample}

    def to_dict(self) -> dict[str, Any]:
        """All settings, ready for JSON."""
        layers, rule = [layer_to_dict(layer) for layer in self.layers], self.rule.to_dict()
        margin = self.margin if math.isfinite(self.margin) else None  # JSON has no infinity
        return {**asdict(self), "layers": layers, "rule": rule, "margin": margin}


def from_dict(about: Any) -> Preset:
    """The preset that `Preset.to_dict` wrote, checked.

    Raises
    ------
    SettingError
        If it is none; the message says what is wrong.
    """
    if not isinstance(about, dict) or not isinstance(about.get("layers"), list):
        raise SettingError("A preset has layers, a rule and settings of training by name.")
    layers, margin = tuple(layer_from_dict(layer) for layer in about["layers"]), about.get("margin")
    others = {name: value for name, value in about.items() if name not in ("layers", "rule", "margin", "moved")}
    moved = about.get("moved", ())
    if not isinstance(moved, list | tuple):
        raise SettingError(f"moved = {moved!r} must be a list of whole numbers of pixels, one per dimension.")
    try:
        preset = Preset(
            layers,
            rule_from_dict(about.get("rule", {})),
            margin=math.inf if margin is None else margin,
            moved=tuple(moved),
            **others,
        )
    except TypeError as error:
        raise SettingError(f"This is no preset: {error}.") from error
    whole = (("passes", preset.passes, 0), ("sample", preset.sample, 1), ("batch_size", preset.batch_size or 1, 1))
    for name, value, least in whole:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise SettingError(f"{name} = {value!r} must be a whole number of at least {least}.")
    return preset


def from_file(path: str | Path) -> Preset:
    """The preset in a JSON file, as `timesurf search` leaves one."""
    check_input(path)
    if Path(path).stat().st_size > _LARGEST_FILE:
        raise SettingError(f"{path} is too large for a preset.")
    try:
        return from_dict(json.loads(Path(path).read_text(encoding="utf-8")))
    except (ValueError, RecursionError, TimesurfError) as error:
        raise SettingError(f"{path} is no preset: {error}") from error


# The paper's three layers: characters, words, sentences. Its time constants, divided by a thousand: as printed, 1 ms in
# layers 2 and 3 spans hundreds of events and makes all events of a sentence look alike (docs/table1.md).
SENTENCES = Preset(
    layers=(
        Tile((5, 5), units=3, tau="2 ms"),
        Tile((3, 1), units=6, tau="1 us", feedback_tau="100 us"),
        Full(tau="1 us", feedback_tau="10 us"),
    ),
)


def nmnist(recordings: int = 60_000, *, units: int = 32, taus: tuple[Time, Time] | None = None) -> Preset:
    """The paper's network for digits, in batches, with falling rates. Its settings depend on the size of the data set.

    Few recordings need more passes. Many allow a longer time constant in the last layer: a surface then shows more of
    the digit, but the layer can also overfit more. How far centroids may move in all of training, alpha x recordings x
    passes, is proportional to that time constant. Thresholds close until 70 % of the events are kept; delta is large
    enough to get there in time. The printed alpha of 5e-3 diverges, beta lowers the accuracy, and gamma is not needed.

    Parameters
    ----------
    recordings : int
        How many to learn from.
    units : int
        Of the first layer.
    taus : tuple of two times, optional
        Time constants of the two layers, in place of those chosen here.

    Returns
    -------
    Preset
        For so many recordings.

    Examples
    --------
    >>> few, many = nmnist(1000), nmnist(60_000)
    >>> (few.passes, few.batch_size, few.rule.alpha), (many.passes, many.batch_size, many.rule.alpha)
    ((60, 16, 0.0002), (20, 128, 0.0002))
    """
    passes = round(_between(20, 60 * math.sqrt(1000 / recordings), 60))
    last = _between(1, (recordings / 1000) ** 0.75, 20)  # ms
    lower, upper = taus or (f"{10 if last < 5 else 6} ms", f"{last:.3g} ms")
    steps = recordings * passes
    alpha = min(2e-4, 0.02 * microseconds(upper) / steps)
    return Preset(
        layers=(Window(9, units=units, tau=lower), Full(tau=upper, feedback_tau="1 ms")),
        rule=Rule(alpha=alpha, beta=0.0, gamma=0.0, delta=min(0.1, 0.05 * math.sqrt(recordings / 1000)) / steps, d=0.1),
        passes=passes,
        batch_size=int(_between(16, recordings / 60, 128)),
        decay=True,
        keep=0.7,
        start="kmeans",
        margin=1.2,
        sample=500,
    )


def digits(
    recordings: int = 60_000,
    *hidden: Window,
    units: int | None = None,
    per_class: int | None = None,
    keep: float | None = None,
    moved: tuple[int, ...] = (1, 1),
    bent: int | None = None,
) -> Preset:
    """The most accurate network for digits before a camera: hidden units that rest below a last layer that learns.

    Hidden units are the k-means of their surfaces. The last layer learns by the delta rule, with several units per
    class, from recordings that each pass moves by up to a pixel, and from copies that are a little turned, scaled and
    sheared. Meant for N-MNIST's 28 x 28 pixels with both polarities (`datasets.nmnist.cropped`).

    Parameters
    ----------
    recordings : int
        How many to learn from. Below 10,000 units are fewer, places finer, copies and steps more.
    *hidden : Window
        From the input up, in place of the one that is chosen here.
    units, per_class : int, optional
        Of the hidden layer, and per class of the last one; None: 512 and 3, of few recordings 256 and 2.
    keep : float, optional
        The share of events to keep, by thresholds of the hidden layers; None: all.
    moved : tuple of int
        Pixels by which recordings are moved at most, by another distance in each pass; empty: not at all.
    bent : int, optional
        Bent copies of each recording; None: 3, of few recordings 12. More copies mean fewer passes.

    Returns
    -------
    Preset
        For so many recordings.

    Examples
    --------
    >>> few, many = digits(900), digits(60_000)
    >>> (few.bent, few.passes, few.batch_size), (many.bent, many.passes, many.batch_size)
    ((12, 5, 16), (3, 8, 256))
    """
    few = recordings < 10_000
    copies = (12 if few else 3) if bent is None else bent
    below = hidden or (Window(9, units=units or (256 if few else 512), tau="20 ms", stride=3 if few else 4),)
    alpha = (*[0.0] * len(below), 3e-5 if few else 1e-5)
    shown = 60 * 900 / recordings if few else 32
    return Preset(
        layers=(*below, Full(tau="38.4 ms", units_per_class=per_class or (2 if few else 3))),
        rule=Rule(alpha=alpha, beta=0.0, gamma=0.0, delta=0.0, last="delta", temperature=0.857),
        passes=round(_between(max(20 / (1 + copies), 2), shown / (1 + copies), 60)),
        batch_size=16 if few else 256,
        decay=True,
        keep=keep,
        moved=moved,
        bent=copies,
        start="quick",
        margin=math.inf,
        sample=500,
    )


def for_data(
    recordings: Recordings,
    *,
    engine: str | Engine = "cpu",
    threads: int | None = None,
    seed: int | None = 0,
    knobs: Knobs = LAW,
    origin: Any = None,
) -> tuple[Preset, Law]:
    """Settings chosen from recordings, see `timesurf.learning.law`; and the choice itself, which says why.

    Parameters
    ----------
    recordings : Recordings
        To learn from.
    engine, threads
        What computes, on how many cores.
    seed : int, optional
        Draws the recordings that are looked at.
    knobs : Knobs
        Factors of what is chosen, such as `timesurf.tuning` finds.
    origin : array of int, optional
        The number of what each recording was cut from, see `timesurf.learning.law`.

    Returns
    -------
    tuple of Preset and Law
        The settings, and what was chosen and why.
    """
    found = law(recordings, engine=engine, threads=threads, seed=seed, knobs=knobs, origin=origin)
    return of_law(found), found


def of_law(found: Law) -> Preset:
    """What a law chose, as a preset."""
    fitting = {name: value for name, value in found.fitting.items() if name != "if_diverged"}
    return Preset(found.layers, found.rule, **fitting)


NAMES = ("auto", "camera", "digits", "nmnist", "sentences")


def named(name: str, recordings: int, *, units: int = 32, taus: tuple[Time, Time] | None = None) -> Preset:
    """A preset by its name.

    "camera" and "nmnist" are the same network; the data of "nmnist" is cropped and its polarities are merged. The data
    of "digits" is cropped only.

    Parameters
    ----------
    name : {"camera", "digits", "nmnist", "sentences"} or str
        The preset, or a JSON file of one. "auto" is `for_data`, which needs the recordings.
    recordings, units, taus
        As in `nmnist`; others ignore them.

    Returns
    -------
    Preset
        For so many recordings.
    """
    if name == "sentences":
        return SENTENCES
    if name in ("camera", "nmnist"):
        return nmnist(recordings, units=units, taus=taus)
    if name == "digits":
        return digits(recordings)
    if name.endswith(".json"):
        return from_file(name)
    raise SettingError(f"preset = {name!r} must be one of {', '.join(NAMES)}, or a .json file of a preset.")


def _between(least: float, value: float, most: float) -> float:
    return min(max(value, least), most)
