"""`timesurf predict` and what goes with it: every kind of output, folders of files, long recordings, preparation."""

import csv
import json
import shutil
import sys

import numpy as np
import pytest

from timesurf import Network, Recordings, cli, transforms
from timesurf.bench import workloads
from timesurf.errors import MissingEngineError
from timesurf.io import camera, npz
from timesurf.plots.timeline import timeline
from timesurf.transforms.preparation import Preparation


@pytest.fixture
def timesurf(monkeypatch, capsysbinary):
    """Run the command line in this process: exit code, standard output, everything on one line."""
    monkeypatch.setenv("COLUMNS", "80")

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["timesurf", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            cli.main()
        printed = capsysbinary.readouterr()
        out, error = printed.out.decode(), printed.err.decode()
        return int(end.value.code or 0), out, " ".join((out + error).split())

    return run


@pytest.fixture(scope="module")
def sensor():
    """Recordings of a sensor of 32 x 24 pixels: strokes, larger."""
    small = workloads.strokes(6, events=300, field=(8, 6))
    coords = [4 * x.astype(int) + 1 for x in small.coords]
    rng = np.random.default_rng(0)
    p = rng.integers(0, 2, len(small.t))
    return Recordings(coords, small.t, p, small.offsets, field=(32, 24), polarities=2, labels=small.labels)


@pytest.fixture(scope="module")
def model(sensor, tmp_path_factory):
    """A network that was started on a quarter of the pixels, polarities merged."""
    how = Preparation(polarity="merge", downsample=4).on(sensor.field, 2)
    network = workloads.started(workloads.NMNIST, how(sensor))
    network.preparation = how
    path = tmp_path_factory.mktemp("model") / "m.tsf"
    network.save(path)
    return path


@pytest.fixture(scope="module")
def folder(sensor, tmp_path_factory):
    """Its recordings in one file, in a flat folder, and as a camera's file."""
    place = tmp_path_factory.mktemp("data")
    npz.write(place / "all.npz", sensor)
    (place / "flat").mkdir()
    for n in range(3):
        npz.write(place / "flat" / f"{n}.npz", Recordings.from_structured(sensor[n].to_structured(), field=(32, 24)))
    camera.write(place / "one.es", sensor[0])
    return place


def decisions(model, recordings):
    network = Network.load(model)
    found = network.infer(network.preparation(recordings)).votes
    return [str(network.classes[row.argmax()]) for row in found]


def test_one_file_is_answered_on_the_screen(timesurf, model, folder, sensor):
    code, _, said = timesurf("predict", model, folder / "one.es")
    assert code == 0
    assert f"one.es: {decisions(model, sensor[0])[0]}, confidence" in said


def test_a_flat_folder_of_unlabelled_files_gives_a_table_with_their_names(timesurf, model, folder, sensor, tmp_path):
    code, out, _ = timesurf("predict", model, folder / "flat", "--out", "-")
    assert code == 0
    rows = list(csv.DictReader(out.splitlines()))
    assert [row["file"] for row in rows] == ["0.npz", "1.npz", "2.npz"]
    assert [row["decision"] for row in rows] == decisions(model, sensor[:3])
    assert "label" not in rows[0]
    code, _, said = timesurf("predict", model, folder / "flat")
    assert "2.npz" in said
    assert "file decision confidence" in " ".join(word for word in said.split() if word.isalpha())
    assert "3 decisions" in said


def test_the_suffix_says_how_decisions_are_written(timesurf, model, folder, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    for name in ("d.csv", "d.jsonl", "d.parquet"):
        assert timesurf("predict", model, folder / "all.npz", "--out", tmp_path / name)[0] == 0
    lines = [json.loads(line) for line in (tmp_path / "d.jsonl").read_text("utf-8").splitlines()]
    with open(tmp_path / "d.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    table = parquet.read_table(tmp_path / "d.parquet").to_pylist()
    assert [str(line["decision"]) for line in lines] == [row["decision"] for row in rows]
    assert [row["decision"] for row in table] == [row["decision"] for row in rows]
    assert [row["confidence"] for row in table] == [line["confidence"] for line in lines]
    code, _, said = timesurf("predict", model, folder / "all.npz", "--out", tmp_path / "d.xlsx")
    assert (code, ".jsonl" in said) == (2, True)


def test_a_long_recording_is_decided_on_piece_by_piece(timesurf, model, folder, sensor, tmp_path):
    words = ["--every", "100", "--out", tmp_path / "d.jsonl", "--plot", tmp_path / "d.png"]
    code, _, said = timesurf("predict", model, folder / "one.es", *words)
    assert code == 0, said
    lines = [json.loads(line) for line in (tmp_path / "d.jsonl").read_text("utf-8").splitlines()]
    assert [line["events"] for line in lines] == [100, 100, 100]
    begins = [line["begin_s"] for line in lines]
    assert begins == sorted(begins)
    assert (tmp_path / "d.png").read_bytes()[:4] == b"\x89PNG"
    assert timesurf("predict", model, folder / "one.es", "--plot", tmp_path / "e.png")[0] == 2
    code, _, said = timesurf("predict", model, folder / "one.es", "--overlap", "0.5")
    assert (code, "--every" in said) == (2, True)


def test_a_stream_of_a_camera_file_goes_through_the_preparation_of_the_model(timesurf, model, folder, sensor, tmp_path):
    json_file = tmp_path / "s.json"
    words = ["--from", folder / "one.es", "--vote-tau", "never", "--json", json_file]
    assert timesurf("stream", model, *words)[0] == 0
    network = Network.load(model)
    result = json.loads(json_file.read_text("utf-8"))
    assert result["refused"] == 0
    assert result["events"] == 300
    network.dtype = "float64"
    assert result["votes"] == network.infer(network.preparation(sensor[0])).votes[0].tolist()


def test_options_change_the_preparation_for_another_camera(timesurf, model, folder, sensor, tmp_path):
    large = transforms.crop(sensor, (-8, -4), (64, 48))
    npz.write(tmp_path / "large.npz", large)
    code, _, said = timesurf("predict", model, tmp_path / "large.npz")
    assert code == 2
    assert "--crop" in said
    code, out, said = timesurf("predict", model, tmp_path / "large.npz", "--crop", "32x24+8+4", "--out", "-")
    assert code == 0, said
    assert [row["decision"] for row in csv.DictReader(out.splitlines())] == decisions(model, sensor)


def test_a_recording_beyond_the_sensor_that_training_guessed_names_the_sensor_to_train_with(timesurf, tmp_path):
    """Files that state no size: training takes the smallest sensor that holds them, and others may go beyond it."""
    rng = np.random.default_rng(0)
    for name, width in (("a/1", 20), ("a/2", 20), ("b/1", 20), ("b/2", 20), ("wide", 40)):
        events = np.column_stack([np.arange(200) * 50, rng.integers(0, width, 200), rng.integers(0, 16, 200)])
        file = tmp_path / "train" / f"{name}.csv" if "/" in name else tmp_path / f"{name}.csv"
        file.parent.mkdir(parents=True, exist_ok=True)
        events[-1, 1:] = width - 1, 15
        np.savetxt(file, events, fmt="%d", delimiter=",", header="t,x,y", comments="")
    common = ("--downsample", "2", "--passes", "1", "--validation", "0", "--held-out", "0")
    model = tmp_path / "m.tsf"
    code, _, said = timesurf("train", tmp_path / "train", "--model", model, *common)
    assert code == 0, said
    code, _, said = timesurf("predict", model, tmp_path / "wide.csv")
    assert code == 2
    assert "train it with --field 40x16" in said
    assert "Leave out" not in said
    code, _, said = timesurf("predict", model, tmp_path / "train" / "a" / "1.csv")
    assert code == 0, said


def test_the_middle_is_of_the_sensor_that_a_model_was_trained_with_where_files_state_no_size(timesurf, tmp_path):
    """Events fill one corner of the sensor: the smallest field that holds them has its middle elsewhere."""
    rng = np.random.default_rng(0)
    for name in ("a/1", "a/2", "b/1", "b/2"):
        events = np.column_stack([np.arange(200) * 50, rng.integers(0, 24, 200), rng.integers(0, 20, 200)])
        events[-1, 1:] = 23, 19
        (tmp_path / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        np.savetxt(tmp_path / "data" / f"{name}.csv", events, fmt="%d", delimiter=",", header="t,x,y", comments="")
    common = ("--field", "40x30", "--passes", "1", "--validation", "0", "--held-out", "0")
    box, same = ("--crop", "16x16"), ("--crop", "16x16+12+7")
    model, data, out = tmp_path / "m.tsf", tmp_path / "data", tmp_path / "d.json"
    code, _, said = timesurf("train", data, "--model", model, *common, *box)
    assert code == 0, said

    def votes(*words):
        code, _, said = timesurf(*words)
        assert code == 0, said
        names = ("votes", "votes_a", "votes_b", "events", "kept", "recording_accuracy", "confusion")
        return [
            {name: held for name, held in json.loads(line).items() if name in names}
            for line in (
                [out.read_text("utf-8")]
                if "--json" in words
                else (tmp_path / "d.jsonl").read_text("utf-8").splitlines()
            )
        ]

    for command in (
        ("predict", model, data, "--out", tmp_path / "d.jsonl"),
        ("evaluate", model, data, "--json", out),
        ("stream", model, "--from", data / "a" / "1.csv", "--vote-tau", "never", "--json", out),
    ):
        expected = votes(*command)
        assert any(map(len, expected))
        assert votes(*command, *box) == votes(*command, *same, "--field", "40x30") == expected
        assert votes(*command, *same) == expected
    for command, why in (
        (("stream", model, "--from", data / "a" / "1.csv"), "the network takes 16 x 16"),
        (("stream", model, "--from", "-"), "give --field as well"),
        (("live", model, "--no-browser", "--from", "-"), "give --field as well"),
    ):
        code, _, said = timesurf(*command, "--crop", "50x16")  # larger than that sensor
        assert (code, why in said) == (2, True), said


def test_a_preparation_that_leads_to_a_smaller_field_is_refused(timesurf, model, folder):
    code, _, said = timesurf("predict", model, folder / "flat", "--downsample", "9")
    assert code == 2
    assert "Leave out --crop, --downsample and --field" in said


def test_options_that_lead_elsewhere_are_explained_for_a_model_without_a_preparation(timesurf, model, sensor, tmp_path):
    plain = Network.load(model)
    plain.preparation = type(plain.preparation)()
    plain.save(tmp_path / "plain.tsf")
    npz.write(tmp_path / "whole.npz", sensor)
    code, _, said = timesurf("predict", tmp_path / "plain.tsf", tmp_path / "whole.npz", "--downsample", "9")
    assert code == 2
    assert "have to lead there" in said
    assert "keeps from its training" not in said


def test_data_on_the_field_of_the_network_is_taken_as_prepared(timesurf, model, sensor, tmp_path):
    npz.write(tmp_path / "small.npz", Network.load(model).preparation(sensor))
    code, out, said = timesurf("predict", model, tmp_path / "small.npz", "--out", "-")
    assert code == 0, said
    assert "prepared already" in said
    assert [row["decision"] for row in csv.DictReader(out.splitlines())] == decisions(model, sensor)


def test_evaluate_and_report_prepare_too_and_say_what_is_next(timesurf, model, folder, tmp_path):
    code, _, said = timesurf("evaluate", model, folder / "all.npz", "--json", tmp_path / "e.json")
    assert code == 0, said
    assert "Next: timesurf predict" in said
    code, _, said = timesurf("report", model, "--data", folder / "all.npz", "--out", tmp_path / "r.html")
    assert code == 0, said
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "all.npz, m.tsf" in page[: page.index("</title>")]
    assert timesurf("report", model)[0] == 2


def test_evaluate_takes_the_test_split_where_there_is_one(timesurf, model, sensor, tmp_path):
    for part, some in (("Train", sensor[:4]), ("Test", sensor[4:])):
        for n, one in enumerate(some):
            place = tmp_path / "both" / part / str(one.labels[0])
            place.mkdir(parents=True, exist_ok=True)
            npz.write(place / f"{n}.npz", one)
    network = Network.load(model)
    network.classes = network.classes.astype(str)
    network.save(tmp_path / "m.tsf")
    for words, number in (([], 2), (["--split", "train"], 4)):
        code, _, said = timesurf("evaluate", tmp_path / "m.tsf", tmp_path / "both", *words)
        assert code == 0, said
        assert f"of {number} " in said
    shutil.rmtree(tmp_path / "both" / "Test")
    code, _, said = timesurf("evaluate", tmp_path / "m.tsf", tmp_path / "both")
    assert code == 0, said
    assert "has no test split" in said


def test_many_classes_give_a_list_of_mistakes_and_no_grid_on_a_narrow_terminal(timesurf, sensor, tmp_path):
    names = [f"a rather long name {n}" for n in range(6)]
    network = workloads.started(workloads.NMNIST, sensor.with_labels(names))
    network.save(tmp_path / "m.tsf")
    npz.write(tmp_path / "d.npz", sensor.with_labels(names))
    code, out, said = timesurf("evaluate", tmp_path / "m.tsf", tmp_path / "d.npz")
    assert code == 0, said
    assert "mistakes" in said
    assert max(len(line) for line in out.splitlines() if not line.startswith("Next")) <= 80


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--crop", "12"], "--crop"),
        (["--crop", "12x"], "--crop 12x"),
        (["--field", "12,4"], "--field"),
        (["--downsample", "two"], "--downsample"),
        (["--hot-pixels", "many"], "--hot-pixels"),
        (["--polarity", "none"], "polarity"),
        (["--denoise", "soon"], "denoise"),
        (["--every", "1 apple"], "every"),
    ],
)
def test_mistakes_in_options_end_with_a_message_and_code_2(words, why, timesurf, model, folder):
    code, _, said = timesurf("predict", model, folder / "all.npz", *words)
    assert (code, why in said) == (2, True), said


def test_a_figure_that_cannot_be_drawn_is_refused_before_the_work(timesurf, folder, model, tmp_path, monkeypatch):
    words = ["predict", model, tmp_path / "missing.npz", "--every", "100", "--plot"]
    code, _, said = timesurf(*words, tmp_path / "d.docx")
    assert (code, ".docx is none of" in said) == (2, True), said
    for name in [name for name in sys.modules if name.startswith("matplotlib.")]:
        monkeypatch.delitem(sys.modules, name)  # other tests may have imported them
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # cannot be imported
    code, _, said = timesurf(*words, tmp_path / "d.png")
    assert (code, "Pictures need matplotlib" in said) == (2, True), said
    with pytest.raises(MissingEngineError, match="matplotlib"):
        timeline({"recording": [0], "begin_s": [0.0], "end_s": [1.0], "decision": ["a"], "confidence": [1.0]}, ["a"])
