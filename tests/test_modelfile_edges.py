"""Model files where a comparison turns: names, numbers, versions, sizes of headers, tensors."""

import json
import math
import struct

import numpy as np
import pytest

from timesurf import Full, Network, SettingError, Tile, modelfile
from timesurf.calibration import Calibration
from timesurf.engines import Parameters
from timesurf.errors import ModelFileError
from timesurf.modelfile import description


def made():
    network = Network([Tile((1,), units=2, tau=1), Full(tau=1)], (2,), 1, ["a", "b"])
    centroids = [np.full((stage.units, *stage.surface_shape), 0.5) for stage in network.stages]
    network.parameters = Parameters.of(centroids, [np.ones(2), np.full(2, np.inf)])
    return network


# ------------------------------------------------------------------ classes and seeds


@pytest.mark.parametrize(
    ("good", "bad", "word"),
    [
        ([-(2**63), 2**63 - 1], [-(2**63) - 1], "64 bits"), ([2**63 - 1], [2**63], "64 bits"),
        ([0.5, -1e308], [0.5, float("inf")], "finite"), ([0.5], [float("nan")], "finite"),
        (["a" * (1 << 20)], ["a" * ((1 << 20) + 1)], "too long"),
        (["a" * (1 << 19), "b"], ["a" * ((1 << 19) + 1), "b"], "too long"),
        (["\u00e9", "\U0001f600"], ["\ud800"], "half of a character"), (["a", "b"], ["a", "a"], "different labels"),
        ([True, False], [None], "NoneType"), ([1], [], "at least one"), ([3, 1], [[3, 1]], "type list"),
        (np.array([3, 1]), np.array([[3, 1]]), "type list|different labels"), (["cup"], "cup", "different labels"),
        ([0], 7, "different labels"), ([np.int64(3)], [3 + 0j], "complex"),
    ],
)  # fmt: skip
def test_classes_that_a_file_can_hold(good, bad, word):
    assert modelfile.class_names(good).tolist() == list(good)
    with pytest.raises(SettingError, match=word):
        modelfile.class_names(bad)


def test_a_seed_is_a_whole_number_from_0_or_none():
    assert [modelfile.seed_number(seed) for seed in (None, 0, np.uint8(7), 2**200)] == [None, 0, 7, 2**200]
    assert type(modelfile.seed_number(np.uint8(7))) is int
    for bad in (-1, True, False, 1.0, "1", [1]):
        with pytest.raises(SettingError, match="seed"):
            modelfile.seed_number(bad)


@pytest.mark.parametrize("figure", [2**63 - 1, -(2**63) + 1, 0.5, float("nan"), True])
def test_a_history_of_numbers_is_read(figure):
    history = [{"kept": 1.0, "more": figure}]
    assert description._history(history) == history


@pytest.mark.parametrize(
    "history",
    [[{"kept": 2**63}], [{"kept": -(2**63)}], [{"kept": "1"}], [{"more": 1}], [{"kept": 1}, 3], {"kept": 1}, None],
)
def test_a_history_of_anything_else_is_refused(history):
    with pytest.raises(ModelFileError, match="'kept' among them"):
        description._history(history)


# ------------------------------------------------------------------ files


def parts(path):
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + size])
    return json.loads(header["__metadata__"]["timesurf"]), header, content[8 + size :]


def put(path, about, header, body):
    header["__metadata__"]["timesurf"] = json.dumps(about)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


@pytest.mark.parametrize(
    ("version", "word"),
    [(1, "earlier development version"), (3, "Install a newer"), (0, "names no format"), (True, "names no format")],
)
def test_files_of_other_versions_are_refused(tmp_path, version, word):
    path = tmp_path / "a.tsf"
    made().save(path)
    about, header, body = parts(path)
    assert about["format"] == 2
    put(path, about | {"format": version}, header, body)
    with pytest.raises(ModelFileError, match=word):
        modelfile.read(path)
    put(path, about, header, body)
    modelfile.read(path)


def test_a_change_anywhere_is_found(tmp_path):
    path = tmp_path / "a.tsf"
    made().save(path)
    about, header, body = parts(path)
    put(path, about | {"seed": 1}, header, body)
    with pytest.raises(ModelFileError, match="checksum"):
        modelfile.read(path)
    put(path, about, header, body[:-1] + bytes([body[-1] ^ 1]))
    with pytest.raises(ModelFileError, match="checksum"):
        modelfile.read(path)


def test_a_checksum_is_of_names_types_shapes_and_values_but_not_of_itself():
    one = {"a": np.arange(4.0), "b": np.zeros(2)}
    plain = modelfile.checksum({"x": 1, "y": 2}, one)
    assert modelfile.checksum({"y": 2, "checksum": "old", "x": 1}, dict(reversed(one.items()))) == plain
    for about, tensors in (
        ({"x": 1, "y": 3}, one), ({"x": 1, "y": 2}, {"a": one["a"], "c": one["b"]}),
        ({"x": 1, "y": 2}, one | {"a": one["a"].reshape(2, 2)}),
        ({"x": 1, "y": 2}, one | {"a": one["a"].view(np.int64)}),
        ({"x": 1, "y": 2}, one | {"a": one["a"][::-1]}),
    ):  # fmt: skip
        assert modelfile.checksum(about, tensors) != plain
    assert modelfile.checksum({}, {"a": np.eye(3)[::2].T}) == modelfile.checksum({}, {"a": np.eye(3)[::2].T.copy()})


