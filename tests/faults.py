"""Real faults, injected into training runs, and checks of what is left afterwards.

    python -m tests.faults --times 50 --json faults.json

Each fault is a function that injects it once, asserts that nothing was lost and returns how the run ended;
`tests/test_faults.py` calls each a few times. A fault that cannot be injected on this machine (a small file system
needs the right to mount one) is skipped with a reason.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

from tests import signals
from timesurf import ModelFileError, Network
from timesurf.datasets import sentences
from timesurf.io import npz
from timesurf.results import machine


class SkippedError(Exception):
    """This machine does not allow the fault."""


def recordings(seed):
    """What is learned from: 64 checkpoints in about a second, so most moments of a run fall between two of them."""
    return sentences.make(160, seed=seed, duration="10 ms")


class Runs:
    """One training, in batches or online, and how it ends without a fault."""

    def __init__(self, folder, *, batch_size):
        self.folder, self.batch_size = Path(folder), batch_size
        self.started = []  # processes: an error may leave one behind, which `end` ends
        self.data = self.folder / "data.npz"
        npz.write(self.data, recordings(seed=0))
        self.right = self.finish(self.folder / "right")
        self.last = self.reached(self.folder / "right")
        self.number = 0

    def command(self, place, *more):
        train = [
            "train",
            self.data,
            "--preset",
            "sentences",
            "--model",
            place / "m.tsf",
            "--passes",
            4,
            "--checkpoint-every",
            10,
        ]
        batches = ["--batch-size", self.batch_size] if self.batch_size else []
        return [sys.executable, "-m", "timesurf", *map(str, [*train, *batches, "--validation", 0.1, *more])]

    def start(self, place, *more, threads=2):
        place.mkdir(exist_ok=True)
        environment = os.environ | {"NUMBA_NUM_THREADS": str(threads)}
        out = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace"}
        self.started.append(subprocess.Popen(self.command(place, *more), env=environment, **out))
        return self.started[-1]

    def end(self):
        """End what still runs."""
        for process in self.started:
            process.kill()
            process.wait()

    def finish(self, place, *more, threads=2):
        """The bytes of the model that it ends with."""
        process = self.start(place, *more, threads=threads)
        try:
            output, _ = process.communicate(timeout=300)
        finally:
            process.kill()
        assert process.returncode == 0, output
        return (place / "m.tsf").read_bytes()

    def reached(self, place):
        """Recordings that the newest checkpoint has learned from."""
        return max((int(path.stem.split("-")[1]) for path in place.rglob("checkpoint-*.tsf")), default=0)

    def moment(self, process, place, rng):
        """Wait until a random moment of a run, however fast this machine is at the time."""
        wanted = rng.integers(-self.last // 10, self.last - 10)
        while self.reached(place) < wanted and process.poll() is None:
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.05) if wanted > 0 else rng.uniform(0, 1))

    def place(self):
        self.number += 1
        return self.folder / f"run{self.number}"

    def resumes_to_the_same(self, place):
        for path in place.rglob("*.tsf"):
            Network.load(path)  # each of them is complete
        found = list(place.rglob("checkpoint-*.tsf"))
        assert self.finish(place, "--resume", threads=1) == self.right
        shutil.rmtree(place)
        return "resumed" if found else "no checkpoint yet, started again"


def killed(runs, rng):
    """kill -9 at a random moment; resumed on another number of threads"""
    place = runs.place()
    process = runs.start(place)
    runs.moment(process, place, rng)
    process.kill()
    process.communicate()
    how = runs.resumes_to_the_same(place)
    return how if process.returncode == -signal.SIGKILL else "it had ended already"


def killed_again_and_again(runs, rng):
    """kill -9, and again at a random moment of the resumed run, three times"""
    place = runs.place()
    for n in range(3):
        process = runs.start(place, *(["--resume"] if n else []))
        runs.moment(process, place, rng)
        process.kill()
        process.communicate()
    return runs.resumes_to_the_same(place)


def killed_while_writing(runs, rng):
    """kill -9 of a process that writes one model file over and over"""
    place = runs.place()
    place.mkdir()
    (place / "m.tsf").write_bytes(runs.right)
    path = str(place / "m.tsf")
    code = f"""
