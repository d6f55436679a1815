"""Search for settings: as many recordings right as can be, by as few events as can be. Optuna is the extra `search`.

| file          | what it does                                                            |
|---------------|-------------------------------------------------------------------------|
| `space.py`    | what may change, and between which numbers                              |
| `trial.py`    | one network: trained, judged after every pass, given up if behind       |
| `workers.py`  | who runs trials: threads, or a Dask cluster                             |
| `study.py`    | which trials there are and which come next, in a database               |
| `findings.py` | what matters, what is best, how it does on fresh recordings             |
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import numpy as np

from timesurf import engines
from timesurf.datasets import sentences
from timesurf.errors import EventError, SettingError
from timesurf.events import Recordings
from timesurf.learning.trainer import hold_out
from timesurf.presets import Preset
from timesurf.results import machine
from timesurf.search import findings
from timesurf.search.space import Options, Range, Space, Value, narrowed
from timesurf.search.study import Study, Told, optuna
from timesurf.search.trial import Task
from timesurf.search.workers import Workers, workers

__all__ = ["Parts", "Range", "Space", "narrowed", "of_sentences", "parted", "run"]


@dataclass(frozen=True)
class Parts:
    """Recordings that trials learn from, that they are judged by, and that none of them sees."""

    train: Recordings
    held: Recordings
    test: Recordings

    def to_dict(self) -> dict[str, Any]:
        """How many, and which."""
        parts = {"train": self.train, "held": self.held, "test": self.test}
        return {name: {"recordings": len(some), "which": some.fingerprint()} for name, some in parts.items()}


def parted(recordings: Recordings, validation: float = 0.2, test: float = 0.2, seed: int = 0) -> Parts:
    """Recordings in three, each with its share of every class.

    >>> parts = parted(sentences.make(100, seed=0))
    >>> len(parts.train), len(parts.held), len(parts.test)
    (60, 20, 20)
    """
    labels = recordings.labels
    if labels is None or (labels.dtype.kind == "i" and (labels == -1).any()):
        raise EventError("A search needs the label of every recording.")
    if not 0 < validation + test < 1:
        raise SettingError(f"validation = {validation} and test = {test} leave nothing to learn from.")
    number, rng = np.unique(labels, return_inverse=True)[1], np.random.default_rng(seed)
    rest, tested = hold_out(number, test, rng)
    learnt, judged = hold_out(number[rest], validation / (1 - test), rng)
    return Parts(recordings[rest[learnt]], recordings[rest[judged]], recordings[tested])


def of_sentences(recordings: int = 1000, seed: int = 0) -> Parts:
    """The paper's sentences: so many to learn from, as many to test, a fifth to judge by; each made for itself."""
    numbers = recordings, max(recordings // 5, 2), recordings
    seeds = np.random.SeedSequence(seed).spawn(len(numbers))
    made = (sentences.make(n, np.random.default_rng(s)) for n, s in zip(numbers, seeds, strict=True))
    return Parts(*made)


def run(
    parts: Parts,
    preset: Preset,
    *,
    trials: int = 100,
    minutes: float | None = None,
    seed: int = 0,
    passes: int | None = None,
    only: Iterable[str] = (),
    fix: Mapping[str, Value] | Iterable[str] = (),
    vary: Mapping[str, Options] | None = None,
    storage: str | None = None,
    name: str = "timesurf",
    engine: str = "cpu",
    threads: int | None = None,
    jobs: int = 1,
    dask: str | None = None,
    grace: float = 60.0,
    networks: int = 5,
    best: int = 5,
    told: Told | None = None,
) -> dict[str, Any]:
    """Search around a preset, then train the best settings and the preset's own anew and test both on `parts.test`.

    trials : in all, pruned ones among them; a study that was begun is gone on with, until it has so many
    minutes : begin no trial after these
    seed : of the suggestions and of every network. With one job the same seed gives the same trials, interrupted or not
    passes : of each trial, in place of the preset's
    only, fix, vary : what may change; see `narrowed`
    storage, name : database of the study as a URL of SQLAlchemy's, and its name there; None: in memory, and lost
    engine, threads : what computes a trial, and on how many cores; None: all, divided among `jobs`; on Dask one
    jobs, dask : trials at a time; "local" or the address of a scheduler, to run them on Dask's workers
    grace : seconds without a sign of life after which a trial of another machine is made again
    networks, best : how many networks, of new seeds, judge each of the best so many settings beside the defaults, and
        how many more then test the one chosen
    told : called with every trial that ends here, how many there are, and whether it is on the front

    What comes back is ready for JSON. Ctrl-C ends the search, not the program: `stopped` is then true, and what would
    have followed the trials is missing.

    >>> from timesurf.presets import SENTENCES
    >>> found = run(of_sentences(20), SENTENCES, trials=3, passes=1, only=["tau1", "alpha"], networks=1)
    >>> found["trials"][0]["values"], len(found["trials"])
    ({'tau1': 2000.0, 'alpha': 0.0001}, 3)

    """
    optuna()
    if trials < 1 or jobs < 1 or networks < 1 or best < 0:
        raise SettingError("trials, jobs and networks must be at least 1.")
    began = time.perf_counter()
    if dask is None:
        engines.load(engine)  # says now what is missing
    about = machine.describe("cpu" if dask else engine) | {"optuna": version("optuna")}
    preset = preset if passes is None else replace(preset, passes=passes)
    if preset.passes < 1:
        raise SettingError("A trial needs at least one pass.")
    space = narrowed(preset, only=only, fix=fix, vary=vary)
    threads = threads or (max(about["cores"] // jobs, 1) if dask is None else 1)
    task = Task(parts.train, parts.held, engine, threads)
    data = parts.to_dict()
    problem = {"preset": space.preset.to_dict(), "space": space.to_dict(), "data": data, "seed": seed}
    study = Study(space, problem, task.chance, storage, name)
    ends: dict[str, Any] = {}
    try:
        with workers(task, jobs, dask) as crew:
            whole = study.run(
                crew,
                trials=trials,
                seed=seed,
                seconds=None if minutes is None else 60 * minutes,
                grace=grace,
                told=told,
            )
            if whole:
                ends["finalists"] = _finals(crew, study, best, seed + 1, networks)
        if whole:
            fresh = Task(parts.train, parts.test, engine, threads)
            with workers(fresh, jobs, dask) as crew:
                ends["test"] = _tested(crew, space, ends["finalists"], seed + 1 + networks, networks)
    except KeyboardInterrupt:
        whole = False
    rows = study.rows()
    settings = {
        "trials": trials,
        "name": name,
        "engine": engine,
        "threads": threads,
        "jobs": jobs,
        "networks": networks,
    }
    return {
        **ends,
        "front": study.front(),
        "importance": findings.importance(rows, space, seed),
        "defaults": space.defaults,
        "chance": task.chance,
        "interrupted": study.interrupted(),
        "trials": rows,
        "settings": settings | problem,
        "machine": about,
        "seconds": time.perf_counter() - began,
        "stopped": not whole,
    }


def _finals(crew: Workers, study: Study, best: int, seed: int, networks: int) -> list[dict[str, Any]]:
    """Figures of the defaults, first, and of the best trials, by networks of other seeds; and which is chosen."""
    values = findings.finalists(study.rows(), study.space, best)
    figures = findings.judged(crew, [study.space.settings(some) for some in values], range(seed, seed + networks))
    winner = findings.chosen(figures)
    return [
        {"values": some, **of, "chosen": n == winner} for n, (some, of) in enumerate(zip(values, figures, strict=True))
    ]


def _tested(crew: Workers, space: Space, finalists: list[dict[str, Any]], seed: int, networks: int) -> dict[str, Any]:
    """The chosen settings beside the defaults, on recordings and with seeds that had no part in choosing."""
    values = next(one["values"] for one in finalists if one["chosen"])
    winner = space.settings(values)
    defaults, chosen = findings.judged(crew, [space.preset, winner], range(seed, seed + networks))
    gains = findings.gains(chosen, defaults)
    return {
        "values": values, "settings": winner.to_dict(), "defaults": defaults, "chosen": chosen, "gains": gains,
        "verdict": findings.verdict(gains), "python": findings.snippet(winner),
    }  # fmt: skip
