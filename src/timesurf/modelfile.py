"""Model files: safetensors for the arrays, JSON in its header for the rest. No pickle; everything in a file is checked.

Tensors are `layer1.centroids`, `layer1.thresholds`, `layer1.frozen`, `layer2.centroids`, ... The header's `timesurf`
entry gives the format version, the network, the rule, the classes, the seed, the preparation of its recordings, the
training history, the calibration of its probabilities, why its settings were chosen, and a checksum of all that, so
that a damaged file is detected.
"""

from __future__ import annotations

import hashlib
import json
import math
import operator
import reprlib
import struct
from dataclasses import fields
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from timesurf.calibration import Calibration
from timesurf.engines import Parameters, Units
from timesurf.errors import ModelFileError, SettingError, TimesurfError
from timesurf.layers import Full, Layer, Stage, Tile, Window, stack
from timesurf.rule import Rule
from timesurf.storage.atomic import replacing
from timesurf.storage.kinds import check_input
from timesurf.transforms import preparation

Array = NDArray[Any]
VERSION = 2
DTYPES = ("float32", "float64")  # what a network computes in
_ARRAYS = tuple(f.name for f in fields(Units))
KINDS: dict[str, type[Layer]] = {kind.__name__: kind for kind in (Window, Tile, Full)}
_LARGEST_HEADER = 100_000_000  # bytes, as in safetensors; a header is a few kilobytes, a history 100 bytes per pass
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


def checked(
    about: dict[str, Any], tensors: dict[str, Array], path: str | Path
) -> tuple[dict[str, Any], dict[str, Any], Parameters]:
    """What a model file holds, if it is a network; used before writing one, and after reading one.

    Parameters
    ----------
    about, tensors
        As `read` gives them.
    path : str or Path
        The file, for error messages.

    Returns
    -------
    arguments : dict
        Of `Network`.
    kept : dict
        Attributes of the network: history, calibration, why.
    parameters : Parameters
        Centroids and thresholds.

    Raises
    ------
    ModelFileError
        If anything in it is not what a network has; the message says what.
    """
    try:
        arguments = _arguments(about)
        layers, field, polarities = (arguments[name] for name in ("layers", "field", "polarities"))
        stages = stack(layers, field, polarities, len(arguments["classes"]))
        arguments["rule"].per_layer(len(stages))
        arguments["preparation"].check(stages[0].field, stages[0].polarities)
        kept = {
            "history": _history(about["history"]),
            "calibration": _calibration(about.get("calibration", {})),
            "why": _why(about.get("why", [])),
        }
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"{path} describes no network: {error}") from error
    return arguments, kept, parameters_from(tensors, stages, path)


def _arguments(about: dict[str, Any]) -> dict[str, Any]:
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


def write(
    path: str | Path, about: dict[str, Any], parameters: Parameters, more: dict[str, Array] | None = None
) -> None:
    """Write a model, completely or not at all: to a temporary file beside `path`, then renamed over it.

    Parameters
    ----------
    path : str or Path
        The file.
    about : dict
        Its description, see `describe`.
    parameters : Parameters
        Centroids and thresholds.
    more : dict, optional
        Further tensors by name.

    Raises
    ------
    ModelFileError
        If `read` and `checked` would refuse the file; nothing is written then.
    """
    from safetensors.numpy import save

    tensors = named(parameters) | (more or {})
    about = {"format": VERSION, **about}
    try:
        header = {"timesurf": json.dumps(about | {"checksum": checksum(about, tensors)})}
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"{path} cannot be written: {error}.") from error
    checked(json.loads(header["timesurf"]), tensors, path)
    if len(header["timesurf"]) > _LARGEST_HEADER // 2:  # the rest is for escaped quotes and the list of tensors
        raise ModelFileError(f"{path} cannot be written: its history has too many passes ({len(about['history']):,}).")
    with replacing(path) as file:
        file.write(save(tensors, metadata=header))


def named(parameters: Parameters, prefix: str = "") -> dict[str, Array]:
    """Parameters as tensors by name."""
    tensors = {}
    for k, units in enumerate(parameters, start=1):
        for name, array in zip(_ARRAYS, units.arrays, strict=True):
            tensors[f"{prefix}layer{k}.{name}"] = np.ascontiguousarray(array)
    return tensors


