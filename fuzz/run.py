"""Fuzz what timesurf takes from outside: recordings, data sets, camera files, configurations, models, live input.

Each target runs in a separate process, one after another. An input that ends the process, or takes longer than ten
seconds, is a finding like any other. Findings are stored, and can be tried again with --again FILE.

    python fuzz/run.py --seconds 60                        every target for a minute
    python fuzz/run.py --target npz --runs 100000
    python fuzz/run.py --inputs 10000000 --json fuzz.json  ten million inputs over all targets
    python fuzz/run.py --target npz --again fuzz/found/npz/0a1b2c3d4e5f

Exits with status 1 if anything was found. With atheris (pip install 'timesurf[fuzz]') inputs are chosen by coverage;
without it, or with --plain, the same changes are made at random.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from importlib.util import find_spec
from pathlib import Path
from subprocess import PIPE, STDOUT
from typing import Any

from rich.console import Console
from rich.table import Table

from targets import TARGETS
from timesurf.results import machine
from trial import FACTOR

HERE = Path(__file__).parent
HANGS = 10  # seconds for one input
MOST_DEATHS = 10  # of a target's process, before the target is skipped
INPUTS_PER_PROCESS = 200_000  # libFuzzer's own memory grows, and counts towards the limit for inputs


def main() -> int:
    """Read the arguments, run the targets, print and store the findings."""
    given = _arguments()
    names = given.target or list(TARGETS)
    if given.again:
        TARGETS[names[0]].read(_placed(given.again, names[0]))
        print("Read without an error.")
        return 0
    runs = given.runs if given.inputs is None else -(-given.inputs // len(names))
    results = {}
    for name in names:
        results[name] = fuzz(
            name, runs=runs, seconds=given.seconds, seed=given.seed, plain=given.plain, keep=given.keep
        )
        _print(name, results[name])
        if given.json:
            about = {"seed": given.seed, "guided": not given.plain, "machine": machine.describe(), "targets": results}
            given.json.write_text(json.dumps(about, indent=1) + "\n", "utf-8")
    Console().print(table(results))
    return int(any(result["findings"] for result in results.values()))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", action="append", choices=TARGETS, metavar="NAME", help=f"{', '.join(TARGETS)}; all")
    much = parser.add_mutually_exclusive_group()
    much.add_argument("--seconds", type=float, help="how long each target runs; default: 30")
    much.add_argument("--runs", type=int, help="inputs per target")
    much.add_argument("--inputs", type=int, help="inputs of all targets together")
    parser.add_argument("--seed", type=int, default=0, help="of the random changes; default: 0")
    parser.add_argument("--plain", action="store_true", help="without atheris")
    parser.add_argument("--keep", type=Path, default=HERE / "found", help="folder for findings; default: fuzz/found")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to this file")
    parser.add_argument("--again", type=Path, metavar="FILE", help="read one input with the target, and exit")
    given = parser.parse_args()
    if given.again and len(given.target or []) != 1:
        parser.error("--again needs one --target")
    if given.seconds is None and given.runs is None and given.inputs is None:
        given.seconds = 30.0
    given.plain = given.plain or find_spec("atheris") is None
    return given


def _placed(file: Path, name: str) -> Path:
    """A copy of the input, under the name that its target expects."""
    return Path(shutil.copy(file, Path(tempfile.mkdtemp()) / TARGETS[name].file))


def fuzz(name: str, *, runs: int | None, seconds: float | None, seed: int, plain: bool, keep: Path) -> dict[str, Any]:
    """Run one target on the wanted number of inputs, in a new process whenever an input ended the last one."""
    total: dict[str, Any] = {
        "inputs": 0, "refused": 0, "findings": {}, "slowest_s": 0.0, "memory_beyond_file": 0,
        "memory_allowed": f"{FACTOR} x file + {TARGETS[name].spare >> 20} MiB", "seeds": [], "ended_by_itself": 0,
    }  # fmt: skip
    began, deaths, process = time.monotonic(), 0, 0
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None, prefix="fuzz.") as place:
        while deaths < MOST_DEATHS:
            left = None if seconds is None else seconds - (time.monotonic() - began)
            more = INPUTS_PER_PROCESS if runs is None else min(runs - total["inputs"], INPUTS_PER_PROCESS)
            if (left is not None and left <= 0) or more <= 0:
                break
            folder = Path(place) / str(process)
            folder.mkdir()
            total["seeds"].append(seed + process)
            died = _process(name, folder, more, left, seed + process, plain)
            _add(total, folder, keep / name)
            process += 1
            if died is None:
                continue
            deaths += 1
            total["inputs"] += 1
            if died.startswith("not done") or repeats(name, folder / TARGETS[name].file):
                total["findings"].setdefault(died, _kept(folder / TARGETS[name].file, keep / name))
            else:
                total["ended_by_itself"] += 1
        else:
            total["findings"][f"skipped: its process died {deaths} times"] = str(keep / name)
    total["seconds"] = time.monotonic() - began
    total["inputs_per_s"] = total["inputs"] / total["seconds"]
    return total


def repeats(name: str, file: Path) -> bool:
    """Whether an input ends a new process too. If not, the fuzzer did: its own memory counts towards the limit."""
    code = (
        f"import sys; sys.path.insert(0, {str(HERE)!r}); from pathlib import Path; import targets\n"
        f"try: targets.TARGETS[{name!r}].read(Path({str(_placed(file, name))!r}))\n"
        "except targets.REFUSED: pass"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=60).returncode != 0


def _process(name: str, folder: Path, runs: int, seconds: float | None, seed: int, plain: bool) -> str | None:
    """Run one process for the target; returns how it died, if it did."""
    command = [sys.executable, str(HERE / "worker.py"), name, str(folder), "--seed", str(seed)]
    command += ["--plain"] * plain
    command += ["--runs", str(runs)]
    command += [] if seconds is None else ["--seconds", str(seconds)]
    output: deque[str] = deque(maxlen=50)  # libraries may print a line for every input
    quiet = {**os.environ, "RUST_BACKTRACE": "0"}
    with subprocess.Popen(command, stdout=PIPE, stderr=STDOUT, text=True, errors="replace", env=quiet) as process:
        listener = threading.Thread(target=output.extend, args=(process.stdout,))
        listener.start()
        count, since = b"", time.monotonic()
        while process.poll() is None:
            time.sleep(0.05)
            now = (folder / "count").read_bytes() if (folder / "count").exists() else b""
            if now != count or not int.from_bytes(now, "little"):  # the first input waits for imports
                count, since = now, time.monotonic()
            if time.monotonic() - since > HANGS:
                process.kill()
                listener.join()
                return f"not done after {HANGS} s"
        listener.join()
    if process.returncode == 0:
        return None
    lines = [line for line in output if line.strip()]
    if not (folder / "figures.json").exists():  # it never started: the fuzzer is broken
        raise SystemExit(f"{name}: {''.join(lines[-20:])}")
    last = next((line for line in reversed(lines) if "panicked" in line or "Error" in line), lines[-1] if lines else "")
    return f"process ended with {process.returncode}: {last.strip()[:120]}"


def _add(total: dict[str, Any], folder: Path, keep: Path) -> None:
    """Add the figures that a process wrote."""
    total["inputs"] += int.from_bytes((folder / "count").read_bytes(), "little")
    figures = json.loads((folder / "figures.json").read_text("utf-8"))
    total["refused"] += figures["refused"]
    for name in ("slowest_s", "memory_beyond_file"):
        total[name] = max(total[name], figures[name])
    for what, file in figures["findings"].items():
        total["findings"][what] = _kept(folder / file, keep)


def _kept(file: Path, keep: Path) -> str:
    keep.mkdir(parents=True, exist_ok=True)
    return str(shutil.copy(file, keep / hashlib.sha256(file.read_bytes()).hexdigest()[:12]))


def _print(name: str, result: dict[str, Any]) -> None:
    print(f"{name}: {result['inputs']:,} inputs, {result['inputs_per_s']:,.0f}/s", flush=True)
    for what, file in result["findings"].items():
        print(f"  {what}\n    {file}", flush=True)


def table(results: dict[str, Any]) -> Table:
    """Figures, one target per line."""
    made = Table("target", box=None)
    for title in ("inputs", "refused", "crashes", "slowest", "memory beyond the file", "allowed", "inputs/s"):
        made.add_column(title, justify="right")
    for name, result in results.items():
        made.add_row(
            name, f"{result['inputs']:,}", f"{result['refused'] / max(result['inputs'], 1):.0%}",
            str(len(result["findings"])), f"{1e3 * result['slowest_s']:.0f} ms",
            f"{result['memory_beyond_file'] / 1e3:,.0f} kB", result["memory_allowed"], f"{result['inputs_per_s']:,.0f}",
        )  # fmt: skip
    return made


if __name__ == "__main__":
    sys.exit(main())
