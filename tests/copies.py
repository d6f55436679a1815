"""Tests on copies of the source, one of them mutated; for `tests/mutants.py`.

A copy shares bytecode and compiled kernels with the copy that the unmutated tests have run in, by links, except
kernels that the mutation may be compiled into.
"""

import ast
import contextlib
import hashlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path


class MutantsError(Exception):
    """Why the tool does not start."""


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
import os, resource, sys
root, memory, cores, package, code = sys.argv[1:6]
del sys.argv[1:6]
resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
if cores: os.sched_setaffinity(0, {int(core) for core in cores.split()})
file = __import__(package).__file__
if not file.startswith(root): sys.exit(f"{file} was imported instead of the copy in {root}.")
exec(code)
"""
PYTEST = """
import faulthandler, json, os, pytest, time
limit = float(os.environ.get("EACH", 0))  # seconds that one test may take
heard = os.fdopen(os.dup(2), "w")  # pytest keeps what tests print
class Notes:
    def __init__(self, file): self.file = file
    def note(self, what, name, seconds=0): print(json.dumps([what, name, seconds]), file=self.file, flush=True)
    def pytest_runtest_logstart(self, nodeid):
        self.began = time.monotonic()
        self.note("begun", nodeid)
        if limit: faulthandler.dump_traceback_later(limit, exit=True, file=heard)
    def pytest_runtest_logreport(self, report):
        if report.passed and report.when == "call": self.note("passed", report.nodeid, time.monotonic() - self.began)
        self.pytest_collectreport(report)
    def pytest_collectreport(self, report):
        if report.failed: self.note("failed", report.nodeid)
    def pytest_sessionfinish(self): faulthandler.cancel_dump_traceback_later()
with open(os.environ.get("NOTES", os.devnull), "w") as file:
    sys.exit(pytest.main(sys.argv[1:], plugins=[Notes(file)]))
