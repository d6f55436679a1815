"""Fuzz one target in this process; `run.py` starts and watches it.

Several targets, with commas between them, run one after another, each in a copy of this process and in a folder of its
own name: what they import is imported once.

With atheris, inputs are chosen by the code that they reach. Without it, by the readers' error messages: an input that
gives a new message is kept, and changed further.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

CORPUS = Path(__file__).parent / "corpus"
LARGEST = 1 << 16  # bytes of an input
_KEPT = 2000  # inputs with a new result
_INSTRUMENTED = [
    "timesurf.io", "timesurf.datasets.nmnist", "timesurf.datasets.mnist", "timesurf.datasets.poker",
    "timesurf.datasets.sources", "timesurf.events", "timesurf.layers", "timesurf.modelfile", "timesurf.rule",
    "timesurf.times", "timesurf.live", "timesurf.transforms", "timesurf.cli.app", "zipfile", "tomllib",
]  # fmt: skip


def main() -> None:
    """Read the arguments and fuzz."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plain", action="store_true")
    given = parser.parse_args()
    atheris: Any = None
    if not given.plain:
        import atheris
    with atheris.instrument_imports(include=_INSTRUMENTED, exclude=_kernels()) if atheris else nullcontext():
        import timesurf.cli  # noqa: F401  imported here, to be instrumented as well
        from targets import TARGETS
        from trial import Trial

    def fuzz(name: str, folder: Path) -> None:
        seeds = [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]
        trial = Trial(TARGETS[name], folder, runs=given.runs, seconds=given.seconds)
        trial.warm(seeds)
        if atheris:
            _guided(atheris, trial, name, seeds, given.seed)
        else:
            _unguided(trial, TARGETS[name].mutate, seeds, Random(given.seed))
            trial.note()

    names, ended = given.target.split(","), 0
    if len(names) == 1:
        fuzz(given.target, given.folder)
        return
    for name in names:
        if child := os.fork():
            ended |= os.waitpid(child, 0)[1]
            continue
        (given.folder / name).mkdir()
        fuzz(name, given.folder / name)
        return
    sys.exit(bool(ended))


def _kernels() -> list[str]:
    """Modules that numba compiles, which must stay as they are; atheris wants the full name of each."""
    (source,) = find_spec("timesurf").submodule_search_locations  # type: ignore[union-attr, misc]
    cpu = (f"timesurf.engines.cpu.{path.stem}" for path in Path(source, "engines", "cpu").glob("*.py"))
    return [*cpu, "timesurf.io.evt3", "timesurf.io.lines", "timesurf.transforms.filters"]


def _unguided(trial: Any, mutate: Callable[[bytes, Random], bytes], seeds: list[bytes], rng: Random) -> None:
    good, pool, known = list(seeds), list(seeds), set()
    while not trial.over:
        data = rng.choice(good if rng.random() < 0.6 else pool)
        for _ in range(rng.choice((1, 1, 2, 4))):
            data = mutate(data, rng)[:LARGEST]
        outcome = trial(data)
        if outcome == "good":
            if len(good) < _KEPT:
                good.append(data)
            else:
                good[rng.randrange(len(seeds), _KEPT)] = data
        elif outcome not in known and len(pool) < _KEPT:
            known.add(outcome)
            pool.append(data)


def _guided(atheris: Any, trial: Any, name: str, seeds: list[bytes], seed: int) -> None:
    def change(data: bytes, largest: int, seed: int) -> bytes:
        rng = Random(seed)
        if rng.random() < 0.2:
            return atheris.Mutate(data, largest)
        if rng.random() < 0.4:
            data = rng.choice(seeds)  # refused inputs reach more code than good ones, and would soon be the only ones
        for _ in range(rng.choice((1, 1, 2, 4))):
            data = trial.target.mutate(data, rng)
        return data[:largest]

    def one(data: bytes) -> None:
        if trial.over:
            trial.note()
            sys.stdout.flush()
            os._exit(0)  # libFuzzer never returns
        trial(data)

    kept = trial.folder / "corpus"
    kept.mkdir(exist_ok=True)
    arguments = [
        "fuzz", str(kept), str(CORPUS / name), f"-seed={seed + 1}", f"-max_len={LARGEST}",
        "-len_control=0", "-rss_limit_mb=0", "-timeout=600", "-verbosity=0", "-handle_segv=0", "-handle_abrt=0",
    ]  # fmt: skip
    atheris.Setup(arguments, one, custom_mutator=change)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