from timesurf import Network
network = Network.load({path!r})
print("on", flush=True)
while True: network.save({path!r})
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    runs.started.append(process)
    process.stdout.readline()
    time.sleep(rng.uniform(0, 0.1))
    process.kill()
    process.communicate()
    assert (place / "m.tsf").read_bytes() == runs.right
    half = [name for name in os.listdir(place) if name != "m.tsf"]
    shutil.rmtree(place)
    return "while a file was written" if half else "between two files"


def interrupted_twice(runs, rng):
    """Ctrl-C twice, at random moments"""
    place = runs.place()
    process = runs.start(place)
    runs.moment(process, place, rng)
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(rng.uniform(0, 0.2))
    output, _ = process.communicate(timeout=300)
    assert process.returncode in (0, 130, -signal.SIGINT), output
    return runs.resumes_to_the_same(place)


@contextmanager
def damaged_data(runs):
    """The data file is restored afterwards."""
    whole = runs.data.read_bytes()
    try:
        yield len(whole)
    finally:
        runs.data.write_bytes(whole)


def truncated(runs, rng):
    """the data file cut short while it is mapped into memory"""
    place = runs.place()
    with damaged_data(runs) as size:
        process = runs.start(place)
        runs.moment(process, place, rng)
        os.truncate(runs.data, int(rng.integers(0, size)))
        process.communicate(timeout=300)  # ends with a bus error, or does not read what is gone
        code = process.returncode
        assert code in (0, 2, -signal.SIGBUS)
        if code != 0:
            process = runs.start(place, "--resume")
            output, _ = process.communicate(timeout=300)
            assert process.returncode == 2, output
            assert "data.npz" in output
    how = {0: "not read", 2: "an error", -signal.SIGBUS: "bus error"}[code]
    return f"{how}, {runs.resumes_to_the_same(place)}"


def replaced(runs, rng):
    """the data file replaced by another while it is mapped"""
    place = runs.place()
    with damaged_data(runs):
        process = runs.start(place)
        runs.moment(process, place, rng)
        npz.write(runs.data, recordings(seed=1))
        output, _ = process.communicate(timeout=300)
        assert process.returncode == 0, output
        if (place / "m.tsf").read_bytes() != runs.right:  # a file that was opened before still exists for the process
            shutil.rmtree(place)
            return "before it was opened: learned from the other file"
        process = runs.start(place, "--resume")
        output, _ = process.communicate(timeout=300)
        assert process.returncode == 2
        assert "Cannot resume: recordings" in " ".join(output.split())
    return runs.resumes_to_the_same(place)


def overwritten(runs, rng):
    """the events in the data file overwritten with noise while it is mapped"""
    place = runs.place()
    with zipfile.ZipFile(runs.data) as archive:
        first = min(member.header_offset for member in archive.infolist()) + 512
        last = archive.start_dir
    with damaged_data(runs):
        process = runs.start(place)
        runs.moment(process, place, rng)
        with runs.data.open("r+b") as file:
            file.seek(first)
            file.write(rng.bytes(last - first))
        output, _ = process.communicate(timeout=300)
        assert process.returncode in (0, 2), output
        assert process.returncode == 0 or "written to" in " ".join(output.split()) or "data.npz" in output, output
    if process.returncode == 0:
        assert (place / "m.tsf").read_bytes() == runs.right
        shutil.rmtree(place)
        return "too late"
    return f"an error, {runs.resumes_to_the_same(place)}"


def out_of_memory(runs, rng):
    """no more memory for the threads of a training, at a random amount"""
    place = runs.place()
    place.mkdir()
    # A short training first: OpenBLAS, when it is loaded and cannot start its own threads, hangs.
    code = f"""
import resource, sys
from timesurf import cli
from timesurf.datasets import sentences
from timesurf.presets import SENTENCES
data = sentences.make(40, seed=0, duration="20 ms")
SENTENCES.network(data, sentences.TASK1, 0).fit(data, passes=1, batch_size=20)
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + {int(rng.uniform(0, 60e6))},) * 2)
sys.argv = ["timesurf", *{runs.command(place)[3:]!r}]
cli.main()
"""
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert output.returncode != 0 or (place / "m.tsf").read_bytes() == runs.right
    assert not (place / "m.tsf").exists() or (place / "m.tsf").read_bytes() == runs.right
    how = "an error" if output.returncode else "enough"
    return f"{how}, {runs.resumes_to_the_same(place)}"


