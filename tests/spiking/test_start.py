"""First weights and thresholds, by plain loops; tables of the wiring, by asking every place; limits where they turn."""

import math

import numpy as np
import pytest

from timesurf.engines import Batch, Parameters
from timesurf.errors import EventError, SettingError
from timesurf.rule import Rule
from timesurf.spiking import Neurons, start, tables
from timesurf.spiking.layers import stack
from timesurf.spiking.rule import default_rule


def batch(times=(3, 9, 9, 40, 5, 6), entries=(0, 2, 1, 2, 1, 0), offsets=(0, 4, 6), labels=(0, 1)):
    return Batch(np.array(entries, np.int32), np.array(times), np.array(offsets), np.array(labels))


def boxes(**about):
    """A layer of boxes of 2 with steps of 1 over 3 inputs, so that inputs are heard twice, at places 0 to 2."""
    layer = Neurons((2,), step=(1,), units=2, **({"tau": 20, "trace_tau": 10} | about))
    (stage, _) = stack([layer, Neurons(tau=1)], (3,), 1, 2)
    return stage


def heard(stage, some):
    """Every input of every place: the recording, the time, the place, and when each of its synapses last fired."""
    for r in range(len(some.offsets) - 1):
        last = {}
        for i in range(some.offsets[r], some.offsets[r + 1]):
            x, t = int(some.entry[i]), int(some.t[i])
            last[x] = t
            for (place,) in stage.layer.places((x,), (3,)):
                (corner,) = stage.layer.corner((place,))
                yield r, t, place, x - corner, [last.get(corner + s, -math.inf) for s in range(2)]


@pytest.mark.parametrize("inhibition", [0.0, 0.25])
def test_directions_are_traces_less_the_inhibition_of_length_one(inhibition):
    stage, some = boxes(inhibition=inhibition), batch()
    rows, label = start._directions(stage, some, np.random.default_rng(0))
    expected, of = [], []
    for r, t, _, _, last in heard(stage, some):
        one = np.array([math.exp(-(t - T) / 10) - inhibition for T in last])
        expected.append(one / np.linalg.norm(one))
        of.append(some.label[r])
    np.testing.assert_allclose(rows, expected)
    assert label.tolist() == of


def test_of_many_inputs_some_are_drawn_in_order(monkeypatch):
    stage, some = boxes(), batch()
    every, _ = start._directions(stage, some, np.random.default_rng(0))
    monkeypatch.setattr(start, "_MOST_ROWS", 5)
    rows, _ = start._directions(stage, some, np.random.default_rng(3))
    chosen = np.sort(np.random.default_rng(3).choice(len(every), 5, replace=False))
    np.testing.assert_array_equal(rows, every[chosen])
    monkeypatch.setattr(start, "_MOST_NUMBERS", 1)  # never fewer than a hundred
    monkeypatch.setattr(start, "_MOST_ROWS", 10**9)
    assert len(start._directions(stage, some, np.random.default_rng(3))[0]) == len(every)


def test_how_many_inputs_a_layer_starts_from():
    assert (start._MOST_ROWS, start._MOST_NUMBERS) == (20_000, 8_388_608)
    many = batch(range(300), [0] * 300, (0, 300), (0,))
    (wide,) = stack([Neurons(tau=1)], (70_000,), 1, 2)
    assert len(start._directions(wide, many, np.random.default_rng(0))[0]) == 8_388_608 // 70_000


def test_a_threshold_is_a_share_of_the_median_potential_of_neurons_that_never_fire():
    stage, some = boxes(ready=0.5, refractory=1000), batch()
    weights = np.array([[[0.6], [0.8]], [[1.0], [0.0]]])
    highest, v, since, recording = [], {}, {}, None
    for r, t, place, synapse, _ in heard(stage, some):
        if r != recording:
            v, since, recording = {}, {}, r
        fade = math.exp(-(t - since.get(place, 0)) / 20)
        v[place] = v.get(place, np.zeros(2)) * fade + weights[:, synapse, 0]
        since[place] = t
        highest.append(v[place].max())
    assert start._threshold(stage, weights, some) == pytest.approx(0.5 * np.median(highest))
    assert start._threshold(boxes(ready=0), weights, some) == -math.inf
    assert start._threshold(stage, -weights, some) == 1e-6


def test_weights_start_at_the_mean_with_noise_of_its_size():
    stage, some = boxes(), batch()
    rows, _ = start._directions(stage, some, np.random.default_rng(0))
    mean = rows.mean(axis=0)
    units = start._layer(stage, some, np.random.default_rng(0), "mean", 0.4, None, last=False)
    rng = np.random.default_rng(0)
    rng.choice(len(rows), len(rows), replace=False)
    flat = 0.6 * mean + 0.4 * math.sqrt((mean**2).mean()) * rng.uniform(size=(2, 2))
    expected = flat / np.linalg.norm(flat, axis=1, keepdims=True)
    np.testing.assert_allclose(units.centroids[..., 0], expected)
    assert units.thresholds.tolist() == [start._threshold(stage, units.centroids, some)] * 2
    assert not units.frozen.any()


