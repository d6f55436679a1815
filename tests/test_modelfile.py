import json
import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load, save

from timesurf import Full, ModelFileError, Network, SettingError, modelfile
from timesurf.datasets import sentences
from timesurf.engines import Parameters
from timesurf.presets import SENTENCES


def network(dtype="float64"):
    data = sentences.make(4, seed=0, duration="1 ms")
    return SENTENCES.network(data, sentences.TASK1, 7, dtype=dtype).fit(data, passes=1)


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "a.tsf"
    network().save(path)
    return path.read_bytes()


def test_views_of_arrays_are_written_as_what_they_show(tmp_path):
    one, table = network(), np.arange(12).reshape(4, 3)
    modelfile.write(
        tmp_path / "a.tsf", modelfile.describe(one), one.parameters, {"more": table[:, -1:], "turned": table.T}
    )
    _, tensors = modelfile.read(tmp_path / "a.tsf")  # its checksum is that of what was written
    assert tensors["more"].tolist() == [[2], [5], [8], [11]]
    assert tensors["turned"].tolist() == table.T.tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_save_and_load_round_trip_bit_for_bit(tmp_path, dtype):
    one = network(dtype)
    one.save(tmp_path / "a.tsf")
    two = Network.load(tmp_path / "a.tsf")
    for a, b in zip(one.parameters.arrays,
                    two.parameters.arrays, strict=True):  # fmt: skip
        assert a.tobytes() == b.tobytes()
    assert two.dtype == dtype
    assert (two.layers, two.field, two.polarities, two.rule, two.seed, two.history) == (
        one.layers, one.field, one.polarities, one.rule, one.seed, one.history)  # fmt: skip
    assert two.classes.tolist() == one.classes.tolist()
    two.save(tmp_path / "b.tsf")
    assert (tmp_path / "a.tsf").read_bytes() == (tmp_path / "b.tsf").read_bytes()


def test_a_loaded_network_learns_on(tmp_path):
    one = network()
    one.save(tmp_path / "a.tsf")
    data = sentences.make(3, seed=5, duration="1 ms")
    two = Network.load(tmp_path / "a.tsf").partial_fit(data)
    one.partial_fit(data)
    np.testing.assert_array_equal(one.parameters[0].centroids, two.parameters[0].centroids)


def changed(content, about=None, tensors=None):
    """The file with other entries in its header or other tensors."""
    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["timesurf"])
    header.update(about or {})
    arrays = dict(load(bytes(content)))
    arrays.update(tensors or {})
    arrays = {k: v for k, v in arrays.items() if v is not None}
    header["checksum"] = modelfile.checksum(header, arrays)
    return save(arrays, {"timesurf": json.dumps(header)})


def test_every_changed_bit_of_the_tensors_and_of_their_description_is_found(tmp_path, content):
    (size,) = struct.unpack("<Q", content[:8])
    rng = np.random.default_rng(0)
    for at in [content.index(b"alpha") + 9, *rng.integers(8 + size, len(content), 40)]:
        damaged = bytearray(content)
        damaged[at] ^= 1 << int(rng.integers(8)) if at > 8 + size else 1
        (tmp_path / "a.tsf").write_bytes(damaged)
        with pytest.raises(ModelFileError, match="damaged"):
            Network.load(tmp_path / "a.tsf")


@pytest.mark.parametrize(
    ("about", "tensors", "message"),
    [
        ({"format": 99}, {}, "newer timesurf"),
        ({"format": 1}, {}, "earlier development version; train again"),
        ({"format": "one"}, {}, "format version"),
        ({"layers": []}, {}, "at least one layer"),
        ({"layers": [{"kind": "os.system"}]}, {}, "unknown layer"),
        ({"layers": [{"kind": "Full", "tau": -1}]}, {}, "tau"),
        ({"layers": [{"kind": "Full", "tau": 1, "extra": 1}]}, {}, "extra"),
        ({"layers": 3}, {}, "describes no network"),
        ({"rule": {"alpha": None}}, {}, "alpha"),
        ({"rule": 5}, {}, "rule"),
        ({"dtype": "object"}, {}, "dtype"),
        ({"field": [10**9, 10**9]}, {}, "entries"),
        ({"field": "wide"}, {}, "describes no network|shape"),
        ({"classes": ["a"]}, {}, "shape"),
        ({}, {"layer1.centroids": None}, "layer1.centroids is missing"),
        ({}, {"layer1.centroids": np.zeros((3, 5, 5, 1), np.int32)}, "int32"),
        ({}, {"layer1.centroids": np.full((3, 5, 5, 1), np.nan)}, "not numbers"),
        ({}, {"layer1.centroids": np.full((3, 5, 5, 1), np.inf)}, "not numbers"),
        ({}, {"layer1.thresholds": np.full(3, np.nan)}, "not numbers"),
        ({}, {"layer1.thresholds": np.full(3, -1.0)}, "negative"),
        ({}, {"layer1.thresholds": np.zeros(4)}, "shape"),
    ],
)
def test_hostile_files_are_refused(tmp_path, content, about, tensors, message):
    (tmp_path / "a.tsf").write_bytes(changed(content, about, tensors))
    with pytest.raises(ModelFileError, match=message):
        Network.load(tmp_path / "a.tsf")


