"""Commands of timesurf on the pages run as they stand, the C on them compiles, and the JSON on them is JSON.

`tests/test_pages.py` says which blocks these are: all that are not marked as not for running.
"""

import json
import re
import shlex
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from tests.test_pages import PAGES, ROOT, blocks, every_block, strokes
from timesurf import cli
from timesurf.datasets import sentences
from timesurf.io import npz

ELSEWHERE = {"README.md", "start.md", "tutorial.md"}  # tests/test_readme.py and tests/test_newcomer.py
CC = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
FAERY = find_spec("faery") is not None
NOT_RUN = {  # commands in the table of docs/commands.md, which has no room for marks: why
    "demo": "trains for a minute",
    "live": "opens a page in the browser",
    "search": "takes hours",
    "://": "needs other machines or a camera",
}


def shown(page):
    """Words of every command in a block that is for running."""
    lines = [line for language, block, marked in every_block(page) if language == "sh" and not marked
             for line in block.splitlines()]  # fmt: skip
    return [words[1:] for line in lines if (words := shlex.split(line, comments=True))]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """The files that pages name, as small as they can be, and networks that have learned from them."""
    folder = tmp_path_factory.mktemp("commands")
    data = strokes(24)
    for name in ("digits", "more", "test", "unknown", "today", "nmnist", "long"):
        npz.write(folder / f"{name}.npz", data)
    npz.write(folder / "letters.npz", data.with_labels(np.where(data.labels == "left", "a", "b")))
    npz.write(folder / "sentences.npz", sentences.make(20, seed=0))
    for number in range(8):
        for place in ("recordings", "folder"):
            (folder / place / data.labels[number]).mkdir(parents=True, exist_ok=True)
            npz.write(folder / place / data.labels[number] / f"{number}.npz", data[[number]])
    bars = np.zeros((4, 28, 28), np.uint8)
    bars[:, 4:24, 12:16] = 255
    np.savez(folder / "mnist.npz", x_train=bars, y_train=[0, 1, 0, 1], x_test=bars, y_test=[0, 1, 0, 1])
    shutil.copy(ROOT / "fuzz" / "corpus" / "aedat4" / "three", folder / "recording.aedat4")
    with pytest.MonkeyPatch.context() as here:
        here.chdir(folder)
        for name, preset in (("digits", "auto"), ("sentences", "sentences")):
            words = f"train {name}.npz --model {name}.tsf --preset {preset} --passes 2"
            cli.app(words.split(), standalone_mode=False)
    return folder


@pytest.fixture
def copy(world, tmp_path, monkeypatch):
    """A copy of it, in which a page may leave what it likes."""
    shutil.copytree(world, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def can_run(words):
    """Whether what a command needs is here: a C compiler to check an export, faery to read a camera's file."""
    return (CC or "--check" not in words) and (FAERY or "recording.aedat4" not in words)


@pytest.mark.parametrize("page", [p for p in PAGES if p.name not in ELSEWHERE and shown(p)], ids=lambda p: p.stem)
def test_commands_on_a_page_run(page, copy, timesurf):
    for words in filter(can_run, shown(page)):
        code, said = timesurf(*words)
        assert code == 0, f"{page.name}: timesurf {shlex.join(words)}\n{said}"


def test_the_table_of_commands_runs(copy, timesurf):
    rows = [line for line in (ROOT / "docs" / "commands.md").read_text("utf-8").splitlines() if line.startswith("| ")]
    found = [shlex.split(command) for row in rows for command in re.findall(r"`timesurf ([a-z][^`]*)`", row)]
    run = [words for words in found if words[0] not in NOT_RUN and "://" not in " ".join(words)]
    assert len(run) >= 15
    for words in filter(can_run, run):
        code, said = timesurf(*words)
        assert code == 0, f"timesurf {shlex.join(words)}\n{said}"


@pytest.mark.parametrize("page", [page for page in PAGES if [*blocks(page, "json")]], ids=lambda page: page.stem)
def test_json_on_a_page_is_json(page):
    for block in blocks(page, "json"):
        for line in block.splitlines():
            json.loads(line)


@pytest.mark.parametrize("page", [page for page in PAGES if [*blocks(page, "c")]], ids=lambda page: page.stem)
def test_c_on_a_page_compiles(page, copy, timesurf):
    if CC is None:
        pytest.skip("no C compiler is installed")
    assert timesurf("export", "digits.tsf", "--to", "c", "--out", "firmware", "--numbers", "int8")[0] == 0
    for number, block in enumerate(blocks(page, "c")):
        source = Path("firmware") / f"shown{number}.c"
        source.write_text(f"#include <stdint.h>\nvoid led_set(int on);\n{block}", "utf-8")
        words = [CC, "-std=c99", "-Wall", "-Wextra", "-Werror", "-c", str(source), "-o", "shown.o"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
