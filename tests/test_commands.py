"""The commands that users run every day: train, evaluate, predict, adapt, convert, stream; and their errors."""

import csv
import json
import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest
import typer

from timesurf import Network, Recordings
from timesurf.bench import workloads
from timesurf.cli.app import app
from timesurf.datasets import sentences
from timesurf.io import camera, npz
from timesurf.paper import table1

QUICK = ["--preset", "sentences", "--passes", "1", "--alpha", "3e-3", "--gamma", "3e-3"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Recordings of two sentences, and of one more, as files."""
    place = tmp_path_factory.mktemp("data")
    npz.write(place / "two.npz", sentences.make(60, seed=0))
    npz.write(place / "test.npz", sentences.make(20, seed=1))
    more = sentences.make(20, seed=2)
    npz.write(place / "more.npz", more.with_labels(np.where(more.labels == more.labels[0], "new", "newer")))
    npz.write(place / "unlabelled.npz", type(more)(more.coords, more.t, offsets=more.offsets, field=more.field))
    return place


@pytest.fixture
def model(folder, timesurf):
    """A trained model, made once."""
    path = folder / "m.tsf"
    if not path.exists():
        code, said = timesurf("train", folder / "two.npz", "--model", path, *QUICK, "--held-out", "0.2", "--seed", "3")
        assert code == 0, said
    return path


def test_train_saves_the_model_and_how_it_was_made(folder, model):
    about = json.loads((folder / "m.tsf.run" / "run.json").read_text("utf-8"))
    assert about["seed"] == about["config"]["seed"] == 3
    assert about["config"]["alpha"] == 3e-3
    assert about["settings"]["rule"]["alpha"] == 3e-3
    assert len(about["history"]) == 1
    assert about["evaluation"]["recordings"] == len(npz.read(folder / "m.tsf.run" / "held_out.npz")) == 12
    assert about["machine"]["numpy"]
    assert "train" in about["command"]
    assert Network.load(model).rule.alpha == 3e-3


def test_a_run_can_be_repeated_from_its_configuration(folder, model, timesurf, tmp_path):
    again = tmp_path / "again.tsf"
    config = folder / "m.tsf.run" / "config.toml"
    code, said = timesurf("train", folder / "two.npz", "--config", config, "--model", again)
    assert code == 0, said
    assert again.read_bytes() == model.read_bytes()


def test_evaluate_prints_and_writes_figures(folder, model, timesurf, tmp_path):
    code, said = timesurf("evaluate", model, folder / "test.npz", "--json", tmp_path / "e.json")
    assert code == 0
    assert "recording accuracy" in said
    result = json.loads((tmp_path / "e.json").read_text("utf-8"))
    expected = Network.load(model).evaluate(npz.read(folder / "test.npz"))
    for name in ("recording_accuracy", "event_accuracy", "kept"):
        assert result[name] == expected[name]
    assert sum(n for _, _, n in result["confusion"]) == 20


def test_evaluate_needs_at_least_one_label(folder, model, timesurf, tmp_path):
    data = npz.read(folder / "test.npz")
    npz.write(tmp_path / "none.npz", data.with_labels([""] * len(data)))
    code, said = timesurf("evaluate", model, tmp_path / "none.npz")
    assert code == 2
    assert "label" in said
    npz.write(tmp_path / "some.npz", data.with_labels(np.where(np.arange(20) < 5, "", data.labels)))
    code, said = timesurf("evaluate", model, tmp_path / "some.npz", "--json", tmp_path / "e.json")
    assert code == 0, said
    assert sum(n for _, _, n in json.loads((tmp_path / "e.json").read_text("utf-8"))["confusion"]) == 15
    assert "without a label: 5" in timesurf("inspect", tmp_path / "some.npz")[1]


def test_predict_writes_one_row_per_recording(folder, model, timesurf, tmp_path):
    assert timesurf("predict", model, folder / "unlabelled.npz", "--out", tmp_path / "p.csv")[0] == 0
    with open(tmp_path / "p.csv", newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    votes = Network.load(model).infer(npz.read(folder / "unlabelled.npz")).votes
    assert len(lines) == 20
    for line, row in zip(lines, votes, strict=True):
        assert [int(line[f"votes {name}"]) for name in Network.load(model).classes] == row.tolist()


def test_decisions_are_by_votes_or_by_evidence(folder, model, timesurf, tmp_path):
    said = {}
    for how in ("votes", "evidence"):
        words = ["--decide", how, "--json", tmp_path / f"{how}.json"]
        assert timesurf("evaluate", model, folder / "test.npz", *words)[0] == 0
        said[how] = json.loads((tmp_path / f"{how}.json").read_text("utf-8"))
    assert said["votes"]["event_accuracy"] == said["evidence"]["event_accuracy"]
    assert said["votes"]["calibration_error"] != said["evidence"]["calibration_error"]
    code, words = timesurf("evaluate", model, folder / "test.npz", "--decide", "luck")
    assert code == 2
    assert "votes, evidence" in words


def test_predict_until_sure_says_what_it_took(folder, model, timesurf, tmp_path):
    code, said = timesurf("predict", model, folder / "test.npz", "--out", tmp_path / "s.csv", "--sure", "0.5")
    assert code == 0, said
    assert said.count("of a recording's events used on average") == 1
    with open(tmp_path / "s.csv", newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 20
    assert all(0 < int(line["events_used"]) <= int(line["events"]) for line in lines)
    assert any(line["sure"] == "True" for line in lines)


def test_tighten_keeps_the_share_asked_for(folder, model, timesurf, tmp_path):
    words = ["--keep", "0.5", "--passes", "1", "--validation", "0.3", "--out", tmp_path / "t.tsf"]
    code, said = timesurf("tighten", model, folder / "two.npz", *words)
    assert code == 0, said
    figures = Network.load(tmp_path / "t.tsf").evaluate(npz.read(folder / "two.npz"))
    assert figures["kept"] == pytest.approx(0.5, abs=0.03)


def test_training_measures_accuracy_over_events_kept(folder, model):
    rows = json.loads((folder / "m.tsf.run" / "run.json").read_text("utf-8"))["evaluation"]["over_kept"]
    assert len(rows) > 2
    assert [row["kept"] for row in rows] == pytest.approx([row["keep"] for row in rows], abs=0.03)


def test_adapt_and_extend_write_changed_models(folder, model, timesurf, tmp_path):
    assert timesurf("adapt", model, folder / "unlabelled.npz", "--out", tmp_path / "a.tsf")[0] == 0
    assert (tmp_path / "a.tsf").read_bytes() != model.read_bytes()
    words = ["--units", "2", "--before", folder / "two.npz", "--passes", "1", "--out", tmp_path / "e.tsf"]
    code, said = timesurf("extend", model, folder / "more.npz", *words)
    assert code == 0, said
    assert Network.load(tmp_path / "e.tsf").classes.tolist()[2:] == ["new", "newer"]
    code, said = timesurf("extend", model, folder / "test.npz", "--out", tmp_path / "x.tsf")
    assert code == 2
    assert "no label that" in said


def test_inspect_distinguishes_models_from_data(folder, model, timesurf):
    assert "3 units over 5 x 5 x 1" in timesurf("inspect", model)[1]
    assert "60" in timesurf("inspect", folder / "two.npz")[1]


def test_convert_and_simulate_make_recordings(folder, timesurf, tmp_path):
    assert timesurf("convert", folder / "two.npz", tmp_path / "copy.npz")[0] == 0
    assert npz.read(tmp_path / "copy.npz").t.tolist() == npz.read(folder / "two.npz").t.tolist()
    images = np.zeros((3, 28, 28), np.uint8)
    images[:, 4:24, 12:16] = 255
    np.savez(tmp_path / "images.npz", images=images, labels=np.arange(3))
    code, said = timesurf("simulate", tmp_path / "images.npz", tmp_path / "events.npz", "--number", "2")
    assert code == 0, said
    assert npz.read(tmp_path / "events.npz").labels.tolist() == [0, 1]


def test_stream_ends_as_the_whole_recordings_do(timesurf, tmp_path):
    data = workloads.strokes(2, events=300, field=(8, 8))
    npz.write(tmp_path / "strokes.npz", data)
    network = Network(workloads.NMNIST, data.field, 1, range(10)).start(data)
    network.save(tmp_path / "n.tsf")
    words = ["--from", tmp_path / "strokes.npz", "--vote-tau", "never", "--json", tmp_path / "s.json"]
    code, said = timesurf("stream", tmp_path / "n.tsf", *words)
    assert code == 0, said
    result = json.loads((tmp_path / "s.json").read_text("utf-8"))
    assert result["events"] == 600
    assert sum(result["votes"]) == 600  # an open network keeps everything
    words[3:] = ["50 ms", "--adapt", "--out", tmp_path / "adapted.tsf"]
    assert timesurf("stream", tmp_path / "n.tsf", *words)[0] == 0
    assert (tmp_path / "adapted.tsf").is_file()


def test_files_are_played_logged_and_sent(timesurf, tmp_path):
    data = workloads.strokes(2, events=300, field=(8, 8))
    Network(workloads.NMNIST, data.field, 1, range(10)).start(data).save(tmp_path / "n.tsf")
    x, y = data.coords
    later = np.concatenate([data[0].t, data[1].t + data[0].t[-1]])
    rows = np.stack([x, y, later], axis=1)
    np.savetxt(tmp_path / "a.csv", rows / [1, 1, 1000], fmt="%.3f", delimiter=",")
    reading = ["--columns", "x,y,t", "--time-unit", "ms"]
    words = ["--from", tmp_path / "a.csv", "--speed", "10", "--log", tmp_path / "d.jsonl", "--on-drift", "adapt"]
    code, said = timesurf("stream", tmp_path / "n.tsf", *words, *reading)
    assert code == 0, said
    lines = [json.loads(line) for line in (tmp_path / "d.jsonl").read_text("utf-8").splitlines()]
    assert sum(line["events"] for line in lines) == 600
    assert lines[-1]["t"] == later[-1]
    assert 30 < len(lines) < 70  # 0.6 s, every 10 ms
    code, said = timesurf(
        "send", tmp_path / "a.csv", "--to", "udp://127.0.0.1:9", "--speed", "0", "--loop", "2", *reading
    )
    assert code == 0, said
    assert "1,200 events in" in said
    for wrong, why in ((["--on-drift", "panic"], "--on-drift panic"), (["--log-every", "soon"], "--log-every")):
        code, said = timesurf("stream", tmp_path / "n.tsf", *words, *reading, *wrong)
        assert code != 0
        assert why in said


def test_doctor_lists_what_is_missing(timesurf, tmp_path):
    code, said = timesurf("doctor", "--json", tmp_path / "d.json")
    assert code == 0
    found = json.loads((tmp_path / "d.json").read_text("utf-8"))
    assert found["engines"]["reference"] == ""
    assert "engine" in said
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
    assert set(found["extras"]) == set(project["optional-dependencies"]) - {"dev", "docs", "fuzz"}  # those for users


def test_demo_finishes_without_matplotlib_and_says_where_the_model_is(timesurf, tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("matplotlib.")]:
        monkeypatch.delitem(sys.modules, name)  # other tests may have imported them
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # cannot be imported
    train = table1.train
    monkeypatch.setattr(table1, "train", lambda seed, n, recordings, report: train(seed, n, recordings // 20, report))
    code, said = timesurf("demo", "--out", tmp_path / "d")
    assert code == 0, said
    assert "No figure was drawn" in said
    assert "pip install" in said
    assert f"The trained network: {tmp_path / 'd' / 'sentences.tsf'}" in said
    assert len(Network.load(tmp_path / "d" / "sentences.tsf").classes) == 2


def test_predict_says_so_where_recordings_of_several_classes_all_get_one(folder, model, timesurf, tmp_path):
    network = Network.load(model)
    network.parameters[-1].thresholds[1] = 0  # the second class never wins
    network.save(tmp_path / "one.tsf")
    code, said = timesurf("predict", tmp_path / "one.tsf", folder / "test.npz")
    assert code == 0, said
    assert "All recordings get one class" in said
    npz.write(tmp_path / "alike.npz", (data := npz.read(folder / "test.npz"))[data.labels == data.classes[0]])
    for calm in (folder / "unlabelled.npz", tmp_path / "alike.npz"):
        assert "get one class" not in timesurf("predict", tmp_path / "one.tsf", calm)[1]


def test_the_report_of_a_model_has_the_day_in_its_title(folder, model, timesurf, tmp_path):
    before = time.strftime("%Y-%m-%d")
    code, said = timesurf("report", model, "--data", folder / "test.npz", "--out", tmp_path / "r.html")
    assert code == 0, said
    title = re.search("<title>(.*?)</title>", (tmp_path / "r.html").read_text("utf-8"))[1]
    assert any(day in title for day in (before, time.strftime("%Y-%m-%d")))


@pytest.mark.parametrize(
    ("words", "option", "values"),
    [
        (("train",), "preset", {"auto", "camera", "nmnist", "sentences"}),
        (("train",), "unit", {"s", "ms", "us", "ns"}),
        (("search",), "only", {"tau1", "units1", "alpha"}),
        (("search",), "fix", {"keep"}),
        (("train",), "sensor", {"dvs128", "davis240", "davis346", "cochlea"}),
        (("evaluate",), "decide", {"votes", "evidence"}),
        (("export",), "to", {"c"}),
        (("export",), "numbers", {"float32", "float64", "int16", "int8"}),
        (("bench", "family"), "method", {"default", "feast", "hots"}),
        (("bench", "family"), "only", {"sentences", "braille touch"}),
        (("bench", "senses"), "method", {"default", "tuned"}),
        (("bench", "spiking"), "part", {"digits", "continual"}),
    ],
)
def test_a_shell_completes_the_values_of_an_option(words, option, values):
    command = typer.main.get_command(app)
    for word in words:
        command = command.commands[word]
    (found,) = (one for one in command.params if one.name == option)
    context = typer.Context(command)
    assert values <= {item.value for item in found.shell_complete(context, "")}
    one = min(values)
    assert one in {item.value for item in found.shell_complete(context, one[:1])}


@pytest.mark.parametrize(("command", "name"), [("inspect", "what"), ("report", "data"), ("search", "data")])
def test_a_shell_completes_data(command, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sent.npz").touch()
    command = typer.main.get_command(app).commands[command]
    (found,) = (one for one in command.params if one.name == name)
    assert [item.value for item in found.shell_complete(typer.Context(command), "sent")] == ["sent.npz", "sentences"]


def test_latency_is_measured_in_microseconds(timesurf, tmp_path):
    code, said = timesurf("bench", "latency", "--quick", "--json", tmp_path / "l.json")
    assert code == 0, said
    result = json.loads((tmp_path / "l.json").read_text("utf-8"))
    rows, waiting = result["packets"], result["waiting"]
    assert all(row["p50"] >= 0.99 * rows[name]["p50"] for name, row in waiting.items())
    assert all(0 < row["p50"] <= row["p99_9"] <= row["max"] for row in rows.values())
    assert {"1", "1000", "push_one, float64", "push_one, float32", "push_one, float32, adapting"} <= set(rows)
    assert {name for name in rows if name.startswith("push_one")} == set(waiting)
    assert result["stream_to_infer"] > 0.5


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["train", "nowhere.npz", "--model", "m"], "does not exist"),
        (["train", "text.npz", "--model", "m"], "text.npz"),
        (["train", "text.mp3", "--model", "m"], "no known format"),
        (["train", "two.npz", "--model", "m", "--preset", "dogs"], "must be one of auto, camera"),
        (["train", "two.npz", "--model", "no/folder/m"], "folder does not exist"),
        (["train", "unlabelled.npz", "--model", "m"], "has no labels"),
        (["train", "two.npz", "--model", "m", "--config", "strange.toml"], "unknown setting colour"),
        (["train", "two.npz", "--model", "m", "--config", "text.npz"], "is not valid TOML"),
        (["train", "two.npz", "--model", "m", "--taus", "1 ms"], "two times"),
        (["train", "two.npz", "--model", "m", "--engine", "abacus"], "--engine 'abacus' is unknown"),
        (["evaluate", "text.npz", "two.npz"], "not a timesurf model"),
        (["evaluate", "newer.tsf", "two.npz"], "newer"),
        (["evaluate", "m.tsf", "other.npz"], "takes"),
        (["predict", "m.tsf", "two.npz", "--out", "two.npz/p.csv"], "Cannot write"),
        (["convert", "two.npz", "two.mp3"], "mp3"),
        (["stream", "m.tsf", "--from", "nowhere.es"], "nowhere.es"),
        (["stream", "m.tsf", "--from", "two.npz", "--vote-tau", "soon"], "soon"),
        (["stream", "m.tsf", "--from", "two.npz", "--jump", "soon"], "--jump 'soon' is not a time"),
        (["stream", "m.tsf", "--from", "two.npz", "--on-jump", "never"], "must be one of refuse, restart"),
        (["stream", "m.tsf", "--from", "two.npz", "--rehearse", "two.npz"], "--teach where commands come from"),
        (["stream", "m.tsf", "--from", "two.npz", "--teach-rate", "3"], "--teach where commands come from"),
        (["stream", "m.tsf", "--from", "two.npz", "--teach", "-", "--teach-rate", "0"], "above 0"),
        (["stream", "m.tsf", "--from", "two.npz", "--teach", "-", "--rehearse", "unlabelled.npz"], "be rehearsed"),
        (["stream", "m.tsf", "--from", "two.npz", "--teach", "-", "--rehearse", "other.npz"], "takes"),
        (["report", "data.run"], "not the folder of a run"),
        (["inspect", "nowhere"], "does not exist"),
    ],
)
def test_mistakes_end_with_a_message_code_2_and_no_file(words, why, folder, model, timesurf, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file in folder.glob("*.*"):
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "text.npz").write_text("no such thing", "utf-8")
    (tmp_path / "text.mp3").write_text("la la la", "utf-8")
    (tmp_path / "strange.toml").write_text('colour = "red"', "utf-8")
    (tmp_path / "newer.tsf").write_bytes(model.read_bytes().replace(b'{\\"format\\": 2', b'{\\"format\\": 9'))
    npz.write(tmp_path / "other.npz", workloads.strokes(3, events=20, field=(40, 40)))
    before = sorted(os.listdir(tmp_path))
    code, said = timesurf(*words)
    assert code == 2, said
    assert why in said
    assert "Traceback" not in said
    assert sorted(os.listdir(tmp_path)) == before


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 8 kB."""
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", str(small)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False).returncode:
        pytest.skip("a small file system is mounted, which cannot be done here")
    yield small
    subprocess.run(["umount", str(small)], check=True)


def test_a_read_only_folder_is_named(folder, timesurf, small_disk):
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    code, said = timesurf("convert", folder / "two.npz", small_disk / "copy.npz")
    assert code == 2, said
    assert "Read-only" in said


def test_a_full_disk_loses_nothing_and_says_so(folder, timesurf, small_disk):
    (small_disk / "copy.npz").write_text("what was there", "utf-8")
    code, said = timesurf("convert", folder / "two.npz", small_disk / "copy.npz")
    assert code == 2, said
    assert "copy.npz: No space left" in said
    assert os.listdir(small_disk) == ["copy.npz"]
    assert (small_disk / "copy.npz").read_text("utf-8") == "what was there"


def test_settings_that_are_none_are_refused_before_anything_is_read(timesurf, tmp_path):
    (tmp_path / "none.toml").write_text("[network]\nrule = {}\n", "utf-8")
    for wrong, why in (
        (["--if-diverged", "panic"], "--if-diverged panic must be one of"),
        (["--preset", "nothing"], "--preset nothing must be one of"),
        (["--validation", "0.6", "--held-out", "0.6"], "leave nothing to learn from"),
        (["--engine", "abacus"], "--engine abacus is unknown"),
        (["--config", tmp_path / "none.toml"], "none.toml, [network]: A preset has layers"),
    ):
        code, said = timesurf("train", tmp_path / "missing.npz", "--model", tmp_path / "m.tsf", *wrong)
        assert (code, why in said.replace("'", "")) == (2, True), said
    assert not (tmp_path / "m.tsf.run").exists()
    for wrong, why in (
        (["--preset", "nothing"], "--preset nothing must be one of"),
        (["--validation", "0.6", "--held-out", "0.6"], "leave nothing to learn from"),
        (["--engine", "abacus"], "--engine abacus is unknown"),
    ):
        code, said = timesurf("search", tmp_path / "missing.npz", "--out", tmp_path / "s", *wrong)
        assert (code, why in said.replace("'", "")) == (2, True), said


def test_predict_and_evaluate_refuse_an_engine_before_they_read(model, timesurf, tmp_path):
    for command in ("predict", "evaluate"):
        code, said = timesurf(command, model, tmp_path / "missing.npz", "--engine", "abacus")
        assert (code, "is unknown" in said) == (2, True), said


def test_a_split_that_is_none_is_refused_of_folders_too(folder, model, timesurf):
    code, said = timesurf("predict", model, folder, "--split", "dev")
    assert (code, "dev" in said, "train" in said) == (2, True, True), said


def test_options_of_other_recordings_need_them(timesurf, tmp_path):
    for words in (["--every", "1s"], ["--overlap", "0.5"], ["--split", "test"], ["--downsample", "2"]):
        code, said = timesurf("report", tmp_path, *words)
        assert (code, f"{' '.join(words)} is of other recordings: give them by --data." in said) == (2, True), said


def test_send_takes_the_size_of_a_sensor_where_a_file_does_not_state_it(timesurf, tmp_path):
    pytest.importorskip("faery")
    camera.write(tmp_path / "one.raw", Recordings([[1], [2]], t=[5], p=[1], field=(4, 3), polarities=2))
    lines = (tmp_path / "one.raw").read_bytes().split(b"\n")
    (tmp_path / "one.raw").write_bytes(
        b"\n".join(line for line in lines if not line.startswith((b"% format", b"% geometry")))
    )
    words = ("send", tmp_path / "one.raw", "--to", "udp://127.0.0.1:9", "--speed", "0")
    code, said = timesurf(*words)
    assert (code, "give --field" in said) == (2, True), said
    code, said = timesurf(*words, "--field", "4x3")
    assert (code, "1 event" in said) == (0, True), said


def test_train_says_so_where_no_event_is_rejected(folder, timesurf, tmp_path):
    words = ["train", folder / "two.npz", "--model", tmp_path / "m.tsf", *QUICK, "--gamma", "1e-9", "--delta", "0"]
    code, said = timesurf(*words)
    assert (code, "gamma or delta should move thresholds, but 100.0% of the events are kept" in said) == (0, True), said
