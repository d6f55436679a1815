"""Exported C does what the reference does, on random networks and streams."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given

from tests.examples import examples
from tests.export.cases import expected, network_of, run, run_commands
from tests.random_networks import cases
from timesurf import Full, Network, Tile, Window
from timesurf.engines import Parameters
from timesurf.events import Recordings
from timesurf.export.compiled import ADAPTING, DAMAGE, DECISION, LABELLED, PUSH, RESET, RESTORE, SAVE

pytestmark = pytest.mark.usefixtures("any_cc")
NEAR = {"float32": 1e-4, "int16": 2e-2}  # of squared distances: closer units, or thresholds, are near-ties


@pytest.mark.parametrize("numbers", NEAR)
@given(case=cases(several=False))
@examples(10)
def test_same_winners_rejections_and_decisions_up_to_the_first_near_tie(numbers, case):
    ran, decided = run(network_of(case), case.recordings, numbers=numbers)
    right = expected(case)
    for r, (a, b) in enumerate(pairwise(case.batch.offsets)):
        near = np.flatnonzero(right.margin[a:b] < NEAR[numbers])
        stop = a + near[0] if len(near) else b  # after a near-tie all may differ
        reached = right.winner[a:stop] >= 0
        np.testing.assert_array_equal(ran.passed[a:stop], right.passed[a:stop])
        np.testing.assert_array_equal(ran.fired[a:stop][reached], right.winner[a:stop][reached])
        assert stop < b or decided[r] == right.decisions[r] or right.lead[r] < NEAR[numbers] * (b - a)


def two_layers(rng, tau=50_000.0):
    """A window with thresholds below two classes, with two units each, over a pooled field."""
    layers = [Window(3, units=4, tau=tau, stride=2), Full(tau=2 * tau, units_per_class=2)]
    network = Network(layers, (6, 5), 2, ["a", "b"])
    shapes = [(stage.units, *stage.surface_shape) for stage in network.stages]
    centroids = [rng.random(shape) for shape in shapes]
    network.parameters = Parameters.of(centroids, [np.full(4, 1.9), np.full(4, np.inf)])
    return network


def stream(rng, events, step=400, asleep=0):
    """Random events; so many rows of the field fall asleep after the first hundred."""
    t = np.cumsum(rng.integers(0, step, events))
    x = [rng.integers(0, n, events) for n in (6, 5)]
    x[0][100:] = rng.integers(asleep, 6, events - 100)
    return Recordings(x, t, rng.integers(0, 2, events), [0, events], field=(6, 5), polarities=2)


@pytest.mark.parametrize("top", [Full(tau=4e4), Full(tau=4e4, units_per_class=3), Window(3, units=3, tau=4e4)], ids=str)
@pytest.mark.parametrize("numbers", ["float32", "int16", "int8", "learning"])
def test_evidence_is_that_of_the_network(numbers, top, rng):
    """Of layers that keep dot products, at every phase of a halving, and of layers that write surfaces out."""
    network = Network([top], (6, 5), 2, ["a", "b", "c"])
    stage = network.stages[0]
    network.parameters = Parameters.of(
        [rng.random((stage.units, *stage.surface_shape))], [np.full(stage.units, np.inf)]
    )
    network.decides, recordings = "evidence", stream(rng, 1500)
    learn = numbers == "learning"
    ran, decided = run(network, recordings, numbers="float32" if learn else numbers, learn=learn)
    outcome = network.infer(recordings)
    assert decided[0] == network.decide(outcome).classes[0] == outcome.evidence[0].argmax()
    apart = np.abs(ran.evidence - outcome.evidence[0]).max() / outcome.votes.sum()
    assert apart < {"float32": 1e-4, "learning": 1e-4, "int16": 1e-3, "int8": 0.1}[numbers]
    assert np.ptp(outcome.evidence[0]) / outcome.votes.sum() > 0.05


@pytest.mark.parametrize("numbers", ["float32", "int16", "int8"])
def test_most_events_agree_in_all_numbers(numbers, rng):
    network, recordings = two_layers(rng), stream(rng, 4000)
    ran, decided = run(network, recordings, numbers=numbers)
    trace = network.trace(recordings)
    same = (ran.passed == trace.passed) & ((ran.fired == trace.winner) | (trace.winner < 0)).all(axis=1)
    assert same.mean() > {"float32": 0.999, "int16": 0.998, "int8": 0.93}[numbers]
    assert 0.2 < (ran.passed == 2).mean() < 0.95  # thresholds matter here
    assert decided[0] == network.infer(recordings).votes.argmax()


@pytest.mark.parametrize("numbers", ["float32", "int16", "int8"])
def test_the_clock_may_wrap_and_is_set_back_without_a_trace(numbers, rng):
    """Hours of events, whose 32-bit times wrap and whose clock is set back several times: as with 64-bit times."""
    network, recordings = two_layers(rng, tau=5e6), stream(rng, 6000, step=7_000_000, asleep=3)  # 6 hours
    assert recordings.t[-1] > 4 * 2**32  # so pixels that fell asleep would seem fresh again four times
    ran, _ = run(network, recordings, numbers=numbers)
    trace = network.trace(recordings)
    assert (ran.code >= -1).all()
    assert (ran.passed == trace.passed).mean() > (0.999 if numbers == "float32" else 0.95)
    same = (ran.fired == trace.winner) | (trace.winner < 0)
    assert same.all(axis=1).mean() > (0.999 if numbers == "float32" else 0.93)


def push(x, y, p, t):
    return [PUSH, 0, x, y, 0, p, np.uint32(t).view(np.int32)]


def test_bad_events_are_refused_and_change_nothing(rng):
    network = two_layers(rng)
    good = [push(1, 2, 0, 100), push(2, 2, 1, 200), push(3, 1, 0, 2**31 + 100), push(3, 1, 0, 50)]
    bad = [push(-1, 0, 0, 150), push(6, 0, 0, 150), push(0, 5, 0, 150), push(0, 0, 2, 150), push(0, 0, -1, 150)]
    late = push(0, 0, 0, 99)
    end = [[DECISION, 0, 0, 0, 0, 0, 0]]
    plain = run_commands(network, np.array(good + end))
    mixed = run_commands(network, np.array([good[0], *bad, late, *good[1:], *end]))
    assert mixed.code[1:7].tolist() == [-2] * 5 + [-3]
    np.testing.assert_array_equal(np.delete(mixed.code, slice(1, 7)), plain.code)
    np.testing.assert_array_equal(np.delete(mixed.fired, slice(1, 7), axis=0), plain.fired)
    assert (plain.code[:4] >= -1).all()  # 2^31 - 100 us between two events, and times that wrap, are fine


def test_a_reset_forgets_everything(rng):
    network = two_layers(rng)
    events = [push(x, 1, 0, t) for t, x in enumerate((1, 2, 3, 2, 1, 0))]
    again = run_commands(network, np.array([*events, [RESET] + [0] * 6, *events]))
    np.testing.assert_array_equal(again.code[:6], again.code[7:])
    np.testing.assert_array_equal(again.fired[:6], again.fired[7:])
    silent = run_commands(network, np.array([*events, [RESET] + [0] * 6, [DECISION] + [0] * 6]))
    assert silent.code[-1] == -1


def test_fuzzed_events_are_clean_under_sanitizers(cc, rng):
    """Any coordinates, times and labels, saves that are damaged, in every kind of numbers: no bad access, no undefined
    behaviour."""
    layers = [Window(3, units=3, tau=1000.0), Tile((2, 3), units=5, tau=1.0), Full(tau=100_000_000.0)]
    network = Network(layers, (6, 5), 2, range(4))
    network.decides = "evidence"
    shapes = [(stage.units, *stage.surface_shape) for stage in network.stages]
    centroids = [rng.normal(0, 1, shape) for shape in shapes]
    network.parameters = Parameters.of(
        centroids, [np.array([5.0, 5.0, math.inf]), np.array([9.0, 9, 9, 9, 0]), np.full(4, math.inf)]
    )
    n = 3000
    table = np.zeros((n, 7), np.int64)
    table[:, 0] = rng.choice([PUSH, RESET, DECISION], n, p=[0.98, 0.01, 0.01])
    table[:, 2:6] = rng.integers(0, (6, 5, 1, 2), (n, 4)) - (rng.random((n, 4)) < 0.02)
    odd = rng.random((n, 7)) < 0.01
    table[:, 6] = np.cumsum(rng.choice([0, 1, 900, 2**20, 2**30, 2**31 - 1], n))
    table[:, 2:][odd[:, 2:]] = rng.integers(-(2**31), 2**31, odd[:, 2:].sum())
    table = table.astype(np.uint32).view(np.int32)
    checks = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    taught, pushed = table.copy(), table[:, 0] == PUSH
    kinds = [LABELLED, ADAPTING, PUSH, SAVE, RESTORE, DAMAGE]
    taught[pushed, 0] = rng.choice(kinds, pushed.sum(), p=[0.6, 0.26, 0.1, 0.02, 0.015, 0.005])
    taught[:, 1] = np.where(rng.random(n) < 0.02, rng.choice([-(2**31), -2, 4, 2**31 - 1], n), rng.integers(-1, 4, n))
    learns = (("float32", True), ("float64", True))
    for numbers, learn in (("float32", False), ("int16", False), ("int8", False), *learns):
        commands = taught if learn else table
        ran = run_commands(network, commands, options=checks, cc=cc, numbers=numbers, learn=learn)
        refused = {-1, -2, -3, -4, -5} if learn else {-1, -2, -3}  # each way of refusing occurs
        assert set(ran.code[ran.code < 0].tolist()) == refused
        assert (ran.code[np.isin(commands[:, 0], [PUSH, LABELLED, ADAPTING])] >= 0).mean() > 0.2
        if learn:
            restored = ran.code[taught[:, 0] == RESTORE]
            assert {0, -5} == set(restored.tolist())


@pytest.mark.parametrize("numbers", ["float32", "int16", "int8"])
def test_ties_go_to_the_lowest_and_a_distance_must_be_below_its_threshold(numbers):
    """Equal units, equal votes; a surface that lies on the border is rejected, as 1 < 1 is false."""
    network = Network([Tile((1,), units=3, tau=10.0), Full(tau=10.0)], (2,), 1, ["a", "b", "c"])
    centroids = [np.zeros((stage.units, *stage.surface_shape)) for stage in network.stages]
    network.parameters = Parameters.of(centroids, [np.array([1.0, 9, 9]), np.full(3, np.inf)])
    events = [[PUSH, 0, x, 0, 0, 0, 0] for x in (0, 1, 1)]
    rejected = run_commands(network, np.array(events), numbers=numbers)
    assert rejected.code.tolist() == [-1, -1, -1]
    assert rejected.fired[:, 0].tolist() == [0, 0, 0]
    network.parameters[0].thresholds[0] = 1.01
    for k, unit in ((0, 0), (1, 1)):  # the last layer: all units equal; then units 1 and 2 equal and closest
        network.parameters[1].centroids[:] = 0 if k == 0 else np.array([0, 0.1, 0.1])[:, None, None]
        ran = run_commands(network, np.array([*events, [DECISION] + [0] * 6]), numbers=numbers)
        assert ran.code.tolist() == [unit] * 4


def test_two_events_may_be_almost_2_31_us_apart(rng):
    network = two_layers(rng)
    assert (run_commands(network, np.array([push(1, 1, 0, 5), push(1, 1, 0, 4 + 2**31)])).code >= -1).all()
    assert run_commands(network, np.array([push(1, 1, 0, 5), push(1, 1, 0, 5 + 2**31)])).code[1] == -3


def test_equal_votes_decide_for_the_lowest_class(rng):
    """One event for each class, the higher class first."""
    network = Network([Full(tau=1.0)], (2,), 1, ["a", "b"])
    network.parameters = Parameters.of([np.eye(2)[:, :, None]], [np.full(2, np.inf)])
    table = [[PUSH, 0, 1, 0, 0, 0, 0], [PUSH, 0, 0, 0, 0, 0, 1000], [DECISION] + [0] * 6]
    assert run_commands(network, np.array(table)).code.tolist() == [1, 0, 0]