@contextmanager
def small_disk(place, size):
    """A file system of this many bytes, if this user may mount one."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        place.rmdir()
        raise SkippedError("mounting a small file system needs root")
    try:
        yield
    finally:
        subprocess.run(["umount", str(place)], check=True)
        place.rmdir()


def full_disk(runs, rng):
    """a disk that is full after some kilobytes, while checkpoints and model are written"""
    place = runs.place()
    with small_disk(place, int(rng.integers(4, 40)) << 10):
        process = runs.start(place)
        output, _ = process.communicate(timeout=120)
        assert process.returncode in (0, 2), output
        assert process.returncode == 0 or "No space left" in output, output
        for path in place.rglob("*.tsf"):
            Network.load(path)
        assert {path.name for path in place.rglob(".*")} <= {".lock"}  # no incomplete files
        subprocess.run(["mount", "-o", "remount,size=8m", str(place)], check=True)
        assert runs.finish(place, "--resume") == runs.right
        return "an error, resumed" if process.returncode else "enough"


def read_only(runs, rng):
    """a disk that becomes read-only in the middle"""
    place = runs.place()
    with small_disk(place, 8 << 20):
        process = runs.start(place)
        runs.moment(process, place, rng)
        done = subprocess.run(["mount", "-o", "remount,ro", str(place)], capture_output=True, check=False).returncode
        output, _ = process.communicate(timeout=120)
        assert process.returncode in (0, 2), output
        assert done or process.returncode == 0 or "Read-only" in output, output
        subprocess.run(["mount", "-o", "remount,rw", str(place)], check=True)
        assert runs.finish(place, "--resume") == runs.right
        return "an error, resumed" if process.returncode else "too late"


def bit_flipped(runs, rng):
    """one bit of the newest checkpoint flipped"""
    place = runs.place()
    process = runs.start(place)
    runs.moment(process, place, rng)
    process.kill()
    process.communicate()
    how = "no checkpoint yet"
    files = sorted(place.rglob("checkpoint-*.tsf"), reverse=True)
    if files:
        content = bytearray(files[0].read_bytes())
        content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
        files[0].write_bytes(content)
        try:
            Network.load(files[0])
        except ModelFileError:
            how = "detected and skipped"
        else:
            how = "in a byte without meaning"
    assert runs.finish(place, "--resume") == runs.right
    shutil.rmtree(place)
    return how


FAULTS = [
    killed, killed_again_and_again, killed_while_writing, interrupted_twice, bit_flipped, full_disk, read_only,
    truncated, replaced, overwritten, out_of_memory,
]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description="Inject faults into training runs, and report what was lost.")
    parser.add_argument(
        "--times", type=int, default=50, help="number of kills; other faults are injected a fifth as often"
    )
    parser.add_argument(
        "--only", nargs="*", choices=[fault.__name__ for fault in FAULTS], help="faults to inject; default: all"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="also write the counts to this file")
    given = parser.parse_args()
    rng, rows = np.random.default_rng(given.seed), []
    with tempfile.TemporaryDirectory() as folder, signals.heard(), ExitStack() as ends:
        several = {}
        for name, batch_size in (("batches", 10), ("online", None)):
            (place := Path(folder) / name).mkdir()
            several[name] = Runs(place, batch_size=batch_size)
            ends.callback(several[name].end)
        for fault in FAULTS:
            if given.only and fault.__name__ not in given.only:
                continue
            times = given.times if fault is killed else -(-given.times // 5)
            row = {"fault": fault.__doc__, "injected": 0, "lost": 0, "ended": Counter()}
            rows.append(row)
            for n in range(times):
                try:
                    row["ended"][fault(list(several.values())[n % 2], rng)] += 1
                except SkippedError as why:
                    row["skipped"] = str(why)
                    break
                except AssertionError as why:
                    row["lost"] += 1
                    print(f"LOST: {fault.__name__}: {why}", flush=True)
                row["injected"] += 1
            print(f"{row['fault']}: {row['injected']} times, {row['lost']} lost; {dict(row['ended'])}", flush=True)
    if given.json:
        given.json.write_text(
            json.dumps({"faults": rows, "seed": given.seed, "machine": machine.describe()}, indent=1), encoding="utf-8"
        )
    return sum(row["lost"] for row in rows)


if __name__ == "__main__":
    sys.exit(main())