def test_other_files_are_refused(tmp_path):
    for junk in (b"", b"\x00" * 7, b"\xff" * 64, b"PK\x03\x04" + b"0" * 100, save({"a": np.zeros(2)})):
        (tmp_path / "a.tsf").write_bytes(junk)
        with pytest.raises(ModelFileError, match="not a timesurf model"):
            Network.load(tmp_path / "a.tsf")


@given(data=st.data())
def test_damaged_files_are_errors_or_the_same_shapes(tmp_path_factory, content, data):
    path = tmp_path_factory.mktemp("damaged") / "a.tsf"
    damaged = bytearray(content)
    damaged[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(damaged[: data.draw(st.integers(0, len(content)))] if data.draw(st.booleans()) else damaged)
    try:
        loaded = Network.load(path)
    except ModelFileError:
        return
    for stage, c in zip(loaded.stages, [u.centroids for u in loaded.parameters], strict=True):
        assert c.shape == (stage.units, *stage.surface_shape)
        assert np.isfinite(c).all()


def test_a_failed_write_leaves_the_old_model(tmp_path, monkeypatch):
    one = network()
    one.save(tmp_path / "a.tsf")
    before = (tmp_path / "a.tsf").read_bytes()
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        one.save(tmp_path / "a.tsf")
    assert (tmp_path / "a.tsf").read_bytes() == before
    assert [f.name for f in tmp_path.iterdir()] == ["a.tsf"]


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"format": 0}, "format version"),
        ({"format": True}, "format version"),
        ({"field": [30.0, 5.0]}, "field = 30.0 must be a whole number"),
        ({"polarities": 1.0}, "polarities = 1.0 must be a whole number"),
        ({"layers": [{"kind": "Full", "tau": 10**400}]}, "tau"),
        (
            {"layers": [{"kind": "Tile", "shape": [1, 1], "units": 10**9, "tau": 1}, {"kind": "Full", "tau": 1}]},
            "entries",
        ),
        ({"layers": [{"kind": "Window", "size": 2.0, "units": 1, "tau": 1}]}, "size = 2.0 must be a whole number"),
        ({"rule": {"alpha": 10**400}}, "alpha"),
        ({"seed": "one"}, "seed = 'one' must be a whole number"),
        ({"seed": -1}, "seed"),
        ({"history": [1, 2]}, "history"),
        ({"classes": [None, None]}, "classes"),
        ({"classes": [2**70, 1]}, "64 bits"),
        ({"classes": ["a" * 10**5, *map(str, range(1000))]}, "too long"),
    ],
)
def test_what_no_network_would_write_is_refused_before_memory_is_taken(tmp_path, content, about, message):
    (tmp_path / "a.tsf").write_bytes(changed(content, about))
    tracemalloc.start()
    with pytest.raises(ModelFileError, match=message):
        Network.load(tmp_path / "a.tsf")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 * (tmp_path / "a.tsf").stat().st_size + 2**20


def test_a_file_whose_header_does_not_fit_is_not_read(tmp_path):
    with (tmp_path / "a.tsf").open("wb") as file:
        file.write(struct.pack("<Q", 2**40))
        file.truncate(2**32)  # 4 GB of nothing
    tracemalloc.start()
    with pytest.raises(ModelFileError, match="does not fit"):
        Network.load(tmp_path / "a.tsf")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**20


def test_endless_brackets_are_refused(tmp_path, content):
    for depth in (200, *range(900, 1000), 100_000):  # at some depth they can be read, but not written for the checksum
        about = '{"format": 2, "seed": ' + "[" * depth + "]" * depth + "}"
        header = json.dumps({"__metadata__": {"timesurf": about}}).encode()
        (tmp_path / "a.tsf").write_bytes(struct.pack("<Q", len(header)) + header)
        with pytest.raises(ModelFileError):
            Network.load(tmp_path / "a.tsf")


@pytest.mark.parametrize(
    ("classes", "why"),
    [
        (["a" * 2**20, "b"], "names of up to 1,048,576 letters are too long"),
        (np.array([2**63, 1], np.uint64), "more than 64 bits"),
        ([2**70, 1], "more than 64 bits"),
        ([b"a", b"b"], "of type bytes"),
        (np.array(["2026-01-01", "2026-01-02"], "datetime64[D]"), "of type date"),
        ([1j, 2j], "of type complex"),
        ([None, "a"], "of type NoneType"),
        ([0.5, float("nan")], "not a finite number"),
        (["a", "half \ud800"], "not valid text"),
        (["a", "a"], "different labels"),
        ([], "at least one"),
        ("ab", "at least one"),
        ([["a"], ["b"]], "of type list"),
    ],
)
def test_classes_that_no_file_can_hold_are_refused_before_training(classes, why):
    with pytest.raises(SettingError, match=why):
        Network([Full(tau=1)], (2, 2), 1, classes)


