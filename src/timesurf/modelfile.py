"""Model files: safetensors for the arrays, JSON in its header for the rest. No pickle; everything in a file is checked.

Tensors are `layer1.centroids`, `layer1.thresholds`, `layer1.frozen`, `layer2.centroids`, ... The header's `timesurf`
entry gives the format version, the network, the rule, the classes, the seed, the training history, and a checksum of
all that, so that a damaged file is detected.
"""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import fields
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from timesurf.engines import Parameters, Units
from timesurf.errors import ModelFileError, TimesurfError
from timesurf.layers import Full, Layer, Stage, Tile, Window
from timesurf.rule import Rule
from timesurf.storage.atomic import replacing

Array = NDArray[Any]
VERSION = 2
_ARRAYS = tuple(f.name for f in fields(Units))
KINDS: dict[str, type[Layer]] = {kind.__name__: kind for kind in (Window, Tile, Full)}
_LARGEST_HEADER = 16 << 20  # bytes; a header is a few kilobytes, a history of many passes some hundred
_LARGEST_NAMES = 1 << 20  # letters of all class names, if all were as long as the longest


class Described(Protocol):
    """What a model file says of a network."""

    parameters: Parameters
    history: list[dict[str, Any]]

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
        "history": network.history,
    }


def settings(about: dict[str, Any]) -> dict[str, Any]:
    """Arguments of `Network` from what `describe` gave, checked."""
    _check(about)
    return {
        "layers": [layer_from_dict(layer) for layer in about["layers"]],
        "rule": rule_from_dict(about["rule"]),
        **{name: about[name] for name in ("field", "polarities", "classes", "dtype", "seed")},
    }


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
    """
    from safetensors.numpy import save

    tensors = named(parameters) | (more or {})
    about = {"format": VERSION, **about}
    header = {"timesurf": json.dumps(about | {"checksum": checksum(about, tensors)})}
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


def _check(about: dict[str, Any]) -> None:
    """Refuse a header with a seed, a history or classes that no network has."""
    seed, history, classes = about["seed"], about["history"], about["classes"]
    if seed is not None and (type(seed) is not int or seed < 0):
        raise ModelFileError(f"seed = {seed!r} must be a whole number, 0 or more.")
    if not isinstance(history, list) or not all(isinstance(line, dict) for line in history):
        raise ModelFileError("history must be a list with one entry per pass.")
    if not isinstance(classes, list) or not all(isinstance(name, str | int | float) for name in classes):
        raise ModelFileError(f"classes = {classes!r} must be a list of numbers or text.")
    longest = max((len(name) for name in classes if isinstance(name, str)), default=0)
    if longest * len(classes) > _LARGEST_NAMES:  # NumPy stores each name with the length of the longest
        raise ModelFileError(f"{len(classes)} classes with names of up to {longest} letters are too long.")
    if not all(-(2**63) <= name < 2**63 for name in classes if isinstance(name, int)):
        raise ModelFileError("classes are numbers of more than 64 bits.")


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
