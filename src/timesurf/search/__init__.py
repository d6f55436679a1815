"""Search for settings with a high recording accuracy and few events kept. Optuna is the extra `search`.

Trials learn from one part of the recordings and are judged by a second. The best settings are then trained anew and
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

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
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
) -> dict[str, Any]:
    """Search around a preset, then train the best settings and the preset's own anew and report on recordings held out.

    Parameters
    ----------
    parts : Parts
        Recordings to learn from, to choose by, and to report on; all three are needed.
    preset : Preset
        The defaults, which are the first trial.
    trials : int
        In all, pruned ones among them; an existing study is continued until it has so many.
    minutes : float, optional
        Start no trial after this time.
    seed : int
        Of the suggestions and of every network. With one job the same seed gives the same trials, interrupted or not.
    passes : int, optional
        Of each trial, in place of the preset's.
    only, fix, vary
        What may change; see `narrowed`.
    storage : str, optional
        Database of the study as a URL of SQLAlchemy's; None keeps it in memory.
    name : str
        Of the study in the database.
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
        raise SettingError("trials, jobs and networks must be at least 1.")
    began = time.perf_counter()
    if dask is None:
        engines.load(engine)  # raises now if something is missing
    about = machine.describe("cpu" if dask else engine) | {"optuna": version("optuna")}
    preset = preset if passes is None else replace(preset, passes=passes)
    if preset.passes < 1:
        raise SettingError("A trial needs at least one pass.")
    space = narrowed(preset, only=only, fix=fix, vary=vary)
    threads = threads or (max(about["cores"] // jobs, 1) if dask is None else 1)
    learn, validation, held_out = _checked(parts)
    task = Task(learn, validation, engine, threads)
    data = {
        name: {"recordings": len(some), "which": some.fingerprint()}
        for name, some in (("learn", learn), ("validation", validation), ("held_out", held_out))
    }
    problem = {"preset": space.preset.to_dict(), "space": space.to_dict(), "data": data, "seed": seed}
    study = Study(space, problem, task.chance, storage, name)
    ends: dict[str, Any] = {}
    try:
        with workers(task, jobs, dask) as crew:
            complete = study.run(
                crew,
                trials=trials,
                seed=seed,
                seconds=None if minutes is None else 60 * minutes,
                grace=grace,
                report=report,
            )
            if complete:
                ends["finalists"] = _finals(crew, study, best, seed + 1, networks)
        if complete:
            with workers(Task(learn, held_out, engine, threads), jobs, dask) as crew:
                ends["test"] = _reported(crew, space, ends["finalists"], seed + 1 + networks, networks)
    except KeyboardInterrupt:
        complete = False
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
        "stopped": not complete,
    }


def _checked(parts: Parts) -> tuple[Recordings, Recordings, Recordings]:
    """All three parts, or an error."""
    if parts.validation is None or parts.held_out is None:
        raise SettingError("A search needs recordings to choose by and others to report on: at least 3 of one class.")
    return parts.learn, parts.validation, parts.held_out


def _finals(crew: Workers, study: Study, best: int, seed: int, networks: int) -> list[dict[str, Any]]:
    """Figures of the defaults, first, and of the best trials, from networks with new seeds; and which is chosen."""
    values = findings.finalists(study.rows(), study.space, best)
    figures = findings.judged(crew, [study.space.settings(some) for some in values], range(seed, seed + networks))
    winner = findings.chosen(figures)
    return [
        {"values": some, **of, "chosen": n == winner} for n, (some, of) in enumerate(zip(values, figures, strict=True))
    ]


def _reported(crew: Workers, space: Space, finalists: list[dict[str, Any]], seed: int, networks: int) -> dict[str, Any]:
    """The chosen settings and the defaults, on recordings and with seeds that had no part in choosing."""
    values = next(one["values"] for one in finalists if one["chosen"])
    winner = space.settings(values)
    defaults, chosen = findings.judged(crew, [space.preset, winner], range(seed, seed + networks))
    gains = findings.gains(chosen, defaults)
    return {
        "values": values, "settings": winner.to_dict(), "defaults": defaults, "chosen": chosen, "gains": gains,
        "verdict": findings.verdict(gains), "python": findings.snippet(winner),
    }  # fmt: skip