@pytest.mark.parametrize(
    "classes",
    [["=1", "é\n😀"], np.array([3, 1], np.uint8), [True, False], [0.5, -1.5], np.array(["a", "b"], object), range(2)],
)
def test_classes_come_back_as_they_were(tmp_path, classes):
    one = Network([Full(tau=1)], (2, 2), 1, classes)
    one.parameters = Parameters.of([np.zeros((2, 2, 2, 1))], [np.full(2, np.inf)])
    one.save(tmp_path / "a.tsf")
    assert Network.load(tmp_path / "a.tsf").classes.tolist() == list(classes)


@pytest.mark.parametrize("seed", [-1, 1.5, "one", True])
def test_a_seed_that_no_file_can_hold_is_refused(seed):
    with pytest.raises(SettingError, match="seed"):
        Network([Full(tau=1)], (2, 2), 1, [0, 1], seed=seed)


def test_a_seed_of_numpy_can_be_saved(tmp_path):
    one = network()
    one.seed = Network(one.layers, one.field, 1, one.classes, seed=np.int64(3)).seed
    one.save(tmp_path / "a.tsf")
    assert Network.load(tmp_path / "a.tsf").seed == 3


def diverged(one):
    one.parameters[0].centroids[0] = np.nan


def closed(one):
    one.parameters[0].thresholds[0] = -1


def told(one):
    one.history.append({"kept": "much"})


def silent(one):
    one.history.append({"recordings": 3})


def strange(one):
    one.history.append({"kept": 1.0, "more": object()})


@pytest.mark.parametrize(
    ("change", "why"),
    [(diverged, "not numbers"), (closed, "negative"), (told, "history"), (silent, "history"), (strange, "written")],
)
def test_what_could_not_be_read_is_not_written(tmp_path, change, why):
    one = network()
    one.save(tmp_path / "a.tsf")
    before = (tmp_path / "a.tsf").read_bytes()
    change(one)
    with pytest.raises(ModelFileError, match=why):
        one.save(tmp_path / "a.tsf")
    assert (tmp_path / "a.tsf").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["a.tsf"]


def test_a_history_that_no_header_holds_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(modelfile, "_LARGEST_HEADER", 3000)
    one = network()
    one.save(tmp_path / "a.tsf")
    one.history *= 100
    with pytest.raises(ModelFileError, match=r"too many passes \(100\)"):
        one.save(tmp_path / "a.tsf")


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"history": [{"kept": "much"}]}, "history"),
        ({"history": [{"recordings": 3}]}, "'kept' among them"),
        ({"history": [{"kept": 10**400}]}, "history"),
        ({"history": [{"kept": [1]}]}, "history"),
        ({"history": {"kept": 1}}, "history"),
        ({"classes": ["a", "half \ud800"]}, "not valid text"),
        ({"classes": {"a": 1}}, "classes"),
        ({"field": [2**40, 1]}, "entries"),
        ({"field": [2**40, 2**40]}, "entries"),
        ({"polarities": 2**40}, "entries"),
        ({"layers": [{"kind": "Window", "size": 2**40 + 1, "units": 1, "tau": 1}, {"kind": "Full", "tau": 1}]}, "entr"),
        ({"layers": [{"kind": "Full", "tau": 1e-9}]}, "tau"),
        ({"layers": [{"kind": "Full", "tau": 1, "feedback_tau": 1e30}]}, "feedback_tau"),
    ],
)
def test_odd_descriptions_are_refused(tmp_path, content, about, message):
    (tmp_path / "a.tsf").write_bytes(changed(content, about))
    with pytest.raises(ModelFileError, match=message):
        Network.load(tmp_path / "a.tsf")


def test_a_model_file_is_recognised_by_how_it_begins(tmp_path, content):
    path = tmp_path / "a.tsf"
    assert not modelfile.is_model(path)
    assert not modelfile.is_model(str(tmp_path))
    for begin, is_one in (
        (content, True), (content[:9], True), (content[:8], False), (content[:8] + b"[", False), (b"", False),
        (struct.pack("<Q", modelfile._LARGEST_HEADER) + b"{", True),
        (struct.pack("<Q", modelfile._LARGEST_HEADER + 1) + b"{", False),
    ):  # fmt: skip
        path.write_bytes(begin)
        assert modelfile.is_model(str(path)) == is_one
