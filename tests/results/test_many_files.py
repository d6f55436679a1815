"""Decisions on folders of recordings, on workers, as Parquet: each exactly once, even after interruptions."""

import os
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from timesurf.cli import app
from timesurf.datasets import sentences
from timesurf.engines.dask import cluster
from timesurf.errors import EventError, MissingEngineError, ModelFileError
from timesurf.io import npz
from timesurf.presets import SENTENCES
from timesurf.results import many_files

dask = pytest.importorskip("dask", reason="Dask is not installed")
WorkerPlugin = pytest.importorskip("distributed", reason="Dask is not installed").WorkerPlugin
pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # Dask leaves sockets of killed workers open, and warns about ports


@pytest.fixture(scope="module")
def network():
    data = sentences.make(40, seed=0)
    return SENTENCES.network(data, sentences.TASK1, 0).fit(data, passes=1)


@pytest.fixture(scope="module")
def client():
    with cluster.connect("local", workers=2) as client:
        yield client


@pytest.fixture
def folder(tmp_path):
    """Files of recordings, some in a subfolder, and a file of another kind."""
    root = tmp_path / "data"
    (root / "more").mkdir(parents=True)
    for n in range(6):
        npz.write(root / ("more" if n % 2 else "") / f"{n}.npz", sentences.make(5, seed=n))
    (root / "notes.txt").write_text("not recordings", "utf-8")
    return root


@pytest.fixture(autouse=True)
def two_files_per_task(monkeypatch, folder):
    monkeypatch.setattr(many_files, "_BYTES_PER_TASK", 2 * (folder / "0.npz").stat().st_size - 1000)


def _cache_in(folder):
    os.environ["TIMESURF_CACHE"] = folder


def _dies_of(name):
    """From now on this process ends when it should decide on that file."""
    honest = many_files._one

    def one(network, place):
        if place.endswith(name):
            os._exit(1)
        return honest(network, place)

    many_files._one = one


class Poison(WorkerPlugin):
    """The same for workers that replace dead ones."""

    def __init__(self, name):
        self.poison = name

    def setup(self, worker):
        _dies_of(self.poison)


def rows(out):
    return sorted(pq.read_table(out).to_pylist(), key=lambda row: (row["file"], row["recording"]))


def test_every_recording_is_decided_as_here(client, network, folder, tmp_path):
    calls = []
    out = tmp_path / "out"
    summary = many_files.predict_files(client, network, str(folder), str(out), progress=lambda *n: calls.append(n))
    assert (summary.files, summary.before, summary.recordings, summary.failed) == (6, 0, 30, {})
    assert calls[0] == (0, 6)
    assert calls[-1] == (6, 6)
    found = rows(out)
    assert [row["file"] for row in found[::5]] == ["0.npz", "2.npz", "4.npz", "more/1.npz", "more/3.npz", "more/5.npz"]
    for row in found:
        recording = npz.read(folder / row["file"])[row["recording"]]
        votes = network.infer(recording).votes[0]
        assert [row[f"votes {name}"] for name in network.classes] == votes.tolist()
        assert row["label"] == recording.labels[0]
        assert row["decision"] == (network.classes[votes.argmax()] if votes.any() else None)
        assert row["events"] == recording.counts[0]


def test_what_is_there_is_not_made_again_and_new_files_are(client, network, folder, tmp_path):
    out = tmp_path / "out"
    many_files.predict_files(client, network, str(folder), str(out))
    before = {path: path.stat().st_mtime_ns for path in out.glob("*.parquet")}
    npz.write(folder / "new.npz", sentences.make(3, seed=9))
    summary = many_files.predict_files(client, network, str(folder), str(out))
    assert (summary.files, summary.before, summary.recordings) == (7, 6, 3)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert len(rows(out)) == 33


