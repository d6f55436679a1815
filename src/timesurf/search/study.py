"""The study: which trials are done, are running, and come next. Optuna keeps it in a database.

Any number of processes may work on one study. Each updates a heartbeat for the trials it runs. When one fails, the
first other process to notice marks its trial as failed and queues it again.
"""

from __future__ import annotations

import json
import os
import platform
import re
import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from typing import Any

import numpy as np

from timesurf.errors import MissingEngineError, SettingError, TimesurfError
from timesurf.search.space import Range, Space
from timesurf.search.trial import Measured, bars
from timesurf.search.workers import Workers

Row = dict[str, Any]  # a finished trial, ready for JSON
Report = Callable[[Row, int, bool], None]  # a trial, how many are done, whether it is on the front
_PULSES = 4  # heartbeats in the time after which a process counts as dead
_POLL = 0.5  # s, between checks of trials that other processes run
_NAMELESS = 2.0  # s, after which a trial without an owner will not get one any more
_TRIES = 5  # to open a database that other processes open at the same time


def optuna() -> Any:
    """Optuna, or an error that says how to get it."""
    try:
        import optuna
    except ImportError as error:
        raise MissingEngineError("A search needs Optuna: pip install 'timesurf[search]'.") from error
    return optuna


def without_password(url: str) -> str:
    """A URL without its password.

    Examples
    --------
    >>> without_password("postgresql://me:secret@there/searches")
    'postgresql://me:***@there/searches'
    """
    return re.sub(r"(://[^:/@]*):[^@]*@", r"\1:***@", url)


