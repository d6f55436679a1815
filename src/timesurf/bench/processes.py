"""Many independent measurements, one core each: in this process, or spread over several.

Measurements begin in the order in which they are listed, so the most important come first. Each runs on one core, so
that figures do not depend on how many run side by side, and speeds of one run can be compared with each other.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from typing import Any, TypeVar

from timesurf.errors import EventError

Job = TypeVar("Job")
Done = TypeVar("Done")


class MissingError(EventError):
    """What a measurement needs is not there: it is said once, and the measurement passed over."""


HEARTBEAT = 20.0  # seconds without a result after which progress is reported


@dataclass(frozen=True)
class Plan:
    """How measurements are run, and who is told.

    Attributes
    ----------
    processes : int
        How many run side by side; 1 runs all of them in this process.
    minutes : float, optional
        Begin none after this time.
    report : callable
        Called with lines of progress.
    save : callable
        Called with the result so far, after each measurement.
    """

    processes: int = 1
    minutes: float | None = None
    report: Callable[[str], None] = lambda text: None
    save: Callable[[dict[str, Any]], None] = lambda result: None


ALONE = Plan()


def each(work: Callable[[Job], Done], jobs: Sequence[Job], plan: Plan = ALONE) -> Iterator[tuple[Job, Done]]:
    """What each job gives, as they end.

    Parameters
    ----------
    work : callable
        From a job to its result; of a module, where there are several processes.
    jobs : sequence
        In the order in which they begin.
    plan : Plan
        How many side by side, and until when.

    Yields
    ------
    tuple
        Job and result; none for jobs whose data is missing.
    """
    began, processes, minutes, report = time.perf_counter(), plan.processes, plan.minutes, plan.report
    waiting = list(reversed(jobs))
    report(f"{len(jobs)} measurements, {min(processes, len(jobs))} at a time")

    def late() -> bool:
        return minutes is not None and time.perf_counter() - began > 60 * minutes

    def ended(job: Job) -> None:
        left = len(waiting) + len(running)
        report(f"{time.perf_counter() - began:4.0f} s, {len(jobs) - left} of {len(jobs)}: {job}")

    said: set[str] = set()

    def passed_over(error: MissingError) -> None:
        if str(error) not in said:
            report(str(error))
        said.add(str(error))

    running: dict[Future[Done], Job] = {}
    if processes == 1:
        while waiting and not late():
            job = waiting.pop()
            report(f"{job} ...")
            try:
                done = work(job)
            except MissingError as error:
                passed_over(error)
            else:
                yield job, done
            ended(job)
    else:
        with ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_on_one_core) as pool:
            while running or (waiting and not late()):
                while waiting and len(running) < processes and not late():
                    job = waiting.pop()
                    running[pool.submit(work, job)] = job
                finished, _ = wait(running, timeout=HEARTBEAT, return_when=FIRST_COMPLETED)
                if not finished:
                    report(f"{time.perf_counter() - began:4.0f} s: {len(running)} running, {len(waiting)} waiting")
                for future in finished:
                    job = running.pop(future)
                    try:
                        done = future.result()
                    except MissingError as error:
                        passed_over(error)
                    else:
                        yield job, done
                    ended(job)
    if waiting:
        report(f"{len(waiting)} measurements were left out after {minutes:g} minutes: {waiting[-1]}, ...")


def _on_one_core() -> None:
    """Keep the libraries of a worker to one thread, for as long as it lives; it ends with the process that began it."""
    global _limits
    from threadpoolctl import threadpool_limits

    _limits = threadpool_limits(1)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that is killed cannot tell its workers."""
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)


_limits: Any = None