def test_a_file_that_cannot_be_read_stops_no_other_and_is_tried_again(client, network, folder, tmp_path):
    out, broken = tmp_path / "out", folder / "2.npz"
    whole = broken.read_bytes()
    broken.write_bytes(whole[: len(whole) // 2])
    summary = many_files.predict_files(client, network, str(folder), str(out))
    assert list(summary.failed) == ["2.npz"]
    assert "not a readable .npz" in summary.failed["2.npz"]
    assert len(rows(out)) == 25
    broken.write_bytes(whole)
    summary = many_files.predict_files(client, network, str(folder), str(out))
    assert (summary.before, summary.recordings, summary.failed) == (5, 5, {})


def test_buckets_work_as_folders_do(client, network, folder, tmp_path):
    client.run(_cache_in, str(tmp_path / "cache"))
    summary = many_files.predict_files(client, network, f"file://{folder}", f"file://{tmp_path}/out")
    assert summary.recordings == 30
    assert not list((tmp_path / "cache").iterdir())  # what was fetched has been removed
    again = many_files.predict_files(client, network, f"file://{folder}", f"file://{tmp_path}/out")
    assert (again.before, again.recordings) == (6, 0)
    assert len(rows(tmp_path / "out")) == 30


def test_decisions_of_two_networks_are_not_mixed(client, network, folder, tmp_path):
    out = str(tmp_path / "out")
    many_files.predict_files(client, network, str(folder), out)
    other = network.twin(network.snapshot())
    other.parameters[0].centroids += 0.1
    with pytest.raises(ModelFileError, match="another network"):
        many_files.predict_files(client, other, str(folder), out)


def test_a_folder_without_recordings_is_refused_and_leaves_nothing(client, network, tmp_path):
    with pytest.raises(EventError, match="not a folder with files of recordings"):
        many_files.predict_files(client, network, str(tmp_path / "nothing"), str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("address", ["{}", "file://{}"])
def test_one_file_will_do(client, network, folder, tmp_path, address):
    out = tmp_path / "out"
    summary = many_files.predict_files(client, network, address.format(folder / "more" / "1.npz"), str(out))
    assert (summary.files, summary.recordings) == (1, 5)
    assert {row["file"] for row in rows(out)} == {"1.npz"}


def test_what_was_interrupted_goes_on(client, network, folder, tmp_path):
    out = tmp_path / "out"

    def stop(done, _):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        many_files.predict_files(client, network, str(folder), str(out), progress=stop)
    (out / ".part-0.parquet.half").write_bytes(b"of one that was killed while it wrote")
    npz.write(folder / "0a.npz", sentences.make(2, seed=8))  # so that groups of files change
    summary = many_files.predict_files(client, network, str(folder), str(out))
    assert 0 < summary.before <= 6  # tasks that were running may have finished
    found = rows(out)
    assert len(found) == len({(row["file"], row["recording"]) for row in found}) == 32


def test_a_file_that_is_run_twice_has_its_rows_once(network, folder, tmp_path):
    store = many_files._Store(str(tmp_path / "out"))
    store.open(network, str(folder))
    for names in (["0.npz", "2.npz"], ["2.npz", "4.npz"], ["0.npz"]):
        many_files._decide(network, str(folder), store, names)
    assert len(rows(tmp_path / "out")) == 15


def test_a_file_that_workers_die_of_stops_no_other(network, folder, tmp_path):
    out = tmp_path / "out"
    # a worker that dies takes its other tasks with it: they are tried again, file by file
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}), cluster.connect("local", workers=2) as client:
        client.register_plugin(Poison("2.npz"))
        summary = many_files.predict_files(client, network, str(folder), str(out))
    assert list(summary.failed) == ["2.npz"]
    assert "workers died while reading it" in summary.failed["2.npz"]
    assert len(rows(out)) == 25


def test_the_command_says_what_it_did(network, folder, tmp_path):
    model, out = tmp_path / "words.tsf", tmp_path / "out"
    network.save(model)
    (folder / "broken.npz").write_bytes(b"no zip")
    command = [sys.executable, "-m", "timesurf", "predict", model, folder, "--out", out, "--dask", "local"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    output = " ".join(ended.stdout.split())
    assert ended.returncode == 1
    assert output.startswith("30 decisions on ")
    assert "broken.npz: " in output
    assert "1 file could not be read" in output
    assert len(rows(out)) == 30


def test_a_csv_file_has_the_same_columns(network, tmp_path):
    data = sentences.make(4, seed=3)
    npz.write(tmp_path / "words.npz", data)
    network.save(tmp_path / "words.tsf")
    out = tmp_path / "decisions.csv"
    arguments = ["predict", str(tmp_path / "words.tsf"), str(tmp_path / "words.npz"), "--out", str(out)]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    head, *lines = out.read_text("utf-8").splitlines()
    assert head == (
        "file,recording,label,decision,confidence,events,output_events,"
        "votes v/vyty,votes vxvyty,probability v/vyty,probability vxvyty"
    )
    assert [line.split(",")[2] for line in lines] == np.asarray(data.labels).tolist()


def test_without_pyarrow_it_says_what_to_install(client, network, folder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingEngineError, match=r"timesurf\[dask\]"):
        many_files.predict_files(client, network, str(folder), str(tmp_path / "out"))


@pytest.mark.parametrize(
    "command", [["predict", "{model}", "{data}", "--out", "out"], ["train", "{data}", "--model", "m"]]
)
def test_without_dask_the_commands_say_what_to_install(command, network, folder, tmp_path, monkeypatch):
    network.save(tmp_path / "words.tsf")
    monkeypatch.setitem(sys.modules, "distributed", None)
    places = {"model": tmp_path / "words.tsf", "data": folder / "0.npz"}
    ended = CliRunner().invoke(app, [*(word.format(**places) for word in command), "--dask", "local"])
    assert isinstance(ended.exception, MissingEngineError)
    assert "timesurf[dask]" in str(ended.exception)
