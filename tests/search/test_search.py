"""A search finds settings by two objectives, continues after any interruption, and reports what it found."""

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from timesurf import Network, cli, report, search
from timesurf.datasets import sentences
from timesurf.errors import SettingError
from timesurf.io import npz
from timesurf.presets import SENTENCES, from_dict, nmnist
from timesurf.search import findings, space, trial
from timesurf.search.space import Range, narrowed

optuna = pytest.importorskip("optuna")

PARTS = search.Parts(*(sentences.make(n, seed, duration="2 ms") for seed, n in enumerate((30, 20, 20))))
QUICK = replace(SENTENCES, passes=2, start="kmeans", sample=4, rule=replace(SENTENCES.rule, alpha=1e-3, gamma=3e-2))
FEW = {"passes": 2, "only": ["tau1", "alpha"], "threads": 1, "networks": 1, "best": 1}
TASK = trial.Task(PARTS.learn, PARTS.validation, threads=1)


@pytest.fixture(autouse=True)
def silent():
    optuna.logging.set_verbosity(optuna.logging.WARNING)


def rows(result):
    """The trials of a search without their times and numbers."""
    return [
        {name: value for name, value in row.items() if name not in ("seconds", "number")} for row in result["trials"]
    ]


# ------------------------------------------------------------------ the space


def test_the_space_lies_around_the_preset_and_holds_it():
    around = narrowed(SENTENCES)
    assert around.settings(around.defaults) == SENTENCES
    assert around.options["tau1"] == Range(200.0, 20_000.0)
    assert around.options["units2"] == Range(3, 12, whole=True)
    assert "feedback_tau1" not in around.options  # no layer learns from it
    assert not {"units3", "keep", "batch_size"} & around.options.keys()  # classes, none, online
    digits = narrowed(nmnist(1000))
    assert {"keep", "batch_size", "units1"} <= digits.options.keys()
    assert not {"beta", "gamma"} & digits.options.keys()  # 0 there


def test_rates_of_each_layer_are_varied_by_themselves_where_the_preset_has_them():
    preset = replace(SENTENCES, rule=replace(SENTENCES.rule, alpha=(1e-4, 1e-4, 0.0)))
    around = narrowed(preset)
    assert {"alpha1", "alpha2"} <= around.options.keys()
    assert not {"alpha", "alpha3"} & around.options.keys()
    assert around.settings(around.defaults | {"alpha2": 5e-4}).rule.alpha == (1e-4, 5e-4, 0.0)


def test_the_space_can_be_narrowed_and_widened():
    some = narrowed(
        SENTENCES, only=["tau1", "alpha", "batch_size"], fix={"beta": 0.0},
        vary={"tau1": Range(3000, 9000), "batch_size": (4, 16)},
    )  # fmt: skip
    assert some.defaults == {"tau1": 3000, "alpha": 1e-4, "batch_size": 4}  # the nearest to the preset's
    assert some.preset.rule.beta == 0
    for why, words in {
        "No setting 'tau9'": {"only": ["tau9"]},
        "give the values over which": {"only": ["keep"]},
        "Nothing is left": {"only": ["d"], "fix": ["d"]},
    }.items():
        with pytest.raises(SettingError, match=why):
            narrowed(SENTENCES, **words)
    with pytest.raises(SettingError, match="no range"):
        space.parsed_options("alpha", "1e-3:1e-4")


# ------------------------------------------------------------------ one trial


@pytest.mark.parametrize("batch_size", [None, 8])
def test_a_trial_trains_the_network_that_fit_would(batch_size):
    preset = replace(QUICK, batch_size=batch_size, decay=True, keep=0.5, rule=SENTENCES.rule)
    network = preset.network(PARTS.learn, sentences.TASK1, 3, threads=1).fit(PARTS.learn, **preset.training())
    figures = network.evaluate(PARTS.validation)
    measured = trial.measure(TASK, preset, seed=3)
    assert (measured.recording_accuracy[-1], measured.kept[-1]) == (figures["recording_accuracy"], figures["kept"])
    assert measured.event_accuracy == figures["event_accuracy"]
    assert measured.ended == "whole"


