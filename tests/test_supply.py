"""What is installed is locked, stated and licensed, and none of it uses the network by itself."""

import ast
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.scripts import loaded

ROOT = Path(__file__).parents[1]
OPTIONAL = ("cupy", "faery", "matplotlib", "optuna", "tonic", "torch")
# Stops at the first use of the network, even if the program would catch an error.
OFFLINE = """
import os, sys
def forbid(event, about):
    if event.startswith(("socket.", "urllib.", "http.", "ftplib.")):
        os.write(2, f"{event} {about}".encode())
        os._exit(77)
sys.addaudithook(forbid)
"""
TRAINING = """
from timesurf import Sup3rClassifier
from timesurf.datasets import sentences
from timesurf.presets import SENTENCES
data = sentences.make(4, seed=0, duration="1 ms")
for batch_size in (None, 2):
    classifier = Sup3rClassifier(list(SENTENCES.layers), passes=1, batch_size=batch_size).fit(data)
classifier.network_.save("model.tsf")
assert classifier.network_.load("model.tsf").infer(data).votes.shape == (4, 2)
"""
HELP = "import runpy; sys.argv = ['timesurf', {}, '--help']; runpy.run_module('timesurf', run_name='__main__')"
NONE_OPTIONAL = f"assert not sorted(set({OPTIONAL}) & set(sys.modules)), set({OPTIONAL}) & set(sys.modules)"


LICENCES = loaded("requirements/licences.py")
EXTRAS = LICENCES.PROJECT["optional-dependencies"]


def stated(*extras):
    """Requirements of timesurf and of these extras, and of the extras that they name."""
    found = [Requirement(line) for line in LICENCES.PROJECT["dependencies"]]
    for extra in extras:
        for one in map(Requirement, EXTRAS[extra]):
            found += stated(*one.extras) if one.name == "timesurf" else [one]
    return found


def needed_on(python, requirements):
    """Those that a version of Python on Linux needs."""
    here = {"python_version": python, "python_full_version": f"{python}.9", "sys_platform": "linux"}
    return [one for one in requirements if not one.marker or one.marker.evaluate(here)]


def locked(python):
    """Version of each package in the lock, for a version of Python."""
    lines = re.findall(r"^(\S.*?) \\$", (ROOT / "requirements" / "dev.lock").read_text("utf-8"), re.MULTILINE)
    pins = needed_on(python, map(Requirement, lines))
    assert len(pins) == len({one.name for one in pins})
    return {one.name: str(one.specifier).removeprefix("==") for one in pins}


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13", "3.14"])
def test_the_lock_holds_what_tests_and_documentation_need(python):
    pins = locked(python)
    for one in needed_on(python, stated("dev", "docs")):
        assert one.specifier.contains(pins[one.name]), f"{one} but {pins[one.name]} is locked: make lock"


def test_the_oldest_versions_are_those_that_pyproject_states():
    lines = (ROOT / "requirements" / "oldest.txt").read_text("utf-8").splitlines()
    oldest = {one.name: str(one.specifier) for one in map(Requirement, lines[1:])}
    tools = [one for one in map(Requirement, EXTRAS["dev"]) if one.name in ("hypothesis", "pytest")]
    ranges = (*stated("formats", "hdf5", "live", "nir", "plots", "ros", "search"), *tools)
    lowest = {one.name: str(one.specifier).removeprefix(">=") for one in needed_on("3.11", ranges)}
    assert {name: f"=={number + '.0' * (2 - number.count('.'))}" for name, number in lowest.items()} == oldest


def test_the_licences_page_matches_what_is_installed():
    page = LICENCES.PAGE.read_text("utf-8")
    rows = dict(re.findall(r"^\| (\S+) \| \w+ \| (.+) \|$", page, re.MULTILINE))
    for extra, lines in EXTRAS.items():
        if extra not in ("dev", "docs"):
            assert {one.name for one in map(Requirement, lines)} - {"timesurf"} <= rows.keys()
    pins = locked("3.11")
    for name in LICENCES.needed([*LICENCES.PROJECT["dependencies"], *EXTRAS["plots"]]):
        if version(name) == pins.get(name):  # another version may state it differently
            assert rows[name] == LICENCES.licence(name), f"{name}: make licences"


def test_what_is_always_installed_is_permissive():
    for name in LICENCES.needed(LICENCES.PROJECT["dependencies"]):
        assert "GPL" not in LICENCES.licence(name), name
        assert LICENCES.licence(name), name
    assert not {one.name for one in stated("plots", "dev", "docs")} & {"tonic"}
    assert not {one.name for one in stated("plots")} & {"faery"}


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(f"import timesurf; {NONE_OPTIONAL}", id="import"),
        pytest.param(f"from timesurf import *; {NONE_OPTIONAL}", id="every public name"),
        pytest.param(TRAINING + NONE_OPTIONAL, id="training"),
        pytest.param(HELP.format("*[]"), id="help"),
        pytest.param(HELP.format("'train'"), id="help of train"),
    ],
)
def test_no_network_and_no_optional_package_is_used(program, tmp_path):
    ended = subprocess.run(
        [sys.executable, "-c", OFFLINE + program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr


def test_use_of_the_network_would_be_noticed():
    program = OFFLINE + "import socket\ntry: socket.create_connection(('localhost', 9))\nexcept OSError: pass"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, check=False).returncode == 77


def test_no_module_imports_what_could_download():
    package = ROOT / "src" / "timesurf"
    listeners = {package / "io" / "receive.py", package / "live" / "commands.py"}  # on ports that the user names
    for listener in listeners:
        assert not re.search(r"\.(connect|send)", listener.read_text("utf-8"))
    sender = package / "io" / "send.py"  # datagrams to the address that the user names
    assert not re.search(r"\.(connect|recv)", sender.read_text("utf-8"))
    downloaders = {"aiohttp", "ftplib", "http.client", "httpx", "pooch", "requests", "urllib.request", "urllib3"}
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{a.name}" for a in node.names)]
            for name in names:
                assert name not in downloaders, f"{path} imports {name}"
                assert name != "socket" or path in listeners | {sender}, f"{path} imports {name}"
                assert not name.rpartition(".")[2].startswith("fetch_"), f"{path} imports {name}"
