"""What many classes, large fields and many polarities cost: bytes and entries, or a refusal that gives the figure."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.memory import peak
from tests.random_networks import cases
from timesurf import EventError, Full, Network, Recordings, SettingError, Tile, Window, inference
from timesurf.engines import Parameters, pack, reference
from timesurf.io import npz
from timesurf.learning import means
from timesurf.presets import named

MANY = 3000  # classes: a table of all pairs has 9 million entries, 72 MB


def random_recordings(recordings, events, field, *, classes=2, polarities=1):
    rng, n = np.random.default_rng(0), recordings * events
    coords = [rng.integers(0, size, n) for size in field]
    t = np.sort(rng.integers(0, 10**5, (recordings, events)), axis=1).ravel()
    return Recordings(
        coords, t, rng.integers(0, polarities, n), np.arange(recordings + 1) * events,
        field=field, polarities=polarities, labels=np.arange(recordings) % classes,
    )  # fmt: skip


@pytest.fixture(scope="module")
def many():
    data = random_recordings(MANY, 4, (8,), classes=MANY)
    network = Network([Full(tau="10 ms")], (8,), 1, range(MANY)).start(data)
    network.infer(data[:2])  # compiles
    return network, data


def test_inference_holds_the_votes_once(many, monkeypatch):
    network, data = many
    monkeypatch.setattr(inference, "_RECORDINGS_AT_ONCE", 100)
    used, outcome = peak(lambda: network.infer(data))
    assert used < 1.2 * outcome.votes.nbytes


def test_more_votes_than_memory_holds_are_refused_before_a_recording_is_run():
    none = np.empty(0, np.int64)
    silent = Recordings([none], none, offsets=np.zeros(200_001, np.int64), field=(1,), labels=np.arange(200_000) % 2000)
    network = Network([Full(tau=1)], (1,), 1, range(2000))
    network.parameters = Parameters.of([np.zeros((2000, 1, 1))], [np.full(2000, np.inf)])

    def refused():
        with pytest.raises(EventError, match=r"200,000 recordings for 2,000 classes take 3\.0 GiB.* at most 134,217 "):
            network.evaluate(silent)

    assert peak(refused)[0] < 20 << 20


def test_as_many_votes_as_there_may_be_and_no_more(many, monkeypatch, timesurf, tmp_path):
    network, data = many
    npz.write(tmp_path / "some.npz", data[:3])
    network.save(tmp_path / "m.tsf")
    monkeypatch.setattr(inference, "_MOST_VOTES", 3 * MANY)
    assert network.infer(data[:3]).votes.shape == (3, MANY)
    assert timesurf("evaluate", tmp_path / "m.tsf", tmp_path / "some.npz")[0] == 0
    monkeypatch.setattr(inference, "_MOST_VOTES", 3 * MANY - 1)
    with pytest.raises(EventError, match="at most 2 recordings at a time"):
        network.infer(data[:3])
    monkeypatch.setattr(inference, "_RECORDINGS_AT_ONCE", 2)  # the command line runs some at a time
    code, said = timesurf("evaluate", tmp_path / "m.tsf", tmp_path / "some.npz")
    assert code == 2
    assert "Votes of 3 recordings for 3,000 classes" in said


def test_a_pass_over_many_classes_keeps_no_votes_of_earlier_batches(many):
    network, data = many
    used, _ = peak(lambda: network.train(data, passes=1, batch_size=50))
    assert used < len(data) * MANY * 8 / 4  # the votes of all recordings would take four times as much


def test_a_start_over_a_large_field_takes_little_more_than_its_centroids():
    data = random_recordings(4, 500, (10, 10)).on_field((200, 200), 1)
    network = Network([Window(3, units=32, tau="10 ms"), Full(tau="1 ms")], (200, 200), 1, [0, 1])
    network.start(data, start="kmeans")  # compiles
    used, _ = peak(lambda: network.start(data, start="kmeans"))
    assert used < 4 * sum(units.centroids.nbytes for units in network.parameters)


@given(cases(), st.sampled_from([5.0, (5.0, 40.0)]))
@examples(30)
def test_a_mean_over_the_entries_that_occur_is_the_mean_surface(case, tau):
    full = (*case.stages, *start_on_top(case.stages[-1], tau))
    expected = reference.surfaces(full, with_zeros(case.parameters, full), case.batch, len(full) - 1)
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(means, "_LARGE", 0)
        found = means.mean_surface(reference, full, case.parameters, case.batch)
    mean = expected.mean(axis=0) if len(expected) else np.zeros(full[-1].surface_shape)
    np.testing.assert_allclose(found, mean, rtol=1e-9, atol=1e-12)


def start_on_top(below, tau=5.0):
    from timesurf.layers import stack

    return stack([Full(units=1, tau=tau)], below.output_field, below.units)


def with_zeros(parameters, stages):
    return parameters.with_layer(np.zeros((1, *stages[-1].surface_shape)))


def test_a_mean_without_lower_layers_is_of_the_events_themselves(monkeypatch):
    data = random_recordings(2, 20, (3, 4), polarities=2)
    stages = start_on_top(type("Below", (), {"output_field": (3, 4), "units": 2}))
    whole = means.mean_surface(reference, stages, Parameters(), pack(data))
    monkeypatch.setattr(means, "_LARGE", 0)
    np.testing.assert_allclose(means.mean_surface(reference, stages, Parameters(), pack(data)), whole)


def test_a_large_field_with_many_classes_is_refused_before_anything_is_allocated():
    data = random_recordings(20, 1, (1280, 720), classes=10, polarities=2)
    preset = named("camera", len(data))

    def build():
        with pytest.raises(SettingError, match=r"Layer 2, 10 units over 1280 x 720 x 32, .*2\.2 GiB.*crop"):
            preset.network(data, range(10), 0)

    assert peak(build)[0] < 1 << 20


def test_windows_over_many_polarities_are_refused_before_anything_is_allocated():
    data = random_recordings(2, 1, (34, 34), polarities=10_000)

    def build():
        with pytest.raises(SettingError, match=r"Layer 1, 32 units over 9 x 9 x 10000, .*25,920,000.*merge_polarities"):
            named("camera", 2).network(data, [0, 1], 0)

    assert peak(build)[0] < 1 << 20


@pytest.mark.parametrize(
    ("name", "layers"),
    [
        ("_MOST_NUMBERS", [Tile((2,), units=3, tau=1), Full(tau=1)]),  # 2 classes x 2 blocks x 3 units
        ("_MOST_PER_EVENT", [Window(3, units=4, tau=1), Full(tau=1)]),  # 4 units x 3 pixels
    ],
)
def test_a_network_exactly_at_the_limit_is_accepted(monkeypatch, name, layers):
    monkeypatch.setattr(inference, name, 12)
    Network(layers, (4,), 1, [0, 1]) if name == "_MOST_NUMBERS" else Network(layers, (1,), 1, [0, 1])
    monkeypatch.setattr(inference, name, 11)
    with pytest.raises(SettingError, match="12 "):
        Network(layers, (4,), 1, [0, 1])