def test_the_last_layer_starts_at_the_mean_of_each_class():
    (stage,) = stack([Neurons(tau=20)], (3,), 1, 2)
    rows, label = start._directions(stage, batch(), np.random.default_rng(0))
    (units,) = start.begin([stage], batch(), np.random.default_rng(0), start="kmeans", zeta=0)
    for c in (0, 1):
        mean = rows[label == c].mean(axis=0)
        np.testing.assert_allclose(units.centroids[c, :, 0], mean / np.linalg.norm(mean))
    with pytest.raises(EventError, match="class number 1 has none"):
        start.begin([stage], batch(labels=(0, 0)), np.random.default_rng(0), start="kmeans", zeta=0)


def test_old_neurons_are_kept_frozen_and_do_not_hear_new_ones():
    (small,), (large,) = (stack([Neurons(tau=20)], (3,), p, n) for p, n in ((1, 1), (2, 3)))
    (old,) = start.begin([small], batch(labels=(0, 0)), np.random.default_rng(0), start="mean", zeta=0.1)
    grown = start._layer(large, batch(), np.random.default_rng(1), "mean", 0.1, old, last=True)
    assert grown.centroids.shape == (3, 3, 2)
    np.testing.assert_array_equal(grown.centroids[:1], np.stack([old.centroids[..., 0], np.zeros((1, 3))], axis=-1))
    assert grown.thresholds[0] == old.thresholds[0]
    assert grown.frozen.tolist() == [True, False, False]
    same = start._layer(small, batch(), np.random.default_rng(1), "mean", 0.1, old, last=True)
    np.testing.assert_array_equal(same.centroids, old.centroids)


@pytest.mark.parametrize("zeta", [-0.01, 1.01])
def test_a_share_of_noise_lies_between_0_and_1(zeta):
    (stage,) = stack([Neurons(tau=20)], (3,), 1, 2)
    with pytest.raises(SettingError, match="zeta"):
        start.begin([stage], batch(), np.random.default_rng(0), start="mean", zeta=zeta)
    for fine in (0, 1):
        start.begin([stage], batch(), np.random.default_rng(0), start="mean", zeta=fine)


def test_what_nothing_reaches_cannot_start_and_kmeans_needs_an_input_per_neuron():
    stage = boxes()
    with pytest.raises(EventError, match="nothing to start from"):
        start._directions(stage, batch((), (), (0, 0), (0,)), np.random.default_rng(0))
    rows = np.eye(3)[:2]
    with pytest.raises(EventError, match="at least 3 inputs for 3 neurons, not 2"):
        start._kmeans(rows, 3, np.random.default_rng(0))
    centres = start._kmeans(rows, 2, np.random.default_rng(0))
    np.testing.assert_array_equal(centres[np.argsort(centres[:, 1])], rows)


# ------------------------------------------------------------------ tables


LAYERS = [Neurons((3, 2), step=(2, 1), units=2, tau=5), Neurons((2, 2), units=3, tau=5, refractory=7), Neurons(tau=5)]


def test_the_wiring_is_what_each_place_hears():
    stages = stack(LAYERS, (4, 3), 2, 2)
    wires = tables.wiring(stages)
    place = inputs = neurons = 0
    expected = {}  # input: places and synapses
    for k, stage in enumerate(stages):
        sides, above = stage.layer.sides(stage.field), inputs + math.prod(stage.field) * stage.polarities
        for number, at in enumerate(np.ndindex(*stage.output_field)):
            corner = stage.layer.corner(at) or (0,) * len(stage.field)
            for s, (*offset, p) in enumerate(np.ndindex(*sides, stage.polarities)):
                x = tuple(c + o for c, o in zip(corner, offset, strict=True))
                inside = all(0 <= v < n for v, n in zip(x, stage.field, strict=True))
                entry = inputs + np.ravel_multi_index((*x, p), (*stage.field, stage.polarities)) if inside else -1
                assert wires.hears[wires.heard_at[place] + s] == entry
                if inside:
                    expected.setdefault(int(entry), []).append((place, s))
            assert wires.layer[place] == k
            assert wires.emits[place] == above + number * stage.units
            assert wires.neuron_at[place] == neurons
            place, neurons = place + 1, neurons + stage.units
        inputs = above
    for entry in range(inputs):
        rows = slice(wires.reach[entry], wires.reach[entry + 1])
        assert list(zip(wires.place[rows], wires.synapse[rows], strict=True)) == expected.get(entry, [])
    assert len(wires.reach) == inputs + 1
    assert wires.units.tolist() == [2, 3, 2]
    assert wires.synapses.tolist() == [12, 8, 3 * math.prod(stages[2].field)]
    assert wires.weight_at.tolist() == [0, 24, 24 + 24]
    assert wires.unit_at.tolist() == [0, 2, 5]


