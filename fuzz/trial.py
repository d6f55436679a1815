"""Runs a target on one input after another, and records results, time and memory."""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import resource
import sys
import time
import traceback
import tracemalloc
from pathlib import Path

from targets import REFUSED, Target

FACTOR = 10  # a reader may allocate this many times the file, plus the target's `spare`
TRACED = 16  # every n-th input is read under tracemalloc, which sees all allocations of Python and NumPy
ROOM = 512 << 20  # bytes of address space beyond those at the start: the system refuses more
MOST_KEPT = 20  # findings whose inputs are stored


class Trial:
    """Runs a target on inputs, and stores the figures in a folder on the way, in case an input ends the process.

    The target's file holds the present input, `count` (8 bytes) the number of inputs, `figures.json` the rest.
    """

    def __init__(self, target: Target, folder: Path, *, runs: int | None, seconds: float | None) -> None:
        self.target, self.folder, self.runs = target, folder, runs
        self.path = folder / target.file
        self.count, self.refused = 0, 0
        self.slowest, self.memory = 0.0, 0
        self.findings: dict[str, str] = {}  # by what went wrong, in one line: the file of the input
        self._kinds: set[str] = set()
        (folder / "count").write_bytes(bytes(8))
        with (folder / "count").open("r+b") as file:
            self._counter = mmap.mmap(file.fileno(), 8)
        (folder / "found").mkdir(exist_ok=True)
        self.until = None if seconds is None else time.monotonic() + seconds
        self._next_note = 0.0

    def warm(self, seeds: list[bytes]) -> None:
        """Read the seeds once, so that imports and caches on first use are not counted; then limit memory."""
        for data in seeds:
            self.path.write_bytes(data)
            self.target.read(self.path)  # a seed is a good file
        self.note()  # from here on, a process that ends is a finding
        pages = int(Path("/proc/self/statm").read_text("utf-8").split()[0]) if Path("/proc/self/statm").exists() else 0
        if pages:
            limit = pages * resource.getpagesize() + ROOM
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    def __call__(self, data: bytes) -> str:
        """Try one input; returns the result in one line without numbers."""
        with open(self.path, "wb", buffering=0) as file:
            file.write(data)
        traced = self.count % TRACED == 0
        if traced:
            tracemalloc.start()
        began = time.perf_counter()
        try:
            outcome = self._read()
        except Exception as error:  # recorded as a finding, also MemoryError, RecursionError and AssertionError
            outcome = self._found(error, data)
        took = time.perf_counter() - began
        if traced:
            self._weigh(tracemalloc.get_traced_memory()[1], data)
            tracemalloc.stop()
        elif took > self.slowest:
            self.slowest = took
        self.count += 1
        self._counter[:] = self.count.to_bytes(8, "little")
        now = time.monotonic()
        if now > self._next_note:
            self.note()
            self._next_note = now + 1
        return outcome

    @property
    def over(self) -> bool:
        """Whether all inputs, or the time, are used up."""
        return (self.runs is not None and self.count >= self.runs) or (
            self.until is not None and time.monotonic() >= self.until
        )

    def _read(self) -> str:
        try:
            self.target.read(self.path)
        except REFUSED as error:
            self.refused += 1
            return "".join(c for c in f"{type(error).__name__} {error}"[:160] if c.isalpha() or c == " ")
        return "good"

    def _weigh(self, peak: int, data: bytes) -> None:
        self.memory = max(self.memory, peak - len(data))
        if peak > FACTOR * len(data) + self.target.spare:
            self._found(
                MemoryError(f"over {FACTOR} times the file and {self.target.spare >> 20} MiB were allocated"), data
            )

    def _found(self, error: Exception, data: bytes) -> str:
        frames = traceback.extract_tb(error.__traceback__)
        ours = [f for f in frames if "timesurf" in f.filename or "targets.py" in f.filename]
        where = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "?"
        what = f"{type(error).__name__} at {where}: {str(error)[:100]}"
        kind = "".join(c for c in what if not c.isdigit())[:80]
        if kind not in self._kinds and len(self.findings) < MOST_KEPT:
            self._kinds.add(kind)
            self.findings[what] = self._keep(data, f"found/{hashlib.sha256(data).hexdigest()[:12]}")
            print(f"  finding: {what}", file=sys.stderr, flush=True)
            self.note()
        return kind

    def _keep(self, data: bytes, name: str) -> str:
        (self.folder / name).write_bytes(data)
        return name

    def note(self) -> None:
        """Store the figures so far."""
        figures = {
            "refused": self.refused, "slowest_s": self.slowest, "memory_beyond_file": self.memory,
            "findings": self.findings,
        }  # fmt: skip
        draft = self.folder / "figures.part"
        draft.write_text(json.dumps(figures), "utf-8")
        os.replace(draft, self.folder / "figures.json")
