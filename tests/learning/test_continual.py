"""Networks that go on learning: adapt, extend, freeze."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from timesurf import EventError, Network, Rule, SettingError
from timesurf.datasets import sentences
from timesurf.engines import Parameters, Trace, pack, reference
from timesurf.learning.grow import tighten
from timesurf.presets import SENTENCES

DATA = sentences.make(8, seed=0, duration="1 ms")
TASK2 = sentences.make(8, seed=1, sentences=sentences.TASK2, duration="1 ms")
FAST = Rule(alpha=1e-3, beta=1e-4, gamma=1e-3, delta=1e-4)


def trained(**options):
    return SENTENCES.network(DATA, sentences.TASK1, 0, **options).fit(DATA, passes=1)


def bits(parameters):
    return [a.tobytes() for a in parameters.arrays]


def test_predicting_is_pure_and_adapting_is_not():
    network = trained()
    before = bits(network.parameters)
    network.infer(DATA)
    network.evaluate(DATA)
    network.transform(DATA)
    assert bits(network.parameters) == before
    network.adapt(DATA)
    assert bits(network.parameters) != before


def test_adapting_is_online_learning_without_labels():
    network = trained()
    expected = network.snapshot()
    rule = network.rule.for_adapting()
    outcome = reference.learn_online(network.stages, expected, rule, pack(DATA))  # no labels
    np.testing.assert_array_equal(network.adapt(DATA).votes, outcome.votes)
    for a, b in zip([u.centroids for u in network.parameters], [u.centroids for u in expected], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_layers_can_be_switched_off():
    network = trained()
    before = network.snapshot()
    network.adapt(DATA, rule=Rule(alpha=(0, 1e-3, 0), beta=0, gamma=0, delta=0))
    assert np.array_equal(network.parameters[0].centroids, before[0].centroids)
    assert not np.array_equal(network.parameters[1].centroids, before[1].centroids)


def test_a_cap_bounds_what_one_recording_can_do():
    free, held = trained(), trained()
    before = held.snapshot()
    free.adapt(DATA[:1], rule=FAST)
    held.adapt(DATA[:1], rule=FAST, cap=1e-4)
    for k in range(3):
        far = np.linalg.norm(
            (held.parameters[k].centroids - before[k].centroids).reshape(len(before[k].centroids), -1), axis=1
        )
        assert far.max() <= 1e-4 * (1 + 1e-9)
        if k < 2:  # the last layer has no thresholds
            moved = held.parameters[k].thresholds - before[k].thresholds
            assert np.abs(moved).max() <= 1e-4 * (1 + 1e-9)
    assert np.abs(free.parameters[0].centroids - before[0].centroids).max() > 1e-4


def test_a_confidence_that_no_recording_reaches_stops_learning():
    network = trained()
    before = bits(network.parameters)
    outcome = network.adapt(DATA, confidence=1.1)
    assert bits(network.parameters) == before
    np.testing.assert_array_equal(outcome.votes, network.infer(DATA).votes)


def test_a_snapshot_undoes_what_followed():
    network = trained()
    before, snapshot = bits(network.parameters), network.snapshot()
    network.adapt(DATA).votes.sum()
    assert bits(network.restore(snapshot).parameters) == before


def test_extending_keeps_old_units_and_their_decisions():
    network = trained()
    old = network.snapshot()
    network.extend(TASK2, units=[2, 6], classes=sentences.TASK2)
    assert [stage.units for stage in network.stages] == [5, 12, 4]
    assert network.classes.tolist() == [*sentences.TASK1, *sentences.TASK2]
    for k, (c, th) in enumerate(zip([u.centroids for u in old], [u.thresholds for u in old], strict=True)):
        grown = network.parameters[k].centroids[: len(c)]
        np.testing.assert_array_equal(grown[..., : c.shape[-1]], c)
        assert (grown[..., c.shape[-1] :] == 0).all()
        np.testing.assert_array_equal(network.parameters[k].thresholds[: len(c)], th)
        assert network.parameters[k].frozen.tolist() == [True] * len(c) + [False] * (
            len(network.parameters[k].frozen) - len(c)
        )
    before = network.snapshot()
    network.train(TASK2, passes=1)
    for k, frozen in enumerate([u.frozen for u in before]):
        assert network.parameters[k].centroids[frozen].tobytes() == before[k].centroids[frozen].tobytes()
        assert network.parameters[k].thresholds[frozen].tobytes() == before[k].thresholds[frozen].tobytes()
    assert not np.array_equal(network.parameters[0].centroids, before[0].centroids)


def test_an_extended_network_saves_loads_and_extends_again(tmp_path):
    network = trained().extend(TASK2, units=[2, 6], classes=sentences.TASK2).train(TASK2, passes=1)
    network.save(tmp_path / "a.tsf")
    again = Network.load(tmp_path / "a.tsf")
    assert bits(again.parameters) == bits(network.parameters)
    assert [m.tolist() for m in [u.frozen for u in again.parameters]] == [
        m.tolist() for m in [u.frozen for u in network.parameters]
    ]
    third = sentences.make(4, seed=2, sentences=["vtvyty", "vyvyty"], duration="1 ms")
    again.extend(third, units=[1, 0], classes=["vtvyty", "vyvyty"]).train(third, passes=1)
    assert [stage.units for stage in again.stages] == [6, 12, 6]


@given(
    calls=st.lists(st.sampled_from(["fit on", "batch", "adapt", "guarded", "extend", "save"]), max_size=5),
    seed=st.integers(0, 99),
)
@examples(15)
def test_frozen_units_keep_every_bit_through_any_calls(tmp_path_factory, calls, seed):
    network = trained()
    rng = np.random.default_rng(seed)
    for k in range(3):
        network.freeze(k, rng.random(network.stages[k].units) < 0.5)
    masks = [u.frozen.copy() for u in network.parameters]
    kept = [(u.centroids[m], u.thresholds[m]) for u, m in zip(network.parameters, masks, strict=True)]
    extended = False
    for call in calls:
        if call == "fit on":
            network.partial_fit(DATA)
        elif call == "batch":
            network.partial_fit(DATA, batch_size=3)
        elif call == "adapt":
            network.adapt(DATA, rule=FAST)
        elif call == "guarded":
            network.adapt(DATA[:2], rule=FAST, cap=1e-3, confidence=0.1)
        elif call == "extend" and not extended:
            network.extend(TASK2, units=[1, 1], classes=sentences.TASK2)
            extended = True
        elif call == "save":
            path = tmp_path_factory.mktemp("calls") / "a.tsf"
            network.save(path)
            network = Network.load(path)
    for k, (c, th) in enumerate(kept):
        mask = np.concatenate([masks[k], np.zeros(network.stages[k].units - len(masks[k]), dtype=bool)])
        assert network.parameters[k].centroids[mask][..., : c.shape[-1]].tobytes() == c.tobytes()
        assert network.parameters[k].thresholds[mask].tobytes() == th.tobytes()


def test_tightening_closes_thresholds_around_what_came_out_right():
    """Unit 0 is right, unit 1 wrong, unit 2 silent, unit 3 frozen."""
    trace = Trace(
        winner=np.array([[0, 0], [0, 0], [0, 0], [1, 0], [2, -1]]),
        distance=np.array([[0.1, 0], [0.2, 0], [0.3, 0], [0.1, 0], [0.5, np.nan]]),
        S=np.zeros((5, 2)),
        passed=np.array([2, 2, 2, 2, 0]),
    )
    first, last = np.arange(4.0)[:, None], np.tile(np.arange(4.0), (2, 1))
    parameters = Parameters.of([first, last], [np.full(4, 2.0), np.full(2, np.inf)])
    parameters[0].frozen[3] = True
    tight = tighten(parameters, trace, np.array([0, 0, 0, 1, 0]), share=1.0, slack=0.2)
    np.testing.assert_allclose(tight[0].thresholds, [0.5, 2])
    np.testing.assert_array_equal(tight[0].centroids.ravel(), [0, 3])
    np.testing.assert_array_equal(tight[1].centroids, [[0, 3], [0, 3]])  # what the second layer saw of them
    assert tight[0].frozen.tolist() == [False, True]
    unlabelled = tighten(parameters, trace, np.full(5, -1), share=0.0, slack=0.2)  # all output counts as right
    np.testing.assert_allclose(unlabelled[0].thresholds, [0.3, 0.3, 2])
    parameters[0].frozen[:] = False
    with pytest.raises(EventError, match="train the network first"):
        tighten(parameters, trace, np.full(5, 7), share=1.0, slack=0.2)


def test_a_tightened_network_decides_as_before():
    network = trained()
    before = network.evaluate(DATA)
    after = network.tighten(DATA).evaluate(DATA)
    assert after["event_accuracy"] >= before["event_accuracy"] - 0.02  # seed 0; a drop of 2 points is allowed
    assert 0 < after["kept"] <= before["kept"]
    assert all(
        stage.units == len(c)
        for stage, c in zip(network.stages, [u.centroids for u in network.parameters], strict=True)
    )
    with pytest.raises(SettingError, match="share"):
        network.tighten(DATA, share=0)


def test_units_can_be_frozen_and_freed_by_hand():
    network = trained().freeze()
    before = bits(network.parameters)
    network.partial_fit(DATA)
    assert bits(network.parameters) == before
    network.freeze(0, [1], frozen=False).partial_fit(DATA)
    assert bits(network.parameters) != before


def test_bad_settings_are_refused():
    network = trained()
    for bad, message in [
        ({"cap": -1}, "cap"),
        ({"confidence": float("nan")}, "confidence"),
        ({"rule": Rule(alpha=(1, 2))}, "alpha"),
    ]:
        with pytest.raises(SettingError, match=message):
            network.adapt(DATA, **bad)
    with pytest.raises(SettingError, match="each of the 2 hidden layers"):
        network.extend(TASK2, units=[2], classes=["a"])
    with pytest.raises(SettingError, match="different labels"):
        network.extend(TASK2, units=[2, 2], classes=sentences.TASK1)
    with pytest.raises(EventError, match="none of"):
        network.extend(TASK2, units=[2, 2], classes=["a", "b"])


def test_shifted_characters_change_places():
    lit = [sentences._shift(step) for step in range(5)]
    assert all((a | b).sum() == 9 and (a & b).sum() == 5 for a, b in lit)
    np.testing.assert_array_equal(lit[4][0], sentences.CHARACTERS["x"])
    np.testing.assert_array_equal(lit[4][1], sentences.CHARACTERS["/"])
    with pytest.raises(SettingError, match="step"):
        sentences.shifted(2, 5)
