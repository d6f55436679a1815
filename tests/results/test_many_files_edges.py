"""Decisions on many files without a cluster: groups, names, columns, and who is tried how often."""

import hashlib
import sys
from collections import Counter, deque
from concurrent.futures import CancelledError
from types import SimpleNamespace

import pytest

from timesurf.datasets import sentences
from timesurf.errors import EventError, ModelFileError
from timesurf.io import npz
from timesurf.presets import SENTENCES
from timesurf.results import many_files
from timesurf.storage.atomic import replacing

DATA = sentences.make(3, seed=0, duration="300 us")


@pytest.fixture(scope="module")
def network():
    return SENTENCES.network(DATA, sentences.TASK1, 0).start(DATA)


def test_files_are_grouped_by_their_bytes(monkeypatch):
    assert many_files._BYTES_PER_TASK == 64 * 2**20
    monkeypatch.setattr(many_files, "_BYTES_PER_TASK", 10)
    sizes = {"a": 4, "b": 6, "c": 9, "d": 0, "e": 1, "f": 50, "g": 1}
    assert list(many_files._groups(sizes)) == [["a", "b"], ["c", "d", "e"], ["f"], ["g"]]
    assert list(many_files._groups({})) == []


def test_files_of_recordings_are_found_by_their_suffix(tmp_path):
    (tmp_path / "more").mkdir()
    for name in ("b.npz", "more/a.NPZ", "notes.txt"):
        (tmp_path / name).write_bytes(b"12345")
    assert many_files.files(f"{tmp_path}/") == (str(tmp_path), {"b.npz": 5, "more/a.NPZ": 5})
    assert many_files.files(str(tmp_path / "b.npz")) == (str(tmp_path), {"b.npz": 5})
    assert many_files.files(f"file://{tmp_path}/more/") == (f"file://{tmp_path}/more", {"a.NPZ": 5})
    (tmp_path / "empty").mkdir()
    with pytest.raises(EventError, match="nor one such file"):
        many_files.files(str(tmp_path / "empty"))


def test_the_name_of_a_part_is_short_and_its_own():
    name = f"more/{'x' * 50}.npz"
    assert many_files.part(name) == f"part-{'x' * 40}-{hashlib.sha256(name.encode()).hexdigest()[:12]}.parquet"


def test_fingerprints_are_of_layers_classes_and_parameters(network):
    one = many_files._fingerprint(network)
    assert len(one) == 16
    assert many_files._fingerprint(network.twin(network.snapshot())) == one
    other = network.twin(network.snapshot())
    other.parameters[-1].centroids[-1, -1] += 1e-9
    assert many_files._fingerprint(other) != one
    renamed = network.resized([stage.units for stage in network.stages[:-1]], ["x", "y"])
    renamed.parameters = network.parameters
    assert many_files._fingerprint(renamed) != one


@pytest.mark.parametrize("address", ["{}", "file://{}"])
def test_a_store_holds_the_decisions_of_one_network_on_one_folder(network, tmp_path, address):
    pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    store = many_files._Store(address.format(tmp_path / "out"))
    store.open(network, "here")
    store.open(network, "here")
    with pytest.raises(ModelFileError, match="on other data"):
        store.open(network, "there")
    table = {
        "recording": [0, 1],
        "label": [3, None],
        "decision": ["a", None],
        "confidence": [0.5, None],
        "votes a": [1, 0],
    }
    store.write("x.npz", table)
    assert store.names() == {many_files.ABOUT, many_files.part("x.npz")}
    found = pq.read_table(tmp_path / "out" / many_files.part("x.npz"))
    assert found.to_pydict() == {"file": ["x.npz"] * 2, **table, "label": ["3", None]}
    assert [str(kind) for kind in found.schema.types] == ["string", "int64", "string", "string", "double", "int64"]