def test_headers_are_bounded(tmp_path, monkeypatch):
    path = tmp_path / "a.tsf"
    network = made()
    network.save(path)
    about, _, _ = parts(path)
    size = len(json.dumps(about))
    monkeypatch.setattr(modelfile, "_LARGEST_HEADER", 2 * size)
    network.save(path)
    monkeypatch.setattr(modelfile, "_LARGEST_HEADER", 2 * size - 1)
    with pytest.raises(ModelFileError, match="too many passes"):
        network.save(path)
    (whole,) = struct.unpack("<Q", path.read_bytes()[:8])
    monkeypatch.setattr(modelfile, "_LARGEST_HEADER", whole)
    modelfile.read(path)
    assert modelfile.is_model(path)
    monkeypatch.setattr(modelfile, "_LARGEST_HEADER", whole - 1)
    assert not modelfile.is_model(path)
    with pytest.raises(ModelFileError, match="does not fit"):
        modelfile.read(path)


def test_a_header_must_fit_in_its_file(tmp_path):
    path = tmp_path / "a.tsf"
    for size in (0, 1, 4, 2**63):
        path.write_bytes(struct.pack("<Q", size) + b"{} ")
        with pytest.raises(ModelFileError, match="does not fit"):
            modelfile.read(path)
    path.write_bytes(struct.pack("<Q", 3) + b"{} ")
    with pytest.raises(ModelFileError, match="__metadata__"):
        modelfile.read(path)
    path.write_bytes(b"1234567")
    with pytest.raises(ModelFileError, match="not a timesurf model"):
        modelfile.read(path)


def test_what_begins_as_a_model_file_does(tmp_path):
    path = tmp_path / "a"
    assert not modelfile.is_model(path)
    assert not modelfile.is_model(tmp_path)
    for content, whether in (
        (struct.pack("<Q", 100_000_000) + b"{", True), (struct.pack("<Q", 100_000_001) + b"{", False),
        (struct.pack("<Q", 5) + b"[x", False), (struct.pack("<Q", 5), False), (b"", False),
    ):  # fmt: skip
        path.write_bytes(content)
        assert modelfile.is_model(path) is whether


# ------------------------------------------------------------------ tensors


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("layer1.centroids", None, "is missing"), ("layer1.centroids", np.zeros((2, 1, 2)), "floats of shape"),
        ("layer2.thresholds", np.zeros(2, int), "int64"), ("layer2.thresholds", np.zeros(2, np.float16), "float16"),
        ("layer1.centroids", np.full((2, 1, 1), np.inf), "not numbers"),
        ("layer1.thresholds", [np.nan, 1], "not numbers"),
        ("layer1.thresholds", [-1e-9, 1], "negative"), ("layer2.frozen", None, "booleans, one for each of 2"),
        ("layer2.frozen", np.zeros(3, bool), "booleans"), ("layer2.frozen", np.zeros(2, np.uint8), "booleans"),
    ],
)  # fmt: skip
def test_tensors_that_do_not_fit_are_named(name, value, word):
    network = made()
    tensors = modelfile.named(network.parameters)
    good = tensors | {"layer1.thresholds": np.array([0.0, np.inf]), "layer1.centroids": np.ones((2, 1, 1), np.float32)}
    found = modelfile.parameters_from(good, network.stages, "a.tsf")
    assert found[0].thresholds.tolist() == [0, np.inf]
    found[1].frozen[0] = True  # a copy
    assert not tensors["layer2.frozen"].any()
    tensors[name] = None if value is None else np.asarray(value)
    with pytest.raises(ModelFileError, match=rf"a\.tsf: {name[:6]}.*{word}"):
        modelfile.parameters_from(tensors, network.stages, "a.tsf")


@pytest.mark.parametrize(
    "wrong",
    [
        [0.0, 0.0],
        [-1.0, 0.0],
        [math.inf, 0.0],
        [1.0, -0.1],
        [1.0, math.inf],
        [1.0],
        [1.0, 0.0, 0.0],
        [1, 0.0],
        (1.0, 0.0),
    ],
)
def test_a_calibration_is_a_positive_scale_and_a_prior_that_is_not_negative(wrong):
    assert description._calibration({"votes": [1e-9, 0.0], "evidence": [1e9, 0.5]}) == {
        "votes": Calibration(1e-9, 0.0), "evidence": Calibration(1e9, 0.5),
    }  # fmt: skip
    assert description._calibration({}) == {}
    for about in ({"votes": [1.0, 0.0], "evidence": wrong}, {"votes": wrong}, {"chance": [1.0, 0.0]}, [1.0, 0.0]):
        with pytest.raises(ModelFileError, match="must have a scale and a prior"):
            description._calibration(about)


def test_a_file_of_a_few_bytes_is_called_damaged_in_plain_words(tmp_path):
    (tmp_path / "few.tsf").write_bytes(b"hello")
    with pytest.raises(ModelFileError, match=r"few\.tsf is not a timesurf model, or is damaged \(its header"):
        Network.load(tmp_path / "few.tsf")
