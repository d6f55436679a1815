import numpy as np
import pytest

from timesurf import EventError, Full, Network, Recordings, Rule, SettingError, Tile, Window
from timesurf.datasets import sentences
from timesurf.engines import pack, reference
from timesurf.errors import NotFittedError
from timesurf.presets import SENTENCES


@pytest.fixture(scope="module")
def data():
    return sentences.make(12, seed=0, duration="2 ms")


def small(data, **options):
    return SENTENCES.network(data, sentences.TASK1, 0, **options)


@pytest.fixture(scope="module")
def trained(data):
    return small(data).fit(data, passes=1)


def arrays(network):
    return network.parameters.arrays


@pytest.mark.parametrize("batch_size", [None, 5])
def test_a_seed_gives_the_same_network(data, batch_size):
    one, two = (small(data).fit(data, passes=2, batch_size=batch_size) for _ in range(2))
    for a, b in zip(arrays(one), arrays(two), strict=True):
        np.testing.assert_array_equal(a, b)


def test_another_seed_gives_another_network(data):
    one, two = (SENTENCES.network(data, sentences.TASK1, seed).fit(data, passes=1) for seed in (0, 1))
    assert not np.array_equal(one.parameters[0].centroids, two.parameters[0].centroids)


@pytest.mark.parametrize("batch_size", [None, 5])
def test_engines_train_the_same_network(data, batch_size):
    few = data[:4]
    one, two = (
        small(few, engine=e, dtype="float64").fit(few, passes=1, batch_size=batch_size) for e in ("cpu", "reference")
    )
    for a, b in zip(arrays(one), arrays(two), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_learning_in_parts_is_learning_at_once(data, monkeypatch):
    once = small(data).fit(data, passes=1)
    monkeypatch.setattr("timesurf.inference._EVENTS_AT_ONCE", 1)  # one recording at a time
    again = small(data).fit(data, passes=1)
    for a, b in zip(arrays(once), arrays(again), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(once.infer(data).votes, again.infer(data).votes)


def test_unlabelled_recordings_teach_without_labels(data):
    hidden = data.with_labels(np.full(len(data), -1))
    unlabelled = Recordings(data.coords, data.t, offsets=data.offsets, field=data.field)
    one, two = small(data).fit(data, passes=0), small(data).fit(data, passes=0)
    two.classes = np.array([0, 1])
    one.partial_fit(unlabelled)
    two.partial_fit(hidden)
    for a, b in zip(arrays(one), arrays(two), strict=True):
        np.testing.assert_array_equal(a, b)


def test_unlabelled_recordings_are_left_out_of_accuracies_only(trained, data):
    some = data.with_labels(np.where(np.arange(len(data)) < 5, "", data.labels))
    figures, known, every = trained.evaluate(some), trained.evaluate(data[5:]), trained.evaluate(data)
    for name in ("recording_accuracy", "event_accuracy"):
        assert figures[name] == known[name]
    assert figures["kept"] == every["kept"]
    with pytest.raises(EventError, match="no labels"):
        trained.evaluate(data.with_labels([""] * len(data)))


def test_a_start_takes_unlabelled_recordings_for_no_class(data):
    labels = np.where(np.arange(len(data)) == 0, "", data.labels)
    network = small(data).start(data.with_labels(labels), sample=1, start="kmeans")
    assert network.started


@pytest.mark.parametrize("layer", [0, 1, -1])
def test_transform_gives_the_events_of_a_layer(trained, data, layer):
    """Feeding them to the layers above gives what those layers gave."""
    out = trained.transform(data, layer)
    k = layer % 3
    assert out.field == trained.stages[k].output_field
    assert out.polarities == trained.stages[k].units
    np.testing.assert_array_equal(out.counts, trained.infer(data).kept[:, k])
    if k < 2:
        upper = Network(trained.layers[k + 1 :], out.field, out.polarities, trained.classes)
        upper.parameters = type(trained.parameters)(trained.parameters[k + 1 :])
        np.testing.assert_array_equal(upper.infer(out).votes, trained.infer(data).votes)


def test_start_means_are_means_of_surfaces(data):
    """zeta = 0 leaves the mean surface of every layer, for events that all pass."""
    network = small(data).start(data, zeta=0, sample=3)
    rng = np.random.default_rng(0)
    batch = pack(data[np.sort(rng.permutation(len(data))[:3])])
    for k, units in enumerate(network.parameters):
        ts = reference.surfaces(network.stages, network.parameters, batch, k)
        np.testing.assert_allclose(units.centroids, [ts.mean(axis=0)] * len(units.centroids))


def test_start_lets_everything_pass(data):
    network = small(data).start(data, sample=len(data))
    outcome = network.infer(data)
    np.testing.assert_array_equal(outcome.kept, np.repeat(outcome.events[:, None], 3, axis=1))


def test_kmeans_start_puts_class_means_last(data):
    network = small(data).start(data, start="kmeans", margin=np.inf, sample=len(data))
    for n, name in enumerate(network.classes):
        ts = network.surfaces(data[data.labels == name], -1)
        np.testing.assert_allclose(network.parameters[-1].centroids[n], ts.mean(axis=0))


def test_time_vectors_are_learned_like_images(rng):
    """One dimension, two polarities: which half of a cochlea's channels fires first. Fixed seed, no margin needed."""

    def word(up):
        channels = np.tile(np.arange(8) if up else np.arange(8)[::-1], 5)
        return channels, np.arange(40) * 10 + rng.integers(0, 8, 40), rng.integers(0, 2, 40)

    words = [word(n % 2) for n in range(60)]
    data = Recordings(
        [np.concatenate([w[0] for w in words])],
        np.concatenate([w[1] for w in words]),
        np.concatenate([w[2] for w in words]),
        np.arange(61) * 40,
        field=(8,),
        polarities=2,
        labels=np.arange(60) % 2,
        sort=True,
    )
    layers = [Window(3, units=4, tau=30), Full(tau=30)]
    network = Network(layers, (8,), 2, [0, 1], rule=Rule(alpha=1e-2, beta=1e-3), seed=0)
    network.fit(data[:40], passes=10, start="kmeans")
    assert network.evaluate(data[40:])["recording_accuracy"] == 1


def test_silent_recordings_count_as_wrong_and_by_themselves(trained, data):
    quiet = data.with_labels(data.labels)
    mute = Network(trained.layers, trained.field, 1, trained.classes)
    mute.parameters = trained.parameters.copy()
    mute.parameters[0].thresholds[:] = 0
    found = mute.evaluate(quiet)
    assert (found["event_accuracy"], found["recording_accuracy"], found["kept"]) == (0, 0, 0)
    assert found["silent"] == len(data)


def test_progress_reaches_the_end(data):
    reports = []
    small(data).fit(data, passes=2, batch_size=5, progress=reports.append)
    assert [one.done for one in reports] == [5, 10, 12, 17, 22, 24]
    assert all(one.total == 24 for one in reports)


def test_diverging_rates_are_found(data):
    network = small(data)
    network.rule = Rule(alpha=100)
    with pytest.raises(SettingError, match=r"diverged in layer \d, unit \d.*Lower alpha"):
        network.fit(data, passes=1, batch_size=6)


def test_a_network_without_centroids_says_so(data):
    with pytest.raises(NotFittedError, match="fit"):
        small(data).infer(data)


def test_bad_settings_and_data_are_refused(trained, data):
    fit = small(data).fit
    for bad, message in [
        ({"passes": -1}, "passes"), ({"batch_size": 0}, "batch_size"), ({"zeta": 2}, "zeta"),
        ({"zeta": float("nan")}, "zeta"), ({"margin": -1}, "margin"), ({"margin": float("nan")}, "margin"),
        ({"start": "magic"}, "start"),
    ]:  # fmt: skip
        with pytest.raises(SettingError, match=message):
            fit(data, **bad)
    empty = Recordings([[], []], [], offsets=[0, 0, 0], field=data.field, labels=sentences.TASK1)
    with pytest.raises(EventError, match="no events"):
        fit(empty)
    with pytest.raises(EventError, match="No recordings"):
        fit(data[[]])
    with pytest.raises(EventError, match=r"recording 0 has label z, which is none of"):
        fit(data.with_labels(["z"] * len(data)))
    with pytest.raises(EventError, match="this network takes"):
        trained.infer(Recordings([[0], [0]], [0], field=(3, 3)))
    with pytest.raises(EventError, match="from_structured"):
        trained.infer(np.zeros(3))
    with pytest.raises(EventError, match="no labels"):
        trained.evaluate(Recordings(data.coords, data.t, offsets=data.offsets, field=data.field))
    with pytest.raises(SettingError, match="layers 0 to 2"):
        trained.transform(data, 3)
    with pytest.raises(SettingError, match="engine"):
        small(data, engine="abacus").fit(data)
    with pytest.raises(SettingError, match="dtype"):
        small(data, dtype="float16")
    with pytest.raises(SettingError, match="classes"):
        Network([Tile((5, 5), units=1, tau=1), Full(tau=1)], (30, 5), 1, ["a", "a"])


def test_an_empty_recording_has_no_votes(trained, data):
    with_gap = Recordings(data.coords, data.t, offsets=[0, 0, *data.offsets[1:]], field=data.field)
    votes = trained.infer(with_gap).votes
    assert votes[0].sum() == 0
    np.testing.assert_array_equal(votes[1:], trained.infer(data).votes)


def test_repr_reads_like_a_description(trained):
    assert "Tile: 3 units over 5 x 5 x 1, tau 2 ms" in repr(trained)


def test_a_start_sees_every_class():
    """A few recordings drawn at random may all be of one class; the others add one each."""
    data = sentences.make(30, seed=0, duration="1 ms")
    lonely = data.with_labels(["v/vyty"] * 29 + ["vxvyty"])
    layers = [Tile((5, 5), units=3, tau="2 ms"), Full(tau=1)]
    network = Network(layers, data.field, 1, ["v/vyty", "vxvyty"], seed=0)
    assert network.start(lonely, start="kmeans", sample=3).infer(data).votes.shape == (30, 2)


def test_a_network_shows_itself_in_a_notebook_and_travels_between_processes(data):
    import pickle

    strange = Network(SENTENCES.layers, data.field, data.polarities, ["<b>", "b"])
    assert "&lt;b&gt;" in strange._repr_html_()
    assert "not trained yet" in strange._repr_html_()
    network = SENTENCES.network(data, sentences.TASK1, 0).start(data)
    again = pickle.loads(pickle.dumps(network))
    np.testing.assert_array_equal(again.infer(data[:3]).votes, network.infer(data[:3]).votes)


def test_inference_runs_in_many_threads_at_a_time(data):
    from concurrent.futures import ThreadPoolExecutor

    network = SENTENCES.network(data, sentences.TASK1, 0).start(data)
    alone = network.infer(data).votes
    with ThreadPoolExecutor(4) as pool:
        for votes in pool.map(lambda _: network.infer(data).votes, range(8)):
            np.testing.assert_array_equal(votes, alone)
