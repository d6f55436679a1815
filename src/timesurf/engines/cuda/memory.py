"""Arrays on the card, by the names that Args gives them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cupy as cp
import numpy as np

from timesurf.engines.data import Array


class Memory:
    """Work space on the card. An array grows as it must and otherwise stays where it is, so that graphs stay valid.

    Parameters
    ----------
    stream : cupy.cuda.Stream
        What copies are ordered by.
    """

    def __init__(self, stream: Any) -> None:
        self._arrays: dict[str, Any] = {}
        self._stream = stream
        self._pinned = np.empty(0, np.uint8)  # on the host

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def __getitem__(self, name: str) -> Any:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def put(self, name: str, values: Array) -> None:
        """Send values from the host."""
        self.space(name, values.size, values.dtype)
        self._arrays[name][: values.size].set(np.ascontiguousarray(values).reshape(-1), stream=self._stream)

    def fetched(self, values: Any) -> Array:
        """Values of a contiguous array of the card, on the host, until the next ones are fetched."""
        if values.nbytes > len(self._pinned):
            self._pinned = np.frombuffer(cp.cuda.alloc_pinned_memory(values.nbytes), np.uint8, values.nbytes)
        found: Array = self._pinned[: values.nbytes].view(values.dtype).reshape(values.shape)
        values.get(stream=self._stream, out=found)
        self._stream.synchronize()
        return found

    def zeros(self, name: str, size: int, dtype: Any) -> None:
        """Set the first values to 0."""
        self.space(name, size, dtype)
        self._arrays[name][:size].fill(0)

    def space(self, name: str, size: int, dtype: Any = np.float32) -> None:
        """Make room for so many values, whatever they are."""
        if name not in self._arrays or len(self._arrays[name]) < size:
            self._arrays.pop(name, None)
            self._arrays[name] = cp.empty(max(size, 1), dtype)

    def clocks(self, slots: int, words: int) -> None:
        """Maps whose clock goes on from recording to recording, so that they are cleared only here."""
        if slots > len(self._arrays.get("base", ())):
            self._arrays["map"] = cp.full(slots * words, -1, np.int32)
            self._arrays["base"] = cp.zeros(slots, np.int32)

    def free(self) -> int:
        """Bytes of the card that work space may take: what is free, and what this one has."""
        own = sum(array.nbytes for array in self._arrays.values())
        return int(cp.cuda.Device().mem_info[0] + cp.get_default_memory_pool().free_bytes() + own)
