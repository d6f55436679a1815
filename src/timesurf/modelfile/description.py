"""What a model file says of a network in words and numbers: its layers, rule, classes and history, as JSON and back.

Everything that is read is checked, so that no file makes a network that Python could not.
"""

from __future__ import annotations

import math
import operator
import reprlib
from dataclasses import fields
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from timesurf.calibration import Calibration
from timesurf.engines import Parameters
from timesurf.errors import ModelFileError, SettingError, TimesurfError
from timesurf.layers import Full, Layer, Stage, Tile, Window
from timesurf.rule import Rule
from timesurf.transforms import preparation

Array = NDArray[Any]
DTYPES = ("float32", "float64")  # what a network computes in
KINDS: dict[str, type[Layer]] = {kind.__name__: kind for kind in (Window, Tile, Full)}
_LARGEST_NAMES = 1 << 20  # letters of all class names, if all were as long as the longest


class Described(Protocol):
    """What a model file says of a network."""

    parameters: Parameters
    history: list[dict[str, Any]]
    calibration: dict[str, Calibration]
    why: tuple[str, ...]

    @property
    def started(self) -> bool:
        """Whether it has parameters."""

    @property
    def layers(self) -> tuple[Layer, ...]:
        """From the input up."""

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Its layers in their places."""

    @property
    def classes(self) -> Array:
        """Labels, in the order of the last layer's units."""

    @property
    def rule(self) -> Rule:
        """How it learns."""

    @property
    def dtype(self) -> str:
        """What it computes in."""

    @property
    def seed(self) -> int | None:
        """Of start and training."""

    @property
    def preparation(self) -> preparation.Preparation:
        """What its recordings went through."""


def describe(network: Described) -> dict[str, Any]:
    """What a file says of a network, parameters aside; ready for JSON."""
    return {
        "layers": [layer_to_dict(layer) for layer in network.layers],
        "field": network.stages[0].field,
        "polarities": network.stages[0].polarities,
        "classes": network.classes.tolist(),
        "rule": network.rule.to_dict(),
        "dtype": network.dtype,
        "seed": network.seed,
        "preparation": network.preparation.to_dict(),
        "history": network.history,
        "calibration": network.calibration,
        "why": list(network.why),
    }


def arguments(about: dict[str, Any]) -> dict[str, Any]:
    """Arguments of `Network` from what `describe` gave."""
    if not isinstance(about["classes"], list):
        raise ModelFileError(f"classes = {about['classes']!r} must be a list of numbers or text.")
    if about["dtype"] not in DTYPES:
        raise ModelFileError(f"dtype = {about['dtype']!r} must be {' or '.join(DTYPES)}.")
    return {
        "layers": [layer_from_dict(layer) for layer in about["layers"]],
        "rule": rule_from_dict(about["rule"]),
        "classes": class_names(about["classes"]),
        "seed": seed_number(about["seed"]),
        "preparation": preparation.from_dict(about.get("preparation", {})),
        **{name: about[name] for name in ("field", "polarities", "dtype")},
    }


def attributes(about: dict[str, Any]) -> dict[str, Any]:
    """Attributes of a network from what `describe` gave: history, calibration, why."""
    return {
        "history": _history(about["history"]),
        "calibration": _calibration(about.get("calibration", {})),
        "why": _why(about.get("why", [])),
    }