"""
MEMORY = 8 << 30  # bytes of address space: a mutant must not take the machine down


class Noted:
    """What a run of pytest has written down, up to its end, however it ended."""

    def __init__(self, path):
        lines = path.read_text("utf-8").splitlines(keepends=True) if path.exists() else []
        notes = [json.loads(line) for line in lines if line.endswith("\n")]
        self.begun = [name for what, name, _ in notes if what == "begun"]
        self.passed = {name: seconds for what, name, seconds in notes if what == "passed"}
        self.failed = list(dict.fromkeys(name for what, name, _ in notes if what == "failed"))

    @property
    def culprit(self):
        """The test that ended a run which did not pass: the first that failed, or the last begun."""
        return self.failed[0] if self.failed else self.begun[-1] if self.begun else ""


class Runner:
    """Runs tests on copies of the source, several at a time; `stop` ends them all."""

    def __init__(self, project, folder, warm=None, jobs=1, lenient=False):
        self.project, self.folder, self.lenient = project, Path(folder).resolve(), lenient
        self.places = queue.SimpleQueue()  # cores of each run
        cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else []
        for n in range(jobs):
            self.places.put(" ".join(str(cores[k % len(cores)]) for k in (n, n + 1) if cores))
        self.reached = imports(project)
        self.lock, self.running, self.stopped = threading.Lock(), set(), False
        self.left_out = {}  # of each row: tests that fail without any mutation
        self.whole = (warm.resolve() if warm else self.folder) / f"whole-{self.fingerprint()}"
        if not self.whole.exists():
            shutil.copytree(project.root / "src", self.whole, ignore=shutil.ignore_patterns("__pycache__"))

    def fingerprint(self):
        """A name for the source as it is: kernels of another one are not to be used again."""
        digest = hashlib.sha256()
        for path in sorted(self.reached):
            digest.update(f"{path.relative_to(self.project.root)} {path.stat().st_size};".encode() + path.read_bytes())
        return digest.hexdigest()[:16]

    def test(self, tree, tests, limit=None, *, without=(), notes=None, every=False, collect=False, each=0):
        """How the tests end on this copy (passed, failed, timed out), after how long, and what they print.

        `without` are some of them that are not run. With `every` all others are, even if one fails; with `collect` none
        is, but files are imported. Which begin, pass and fail is written to the file `notes`. A test that takes longer
        than `each` seconds ends the run.
        """
        root = self.project.root
        words = ["-q", "-p", "no:cacheprovider", "--rootdir", str(root), "--doctest-modules"]
        words += [path for path in tests if path not in {str(root / one) for one in without}]
        words += [word for one in without for word in ("--deselect", one)]
        settings = root / "pyproject.toml"  # pytest does not find it: tests and copy have no folder in common
        if settings.exists():
            words += ["-c", str(settings)]
        if self.lenient:
            words += ["-W", "default"]
        words.append("--continue-on-collection-errors" if every else "-x")
        words += ["--collect-only"] if collect else []
        variables = {"NOTES": str(notes)} if notes else {}
        return self.run(tree, PYTEST, words, limit, **variables, EACH=str(each))

    def run(self, tree, code, words=(), limit=None, **variables):
        """Run some code on this copy; how, after how long, what it prints."""
        place = self.places.get()
        try:
            return self.run_at(place, tree, code, words, limit, variables)
        finally:
            self.places.put(place)

    def run_at(self, place, tree, code, words, limit, variables):
        words = [str(tree), str(MEMORY), place, self.project.package, code, *words]
        environment = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "HYPOTHESIS_PROFILE")}
        environment |= {"PYTHONPATH": str(tree), "HYPOTHESIS_STORAGE_DIRECTORY": str(self.folder / "hypothesis")}
        environment |= {"CUDA_VISIBLE_DEVICES": "", **variables}
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

    def prepare(self):
        """Compile what most tests need; how many seconds it takes, or took when it was compiled."""
        how, seconds, said = self.run(self.whole, self.project.prepare)
        if how != "passed":
            raise MutantsError(f"{self.project.prepare!r} fails:\n{said[-3000:]}")
        noted = self.whole / "compiling_s.txt"  # with kernels that are kept it takes no time, and with others it does
        if not noted.exists():
            noted.write_text(f"{seconds}", "utf-8")
        return (max(seconds, float(noted.read_text("utf-8"))),)

    def unmutated(self, row, modules):
        """How the tests of a row end without mutation; what they compile stays in the whole copy.

        Tests that fail judge no mutant; the others do, if there are any and no doctest fails.
        """
        notes = Path(tempfile.mkdtemp(dir=self.folder)) / "notes.json"
        how, seconds, said = self.test(self.whole, self.tests(self.whole, row, modules), notes=notes, every=True)
        if how != "passed":
            passed, failed = (noted := Noted(notes)).passed, noted.failed
            here = {Path(path).relative_to(self.project.root).as_posix() for path in self.project.tests(row)}
            if passed and failed and all(one.partition("::")[0] in here for one in failed):
                self.left_out[row], how = failed, "passed"
        return how, seconds, said

    def confirm(self, names):
        """How many seconds each of these tests takes without mutation, for those that pass.

        Names are those of pytest; that of a file asks only whether it can be imported.
        """
        seconds, notes = {}, Path(tempfile.mkdtemp(dir=self.folder)) / "notes.jsonl"
        files = [name for name in names if "::" not in name]
        if files:
            paths = [str(self.project.root / name) for name in files]
            how, _, _ = self.test(self.whole, paths, notes=notes, every=True, collect=True)
            failed = Noted(notes).failed
            if how == "passed" or failed:
                seconds |= {name: 0.0 for name in files if name not in failed}
        if len(files) < len(names):
            asked = {self.asked(name) for name in names if "::" in name}
            self.test(self.whole, sorted(asked), notes=notes, every=True)
            passed = Noted(notes).passed
            seconds |= {name: passed[name] for name in names if name in passed}
        return (seconds,)

    def asked(self, name):
        """How pytest is asked for a test of this name; that of an example in a docstring begins with the colons."""
        if not name.startswith("::"):
            return str(self.project.root / name)
        path = self.whole.joinpath(*name[2:].split("."))
        while not (path.with_suffix(".py").exists() or (path / "__init__.py").exists()):
            path = path.parent
        return str(path.with_suffix(".py") if path.with_suffix(".py").exists() else path / "__init__.py")

    def mutated(self, mutant, row, limit, each=0):
        """How the tests of a mutant end, after how long, and which of them ended it; the first file if none began."""
        tree = Path(tempfile.mkdtemp(dir=self.folder))
        notes = Path(tempfile.mkdtemp(dir=self.folder)) / "notes.jsonl"
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
            tests, without = self.tests(tree, row, [mutant.module]), self.left_out.get(row, ())
            how, seconds, said = self.test(tree, tests, limit, without=without, notes=notes, each=each)
            if how == "failed" and "Timeout (" in said and not Noted(notes).failed:
                how = "timed out"
            first = Path(tests[0]).relative_to(self.project.root).as_posix()
            return how, seconds, "" if how == "passed" else Noted(notes).culprit or first
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
