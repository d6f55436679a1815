"""Hold exported C to its network: the same recordings through both, and how far they agree."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timesurf import metrics
from timesurf.engines import Outcome
from timesurf.events import Recordings
from timesurf.export import cost, write
from timesurf.export.compiled import PUSH, build, commands, compiler
from timesurf.export.model import Model
from timesurf.inference import parts
from timesurf.network import Network

Array = NDArray[Any]
_EVENTS_AT_ONCE = 1 << 18
FIGURES = ("recording_accuracy", "event_accuracy", "kept")  # that C and network share
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
        that the same layers let pass), "decides" (by votes or evidence, both in the same way), "decisions" (recordings
        with the same decision), "kept" and, where there are labels, "recording_accuracy" and "event_accuracy" of the
        C, computed as `Network.evaluate` does, the network's own under the same names after ``network_``,
        "events_per_second" (one core of this machine), "ram" and "constants" (bytes), "code" (bytes of instructions on
        a Cortex-M4; None where arm-none-eabi-gcc is missing).
    """
    layers = len(model.plans)
    same, both = np.zeros(layers), np.zeros(layers)
    agreed = seconds = 0.0
    ours, theirs, decisions = [], [], []
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
            seconds += ran.seconds
            ours.append(_outcome(network, some, passed, ran.code[pushed]))
            theirs.append(network.infer(some))
            decisions.append(ran.code[decided])
            progress(min(part.stop, len(recordings)), len(recordings))
        code = code_size(model, folder)
    events = max(int(recordings.counts.sum()), 1)
    mine, right = Outcome.joined(ours), Outcome.joined(theirs)
    found, expected = np.concatenate(decisions), network.decide(right).classes
    result = {
        "recordings": len(recordings), "events": int(recordings.counts.sum()), "decides": model.decides,
        "winners": (same / np.maximum(both, 1)).tolist(), "passed": float(agreed / events),
        "decisions": float((found == expected).mean()), "events_per_second": events / max(seconds, 1e-9),
        "ram": cost.ram(model), "constants": cost.constants(model), "code": code, "compiler": Path(compiler()).name,
    }  # fmt: skip
    label = None if recordings.labels is None else network.class_numbers(recordings)
    for prefix, outcome in (("", mine), ("network_", right)):
        figures = metrics.summary(outcome, label)
        if "recording_accuracy" in figures and outcome is mine and label is not None:
            figures["recording_accuracy"] = float((found == label)[label >= 0].mean())  # by its own decisions
        result |= {f"{prefix}{name}": figures[name] for name in FIGURES if name in figures}
    return result


def _outcome(network: Network, recordings: Recordings, passed: Array, voted: Array) -> Outcome:
    """What the C let pass and voted for, counted as engines do."""
    outcome = Outcome.blank(network.stages, recordings.counts)
    of = np.repeat(np.arange(len(recordings)), recordings.counts)
    for k in range(len(network.stages)):
        outcome.kept[:, k] = np.bincount(of[passed > k], minlength=len(recordings))
    np.add.at(outcome.votes, (of[voted >= 0], voted[voted >= 0]), 1)
    return outcome


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
