"""Mutation testing of the core: small changes to the source, one at a time, and whether the nearest tests notice.

    python -m tests.mutants --sample 200 --json mutants.json
    python -m tests.mutants --module 'engines/*' --list
    python -m tests.mutants --only 'rule.py:154:21:lt->le'

A mutant swaps a comparison, an arithmetic operator, `and` and `or` or min and max, changes a number or a truth value,
removes `not`, `-` or `~`, or drops a statement. It is caught if the tests of its module in `NEAREST`, or the doctests
of the module itself, fail or run past the time limit. Not mutated: strings, annotations, decorators, `__repr__` and
`__str__`, whatever is raised, warned, logged or reported as progress, and `strict=` of zip, which is an assertion.

Every mutant runs in a copy of src of its own, so the checkout is never changed. The copy shares bytecode and compiled
kernels with a copy that the unmutated tests have run in, except kernels that the mutation may be compiled into.

Why no ready-made tool: mutmut mutates no function with a decorator, so no numba kernel, and its trampolines could not
be compiled into one; cosmic-ray changes the file in place and leaves the caches alone. Numba recompiles a cached
kernel when its own file changes, not when a function or constant that it takes from another file does, and every
such mutant would seem to survive.
"""

import argparse
import ast
import contextlib
import fnmatch
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from tests.mutations import Finder
from tests.nearest import NEAREST, OUTSIDE, REASONS


class MutantsError(Exception):
    """Why the tool does not start."""


@dataclass(frozen=True)
class Project:
    """Where source and tests lie, and which tests are nearest to which module."""

    root: Path
    package: str
    nearest: dict[str, list[str]]
    outside: list[str]

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


THIS = Project(Path(__file__).resolve().parents[1], "timesurf", NEAREST, OUTSIDE)


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
    return sorted(turns[:count], key=lambda mutant: (mutant.module, mutant.start, mutant.kind))


def imports(project):
    """The modules of the package that each module imports, itself included, directly or through others."""
    direct = {}
    for path in project.source.rglob("*.py"):
        named = set()
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                named |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        files = {project.root / "src" / (name.replace(".", "/") + ".py") for name in named}
        direct[path] = {file for file in files if file.is_relative_to(project.source) and file.exists()}
    reached = {}
    for path in direct:
        todo, reached[path] = [path], set()
        while todo:
            if (file := todo.pop()) not in reached[path]:
                reached[path].add(file)
                todo += direct[file]
    return reached


LIMITED = """
import resource, runpy, sys
root, memory = sys.argv[1], int(sys.argv[2])
del sys.argv[1:3]
resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
package = __import__(sys.argv.pop(1))
if not package.__file__.startswith(root): sys.exit(f"{package.__file__} was imported instead of the copy in {root}.")
runpy.run_module("pytest", run_name="__main__", alter_sys=True)
"""
GRACE = 10  # seconds that every run may take longer than the limit
MEMORY = 8 << 30  # bytes of address space: a mutant must not take the machine down


