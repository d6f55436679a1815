"""Learning without labels while predicting, with guards for a user's real life."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from timesurf.engines import Batch, Engine, Options, Outcome, Parameters
from timesurf.errors import SettingError
from timesurf.layers import Stage
from timesurf.rule import Rule


def check(cap: float | None, confidence: float | None) -> None:
    """Refuse guards that are not numbers from 0 up."""
    for name, value in (("cap", cap), ("confidence", confidence)):
        if value is not None and not value >= 0:
            raise SettingError(f"{name} = {value!r} must be 0 or more, or None for no limit.")


def adapt(
    engine: Engine,
    stages: tuple[Stage, ...],
    parameters: Parameters,
    rule: Rule,
    batches: Iterable[Batch],
    options: Options,
    *,
    cap: float | None = None,
    confidence: float | None = None,
) -> Outcome:
    """Learn online from unlabelled batches; guards look at a whole batch, so give them one recording each.

    cap : the furthest that any centroid, and any threshold, may move in one batch
    confidence : learn only from batches whose majority has at least this share of the output events
    """
    outcomes = []
    for batch in batches:
        if confidence is not None:
            outcome = engine.infer(stages, parameters, batch, options)
            if outcome.votes.max() < confidence * max(int(outcome.votes.sum()), 1):
                outcomes.append(outcome)
                continue
        before = None if cap is None else parameters.copy()
        outcomes.append(engine.learn_online(stages, parameters, rule, batch, options))
        if cap is not None and before is not None:
            hold_back(parameters, before, cap)
    return Outcome.joined(outcomes)


def hold_back(now: Parameters, before: Parameters, cap: float) -> None:
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
