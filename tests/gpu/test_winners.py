"""Window layers that rest, and the Full layer alone above them, against the reference: on a machine with a GPU.

PYTHONPATH=src python3 -m pytest tests/gpu/test_winners.py
"""

import os
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("cupy", reason="the CUDA engine needs CuPy")

from tests.gpu.cases import alone, draw, window
from tests.gpu.checks import check_decisions, check_learning, check_outputs, cuda, digits
from timesurf import Full, Network, Rule, Window, inference
from timesurf.engines import Batch, Options, pack, reference
from timesurf.engines.cuda import emission, general, launch, paths
from timesurf.engines.cuda import events as cudaevents
from timesurf.engines.cuda import winners as cudawinners
from timesurf.engines.cuda.work import Work
from timesurf.learning import trainer
from timesurf.learning.resting import Seen

SEEDS = range(int(os.environ.get("GPU_SEEDS", "12")))


@pytest.mark.parametrize("seed", SEEDS)
def test_winners_are_the_references(seed):
    check_outputs(*window(seed))


@pytest.fixture(params=["near", "far", "small tiles"])
def room(request, monkeypatch):
    """Time maps in shared memory or in the card's; tiles of fewer events."""
    monkeypatch.setattr(cudawinners, "_PARTS", 3)
    if request.param == "far":
        monkeypatch.setattr(cudawinners, "_NEAR", 0)
    if request.param == "small tiles":
        monkeypatch.setattr(cudawinners, "_TILES", ((16, 4),))
    cudawinners.winners.cache_clear()
    yield
    cudawinners.winners.cache_clear()


@pytest.mark.parametrize("seed", [1, 5, 6])
def test_maps_anywhere_and_recordings_in_parts(seed, room):
    stages, parameters, batch = window(seed, events=5000)
    check_outputs(stages, parameters, batch)


