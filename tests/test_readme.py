"""What the README shows works as it stands."""

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_first_example_runs_and_learns(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    example = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)[1]
    exec(example, {})
    score = float(capsys.readouterr().out.splitlines()[0])
    assert score == 1
    assert (tmp_path / "sentences.tsf").is_file()


def test_the_example_of_transforms_runs(capsys):
    page = README.parent / "docs" / "data.md"
    exec(re.search(r"```python\n(.*?)```", page.read_text(), re.DOTALL)[1], {})
    assert "Recordings(10 recordings" in capsys.readouterr().out


def test_links_lead_somewhere():
    for page in (README, *README.parent.glob("docs/*.md")):
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
