"""A spiking network learns sentences, adapts and grows."""

import numpy as np
import pytest

from timesurf.bench import spiking
from timesurf.datasets import sentences
from timesurf.errors import EventError
from timesurf.spiking import SpikingNetwork


@pytest.fixture(scope="module")
def trained():
    network = SpikingNetwork(spiking.LAYERS, (30, 5), 1, sentences.TASK1, seed=0)
    return network.fit(sentences.make(250, seed=1000), passes=6)


def copy_of(network):
    twin = SpikingNetwork(network.layers, (30, 5), 1, network.classes, seed=network.seed)
    twin.parameters = network.parameters.copy()
    return twin


def test_it_finds_what_sentences_differ_in_and_outputs_little(trained):
    figures = trained.evaluate(sentences.make(60, seed=2000))  # chance is 0.5; few recordings do not reach 0.99
    assert figures["event_accuracy"] > 0.9
    assert figures["kept"] < 0.02


def test_the_same_seed_gives_the_same_network(trained):
    again = SpikingNetwork(spiking.LAYERS, (30, 5), 1, sentences.TASK1, seed=0)
    again.fit(sentences.make(250, seed=1000), passes=6)
    assert again.parameters.same(trained.parameters)


def test_the_reference_runs_a_trained_network_alike(trained):
    some, twin = sentences.make(2, seed=3), copy_of(trained)
    twin.engine = "reference"
    np.testing.assert_array_equal(twin.infer(some).votes, trained.infer(some).votes)


def test_adapting_learns_without_labels_and_inference_does_not(trained):
    some, twin = sentences.make(4, seed=4), copy_of(trained)
    before = twin.parameters.copy()
    twin.predict(some)
    assert twin.parameters.same(before)
    twin.adapt(some)
    assert not twin.parameters.same(before)


def test_a_second_task_leaves_old_neurons_as_they_were(trained):
    grown, old = copy_of(trained), trained.parameters
    task2 = sentences.make(20, seed=5, sentences=sentences.TASK2)
    grown.extend(task2, units=(3, 6), classes=sentences.TASK2).train(task2, passes=1)
    assert [len(units.thresholds) for units in grown.parameters] == [6, 12, 4]
    for now, before in zip(grown.parameters, old, strict=True):
        n, known = len(before.thresholds), before.centroids.shape[-1]
        np.testing.assert_array_equal(now.centroids[:n, ..., :known], before.centroids)
        np.testing.assert_array_equal(now.centroids[:n, ..., known:], 0)
        np.testing.assert_array_equal(now.thresholds[:n], before.thresholds)


def test_recordings_of_another_field_are_refused(trained):
    with pytest.raises(EventError, match="takes"):
        trained.infer(sentences.make(2, sentences=["vx", "v/"]))


def test_the_kmeans_start_needs_every_class():
    network = SpikingNetwork(spiking.LAYERS, (30, 5), 1, sentences.TASK1)
    with pytest.raises(EventError, match="class number 1"):
        network.start(sentences.make(2, sentences=sentences.TASK1[:1]), start="kmeans")


def test_spikes_of_a_layer_are_recordings_and_those_of_the_last_are_the_votes(trained):
    some = sentences.make(3, seed=6)
    outcome = trained.infer(some)
    first, last = trained.transform(some, 0), trained.transform(some)
    assert (first.field, first.polarities) == ((6, 1), 3)
    assert first.counts.tolist() == outcome.kept[:, 0].tolist()
    votes = [np.bincount(one.p, minlength=2).tolist() for one in last]
    assert votes == outcome.votes.tolist()
    assert last.labels.tolist() == some.labels.tolist()