def test_files_are_decided_on_and_what_fails_is_named(network, tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    npz.write(tmp_path / "a.npz", DATA)
    npz.write(tmp_path / "b.npz", DATA[:1])
    with replacing(tmp_path / "c.npz") as file:
        file.write(b"no zip")
    store = many_files._Store(str(tmp_path / "out"))
    found = many_files._decide(network, str(tmp_path), store, ["a.npz", "c.npz", "b.npz"])
    assert found[:2] == (4, int(DATA.counts.sum() + DATA.counts[0]))
    assert list(found[2]) == ["c.npz"]
    assert network.threads == 1


# ------------------------------------------------------------------ tries


class KilledWorkerError(Exception):
    pass


class Queue:
    """Futures in the order they were added."""

    def __init__(self, _):
        self.left = deque()

    def add(self, future):
        self.left.append(future)

    def __next__(self):
        return self.left.popleft()


class Cluster:
    """Runs a task when its result is asked for; files end so at each of their tries."""

    def __init__(self, ends, threads):
        self.ends, self.threads = ends, threads
        self.count, self.waiting, self.most = Counter(), 0, 0

    def nthreads(self):
        return {"worker": self.threads}

    def submit(self, call, about, group, *, pure):
        assert (call, about, pure) == ("call", "about", False)
        self.count[tuple(group)] += 1
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        return Future(self, group, self.count[tuple(group)])


class Future:
    def __init__(self, cluster, group, number):
        self.cluster, self.group, self.number = cluster, group, number

    def result(self):
        self.cluster.waiting -= 1
        for name in self.group:
            if self.number in self.cluster.ends.get(name, {}):
                raise self.cluster.ends[name][self.number]
        return len(self.group), 0, {}


def tried(monkeypatch, groups, ends, threads=1):
    """What `_each` yields, how often each group was tried, and how many at once."""
    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(KilledWorker=KilledWorkerError, as_completed=Queue))
    cluster = Cluster(ends, threads)
    return list(many_files._each(cluster, groups, ("call", "about"))), cluster.count, cluster.most


def test_two_tasks_per_thread_are_submitted_at_a_time(monkeypatch):
    groups = [[str(n)] for n in range(9)]
    found, count, most = tried(monkeypatch, groups, {}, threads=2)
    assert [group for group, _ in found] == groups
    assert set(count.values()) == {1}
    assert most == 4
    assert tried(monkeypatch, groups, {}, threads=0)[2] == 2


def test_a_group_whose_worker_dies_is_tried_file_by_file(monkeypatch):
    died = KilledWorkerError()
    found, count, _ = tried(monkeypatch, [["a", "b"]], {"a": {1: died}})
    assert count == {("a", "b"): 1, ("a",): 2, ("b",): 1}  # by itself it dies at its first try too
    assert sorted(group[0] for group, _ in found) == ["a", "b"]
    found, count, _ = tried(monkeypatch, [["a"]], {"a": {1: died, 2: died, 3: died}})
    assert count == {("a",): 4}  # three tries, and one with nothing else running
    assert found == [(["a"], (1, 0, {}))]
    found, _, _ = tried(monkeypatch, [["a"]], {"a": dict.fromkeys(range(1, 9), died)})
    assert found == [(["a"], (0, 0, {"a": "workers died while reading it, possibly out of memory."}))]


def test_a_task_that_the_cluster_lost_is_tried_three_times(monkeypatch):
    lost = CancelledError()
    found, count, _ = tried(monkeypatch, [["a", "b"]], {"a": {1: lost, 2: lost}})
    assert count == {("a", "b"): 3}
    assert len(found) == 1
    with pytest.raises(CancelledError):
        tried(monkeypatch, [["a", "b"]], {"a": dict.fromkeys(range(1, 9), lost)})


class Here:
    """A cluster of one thread: this one."""

    def nthreads(self):
        return {"here": 1}

    def submit(self, call, *about, pure):
        return Done(call(*about))


class Done:
    def __init__(self, value):
        self.value = value

    def result(self):
        return self.value


def test_a_run_adds_up_and_continues_where_the_last_one_ended(monkeypatch, network, tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(KilledWorker=KilledWorkerError, as_completed=Queue))
    monkeypatch.setattr(many_files, "_BYTES_PER_TASK", 1)
    data, out, calls = tmp_path / "data", str(tmp_path / "out"), []
    data.mkdir()
    for n in (1, 2):
        npz.write(data / f"{n}.npz", DATA[:n])
    (data / "3.npz").write_bytes(b"no zip")
    report = lambda *numbers: calls.append(numbers)  # noqa: E731
    first = many_files.predict_files(Here(), network, str(data), out, progress=report)
    assert (first.files, first.before, first.recordings) == (3, 0, 3)
    assert first.events == 2 * DATA.counts[0] + DATA.counts[1]
    assert list(first.failed) == ["3.npz"]
    assert calls == [(0, 3), (1, 3), (2, 3), (3, 3)]
    calls.clear()
    npz.write(data / "3.npz", DATA)
    second = many_files.predict_files(Here(), network, str(data), out, progress=report)
    assert (second.files, second.before, second.recordings, second.failed) == (3, 2, 3, {})
    assert calls == [(2, 3), (3, 3)]
    assert many_files.predict_files(Here(), network, str(data), out).before == 3


def test_folders_above_the_results_are_made_and_files_replaced(tmp_path):
    pytest.importorskip("pyarrow")
    store = many_files._Store(str(tmp_path / "new" / "results"))
    assert store._read("a") is None
    for content in (b"1", b"2"):
        store._write("a", content)
        assert store._read("a") == content