class Study:
    """Trials over a space, by two objectives.

    Parameters
    ----------
    space : Space
        What may change.
    problem : mapping
        What the trials are about, ready for JSON; an existing study about something else is refused.
    chance : float
        Recording accuracy of guessing.
    storage : str, optional
        URL of a database as SQLAlchemy writes it, such as sqlite:///search.db; None keeps the study in memory.
    name : str
        Of the study in the database.
    """

    def __init__(
        self,
        space: Space,
        problem: Mapping[str, Any],
        chance: float,
        storage: str | None = None,
        name: str = "timesurf",
    ) -> None:
        self.space, self.chance = space, chance
        self._optuna = optuna()
        self._study = self._opened(storage, name)
        problem = json.loads(json.dumps(problem))
        known = self._study.user_attrs.get("problem")
        if known is None:
            self._study.set_user_attr("problem", problem)
        elif known != problem:
            differ = ", ".join(key for key in problem.keys() | known.keys() if problem.get(key) != known.get(key))
            raise SettingError(
                f"The study {name!r} in {without_password(str(storage))} was started with another {differ}. "
                "Use the same settings, or start a new study: in another place, or under another name."
            )
        if not any(t.user_attrs.get("defaults") for t in self._trials("COMPLETE", "PRUNED", "RUNNING", "WAITING")):
            self._study.enqueue_trial(space.defaults, user_attrs={"defaults": True})

    def _opened(self, storage: str | None, name: str) -> Any:
        from sqlalchemy.exc import SQLAlchemyError

        # SQLite has one writer at a time: the others wait
        waiting = {"connect_args": {"timeout": 100}} if (storage or "").startswith("sqlite") else {}
        for left in reversed(range(_TRIES)):
            try:
                return self._optuna.create_study(
                    storage=storage and self._optuna.storages.RDBStorage(storage, engine_kwargs=waiting),
                    study_name=name, directions=["maximize", "minimize"], load_if_exists=True,
                )  # fmt: skip
            except (ImportError, SQLAlchemyError, self._optuna.exceptions.OptunaError) as error:
                if isinstance(error, ImportError) or not left:
                    raise SettingError(
                        f"storage = {without_password(str(storage))!r} cannot be opened: {error}"
                    ) from error
                time.sleep(_POLL)  # of two processes that create tables at once, one fails
        raise AssertionError

    # ------------------------------------------------------------------ what is done

    def rows(self) -> list[Row]:
        """Finished trials, first to last."""
        return [self._row(trial) for trial in self._trials("COMPLETE", "PRUNED")]

    def interrupted(self) -> int:
        """How many trials were interrupted, and run again."""
        return sum("raised" not in trial.user_attrs for trial in self._trials("FAIL"))

    def front(self) -> list[int]:
        """Numbers of the trials on the Pareto front of both objectives, the most accurate first."""
        found = sorted(self._study.best_trials, key=lambda trial: (-trial.values[0], trial.values[1]))
        return [trial.number for trial in found]

    def _row(self, trial: Any) -> Row:
        about = trial.user_attrs
        return {
            "number": trial.number,
            "values": self.space.rounded(trial.params),
            **{name: about[name] for name in ("recording_accuracy", "kept", "event_accuracy", "ended", "seconds")},
            "marks": trial.values,
        }

    def _trials(self, *states: str) -> list[Any]:
        chosen = [self._optuna.trial.TrialState[state] for state in states]
        found: list[Any] = self._study.get_trials(deepcopy=False, states=chosen)
        return found

    # ------------------------------------------------------------------ what comes next

    def ask(self, seed: int) -> Any:
        """The next trial: from the queue, or as Optuna's sampler suggests.

        The sampler is created for each trial and seeded by how many there are. So the suggestions depend on the
        seed and on the finished trials alone, not on how often the search was interrupted.
        """
        raised = sum(
            "raised" in trial.user_attrs for trial in self._trials("FAIL")
        )  # so that it is not suggested again
        made = len(self._trials("COMPLETE", "PRUNED", "RUNNING")) + raised
        drawn = int(np.random.SeedSequence([seed, made]).generate_state(1)[0])
        self._study.sampler = self._optuna.samplers.TPESampler(seed=drawn)
        trial = self._study.ask()
        trial.set_user_attr("worker", _worker())  # first of all: another process can then see whose trial it is
        for name, some in self.space.options.items():
            if not isinstance(some, Range):
                trial.suggest_categorical(name, some)
            elif some.whole:
                trial.suggest_int(name, int(some.low), int(some.high), log=some.log)
            else:
                trial.suggest_float(name, some.low, some.high, log=some.log)
        return trial

    def _place(self, trial: Any) -> int:
        """How many trials come before this one: of two processes that ask for the last, only one gets it."""
        return sum(other.number < trial.number for other in self._trials("COMPLETE", "PRUNED", "RUNNING"))

    def tell(self, trial: Any, measured: Measured) -> Row | None:
        """Store the figures of a trial; None if it was taken for dead meanwhile and another process ran it again."""
        about = {
            "recording_accuracy": list(measured.recording_accuracy), "kept": list(measured.kept),
            "event_accuracy": measured.event_accuracy, "ended": measured.ended, "seconds": measured.seconds,
        }  # fmt: skip
        state = self._optuna.trial.TrialState
        try:
            for name, value in about.items():
                trial.set_user_attr(name, value)
            if measured.ended == "pruned":
                return self._row(self._study.tell(trial, state=state.PRUNED))
            return self._row(self._study.tell(trial, list(measured.marks(self.chance))))
        except (ValueError, self._optuna.exceptions.UpdateFinishedTrialError):
            return None

    def give_back(self, trial: Any) -> None:
        """Mark a trial that will not be finished as failed, and queue its settings again."""
        try:
            self._study.tell(trial.number, state=self._optuna.trial.TrialState.FAIL)
        except (ValueError, self._optuna.exceptions.UpdateFinishedTrialError):
            return  # another process was first
        defaults = trial.user_attrs.get("defaults")
        if defaults or trial.params.keys() == self.space.options.keys():
            values = self.space.defaults if defaults else trial.params
            self._study.enqueue_trial(values, user_attrs={"defaults": True} if defaults else None)

    def _raised(self, trial: Any, error: Exception) -> None:
        """Mark a trial that ended in an error as failed; it is not run again."""
        trial.set_user_attr("raised", f"{type(error).__name__}: {error}")
        self._study.tell(trial.number, state=self._optuna.trial.TrialState.FAIL)

    def bars(self) -> list[float]:
        """What a trial that starts now must reach after each pass."""
        complete = [trial.user_attrs["recording_accuracy"] for trial in self._trials("COMPLETE")]
        return bars(complete, self.space.preset.passes)

    # ------------------------------------------------------------------ the loop

    def run(
        self,
        workers: Workers,
        *,
        trials: int,
        seed: int = 0,
        late: Callable[[], bool] = lambda: False,
        grace: float = 60.0,
        report: Report | None = None,
    ) -> bool:
        """Run trials until there are so many in all, whichever process ran them.

        Parameters
        ----------
        workers : Workers
            What runs them.
        trials : int
            How many there should be in the end.
        seed : int
            Of the suggestions and of every network.
        late : callable
            Whether it is too late to start another trial; the first, the defaults, is always run.
        grace : float
            Seconds without a heartbeat after which a trial of another machine is taken for dead; on this machine it is
            as soon as its process has ended.
        report : callable, optional
            Called with every trial that ends here, how many are done, and whether it is on the front.

        Returns
        -------
        bool
            False if Ctrl-C ended it early.
        """
        mine, watch = dict[Future[Measured], Any](), _Watch(grace)
        pulse = 0
        try:
            while True:
                own = {trial.number for trial in mine.values()}
                others = [trial for trial in self._trials("RUNNING") if trial.number not in own]
                dead = watch.dead(others)
                for trial in dead:
                    self.give_back(trial)
                if not mine and not dead and any("worker" not in trial.user_attrs for trial in others):
                    time.sleep(_POLL)  # its owner is about to be written, or its process has died
                    continue
                running, done = len(self._trials("RUNNING")), len(self._trials("COMPLETE", "PRUNED"))
                over = done > 0 and late()
                for _ in range(0 if over else min(workers.jobs - len(mine), trials - done - running)):
                    trial = self.ask(seed)
                    if self._place(trial) >= trials:  # another process asked at the same moment
                        self.give_back(trial)
                        break
                    mine[workers.submit(self.space.settings(trial.params), seed, self.bars())] = trial
                if not mine:
                    if over or not running:
                        return True
                    time.sleep(_POLL)  # other processes run the last trials; if these die, they are run here
                    continue
                ended, _ = wait(mine, timeout=grace / _PULSES, return_when=FIRST_COMPLETED)
                for future in ended:
                    trial = mine.pop(future)
                    try:
                        measured = future.result()
                    except CancelledError:  # lost with its worker
                        self.give_back(trial)
                        continue
                    except Exception as error:
                        self._raised(trial, error)
                        raise
                    row = self.tell(trial, measured)
                    if report and row:
                        report(row, len(self._trials("COMPLETE", "PRUNED")), row["number"] in self.front())
                pulse += 1
                for trial in mine.values():
                    trial.set_user_attr("pulse", pulse)
        except KeyboardInterrupt:
            return False
        except self._optuna.exceptions.StorageInternalError as error:
            raise TimesurfError(
                f"The study cannot be reached: {error}. Run the same command again to continue."
            ) from error
        finally:
            for trial in mine.values():
                self.give_back(trial)


