"""What the README shows works as it stands."""

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

from tests.test_pages import blocks
from timesurf import presets

README = Path(__file__).parents[1] / "README.md"
START = README.parent / "docs" / "start.md"


def test_the_examples_run_one_after_the_other(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for page in (README, START):
        exec(re.search(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)[1], {})
        score = float(capsys.readouterr().out.splitlines()[0])
        assert score == 1
        (tmp_path / "sentences.tsf").unlink()


def commands(page):
    """The words of each line that a page shows for a shell and that calls timesurf."""
    lines = [shlex.split(line, comments=True) for block in blocks(page, "sh") for line in block.splitlines()]
    return [words[1:] for words in lines if words[:1] == ["timesurf"]]


def test_the_commands_run_as_they_stand(tmp_path, monkeypatch, timesurf):
    """With a quarter of the passes: the accuracy that is asked for does not need them."""
    of_law = presets.of_law
    monkeypatch.setattr(presets, "of_law", lambda found: replace(a := of_law(found), passes=max(a.passes // 4, 1)))
    monkeypatch.chdir(tmp_path)
    shown, all_of_them = commands(README), commands(START)
    assert len(shown) == 3
    assert all_of_them[:3] == shown  # so that running one page runs both
    assert len(all_of_them) >= 8
    for words in all_of_them:
        code, said = timesurf(*words)
        assert code == 0, f"{words}\n{said}"
    assert json.loads((tmp_path / "figures.json").read_text("utf-8"))["recording_accuracy"] >= 0.85


def test_the_example_of_transforms_runs(capsys):
    page = README.parent / "docs" / "data.md"
    exec(re.search(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)[1], {})
    assert "Recordings(10 recordings" in capsys.readouterr().out


def test_links_lead_somewhere():
    elsewhere = (
        "https://",
        "examples/",
        "../examples/",
        "../api/",
        "reference.rst",
    )  # all but the first: made with the site
    for page in (README, *README.parent.glob("docs/*.md"), *README.parent.glob("docs/howto/*.md")):
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text("utf-8")):
            if not target.startswith(elsewhere):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_anchors_lead_to_headings():
    pages = (README, *README.parent.glob("docs/*.md"), *README.parent.glob("docs/howto/*.md"))
    for page in pages:
        for target, anchor in re.findall(r"\]\(([^)#]*?\.md)?#([^)]*)\)", page.read_text("utf-8")):
            other = page.parent / target if target else page
            headings = re.findall(r"^#+ (.*)$", other.read_text("utf-8"), re.MULTILINE)
            slugs = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
            assert anchor in slugs, f"{page.name} links to {target}#{anchor}"


def test_the_first_page_is_short():
    assert len(README.read_text("utf-8").splitlines()) < 120
