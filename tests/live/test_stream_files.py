"""A file that is streamed is taken, or refused, as `predict` takes or refuses it."""

import numpy as np
import pytest

from timesurf import Full, Network, Recordings
from timesurf.engines import Parameters
from timesurf.io import camera
from timesurf.transforms.preparation import Preparation

FIELD = (8, 8)
HALVED = Preparation(field=(16, 16), polarities=2, downsample=2)
COMMANDS = ("predict MODEL FILE", "stream MODEL --from FILE")


def events_on(field, n=40):
    rng = np.random.default_rng(3)
    coords = [np.append(rng.integers(0, size, n), size - 1) for size in field]
    return Recordings(coords, t=np.arange(n + 1) * 100, p=np.arange(n + 1) % 2, field=field, polarities=2)


@pytest.fixture
def model(tmp_path):
    def save(field=FIELD, preparation=HALVED):
        network = Network([Full(tau="1 ms")], field, 2, ["a", "b"])
        network.parameters = Parameters.of([np.zeros((2, *field, 2))], [np.full(2, np.inf)])
        network.preparation = preparation
        network.save(tmp_path / "m.tsf")
        return tmp_path / "m.tsf"

    return save


def written(path, field):
    if path.suffix == ".es":
        pytest.importorskip("faery")
    camera.write(path, events_on(field))
    return path


def said_of(timesurf, command, model, file, *options):
    words = [{"MODEL": model, "FILE": file}.get(word, word) for word in command.split()]
    return timesurf(*words, *options)


@pytest.mark.parametrize("command", COMMANDS)
def test_crop_is_of_the_sensor_that_the_file_states(timesurf, model, tmp_path, command):
    file = written(tmp_path / "large.es", (40, 30))
    code, said = said_of(timesurf, command, model(), file, "--crop", "16x16")
    assert code == 0, said
    assert "refused" not in said


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("name", "field", "options"),
    [
        ("cochlea.csv", (16,), ()),  # one coordinate, and the network has two
        ("other.csv", (16, 16), ("--downsample", "4")),
        ("other.csv", (32, 32), ("--crop", "20x20")),
        ("large.es", (40, 30), ()),
        ("small.es", (12, 8), ("--downsample", "1")),
    ],
)
def test_file_of_another_field_is_refused(timesurf, model, tmp_path, command, name, field, options):
    code, said = said_of(timesurf, command, model(), written(tmp_path / name, field), *options)
    assert (code, "the network takes" in said) == (2, True), said


@pytest.mark.parametrize("command", COMMANDS)
def test_camera_file_is_refused_by_a_network_of_channels(timesurf, model, tmp_path, command):
    file = written(tmp_path / "camera.csv", (6, 6))
    code, said = said_of(timesurf, command, model((8,), Preparation()), file)
    assert (code, "the network takes" in said) == (2, True), said


@pytest.mark.parametrize("command", COMMANDS)
def test_larger_sensor_is_refused_where_nothing_is_prepared(timesurf, model, tmp_path, command):
    code, said = said_of(timesurf, command, model(preparation=Preparation()), written(tmp_path / "large.es", (40, 30)))
    assert (code, "the network takes" in said) == (2, True), said


@pytest.mark.parametrize("source", ["udp://127.0.0.1:7791", "-"])
def test_size_of_what_arrives_live_must_lead_to_the_network(timesurf, model, source):
    for command in (("stream",), ("live", "--no-browser")):
        code, said = timesurf(*command, model(), "--from", source, "--field", "64x64")
        assert (code, "the network takes 8 x 8" in said) == (2, True), said


@pytest.mark.parametrize("command", COMMANDS)
def test_file_on_the_networks_field_is_taken_for_prepared(timesurf, model, tmp_path, command):
    code, said = said_of(timesurf, command, model(), written(tmp_path / "ready.es", FIELD))
    assert (code, "assumed to be prepared already" in said) == (0, True), said
