"""Exported C on this machine: compile it, push events through it, read back what it did."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from timesurf.errors import MissingEngineError, TimesurfError
from timesurf.events import Recordings
from timesurf.export.ctext import filled
from timesurf.export.evidence import BITS
from timesurf.export.model import Model

Array = NDArray[Any]
PUSH, RESET, DECISION, LABELLED, ADAPTING, SAVE, RESTORE, DAMAGE = range(8)  # as in templates/host.c
_COLUMNS = 7  # of a command: what to do, label, x, y, z, p, t


class Ran(NamedTuple):
    """What the C did with each command."""

    code: Array  # (commands,) what came back
    passed: Array  # (commands,) layers that let the event pass
    fired: Array  # (commands, layers) closest unit
    seconds: float  # of processor time
    ram: int  # bytes of the struct
    learned: bytes  # what a network that learns ended with
    evidence: Array  # (classes,) that it ended with, if that decides


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled export."""

    path: Path
    layers: int
    weighs: int = 0  # classes, if evidence decides

    def run(self, commands: Array, timeout: float | None = None) -> Ran:
        """Run commands, made by `commands` or by hand."""
        found = subprocess.run(
            [self.path], input=np.ascontiguousarray(commands, np.int32).tobytes(), capture_output=True, timeout=timeout,
            check=False,
        )  # fmt: skip
        if found.returncode != 0:
            raise TimesurfError(f"The exported C stopped with code {found.returncode}: {found.stderr.decode()[-2000:]}")
        seconds, ram = found.stderr.split()[:2]
        width = (2 + self.layers) * len(commands)
        rows = np.frombuffer(found.stdout, np.int32, width).reshape(len(commands), -1)
        ended = len(found.stdout) - 8 * self.weighs
        evidence = np.frombuffer(found.stdout[ended:], np.int64) * (np.log(2) / 2**BITS)
        return Ran(
            rows[:, 0], rows[:, 1], rows[:, 2:], float(seconds), int(ram), found.stdout[4 * width : ended], evidence
        )


def compiler() -> str:
    """The system's C compiler: $CC, or the first of cc, gcc, clang."""
    for name in (os.environ.get("CC"), "cc", "gcc", "clang"):
        if name and (found := shutil.which(name)):
            return found
    raise MissingEngineError("No C compiler was found to check the export with: install gcc or clang, or set CC.")


def build(model: Model, folder: Path, options: Sequence[str] = ("-O3",), cc: str | None = None) -> Program:
    """Compile NAME.c in a folder, with a program around it that runs commands.

    Parameters
    ----------
    model : Model
        That was written there.
    folder : Path
        Where the files are, and the program will be.
    options : sequence of str
        Of the compiler, beside -std=c99.
    cc : str, optional
        The compiler; default: the system's.

    Returns
    -------
    Program
        To run.
    """
    host = folder / f"{model.name}_host.c"
    event = "".join(f"c[{2 + i}], " for i in range(len(model.coordinates))) + "c[5], (uint32_t)c[6]"
    names = {"name": model.name, "NAME": model.name.upper(), "event": event}
    learning, saved, ending = "", "", ""
    if model.learning:
        learning = filled("host_learning.c", **names)
        saved = f"static uint8_t saved[{names['NAME']}_LEARNED_BYTES];\n"
        ending = f"    {model.name}_save(&net, saved);\n    fwrite(saved, 1, sizeof saved, stdout);\n"
    if model.temperature:
        ending += "    fwrite(net.evidence, 1, sizeof net.evidence, stdout);\n"
    host.write_text(filled("host.c", **names, learning=learning, saved=saved, ending=ending), encoding="ascii")
    program = folder / (f"{model.name}_host" + (".exe" if os.name == "nt" else ""))
    sources = [folder / f"{model.name}.c", host]
    command = [cc or compiler(), "-std=c99", *options, "-o", str(program), *map(str, sources)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode != 0:
        raise TimesurfError(f"{command[0]} does not compile the export: {found.stderr[-2000:]}")
    return Program(program, len(model.plans), len(model.classes) if model.temperature else 0)


def commands(recordings: Recordings, label: Array | None = None, kind: int = PUSH) -> tuple[Array, Array]:
    """Commands that push all recordings, and where the decision on each stands among them."""
    counts, offsets = recordings.counts, recordings.offsets
    total = int(offsets[-1])
    # of each recording: a reset, its events, a decision
    begin = np.asarray(offsets[:-1]) + 2 * np.arange(len(recordings))
    table = np.zeros((total + 2 * len(recordings), _COLUMNS), np.int64)
    at = np.arange(total) + np.repeat(2 * np.arange(len(recordings)) + 1, counts)
    table[begin, 0] = RESET
    table[at, 0] = kind
    if label is not None:
        table[at, 1] = np.repeat(label, counts)
    for d, x in enumerate(recordings.coords):
        table[at, 2 + d] = x
    table[at, 5] = recordings.p
    table[at, 6] = np.asarray(recordings.t, np.int64) & 0xFFFFFFFF
    decisions = begin + counts + 1
    table[decisions, 0] = DECISION
    return table.astype(np.uint32).view(np.int32), decisions
