"""Code on the pages: every block runs here or in another test, or is marked as not for running, with a reason.

The mark is a comment in a paragraph of its own before the block, which readers of the built pages do not see::

    <!-- not for running: needs a camera -->

Blocks of Python run here; `tests/test_page_commands.py` runs the commands of timesurf, compiles C and parses JSON, and
`tests/test_readme.py` and `tests/test_newcomer.py` run the commands of README, of the first steps and of the tutorial.
Every command line, marked or not, is a valid one and names scripts, targets and extras that exist.
"""

import ast
import re
import shlex
import textwrap
import tomllib
from pathlib import Path

import click
import numpy as np
import pytest
import typer

from timesurf import Full, Network, Recordings, Session, Window, cli
from timesurf.io import npz

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "howto").glob("*.md"))]
BLOCK = re.compile(r"^( *)(`{3,})([^\n`]*)\n(.*?)^\1\2 *$", re.DOTALL | re.MULTILINE)
MARK = re.compile(r"[Nn]ot for running(?:: | without )\w")  # in the paragraph before a block, with the reason
PROGRAMS = {"aestream", "apt-get", "git", "make", "mkfifo", "pip", "python", "python3", "timesurf"}
ELSEWHERE = {"README.md", "start.md", "tutorial.md", "data.md"}  # their one block of Python runs in other tests
INDENTED = re.compile(r"(?<=\n\n)(?: {4}.*\n)+")


def every_block(page):
    """Language, text and whether it is marked, of every block between backticks and every one that is indented.

    Of the latter, what begins with a program is for a shell; formulas and what programs print have no language.
    """
    text = page.read_text("utf-8")

    def marked(place):
        return MARK.search(text[:place].rstrip().rpartition("\n\n")[2]) is not None

    for found in BLOCK.finditer(text):
        yield found[3].strip(), textwrap.dedent(found[4]), marked(found.start())
    hidden = BLOCK.sub(lambda found: re.sub(r"[^\n]", "-", found[0]), text)  # so that places stay
    for found in INDENTED.finditer(hidden):
        block = textwrap.dedent(found[0])
        language = "sh" if block.split()[0] in PROGRAMS else "python" if is_python(block) else ""
        yield language, block, marked(found.start())


def blocks(page, language):
    """Blocks of a language between backticks, unless they are marked."""
    text = page.read_text("utf-8")
    for found in BLOCK.finditer(text):
        before = text[: found.start()].rstrip().rpartition("\n\n")[2]
        if found[3] == language and not MARK.search(before):
            yield textwrap.dedent(found[4])


def is_python(text):
    """Whether it is code that does something, not a formula or a command line."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return False
    return any(isinstance(node, ast.Call | ast.Import | ast.ImportFrom) for node in ast.walk(tree))


def command_lines(page):
    """Every line for a shell, in blocks and in the text, marked or not."""
    yield from (line for language, block, _ in every_block(page) if language == "sh" for line in block.splitlines())
    for span in re.findall(r"`([^`\n]+)`", BLOCK.sub("", page.read_text("utf-8"))):
        if span.split()[0] in PROGRAMS:
            yield span


def commands(page):
    """Words of every command line of timesurf, in blocks and in tables."""
    for line in command_lines(page):
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_is_run_or_says_why_it_is_not(page):
    """Other tests run those that are not marked; what they cannot run is caught here."""
    for language, block, marked in every_block(page):
        assert language in {"", "c", "json", "python", "sh"} or language.startswith("{"), f"{page.name}: {language}"
        if language == "" and block.strip():
            assert block.split()[0] not in PROGRAMS, f"{page.name}: a block for a shell needs its language: {block}"
        if language == "sh" and not marked:
            lines = [line for line in block.splitlines() if line.split("#")[0].strip()]
            foreign = [line for line in lines if line.split()[0] != "timesurf"]
            assert not foreign, f"{page.name}: not run, and no <!-- not for running: why --> before it: {foreign}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_scripts_targets_and_extras_on_a_page_exist(page):
    makefile = (ROOT / "Makefile").read_text("utf-8")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    for line in command_lines(page):
        words = shlex.split(line, comments=True)
        match words:
            case ["python" | "python3", "-m", module, *_] if module != "pip":
                file = ROOT.joinpath(*module.split("."))
                assert file.with_suffix(".py").is_file() or (file / "__main__.py").is_file(), f"{page.name}: {line}"
            case ["python" | "python3", script, *_] if script.endswith(".py"):
                assert (ROOT / script).is_file(), f"{page.name}: {line}"
            case ["make", *targets]:
                for target in (word for word in targets if re.fullmatch(r"[a-z-]+", word)):
                    assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{page.name}: {line}"
            case ["pip", "install", *wanted]:
                named = [name for word in wanted for name in re.findall(r"^(?:timesurf|\.)\[(.*)\]$", word)]
                assert {extra for name in named for extra in name.split(",")} <= extras.keys(), f"{page.name}: {line}"


def test_blocks_and_marks_are_found(tmp_path):
    page = tmp_path / "page.md"
    parts = [
        "Text:", "```{toctree}\nsome\n```", "<!-- not for running: why -->", "```sh\nmake a\n```", "```sh\nmake b\n```",
        "not for running:", "    timesurf c\n    timesurf d", "Not for running without it:", "    a = b + c",
        "And `pip e`.",
    ]  # fmt: skip
    page.write_text("\n\n".join(parts), "utf-8")
    assert [*every_block(page)] == [
        ("{toctree}", "some\n", False), ("sh", "make a\n", True), ("sh", "make b\n", False),
        ("sh", "timesurf c\ntimesurf d\n", False), ("", "a = b + c\n", True),
    ]  # fmt: skip
    assert [*command_lines(page)] == ["make a", "make b", "timesurf c", "timesurf d", "pip e"]


def test_no_table_is_torn_apart():
    """A line between two rows that are one table leaves the rest as text between bars."""
    torn = []
    for page in PAGES:
        lines = BLOCK.sub(lambda found: re.sub(r"[^\n]", "-", found[0]), page.read_text("utf-8")).split("\n")
        begins = [i for i, line in enumerate(lines) if line.startswith("|") and not lines[i - 1].startswith("|")]
        torn += [f"{page.name}: {lines[i]}" for i in begins if not re.fullmatch(r"[|:\- ]+", lines[i + 1])]
    assert not torn
