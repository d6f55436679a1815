import gc
import os
import subprocess
import sys
from pathlib import Path

if "PYTEST_XDIST_WORKER" in os.environ:  # a process per core: further threads of BLAS would wait for a core, busily
    os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"))

import numpy as np
import pytest

from tests import signals

try:
    from hypothesis import HealthCheck, settings

    from tests.examples import LONG, USUAL
except ImportError:  # tests/gpu does without it
    pass
else:
    # By default the same examples every time; HYPOTHESIS_PROFILE=long draws many new ones.
    quiet = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
    settings.register_profile("default", max_examples=USUAL, derandomize=True, **quiet)
    settings.register_profile("long", max_examples=LONG, **quiet)
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


# Files that take longest, these first: several processes, a file each, then end at about the same time.
SLOWEST = [
    "test_fuzz.py", "test_readme.py", "test_session.py", "test_faults.py", "test_search.py", "test_interrupts.py",
    "test_page.py", "test_teaching.py", "test_against_reference.py", "test_kernels.py", "test_memory.py", "test_cli.py",
    "test_digits.py", "test_page_commands.py", "test_mutants.py", "test_pages.py", "test_commands.py",
    "test_stream_command.py", "test_law.py", "test_many_files.py", "test_table3.py", "test_table2.py", "test_golden.py",
    "test_continual.py", "test_newcomer.py", "test_tuning.py", "test_progress.py", "test_workers.py", "test_table1.py",
    "test_first_steps.py", "test_live_command.py", "test_saccades_realism.py", "test_speed.py",
]  # fmt: skip


@pytest.hookimpl(optionalhook=True)  # not all have xdist
def pytest_xdist_auto_num_workers():
    """One process more than cores for `-n auto`: tests of browsers, signals and streams wait now and then."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items):
    places = {name: place for place, name in enumerate(SLOWEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(SLOWEST)))


def pytest_collection_finish():
    """What was imported stays to the end: garbage is not looked for there, at every full collection, during tests."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def _interrupts():
    """Ctrl-C has its effect in tests and in the processes that they start, also under `make test &` or nohup."""
    with signals.heard():
        yield


@pytest.fixture
def timesurf(monkeypatch, capsys):
    """Run the command line in this process: exit code, and what it printed."""

    from timesurf import cli

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["timesurf", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        printed = capsys.readouterr()
        return int(end.value.code or 0), " ".join((printed.out + printed.err).split())

    return run


@pytest.fixture
def start():
    """Start Python; whatever happens, no process is left."""
    started = []

    def run(*words, **more):
        process = subprocess.Popen(
            [sys.executable, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more
        )
        started.append(process)
        return process

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def data_folder():
    """Real recordings, where they are: $TIMESURF_DATA or ../shared/data beside the checkout."""
    places = [os.environ.get("TIMESURF_DATA"), Path(__file__).parents[2] / "shared" / "data"]
    for place in places:
        if place and Path(place).is_dir():
            return Path(place)
    pytest.skip("no real recordings here: put the .npz files in a folder and set TIMESURF_DATA to it")
