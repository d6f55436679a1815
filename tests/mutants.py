"""Mutation testing of the core: small changes to the source, one at a time, and whether the nearest tests notice.

    python -m tests.mutants --sample 200 --json mutants.json
    python -m tests.mutants --module 'engines/*' --list
    python -m tests.mutants --only 'rule.py:154:21:lt->le'
    python -m tests.mutants --sample 120 --jobs 14 --minutes 9 --json mutants.json

A mutant swaps a comparison, an arithmetic operator, `and` and `or` or min and max, changes a number or a truth value,
removes `not`, `-` or `~`, or drops a statement. It is caught if the tests of its module in `NEAREST`, or the doctests
of the module itself, fail or run past the time limit. Not mutated: strings, annotations, decorators, `__repr__` and
`__str__`, whatever is raised, warned, logged or reported as progress, `strict=` of zip, which is an assertion, the
`indent=` of JSON, the 1 of -1 in `reshape`, for any negative size is worked out, and constants whose names end in
`AT_ONCE`: `tests/test_at_once.py` shows that they change no result.

Tests that fail without any mutation judge none: they are left out, and named. Where no others are left the mutants are
not run, not counted, and listed as such. Mutants run in the order in which they were drawn, and none is begun that
would not end in time: a call that is cut short has drawn evenly over modules too, but for its last minutes, in which
only mutants of quick tests begin, and it has not just dropped survivors, whose tests run longest. With `--quick` tests
do not run without mutation first: those that caught a mutant do afterwards, and it counts only if they pass then; where
they do not, it runs again without them. A mutant that no test notices needs no such proof.

Every mutant runs in a copy of src of its own, so the checkout is never changed. The copy shares bytecode and compiled
kernels with a copy that the unmutated tests have run in, except kernels that the mutation may be compiled into. It sees
two cores and no GPU, wherever it runs.

Why no ready-made tool: mutmut mutates no function with a decorator, so no numba kernel, and its trampolines could not
be compiled into one; cosmic-ray changes the file in place and leaves the caches alone. Numba recompiles a cached
kernel when its own file changes, not when a function or constant that it takes from another file does, and every
such mutant would seem to survive.
"""

import argparse
import contextlib
import fnmatch
import json
import math
import random
import signal
import sys
import tempfile
import threading
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.copies import MutantsError, Runner
from tests.mutations import Finder
from tests.nearest import NEAREST, OUTSIDE, REASONS


@dataclass(frozen=True)
class Project:
    """Where source and tests lie, and which tests are nearest to which module."""

    root: Path
    package: str
    nearest: dict[str, list[str]]
    outside: list[str]
    prepare: str = ""  # code that compiles what most tests need, before they run at the same time

    @property
    def source(self):
        return self.root / "src" / self.package

    def row(self, module):
        """The glob of the table that a module falls under; None outside the core."""
        for glob in self.nearest:
            if fnmatch.fnmatch(module, glob):
                return glob
        if not any(fnmatch.fnmatch(module, glob) for glob in self.outside):
            raise MutantsError(f"{module} is new: name its tests in NEAREST, or put it OUTSIDE, in tests/nearest.py.")
        return None

    def tests(self, glob):
        """Nearest tests of a row, each once, in the order of the table."""
        found = [path for tests in self.nearest[glob] for path in sorted(self.root.glob(tests))]
        if not found:
            raise MutantsError(f"{glob} has no tests: {', '.join(self.nearest[glob])} match no file.")
        return list(dict.fromkeys(str(path) for path in found))

    def core(self):
        """Modules of the core and the row of each."""
        modules = sorted(path.relative_to(self.source).as_posix() for path in self.source.rglob("*.py"))
        rows = {module: row for module in modules if (row := self.row(module)) is not None}
        for glob in self.nearest:
            if glob not in rows.values():
                raise MutantsError(f"{glob} in NEAREST matches no module under {self.source}.")
            self.tests(glob)
        return rows


GRACE = 10  # seconds that every run may take longer than the limit
SPARE = 1.3  # times what the tests take without mutation: time that has to be left for a mutant to be begun
EACH = 60  # seconds that one test may take with `--quick`, and those of compiling where kernels are compiled again
TOGETHER = 20  # mutants whose catching tests run without mutation at one time
CLOSING = 120  # seconds before the end in which what was caught is confirmed and no mutant begins
PREPARE = "from timesurf.engines.cpu.engine import warm_up; warm_up()"
THIS = Project(Path(__file__).resolve().parents[1], "timesurf", NEAREST, OUTSIDE, PREPARE)