def test_who_falls_behind_the_median_is_given_up_and_who_is_near_it_is_not():
    curves = [[0.5, 0.6, 0.9, 1.0], [0.5, 0.9, 0.8, 0.9]] * 3
    assert trial.bars(curves, 4) == pytest.approx([0, 0.75, 0.9, 0.95])
    assert trial.bars(curves[:4], 4) == []  # too few
    bars = [0, 0.9, 0.9, 0.9]
    assert not trial.fallen_behind([0.1], bars, 100)
    assert trial.fallen_behind([0.1, 0.5], bars, 100)
    assert not trial.fallen_behind([0.1, 0.7], bars, 10)  # ten recordings say little
    assert not trial.fallen_behind([0.95, 0.5], bars, 100)  # it has been better
    assert trial.measure(TASK, QUICK, 0, [1.1, 1.1]).ended == "pruned"


def test_who_diverges_or_guesses_gets_the_worst_marks():
    wild = replace(QUICK, rule=replace(QUICK.rule, alpha=1e9))
    measured = trial.measure(TASK, wild, 0)
    assert measured.ended == "diverged"
    assert measured.marks(0.5) == (0, 1)
    guess = trial.Measured((0.5,), (0.01,), 0.5, "whole", 1.0)
    assert guess.marks(0.5) == (0.5, 1.0)
    assert guess.marks(0.4) == (0.5, 0.01)


# ------------------------------------------------------------------ the study


def test_the_same_seed_gives_the_same_search():
    first, again, other = (search.run(PARTS, QUICK, trials=3, seed=seed, **FEW) for seed in (1, 1, 2))
    assert rows(first) == rows(again) != rows(other)
    assert first["test"] == again["test"]
    assert first["trials"][0]["values"] == first["defaults"] == {"tau1": 2000.0, "alpha": 1e-3}


def test_several_at_a_time_make_no_more_trials_than_asked_for():
    result = search.run(PARTS, QUICK, trials=5, jobs=3, **FEW)
    assert len(result["trials"]) == 5
    assert len({json.dumps(row["values"]) for row in result["trials"]}) == 5


def test_the_front_is_what_no_other_trial_beats():
    result = search.run(PARTS, QUICK, trials=6, **FEW)
    marks = {row["number"]: row["marks"] for row in result["trials"] if row["marks"]}
    best = {
        n for n, (right, kept) in marks.items()
        if not any(r >= right and k <= kept and (r, k) != (right, kept) for r, k in marks.values())
    }  # fmt: skip
    assert set(result["front"]) == best


def test_options_that_no_network_takes_are_refused_before_the_first_trial():
    for vary in ({"keep": Range(0.5, 2.0)}, {"units1": (1, 0)}):
        with pytest.raises(SettingError):
            narrowed(SENTENCES, vary=vary)


def test_a_trial_that_ends_in_an_error_is_not_made_again(monkeypatch, tmp_path):
    database = f"sqlite:///{tmp_path / 'search.db'}"

    def broken(*_, **__):
        raise OSError("the disk is gone")

    with monkeypatch.context() as context:
        context.setattr(sys.modules["timesurf.search.workers"], "measure", broken)
        with pytest.raises(OSError, match="the disk is gone"):
            search.run(PARTS, QUICK, trials=2, storage=database, **FEW)
    found = search.run(PARTS, QUICK, trials=2, storage=database, **FEW)
    assert [row["number"] for row in found["trials"]] == [1, 2]
    assert found["interrupted"] == 0


def test_another_problem_is_refused(tmp_path):
    storage = f"sqlite:///{tmp_path}/search.db"
    search.run(PARTS, QUICK, trials=1, storage=storage, **FEW)
    with pytest.raises(SettingError, match="another seed"):
        search.run(PARTS, QUICK, trials=1, storage=storage, seed=5, **FEW)
    with pytest.raises(SettingError, match="cannot be opened"):
        search.run(PARTS, QUICK, trials=1, storage="nosuch://database", **FEW)


