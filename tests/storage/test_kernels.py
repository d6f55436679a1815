"""Kernels compile where neither the package nor the home folder can be written to, as in many containers."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import timesurf
from timesurf.storage import cache

PACKAGE = Path(timesurf.__file__).parent
FILTER = """
import numpy as np
from timesurf import Recordings, transforms
data = Recordings([[0, 0, 0]], t=[0, 1, 100], field=(1,))
print(transforms.refractory(data, 10).t.tolist())
"""


@pytest.fixture
def container(tmp_path):
    """Run Python on a copy of the package that cannot be written to, in an unwritable home."""
    package = tmp_path / "lib" / "timesurf"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("tmp", "work", "home"):
        (tmp_path / name).mkdir()
    (tmp_path / "home").chmod(0o555)
    for folder in (package, *(path for path in package.rglob("*") if path.is_dir())):
        folder.chmod(0o555)
    drop = []
    if os.geteuid() == 0:  # root may write anywhere, unless it gives that up
        drop = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"]
        if shutil.which("setpriv") is None or subprocess.run([*drop, "true"], check=False).returncode:
            pytest.skip("root's right to write anywhere cannot be given up here")

    def run(*words, **more):
        env = {
            "HOME": str(tmp_path / "home" / "none"), "TMPDIR": str(tmp_path / "tmp"), "PATH": os.environ["PATH"],
            "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip
        command = [*drop, sys.executable, *map(str, words)]
        done = subprocess.run(
            command, env=env | more, cwd=tmp_path / "work", capture_output=True, text=True, check=False, timeout=300
        )
        return done.returncode, " ".join((done.stdout + done.stderr).split())

    yield run, tmp_path / "tmp"
    for folder in (package, *(path for path in package.rglob("*") if path.is_dir())):
        folder.chmod(0o755)


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_commands_run_in_a_read_only_container_and_say_where_kernels_go(container):
    run, temporary = container
    code, said = run("-m", "timesurf", "doctor")
    assert code == 0, said
    assert "Traceback" not in said
    place = temporary / f"timesurf-{os.getuid()}" / "kernels"
    assert "Compiled kernels cannot be stored next to the package" in said
    assert "Set NUMBA_CACHE_DIR" in said
    code, said = run("-c", FILTER)
    assert code == 0, said
    assert "[0, 100]" in said
    assert list(place.rglob("*.nbc"))
    assert place.parent.stat().st_mode & 0o077 == 0


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_a_container_with_a_folder_for_kernels_uses_it_quietly(container):
    run, temporary = container
    code, said = run("-c", FILTER, NUMBA_CACHE_DIR=str(temporary / "mine"))
    assert (code, said) == (0, "[0, 100]")
    assert list((temporary / "mine").rglob("*.nbc"))


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_without_any_folder_each_process_compiles(container):
    run, _ = container
    nowhere = "import tempfile\ndef none(): raise FileNotFoundError\ntempfile.gettempdir = none\n"
    code, said = run("-c", nowhere + FILTER)
    assert code == 0, said
    assert "[0, 100]" in said
    assert "each process compiles them again" in said


def test_kernels_are_compiled_by_one_decorator():
    """numba's own refuses to compile where it finds no folder."""
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text("utf-8")
        if "cache=True" in text and path.name != "kernels.py":
            assert "from timesurf.storage.kernels import njit" in text, path
            assert "numba.njit" not in text, path


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="users of POSIX")
def test_a_temporary_cache_of_somebody_else_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    mine = cache.temporary()
    assert cache.temporary() == mine
    assert mine.stat().st_mode & 0o077 == 0
    mine.chmod(0o777)
    assert cache.temporary() != mine
    mine.rmdir()
    mine.symlink_to(tmp_path)
    assert cache.temporary() != mine


def test_the_cache_folder_needs_no_home(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.delenv("TIMESURF_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/dev/null")
    assert cache.folder().is_relative_to(tmp_path)
