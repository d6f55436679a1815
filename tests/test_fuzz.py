"""Readers, live input and transforms fuzzed for a short time, the same inputs every time; `fuzz/run.py` has more."""

import inspect
import json
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.scripts import loaded
from timesurf import transforms
from timesurf.transforms import cutting, disturbances

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as on Linux")
FUZZ = Path(__file__).parents[1] / "fuzz"
CAMERA = ("csv", "dat", "raw", "es", "aedat4")  # these need faery
TRUSTED = ("hdf5", "ros")  # read by libraries that hang or take much memory on some damaged files: docs/limits.md
TARGETS = sorted(folder.name for folder in (FUZZ / "corpus").iterdir() if folder.name not in TRUSTED)


def fuzzed(folder, targets, runs, *how):
    """What fuzzing found in each target: inputs, refused ones, findings. All in copies of one process."""
    command = [sys.executable, FUZZ / "worker.py", ",".join(targets), folder, "--runs", str(runs), *how]
    process = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=600, check=False)
    assert process.returncode == 0, process.stdout[-2000:] + process.stderr[-2000:]
    counts = {name: int.from_bytes((folder / name / "count").read_bytes(), "little") for name in targets}
    return {
        name: json.loads((folder / name / "figures.json").read_text("utf-8")) | {"inputs": counts[name]}
        for name in targets
    }


@pytest.fixture(scope="module")
def folder():
    """A folder in memory, where there is one: each input is a new file, and disks take a millisecond for each."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None, prefix="fuzz.") as place:
        yield Path(place)


@pytest.fixture(scope="module")
def plain(folder):
    """Every target that can be read here."""
    (folder / "plain").mkdir()
    targets = [name for name in TARGETS if name not in CAMERA or find_spec("faery")]
    return fuzzed(folder / "plain", targets, 1500, "--plain")


@pytest.fixture(scope="module")
def guided(folder):
    """Inputs chosen by coverage."""
    (folder / "guided").mkdir()
    return fuzzed(folder / "guided", [name for name in TARGETS if name not in CAMERA], 200)


@pytest.mark.parametrize("target", TARGETS)
def test_damaged_and_hostile_inputs_are_refused_or_read_well(plain, target):
    if target in CAMERA and find_spec("faery") is None:
        pytest.skip("faery is an extra: pip install 'timesurf[formats]'")
    result = plain[target]
    assert result["findings"] == {}
    assert result["slowest_s"] < 10
    assert result["inputs"] == 1500
    assert 0 < result["refused"] < 1500  # some were good: the changes do not all end at the first check


def test_every_transform_is_among_those_fuzzed():
    """By name: what a module of transforms offers, `without_...` aside, which `Preparation.stream` calls."""
    text = (FUZZ / "streams.py").read_text("utf-8")
    for module in (transforms, cutting, disturbances):
        public = [
            name for name, of in vars(module).items()
            if inspect.isfunction(of) and of.__module__.startswith("timesurf.transforms") and name[0] != "_"
        ]  # fmt: skip
        missing = {name for name in public if f".{name}" not in text}
        assert missing <= {"also_arrays", "events_before", "in_parts", "without_noise", "without_hot_pixels"}
    assert ".stream()" in text


needs_atheris = pytest.mark.skipif(
    find_spec("atheris") is None, reason="atheris is an extra: pip install 'timesurf[fuzz]'"
)


@needs_atheris
@pytest.mark.parametrize("target", [name for name in TARGETS if name not in CAMERA])
def test_inputs_chosen_by_coverage_find_nothing(guided, target):
    assert guided[target]["findings"] == {}
    assert guided[target]["inputs"] >= 200


@needs_atheris
def test_the_program_chooses_inputs_by_coverage(tmp_path):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FUZZ)  # its files import each other by name
        run = loaded("fuzz/run.py")
    result = run.fuzz("nmnist", runs=200, seconds=None, seed=0, plain=False, keep=tmp_path)
    assert result["findings"] == {}
    assert result["inputs"] >= 200


@pytest.mark.parametrize(
    ("what", "message", "runs"),
    [
        ("1 / 0", "ZeroDivisionError", 200),
        ("os.abort()", "process ended with -6", 5),  # each ends a process, and then another, to see whether it repeats
        ("bytearray(5 << 20)", "over 10 times the file and 4 MiB were allocated", 200),
    ],
)
def test_a_reader_that_breaks_is_found(tmp_path, what, message, runs):
    broken = f"""
import os
from timesurf.datasets import nmnist
good = nmnist.decode_file
nmnist.decode_file = lambda path: {what} if path.stat().st_size % 5 else good(path)
"""
    (tmp_path / "sitecustomize.py").write_text(broken, "utf-8")  # all processes run it first
    about = ["--target", "nmnist", "--runs", str(runs), "--plain", "--keep", tmp_path / "found"]
    process = subprocess.run(
        [sys.executable, FUZZ / "run.py", *about, "--json", tmp_path / "figures.json"], capture_output=True, text=True,
        check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
    )  # fmt: skip
    assert process.returncode == 1, process.stdout + process.stderr
    result = json.loads((tmp_path / "figures.json").read_text("utf-8"))["targets"]["nmnist"]
    assert any(message in found for found in result["findings"]), result
    assert any((tmp_path / "found" / "nmnist").iterdir())
