"""Model files: safetensors for the arrays, JSON in its header for the rest. No pickle; everything in a file is checked.

Tensors are `layer1.centroids`, `layer1.thresholds`, `layer1.frozen`, `layer2.centroids`, ... The header's `timesurf`
entry gives the format version, the network, the rule, the classes, the seed, the preparation of its recordings, the
training history, the calibration of its probabilities, why its settings were chosen, and a checksum of all that, so
that a damaged file is detected.
"""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.engines import Parameters, Units
from timesurf.errors import ModelFileError
from timesurf.layers import Stage, stack
from timesurf.modelfile.description import (
    DTYPES,
    Described,
    arguments,
    attributes,
    class_names,
    describe,
    layer_from_dict,
    layer_to_dict,
    rule_from_dict,
    seed_number,
)
from timesurf.storage.atomic import replacing
from timesurf.storage.kinds import check_input

__all__ = [
    "DTYPES", "VERSION", "Described", "checked", "checksum", "class_names", "describe", "is_model", "layer_from_dict",
    "layer_to_dict", "named", "parameters_from", "read", "rule_from_dict", "seed_number", "write",
]  # fmt: skip

Array = NDArray[Any]
VERSION = 2
_ARRAYS = tuple(f.name for f in fields(Units))
_LARGEST_HEADER = 100_000_000  # bytes, as in safetensors; a header is a few kilobytes, a history 100 bytes per pass


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
        given = arguments(about)
        stages = stack(given["layers"], given["field"], given["polarities"], len(given["classes"]))
        given["rule"].per_layer(len(stages))
        given["preparation"].check(stages[0].field, stages[0].polarities)
        kept = attributes(about)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(f"{path} describes no network: {error}") from error
    return given, kept, parameters_from(tensors, stages, path)


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

    # safetensors writes the memory of an array as it is, also where an array is a view that skips some of it
    tensors = {name: np.ascontiguousarray(array) for name, array in (named(parameters) | (more or {})).items()}
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
            tensors[f"{prefix}layer{k}.{name}"] = array
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
            (size,) = struct.unpack("<Q", file.read(8).ljust(8, b"\0"))
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