def test_of_equal_units_the_lowest_fires():
    stages, parameters, batch = window(3, units=200)
    parameters[0].centroids[100:] = parameters[0].centroids[:100]
    parameters[0].thresholds[:] = np.inf
    out, _ = emission.outputs(stages[0], parameters[0], cudaevents.of_batch(batch))
    assert (out.get() % 200 < 100).all()


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("last", ["sup3r", "delta"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_full_layer_alone_learns_as_the_reference(seed, last, deterministic):
    drawn = alone(seed, most_units=(10, 40, 130)[seed % 3], last=last)
    work = Work(drawn[0], "train", delta=last == "delta", deterministic=deterministic)
    assert paths.choose(work, launch.device()).name == "scan"
    check_learning(*drawn, Options(deterministic=deterministic))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_full_layer_alone_decides_as_the_reference(seed):
    stages, parameters, rule, batch = alone(seed, most_units=(10, 40, 130)[seed % 3])
    for temperature in (0.0, rule.temperature):
        check_decisions(stages, parameters, batch, temperature)


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_one_window_layer_by_layer_is_the_references(seed, deterministic, monkeypatch):
    monkeypatch.setattr(paths, "blocks", lambda *_, **__: None)
    for again in range(50):
        stages, parameters, rule, batch = draw(1000 * again + seed, (5, 16, 33, 64)[seed % 4], 400, windows=1)
        if paths.choose(Work(stages, "train", deterministic=deterministic), launch.device()).name == "layer by layer":
            break
    check_decisions(stages, parameters, batch)
    check_learning(stages, parameters, rule, batch, Options(deterministic=deterministic))


def network(data, **about):
    layers = [Window(5, units=70, tau="10 ms", stride=3), Full(tau="20 ms", units_per_class=2)]
    made = Network(layers, data.field, data.polarities, range(3), engine="cuda", seed=0, deterministic=True, **about)
    return made.start(data, start="kmeans", margin=np.inf)


RULE = Rule(alpha=(0.0, 1e-3), beta=0.0, gamma=0.0, delta=0.0, last="delta", temperature=2.0)


def test_layers_that_rest_run_once_and_their_events_stay_on_the_card(monkeypatch):
    data = digits()[np.arange(39, -1, -1)]
    resting, whole = network(data, rule=RULE), network(data, rule=RULE)
    sent = []
    original = cudaevents._resident
    monkeypatch.setattr(cudaevents, "_resident", lambda r: sent.append(r.origin in cudaevents._on_card) or original(r))
    resting.train(data, passes=3, batch_size=8)
    assert sent[1:] == [True] * 3, "sent once, then events on the card in every pass"
    monkeypatch.setattr(trainer, "learns_from", lambda trainee, recordings, schedule: Seen(trainee, recordings))
    whole.train(data, passes=3, batch_size=8)
    for mine, theirs in zip(resting.parameters, whole.parameters, strict=True):
        np.testing.assert_allclose(mine.centroids, theirs.centroids, atol=2e-4)
    assert abs(resting.history[-1]["event_accuracy"] - whole.history[-1]["event_accuracy"]) < 0.01


@pytest.mark.parametrize("margin", [np.inf, 0.8])
def test_what_is_emitted_is_the_references_on_card_and_host(margin, monkeypatch):
    every = digits(12)
    net, data = network(every).start(every, start="kmeans", margin=margin), every[[4, 0, 2]]
    right = inference.emitted(reference, net.stages, net.parameters, data, Options(), 0)
    for room in (1 << 40, 8 * 2 * 300):  # on the card; streamed
        monkeypatch.setattr(cudaevents, "room", lambda room=room: room)
        found = net.transform(data, 0)
        assert (found.origin in cudaevents._on_card) == (room == 1 << 40)
        np.testing.assert_array_equal(found.counts, right.counts)
        np.testing.assert_array_equal(found.t, right.t)
        assert (found.entries() != right.entries()).sum() <= 2
        if found.origin in cudaevents._on_card:
            entry, t, _ = cudaevents._on_card[found.origin]
            np.testing.assert_array_equal(entry.get(), found.entries())
            np.testing.assert_array_equal(t.get(), found.t)


@pytest.mark.parametrize("margin", [np.inf, 0.8])
def test_inference_in_two_steps_is_the_references(margin):
    data = digits(12)
    net = network(data, rule=replace(RULE, last="sup3r")).start(data, start="kmeans", margin=margin)
    options = Options(temperature=2.0)
    assert cuda._in_two_steps(net.stages, net.parameters, len(data), cudaevents.span(data), True)
    found = cuda.infer_all(net.stages, net.parameters, data, options)
    right = reference.infer(net.stages, net.parameters, pack(data), options)
    assert np.abs(found.kept - right.kept).max() <= 1
    assert np.abs(found.votes - right.votes).max() <= 3
    np.testing.assert_allclose(found.evidence, right.evidence, rtol=1e-2, atol=1.0)


def test_no_events_and_empty_recordings():
    stages, parameters, batch = window(2)
    none = Batch(batch.entry[:0], batch.t[:0], np.zeros(4, np.int64), np.full(3, -1))
    assert len(emission.outputs(stages[0], parameters[0], cudaevents.of_batch(none))[0]) == 0


def test_large_neighbourhoods_are_left_to_the_general_path():
    (stage,) = Network([Window(41, units=4, tau=1), Full(tau=1)], (60, 60), 3, range(2)).stages[:1]
    assert general.refusal((stage,)) == ""
    assert cudawinners.winners(stage, launch.device(), measured=False) is None


@pytest.mark.parametrize("learns", [False, True])
def test_recordings_are_moved_on_the_card_as_on_the_host(learns):
    """In each pass, before a hidden layer that learns or after one that rests."""
    data = digits()
    rule = replace(RULE, alpha=(1e-5 if learns else 0.0, 1e-3))
    made = [network(data, rule=rule) for _ in range(2)]
    made[1].engine = "cpu"
    for each in made:
        each.restore(made[0].snapshot())
        each.train(data, passes=3, batch_size=8, moved=(2, 1))
    for mine, theirs in zip(*(each.parameters for each in made), strict=True):
        np.testing.assert_allclose(mine.centroids, theirs.centroids, atol=2e-4)
    assert abs(made[0].history[-1]["event_accuracy"] - made[1].history[-1]["event_accuracy"]) < 0.01
