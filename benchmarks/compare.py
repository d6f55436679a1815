"""What got slower since the last release: its code and this working tree, timed in turns on this machine.

Seconds of different machines, or of one machine on different days, cannot be compared. So both versions run now, in a
process each: every round times a job with one version, then with the other, in an order that alternates, and ratios are
reported. `history/` keeps them by version.

Run: python -m benchmarks.compare [--base v0.2.0 | old.whl] [--rounds 7] [--save]     (make bench-compare)
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.compare_jobs import JOBS

ROOT = Path(__file__).parents[1]
HISTORY = Path(__file__).parent / "history"
SLOWER = 1.10  # a ratio above this is called slower, one below its inverse faster; noise stays within


def last_release(root: Path = ROOT) -> str:
    """The newest release that this tree descends from; before the first, the last commit of the version before."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=False).stdout.strip()

    if tag := git("describe", "--tags", "--abbrev=0", "--match", "v*", "HEAD"):
        return tag
    stated = "src/timesurf/__init__.py"
    line = next(line for line in (root / stated).read_text("utf-8").splitlines() if line.startswith("__version__"))
    raised = git("log", "-1", "--format=%H", f"-S{line}", "--", stated)
    before = raised and git("rev-parse", "--quiet", "--verify", "--short", f"{raised}^")
    if not before:
        sys.exit("There is no release yet (no tag v*): name what to compare with, --base COMMIT or --base OLD.whl.")
    print(f"There is no release yet (no tag v*): {before} is the last commit of the version before this one.")
    return before


@contextmanager
def unpacked(base: str) -> Iterator[Path]:
    """The package of a wheel, or of a commit or tag, in a temporary folder."""
    with tempfile.TemporaryDirectory() as place:
        if base.endswith(".whl"):
            with zipfile.ZipFile(base) as wheel:
                wheel.extractall(place)
            yield Path(place)
            return
        archive = Path(place) / "src.zip"
        words = ["git", "archive", "--format=zip", f"--output={archive}", base, "src"]
        if subprocess.run(words, cwd=ROOT, check=False).returncode:
            sys.exit(f"git knows no {base!r}.")
        with zipfile.ZipFile(archive) as source:
            source.extractall(place)
        yield Path(place) / "src"


@contextmanager
def version(source: Path) -> Iterator[Callable[[str], dict[str, Any]]]:
    """A process that times jobs with the package in a folder: call it with the name of a job."""
    words = [sys.executable, str(Path(__file__).with_name("compare_jobs.py"))]
    env = os.environ | {"PYTHONPATH": str(source)}
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as process:

        def time_it(job: str) -> dict[str, Any]:
            process.stdin.write(f"{job}\n")
            process.stdin.flush()
            answer = process.stdout.readline()
            return json.loads(answer) if answer else {"lacks": "the process ended"}

        yield time_it  # the process ends with its input


def ratios(old: Callable, new: Callable, jobs: Iterable[str], rounds: int, report=lambda _: None) -> dict[str, Any]:
    """Time of the new version as a multiple of the old one's, by job; a sentence where one of them lacks it."""
    found: dict[str, Any] = {}
    for job in jobs:
        report(job)
        times: dict[Callable, list[float]] = {old: [], new: []}
        for turn in range(rounds):
            for side in (old, new) if turn % 2 == 0 else (new, old):
                answer = side(job)
                if "lacks" in answer:
                    found[job] = f"{'the old' if side is old else 'this'} version cannot: {answer['lacks']}"
                    break
                times[side].append(answer["seconds"])
            if job in found:
                break
        else:
            found[job] = ratio(times[old], times[new])
    return found


def ratio(old: list[float], new: list[float]) -> float:
    """New times as a multiple of old ones: of the fastest, and the median over rounds, the one closer to 1.

    What slows one side for a moment moves one of the two. Only a difference that both show is one.

    >>> ratio([2.0, 2.0, 2.0], [3.0, 3.0, 9.0]), ratio([1.0, 2.0, 2.0], [2.0, 2.0, 2.0])
    (1.5, 1.0)
    """
    rounds = median(b / a for a, b in zip(old, new, strict=True))
    return sorted([1.0, rounds, min(new) / min(old)])[1]


def verdict(found: Any) -> str:
    """A word for a ratio.

    >>> verdict(1.2), verdict(1.0), verdict(0.5)
    ('slower', '', 'faster')
    """
    if isinstance(found, str):
        return found
    return "slower" if found > SLOWER else "faster" if found < 1 / SLOWER else ""


def main(words: list[str] | None = None) -> int:
    """Compare and print; 1 if a job got slower."""
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("--base", help="A tag, a commit or a wheel; default: the last release.")
    asked.add_argument("--rounds", type=int, default=7, help="Times per job and version.")
    asked.add_argument("--job", action="append", choices=JOBS, help="Only this job; may be repeated.")
    asked.add_argument("--save", action="store_true", help="Write the ratios to benchmarks/history/VERSION.json.")
    options = asked.parse_args(words)
    base = options.base or last_release()
    print(f"Comparing with {base}; an old version compiles its kernels first, which takes some minutes.", flush=True)
    with ExitStack() as stack:
        old = stack.enter_context(version(stack.enter_context(unpacked(base))))
        new = stack.enter_context(version(ROOT / "src"))
        found = ratios(old, new, options.job or JOBS, options.rounds, lambda job: print(f"  {job} ...", flush=True))
    print(f"\nTime as a multiple of that of {base}:")
    for job, ratio in found.items():
        print(
            f"  {job:30} {ratio:5.2f}  {verdict(ratio)}" if isinstance(ratio, float) else f"  {job:30}     -  {ratio}"
        )
    if options.save:
        save(base, found, options.rounds)
    return int("slower" in map(verdict, found.values()))


def save(base: str, found: dict[str, Any], rounds: int, folder: Path = HISTORY) -> Path:
    """Keep the ratios by version, with the machine that they were measured on."""
    from timesurf import __version__
    from timesurf.results import machine

    folder.mkdir(exist_ok=True)
    path = folder / f"{__version__}.json"
    about = {"base": Path(base).name, "rounds": rounds, "ratios": found, "machine": machine.describe()}
    path.write_text(json.dumps(about, indent=1) + "\n", "utf-8")
    print(f"Written to benchmarks/history/{path.name}")
    return path


if __name__ == "__main__":
    sys.exit(main())
