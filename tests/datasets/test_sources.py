"""What names of data mean: files that the tests write, folders, data sets by name."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from timesurf import EventError, Recordings, datasets
from timesurf.datasets import digits, nmnist, poker, sentences, sources
from timesurf.errors import MissingEngineError
from timesurf.io import camera, npz


def one(width, n=20):
    return Recordings([np.arange(n) % width, np.zeros(n, int)], np.arange(n), field=(width, 5))


def test_an_npz_file_is_read_as_it_is(tmp_path):
    npz.write(tmp_path / "a.npz", sentences.make(6, seed=3))
    assert sources.load(str(tmp_path / "a.npz")).labels.tolist() == sentences.make(6, seed=3).labels.tolist()


def test_nmnist_is_known_by_its_folders(tmp_path):
    for name, t in (("Train/3/00001.bin", 5), ("Train/1/00002.bin", 6), ("Test/7/00001.bin", 7)):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes(bytes([1, 2, 0, 0, t]))
    assert sources.load(str(tmp_path / "Train")).labels.tolist() == [3, 1]
    for _ in range(2):  # from the folders, then from what was kept
        assert sources.load(str(tmp_path)).labels.tolist() == [3, 1]
        assert sources.load(str(tmp_path), split="test").t.tolist() == [7]
    assert sources.load(str(tmp_path)).field == nmnist.FIELD


def test_a_camera_file_is_one_recording_without_a_label(tmp_path):
    pytest.importorskip("faery")
    camera.write(tmp_path / "a.es", one(7))
    loaded = sources.load(str(tmp_path / "a.es"))
    assert (len(loaded), loaded.field, loaded.labels) == (1, (7, 5), None)


def test_folders_of_camera_files_are_classes(tmp_path):
    pytest.importorskip("faery")
    for name, width in (("cup/b.es", 7), ("cup/a.aedat4", 9), ("ball/a.raw", 8)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        camera.write(tmp_path / name, one(width, n=width))
    (tmp_path / "cup" / "notes.txt").write_text("not a recording", "utf-8")
    (tmp_path / "empty").mkdir()
    loaded = sources.load(str(tmp_path))
    assert loaded.labels.tolist() == ["ball", "cup", "cup"]
    assert loaded.counts.tolist() == [8, 9, 7]
    assert (loaded.field, loaded.polarities) == ((9, 5), 2)


@pytest.mark.parametrize("names", [("train", "test"), ("Train", "Test")])
def test_classes_may_be_divided_into_train_and_test(tmp_path, names):
    pytest.importorskip("faery")
    for name in names:
        (tmp_path / name / "cup").mkdir(parents=True)
        camera.write(tmp_path / name / "cup" / "a.es", one(7, n=len(name)))
    assert sources.load(str(tmp_path), split="train").counts.tolist() == [5]
    assert sources.load(str(tmp_path), split="test").counts.tolist() == [4]


def test_a_damaged_file_in_a_folder_is_named(tmp_path):
    pytest.importorskip("faery")
    (tmp_path / "cup").mkdir()
    (tmp_path / "cup" / "a.es").write_bytes(b"Event Str")
    with pytest.raises(EventError, match=r"a\.es cannot be read"):
        sources.load(str(tmp_path))


def test_the_real_thousand_is_found_by_its_folder(data_folder):
    if not (data_folder / nmnist.SAMPLE).is_file():
        pytest.skip(f"{nmnist.SAMPLE} is not there")
    assert len(sources.load(data_folder)) == 1000


def test_anything_else_is_named_with_what_is_accepted(tmp_path):
    (tmp_path / "a.mp4").write_bytes(b"film")
    for what, message in (
        (tmp_path / "a.mp4", r"a\.mp4 is a file of no known format"),
        (tmp_path / "b.es", r"b\.es does not exist"),
        (tmp_path, "a folder without train recordings"),
    ):
        with pytest.raises(EventError, match=rf"{message}.*\.aedat4.*N-MNIST.*tonic:NAME"):
            sources.load(str(what))
    with pytest.raises(EventError, match="split = 'both'"):
        sources.load(str(tmp_path), split="both")


class Divided:
    sensor_size = (34, 34, 2)

    def __init__(self, save_to, train=True):
        self.label = 1 if train else 2

    def __len__(self):
        return 1

    def __getitem__(self, i):
        return np.array([(1, 2, 3, 1)], dtype=[("x", "i2"), ("y", "i2"), ("t", "i8"), ("p", "i1")]), self.label


class Whole(Divided):
    def __init__(self, save_to):
        super().__init__(save_to)


def test_data_sets_of_tonic_are_loaded_by_name(monkeypatch):
    tonic = ModuleType("tonic")
    tonic.datasets = SimpleNamespace(Divided=Divided, Whole=Whole)
    monkeypatch.setitem(sys.modules, "tonic", tonic)
    assert sources.load("tonic:Divided").labels.tolist() == [1]
    assert sources.load("tonic:Divided", split="test").labels.tolist() == [2]
    with pytest.raises(EventError, match=r"Whole is not divided.*io\.npz\.write"):
        sources.load("tonic:Whole")
    with pytest.raises(EventError, match=r"no data set 'Other'\. It has Divided, Whole"):
        sources.load("tonic:Other")


def test_without_tonic_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "tonic", None)
    with pytest.raises(MissingEngineError, match=r"pip install 'timesurf\[tonic\]'"):
        sources.load("tonic:NMNIST")


def test_files_outside_the_classes_of_a_folder_are_unlabelled(tmp_path):
    pytest.importorskip("faery")
    (tmp_path / "cup").mkdir()
    for name in ("new.es", "cup/a.es", "old.es"):
        camera.write(tmp_path / name, one(7))
    loaded = sources.load(str(tmp_path))
    assert loaded.labels.tolist() == ["cup", "", ""]
    assert loaded.labelled.tolist() == [True, False, False]
    (tmp_path / "cup" / "a.es").unlink()
    assert sources.load(str(tmp_path)).labels is None


@pytest.mark.parametrize("name", datasets.MODULES)
def test_every_registered_data_set_offers_the_same(name):
    module = datasets.named(name)
    assert isinstance(module, datasets.DataSet)
    assert module.ABOUT
    assert module.LICENCE
    assert name in datasets.described()


@pytest.mark.parametrize("name", ["sentences", "digits"])
def test_data_sets_that_need_no_file_are_loaded_by_name(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TIMESURF_DATA", raising=False)
    monkeypatch.setattr(digits, "images", lambda split, every=digits.images: [some[:30] for some in every(split)])
    train, test = (sources.load(name, split=split) for split in datasets.SPLITS)
    for data in (train, test):
        assert (data.field, data.polarities) == (datasets.named(name).FIELD, datasets.named(name).POLARITIES)
        assert data.labelled.all()
    assert train.classes.tolist() == test.classes.tolist()
    assert train.fingerprint() != test.fingerprint()


@pytest.mark.parametrize("name", ["nmnist", "mnist", "poker"])
def test_data_sets_that_need_a_file_say_where_to_get_it(name, monkeypatch, tmp_path):
    monkeypatch.setenv("TIMESURF_DATA", str(tmp_path))
    with pytest.raises(EventError, match=r"https://|io\.tonic\.named"):
        sources.load(name)


def test_an_existing_file_goes_before_a_registered_name(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    npz.write(tmp_path / "train.npz", sentences.make(3))
    (tmp_path / "sentences").mkdir()
    (tmp_path / "train.npz").rename(tmp_path / "sentences" / "train.npz")
    assert len(sources.load("sentences")) == 3


def test_data_sets_are_refused_by_other_names_and_splits(monkeypatch, tmp_path):
    monkeypatch.setenv("TIMESURF_DATA", str(tmp_path))
    with pytest.raises(EventError, match=r"no data set 'word'.*sentences \(the paper's"):
        datasets.named("word")
    with pytest.raises(EventError, match="split = 'both'"):
        sources.load("sentences", split="both")
    with pytest.raises(EventError, match="not divided into train and test"):
        poker.load("test")


def test_text_says_by_what_name_it_is_read(tmp_path):
    (tmp_path / "events.txt").write_text("0.1 3 4 1\n", "utf-8")
    with pytest.raises(EventError, match=r"such as t x y p, are read from a file that is called \.csv"):
        sources.load(tmp_path / "events.txt")
    (tmp_path / "events.txt").rename(tmp_path / "events.csv")
    assert sources.load(tmp_path / "events.csv").t.tolist() == [100_000]
