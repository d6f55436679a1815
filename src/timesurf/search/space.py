"""What a search may change: settings of a preset by name, each with the values it may take.

====================  ======================================================================
name                  setting
====================  ======================================================================
`tau1`, `tau2`, ...   decay of a layer's surfaces, us; 1 is the first layer
`feedback_tau2`, ...  decay of its feedback, us; the first layer's is not used
`units1`, ...         units of a hidden layer
`alpha` ... `d`       the rule's; `alpha1`, `alpha2`, ... where the preset has one per layer
`batch_size`, `keep`  of training; `batch_size` None is online
`margin`, `zeta`      of the start
====================  ======================================================================
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from timesurf.errors import SettingError
from timesurf.learning.schedule import Schedule
from timesurf.presets import Preset
from timesurf.rule import RATES
from timesurf.times import microseconds

Value = float | int | None
_OF_LAYERS = ("tau", "feedback_tau", "units")
_OF_PRESET = ("batch_size", "keep", "margin", "zeta")
_WHOLE = ("units", "batch_size")
_SPREAD = {"units": 2, "batch_size": 4, "d": 5}  # factor below and above the preset's value; 10 for others
_MARGINS = (1.05, 2.0)
_NONE = ("none", "online")  # how None is written


@dataclass(frozen=True, slots=True)
class Range:
    """All numbers from `low` to `high`: uniform on a log scale or, with log=False, on a linear one."""

    low: float
    high: float
    log: bool = True
    whole: bool = False

    def __post_init__(self) -> None:
        """Refuse an empty range."""
        if not 0 <= self.low < self.high < math.inf or (self.log and self.low == 0):
            raise SettingError(
                f"{self.low:g}:{self.high:g} is no range: it needs two positive numbers, the lower one first."
            )

    def nearest(self, value: Value) -> Value:
        """The closest number within the range."""
        if value is None:
            return None
        inside = min(max(value, self.low), self.high)
        return round(inside) if self.whole else inside


Options = Range | tuple[Value, ...]  # a tuple: one of these


@dataclass(frozen=True, slots=True)
class Space:
    """A preset, which gives the defaults of the search, and what of it may change.

    Examples
    --------
    >>> from timesurf.presets import SENTENCES
    >>> space = narrowed(SENTENCES, only=["tau1", "alpha"])
    >>> space.defaults
    {'tau1': 2000.0, 'alpha': 0.0001}
    >>> space.settings({"tau1": 1234.567, "alpha": 1e-3}).layers[0].tau
    1230.0
    """

    preset: Preset
    options: dict[str, Options]

    @property
    def defaults(self) -> dict[str, Value]:
        """The preset's values."""
        return {name: setting(self.preset, name) for name in self.options}

    def rounded(self, values: Mapping[str, Value]) -> dict[str, Value]:
        """Values as a network gets them: rounded to three digits, to be easy to write; the preset's own exactly."""
        own = self.defaults
        return {name: value if value == own[name] else _short(value) for name, value in values.items()}

    def settings(self, values: Mapping[str, Value]) -> Preset:
        """The preset with these values."""
        preset = self.preset
        for name, value in self.rounded(values).items():
            preset = changed(preset, name, value)
        return preset

    def to_dict(self) -> dict[str, list[Value]]:
        """The ends of each range, or the choices; ready for JSON."""
        return {name: [o.low, o.high] if isinstance(o, Range) else list(o) for name, o in self.options.items()}


def narrowed(
    preset: Preset,
    *,
    only: Iterable[str] = (),
    fix: Mapping[str, Value] | Iterable[str] = (),
    vary: Mapping[str, Options] | None = None,
) -> Space:
    """The space around a preset.

    A preset's value outside its options is replaced by the nearest one inside.

    Parameters
    ----------
    preset : Preset
        The defaults.
    only : iterable of str
        Vary nothing but these settings.
    fix : mapping or iterable of str
        Do not vary these: names, or names with values that replace the preset's.
    vary : mapping, optional
        Other options than those chosen here, or options for a setting that is not varied by default (because it is 0,
        None or infinite in the preset).

    Returns
    -------
    Space
        The preset and the options of each setting.

    Examples
    --------
    >>> from timesurf.presets import SENTENCES, nmnist
    >>> list(narrowed(SENTENCES).options)[:6]
    ['tau1', 'tau2', 'tau3', 'feedback_tau2', 'feedback_tau3', 'units1']
    >>> "beta" in narrowed(nmnist(1000)).options  # it is 0 there
    False
    >>> narrowed(nmnist(1000), vary={"beta": Range(1e-6, 1e-4)}).defaults["beta"]
    1e-06
    """
    fixed = dict(fix) if isinstance(fix, Mapping) else {name: setting(preset, name) for name in fix}
    for name, value in fixed.items():
        preset = changed(preset, name, value)
    options = around(preset) | dict(vary or {})
    only = list(only) or list(options)
    for name in (*only, *options):
        setting(preset, name)  # raises if there is none
    for name in only:
        if name not in options:
            raise SettingError(
                f"{name} is {setting(preset, name)} in this preset: give the values over which to vary it."
            )
    options = {name: o for name, o in options.items() if name in only and name not in fixed}
    if not options:
        raise SettingError("Nothing is left to vary.")
    for name, some in options.items():
        value = setting(preset, name)
        if isinstance(some, Range):
            start = some.low if value is None else some.nearest(value)
        else:
            start = value if value in some else some[0]
        preset = changed(preset, name, start)
    for name, some in options.items():
        for value in (some.low, some.high) if isinstance(some, Range) else some:
            _check(changed(preset, name, value))  # raises now what would fail in every trial
    return Space(preset, options)