def checksum(about: dict[str, Any], tensors: dict[str, Array]) -> str:
    """SHA-256 of everything in a model file except the checksum itself."""
    header = {name: value for name, value in about.items() if name != "checksum"}
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(tensors):
        digest.update(f"{name} {tensors[name].dtype} {tensors[name].shape};".encode())
        digest.update(np.ascontiguousarray(tensors[name]).tobytes())
    return digest.hexdigest()


def read(path: str | Path) -> tuple[dict[str, Any], dict[str, Array]]:
    """The header's entry and the tensors of a model file."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    check_input(path)
    try:
        with Path(path).open("rb") as file:
            (size,) = struct.unpack("<Q", file.read(8))
            if not 2 <= size <= min(_LARGEST_HEADER, Path(path).stat().st_size - 8):
                raise ValueError("its header does not fit in the file")
        content = Path(path).read_bytes()
        header = json.loads(content[8 : 8 + size])
        about = json.loads(header["__metadata__"]["timesurf"])
        tensors = load(content)
    except (struct.error, ValueError, KeyError, TypeError, RecursionError, SafetensorError) as error:
        raise ModelFileError(f"{path} is not a timesurf model, or is damaged ({error}).") from error
    if not isinstance(about, dict) or type(about.get("format")) is not int or about["format"] < 1:
        raise ModelFileError(f"{path} is not a timesurf model: its header names no format version.")
    if about["format"] < VERSION:
        raise ModelFileError(
            f"{path} has format {about['format']}: written by an earlier development version; train again."
        )
    if about["format"] > VERSION:
        raise ModelFileError(
            f"{path} has format {about['format']}; this timesurf reads up to {VERSION}. Install a newer timesurf."
        )
    try:
        whole = about.get("checksum") == checksum(about, tensors)
    except RecursionError:  # brackets nested so deeply that they can be read but not written again
        whole = False
    if not whole:
        raise ModelFileError(f"{path} is damaged: its checksum does not match. Use another copy of it.")
    return about, tensors


def is_model(path: str | Path) -> bool:
    """Whether a file begins as a model file does; `read` checks the rest."""
    path = Path(path)
    if not path.is_file():
        return False
    with path.open("rb") as file:
        begin = file.read(9)
    return len(begin) == 9 and begin[8:] == b"{" and struct.unpack("<Q", begin[:8])[0] <= _LARGEST_HEADER


def parameters_from(
    tensors: dict[str, Array], stages: tuple[Stage, ...], path: str | Path, prefix: str = ""
) -> Parameters:
    """The tensors as parameters of this network, or an error that says which one does not fit."""
    parameters = Parameters()
    for k, stage in enumerate(stages, start=1):
        arrays = []
        for name, shape in (("centroids", (stage.units, *stage.surface_shape)), ("thresholds", (stage.units,))):
            tensor = tensors.get(f"{prefix}layer{k}.{name}")
            if tensor is None or tensor.shape != shape or tensor.dtype not in (np.float32, np.float64):
                found = "missing" if tensor is None else f"{tensor.dtype} {tensor.shape}"
                raise ModelFileError(f"{path}: layer{k}.{name} is {found}; its network needs floats of shape {shape}.")
            if np.isnan(tensor).any() or (name == "centroids" and not np.isfinite(tensor).all()):
                raise ModelFileError(f"{path}: layer{k}.{name} contains values that are not numbers.")
            if name == "thresholds" and (tensor < 0).any():
                raise ModelFileError(f"{path}: layer{k}.thresholds contains negative values.")
            arrays.append(tensor.copy())  # the loader's arrays are read-only views of the file
        mask = tensors.get(f"{prefix}layer{k}.frozen")
        if mask is None or mask.shape != (stage.units,) or mask.dtype != np.bool_:
            raise ModelFileError(f"{path}: layer{k}.frozen must be booleans, one for each of {stage.units} units.")
        parameters.append(Units(arrays[0], arrays[1], mask.copy()))
    return parameters


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
