"""Settings from the data: a network and its training, chosen by one look at the recordings.

Times are multiples of the rhythm of the recordings, sizes follow from their field, rates from how many there are:

::

    own interval      median time between two events of the same pixel (or channel) and polarity
    window            a quarter of the field, odd, from 5 to 9 pixels (in one dimension up to 65)
    tau               4 x own interval: an edge and its wake, not the whole past; twice that, if a probe errs less
    places            about 16 per dimension in 1-D, 12 in 2-D, 6 in 3-D: stride = field / places
    coarser strides   a third of the places, or none (stride="field"), only if a probe is clearly better with them.
                      Where all places are one, units are found again from more recordings, and time constants compared
                      on more of them: few entries are left, and much depends on these
    tau of the last   1/8 of a recording, at most 16 x the mean interval of the layer's own entries. Where each entry
                      fires several times in a recording, two side by side, 4 times and 1/4 of that: it was active
                      just now, or long ago, which one cannot say. 1/4 or 1/16 alone, if a probe errs clearly less
    units per class   3 where entries fire so often and there is one time constant, since moments differ then; else 1
    temperature       9 log(classes) / mean squared distance between the classes' mean surfaces
    alpha             0.2 per recording, spread over its events; less where a batch has more recordings than classes
    batch             one recording per class, 16 to 64
    passes            16,000 recordings in all, 10 to 60 passes; where that is over 250 million events, as many
                      fewer, but 10
    copies            none that are bent; on a field of two dimensions 3, if the knob says so: then as many fewer passes
    moved             by up to a third of the stride, by another distance in each pass, where a probe errs less with
                      copies that are moved

The hidden layer is the k-means of its surfaces, and rests; the last layer learns by the delta rule. Where all places
are one, so few entries are left that ridge regression finds it without passes (`timesurf.learning.ridge`). Nothing in
here knows a data set, a sensor or a clock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from timesurf.engines import Engine, Options, choose
from timesurf.errors import EventError, SettingError
from timesurf.events import Recordings
from timesurf.inference import class_numbers
from timesurf.layers import Full, Layer, Window, stack
from timesurf.learning import copies, reasons, ridge
from timesurf.learning.candidates import Comparison, Hidden, Looked
from timesurf.learning.knobs import LAW, Knobs
from timesurf.learning.means import apart, mean_surfaces
from timesurf.learning.probe import (
    POOLED_EVENTS,
    PROBED_EVENTS,
    Strides,
    clearly_better,
    divided,
    sample,
)
from timesurf.learning.rhythm import intervals
from timesurf.rule import Rule
from timesurf.times import readable
from timesurf.transforms import crop

Array = NDArray[Any]

LOOKED_AT = 100  # recordings: enough for a median interval
PLACES = {1: 16, 2: 12, 3: 6}  # per dimension
SLOWER = 2  # times the tau of the hidden layer, that is tried
SCALES = (4, 1 / 4)  # of the longest tau: both, in a last layer whose entries fire often
SHORTER = (4, 16)  # parts of the longest tau of the last layer that are tried
CLEARLY = 0.9  # of the error of a longer tau that a shorter one must stay below
OFTEN, MOMENTS = 4, 3  # events per entry of the last layer that make it dense, and units per class there
COPIES, COPIED_EVENTS = 4, 50_000_000  # shapes that each recording is learned from at most, and events in all of them
LONGEST = 250_000_000  # events in all passes, where there are more than 10
LARGEST_SURFACE = 1 << 12  # entries that a hidden unit may look at
LARGEST_FIELD = 1 << 22  # entries of the last layer, times classes


class Structure(NamedTuple):
    """What takes looking at the recordings: all that follows from `Knobs.structural`."""

    hidden: Window
    last: Full  # with one unit per class
    longest: float  # time constant that the last layer could have
    moments: bool  # whether moments of a recording differ, so that a class needs several units
    centroids: Array  # of the hidden layer
    temperature: float  # before the knob
    moved: tuple[int, ...]
    why: tuple[str, str]  # the hidden layer, the stride
    why_moved: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Law:
    """What was chosen for some recordings.

    Attributes
    ----------
    layers : tuple of Window and Full
        From the input up.
    rule : Rule
        How they learn.
    fitting : dict
        Arguments of `Network.fit`: passes, batch_size, start and so on.
    why : tuple of str
        One line per choice, for people.
    hidden : tuple of array
        Centroids of the hidden layer, which its choice has found already.
    """

    layers: tuple[Layer, ...]
    rule: Rule
    fitting: dict[str, Any]
    why: tuple[str, ...]
    hidden: tuple[Array, ...] = field(default=(), compare=False, repr=False)

    def settings(self, layers: tuple[Layer, ...]) -> dict[str, Any]:
        """Arguments of `Network.fit` for a network of these layers: what was found already is not computed again."""
        same = layers[: len(self.hidden)] == self.layers[: len(self.hidden)]
        return {**self.fitting, "hidden": self.hidden if same else ()}


def law(
    recordings: Recordings,
    *,
    engine: str | Engine = "cpu",
    threads: int | None = None,
    seed: int | None = 0,
    knobs: Knobs = LAW,
    looked: dict[Knobs, Structure] | None = None,
    origin: Array | None = None,
) -> Law:
    """Choose a network and its training for recordings.

    Parameters
    ----------
    recordings : Recordings
        To learn from; those with labels are looked at.
    engine, threads
        What computes, on how many cores.
    seed : int, optional
        Draws the recordings that are looked at.
    knobs : Knobs
        Factors of what is chosen, for a neighbour of the law.
    looked : dict, optional
        Where structures of these recordings are kept, so that a neighbour with the same one takes no second look. One
        for each engine and seed.
    origin : array of int, optional
        The number of what each recording was cut from: the probe then never learns from pieces of a long recording what
        it is tested on with others, which would favour what tells recordings apart over what tells classes apart.

    Returns
    -------
    Law
        Layers, rule, and arguments of `Network.fit`.

    Raises
    ------
    EventError
        If there is nothing to learn from: no labels, or no events.
    """
    known = recordings[np.flatnonzero(recordings.labelled)]
    origin = None if origin is None else np.asarray(origin)[recordings.labelled]
    if len(known) == 0 or not known.counts.any():
        raise EventError("There are no labelled recordings with events: settings cannot be chosen from the data.")
    rng = np.random.default_rng(seed)
    some = known[np.sort(rng.permutation(len(known))[:LOOKED_AT])]
    rests, (first, last) = intervals(some.entries(), some.t, some.counts), some.spans()
    duration = max(float(np.median((last - first)[some.counts > 0])), 1.0)
    rest = float(np.median(rests)) if len(rests) else duration / 10
    events = max(float(np.median(known.counts[known.counts > 0])), 1.0)
    classes, sides = len(known.classes), [n for n in known.field if n > 1]
    rhythm = f"fires every {readable(round(rest))}, a recording lasts {readable(round(duration))}"
    why = [f"rhythm: the same pixel or channel {rhythm}"]
    batch = int(np.clip(classes, 16, 64))
    rule = Rule(alpha=0.0, beta=0.0, gamma=0.0, delta=0.0, last="delta")
    bent, total = _bent(known, knobs), int(known.counts.sum())
    fitting: dict[str, Any] = {
        "passes": max(round(knobs.passes * usual_passes(len(known), total) / (1 + bent)), 1 + (bent > 0)),
        "batch_size": batch,
        "decay": True,
        "moved": (),
        "bent": bent,
        "start": "quick",
        "margin": math.inf,
        "sample": int(np.clip(PROBED_EVENTS / events, 10 * classes, max(500, 10 * classes))),
        "if_diverged": "back",
    }
    hidden: tuple[Array, ...] = ()
    if not sides:
        tau = max(knobs.last_tau * min(duration / 8, 16 * rest), 1.0)
        per_class = _units_per_class(_dense(events, known), knobs)
        layers: tuple[Layer, ...] = (Full(tau=tau, units_per_class=per_class),)
        single = f"a single layer on {known.polarities} polarities, {per_class} unit{'s' * (per_class > 1)} per class"
        why.append(f"no places: {single}, tau {readable(tau)}")
        computes = choose(engine, stack(layers, known.field, known.polarities, classes))
        probed = sample(known, rng)
        temperature = _temperature(mean_surfaces(computes, probed, tau), class_numbers(known.classes, probed))
    else:
        window = _window(known, sides, rest, knobs)
        options = Options("float32", threads)
        kept = {} if looked is None else looked
        if knobs.structural not in kept:
            kept[knobs.structural] = _pooled(known, origin, window, duration, engine, options, rng, knobs)
        found = kept[knobs.structural]
        top = replace(found.last, units_per_class=_units_per_class(found.moments, knobs))
        layers, temperature = (found.hidden, top), found.temperature
        hidden, fitting["moved"] = (found.centroids,), found.moved
        why += [*found.why, reasons.last_layer(top, found.longest), *found.why_moved]
        stage = stack(layers, known.field, known.polarities, classes)[-1]
        if math.prod(stage.field) == 1 and ridge.suits(stage):
            fitting |= {"start": "ridge", "passes": 0, "bent": 0}
    alpha = knobs.alpha * 0.2 * min(1.0, classes / batch) / events
    rates = (*[0.0] * (len(layers) - 1), alpha)
    rule = replace(rule, alpha=rates, temperature=knobs.temperature * temperature)
    why.append(reasons.training(alpha, fitting["passes"], len(known), batch, fitting["start"], fitting["bent"]))
    return Law(layers, rule, fitting, tuple(why), hidden)


def _bent(known: Recordings, knobs: Knobs) -> int:
    """Bent copies of each recording, where its field can be bent and there is room for them."""
    at_most = min(COPIES, COPIED_EVENTS // max(int(known.counts.sum()), 1))
    return max(min(round(knobs.copies), at_most) - 1, 0) if len(known.field) == 2 and min(known.field) > 1 else 0


def usual_passes(recordings: int, events: int) -> int:
    """How often to go through so many recordings with so many events in all, by the delta rule."""
    wanted = int(np.clip(round(16_000 / recordings), 10, 60))
    return max(min(wanted, LONGEST // events), 10)


def _window(recordings: Recordings, sides: list[int], rest: float, knobs: Knobs) -> Window:
    """The hidden layer, without a stride yet."""
    quarter = int(min(sides)) // 4
    most = 65 if len(sides) == 1 else 9 if len(sides) == 2 else 5
    size = int(np.clip(quarter + 1 - quarter % 2, 5, most))
    size = 2 * round((knobs.window * size - 1) / 2) + 1
    while size > 1 and size ** len(sides) * recordings.polarities > LARGEST_SURFACE:
        size -= 2
    if recordings.polarities > LARGEST_SURFACE:
        raise SettingError(
            f"{recordings.polarities:,} polarities are too many for a default network (at most {LARGEST_SURFACE:,}): "
            "merge polarities, or give layers."
        )
    units = round(knobs.units * (64 if len(sides) == 1 else 128))
    units = int(np.clip(int(recordings.counts.sum()) // 20, 1, max(units, 1)))
    return Window(size, units=units, tau=max(4 * rest, 1.0))


def _pooled(
    known: Recordings,
    origin: Array | None,
    window: Window,
    duration: float,
    engine: str | Engine,
    options: Options,
    rng: np.random.Generator,
    knobs: Knobs,
) -> Structure:
    """Hidden and last layer, each compared with its neighbours by a probe."""
    stages = stack([window, Full(tau=1)], known.field, known.polarities, len(known.classes))
    comparison = Comparison(known, choose(engine, stages), options, rng, origin=origin)
    strides = [each for each in _strides(known.field, knobs.places) if _fits(window, known, each)]

    def longest(coarse: Recordings) -> tuple[float]:
        some = coarse[next(coarse.parts(PROBED_EVENTS))]
        rests = intervals(some.entries(), some.t, some.counts)
        at_most = 16 * float(rests.mean()) if len(rests) else math.inf
        return (knobs.last_tau * min(duration / 8, at_most),)

    def at(hidden: Hidden, stride: Strides) -> Looked:
        coarse = divided(hidden.fine, stride)
        return comparison.look(coarse, longest(coarse))

    hidden, slower = comparison.hidden(window), comparison.hidden(replace(window, tau=SLOWER * float(window.tau)))
    best, other, stride = at(hidden, strides[0]), at(slower, strides[0]), strides[0]
    ratio = other.probed.error / max(best.probed.error, 1e-30)
    if ratio < 1:
        hidden, best = slower, other
    del slower, other  # millions of events
    if knobs.tau != 1:
        hidden = comparison.hidden(replace(hidden.window, tau=max(knobs.tau * float(hidden.window.tau), 1.0)))
        best = at(hidden, stride)
    first = reasons.hidden_layer(hidden.window, ratio)
    tried = [(stride, best.probed.accuracy)]
    for each in strides[1:]:
        found = at(hidden, each)
        tried.append((each, found.probed.accuracy))
        if clearly_better(found.probed.accuracy, best.probed.accuracy, len(comparison.label)):
            best, stride = found, each
    if stride == "field":  # few entries are left, so more recordings can be looked at: time constants matter more
        comparison = Comparison(known, comparison.engine, options, rng, POOLED_EVENTS, origin)
        window = hidden.window
        centroids, coarse = comparison.place_free(window)
        hidden, best = Hidden(window, centroids, coarse), comparison.look(coarse, longest(coarse))
    dense = stride != "field" and _dense(float(np.median(hidden.fine.counts)), best.coarse)
    (reach,) = best.taus
    if dense:
        best = comparison.look(best.coarse, tuple(reach * part for part in SCALES))
    for part in SHORTER:
        found = comparison.look(best.coarse, (reach / part,))
        if found.probed.error < CLEARLY * best.probed.error:
            best = found
    moved, why_moved = _moved(known, stride), list[str]()
    if moved:
        shown = [
            comparison.means(divided(crop(hidden.fine, corner, hidden.fine.field), stride), best.taus)
            for corner in copies.corners(moved)
        ]
        ratio = comparison.error_with(shown, best) / max(best.probed.error, 1e-30)
        moved = moved if ratio < 1 else ()
        why_moved.append(reasons.places(moved, ratio))
    taus = tuple(max(tau, 1.0) for tau in best.taus)
    return Structure(
        hidden=replace(hidden.window, stride=stride),
        last=Full(tau=taus if len(taus) > 1 else taus[0]),
        longest=reach,
        moments=dense and len(taus) == 1,
        centroids=hidden.centroids,
        temperature=_temperature(best.means, comparison.label),
        moved=moved,
        why=(first, reasons.chosen_stride(stride, tried)),
        why_moved=tuple(why_moved),
    )


def _fits(window: Window, known: Recordings, stride: Strides) -> bool:
    """Whether a last layer above this stride has a size that can be held."""
    places = math.prod(replace(window, stride=stride).output_field(known.field))
    return stride == "field" or places * (window.units or 1) * len(known.classes) <= LARGEST_FIELD


def _moved(known: Recordings, stride: Strides) -> tuple[int, ...]:
    """How far recordings may be moved: a third of the stride; nothing where places are one."""
    if stride == "field":
        return ()
    return tuple(max(round(side / 3), 1) if n > 1 else 0 for n, side in zip(known.field, stride, strict=True))


def _units_per_class(moments: bool, knobs: Knobs) -> int:
    """Several where moments of a recording differ, else one."""
    return max(round(knobs.units_per_class * (MOMENTS if moments else 1)), 1)


def _dense(events: float, field: Recordings) -> bool:
    """Whether each entry of a field fires several times in a recording of so many events."""
    return events >= OFTEN * math.prod(field.field) * field.polarities


def _strides(field: tuple[int, ...], finer: float = 1.0) -> list[Strides]:
    """Strides to try, from fine to coarse."""
    places = finer * PLACES.get(len([n for n in field if n > 1]), 4)
    found: list[Strides] = []
    for each in (places, max(places // 3, 1)):
        stride = tuple(max(1, round(n / each)) for n in field)
        if stride not in found:
            found.append(stride)
    return [*found, "field"]


def _temperature(means: Array, label: Array) -> float:
    """9 log(classes) / mean squared distance between the mean surfaces of two classes."""
    of_class = np.array([means[label == c].mean(axis=0) for c in np.unique(label)])
    sharp = 9 * math.log(max(len(of_class), 2))  # the more classes, the more the others add up to
    return float(np.clip(sharp / max(apart(of_class), 1e-12), 1e-6, 1e6))
