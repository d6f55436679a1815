"""Two versions are timed in turns, and what got slower is named."""

import json
import subprocess
import sys
from collections import deque
from pathlib import Path

import pytest

from benchmarks import compare, compare_jobs

ROOT = Path(__file__).parents[2]


def side(seconds, order, name):
    """A version whose jobs take so long, one after another; which side was asked is noted."""
    left = deque(seconds)

    def time_it(job):
        order.append(name)
        return {"lacks": "no such name"} if job == "unknown" else {"seconds": left.popleft()}

    return time_it


def test_only_what_both_the_fastest_times_and_most_rounds_show_is_a_difference():
    assert compare.ratio([2.0, 2.0, 4.0], [3.0, 4.0, 3.0]) == 1.5
    assert compare.ratio([4.0, 4.0, 1.0], [2.0, 2.0, 2.0]) == 1.0
    assert compare.ratio([2.0, 2.0, 9.0], [1.6, 1.6, 1.0]) == 0.8


def test_the_order_alternates():
    order = []
    old, new = side([2.0, 2.0, 2.0], order, "old"), side([3.0, 3.0, 3.5], order, "new")
    assert compare.ratios(old, new, ["a"], 3) == {"a": 1.5}
    assert order == ["old", "new", "new", "old", "old", "new"]


def test_a_job_that_a_version_lacks_is_named_and_the_others_run():
    found = compare.ratios(side([1.0], [], "old"), side([1.0], [], "new"), ["unknown", "a"], 1)
    assert found == {"unknown": "the old version cannot: no such name", "a": 1.0}
    assert [compare.verdict(ratio) for ratio in (1.11, 1.09, 0.92, 0.9)] == ["slower", "", "", "faster"]


def test_a_version_of_a_folder_is_timed_in_a_process_of_its_own(tmp_path):
    (tmp_path / "timesurf").mkdir()
    (tmp_path / "timesurf" / "__init__.py").write_text("", "utf-8")
    (tmp_path / "timesurf" / "__main__.py").write_text("print('timesurf 0')", "utf-8")
    with compare.version(tmp_path) as old:
        assert old("starting the command")["seconds"] > 0
        assert "ImportError" in old("predicting")["lacks"]  # it has no Recordings


@pytest.mark.parametrize("name", [name for name in compare_jobs.JOBS if name != "starting the command"])
def test_every_job_runs_with_this_version(name, monkeypatch):
    few = compare_jobs.strokes
    monkeypatch.setattr(compare_jobs, "strokes", lambda number, events=0: few(min(number, 8), 300))
    compare_jobs.JOBS[name]()()


def test_slower_ends_with_1_and_what_was_measured_is_kept(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(compare, "ratios", lambda *_: {"predicting": 2.0})
    monkeypatch.setattr(compare, "HISTORY", tmp_path)
    wheel = tmp_path / "old.whl"
    compare.zipfile.ZipFile(wheel, "w").close()
    assert compare.main(["--base", str(wheel)]) == 1
    assert "slower" in capsys.readouterr().out
    path = compare.save("v0.1.0", {"predicting": 2.0}, 3, tmp_path)
    kept = json.loads(path.read_text("utf-8"))
    assert (kept["base"], kept["ratios"], kept["rounds"]) == ("v0.1.0", {"predicting": 2.0}, 3)
    assert kept["machine"]["python"] == sys.version.split()[0]


def test_before_the_first_release_the_version_before_is_compared_with(tmp_path, capsys):
    def git(*words):
        about = ["-c", "user.name=n", "-c", "user.email=e"]
        return subprocess.run(["git", *about, *words], cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    def commit(version, more):
        (tmp_path / "src" / "timesurf" / "__init__.py").write_text(f'__version__ = "{version}"\n{more}\n', "utf-8")
        git("add", "--all")
        git("commit", "--quiet", "--message", more)
        return git("rev-parse", "--short", "HEAD").strip()

    (tmp_path / "src" / "timesurf").mkdir(parents=True)
    git("init", "--quiet")
    commit("1.0", "first")
    with pytest.raises(SystemExit, match=r"no release yet .* --base COMMIT"):
        compare.last_release(tmp_path)
    last = commit("1.0", "second")
    commit("1.1", "third")
    commit("1.1", "fourth")
    assert compare.last_release(tmp_path) == last
    assert f"{last} is the last commit of the version before" in capsys.readouterr().out
    git("tag", "v1.1")
    assert compare.last_release(tmp_path) == "v1.1"


def test_the_history_holds_ratios_of_known_jobs():
    for path in (ROOT / "benchmarks" / "history").glob("*.json"):
        kept = json.loads(path.read_text("utf-8"))
        assert kept["ratios"].keys() <= compare_jobs.JOBS.keys()
        assert kept["machine"]["timesurf"] == path.stem
