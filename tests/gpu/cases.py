"""Random networks and events from a seed alone, so that they can be drawn where hypothesis is not installed."""

import itertools

import numpy as np

from timesurf.engines import Batch, Parameters, Units, pack, reference
from timesurf.events import Recordings
from timesurf.layers import Full, Tile, Window, stack
from timesurf.learning.resting import above
from timesurf.rule import Rule


def draw(seed, most_units=5, most_events=120, *, windows=0, last="sup3r"):
    """Stages, parameters among the surfaces, a rule and a batch with ties in time and empty recordings.

    windows : that many Window layers below one Full layer, which have paths of their own; 0: any layers
    last : how the last layer learns; the delta rule always takes the general path
    """
    rng = np.random.default_rng(seed)
    field = tuple(int(n) for n in rng.integers(1, 8, rng.integers(1, 4)))
    polarities = int(rng.integers(1, 4))
    layers, place = [], field
    count = windows + 1 if windows else int(rng.integers(1, 5))
    for k in range(count):
        about = {"units": int(rng.integers(1, most_units + 1))}
        about |= {name: float(rng.choice([1.0, 7.5, 40.0, 300.0])) for name in ("tau", "feedback_tau")}
        kind = (0 if k < windows else 2) if windows else rng.integers(3)
        if kind == 0:
            layers.append(Window(int(rng.choice([1, 3, 5])), stride=_stride(rng, len(place)), **about))
        elif kind == 1:
            layers.append(Tile([int(n) for n in rng.integers(1, 5, len(place))], **about))
        else:
            per_class = int(rng.integers(1, 4)) if k == count - 1 else 1
            about["units"] = max(about["units"] // per_class, 1) * per_class
            layers.append(Full(units_per_class=per_class, **about))
        place = layers[-1].output_field(place)
    stages = stack(layers, field, polarities)
    parameters = Parameters()
    for k, stage in enumerate(stages):
        centroids = rng.choice([0.05, 0.3, 1.0]) * rng.random((stage.units, *stage.surface_shape))
        reach = 0.5 * np.sqrt(np.prod(stage.surface_shape)) + 1.0
        open_ = k == len(stages) - 1 or rng.random() < 0.3
        th = np.full(stage.units, np.inf) if open_ else rng.uniform(0.2, 1.0, stage.units) * reach
        parameters.append(Units(centroids, th, rng.random(stage.units) < 0.2))
    rates = {name: tuple(rng.uniform(0.001, 0.05, len(stages))) for name in ("alpha", "beta", "gamma", "delta")}
    kernel, competition = str(rng.choice(["border", "centre"])), bool(rng.random() < 0.7)
    rule = Rule(
        **rates, d=float(rng.uniform(0.1, 1.0)), kernel=kernel, competition=competition, last=last,
        temperature=float(rng.choice([0.3, 2.0, 10.0])),
    )  # fmt: skip
    counts = rng.integers(0, most_events, rng.integers(1, 9)) * (rng.random() < 0.95)
    events, offsets = int(counts.sum()), np.cumsum([0, *counts])
    coords = [rng.integers(0, n, events) for n in field]
    gaps = rng.choice([0, 0, 1, 3, 50], events)
    t = np.concatenate([[], *(np.cumsum(gaps[a:b]) for a, b in itertools.pairwise(offsets))]).astype(int)
    recordings = Recordings(coords, t, rng.integers(0, polarities, events), offsets, field=field, polarities=polarities)
    return stages, parameters, rule, pack(recordings, rng.integers(-1, stages[-1].classes, len(counts)))


def window(seed, units=None, events=None):
    """One Window layer of up to 512 units, some of them near surfaces that occur, as stages, parameters and a batch."""
    rng = np.random.default_rng(seed)
    field = tuple(int(n) for n in rng.integers(3, 14, rng.integers(1, 4)))
    polarities = int(rng.integers(1, 4))
    units = units or int(rng.integers(1, (9, 33, 129, 513)[seed % 4]))
    size = int(rng.choice([1, 3, 5, 9] if len(field) < 3 else [1, 3, 5]))
    layer = Window(size, units=units, tau=float(rng.choice([1.0, 40.0, 300.0])), stride=_stride(rng, len(field)))
    stages = stack([layer], field, polarities)
    counts = [events] if events else rng.integers(0, 300, rng.integers(1, 6))
    offsets = np.cumsum([0, *counts])
    entry = rng.integers(0, np.prod(field) * polarities, offsets[-1])
    near = rng.random(len(entry)) < 0.3  # the same entry again, within a tile
    entry[1:][near[1:]] = entry[:-1][near[1:]]
    gaps = rng.choice([0, 0, 1, 3, 50], len(entry))
    t = np.concatenate([[], *(np.cumsum(gaps[a:b]) for a, b in itertools.pairwise(offsets))])
    batch = Batch(entry.astype(np.int32), t.astype(np.int32), offsets, np.full(len(counts), -1))
    shape = (units, *stages[0].surface_shape)
    centroids = rng.choice([0.05, 0.3, 1.0]) * rng.random(shape)
    parameters = Parameters.of([centroids], [np.full(units, np.inf)])
    if len(entry):
        some = reference.surfaces(stages, parameters, batch, 0)
        chosen = rng.permutation(units)[: units // 2]
        centroids[chosen] += some[rng.integers(0, len(some), len(chosen))] - 0.5 * centroids[chosen]
    if seed % 2:
        parameters[0].thresholds[:] = rng.uniform(0.2, 1.0, units) * (0.3 * np.sqrt(np.prod(shape[1:])) + 0.5)
    return stages, parameters, batch


def alone(seed, most_units=10, *, last="sup3r"):
    """A Full layer alone, and events of a layer below it, as `draw` gives them."""
    stages, parameters, rule, batch = draw(seed, most_units, most_events=400, windows=1, last=last)
    rng, top = np.random.default_rng(seed), stages[1]
    entry = rng.integers(0, np.prod(top.surface_shape), len(batch.entry)).astype(np.int32)
    return stages[1:], Parameters(parameters[1:]), above(rule, 1), Batch(entry, batch.t, batch.offsets, batch.label)


def _stride(rng, dimensions):
    """1 in half of the cases, else the same for all dimensions, one for each, or the whole field."""
    kind = rng.integers(6)
    if kind < 3:
        return 1
    return [int(rng.integers(2, 4)), tuple(int(n) for n in rng.integers(1, 4, dimensions)), "field"][kind - 3]