def test_a_trial_without_signs_of_life_is_taken_for_dead_and_others_are_not(monkeypatch):
    from timesurf.search import study

    class Trial:
        number, user_attrs = 7, {"worker": "elsewhere:1", "pulse": 1}

    now = [0.0]
    monkeypatch.setattr(study.time, "monotonic", lambda: now[0])
    watch = study._Watch(grace=10)
    for now[0], pulse, dead in ((0, 1, 0), (9, 1, 0), (9.5, 2, 0), (19, 2, 0), (19.6, 2, 1)):
        Trial.user_attrs["pulse"] = pulse
        assert len(watch.dead([Trial])) == dead
    assert not study._gone(f"{study.platform.node()}:{os.getppid()}")


# ------------------------------------------------------------------ processes that end, and processes side by side

PROGRAM = """
import sys
import optuna
optuna.logging.set_verbosity(optuna.logging.WARNING)
from tests.search.test_search import FEW, PARTS, QUICK
from timesurf import search
def report(row, done, leads):
    print(done, flush=True)
print("ready", flush=True)
result = search.run(PARTS, QUICK, trials=int(sys.argv[2]), storage=sys.argv[1], report=report, **FEW)
print(len(result["trials"]), result["stopped"])
"""


@pytest.fixture
def begun():
    """Start a process that searches, once it has imported everything; none is left."""
    started = []

    def begin(storage, trials):
        words = [sys.executable, "-c", PROGRAM, storage, str(trials)]
        started.append(subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        assert started[-1].stdout.readline() == "ready\n", started[-1].stderr.read()
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def test_a_search_that_is_killed_goes_on_as_if_it_had_not_been(tmp_path, begun):
    storage = f"sqlite:///{tmp_path}/search.db"
    process = begun(storage, 400)
    for _ in range(3):
        process.stdout.readline()
    process.kill()
    process.communicate()
    before = optuna.load_study(study_name="timesurf", storage=storage).get_trials()
    made = sum(t.state.name in ("COMPLETE", "PRUNED") for t in before)
    assert 3 <= made < 400
    result = search.run(PARTS, QUICK, trials=made + 3, storage=storage, **FEW)
    assert len(result["trials"]) == made + 3
    left = optuna.load_study(study_name="timesurf", storage=storage).get_trials()
    assert {t.state.name for t in left} <= {"COMPLETE", "PRUNED", "FAIL"}
    assert rows(result) == rows(search.run(PARTS, QUICK, trials=made + 3, **FEW))


def test_workers_of_dask_make_the_same_trials():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as cluster:
        there = search.run(PARTS, QUICK, trials=3, dask=cluster.scheduler_address, **FEW)
    assert rows(there) == rows(search.run(PARTS, QUICK, trials=3, **FEW))


def test_two_processes_share_a_study(tmp_path, begun):
    storage = f"sqlite:///{tmp_path}/search.db"
    other = begun(storage, 12)
    result = search.run(PARTS, QUICK, trials=12, storage=storage, **FEW)
    said, errors = other.communicate(timeout=100)
    assert other.returncode == 0, errors
    assert len(result["trials"]) == 12
    assert said.splitlines()[-1] == "12 False"
    made = optuna.load_study(study_name="timesurf", storage=storage).get_trials()
    assert len({t.user_attrs["worker"] for t in made if t.state.name in ("COMPLETE", "PRUNED")}) == 2


# ------------------------------------------------------------------ what was found


@pytest.fixture(scope="module")
def result():
    return search.run(PARTS, QUICK, trials=8, **FEW)


def test_the_result_tells_what_matters_and_what_was_run(result):
    for objective in ("recording_accuracy", "kept"):
        assert result["importance"][objective].keys() == {"tau1", "alpha"}
        assert sum(result["importance"][objective].values()) == pytest.approx(1)
    assert result["machine"]["optuna"] == optuna.__version__
    assert result["settings"]["seed"] == 0
    assert result["finalists"][0]["values"] == result["defaults"]
    assert sum(one["chosen"] for one in result["finalists"]) == 1
    json.dumps(result, allow_nan=False)


def test_what_is_chosen_is_no_worse_than_the_defaults(result):
    chosen = next(one for one in result["finalists"] if one["chosen"])
    assert np.mean(chosen["recording_accuracy"]) >= np.mean(result["finalists"][0]["recording_accuracy"])
    assert np.mean(chosen["kept"]) <= np.mean(result["finalists"][0]["kept"])
    tested = result["test"]
    assert tested["values"] == chosen["values"]
    network = QUICK.network(PARTS.learn, sentences.TASK1, 2, threads=1).fit(PARTS.learn, **QUICK.training())
    assert tested["defaults"]["kept"] == [network.evaluate(PARTS.held_out)["kept"]]  # recordings held out, a new seed


@pytest.mark.parametrize("preset", [QUICK, replace(nmnist(1000), margin=float("inf"))])
def test_the_python_that_is_printed_has_these_settings(preset):
    names = {}
    exec(findings.snippet(preset, seed=4).replace(".fit(recordings)", ""), names)
    made = names["classifier"]
    for name in (*preset.training(), "alpha", "beta", "gamma", "delta", "d", "kernel", "competition"):
        wanted = getattr(preset, name) if hasattr(preset, name) else getattr(preset.rule, name)
        assert getattr(made, name) == wanted
    assert tuple(made.layers) == preset.layers
    assert made.random_state == 4


def test_the_page_of_a_search_shows_front_and_importance(result, tmp_path):
    page = report.write_search(result, tmp_path / "search.html").read_text("utf-8")
    for words in ("Sup3rClassifier(", "tau1", "<svg"):
        assert words in page
    missing = {name: value for name, value in result.items() if name not in ("test", "finalists")}
    assert "stopped" in report.search_page(missing | {"stopped": True, "importance": {}})


def test_recordings_held_out_have_no_part_in_choosing(result):
    """Other recordings held out change nothing but the figures reported on them."""
    other = replace(PARTS, held_out=sentences.make(12, seed=9, duration="2 ms"))
    again = search.run(other, QUICK, trials=8, **FEW)
    assert rows(again) == rows(result)
    assert [one["values"] for one in again["finalists"]] == [one["values"] for one in result["finalists"]]
    assert again["test"]["values"] == result["test"]["values"]


def test_a_search_needs_all_three_parts():
    with pytest.raises(SettingError, match="choose by and others to report on"):
        search.run(replace(PARTS, held_out=None), QUICK, trials=1, **FEW)


def test_unlabelled_recordings_are_learned_from_and_not_judged():
    labels = np.where(np.arange(len(PARTS.learn)) % 5 == 0, "", PARTS.learn.labels)
    task = replace(TASK, learn=PARTS.learn.with_labels(labels))
    assert task.learn.classes.tolist() == TASK.learn.classes.tolist()
    assert trial.measure(task, QUICK, 0).ended == "whole"


# ------------------------------------------------------------------ the command


@pytest.fixture
def timesurf(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["timesurf", "search", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        printed = capsys.readouterr()
        return int(end.value.code or 0), " ".join((printed.out + printed.err).split())

    return run


SHORT = [
    "--preset",
    "sentences",
    "--passes",
    "1",
    "--networks",
    "1",
    "--threads",
    "1",
    "--only",
    "tau1",
    "--only",
    "alpha",
]


def test_the_command_writes_study_figures_and_page(timesurf, tmp_path):
    npz.write(tmp_path / "two.npz", sentences.make(50, seed=0))
    code, said = timesurf(
        "two.npz", *SHORT, "--trials", 3, "--vary", "tau1=1 ms:4 ms", "--fix", "beta=0", "--out", "found"
    )
    assert code == 0, said
    assert "Importance" in said
    assert "recording accuracy" in said
    result = json.loads((tmp_path / "found" / "search.json").read_text("utf-8"))
    assert result["settings"]["preset"]["rule"]["beta"] == 0
    assert all(1000 <= row["values"]["tau1"] <= 4000 for row in result["trials"])
    assert result["command"][:2] == ["timesurf", "search"]
    assert (tmp_path / "found" / "search.db").is_file()
    assert (tmp_path / "found" / "search.html").is_file()
    code, said = timesurf(*SHORT, "--trials", 3, "--out", "found")
    assert code == 2
    assert "started with another" in said
    check_that_train_takes_what_was_found(tmp_path / "found", result["test"]["settings"])


def check_that_train_takes_what_was_found(folder, settings):
    assert Network.load(folder / "best.tsf").rule == from_dict(settings).rule
    train = ["train", folder.parent / "two.npz", "--config", folder / "best.toml", "--model", folder / "m.tsf"]
    for passes, code in ((1, 0), (-1, 2)):
        (folder / "best.json").write_text(json.dumps(settings | {"passes": passes}), "utf-8")
        ended = subprocess.run([sys.executable, "-m", "timesurf", *map(str, train)], capture_output=True, text=True)
        assert ended.returncode == code, ended.stderr
    assert "passes = -1" in ended.stderr
    assert Network.load(folder / "m.tsf").rule == from_dict(settings).rule


def test_the_time_is_for_trials_finalists_and_report_together(monkeypatch):
    """Each training takes 10 s: after 11 trials, 90 of 200 s are left: 6 finalists, 2 of the report, the model."""
    rows = []
    study = SimpleNamespace(rows=lambda: rows)
    now = [0.0]
    monkeypatch.setattr(search.time, "monotonic", lambda: now[0])
    clock = search.Clock(study, jobs=1, seconds=200, finalists=6)
    while not clock.late():
        now[0] += 10
        rows.append({"ended": "whole", "seconds": 10})
    assert len(rows) == 11
    assert clock.fit(5) == 1
    now[0] = 30.0
    assert clock.fit(5) == 2
    now[0] = 31.0
    assert clock.fit(5) == 1
    assert search.Clock(study, 1, None, 6).fit(5) == 5
    assert not search.Clock(study, 1, None, 6).late()


def test_mistakes_are_named(timesurf):
    for why, words in {
        "recordings to learn from": ["--preset", "nmnist"],
        "No setting 'tua1'": [*SHORT, "--recordings", "20", "--only", "tua1"],
        "LOW:HIGH": [*SHORT, "--recordings", "20", "--vary", "tau1"],
    }.items():
        code, said = timesurf(*words)
        assert (code, why in said) == (2, True), said


def test_without_optuna_it_says_what_to_install(timesurf, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    code, said = timesurf(*SHORT)
    assert code == 2
    assert re.search(r"pip install .*\[search\]'", said)


def test_ctrl_c_ends_with_the_report_so_far(timesurf, tmp_path, monkeypatch):
    tell = search.Study.tell

    def interrupted(study, *about):
        row = tell(study, *about)
        if len(study.rows()) == 2:
            signal.raise_signal(signal.SIGINT)
        return row

    monkeypatch.setattr(search.Study, "tell", interrupted)
    code, said = timesurf(*SHORT, "--recordings", "20", "--trials", "500", "--jobs", "2")
    assert code == 130, said
    assert "continues the search" in said
    result = json.loads((tmp_path / "search" / "search.json").read_text("utf-8"))
    assert result["stopped"]
    assert len(result["trials"]) == 2
    assert "test" not in result
    waiting = optuna.load_study(study_name="timesurf", storage=f"sqlite:///{tmp_path}/search/search.db").get_trials()
    assert {t.state.name for t in waiting} == {"COMPLETE", "FAIL", "WAITING"}  # none is left running
