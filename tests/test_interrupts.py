"""Ctrl-C at any moment: no traceback, exit code 130, and what is written is what is said."""

import json
import os
import signal
import sys

import numpy as np
import pytest

from tests import signals
from tests.processes import until
from timesurf import Network, Session, cli
from timesurf.datasets import sentences
from timesurf.io import npz
from timesurf.learning import best
from timesurf.presets import SENTENCES

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

# Interrupts itself at the first event of a kind on a name: import, or open for a file.
PROGRAM = """
import os, signal, sys
kind, name, times, *words = sys.argv[1:]
times = int(times)
def interrupt(event, about):
    global times
    if times and event == kind and name in str(about[0]):
        times -= 1
        os.kill(os.getpid(), signal.SIGINT)
from timesurf.__main__ import main
sys.addaudithook(interrupt)
sys.argv = ["timesurf", *words]
main()
"""
ENDED = (130, -signal.SIGINT)  # the second interrupt may end a process that has finished its work


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("data")
    data = sentences.make(20, seed=0, duration="1 ms")
    npz.write(place / "two.npz", data)
    more = sentences.make(8, seed=2, duration="1 ms")
    npz.write(place / "more.npz", more.with_labels(np.where(more.labels == more.labels[0], "new", "newer")))
    SENTENCES.network(data, data.classes, 0).fit(data, passes=1).save(place / "m.tsf")
    return place


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("import", "typer"),  # the command line itself
        ("import", "timesurf.cli.training"),
        ("import", "numba"),  # what a command imports when it needs it
        ("import", "numpy.linalg"),
        ("open", ".m.tsf."),  # while the model is written
        ("open", "run.json"),
    ],
)
def test_at_any_moment_there_is_no_traceback(kind, name, times, folder, start, tmp_path):
    words = ["train", folder / "two.npz", "--model", tmp_path / "m.tsf", "--preset", "sentences", "--passes", "1"]
    process = start("-c", PROGRAM, kind, name, times, *words)
    said, _ = process.communicate(timeout=300)
    assert process.returncode in ENDED, said
    assert "Traceback" not in said
    assert "Exception" not in said
    assert "topped" in said
    assert not [path for path in tmp_path.rglob(".*") if path.name != ".lock"]
    if (tmp_path / "m.tsf").exists():
        Network.load(tmp_path / "m.tsf")


def test_while_kernels_are_compiled(folder, start, tmp_path):
    words = ["evaluate", folder / "m.tsf", folder / "two.npz"]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    process = start("-m", "timesurf", *words, env=environment)
    while "Compiling" not in (line := process.stdout.readline()):
        assert line, "it ended without compiling"
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 130, said
    assert said.strip() == "Stopped."


def test_an_interrupted_training_saves_what_was_learned(folder, start, tmp_path):
    words = ["train", folder / "two.npz", "--model", tmp_path / "m.tsf", "--preset", "sentences", "--passes", "100000"]
    process = start("-m", "timesurf", *words, "--checkpoint-every", "1")
    first_pass = 16  # recordings
    until(lambda: [p for p in tmp_path.rglob("checkpoint-*.tsf") if int(p.stem[11:]) > first_pass], process)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 130, said
    assert "the model so far" in " ".join(said.split())
    assert len(Network.load(tmp_path / "m.tsf").history) > 0
    about = json.loads((tmp_path / "m.tsf.run" / "run.json").read_text("utf-8"))
    assert about["stopped"]
    assert 0 <= about["evaluation"]["kept"] <= 1


def test_a_run_folder_belongs_to_one_training(folder, start, tmp_path):
    words = ["train", folder / "two.npz", "--model", tmp_path / "m.tsf", "--preset", "sentences", "--passes", "100000"]
    first = start("-m", "timesurf", *words, "--checkpoint-every", "1")
    until(lambda: list(tmp_path.rglob("checkpoint-*.tsf")), first)
    second = start("-m", "timesurf", *words)
    said, _ = second.communicate(timeout=300)
    assert second.returncode == 2, said
    wanted = f"{tmp_path / 'm.tsf.run'} is in use by another training"
    assert "".join(wanted.split()) in "".join(said.split())  # lines end anywhere, by the length of the path
    assert first.poll() is None


@pytest.fixture
def extend(folder, monkeypatch, capsys, tmp_path):
    """Extend a model by five passes, of which so many are done when Ctrl-C comes."""

    def run(done):
        passes = best.passes

        def interrupted(*about, **more):
            for one in passes(*about, **more) if done else ():
                yield one
                if one.number == done < 5:
                    break
            if done < 5:
                raise KeyboardInterrupt

        monkeypatch.setattr(best, "passes", interrupted)
        words = ["extend", folder / "m.tsf", folder / "more.npz", "--units", "1", "--passes", "5"]
        files = ["--out", tmp_path / "e.tsf", "--json", tmp_path / "e.json"]
        monkeypatch.setattr(sys, "argv", ["timesurf", *map(str, [*words, *files])])
        with pytest.raises(SystemExit) as end:
            cli.main()
        return int(end.value.code or 0), " ".join(capsys.readouterr().out.split())

    return run


def test_an_interrupted_extension_says_what_was_kept(extend, tmp_path):
    code, said = extend(2)
    assert code == 130
    assert "Stopped after 2 of 5 passes; the model so far, with 4 classes" in said
    assert len(Network.load(tmp_path / "e.tsf").classes) == 4
    assert json.loads((tmp_path / "e.json").read_text("utf-8"))["stopped"]


def test_an_extension_without_a_pass_writes_nothing(extend, tmp_path):
    code, said = extend(0)
    assert code == 130
    assert "was not written" in said
    assert list(tmp_path.iterdir()) == []


def test_a_whole_extension_is_not_stopped(extend, tmp_path):
    code, said = extend(5)
    assert code == 0, said
    assert "Model with 4 classes" in said
    assert not json.loads((tmp_path / "e.json").read_text("utf-8"))["stopped"]


def test_a_session_never_keeps_more_than_it_was_given(folder, monkeypatch):
    session = Session(Network.load(folder / "m.tsf"))

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(session, "_tally", interrupted)
    with pytest.raises(KeyboardInterrupt):
        session.push(npz.read(folder / "two.npz")[0])
    assert session.events > 0
    assert (session.kept <= 1).all()


def test_where_interrupts_are_ignored_they_stay_ignored(start):
    with signals.ignored(signal.SIGINT):
        process = start("-c", PROGRAM, "import", "typer", "1", "--version")
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 0, said


DESTRUCTOR = """
import signal, sys
from timesurf import __main__ as command
class Half:
    def __del__(self):
        raise OSError("made by half")
sys.unraisablehook = command._unraisable
signal.signal(signal.SIGINT, command._interrupt)
try:
    if "interrupted" in sys.argv:
        signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    pass
Half()
"""


@pytest.mark.parametrize("interrupted", [True, False])
def test_what_destructors_complain_about_is_shown_unless_an_interrupt_caused_it(start, interrupted):
    said, _ = start("-c", DESTRUCTOR, *["interrupted"] * interrupted).communicate(timeout=60)
    assert ("made by half" in said) is not interrupted
