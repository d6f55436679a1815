"""What the README shows works as it stands."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_examples_run_one_after_the_other(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for example in re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL):
        exec(example, names)
    score = float(capsys.readouterr().out.splitlines()[0])
    assert score == 1
    assert (tmp_path / "sentences.tsf").is_file()
    assert len(names["recordings"]) == len(names["train"])


def test_the_commands_run_as_they_stand(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```sh\n(.*?)```", README.read_text(), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("timesurf ")]
    assert len(lines) >= 8
    for line in lines:
        words = shlex.split(line, comments=True)[1:]
        done = subprocess.run([sys.executable, "-m", "timesurf", *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    assert json.loads((tmp_path / "figures.json").read_text())["recording_accuracy"] >= 0.85


def test_the_example_of_transforms_runs(capsys):
    page = README.parent / "docs" / "data.md"
    exec(re.search(r"```python\n(.*?)```", page.read_text(), re.DOTALL)[1], {})
    assert "Recordings(10 recordings" in capsys.readouterr().out


def test_links_lead_somewhere():
    made = ("examples/", "reference.rst")  # when the site is built, which fails on a link that leads nowhere
    for page in (README, *README.parent.glob("docs/*.md")):
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
            if not target.startswith(made):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"
