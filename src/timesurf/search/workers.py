"""Who runs trials: threads of this process, or workers of a Dask cluster."""

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
    """A trial was called off."""


class Workers(Protocol):
    """So many trials at a time."""

    jobs: int

    def submit(self, preset: Preset, seed: int, bars: Sequence[float] = ()) -> Future[Measured]:
        """Begin a trial."""


class Threads:
    """Threads of this process: the kernels let each other run."""

    def __init__(self, task: Task, jobs: int) -> None:
        self.jobs = jobs
        self._task, self._stop = task, threading.Event()
        self._pool = ThreadPoolExecutor(jobs, thread_name_prefix="trial")

    def submit(self, preset: Preset, seed: int, bars: Sequence[float] = ()) -> Future[Measured]:
        """Begin a trial, or put it in the queue."""
        return self._pool.submit(measure, self._task, preset, seed, bars, self._going)

    def close(self) -> None:
        """Call off what runs; returns once it has."""
        self._stop.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _going(self, _: Progress) -> None:
        if self._stop.is_set():
            raise StoppedError("The search was stopped.")


class OnDask:
    """Workers of a Dask cluster: each gets the recordings once, and a trial at a time."""

    def __init__(self, task: Task, client: Any) -> None:
        self.jobs = max(len(client.nthreads()), 1)
        self._task, self._client = task, client
        self._sent: Any = None
        self._executor = client.get_executor(pure=False)

    def submit(self, preset: Preset, seed: int, bars: Sequence[float] = ()) -> Future[Measured]:
        """Begin a trial."""
        if self._sent is None or self._sent.status != "finished":  # lost with the last worker that had it
            self._sent = self._client.scatter(self._task, broadcast=True, hash=False)
        begun: Future[Measured] = self._executor.submit(measure, self._sent, preset, seed, bars)
        return begun


@contextmanager
def workers(task: Task, jobs: int = 1, dask: str | None = None) -> Iterator[Workers]:
    """Those who run trials; what still runs at the end is called off.

    jobs : threads, or processes with `dask="local"`, where 1 stands for one a core
    dask : "local", or the address of a scheduler
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
