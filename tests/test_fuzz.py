"""Readers, live input and transforms fuzzed for a short time, the same inputs every time; `fuzz/run.py` has more."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as on Linux")
FUZZ = Path(__file__).parents[1] / "fuzz"
CAMERA = ("csv", "dat", "raw", "es", "aedat4")  # these need faery
TRUSTED = ("hdf5", "ros")  # read by libraries that hang or take much memory on some damaged files: docs/limits.md
TARGETS = sorted(folder.name for folder in (FUZZ / "corpus").iterdir() if folder.name not in TRUSTED)


def fuzzed(target, folder, *arguments, broken="", plain=True):
    """The process of the fuzzer and the figures that it wrote; `broken` is Python that its processes run first."""
    (folder / "sitecustomize.py").write_text(broken)
    command = [sys.executable, FUZZ / "run.py", "--target", target, "--keep", folder / "found", *arguments]
    command += ["--plain"] if plain else []
    paths = os.pathsep.join([str(folder), *sys.path])
    process = subprocess.run(
        [*command, "--json", folder / "figures.json"], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    assert (folder / "figures.json").is_file(), process.stdout + process.stderr
    return process, json.loads((folder / "figures.json").read_text())["targets"][target]


@pytest.mark.parametrize("target", TARGETS)
def test_damaged_and_hostile_inputs_are_refused_or_read_well(tmp_path, target):
    if target in CAMERA and find_spec("faery") is None:
        pytest.skip("faery is an extra: pip install 'timesurf[formats]'")
    process, result = fuzzed(target, tmp_path, "--runs", "1500")
    assert result["findings"] == {}, process.stdout
    assert process.returncode == 0
    assert result["inputs"] == 1500
    assert 0 < result["refused"] < 1500  # some were good: the changes do not all end at the first check


@pytest.mark.skipif(find_spec("atheris") is None, reason="atheris is an extra: pip install 'timesurf[fuzz]'")
@pytest.mark.parametrize("target", [name for name in TARGETS if name not in CAMERA])
def test_inputs_chosen_by_coverage_find_nothing(tmp_path, target):
    process, result = fuzzed(target, tmp_path, "--runs", "200", plain=False)
    assert result["findings"] == {}, process.stdout
    assert result["inputs"] >= 200


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("os.abort()", "process ended with -6"),
        ("bytearray(5 << 20)", "over 10 times the file and 4 MiB were allocated"),
    ],
)
def test_a_reader_that_breaks_is_found(tmp_path, what, message):
    broken = f"""
import os
from timesurf.datasets import nmnist
good = nmnist.decode_file
nmnist.decode_file = lambda path: {what} if path.stat().st_size % 5 else good(path)
"""
    process, result = fuzzed("nmnist", tmp_path, "--runs", "200", broken=broken)
    assert process.returncode == 1
    assert any(message in found for found in result["findings"]), result
    assert any((tmp_path / "found" / "nmnist").iterdir())
