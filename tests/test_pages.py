"""Code on the pages: every block of Python runs or is marked as not for running, every command line is a valid one.

`tests/test_readme.py` and `tests/test_newcomer.py` run the commands of README, of the first steps and of the tutorial.
"""

import ast
import re
import shlex
import textwrap
from pathlib import Path

import click
import numpy as np
import pytest
import typer

from timesurf import Full, Network, Recordings, Session, Window, cli
from timesurf.io import npz

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "howto").glob("*.md"))]
BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
MARK = "ot for running"  # in the paragraph before a block
ELSEWHERE = {"README.md", "start.md", "tutorial.md", "data.md"}  # their one block of Python runs in other tests
INDENTED = re.compile(r"(?<=\n\n)(?: {4}.*\n)+")


def blocks(page, language):
    """Blocks of a language, unless they are marked."""
    text = page.read_text("utf-8")
    for found in BLOCK.finditer(text):
        before = text[: found.start()].rstrip().rpartition("\n\n")[2]
        if found[2] == language and MARK not in before:
            yield textwrap.dedent(found[3])


def is_python(text):
    """Whether it is code that does something, not a formula or a command line."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return False
    return any(isinstance(node, ast.Call | ast.Import | ast.ImportFrom) for node in ast.walk(tree))


def commands(page):
    """Words of every command line of timesurf, in blocks and in tables."""
    text = page.read_text("utf-8")
    lines = [line for block in blocks(page, "sh") for line in block.splitlines()]
    lines += [line[4:] for line in text.splitlines() if line.startswith("    timesurf ")]
    lines += re.findall(r"`(timesurf [a-z][^`]*)`", text)
    for line in lines:
        words = shlex.split(line.partition(" < ")[0].partition(" | ")[0], comments=True)
        if words[:1] == ["timesurf"] and len(words) > 1:
            yield words[1:]


def strokes(number):
    rng = np.random.default_rng(0)
    t = np.sort(rng.integers(0, 100_000, (number, 200)), axis=1)
    x, y = rng.integers(0, 28, (2, number, 200))
    return Recordings(
        [x.ravel(), np.where(np.arange(number)[:, None] % 2, y // 2, 14 + y // 2).ravel()], t.ravel(),
        offsets=np.arange(number + 1) * 200, field=(28, 28), labels=np.where(np.arange(number) % 2, "right", "left"),
    )  # fmt: skip


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """What pages assume: recordings, a network, and the files that they name, in a folder of their own."""
    folder = tmp_path_factory.mktemp("pages")
    data = strokes(24)
    layers = [Window(5, units=4, tau="10 ms"), Full(tau="5 ms")]
    network = Network(layers, data.field, 1, ["left", "right"]).fit(data, passes=1, batch_size=8)
    network.save(folder / "digits.tsf")
    npz.write(folder / "digits.npz", data)
    packets = data[:2].to_structured()
    names = {"data": data, "recordings": data, "train": data, "test": data, "today": data, "network": network}
    names |= {
        "packets": packets[:1],
        "packet": packets[0],
        "session": Session(network),
        "Session": Session,
        "other": data,
        "x": data.coords[0],
    }
    names |= {"y": data.coords[1], "t": data.t, "p": data.p, "offsets": data.offsets, "labels": data.labels}
    return folder, names


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name not in ELSEWHERE and [*blocks(page, "python")]], ids=lambda p: p.stem
)
def test_python_on_a_page_runs(page, world, monkeypatch):
    folder, names = world
    monkeypatch.chdir(folder)
    space = dict(names)
    for block in blocks(page, "python"):
        exec(compile(block, page.name, "exec"), space)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_python_is_in_blocks_that_run_or_are_marked(page):
    indented = INDENTED.findall(BLOCK.sub("", page.read_text("utf-8")))
    assert [block for block in indented if is_python(textwrap.dedent(block))] == []
    assert page.name not in ELSEWHERE or len([*blocks(page, "python")]) == 1


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("import timesurf", True),
        ("network.fit(data)\n", True),
        ("L(x, t) = log(x)", False),
        ("timesurf train d", False),
    ],
)
def test_python_is_recognised(text, python):
    assert is_python(text) == python


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_command_lines_on_a_page_are_valid(page):
    main = typer.main.get_command(cli.app)
    for words in commands(page):
        command, rest, context = main, list(words), click.Context(main)
        while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
            name = rest.pop(0)
            command = command.get_command(context, name)
            assert command is not None, f"{page.name}: {' '.join(words)}: there is no command {name}"
        if not isinstance(command, click.Group) and "..." not in rest:
            try:
                command.make_parser(click.Context(command)).parse_args(rest)
            except click.UsageError as error:
                pytest.fail(f"{page.name}: timesurf {' '.join(words)}: {error.message}")
