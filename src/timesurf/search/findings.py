"""What a search found: which settings matter, which are best, and their figures on recordings held out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from timesurf.layers import Layer
from timesurf.modelfile import layer_to_dict
from timesurf.presets import Preset
from timesurf.rule import RATES
from timesurf.search.space import Range, Space, Value
from timesurf.search.study import Row, distributions, optuna
from timesurf.search.workers import Workers
from timesurf.times import microseconds, readable

Figures = dict[str, list[float]]  # one value per network, in each list
_DOUBT = 2.0  # standard errors


def importance(rows: list[Row], space: Space, seed: int = 0) -> dict[str, dict[str, float]]:
    """The share of the variance of each objective that each setting explains by itself (fANOVA), the largest first.

    Pruned trials count with the values they had reached, since bad settings show what matters as well as good ones do.
    An objective that never varies is left out.
    """
    kit, found = optuna(), {}
    for objective in ("recording_accuracy", "kept"):
        values = [row[objective][-1] for row in rows]
        if len(set(values)) < 2:
            continue
        study = kit.create_study()  # of one objective, in memory
        study.add_trials(
            kit.trial.create_trial(
                params=_inside(row["values"], space), distributions=distributions(space), value=value
            )
            for row, value in zip(rows, values, strict=True)
        )
        judge = kit.importance.FanovaImportanceEvaluator(seed=seed)
        shares = kit.importance.get_param_importances(study, evaluator=judge)
        found[objective] = {name: float(share) for name, share in shares.items()}
    return found


def _inside(values: dict[str, Value], space: Space) -> dict[str, Value]:
    """Values moved back into their range, which rounding may have taken them out of."""
    options = space.options
    return {n: o.nearest(v) if isinstance(o := options[n], Range) else v for n, v in values.items()}


def finalists(rows: list[Row], space: Space, number: int) -> list[dict[str, Value]]:
    """The defaults, then the best of the other trials: highest recording accuracy, of equals the fewest events kept."""
    complete = sorted(
        (row for row in rows if row["ended"] == "whole"),
        key=lambda row: (-row["marks"][0], row["marks"][1]),
    )
    found = [space.defaults]
    for row in complete:
        if len(found) <= number and row["values"] not in found:
            found.append(row["values"])
    return found


def judged(
    workers: Workers, settings: list[Preset], seeds: range, counted: Callable[[], None] = lambda: None
) -> list[Figures]:
    """Figures of each of some settings, one network per seed; `counted` is called after each network."""
    started = [[workers.submit(preset, seed) for seed in seeds] for preset in settings]
    found = []
    for networks in started:
        ended = []
        for network in networks:
            ended.append(network.result())
            counted()
        found.append(
            {
                "recording_accuracy": [one.recording_accuracy[-1] for one in ended],
                "event_accuracy": [one.event_accuracy for one in ended],
                "kept": [one.kept[-1] for one in ended],
            }
        )
    return found


def chosen(figures: list[Figures]) -> int:
    """Which of the finalists is best: of those no worse than the first in either objective, the most accurate.

    Of equals it is the one that keeps the fewest events. The first are the defaults, so the choice is at least as good.

    Examples
    --------
    >>> defaults = {"recording_accuracy": [0.9, 1.0], "kept": [0.2, 0.2]}
    >>> better = {"recording_accuracy": [1.0, 1.0], "kept": [0.3, 0.2]}
    >>> sparser = {"recording_accuracy": [0.95, 0.95], "kept": [0.1, 0.1]}
    >>> chosen([defaults, better, sparser])
    2
    """
    means = [(float(np.mean(of["recording_accuracy"])), -float(np.mean(of["kept"]))) for of in figures]
    means = [(round(right, 9), round(spared, 9)) for right, spared in means]  # equal sums in another order may differ
    fit = [n for n, (right, spared) in enumerate(means) if right >= means[0][0] and spared >= means[0][1]]
    return max(fit, key=lambda n: means[n])


def gains(chosen: Figures, defaults: Figures) -> dict[str, list[float]]:
    """How much better than the defaults, and the standard error of that; the networks are paired by their seeds.

    Examples
    --------
    >>> defaults = {"recording_accuracy": [0.9, 0.9], "kept": [0.2, 0.2]}
    >>> gains({"recording_accuracy": [1.0, 1.0], "kept": [0.1, 0.3]}, defaults)
    {'recording_accuracy': [0.1, 0.0], 'kept': [0.0, 0.1]}
    """
    found = {}
    for objective, sign in (("recording_accuracy", 1), ("kept", -1)):
        by = sign * np.subtract(chosen[objective], defaults[objective])
        error = by.std(ddof=1) / np.sqrt(len(by)) if len(by) > 1 else 0.0
        found[objective] = [round(float(by.mean()), 9) + 0.0, round(float(error), 9)]
    return found


def verdict(gains: dict[str, list[float]]) -> str:
    """The gains on recordings held out, in words.

    Examples
    --------
    >>> verdict({"recording_accuracy": [0.0, 0.0], "kept": [0.01, 0.002]})
    'at least as good as the defaults'
    >>> verdict({"recording_accuracy": [-0.01, 0.02], "kept": [0.1, 0]})
    'as good as the defaults, within the uncertainty of so few networks'
    """
    if all(by >= 0 for by, _ in gains.values()):
        return "at least as good as the defaults"
    if all(by >= -_DOUBT * error for by, error in gains.values()):
        return "as good as the defaults, within the uncertainty of so few networks"
    return "not as good as the defaults"


def snippet(preset: Preset, seed: int = 0) -> str:
    """Python code that trains a network with these settings.

    Examples
    --------
    >>> from timesurf.presets import SENTENCES
    >>> print(snippet(SENTENCES))
    from timesurf import Full, Sup3rClassifier, Tile
    <BLANKLINE>
    layers = [
        Tile((5, 5), units=3, tau="2 ms", feedback_tau="2 ms"),
        Tile((3, 1), units=6, tau="1 us", feedback_tau="100 us"),
        Full(tau="1 us", feedback_tau="10 us"),
    ]
    classifier = Sup3rClassifier(
        layers, passes=6, batch_size=None, decay=False, keep=None, moved=(), bent=0,
        alpha=0.0001, beta=0.0001, gamma=0.0001, delta=5e-06, d=0.3,
        start='mean', zeta=0.1, margin=1.4, sample=20, random_state=0,
    ).fit(recordings)
    """
    rule = preset.rule.to_dict()
    rates = {name: rule[name] for name in RATES}
    usual = type(preset.rule)().to_dict()
    rates |= {name: value for name, value in rule.items() if name not in RATES and value != usual[name]}
    start = preset.starting() | {"random_state": seed}
    if preset.margin == float("inf"):
        start["margin"] = _Code('float("inf")')
    used = sorted({type(layer).__name__ for layer in preset.layers} | {"Sup3rClassifier"})
    lines = [f"from timesurf import {', '.join(used)}", "", "layers = ["]
    lines += [f"    {_layer(layer)}," for layer in preset.layers]
    lines += ["]", "classifier = Sup3rClassifier("]
    lines += [f"    layers, {_arguments(preset.learning())},"]
    lines += [f"    {_arguments(some)}," for some in (rates, start)]
    return "\n".join([*lines, ").fit(recordings)"])


class _Code(str):
    """Text whose repr is the text itself."""

    __slots__ = ()
    __repr__ = str.__str__


def _layer(layer: Layer) -> str:
    about = layer_to_dict(layer)
    kind = about.pop("kind")
    first = [repr(about.pop(name)) for name in ("size", "shape") if name in about]
    times = {name: _time(about.pop(name)) for name in ("tau", "feedback_tau")}
    usual = {field.name: field.default for field in fields(layer)}
    rest = _arguments({name: value for name, value in about.items() if value != usual[name]} | times)
    return f"{kind}({', '.join([*first, rest])})"


def _time(us: float | tuple[float, ...]) -> _Code:
    """With its unit, where that is exactly the same time."""
    if isinstance(us, tuple):
        return _Code(f"({', '.join(map(_time, us))})")
    return _Code(f'"{readable(us)}"') if microseconds(readable(us)) == us else _Code(us)


def _arguments(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items())
