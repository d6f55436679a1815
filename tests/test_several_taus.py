"""A `Full` layer with several time constants, from the start of a network to its file, beside what the engines do."""

import tomllib
from dataclasses import replace

import numpy as np
import pytest

from tests.random_networks import blobs
from timesurf import Full, Network, SettingError, Sup3rClassifier, Window, presets
from timesurf.engines import Parameters, pack, reference
from timesurf.engines.cpu import engine as cpu
from timesurf.engines.cuda.paths import supports
from timesurf.live.session import Session
from timesurf.rule import Rule
from timesurf.search.findings import snippet
from timesurf.search.space import around, narrowed
from timesurf.storage import toml

TAUS = (20_000.0, 80_000.0, 1250.0)
LAYERS = (Window(3, units=4, tau="10 ms", stride=3), Full(tau=TAUS, units_per_class=2))
RULE = Rule(alpha=1e-3, last="delta")
PRESET = replace(presets.SENTENCES, layers=LAYERS, rule=RULE)


@pytest.fixture(scope="module")
def network():
    data = blobs(12, seed=0)
    made = Network(LAYERS, (9, 9), 2, [0, 1, 2], rule=RULE, seed=0, precision="float32")
    return made.fit(data, passes=1, batch_size=4, start="kmeans")


def test_a_network_starts_at_the_mean_surfaces_at_every_time_constant(network):
    assert network.parameters[-1].centroids.shape == (6, 3, 3, 4, 3)
    assert (network.parameters[-1].centroids.mean(axis=(0, 1, 2, 3)).argsort() == [2, 0, 1]).all()  # longer: brighter


def test_a_model_file_keeps_them(network, tmp_path):
    network.save(tmp_path / "network.tsf")
    again = Network.load(tmp_path / "network.tsf")
    assert again.layers == network.layers
    assert again.stages[-1].taus == TAUS
    test = blobs(6, seed=1)
    np.testing.assert_array_equal(again.predict(test), network.predict(test))
    assert "20, 80 and 1.25 ms" in repr(again)
    assert "20, 80 and 1.25 ms" in again._repr_html_()


def test_settings_keep_them():
    assert presets.from_dict(tomllib.loads(toml.network(PRESET.to_dict()))["network"]).layers == LAYERS


def test_the_estimator_takes_them():
    classifier = Sup3rClassifier(list(LAYERS)).set_params(layers__1__tau=("1 ms", "2 ms"))
    assert classifier.get_params()["layers__1__tau"] == (1000, 2000)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_session_decides_as_the_reference_however_packets_are_cut(network, size):
    one = blobs(3, seed=2)[2]
    expected = reference.infer(network.stages, network.parameters, pack(one), trace=True).trace
    session, units = Session(network), []
    for begin in range(0, len(one.t), size):
        part = slice(begin, begin + size)
        units += session.take([x[part] for x in one.coords], one.t[part], one.p[part]).units.tolist()
    assert units == expected.winner[:, -1].tolist()


def test_a_session_that_is_taught_learns_as_the_reference(network):
    some = blobs(2, seed=3)
    expected = network.parameters.copy()
    reference.learn_online(network.stages, expected, network.rule, pack(some, np.array([0, 1])))
    session = Session(network)
    for r in range(2):
        one = some[r]
        session.take(one.coords, one.t + 10**6 * r, one.p, label=r)
    for mine, right in zip(session.adapted().parameters.arrays, expected.arrays, strict=True):
        np.testing.assert_allclose(mine, right, rtol=1e-9, atol=1e-12)


def test_batch_learning_in_float32_is_that_of_the_reference_but_for_rounding(network):
    some, found, expected = blobs(6, seed=4), network.parameters.copy(), network.parameters.copy()
    batch = pack(some, np.arange(6) % 3)
    cpu.learn_batch(network.stages, found, network.rule, batch)
    reference.learn_batch(network.stages, expected, network.rule, batch)
    np.testing.assert_allclose(found[-1].centroids, expected[-1].centroids, atol=1e-5)


def test_the_order_of_time_constants_changes_nothing_but_the_order_of_entries(network):
    order = [2, 0, 1]
    other = Network([LAYERS[0], replace(LAYERS[1], tau=[TAUS[s] for s in order])], (9, 9), 2, [0, 1, 2], rule=RULE)
    first, last = network.parameters.copy()
    last.centroids = np.ascontiguousarray(last.centroids[..., order])
    other.parameters = Parameters([first, last])
    batch = pack(blobs(6, seed=1))
    found = cpu.infer(other.stages, other.parameters, batch, trace=True)
    right = cpu.infer(network.stages, network.parameters, batch, trace=True)
    np.testing.assert_allclose(found.trace.distance, right.trace.distance, rtol=1e-12)


def test_a_network_that_grows_keeps_its_old_units_at_every_time_constant(network):
    new = blobs(4, seed=5)
    new.labels = np.full(4, 3)
    wider = network.twin(network.parameters.copy()).extend(new, units=[2], classes=[3])
    before, after = network.parameters[-1].centroids, wider.parameters[-1].centroids
    assert after.shape == (8, 3, 3, 6, 3)
    np.testing.assert_array_equal(after[:6, :, :, :4], before)
    assert not after[:6, :, :, 4:].any()


def test_a_gpu_leaves_them_to_the_cpu(network):
    assert "several time constants in one layer" in supports(network.stages)


def test_c_refuses_them(network, tmp_path):
    from timesurf.export import plan

    with pytest.raises(SettingError, match=r"Layer 2 .* several time constants"):
        plan.plans(network.stages, network.parameters)


def test_a_search_leaves_them_as_they_are():
    assert "tau1" in around(PRESET)
    assert "tau2" not in around(PRESET)
    with pytest.raises(SettingError, match="tau2 is several time constants"):
        narrowed(PRESET, only=["tau2"])
    assert 'tau=("20 ms", "80 ms", "1.25 ms")' in snippet(PRESET)


def test_pictures_show_the_mean_over_time_constants(network):
    pytest.importorskip("matplotlib")
    from timesurf import plots
    from timesurf.plots.network import pixels

    plots.centroids(network, 1)
    plots.centroids(network, 1, back_to_pixels=True)
    plots.centroid(plots.centroids(network, 0), network, 1, 0)
    plots.surface(network, blobs(1, seed=6), 40, 1)
    assert pixels(network, 1).ndim == 4