def draw(mutants, count, seed):
    """So many mutants, evenly over modules: all of a small module, and as many of every larger one."""
    piles = {}
    for mutant in mutants:
        piles.setdefault(mutant.module, []).append(mutant)
    for module, pile in piles.items():
        random.Random(f"{seed} {module}").shuffle(pile)
    order = sorted(piles)
    random.Random(seed).shuffle(order)  # who gets one more where the count does not divide
    deepest = max(map(len, piles.values()), default=0)
    turns = [piles[module][n] for n in range(deepest) for module in order if n < len(piles[module])]
    return turns[:count]


@contextlib.contextmanager
def interrupts():
    """An event that Ctrl-C or SIGTERM sets: an exception at any moment could be lost, or cut the cleaning up short."""
    asked = threading.Event()
    before = {number: signal.signal(number, lambda *_: asked.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Hunt:
    """Runs mutants in the order given, each once the tests of its row have passed without it; keeps what comes out."""

    def __init__(self, project, chosen, sources, factor, report, save, quick=False):
        self.chosen, self.sources, self.factor, self.report, self.save = chosen, sources, factor, report, save
        self.rows = project.core()
        self.todo, self.results = list(chosen), []
        self.compiling = None if project.prepare else 0.0  # seconds; None while it is not known
        self.seconds = {}  # of each row without mutation; None while it runs
        self.failing = {}  # rows whose tests fail without any mutation, and what they say
        self.left_out = {}  # rows of which only some tests do, and which
        self.late = False
        self.quick = quick
        self.doubtful = []  # mutants that were caught by tests of which it is not known whether they pass without: why
        self.known = {}  # seconds that tests take without mutation, of those that pass

    @property
    def complete(self):
        return len(self.results) == len(self.chosen)

    def next(self, runner, deadline):
        """What to run now, with its arguments, and what to do with what comes out; None where all has to wait.

        Mutants that would end too late if their tests did not notice them are left out, and all wait until it is known
        how long kernels take to compile.
        """
        if self.quick:
            return self.next_quick(runner, deadline)
        for mutant in list(self.todo):
            row = self.rows[mutant.module]
            if row not in self.seconds:
                modules = sorted({other.module for other in self.chosen if self.rows[other.module] == row})
                self.seconds[row] = None
                return runner.unmutated, (row, modules), partial(self.passed, runner, row)
            if self.seconds[row] is not None and self.compiling is not None:
                usual = self.seconds[row] + bool(runner.stale(mutant)) * self.compiling
                self.todo.remove(mutant)
                if time.monotonic() + SPARE * usual > deadline:
                    self.late = True
                    continue
                return runner.mutated, (mutant, row, self.factor * usual + GRACE), partial(self.judged, mutant)
        return None

    def next_quick(self, runner, deadline):
        """The same, where tests run without mutation only after they have caught something."""
        if self.compiling is None:
            return None
        closing = time.monotonic() > deadline - CLOSING
        if self.doubtful and (len(self.doubtful) >= TOGETHER or closing or not self.todo):
            doubtful, self.doubtful = self.doubtful, []
            names = sorted({by for _, _, _, by, _, _ in doubtful} - set(self.known))
            return runner.confirm, (names,), partial(self.confirmed, runner, doubtful)
        if self.todo and closing:
            self.late, self.todo = True, []
        if not self.todo:
            return None
        mutant = self.todo.pop(0)
        row, each = self.rows[mutant.module], EACH + bool(runner.stale(mutant)) * self.compiling
        without = list(self.left_out.get(row, ()))
        return runner.mutated, (mutant, row, None, each), partial(self.noticed, mutant, each, without)

    def noticed(self, mutant, each, without, how, took, by):
        """A mutant has run; what caught it may have to be confirmed."""
        if how == "passed":
            self.judged(mutant, how, took)
        elif by in self.known and (how != "timed out" or self.factor * self.known[by] <= each):
            self.judged(mutant, how, took, by)
        else:
            self.doubtful.append((mutant, how, took, by, each, without))
            self.report(f"{mutant.id}  {how} by {by}, {took:.0f} s")

    def confirmed(self, runner, doubtful, seconds):
        """Tests have run without mutation: mutants count whose test passed, the others run again without it."""
        self.known |= seconds
        for mutant, how, took, by, each, without in doubtful:
            if by in self.known and (how != "timed out" or self.factor * self.known[by] <= each):
                self.judged(mutant, how, took, by)
                continue
            row = self.rows[mutant.module]
            if by.startswith("::") or by in without:  # cannot be left out
                self.failing[row] = f"{by} does not pass without mutation, or not in time"
                self.report(f"{mutant.id} is not counted: {self.failing[row]}.")
                self.save(self)
                continue
            if by not in self.left_out.setdefault(row, []):
                self.left_out[row].append(by)
            runner.left_out[row] = self.left_out[row]
            self.todo.append(mutant)
            self.report(f"{mutant.id} runs again: {by} does not pass without mutation, or not in time.")

    def passed(self, runner, row, how, seconds, said):
        if how == "passed":
            self.seconds[row] = seconds
            self.report(f"{row}: {seconds:.0f} s without mutation")
            if row in runner.left_out:
                self.left_out[row] = runner.left_out[row]
                self.report(f"Left out, since they fail without any mutation: {', '.join(self.left_out[row])}")
            return
        self.failing[row] = said[-3000:]
        self.todo = [mutant for mutant in self.todo if self.rows[mutant.module] != row]
        self.report(f"The tests of {row} fail without any mutation, so its mutants are not run:\n{self.failing[row]}")
        self.save(self)

    def judged(self, mutant, how, took, by=""):
        before, after = mutant.change(self.sources[mutant.module])
        self.results.append({"id": mutant.id, "module": mutant.module, "ended": how, "caught": how != "passed"})
        self.results[-1] |= {"by": by, "seconds": round(took, 1), "before": before, "after": after}
        self.results[-1] |= {"reason": REASONS.get((mutant.module, after), "")}
        verdict = "SURVIVED" if how == "passed" else f"caught, {how}"
        self.report(f"{len(self.results)}/{len(self.chosen)}  {mutant.id}  {verdict}, {took:.0f} s")
        self.save(self)

    def run(self, project, *, jobs, warm, lenient, deadline, interrupted):
        """Run all, unless interrupted or too late."""
        if warm:
            warm.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="mutants-", dir=warm) as folder:  # links cross no file systems
            runner, pool, waiting = Runner(project, folder, warm, jobs, lenient), ThreadPoolExecutor(jobs), {}
            try:
                if project.prepare:
                    waiting[pool.submit(runner.prepare)] = self.prepared
                while True:
                    while len(waiting) < jobs and (task := self.next(runner, deadline)):
                        function, arguments, then = task
                        waiting[pool.submit(function, *arguments)] = then
                    if not waiting:
                        if self.late:
                            self.report("Time is up: what was found so far.")
                        return
                    # Wakes up often, since signals are handled in the main thread alone.
                    done, _ = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                    for future in done:
                        waiting.pop(future)(*future.result())
                    if interrupted.is_set() or time.monotonic() > deadline:
                        why = "Interrupted" if interrupted.is_set() else "Time is up"
                        self.report(f"{why}: what was found so far.")
                        return
            finally:
                runner.stop()
                pool.shutdown(cancel_futures=True)

    def prepared(self, seconds):
        self.compiling = seconds
        self.report(f"kernels: {seconds:.0f} s")


def save(asked, hunt):
    """Write what is known so far, whole."""
    if asked.json:
        caught = sum(result["caught"] for result in hunt.results)
        about = {"mutants": len(hunt.results), "caught": caught, "drawn": len(hunt.chosen), "seed": asked.seed}
        about |= {"complete": hunt.complete, "failing": hunt.failing, "left_out": hunt.left_out}
        about |= {"results": hunt.results}
        part = asked.json.with_name(f"{asked.json.name}.part")
        part.write_text(json.dumps(about, indent=1) + "\n", "utf-8")
        part.replace(asked.json)


def summary(hunt):
    """The share caught by module, then every survivor with its change, and what was not run."""
    tally, lines = {}, []
    for result in sorted(hunt.results, key=lambda result: result["module"]):
        tally.setdefault(result["module"], []).append(result["caught"])
    lines += [f"{module:32} {sum(caught):4} of {len(caught):4} caught" for module, caught in tally.items()]
    total, run = sum(result["caught"] for result in hunt.results), len(hunt.results)
    lines.append(f"{'all':32} {total:4} of {run:4} caught: {total / max(run, 1):.1%}")
    for result in hunt.results:
        if not result["caught"]:
            reason = result["reason"] and f"\n  Cannot be caught: {result['reason']}."
            lines.append(f"\n{result['id']}\n  - {result['before']}\n  + {result['after']}{reason}")
    if not hunt.complete:
        lines.append(f"\nNot run: {len(hunt.chosen) - run} of {len(hunt.chosen)}.")
    if hunt.failing:
        lines.append(f"Tests that fail without any mutation: {', '.join(hunt.failing)}.")
    for row, names in hunt.left_out.items():
        lines.append(f"Left out of the tests of {row}, since they fail without any mutation: {', '.join(names)}.")
    return "\n".join(lines)


def main(argv=None, project=THIS):
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description="Which mutants do the tests catch?")
    parser.add_argument("--module", action="append", metavar="GLOB", help="modules under src/timesurf; default: all")
    parser.add_argument("--only", action="append", metavar="ID", help="this mutant, as --list prints it; repeatable")
    parser.add_argument("--sample", type=int, metavar="N", help="draw so many, evenly over modules; default: all")
    parser.add_argument("--seed", type=int, default=0, help="of the draw; default: 0")
    parser.add_argument("--list", action="store_true", help="print the mutants and run nothing")
    parser.add_argument("--jobs", type=int, default=1, help="mutants to run at a time; default: 1")
    parser.add_argument(
        "--timeout", type=float, default=3, metavar="TIMES", help="limit, in unmutated runs; default: 3"
    )
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop by then; default: never")
    parser.add_argument("--warm", type=Path, metavar="FOLDER", help="keep compiled kernels here for the next call")
    parser.add_argument(
        "--done", type=Path, action="append", default=[], metavar="JSON", help="leave out what such a call has run"
    )
    parser.add_argument(
        "--quick", action="store_true", help="run tests without mutation only after they have caught a mutant"
    )
    parser.add_argument("--lenient", action="store_true", help="warnings fail no test: for other versions of packages")
    parser.add_argument("--json", type=Path, help="also write the results to this file, as they come")
    asked = parser.parse_args(argv)
    began = time.monotonic()
    try:
        rows = project.core()
        globs = asked.module or ["*"]
        modules = [module for module in rows if any(fnmatch.fnmatch(module, glob) for glob in globs)]
        sources = {module: (project.source / module).read_bytes() for module in modules}
        mutants = [mutant for module in modules for mutant in Finder(module, sources[module]).found]
        if asked.only:
            mutants = [mutant for mutant in mutants if mutant.id in asked.only]
            if missing := set(asked.only) - {mutant.id for mutant in mutants}:
                raise MutantsError(f"No such mutant: {', '.join(sorted(missing))}. --list prints all.")
        if asked.sample is not None:
            mutants = draw(mutants, asked.sample, asked.seed)
        if not mutants:
            raise MutantsError(f"No mutants: {', '.join(globs)} matches no module of the core with code in it.")
        done = {result["id"] for path in asked.done for result in json.loads(path.read_text("utf-8"))["results"]}
        mutants = [mutant for mutant in mutants if mutant.id not in done]
        if asked.list:
            for mutant in mutants:
                before, after = mutant.change(sources[mutant.module])
                print(f"{mutant.id}\n  - {before}\n  + {after}")
            return 0
        report, keep = partial(print, flush=True), partial(save, asked)
        hunt = Hunt(project, mutants, sources, asked.timeout, report, keep, asked.quick)
        options = {"jobs": asked.jobs, "warm": asked.warm, "lenient": asked.lenient}
        options |= {"deadline": began + 60 * asked.minutes}
        with interrupts() as interrupted:
            hunt.run(project, **options, interrupted=interrupted)
    except MutantsError as error:
        print(error, file=sys.stderr)
        return 2
    save(asked, hunt)
    print(summary(hunt))
    return 2 if hunt.failing else 130 if interrupted.is_set() else 0


if __name__ == "__main__":
    sys.exit(main())
