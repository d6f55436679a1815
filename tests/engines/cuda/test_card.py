"""The host's side of the engine on NumPy arrays: what is sent, and which kernels are started."""

import numpy as np
import pytest

from tests.engines.cuda.networks import DEEPER, DIGITS, SENTENCES
from timesurf import Full, SettingError, Window
from timesurf.bench import workloads
from timesurf.engines import Engine, Learner, Options, Parameters, TakesPass, pack
from timesurf.layers import stack
from timesurf.rule import Rule


def blank(stages):
    thresholds = [np.full(stage.units, np.inf if stage is stages[-1] else 1.0) for stage in stages]
    return Parameters.of([np.zeros((stage.units, *stage.surface_shape)) for stage in stages], thresholds)


@pytest.fixture
def data():
    return workloads.strokes(6, events=50)


@pytest.mark.parametrize(
    ("stages", "kernels"),
    [(DIGITS, ["blocks"]), (DEEPER, ["clear", "layer0", "layer1", "last", "learn0", "learn1"])],
)
def test_a_pass_starts_its_kernels_once_per_batch_and_an_update_after_each(cuda, data, stages, kernels):
    reported = []
    parts = [slice(0, 4), slice(4, 6)]
    (outcome,) = cuda.engine.learn_pass(
        [Learner(stages, blank(stages), data, np.zeros(6, int))], parts, [[Rule()] * 2],
        report=lambda part, outcomes: reported.append((part, len(outcomes))),
    )  # fmt: skip
    assert [start[0] for start in cuda.started] == [*kernels, "update"] * 2
    np.testing.assert_array_equal(outcome.events, data.counts)
    assert reported == [(slice(0, 6), 1)]


def test_the_same_pass_again_is_the_same_graph(cuda, data):
    learner = Learner(DIGITS, blank(DIGITS), data, np.zeros(6, int))
    for _ in range(2):
        cuda.engine.learn_pass([learner], [slice(0, 6)], [[Rule()]])
    assert [start[0] for start in cuda.started] == ["blocks", "update"]


def test_kernels_are_given_what_lies_on_the_card(cuda, data):
    cuda.engine.infer(DIGITS, blank(DIGITS), pack(data))
    (name, grid, threads, _, (args,)) = cuda.started[-1]
    assert (name, grid) == ("blocks", (6, 1))  # eight warps per recording
    assert threads % 32 == 0
    assert (int(args["networks"]), int(args["recordings"]), float(args["keep"])) == (1, 6, -1.0)
    assert args["log_stride"] == 96  # 50 events, filled up
    assert all(
        args[field] for field in ("entry", "t", "start", "stop", "label", "rates", "kept", "votes", "map", "base")
    )
    assert not args["scratch"]  # of another path
    assert args["layer"]["c"].all()


def test_evidence_takes_the_general_path_and_has_a_column_per_class(cuda, data):
    stages = stack([Window(9, units=32, tau=1), Full(tau=1, units_per_class=2)], (28, 28), 1, classes=5)
    for trace in (False, True):
        found = cuda.engine.infer(stages, blank(stages), pack(data), Options(temperature=2.0), trace=trace)
        assert cuda.started[-1][0] == ("trace" if trace else "infer")
        assert cuda.started[-1][-1][0]["evidence"]
        assert found.votes.shape == found.evidence.shape == (6, 5)
    assert cuda.engine.infer_all(stages, blank(stages), data, Options(temperature=2.0)).evidence.shape == (6, 5)
    assert [start[0] for start in cuda.started[-2:]] == ["winners", "scan_events"]  # whole data sets: in two steps
    assert cuda.engine.infer(stages, blank(stages), pack(data)).evidence is None
    assert cuda.started[-1][0] == "blocks"
    assert cuda.engine.infer(stages, blank(stages), pack(data[:0]), Options(temperature=2.0)).evidence.shape == (0, 5)


def test_the_delta_rule_takes_the_general_path(cuda, data):
    batch = pack(data, np.zeros(6, int))
    cuda.engine.learn_batch(DIGITS, blank(DIGITS), Rule(last="delta"), batch)
    assert [start[0] for start in cuda.started] == ["train", "update"]
    table = cuda.engine.rates([DIGITS], [[Rule(last="delta", temperature=3.0), Rule()]])
    assert (table["flags"] & 4).ravel().tolist() == [4, 4, 0, 0]
    np.testing.assert_allclose(table["temperature"][0], 3.0 * np.log2(np.e), rtol=1e-6)


def test_tracing_takes_the_general_path_and_has_room_for_every_event(cuda, data):
    found = cuda.engine.infer(DIGITS, blank(DIGITS), pack(data), trace=True).trace
    assert cuda.started[-1][0] == "trace"
    assert found.winner.shape == found.S.shape == (300, 2)


def test_centroids_come_back_as_they_were_sent(cuda):
    rng = np.random.default_rng(0)
    sent, found = blank(SENTENCES), blank(SENTENCES)
    for units in sent:
        units.centroids[...] = rng.random(units.centroids.shape)
    card = cuda.card.Card(SENTENCES, 2, False)
    card.upload([sent, sent])
    card.download([found, found])
    assert found.same(sent)


def test_frozen_units_are_not_written_back(cuda):
    sent, found = blank(SENTENCES), blank(SENTENCES)
    sent[0].centroids[...] = 1.0
    found[0].frozen[1] = True
    card = cuda.card.Card(SENTENCES, 1, False)
    card.upload([sent])
    card.download([found])
    assert found[0].centroids[:, 0, 0, 0].tolist() == [1.0, 0.0, 1.0]


def test_progress_is_reported_after_enough_events(cuda, monkeypatch):
    monkeypatch.setattr(cuda.engine, "_REPORT_AFTER", 100)
    parts = [slice(n, n + 1) for n in range(5)]
    groups = cuda.engine.reported_parts(parts, np.array([60, 60, 60, 10, 200]))
    assert [len(group) for group in groups] == [2, 3]


def test_the_engine_keeps_its_promises(cuda):
    assert isinstance(cuda.engine, TakesPass)
    engine: Engine = cuda.engine
    assert engine.supports(DIGITS) == ""
    assert "Online learning" in engine.supports(DIGITS, online=True)
    with pytest.raises(SettingError, match="batch_size"):
        engine.learn_online(DIGITS, blank(DIGITS), Rule(), None, Options())


def test_how_long_the_card_worked_is_in_seconds(cuda):
    assert cuda.card.Card(DIGITS, 1, False).seconds() == 2.0
