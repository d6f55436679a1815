"""Search for settings with a high recording accuracy and few events kept. Optuna is the extra `search`.

Trials learn from one part of the recordings and are judged by a second. The best settings are then trained again and
reported on a third part, held out: no trial has seen it, and nothing was chosen by it.

=============  ==================================================================
file           what it does
=============  ==================================================================
`space.py`     what may change, and over which values
`trial.py`     one network: trained, evaluated after every pass, pruned if behind
`workers.py`   what runs trials: threads, or a Dask cluster
`study.py`     which trials are done and which come next, in a database
`findings.py`  what matters, what is best, its figures on recordings held out
=============  ==================================================================
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

from timesurf import engines
from timesurf.datasets import sentences
from timesurf.errors import SettingError
from timesurf.events import Recordings
from timesurf.learning.split import Parts
from timesurf.presets import Preset
from timesurf.results import machine
from timesurf.search import findings
from timesurf.search.space import Options, Range, Space, Value, narrowed
from timesurf.search.study import Report, Study, optuna
from timesurf.search.trial import Task
from timesurf.search.workers import Workers, workers

__all__ = ["Parts", "Range", "Space", "narrowed", "of_sentences", "run"]
Crew = Callable[[], AbstractContextManager[Workers]]


def of_sentences(recordings: int = 1000, seed: int = 0) -> Parts:
    """The paper's sentences: so many to learn from, as many held out, a fifth to choose by; all independent."""
    numbers = recordings, max(recordings // 5, 2), recordings
    seeds = np.random.SeedSequence(seed).spawn(len(numbers))
    made = (sentences.make(n, np.random.default_rng(s)) for n, s in zip(numbers, seeds, strict=True))
    learn, validation, held_out = made
    return Parts(learn, validation, held_out)


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
    report: Report | None = None,
    progress: Callable[[int, int], None] = lambda done, networks: None,
) -> dict[str, Any]:
    """Search around a preset, train the best settings and the preset's own again, and report on recordings held out.

    Parameters
    ----------
    parts : Parts
        Recordings to learn from, to choose by, and to report on; all three are needed.
    preset : Preset
        The defaults, which are the first trial.
    trials : int
        In all, pruned ones among them; an existing study is continued until it has so many.
    minutes : float, optional
        For trials, finalists and report together, and for one more network that is trained with the settings found,
        as `timesurf search` does; as long as their trainings take what those before them took. Too
        short for all `networks`, fewer judge; too short for anything, the defaults are still tried.
    seed : int
        Of the suggestions and of every network. With one job the same seed gives the same trials, interrupted or not.
    passes : int, optional
        Of each trial, in place of the preset's.
    only, fix, vary
        What may change; see `narrowed`.
    storage, name : str, optional
        Database of the study as a URL of SQLAlchemy's, None keeps it in memory; and the study's name in it.
    engine, threads
        What computes a trial, and on how many cores; None: all, divided among `jobs`; one on Dask.
    jobs : int
        Trials at a time.
    dask : str, optional
        "local" or the address of a scheduler, to run trials on Dask's workers.
    grace : float
        Seconds without a heartbeat after which a trial of another machine is run again.
    networks : int
        Networks with new seeds that judge each finalist, and as many again that are reported on.
    best : int
        How many of the best trials are finalists, beside the defaults.
    report : callable, optional
        Called with every trial that ends here, how many are done, and whether it is on the front.
    progress : callable, optional
        Called after each network of the finalists and of the report, with how many are trained and how many there are.

    Returns
    -------
    dict
        Ready for JSON. After Ctrl-C `stopped` is true, and what would have followed the trials is missing.

    Examples
    --------
    >>> from timesurf.presets import SENTENCES
    >>> found = run(of_sentences(20), SENTENCES, trials=3, passes=1, only=["tau1", "alpha"], networks=1)
    >>> found["trials"][0]["values"], len(found["trials"])
    ({'tau1': 2000.0, 'alpha': 0.0001}, 3)
    """
    optuna()
    if trials < 1 or jobs < 1 or networks < 1 or best < 0:
        raise SettingError("trials, jobs and networks must be at least 1, best at least 0.")
    if dask is None:
        engines.load(engine)  # raises now if something is missing
    began, about = time.perf_counter(), machine.describe("cpu" if dask else engine) | {"optuna": version("optuna")}
    threads = threads or (max(about["cores"] // jobs, 1) if dask is None else 1)
    space = narrowed(_of_passes(preset, passes), only=only, fix=fix, vary=vary)
    problem = {"preset": space.preset.to_dict(), "space": space.to_dict(), "data": _described(parts), "seed": seed}
    tasks = [Task(parts.learn, judge, engine, threads) for judge in _judges(parts)]
    study = Study(space, problem, tasks[0].chance, storage, name)
    clock = Clock(study, jobs, None if minutes is None else 60 * minutes, best + 1)
    trying = partial(study.run, trials=trials, seed=seed, late=clock.late, grace=grace, report=report)
    choosing, reporting = (partial(workers, task, jobs, dask) for task in tasks)
    found = _searched(study, trying, choosing, reporting, best, seed + 1, partial(clock.fit, networks), progress)
    settings = {
        "trials": trials, "name": name, "engine": engine, "threads": threads, "jobs": jobs, "networks": networks,
    }  # fmt: skip
    found |= _summary(study, seed)
    return found | {"settings": settings | problem, "machine": about, "seconds": time.perf_counter() - began}


class Clock:
    """How much of the time for a search is left, if what is to come takes as long as what was."""

    def __init__(self, study: Study, jobs: int, seconds: float | None, finalists: int) -> None:
        self._study, self._jobs, self._seconds = study, jobs, seconds
        self._finalists, self._began = finalists, time.monotonic()

    def late(self) -> bool:
        """Whether another trial, finalists, report and the last network would be late, with one network each."""
        return self._seconds is not None and self._left() < self._training() * (2 + (self._finalists + 2) / self._jobs)

    def fit(self, networks: int) -> int:
        """How many networks can judge each finalist and report on the best: at least one, at most so many."""
        if self._seconds is None:
            return networks
        each = self._training() * (self._finalists + 2) / self._jobs
        return min(max(int((self._left() - self._training()) / max(each, 1e-9)), 1), networks)

    def _left(self) -> float:
        return (self._seconds or 0.0) - (time.monotonic() - self._began)

    def _training(self) -> float:
        """Seconds that a whole trial took on average; 0 before the first."""
        took = [row["seconds"] for row in self._study.rows() if row["ended"] == "whole"]
        return float(np.mean(took)) if took else 0.0


def _of_passes(preset: Preset, passes: int | None) -> Preset:
    """The preset with so many passes; its own number if None."""
    preset = preset if passes is None else replace(preset, passes=passes)
    if preset.passes < 1:
        raise SettingError("A trial needs at least one pass.")
    return preset


def _judges(parts: Parts) -> tuple[Recordings, Recordings]:
    """The recordings to choose by and those to report on, or an error."""
    if parts.validation is None or parts.held_out is None:
        raise SettingError("A search needs recordings to choose by and others to report on: at least 3 of one class.")
    return parts.validation, parts.held_out


def _described(parts: Parts) -> dict[str, Any]:
    """Which recordings each part has: a study is continued only with the same."""
    validation, held_out = _judges(parts)
    named = {"learn": parts.learn, "validation": validation, "held_out": held_out}
    return {name: {"recordings": len(some), "which": some.fingerprint()} for name, some in named.items()}


def _searched(
    study: Study,
    trying: Callable[[Workers], bool],
    choosing: Crew,
    reporting: Crew,
    best: int,
    seed: int,
    fit: Callable[[], int],
    progress: Callable[[int, int], None],
) -> dict[str, Any]:
    """Run the trials, then the finalists, then the report; after Ctrl-C, as far as it came.

    The networks of the finalists have seeds from `seed` on, those of the report the seeds that follow.
    """
    ends: dict[str, Any] = {}
    try:
        with choosing() as crew:
            complete = trying(crew)
            if complete:
                seeds = range(seed, seed + fit())
                values = findings.finalists(study.rows(), study.space, best)
                total = (len(values) + 2) * len(seeds)
                counted = partial(_count, itertools.count(1), total, progress)
                ends["finalists"] = _finals(crew, study, values, seeds, counted)
        if complete:
            with reporting() as crew:
                later = range(seeds.stop, seeds.stop + len(seeds))
                ends["test"] = _reported(crew, study.space, ends["finalists"], later, counted)
    except KeyboardInterrupt:
        complete = False
    return ends | {"stopped": not complete}


def _count(done: Iterator[int], total: int, progress: Callable[[int, int], None]) -> None:
    """Report that one more network is trained."""
    progress(next(done), total)


def _summary(study: Study, seed: int) -> dict[str, Any]:
    """All trials of a study, and what they show."""
    rows = study.rows()
    return {
        "front": study.front(), "importance": findings.importance(rows, study.space, seed),
        "defaults": study.space.defaults, "chance": study.chance, "interrupted": study.interrupted(), "trials": rows,
    }  # fmt: skip


def _finals(
    crew: Workers, study: Study, values: list[dict[str, Value]], seeds: range, counted: Callable[[], None]
) -> list[dict[str, Any]]:
    """Figures of the defaults, first, and of the best trials, from networks with new seeds; and which is chosen."""
    figures = findings.judged(crew, [study.space.settings(some) for some in values], seeds, counted)
    winner = findings.chosen(figures)
    return [
        {"values": some, **of, "chosen": n == winner} for n, (some, of) in enumerate(zip(values, figures, strict=True))
    ]


def _reported(
    crew: Workers, space: Space, finalists: list[dict[str, Any]], seeds: range, counted: Callable[[], None]
) -> dict[str, Any]:
    """The chosen settings and the defaults, on recordings and with seeds that had no part in choosing."""
    values = next(one["values"] for one in finalists if one["chosen"])
    winner = space.settings(values)
    defaults, chosen = findings.judged(crew, [space.preset, winner], seeds, counted)
    gains = findings.gains(chosen, defaults)
    return {
        "values": values, "settings": winner.to_dict(), "defaults": defaults, "chosen": chosen, "gains": gains,
        "verdict": findings.verdict(gains), "python": findings.snippet(winner),
    }  # fmt: skip