def class_names(classes: Any) -> Array:
    """Labels as the classes of a network: whole or finite numbers, or text, that a model file can hold.

    Parameters
    ----------
    classes : sequence
        The labels.

    Returns
    -------
    array
        Of integers, floats, booleans or text.

    Raises
    ------
    SettingError
        If there are none, two are equal, or a file could not hold them.

    Examples
    --------
    >>> class_names(["cup", "pen"]).tolist()
    ['cup', 'pen']
    >>> class_names([b"cup", b"pen"])
    Traceback (most recent call last):
    timesurf.errors.SettingError: classes are of type bytes: a model file holds numbers or text. Convert the labels.

    """
    array = isinstance(classes, np.ndarray) and classes.dtype != object
    listed = [] if isinstance(classes, str) or not np.iterable(classes) else np.asarray(classes, object).tolist()
    for name in listed:
        if not isinstance(name, str | int | float | np.bool_ | np.integer | np.floating):
            raise SettingError(
                f"classes are of type {type(name).__name__}: a model file holds numbers or text. Convert the labels."
            )
        if isinstance(name, str) and not name.isascii() and name != name.encode(errors="replace").decode():
            raise SettingError(f"class {name!r} is not valid text (it holds half of a character). Rename it.")
        if isinstance(name, int | np.integer) and not -(2**63) <= name < 2**63:
            raise SettingError(f"class {name} is a number of more than 64 bits (with its sign). Use smaller numbers.")
        if isinstance(name, float | np.floating) and not math.isfinite(name):
            raise SettingError(f"class {name} is not a finite number.")
    longest = max((len(name) for name in listed if isinstance(name, str)), default=0)
    if longest * len(listed) > _LARGEST_NAMES:  # NumPy stores each name with the length of the longest
        raise SettingError(
            f"{len(listed):,} classes with names of up to {longest:,} letters are too long: "
            f"a model file holds {_LARGEST_NAMES:,} letters, each name as long as the longest. Use shorter names."
        )
    names = np.asarray(classes if array else listed)
    if names.ndim != 1 or len(np.unique(names)) != len(names) or not len(names):
        raise SettingError(f"classes = {classes!r} must be a list of different labels, at least one.")
    return names


def seed_number(seed: Any) -> int | None:
    """A seed as a Python integer, None if there is none."""
    try:
        number = None if seed is None else operator.index(seed)
    except TypeError:
        number = -1
    if number is not None and (number < 0 or isinstance(seed, bool)):
        raise SettingError(f"seed = {seed!r} must be a whole number, 0 or more, or None.")
    return number


def _history(history: Any) -> list[dict[str, Any]]:
    """The history of a network, if each pass has figures that are numbers, the share of events kept among them."""
    for line in history if isinstance(history, list) else [None]:
        if not isinstance(line, dict) or not all(_is_figure(value) for value in line.values()) or "kept" not in line:
            raise ModelFileError("history must be a list with the figures of one pass per entry, 'kept' among them.")
    return list(history)


def _calibration(about: Any) -> dict[str, Calibration]:
    """Calibration by what decides, if it is a positive scale and a prior that is not negative."""
    fits = isinstance(about, dict) and about.keys() <= {"votes", "evidence"}
    for numbers in about.values() if fits else ():
        fits &= isinstance(numbers, list) and len(numbers) == 2 and all(isinstance(n, float) for n in numbers)
        fits = fits and 0 < numbers[0] < math.inf and 0 <= numbers[1] < math.inf
    if not fits:
        raise ModelFileError(
            f"calibration = {reprlib.repr(about)} must have a scale and a prior for votes, evidence or both."
        )
    return {how: Calibration(*numbers) for how, numbers in about.items()}


def _why(lines: Any) -> tuple[str, ...]:
    """Reasons for settings, if they are lines of text."""
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise ModelFileError("why must be a list of lines of text.")
    return tuple(lines)


def _is_figure(value: Any) -> bool:
    """Whether this is a number that every caller can print and compute with."""
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**63)


def layer_to_dict(layer: Layer) -> dict[str, Any]:
    """A layer's kind and settings, ready for JSON."""
    return {"kind": type(layer).__name__, **{f.name: getattr(layer, f.name) for f in fields(layer)}}


def layer_from_dict(about: Any) -> Layer:
    """The layer that `layer_to_dict` wrote."""
    if not isinstance(about, dict) or about.get("kind") not in KINDS:
        raise ModelFileError(f"unknown layer {about!r}.")
    settings = {name: value for name, value in about.items() if name != "kind"}
    try:
        return KINDS[about["kind"]](**settings)
    except (TypeError, TimesurfError) as error:
        raise ModelFileError(f"layer {about!r}: {error}") from error


def rule_from_dict(about: Any) -> Rule:
    """The rule that `Rule.to_dict` wrote."""
    try:
        settings: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in about.items()}
        return Rule(**settings)
    except (TypeError, AttributeError, TimesurfError) as error:
        raise ModelFileError(f"rule {about!r}: {error}") from error
