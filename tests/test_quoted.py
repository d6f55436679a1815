"""The figures of README and the pages are those of benchmarks/results, in their sentences and rows of tables."""

import re
from pathlib import Path

import pytest
from benchmarks.number import MARK, RESULTS, Number, mean, read

from benchmarks import figures, quoted

TABLES = {path.relative_to(figures.ROOT).as_posix() for path, _ in figures.tables()}
WRITTEN = [
    figures.ROOT / "README.md",
    *sorted(path for path in (figures.ROOT / "docs").rglob("*.md") if "_build" not in path.parts),
]
FIGURE = r"(?<![\w.^])[-+]?\d[\d,.]* (?:%|points|[kMG]B|M|G|billion|million|s on)(?!\w)"
# Figures that no result has, by page: what an option asks for, a limit of the code, what the paper has, a goal, a
# definition or plain arithmetic. What was measured does not belong here.
NOT_MEASURED = {
    "README.md": {"70 %"},
    "docs/commands.md": {"30 %"},
    "docs/continual.md": {"99 %", "0 %"},
    "docs/howto/few.md": {"5 points"},
    "docs/howto/live.md": {"20 million"},
    "docs/howto/own_data.md": {"134 million"},
    "docs/howto/sparsity.md": {"30 %", "3 points", "10 %"},
    "docs/howto/tune.md": {"70 %"},
    "docs/limits.md": {"10 million", "300 MB", "256 million"},
    "docs/robustness.md": {"90 %", "3 points", "50 %"},
    "docs/scale.md": {"12 million"},
    "docs/settings.md": {"70 %", "30 %"},
    "docs/speed.md": {"256 MB"},
    "docs/spiking.md": {"99 %", "20 %"},
    "docs/table3.md": {"95 %", "20 %", "0.1 points"},
}


@pytest.fixture(scope="module")
def made():
    """All pages as they should be, and the files that they were made from."""
    opened, read_text = set(), Path.read_text

    def noting(path, *args, **kwargs):
        opened.add(path)
        return read_text(path, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "read_text", noting)
        read.cache_clear()
        return figures.pages(), opened


@pytest.mark.parametrize("name", sorted({*quoted.PAGES, *TABLES}))
def test_a_page_has_the_figures_of_the_results(made, name):
    text, missing = made[0][figures.ROOT / name]
    assert not missing, "change these words in benchmarks/quoted as they were changed on the page"
    assert (figures.ROOT / name).read_text("utf-8") == text, "run python -m benchmarks.figures"


def test_every_result_is_read_for_a_page(made):
    assert set(RESULTS.glob("*.json")) <= made[1]


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.relative_to(figures.ROOT).as_posix())
def test_every_figure_with_a_unit_is_held(path):
    """By a result, or it is listed above: a measured figure that was only typed goes out of date unseen."""
    name = path.relative_to(figures.ROOT).as_posix()
    rest = re.sub(r"<!-- [\w, ]+ -->\n.*?<!-- end -->", "", path.read_text("utf-8"), flags=re.DOTALL)
    for fragment in quoted.PAGES.get(name, list)():
        for place in reversed(figures.places(rest, fragment)[0]):
            rest = rest[: place.start()] + "..." + rest[place.end() :]
    rest = re.sub(r"```.*?```|`[^`\n]*`", "", rest, flags=re.DOTALL)
    assert set(re.findall(FIGURE, rest)) == NOT_MEASURED.get(name, set())


def test_a_wrong_figure_is_replaced_wherever_lines_are_broken():
    fragment = f"has {Number(0.956):.1%} and {Number(25)} s"
    page = "It has 95.6 % and\n  52 s. Another has 5.6 % of all."
    assert figures.with_figures(page, [fragment]) == ("It has 95.6 % and\n  25 s. Another has 5.6 % of all.", [])


def test_a_row_is_a_whole_row():
    page = "| a | 1 | 2 |\n| a | 1 |\n"
    assert figures.with_figures(page, [f"| a | {Number(3)} |"]) == ("| a | 1 | 2 |\n| a | 3 |\n", [])


def test_words_that_a_page_lacks_are_named():
    assert figures.with_figures("some page", [f"{Number(3)} pages"]) == ("some page", ["3 pages"])


def test_part_of_a_number_is_not_a_figure():
    assert figures.with_figures("16.6 M", [f"{Number(6.6e6):.1M}"])[0] == "6.6 M"
    assert figures.with_figures("at 10.90", [f"at {Number(10.9):.1}"])[0] == "at 10.9"


@pytest.mark.parametrize(
    ("value", "form", "printed"),
    [
        (0.12345, ".1%", "12.3 %"),
        (0.5, "p", "50"),
        (6.59e6, ".1M", "6.6 M"),
        (0.0247, "m", "25"),
        (4044.3, "", "4,044"),
    ],
)
def test_a_figure_knows_how_it_is_printed(value, form, printed):
    assert f"{Number(value):{form}}".replace(MARK, "") == printed


def test_a_mean_is_a_figure():
    assert f"{mean([Number(0.1), Number(0.3)]):%}" == f"{MARK}20{MARK} %"
