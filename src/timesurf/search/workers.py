"""What runs trials: threads of this process, or workers of a Dask cluster."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Protocol

from timesurf.engines.dask import cluster
from timesurf.errors import TimesurfError
from timesurf.learning.trainer import Progress
from timesurf.presets import Preset
from timesurf.search.trial import Measured, Task, measure


class StoppedError(TimesurfError):
    """A trial was cancelled."""


class Workers(Protocol):
    """Runs several trials at a time."""

    jobs: int

    def submit(self, preset: Preset, seed: int, bars: Sequence[float] = ()) -> Future[Measured]:
        """Start a trial."""


class Threads:
    """Threads of this process: the kernels release the interpreter lock."""

    def __init__(self, task: Task, jobs: int) -> None:
        self.jobs = jobs
        self._task, self._stop = task, threading.Event()
        self._pool = ThreadPoolExecutor(jobs, thread_name_prefix="trial")

    def submit(self, preset: Preset, seed: int, bars: Sequence[float] = ()) -> Future[Measured]:
        """Start a trial, or queue it."""
        return self._pool.submit(measure, self._task, preset, seed, bars, self._check)

    def close(self) -> None:
        """Cancel all trials and wait until they have ended."""
        self._stop.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _check(self, _: Progress) -> None:
        if self._stop.is_set():
            raise StoppedError("The search was stopped.")


class OnDask:
    """Workers of a Dask cluster: each receives the recordings once, and one trial at a time."""

    def __init__(self, task: Task, client: Any) -> None:
        self.jobs = max(len(client.nthreads()), 1)
        self._task, self._client = task, client
        self._sent: Any = None
        self._executor = client.get_executor(pure=False)

    def submit(self, preset: Preset, seed: int, bars: Sequence[float] = ()) -> Future[Measured]:
        """Start a trial."""
        if self._sent is None or self._sent.status != "finished":  # lost with the last worker that had it
            self._sent = self._client.scatter(self._task, broadcast=True, hash=False)
        started: Future[Measured] = self._executor.submit(measure, self._sent, preset, seed, bars)
        return started


@contextmanager
def workers(task: Task, jobs: int = 1, dask: str | None = None) -> Iterator[Workers]:
    """What runs trials; those still running at the end are cancelled.

    Parameters
    ----------
    task : Task
        What every trial does.
    jobs : int
        Threads, or processes with `dask="local"`, where 1 means one per core.
    dask : str, optional
        "local", or the address of a scheduler.
    """
    if dask is not None:
        with cluster.connect(dask, jobs if jobs > 1 else None) as client:
            yield OnDask(task, client)
        return
    threads = Threads(task, jobs)
    try:
        yield threads
    finally:
        threads.close()
