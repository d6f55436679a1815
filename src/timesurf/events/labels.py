"""Labels: one per recording, integers or text, with one value that stands for an unknown label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import EventError

Array = NDArray[Any]
_REFUSED = {
    "f": "floating-point numbers", "c": "complex numbers", "S": "bytes", "M": "dates", "m": "durations",
    "V": "records", "O": "objects of other kinds",
}  # fmt: skip
_WANTED = "use integers or text, and None where a label is unknown."


def as_labels(labels: Any, recordings: int) -> Array | None:
    """Labels as one array of integers or text: a copy, because a file that they came from may change.

    None among them becomes -1 among integers and "" among text. Booleans become the integers 0 and 1.

    Parameters
    ----------
    labels : sequence or None
        One label per recording.
    recordings : int
        How many recordings there are.

    Returns
    -------
    array or None
        None where no recording has a label.

    Raises
    ------
    EventError
        If their number is wrong, or they are not all integers or all text.

    Examples
    --------
    >>> as_labels(["cup", None], 2)
    array(['cup', ''], dtype='<U3')
    >>> as_labels([1, "cup"], 2)
    Traceback (most recent call last):
    timesurf.errors.EventError: labels are of several kinds (int and str): use integers or text, and None where ...

    """
    if labels is None:
        return None
    if not isinstance(labels, np.ndarray):
        labels = _objects(labels)  # as they are: NumPy would turn 1 and "a" into "1" and "a"
    if labels.shape != (recordings,):
        plural = "s" * (recordings != 1)
        raise EventError(f"{labels.shape} labels for {recordings} recording{plural}: one per recording is needed.")
    if labels.dtype.kind != "O":
        return _checked(np.array(labels))
    unknown = np.array([label is None for label in labels], dtype=np.bool_)
    if unknown.all():
        return None
    known = _checked(_of_one_kind(labels[~unknown].tolist()))
    if not unknown.any():
        return known
    if known.dtype.kind == "u":  # no room for -1
        if known.max() > np.iinfo(np.int64).max:
            raise EventError(f"label {known.max()} does not fit in 64 bits beside unknown labels, which become -1.")
        known = known.astype(np.int64)
    array = np.full(len(labels), unlabelled(known), known.dtype)
    array[~unknown] = known
    return array


def unlabelled(labels: Array) -> Any:
    """What stands for an unknown label among these."""
    return "" if labels.dtype.kind == "U" else -1


def _objects(labels: Any) -> Array:
    """A list of labels as an array of Python objects, each as it is; what is not a list as NumPy takes it."""
    try:
        array = np.asarray(labels)
    except ValueError:
        raise EventError(f"labels are not one flat sequence: {_WANTED}") from None
    if isinstance(labels, list | tuple) and array.ndim == 1:
        array = np.empty(len(labels), dtype=object)
        array[:] = labels
    return array


def _of_one_kind(labels: list[Any]) -> Array:
    """An array of labels that are all numbers or all text."""
    if len({_kind(label) for label in labels}) > 1:
        names = sorted({type(label).__name__ for label in labels})
        raise EventError(f"labels are of several kinds ({' and '.join(names)}): {_WANTED}")
    try:
        return np.array(labels)
    except ValueError:
        raise EventError(f"labels are not one flat sequence: {_WANTED}") from None


def _kind(label: Any) -> type:
    """Integers and booleans of all types are of one kind, and so are texts."""
    if isinstance(label, int | np.integer | np.bool_):
        return int
    return str if isinstance(label, str) else type(label)


def _checked(labels: Array) -> Array:
    kind = labels.dtype.kind
    if kind == "b":
        return labels.astype(np.int64)
    if kind not in "iuU" or labels.ndim != 1:
        raise EventError(f"labels are {_REFUSED.get(kind, 'not flat')}: {_WANTED}")
    return labels
