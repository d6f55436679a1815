"""Keep a given share of events: thresholds of hidden units that let just so many pass.

Each unit keeps the closest of its events. Where no threshold rejects anything yet, all units keep the same share; where
thresholds were learned, the share s of each unit becomes ``s f``, or ``1 - (1 - s) f`` to keep more, with one f for the
whole layer, so that selective units stay selective. Of several hidden layers each takes its part: the share that layer
k passes on, q_k, becomes ``q_k^e``, with the e that makes the product of all the share wanted.

The last layer must learn again from what is kept: its surfaces hold fewer events than before. On real digits that is
worth far more than any choice of which events to keep, by S, by the last layer's votes or by what units say about the
class (docs/howto/sparsity.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from timesurf import inference, metrics
from timesurf.engines import Batch, Engine, Options, Parameters, choose, pack
from timesurf.errors import EventError, SettingError
from timesurf.events import Recordings
from timesurf.layers import Stage
from timesurf.learning.start import hidden_trace
from timesurf.learning.state import Trainee

Array = NDArray[Any]


class Tightened(Trainee, Protocol):
    """A network that can be copied and evaluated."""

    def twin(self, parameters: Parameters) -> Self:
        """A network like this one, with other parameters."""

    def evaluate(self, recordings: Recordings) -> dict[str, Any]:
        """Figures, "recording_accuracy", "event_accuracy" and "kept" among them."""


SAMPLE = 500  # recordings that thresholds are set by, at most
_EVENTS = 1 << 21  # of these recordings, at most: a trace is large
_EQUAL = 1e-6  # distances that differ by less, relatively, are equal: surfaces that look the same, up to rounding
_CLOSE = 0.01  # a share that is kept already
_LOOKED_AT, _ALL = 50, 0.995  # recordings, and the share of their events from which on nothing is rejected
LEVELS = (1.0, 0.7, 0.5, 0.3, 0.2, 0.1)  # of a curve
_OF_A_CURVE = 1 << 18  # events that its thresholds are set by


def check(keep: float | None) -> None:
    """Refuse a share that is none."""
    if keep is not None and not 0 < keep <= 1:
        raise SettingError(f"keep = {keep!r} must lie between 0 and 1: the share of events to keep.")


def rests(network: Trainee) -> bool:
    """Whether nothing moves the thresholds of its hidden layers while it learns."""
    rates = network.rule.per_layer(len(network.stages))[:-1]
    return len(rates) > 0 and not rates[:, 2:4].any()  # gamma and delta


def all_kept(network: Trainee, recordings: Recordings, keep: float | None = None) -> str:
    """A sentence where thresholds were asked for and reject nothing, of some of the recordings; empty otherwise.

    Parameters
    ----------
    network : Network
        After it has learned.
    recordings : Recordings
        Like those to be classified; few are looked at.
    keep : float, optional
        The share that was asked for.

    """
    asked = keep is not None and keep < 1
    if asked and len(network.stages) == 1:
        return f"keep = {keep:g} was asked for, but a single layer has no thresholds: no event is rejected."
    some = recordings[:_LOOKED_AT]
    moves = network.rule.per_layer(len(network.stages))[:-1, 2:4].any()  # gamma and delta of hidden layers
    if not (asked or moves) or not some.counts.any():
        return ""
    engine = choose(network.engine, network.stages)
    kept = metrics.kept(inference.infer(engine, network.stages, network.parameters, some, network.options))
    if kept <= _ALL:
        return ""
    if asked:
        return (
            f"keep = {keep:g} was asked for, but {kept:.1%} of the events are kept: their distances from the hidden "
            "units hardly differ. Give more recordings, or hidden layers with more units or another tau."
        )
    return (
        f"gamma or delta should move thresholds, but {kept:.1%} of the events are kept: none have learned to reject. "
        "Ask for a share to keep (`keep`, `timesurf train --keep 0.5`), or train for more passes or with larger rates."
    )


def tighten(
    network: Trainee,
    recordings: Recordings,
    keep: float,
    validation: float | Recordings | None = None,
    events: int = _EVENTS,
) -> bool:
    """Set the thresholds of the hidden layers so that this share of events is kept.

    Units lie closer to what they were fitted to than to other recordings, of which they may then keep fewer events.
    So where the share kept of recordings for validation clearly is another one, thresholds are set by these.

    Parameters
    ----------
    network : Network
        Its thresholds change, those of frozen units too; nothing else.
    recordings : Recordings
        Those that it learned from; labels are not used.
    keep : float
        Share of the events of a recording, on average: as `metrics.kept` measures it.
    validation : Recordings, optional
        Recordings that it did not learn from; anything else is ignored.
    events : int
        How many to look at, at most.

    Returns
    -------
    bool
        False if the network keeps that share already, within a point: it is then left as it is.
    """
    check(keep)
    if len(network.stages) < 2:
        raise SettingError("This network has a single layer, which always fires: it keeps all events.")
    engine, stages, parameters = choose(network.engine, network.stages), network.stages, network.parameters
    how, seed = network.options, network.seed
    changed = set_thresholds(engine, stages, parameters, _sample(recordings, seed, events), keep, how)
    if isinstance(validation, Recordings) and validation.counts.any():
        found = inference.infer(engine, stages, parameters, validation, how)
        share = (found.kept[:, -1] / np.maximum(found.events, 1))[found.events > 0]
        doubt = float(share.std()) / math.sqrt(len(share))  # standard error of the mean
        if abs(float(share.mean()) - keep) > max(2 * doubt, _CLOSE):
            changed |= set_thresholds(engine, stages, parameters, _sample(validation, seed, events), keep, how)
    return changed


def _sample(recordings: Recordings, seed: int | None, events: int) -> Batch:
    """Some recordings, of about so many events at most."""
    order = np.random.default_rng(seed).permutation(len(recordings))[:SAMPLE]
    few = max(int(np.searchsorted(np.cumsum(recordings.counts[order]), events)), 1)
    return pack(recordings[np.sort(order[:few])])


def set_thresholds(
    engine: Engine, stages: tuple[Stage, ...], parameters: Parameters, batch: Batch, keep: float, options: Options
) -> bool:
    """As `tighten`, by a batch; layer after layer, since what a layer keeps decides what the next one sees.

    Distances are computed as the network will: many events may have the same one, up to rounding.
    """
    counts, hidden = np.diff(batch.offsets), len(stages) - 1
    if not counts.any():
        raise EventError("The recordings contain no events: there is nothing to set thresholds by.")
    weight = np.repeat(1 / np.maximum(counts, 1) / np.count_nonzero(counts), counts)
    passed = hidden_trace(engine, stages, parameters, batch, options).passed
    before = [float(weight[passed > k].sum()) for k in range(hidden)]  # share of the input that each layer passes on
    if abs(before[-1] - keep) <= _CLOSE:
        return False
    e = math.log(keep) / math.log(before[-1]) if 0 < before[-1] < 1 - 1e-9 else math.nan
    for k, units in enumerate(parameters[:-1]):
        target = keep ** ((k + 1) / hidden) if math.isnan(e) else before[k] ** e
        trace = hidden_trace(engine, stages[: k + 2], Parameters(parameters[: k + 2]), batch, options)
        some = trace.passed >= k
        winner, distance = trace.winner[some, k], trace.distance[some, k]
        units.thresholds[:] = _thresholds(units.thresholds, winner, distance, weight[some], target)
    return True


def _thresholds(old: Array, winner: Array, distance: Array, weight: Array, target: float) -> Array:
    """Thresholds of a layer so that events of this weight pass."""
    units, passes = len(old), distance < old[winner]
    arrived = np.bincount(winner, weight, units)
    share = np.bincount(winner, weight * passes, units) / np.maximum(arrived, 1e-300)
    now, most = float(arrived @ share), float(arrived.sum())
    fewer, more = target / max(now, 1e-300), max(most - target, 0.0) / max(most - now, 1e-300)
    share = share * fewer if target <= now else 1 - (1 - share) * more
    thresholds, owed = old.copy(), 0.0
    for n in np.argsort(-arrived, kind="stable")[: np.count_nonzero(arrived)]:
        mine = np.flatnonzero(winner == n)
        mine = mine[np.argsort(distance[mine], kind="stable")]
        far, wanted = distance[mine], share[n] * arrived[n] + owed
        apart = np.diff(far) > _EQUAL * far[-1]  # a threshold goes between two distances, not through equal ones
        cuts = np.concatenate([[0], 1 + np.flatnonzero(apart), [len(far)]])
        kept = np.concatenate([[0], np.cumsum(weight[mine])])[cuts]
        best = int(np.argmin(np.abs(kept - wanted)))
        owed, cut = wanted - kept[best], cuts[best]  # what this unit cannot keep exactly, the next ones make up for
        between = (far[cut - 1] if cut else 0.0, far[cut] if cut < len(far) else math.inf)
        thresholds[n] = sum(between) / 2
    return thresholds


@contextmanager
def only_the_last_learns(network: Trainee) -> Iterator[None]:
    """Freeze the hidden layers, so that only the last one learns."""
    before = [units.frozen.copy() for units in network.parameters]
    for units in network.parameters[:-1]:
        units.frozen[:] = True
    try:
        yield
    finally:
        for units, frozen in zip(network.parameters, before, strict=True):
            units.frozen[:] = frozen


def curve(
    network: Tightened,
    recordings: Recordings,
    validation: Recordings | None,
    held_out: Recordings,
    levels: Sequence[float] = LEVELS,
) -> list[dict[str, float]]:
    """Accuracy over the share of events kept, by thresholds alone: the last layer does not learn again.

    Parameters
    ----------
    network : Network
        A trained network; it is not changed.
    recordings, validation : Recordings
        What thresholds are set by, see `tighten`.
    held_out : Recordings
        What is measured on, with labels.
    levels : sequence of float
        Shares to keep; those above what the network keeps are left out.

    Returns
    -------
    list of dict
        "keep", "kept", "recording_accuracy" and "event_accuracy" of each level, and first of the network as it is.
    """
    names = ("kept", "recording_accuracy", "event_accuracy")
    as_it_is = network.evaluate(held_out)
    rows = [{"keep": as_it_is["kept"]} | {name: as_it_is[name] for name in names}]
    for keep in levels if len(network.stages) > 1 else ():
        if keep < as_it_is["kept"] - _CLOSE:
            other = network.twin(network.parameters.copy())
            tighten(other, recordings, keep, validation, _OF_A_CURVE)
            found = other.evaluate(held_out)
            rows.append({"keep": keep} | {name: found[name] for name in names})
    return rows
