"""The files around the code agree with it: workflows, templates, versions, changelog, the release."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

import timesurf
from tests.scripts import loaded

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
RELEASE = loaded("tools/release.py")


def parsed(name):
    return yaml.safe_load((ROOT / name).read_text("utf-8"))


def steps(workflow):
    """Every command line of a workflow."""
    for job in parsed(workflow)["jobs"].values():
        choices = job.get("strategy", {}).get("matrix", {}).get("include", [])
        yield from (row["run"] for row in choices)
        yield from (step["run"] for step in job["steps"] if "run" in step)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_what_exists_by_pinned_actions(workflow):
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    for line in steps(workflow.relative_to(ROOT)):
        for target in re.findall(r"\bmake ((?:[a-z-]+ )*[a-z-]+)", line):
            assert set(target.split()) <= set(targets), line
        for file in re.findall(r"[\w./-]+\.(?:py|lock|txt)\b", line):
            assert (ROOT / file).is_file(), line
    text = workflow.read_text("utf-8")
    for action in re.findall(r"uses: (\S+)", text):
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action), action
    assert parsed(workflow)["permissions"] == {"contents": "read"}


def test_every_python_that_is_stated_is_tested_on_every_system():
    stated = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)]
    matrix = parsed(".github/workflows/tests.yml")["jobs"]["tests"]["strategy"]["matrix"]
    assert matrix["python"] == stated
    assert PROJECT["requires-python"] == f">={stated[0]}"
    assert {system.partition("-")[0] for system in matrix["os"]} == {"ubuntu", "macos", "windows"}
    for workflow in WORKFLOWS:
        assert set(re.findall(r'python-version: "(3\.\d+)"', workflow.read_text("utf-8"))) <= set(stated)
    assert parsed(".readthedocs.yaml")["build"]["tools"]["python"] in stated


def test_hooks_and_the_site_name_files_that_exist():
    site = parsed(".readthedocs.yaml")
    named = [site["sphinx"]["configuration"], site["python"]["install"][0]["requirements"]]
    for hook in parsed(".pre-commit-config.yaml")["repos"][0]["hooks"]:
        for word in hook["entry"].split():
            file, _, test = word.partition("::")
            if word.startswith("tests/"):
                named.append(file)
                assert f"def {test}" in (ROOT / file).read_text("utf-8"), word
        assert hook["entry"].startswith(".venv/bin/")
    for name in named:
        assert (ROOT / name).is_file(), name


@pytest.mark.parametrize("form", ["bug", "wish"])
def test_forms_for_issues_are_complete(form):
    about = parsed(f".github/ISSUE_TEMPLATE/{form}.yml")
    assert about.keys() >= {"name", "description", "body"}
    assert len({part["id"] for part in about["body"]}) == len(about["body"])
    assert all(part["attributes"]["label"] for part in about["body"])


def test_every_script_of_the_benchmarks_is_listed():
    listed = (ROOT / "benchmarks" / "README.md").read_text("utf-8")
    assert [path.name for path in (ROOT / "benchmarks").glob("*.py") if f"`{path.name}`" not in listed] == []


def test_the_version_is_stated_once_and_the_others_follow():
    assert RELEASE.version() == timesurf.__version__
    assert "version" not in PROJECT
    assert PROJECT["dynamic"] == ["version"]
    citation = parsed("CITATION.cff")
    assert citation["version"] == timesurf.__version__
    assert citation["license"] == PROJECT["license"]
    assert citation["authors"] == PROJECT["authors"]
    assert citation["preferred-citation"]["url"] == PROJECT["urls"]["Paper"] == "https://arxiv.org/abs/2404.12402"
    assert citation["preferred-citation"]["doi"] == "10.48550/arXiv.2404.12402"
    versions = re.findall(r"^## (\S+) \(", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert versions[0] == timesurf.__version__


@pytest.fixture
def ready(tmp_path):
    """A repository that is ready for release 1.2.3."""
    (tmp_path / "src" / "timesurf").mkdir(parents=True)
    (tmp_path / "src" / "timesurf" / "__init__.py").write_text('__version__ = "1.2.3"\n', "utf-8")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 1.2.3 (2030-01-02)\n", "utf-8")
    (tmp_path / "CITATION.cff").write_text("title: t\nversion: 1.2.3\n", "utf-8")
    RELEASE.git("init", "--quiet", root=tmp_path)
    for name, value in (("name", "n"), ("email", "e"), ("useConfigOnly", "true")):
        RELEASE.git("config", f"user.{name}", value, root=tmp_path)
    commit(tmp_path)
    return tmp_path


def commit(root):
    RELEASE.git("add", "--all", root=root)
    RELEASE.git("commit", "--quiet", "--message", "m", root=root)


def test_a_ready_tree_is_released(ready):
    RELEASE.check_tree(ready)


@pytest.mark.parametrize(
    ("file", "text", "why"),
    [
        ("CHANGELOG.md", "## 1.2.3 (unreleased)\n", "CHANGELOG.md has no heading"),
        ("CHANGELOG.md", "## 1.2.30 (2030-01-02)\n", "CHANGELOG.md has no heading"),
        ("CITATION.cff", "title: t\nversion: 1.2.2\n", "CITATION.cff does not say"),
        ("src/timesurf/__init__.py", "", "states no __version__"),
    ],
)
def test_a_tree_that_is_not_ready_is_not_released(ready, file, text, why):
    (ready / file).write_text(text, "utf-8")
    commit(ready)
    with pytest.raises(RELEASE.NotReadyError, match=why):
        RELEASE.check_tree(ready)


def test_changes_and_an_existing_tag_stop_a_release(ready):
    RELEASE.git("tag", "v1.2.3", root=ready)
    with pytest.raises(RELEASE.NotReadyError, match=r"a tag v1\.2\.3 already"):
        RELEASE.check_tree(ready)
    (ready / "new").write_text("", "utf-8")
    with pytest.raises(RELEASE.NotReadyError, match=r"not committed:\n.*new"):
        RELEASE.check_tree(ready)


def test_a_release_needs_somebody_to_tag_it(ready, monkeypatch):
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, str(ready / "none"))
    for name in ("EMAIL", "GIT_COMMITTER_EMAIL"):
        monkeypatch.delenv(name, raising=False)
    RELEASE.git("config", "--unset", "user.email", root=ready)
    with pytest.raises(RELEASE.NotReadyError, match="`git var` failed: Committer identity unknown"):
        RELEASE.check_tree(ready)


def test_what_is_released_is_checked_before_it_is_tested():
    recipe = re.search(r"^release:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)[1]
    assert re.findall(r"\b(check|test|docs|tag)$", recipe, re.MULTILINE) == ["check", "test", "docs", "tag"]


def test_what_is_built_is_whole_and_runs(tmp_path):
    """Built from a copy of what git knows of, so that nothing here changes."""
    copy = tmp_path / "copy"
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(copy)], check=True, capture_output=True)
    wheel, source = RELEASE.build(copy)
    number = RELEASE.version(copy)
    RELEASE.check_built(wheel, source, number)
    with pytest.raises(RELEASE.NotReadyError, match="lacks"):
        RELEASE.check_built(wheel, *_without_licence(source), number)


def _without_licence(source):
    import tarfile

    other = source.with_name("other.tar.gz")
    with tarfile.open(source) as old, tarfile.open(other, "w:gz") as new:
        for member in old.getmembers():
            if member.isfile() and not member.name.endswith("LICENSE"):
                new.addfile(member, old.extractfile(member))
    return [other]