def test_the_room_of_a_network_is_as_large_as_it_is():
    wires = tables.wiring(stack(LAYERS, (4, 3), 2, 2))
    room = tables.state(wires)
    neurons = sum(wires.units[k] for k in wires.layer)
    assert len(room.T) == len(wires.reach) - 1
    assert len(room.v) == len(room.FT) == neurons
    assert len(room.since) == len(room.quiet) == len(room.S) == len(wires.layer)
    assert (len(room.potentials), len(room.traces)) == (7, 12)
    assert {len(a) for a in (room.row, room.stop, room.fired, room.at, room.chain_S, room.chain_dS)} == {3}


def test_settings_and_rates_have_one_value_per_layer():
    layers = [Neurons((2,), units=2, tau=5, trace_tau=6, feedback_tau=7, inhibition=0.1, reset="subtract"), LAYERS[2]]
    found = tables.times(stack(layers, (4,), 1, 2))
    assert [x.tolist() for x in found] == [[5, 5], [6, 5], [7, 5], [0, 0], [0.1, 0], [True, False]]
    rule = Rule(alpha=(1, 2), beta=3, gamma=4, delta=5, d=6, competition=False)
    rates = tables.rates(rule, 2)
    assert [x.tolist() for x in rates[:5]] == [[1, 2], [3, 3], [4, 4], [5, 5], [6, 6]]
    assert rates[5:] == (False, True)
    assert tables.rates(None, 2)[5:] == (True, False)


def test_parameters_come_back_as_they_went():
    rng = np.random.default_rng(0)
    parameters = Parameters.of([rng.random((2, 3, 2)), rng.random((3, 4, 2))], [rng.random(2), rng.random(3)])
    found, empty = tables.learned(parameters), parameters.copy()
    for units in empty:
        units.centroids[:], units.thresholds[:] = 0, 0
    tables.give_back(found, empty)
    assert empty.same(parameters)
    assert found.weights[:4].tolist() == [
        *parameters[0].centroids[:, 0, 0], *parameters[0].centroids[:, 0, 1],
    ]  # fmt: skip


# ------------------------------------------------------------------ layers


def test_boxes_are_centred_on_their_steps_and_cover_the_field():
    even, odd = Neurons((4,), step=(2,), units=1, tau=1), Neurons((5,), step=(3,), units=1, tau=1)
    assert [even.corner((q,)) for q in range(2)] == [(-1,), (1,)]
    assert [odd.corner((q,)) for q in range(2)] == [(-1,), (2,)]
    assert [odd.output_field((n,)) for n in (3, 4, 6)] == [(1,), (2,), (2,)]
    assert list(odd.places((3,), (6,))) == [(0,), (1,)]
    assert list(odd.places((4,), (6,))) == [(1,)]
    assert list(Neurons(tau=1).places((4,), (6,))) == [()]


def test_limits_of_settings_where_they_turn():
    assert Neurons(tau=1, inhibition=0.999).inhibition == 0.999
    assert Neurons((1,), step=(1,), units=1, tau=1, ready=0).ready == 0
    assert (Neurons(tau=1).ready, Neurons(tau=1).inhibition, Neurons(tau=1).refractory) == (0.3, 0, 0)
    for wrong in ({"inhibition": -0.001}, {"ready": math.inf}, {"box": (1.0,)}, {"units": 1.5}, {"refractory": -1}):
        with pytest.raises(SettingError):
            Neurons(**({"tau": 1} | wrong))


def test_a_network_has_at_most_as_many_synapses_as_can_be_numbered():
    def layers(side):
        return [Neurons((side,), step=(1,), units=1, tau=1), Neurons(tau=1)]

    assert len(stack(layers(46_340), (46_340,), 1, 2)) == 2  # 46,340^2 < 2^31
    with pytest.raises(SettingError, match="more than 2,147,483,647 synapses"):
        stack(layers(46_341), (46_341,), 1, 2)


def test_the_rates_that_learn_sentences_with_a_slow_last_layer():
    hidden, last = [3e-3, 3e-3, 3e-3, 1e-4, 0.3], [6e-4, 6e-4, 3e-3, 1e-4, 0.3]
    np.testing.assert_allclose(default_rule(3).per_layer(3), [hidden, hidden, last])
    np.testing.assert_allclose(default_rule(1).per_layer(1), [last])