def _check(preset: Preset) -> None:
    Schedule(**preset.learning())


def around(preset: Preset) -> dict[str, Options]:
    """Options of every setting whose value in the preset gives a range."""
    depth = len(preset.layers)
    names = [f"tau{k + 1}" for k, layer in enumerate(preset.layers) if len(layer.taus) == 1]
    names += [f"feedback_tau{k + 1}" for k in range(min(1, depth - 1), depth)]  # layer k learns from that of k + 1
    names += [f"units{k + 1}" for k in range(depth - 1)]
    for rate in RATES:
        value = getattr(preset.rule, rate)
        names += [f"{rate}{k + 1}" for k in range(len(value))] if isinstance(value, tuple) else [rate]
    options: dict[str, Options] = {}
    for name in (*names, "batch_size"):
        value = setting(preset, name)
        if value:
            kind = _split(name)[0]
            by, whole = _SPREAD.get(kind, 10), kind in _WHOLE
            options[name] = Range(max(round(value / by), 1) if whole else value / by, value * by, whole=whole)
    if preset.keep is not None:
        options["keep"] = Range(preset.keep / 2, (1 + preset.keep) / 2, log=False)
    if math.isfinite(preset.margin):
        options["margin"] = Range(min(_MARGINS[0], preset.margin), max(_MARGINS[1], preset.margin), log=False)
    return options


def setting(preset: Preset, name: str) -> Any:
    """The value of a setting.

    Examples
    --------
    >>> from timesurf.presets import SENTENCES
    >>> setting(SENTENCES, "feedback_tau2"), setting(SENTENCES, "d"), setting(SENTENCES, "batch_size")
    (100.0, 0.3, None)
    """
    kind, number = _split(name)
    if kind in _OF_LAYERS and number is not None and number < len(preset.layers):
        if kind == "tau" and len(preset.layers[number].taus) > 1:
            raise SettingError(f"{name} is several time constants, and a search tries one number per setting.")
        return getattr(preset.layers[number], kind)
    if kind in RATES:
        value = getattr(preset.rule, kind)
        if isinstance(value, tuple) and number is not None and number < len(value):
            return value[number]
        if not isinstance(value, tuple) and number is None:
            return value
    if kind in _OF_PRESET and number is None:
        return getattr(preset, kind)
    raise SettingError(f"No setting {name!r} to search. There are {', '.join((*around(preset), 'keep', 'zeta'))}.")


def changed(preset: Preset, name: str, value: Value) -> Preset:
    """A preset with one setting changed."""
    setting(preset, name)
    kind, number = _split(name)
    if kind in _OF_PRESET:
        return replace(preset, **{kind: value})  # type: ignore[arg-type]
    if kind in RATES:
        now = getattr(preset.rule, kind)
        if number is not None:
            value = (*now[:number], value, *now[number + 1 :])  # type: ignore[assignment]
        return replace(preset, rule=replace(preset.rule, **{kind: value}))  # type: ignore[arg-type]
    assert number is not None
    layers = list(preset.layers)
    layers[number] = replace(layers[number], **{kind: value})  # type: ignore[arg-type]
    return replace(preset, layers=tuple(layers))


def parsed(name: str, text: str) -> Value:
    """A value as written on the command line: a number, a time for tau, `online` or `none`.

    Examples
    --------
    >>> parsed("tau1", "2 ms"), parsed("units1", "3"), parsed("batch_size", "online")
    (2000.0, 3, None)
    """
    kind = _split(name)[0]
    if text.strip().lower() in _NONE:
        return None
    try:
        if kind in ("tau", "feedback_tau"):
            return microseconds(float(text) if _is_number(text) else text, name)
        return int(text) if kind in _WHOLE else float(text)
    except ValueError as error:
        raise SettingError(f"{name} = {text!r} is no value: {error}") from error


def parsed_options(name: str, text: str) -> Options:
    """Options as written on the command line: `LOW:HIGH`, or choices separated by commas.

    Examples
    --------
    >>> parsed_options("tau1", "500 us : 10 ms")
    Range(low=500.0, high=10000.0, log=True, whole=False)
    >>> parsed_options("batch_size", "online, 4, 16")
    (None, 4, 16)
    """
    if ":" not in text:
        return tuple(parsed(name, part) for part in text.split(","))
    low, _, high = text.partition(":")
    ends = parsed(name, low), parsed(name, high)
    if None in ends:
        raise SettingError(f"{name} = {text!r} is no range: it needs two numbers.")
    kind = _split(name)[0]
    return Range(*ends, log=kind not in ("keep", "margin"), whole=kind in _WHOLE)  # type: ignore[arg-type]


def _split(name: str) -> tuple[str, int | None]:
    """Kind of a setting, and the number of its layer from 0 up if it names one."""
    found = re.fullmatch(r"([a-z_]+)([1-9]\d{0,3})?", name)
    if not found:
        return name, None
    return found[1], int(found[2]) - 1 if found[2] else None


def _short(value: Value) -> Value:
    return float(f"{value:.3g}") if isinstance(value, float) else value


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\s*[0-9.]+(e[+-]?[0-9]+)?\s*", text, re.IGNORECASE) is not None
