"""Learning without labels while predicting, with limits on how much one recording may change."""

from __future__ import annotations

import numpy as np

from timesurf import inference
from timesurf.engines import Outcome, Parameters, choose, pack
from timesurf.errors import SettingError
from timesurf.events import Recordings
from timesurf.learning.divergence import check_sane
from timesurf.learning.state import Trainee
from timesurf.rule import Rule


def adapt(
    network: Trainee, recordings: Recordings, rule: Rule | None, cap: float | None, confidence: float | None
) -> Outcome:
    """Learn online from recordings without their labels; the parameters are those of `Network.adapt`."""
    stages, parameters, options = network.stages, network.parameters, network.options
    rule = rule or network.rule.for_adapting()
    rule.per_layer(len(stages))  # raises now if it has rates for another number of layers
    for name, value in (("cap", cap), ("confidence", confidence)):
        if value is not None and not value >= 0:
            raise SettingError(f"{name} = {value!r} must be 0 or more, or None for no limit.")
    inference.check_input(stages, recordings)
    engine, outcomes = choose(network.engine, stages, online=True), []
    at_once = None if cap is None and confidence is None else 1  # both are limits for a single recording
    for part in inference.parts(recordings, at_once):
        batch = pack(recordings[part])
        if confidence is not None:
            outcome = engine.infer(stages, parameters, batch, options)
            if outcome.votes.max() < confidence * max(int(outcome.votes.sum()), 1):
                outcomes.append(outcome)
                continue
        before = None if cap is None else parameters.copy()
        outcomes.append(engine.learn_online(stages, parameters, rule, batch, options))
        if cap is not None and before is not None:
            limit(parameters, before, cap)
    check_sane(parameters)
    return Outcome.joined(outcomes)


def limit(now: Parameters, before: Parameters, cap: float) -> None:
    """Shorten every move that went further than `cap`."""
    for units, old in zip(now, before, strict=True):
        c, was = units.centroids, old.centroids
        moved = (c - was).reshape(len(c), -1)
        far = np.linalg.norm(moved, axis=1)
        for u in np.flatnonzero(far > cap):
            c[u] = was[u] + (moved[u] * (cap / far[u])).reshape(c[u].shape)
        th, was = units.thresholds, old.thresholds
        finite = np.isfinite(th)
        th[finite] = was[finite] + np.clip(th[finite] - was[finite], -cap, cap)
