"""Random networks and random event streams, for holding engines to the reference."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from timesurf.engines import Batch, Parameters, pack
from timesurf.events import Recordings
from timesurf.layers import Full, Stage, Tile, Window, stack
from timesurf.rule import Rule


@dataclass
class Case:
    stages: tuple[Stage, ...]
    parameters: Parameters
    batch: Batch
    recordings: Recordings
    rule: Rule


temperatures = st.floats(0.5, 20)
taus = st.sampled_from([1.0, 7.5, 40.0, 300.0])
several_taus = st.lists(taus, min_size=1, max_size=4, unique=True)  # of a `Full` layer, in any order


def strides(dimensions):
    """Pixels per output place: mostly 1, or more, or as many in each dimension, or the whole field."""
    each = st.tuples(*[st.integers(1, 3)] * dimensions)
    return st.one_of(st.just(1), st.integers(1, 4), each, st.just("field"))


@st.composite
def networks(draw, field, most_layers=4, kinds=(Window, Tile, Full), several=True, windows=(1, 3, 5)):
    """1 to 4 layers of these kinds; each takes what the one below emits, down to a field of no dimensions.

    A `Full` layer may have several time constants, unless told otherwise.
    """
    layers = []
    for _ in range(draw(st.integers(1, most_layers))):
        about = {"units": draw(st.integers(1, 5)), "tau": draw(taus), "feedback_tau": draw(taus)}
        kind = draw(st.sampled_from(kinds))
        if kind is Window:
            layer = Window(draw(st.sampled_from(windows)), stride=draw(strides(len(field))), **about)
        elif kind is Tile:
            layer = Tile([draw(st.integers(1, 4)) for _ in field], **about)
        else:
            per_class = draw(st.integers(1, 3))  # of a last layer; below it, any number of units will do
            about["units"] *= per_class
            about["tau"] = draw(several_taus) if several and draw(st.booleans()) else about["tau"]
            layer = Full(units_per_class=per_class, **about)
        layers.append(layer)
        field = layer.output_field(field)
    return layers


@st.composite
def streams(draw, field, polarities, most_events=60):
    """Recordings with ties in time, events on the border, and sometimes no events at all."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    counts = draw(st.lists(st.integers(0, most_events), min_size=1, max_size=3))
    events = sum(counts)
    border = rng.random(events) < 0.3
    coords = [np.where(border, rng.choice([0, n - 1], events), rng.integers(0, n, events)) for n in field]
    steps = rng.choice([0, 0, 1, 3, 50], events)
    offsets = np.cumsum([0, *counts])
    t = np.concatenate([np.cumsum(steps[a:b]) for a, b in pairwise(offsets)])
    t = t + rng.integers(0, 10**6)
    return Recordings(coords, t, rng.integers(0, polarities, events), offsets, field=field, polarities=polarities)


@st.composite
def cases(draw, most_layers=4, kinds=(Window, Tile, Full), several=True, windows=(1, 3, 5)):
    """A network with parameters somewhere among its surfaces, thresholds that reject some, events and labels."""
    field = tuple(draw(st.lists(st.integers(1, 7), min_size=1, max_size=3)))
    polarities = draw(st.integers(1, 3))
    stages = stack(draw(networks(field, most_layers, kinds, several, windows)), field, polarities)
    recordings = draw(streams(field, polarities))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    centroids, thresholds = [], []
    for k, stage in enumerate(stages):
        scale = rng.choice([0.05, 0.3, 1.0])
        centroids.append(scale * rng.random((stage.units, *stage.surface_shape)))
        reach = 0.5 * np.sqrt(np.prod(stage.surface_shape)) + 1.0
        last = k == len(stages) - 1
        th = rng.uniform(0.2, 1.0, stage.units) * reach
        thresholds.append(np.full(stage.units, np.inf) if last or rng.random() < 0.3 else th)
    rates = {name: tuple(rng.uniform(0.001, 0.05, len(stages))) for name in ("alpha", "beta", "gamma", "delta")}
    rule = Rule(
        **rates,
        d=float(rng.uniform(0.1, 1.0)),
        kernel=draw(st.sampled_from(["border", "centre"])),
        competition=draw(st.booleans()),
        last=draw(st.sampled_from(["sup3r", "delta"])),
        temperature=draw(temperatures),
    )
    frozen = [rng.random(stage.units) < 0.4 for stage in stages] if draw(st.booleans()) else None
    labels = rng.integers(-1, stages[-1].classes, len(recordings))
    return Case(stages, Parameters.of(centroids, thresholds, frozen), pack(recordings, labels), recordings, rule)


def blobs(recordings, seed, classes=3, events=80):
    """Recordings of spots on 9 x 9 pixels, one place per class, with a third of the events anywhere; 1 ms apart."""
    rng = np.random.default_rng(seed)
    labels = np.arange(recordings) % classes
    about = np.repeat(2 + 5 * labels / max(classes - 1, 1), events)
    anywhere = rng.random(recordings * events) < 1 / 3
    coords = [
        np.where(anywhere, rng.integers(0, 9, len(about)), np.clip(rng.normal(about, 1.2), 0, 8)).astype(int)
        for _ in range(2)
    ]
    t = np.cumsum(rng.integers(1, 2000, (recordings, events)), axis=1).ravel()
    p = rng.integers(0, 2, len(t))
    offsets = np.arange(recordings + 1) * events
    return Recordings(coords, t, p, offsets, field=(9, 9), polarities=2, labels=labels)
