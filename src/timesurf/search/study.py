"""The study: which trials were made, are being made, and come next. It lives in a database that Optuna keeps.

Any number of processes may work on one study. Each gives signs of life for the trials it runs; a trial whose process
died is failed and put in the queue again, by whoever sees it first.
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
Told = Callable[[Row, int, bool], None]
_PULSES = 4  # signs of life in the time after which there should have been one
_LOOKS = 0.5  # s, between looks at trials that others run
_NAMELESS = 2.0  # s, after which nobody will say any more that a trial is its own
_TRIES = 5  # to open a database that others open at the same time


def optuna() -> Any:
    """Optuna, or an error that says how to get it."""
    try:
        import optuna
    except ImportError as error:
        raise MissingEngineError("A search needs Optuna: pip install 'timesurf[search]'.") from error
    return optuna


def veiled(url: str) -> str:
    """A URL without its password.

    >>> veiled("postgresql://me:secret@there/searches")
    'postgresql://me:***@there/searches'
    """
    return re.sub(r"(://[^:/@]*):[^@]*@", r"\1:***@", url)


class Study:
    """Trials over a space, by two objectives.

    storage : URL of a database as SQLAlchemy writes it, such as sqlite:///search.db; None: in memory
    problem : what the trials are about; a study that is about something else is refused
    chance : share of recordings that guessing gets right
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
                f"The study {name!r} in {veiled(str(storage))} was begun with another {differ}. "
                "Give what it was begun with, or begin another: elsewhere, or under another name."
            )
        if not any(t.user_attrs.get("defaults") for t in self._trials("COMPLETE", "PRUNED", "RUNNING", "WAITING")):
            self._study.enqueue_trial(space.defaults, user_attrs={"defaults": True})

    def _opened(self, storage: str | None, name: str) -> Any:
        from sqlalchemy.exc import SQLAlchemyError

        # SQLite has one writer at a time: others wait
        waiting = {"connect_args": {"timeout": 100}} if (storage or "").startswith("sqlite") else {}
        for left in reversed(range(_TRIES)):
            try:
                return self._optuna.create_study(
                    storage=storage and self._optuna.storages.RDBStorage(storage, engine_kwargs=waiting),
                    study_name=name, directions=["maximize", "minimize"], load_if_exists=True,
                )  # fmt: skip
            except (ImportError, SQLAlchemyError, self._optuna.exceptions.OptunaError) as error:
                if isinstance(error, ImportError) or not left:
                    raise SettingError(f"storage = {veiled(str(storage))!r} cannot be opened: {error}") from error
                time.sleep(_LOOKS)  # of two that make tables at once one fails
        raise AssertionError

    # ------------------------------------------------------------------ what there is

    def rows(self) -> list[Row]:
        """Trials that are finished, first to last."""
        return [self._row(trial) for trial in self._trials("COMPLETE", "PRUNED")]

    def interrupted(self) -> int:
        """How many trials were not brought to an end, and made again."""
        return sum("raised" not in trial.user_attrs for trial in self._trials("FAIL"))

    def front(self) -> list[int]:
        """Numbers of the trials that no other beats in one objective without losing in the other, most right first."""
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

        The sampler is made anew for each trial and seeded by how many there are. So what is suggested depends on the
        seed and on the finished trials alone, not on how often the search was interrupted.
        """
        raised = sum("raised" in trial.user_attrs for trial in self._trials("FAIL"))  # not to be suggested again
        made = len(self._trials("COMPLETE", "PRUNED", "RUNNING")) + raised
        drawn = int(np.random.SeedSequence([seed, made]).generate_state(1)[0])
        self._study.sampler = self._optuna.samplers.TPESampler(seed=drawn)
        trial = self._study.ask()
        trial.set_user_attr("worker", _worker())  # before the rest: who finds it without one knows less
        for name, some in self.space.options.items():
            if not isinstance(some, Range):
                trial.suggest_categorical(name, some)
            elif some.whole:
                trial.suggest_int(name, int(some.low), int(some.high), log=some.log)
            else:
                trial.suggest_float(name, some.low, some.high, log=some.log)
        return trial

    def _place(self, trial: Any) -> int:
        """How many trials, finished or running, come before this one: of two who ask for the last, one gets it."""
        return sum(other.number < trial.number for other in self._trials("COMPLETE", "PRUNED", "RUNNING"))

    def tell(self, trial: Any, measured: Measured) -> Row | None:
        """Keep what came of a trial. None: it was taken for dead meanwhile, and others have made it again."""
        about = {
            "recording_accuracy": list(measured.recording_accuracy), "kept": list(measured.kept),
            "event_accuracy": measured.event_accuracy,
            "ended": measured.ended, "seconds": measured.seconds,
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
        """Fail a trial that will not be finished, and put its settings in the queue."""
        try:
            self._study.tell(trial.number, state=self._optuna.trial.TrialState.FAIL)
        except (ValueError, self._optuna.exceptions.UpdateFinishedTrialError):
            return  # another process was first
        defaults = trial.user_attrs.get("defaults")
        if defaults or trial.params.keys() == self.space.options.keys():
            values = self.space.defaults if defaults else trial.params
            self._study.enqueue_trial(values, user_attrs={"defaults": True} if defaults else None)

    def _raised(self, trial: Any, error: Exception) -> None:
        """Fail a trial that ended in an error; it is not made again."""
        trial.set_user_attr("raised", f"{type(error).__name__}: {error}")
        self._study.tell(trial.number, state=self._optuna.trial.TrialState.FAIL)

    def bars(self) -> list[float]:
        """What a trial that begins now must reach after each pass."""
        whole = [trial.user_attrs["recording_accuracy"] for trial in self._trials("COMPLETE")]
        return bars(whole, self.space.preset.passes)

    # ------------------------------------------------------------------ the loop

    def run(
        self,
        workers: Workers,
        *,
        trials: int,
        seed: int = 0,
        seconds: float | None = None,
        grace: float = 60.0,
        told: Told | None = None,
    ) -> bool:
        """Make trials until there are so many in all, by whomever; False if Ctrl-C ended it before.

        seconds : begin none after this time
        grace : seconds without a sign of life after which a trial of another machine is taken for dead; on this machine
            it is as soon as its process is gone
        told : called with every trial that ends here, how many there are, and whether it is on the front
        """
        began, mine, watch = time.monotonic(), dict[Future[Measured], Any](), _Watch(grace)
        pulse = 0
        try:
            while True:
                own = {trial.number for trial in mine.values()}
                others = [trial for trial in self._trials("RUNNING") if trial.number not in own]
                dead = watch.dead(others)
                for trial in dead:
                    self.give_back(trial)
                if not mine and not dead and any("worker" not in trial.user_attrs for trial in others):
                    time.sleep(_LOOKS)  # it is about to be said whose that is, or never will be
                    continue
                running, done = len(self._trials("RUNNING")), len(self._trials("COMPLETE", "PRUNED"))
                late = seconds is not None and time.monotonic() - began >= seconds
                for _ in range(0 if late else min(workers.jobs - len(mine), trials - done - running)):
                    trial = self.ask(seed)
                    if self._place(trial) >= trials:  # others asked at the same moment
                        self.give_back(trial)
                        break
                    mine[workers.submit(self.space.settings(trial.params), seed, self.bars())] = trial
                if not mine:
                    if late or not running:
                        return True
                    time.sleep(_LOOKS)  # the last trials are with others; should these die, they are made here
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
                    if told and row:
                        told(row, len(self._trials("COMPLETE", "PRUNED")), row["number"] in self.front())
                pulse += 1
                for trial in mine.values():
                    trial.set_user_attr("pulse", pulse)
        except KeyboardInterrupt:
            return False
        except self._optuna.exceptions.StorageInternalError as error:
            raise TimesurfError(f"The study cannot be reached: {error}. The same command goes on with it.") from error
        finally:
            for trial in mine.values():
                self.give_back(trial)


class _Watch:
    """Trials that run elsewhere, and since when they have given no sign of life."""

    def __init__(self, grace: float) -> None:
        self._grace = grace
        self._seen: dict[int, tuple[Any, float]] = {}

    def dead(self, trials: list[Any]) -> list[Any]:
        """Those whose process is gone. The clock is ours alone: clocks of other machines may be wrong."""
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
    return f"{platform.node()}-{uuid.getnode():x}"  # names of containers may be the same


def _worker() -> str:
    return f"{_machine()}:{os.getpid()}"


def _gone(worker: str | None) -> bool:
    """Whether a process is known to be no more: one of this machine, on a system that can tell."""
    if worker == _worker():
        return True  # who asks has left out its own trials: this number was another's before
    host, _, number = (worker or "").rpartition(":")
    if host != _machine() or os.name != "posix":
        return False
    try:
        os.kill(int(number), 0)  # no signal, only whether one could be sent
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def distributions(space: Space) -> dict[str, Any]:
    """The space in Optuna's words."""
    kinds, found = optuna().distributions, {}
    for name, some in space.options.items():
        if isinstance(some, Range):
            kind = kinds.IntDistribution if some.whole else kinds.FloatDistribution
            found[name] = kind(some.low, some.high, log=some.log)
        else:
            found[name] = kinds.CategoricalDistribution(some)
    return found
