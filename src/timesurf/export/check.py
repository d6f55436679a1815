"""Hold exported C to its network: the same recordings through both, and how far they agree."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from timesurf import metrics
from timesurf.events import Recordings
from timesurf.export import cost, write
from timesurf.export.compiled import PUSH, build, commands, compiler
from timesurf.export.model import Model
from timesurf.inference import parts
from timesurf.network import Network

_EVENTS_AT_ONCE = 1 << 18
CROSS = ("arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard")


def compare(
    model: Model,
    network: Network,
    recordings: Recordings,
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, Any]:
    """Compile the C, run recordings through it and through the network.

    Parameters
    ----------
    model : Model
        The export.
    network : Network
        What was exported.
    recordings : Recordings
        Of the network's field; labels, where there are some, give accuracies.
    progress : callable
        Called with the number of recordings done, and of all.

    Returns
    -------
    dict
        "winners" (one share per layer: events that reached the layer in both, with the same unit), "passed" (events
        that the same layers let pass), "decisions" (recordings with the same decision), "recording_accuracy" and
        "network_recording_accuracy" where there are labels, "kept", "network_kept", "events_per_second" (one core of
        this machine), "ram" and "constants" (bytes), "code" (bytes of instructions on a Cortex-M4; None where
        arm-none-eabi-gcc is missing).
    """
    layers = len(model.plans)
    same, both = np.zeros(layers), np.zeros(layers)
    agreed = seconds = output = 0.0
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write(model, folder)
        program = build(model, folder)
        for part in parts(recordings, None, _EVENTS_AT_ONCE):
            some = recordings[part]
            table, decided = commands(some)
            ran = program.run(table)
            trace = network.trace(some)
            pushed = np.flatnonzero(table[:, 0] == PUSH)
            passed, fired = ran.passed[pushed], ran.fired[pushed]
            reached = (np.minimum(passed, trace.passed)[:, None] >= np.arange(layers)) & (trace.winner >= 0)
            same += (reached & (fired == trace.winner)).sum(axis=0)
            both += reached.sum(axis=0)
            agreed += (passed == trace.passed).sum()
            output += (passed == layers).sum()
            seconds += ran.seconds
            ours.append(ran.code[decided])
            theirs.append(network.infer(some))
            progress(min(part.stop, len(recordings)), len(recordings))
        code = code_size(model, folder)
    events = max(int(recordings.counts.sum()), 1)
    expected = metrics.decide(np.concatenate([outcome.votes for outcome in theirs])).classes
    found = np.concatenate(ours)
    kept = sum(int(outcome.kept[:, -1].sum()) for outcome in theirs)
    result = {
        "recordings": len(recordings), "events": int(recordings.counts.sum()),
        "winners": (same / np.maximum(both, 1)).tolist(), "passed": agreed / events,
        "decisions": float((found == expected).mean()), "kept": output / events, "network_kept": kept / events,
        "events_per_second": events / max(seconds, 1e-9), "ram": cost.ram(model), "constants": cost.constants(model),
        "code": code, "compiler": Path(compiler()).name,
    }  # fmt: skip
    label = None if recordings.labels is None else network.class_numbers(recordings)
    if label is not None and (label >= 0).any():
        known = label >= 0
        result["recording_accuracy"] = float((found == label)[known].mean())
        result["network_recording_accuracy"] = float((expected == label)[known].mean())
    return result


def code_size(model: Model, folder: Path) -> int | None:
    """Bytes of instructions on a Cortex-M4, if its compiler is here."""
    size = shutil.which("arm-none-eabi-size")
    if shutil.which(CROSS[0]) is None or size is None:
        return None
    made = folder / f"{model.name}.o"
    subprocess.run(
        [*CROSS, "-std=c99", "-O2", "-c", "-o", made, folder / f"{model.name}.c"], check=True, capture_output=True
    )
    sections = subprocess.run([size, "-A", made], check=True, capture_output=True, text=True).stdout.splitlines()
    return sum(int(line.split()[1]) for line in sections if line.startswith(".text"))