class Runner:
    """Runs tests on copies of the source, several at a time; `stop` ends them all."""

    def __init__(self, project, folder, warm=None):
        self.project, self.folder = project, Path(folder).resolve()
        self.reached = imports(project)
        self.lock, self.running, self.stopped = threading.Lock(), set(), False
        self.whole = (warm.resolve() if warm else self.folder) / f"whole-{self.fingerprint()}"
        if not self.whole.exists():
            shutil.copytree(project.root / "src", self.whole, ignore=shutil.ignore_patterns("__pycache__"))

    def fingerprint(self):
        """A name for the source as it is: kernels of another one are not to be used again."""
        digest = hashlib.sha256()
        for path in sorted(self.reached):
            digest.update(f"{path.relative_to(self.project.root)} {path.stat().st_size};".encode() + path.read_bytes())
        return digest.hexdigest()[:16]

    def test(self, tree, tests, limit=None):
        """How the tests end on this copy (passed, failed, timed out), after how long, and what they print."""
        words = [str(tree), str(MEMORY), self.project.package, "-x", "-q", "-p", "no:cacheprovider"]
        words += ["--rootdir", str(self.project.root), "--doctest-modules", *tests]
        environment = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "HYPOTHESIS_PROFILE")}
        environment |= {"PYTHONPATH": str(tree), "HYPOTHESIS_STORAGE_DIRECTORY": str(self.folder / "hypothesis")}
        began = time.monotonic()
        with tempfile.TemporaryFile(dir=self.folder) as out:
            with self.lock:
                if self.stopped:
                    raise KeyboardInterrupt
                process = subprocess.Popen(
                    [sys.executable, "-c", LIMITED, *words],
                    cwd=self.project.root, env=environment, stdin=subprocess.DEVNULL, stdout=out,
                    stderr=subprocess.STDOUT, start_new_session=True,
                )  # fmt: skip
                self.running.add(process)
            try:
                how = "failed" if process.wait(limit) else "passed"
            except subprocess.TimeoutExpired:
                how = "timed out"
            finally:
                self.end(process)
            out.seek(0)
            return how, time.monotonic() - began, out.read().decode(errors="replace")

    def end(self, process):
        """End a run and all that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        with self.lock:
            self.running.discard(process)

    def stop(self):
        with self.lock:
            self.stopped, running = True, list(self.running)
        for process in running:
            self.end(process)

    def tests(self, tree, row, modules):
        return [*self.project.tests(row), *(str(tree / self.project.package / module) for module in modules)]

    def unmutated(self, row, modules):
        """Seconds that the tests of a row take; what they compile stays in the whole copy."""
        how, seconds, said = self.test(self.whole, self.tests(self.whole, row, modules))
        if how != "passed":
            raise MutantsError(f"The tests of {row} fail without any mutation:\n{said[-3000:]}")
        return seconds

    def mutated(self, mutant, row, limit):
        """How the tests of a mutant end, and after how long."""
        tree = Path(tempfile.mkdtemp(dir=self.folder))
        try:
            # Links suffice: bytecode and kernels are replaced, never written into.
            shutil.copytree(self.whole, tree, copy_function=os.link, dirs_exist_ok=True)
            path = tree / self.project.package / mutant.module
            about = path.stat()
            source = path.read_bytes()
            path.unlink()
            path.write_bytes(mutant.apply(source))
            os.utime(path, (about.st_atime, about.st_mtime + 10))  # else bytecode of the same second and size is kept
            for kernel in self.stale(mutant):
                beside = tree / kernel.parent.relative_to(self.project.root / "src") / "__pycache__"
                for cached in beside.glob(f"{kernel.stem}.*.nb[ic]"):
                    cached.unlink()
            return self.test(tree, self.tests(tree, row, [mutant.module]), limit)[:2]
        finally:
            shutil.rmtree(tree, ignore_errors=True)

    @property
    def compiled(self):
        """Files with kernels: those that the unmutated tests have left compiled code of."""
        source = self.project.root / "src"
        beside = {path: self.whole / path.parent.relative_to(source) / "__pycache__" for path in self.reached}
        return {path for path, cache in beside.items() if any(cache.glob(f"{path.stem}.*.nbi"))}

    def stale(self, mutant):
        """Files with kernels that may contain the mutated code: those that import it, unless it runs in Python only.

        A function of a module without kernels does, but next to kernels it may compute what they are compiled with.
        """
        mutated, compiled = self.project.source / mutant.module, self.compiled
        if mutant.inside and mutated.parent not in {path.parent for path in compiled}:
            return []
        return sorted(path for path in compiled if mutated in self.reached[path])


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


def completed(waiting, interrupted):
    """Futures as they end, until interrupted; wakes up often, since signals are handled in the main thread alone."""
    while waiting:
        done, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
        if interrupted.is_set():
            raise KeyboardInterrupt
        yield from done


def hunt(project, chosen, sources, *, jobs, factor, warm, report, interrupted):
    """Run every chosen mutant; results as they come, and whether all were run."""
    rows, results = project.core(), []
    if warm:
        warm.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="mutants-", dir=warm) as folder:  # links cross no file systems
        runner = Runner(project, folder, warm)
        pool = ThreadPoolExecutor(jobs)
        try:
            seconds = {}
            for row in dict.fromkeys(rows[mutant.module] for mutant in chosen):
                modules = sorted({mutant.module for mutant in chosen if rows[mutant.module] == row})
                (whole,) = completed({pool.submit(runner.unmutated, row, modules)}, interrupted)
                seconds[row] = whole.result()
                report(f"{row}: {seconds[row]:.0f} s without mutation")
            compiling = max(seconds.values(), default=0)  # the slowest run has compiled all that it needed
            waiting = {}
            for mutant in chosen:
                limit = factor * (seconds[rows[mutant.module]] + bool(runner.stale(mutant)) * compiling) + GRACE
                waiting[pool.submit(runner.mutated, mutant, rows[mutant.module], limit)] = mutant
            for done in completed(set(waiting), interrupted):
                mutant, (how, took) = waiting[done], done.result()
                before, after = mutant.change(sources[mutant.module])
                results.append({"id": mutant.id, "module": mutant.module, "ended": how, "caught": how != "passed"})
                results[-1] |= {"seconds": round(took, 1), "before": before, "after": after}
                results[-1] |= {"reason": REASONS.get((mutant.module, after), "")}
                verdict = "SURVIVED" if how == "passed" else f"caught, {how}"
                report(f"{len(results)}/{len(chosen)}  {mutant.id}  {verdict}, {took:.0f} s")
        except KeyboardInterrupt:
            report("Interrupted: what was found so far.")
        finally:
            runner.stop()
            pool.shutdown(cancel_futures=True)
    return results, len(results) == len(chosen)


def summary(results):
    """The share caught by module, then every survivor with its change."""
    tally = {}
    for result in sorted(results, key=lambda result: result["module"]):
        tally.setdefault(result["module"], []).append(result["caught"])
    lines = [f"{module:32} {sum(caught):4} of {len(caught):4} caught" for module, caught in tally.items()]
    total = sum(result["caught"] for result in results)
    lines.append(f"{'all':32} {total:4} of {len(results):4} caught: {total / max(len(results), 1):.1%}")
    for result in results:
        if not result["caught"]:
            reason = result["reason"] and f"\n  Cannot be caught: {result['reason']}."
            lines.append(f"\n{result['id']}\n  - {result['before']}\n  + {result['after']}{reason}")
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
    parser.add_argument("--warm", type=Path, metavar="FOLDER", help="keep compiled kernels here for the next call")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    asked = parser.parse_args(argv)
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
        if asked.list:
            for mutant in mutants:
                before, after = mutant.change(sources[mutant.module])
                print(f"{mutant.id}\n  - {before}\n  + {after}")
            return 0
        options = {"jobs": asked.jobs, "factor": asked.timeout, "warm": asked.warm}
        options |= {"report": lambda line: print(line, flush=True)}
        with interrupts() as interrupted:
            results, complete = hunt(project, mutants, sources, **options, interrupted=interrupted)
    except MutantsError as error:
        print(error, file=sys.stderr)
        return 2
    print(summary(results))
    if asked.json:
        caught = sum(result["caught"] for result in results)
        about = {"mutants": len(results), "caught": caught, "seed": asked.seed, "complete": complete}
        asked.json.write_text(json.dumps(about | {"results": results}, indent=1) + "\n")
    return 0 if complete else 130


if __name__ == "__main__":
    sys.exit(main())