class _Watch:
    """Trials that run in other processes, and since when they have had no heartbeat."""

    def __init__(self, grace: float) -> None:
        self._grace = grace
        self._seen: dict[int, tuple[Any, float]] = {}

    def dead(self, trials: list[Any]) -> list[Any]:
        """Those whose process has ended. Only this machine's clock counts: those of other machines may be wrong."""
        now, found = time.monotonic(), []
        for trial in trials:
            pulse = trial.user_attrs.get("pulse")
            if trial.number not in self._seen or self._seen[trial.number][0] != pulse:
                self._seen[trial.number] = pulse, now
            grace = self._grace if "worker" in trial.user_attrs else _NAMELESS
            silent = now - self._seen[trial.number][1] >= grace
            if silent or _gone(trial.user_attrs.get("worker")):
                found.append(trial)
        return found


def _machine() -> str:
    return f"{platform.node()}-{uuid.getnode():x}"  # containers may have the same name


def _worker() -> str:
    return f"{_machine()}:{os.getpid()}"


def _gone(worker: str | None) -> bool:
    """Whether a process is known to have ended: one of this machine, on a system where that can be checked."""
    if worker == _worker():
        return True  # own trials are left out before: an earlier process had this number
    host, _, number = (worker or "").rpartition(":")
    if host != _machine() or os.name != "posix":
        return False
    try:
        os.kill(int(number), 0)  # sends no signal, only checks whether the process exists
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def distributions(space: Space) -> dict[str, Any]:
    """The space as Optuna describes it."""
    kinds, found = optuna().distributions, {}
    for name, some in space.options.items():
        if isinstance(some, Range):
            kind = kinds.IntDistribution if some.whole else kinds.FloatDistribution
            found[name] = kind(some.low, some.high, log=some.log)
        else:
            found[name] = kinds.CategoricalDistribution(some)
    return found
