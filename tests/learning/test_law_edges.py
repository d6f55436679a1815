"""Settings from the data, each by hand: sizes, times, rates, who is probed with, and the probe itself."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from timesurf import Full, Network, Recordings, SettingError, Window, engines
from timesurf.learning import law as settings
from timesurf.learning import means, probe, split
from timesurf.learning.knobs import LAW, Knobs
from timesurf.learning.law import law
from timesurf.learning.probe import PENALTIES, clearly_better, cross_validated
from timesurf.learning.rhythm import intervals


def regular(counts, labels, *, step=10, field=(), place=lambda label: 0, polarities=1):
    """Recordings of so many events each, one every `step` us, all at a place and of a polarity of the class."""
    each = np.repeat(labels, counts)
    t = np.concatenate([np.arange(n) * step for n in counts]).astype(np.int64)
    coords = [np.array([place(label) for label in each], int) for _ in field]
    return Recordings(
        coords, t, each % polarities, np.cumsum([0, *counts]), field=field, polarities=polarities, labels=labels
    )


# ------------------------------------------------------------------ rates and times


def test_a_network_without_places_by_hand():
    data = regular([11, 11, 21, 31], [0, 1, 0, 1], polarities=2)
    found = law(data, seed=0)
    duration, rest, events = 150.0, 10.0, 16.0  # medians; the last two polarities fire every 10 us
    assert found.layers == (Full(tau=min(duration / 8, 16 * rest), units_per_class=3),)
    assert found.rule.alpha == (pytest.approx(0.2 * 2 / 16 / events),)
    assert (found.rule.beta, found.rule.gamma, found.rule.delta, found.rule.last) == (0, 0, 0, "delta")
    assert found.rule.temperature == pytest.approx(9 * math.log(2))  # the classes' mean surfaces are (1, 0) and (0, 1)
    assert found.fitting == {
        "passes": 60, "batch_size": 16, "decay": True, "moved": (), "bent": 0, "start": "quick", "margin": math.inf,
        "sample": 500, "if_diverged": "back",
    }  # fmt: skip
    assert found.why[0].endswith("fires every 10 us, a recording lasts 150 us")


def test_a_long_recording_has_the_memory_of_sixteen_intervals():
    assert law(regular([129, 129], [0, 1]), seed=0).layers == (Full(tau=160.0, units_per_class=3),)  # 1280 us / 8
    assert law(regular([300, 300], [0, 1]), seed=0).layers == (Full(tau=160.0, units_per_class=3),)


def test_recordings_of_one_event_have_a_duration_and_a_rest():
    assert law(regular([1, 1], [0, 1]), seed=0).layers == (Full(tau=1.0),)
    apart = regular([2, 2], [0, 1], step=800)
    alone = Recordings([], apart.t, [0, 1, 0, 1], apart.offsets, field=(), polarities=2, labels=[0, 1])
    assert "fires every 80 us, a recording lasts 800 us" in law(alone, seed=0).why[0]


def test_silent_and_unlabelled_recordings_change_no_setting():
    data = regular([11, 11], [0, 1])
    more = regular([11, 0, 11, 0, 999], [0, 0, 1, 1, -1])
    assert law(more, seed=0).why[0] == law(data, seed=0).why[0]
    assert law(more, seed=0).rule.alpha == law(data, seed=0).rule.alpha


@pytest.mark.parametrize(
    ("recordings", "classes", "passes", "batch", "sample"),
    [(400, 2, 40, 16, 500), (1700, 2, 10, 16, 500), (40, 20, 60, 20, 500), (300, 300, 53, 64, 3000)],
)
def test_batches_passes_and_rates_follow_from_how_many_there_are(
    monkeypatch, recordings, classes, passes, batch, sample
):
    monkeypatch.setattr(probe, "PROBED", 4)
    data = regular([2] * recordings, np.arange(recordings) % classes)
    found = law(data, seed=0)
    assert [found.fitting[name] for name in ("passes", "batch_size", "sample")] == [passes, batch, sample]
    assert found.rule.alpha == (pytest.approx(0.2 * min(1, classes / batch) / 2),)


@pytest.mark.parametrize(
    ("recordings", "events", "passes"),
    [(200, 10**6, 60), (200, 5 * 10**6, 50), (200, 10**7, 25), (200, 10**8, 10), (1600, 10**8, 10), (900, 10**7, 18)],
)
def test_long_recordings_have_fewer_passes_but_ten(recordings, events, passes):
    assert settings.usual_passes(recordings, events) == passes


# ------------------------------------------------------------------ the hidden layer


@pytest.mark.parametrize(
    ("sides", "polarities", "size"),
    [
        ([12], 1, 5), ([64], 1, 17), ([60], 1, 15), ([400], 1, 65), ([20, 30], 1, 5), ([28, 28], 2, 7),
        ([32, 90], 1, 9), ([100, 100], 1, 9), ([100, 100], 60, 7), ([30, 30, 30], 1, 5), ([30, 30, 30], 33, 3),
        ([30, 30], 4096, 1),
    ],
)  # fmt: skip
def test_a_window_is_a_quarter_of_the_field(sides, polarities, size):
    few = SimpleNamespace(polarities=polarities, counts=np.array([19, 40]))
    assert settings._window(few, sides, 100.0, LAW) == Window(size, units=2, tau=400.0)


def test_more_polarities_than_a_unit_can_look_at_are_refused():
    with pytest.raises(SettingError, match="at most 4,096"):
        settings._window(SimpleNamespace(polarities=4097, counts=np.array([99])), [30, 30], 1.0, LAW)


@pytest.mark.parametrize(
    ("events", "sides", "units"), [(5, 1, 1), (1019, 1, 50), (10**6, 1, 64), (10**6, 2, 128), (10**6, 3, 128)]
)
def test_units_are_a_twentieth_of_the_events_at_most(events, sides, units):
    some = SimpleNamespace(polarities=1, counts=np.array([events]))
    assert settings._window(some, [20] * sides, 0.1, LAW) == Window(5, units=units, tau=1.0)


@pytest.mark.parametrize(
    ("field", "strides"),
    [
        ((64,), [(4,), (13,)]), ((24, 36), [(2, 3), (6, 9)]), ((30, 30, 30), [(5, 5, 5), (15, 15, 15)]),
        ((8, 8, 8, 8), [(2,) * 4, (8,) * 4]), ((12, 1), [(1, 1), (2, 1)]), ((3,), [(1,)]),
    ],
)  # fmt: skip
def test_strides_leave_about_so_many_places(field, strides):
    assert settings._strides(field) == [*strides, "field"]


def test_the_last_layer_remembers_sixteen_of_its_own_intervals(monkeypatch):
    monkeypatch.setattr(settings, "_window", lambda *_: Window(3, units=1, tau=100))
    data = regular([300] * 10, [0, 1] * 5, field=(60,), place=lambda label: 5 + 40 * label)
    hidden, last = law(data, seed=0).layers
    assert last == Full(tau=(640.0, 40.0))  # 300 events on 15 entries: 4 times and a quarter of 16 x 10 us
    assert hidden == Window(3, units=1, tau=100, stride=(4,))  # coarser ones are no better
    _, last = law(regular([19, 19], [0, 1], field=(60,)), seed=0).layers
    assert last == Full(tau=180 / 8, units_per_class=1)  # 19 events on 15 entries
    _, last = law(regular([2, 2], [0, 1], field=(60,), step=1), seed=0).layers
    assert last == Full(tau=1.0)


@pytest.mark.parametrize(("events", "dense"), [(31, False), (32, True)])
def test_a_field_is_dense_where_each_entry_fires_four_times(events, dense):
    assert settings._dense(events, SimpleNamespace(field=(4,), polarities=2)) is dense


@pytest.mark.parametrize(("events", "factor", "units"), [(7, 1, 1), (8, 1, 3), (7, 2, 2), (8, 2, 6), (7, 0.1, 1)])
def test_a_class_has_several_units_where_there_are_no_places_and_entries_fire_often(events, factor, units):
    data = regular([events] * 2, [0, 1], polarities=2)
    (last,) = law(data, seed=0, knobs=settings.Knobs(units_per_class=factor)).layers
    assert last.units_per_class == units


def test_fields_that_are_too_large_are_not_tried_but_all_places_as_one_always_are(monkeypatch):
    monkeypatch.setattr(settings, "_window", lambda *_: Window(3, units=1, tau=100))
    data = regular([30] * 10, [0, 1] * 5, field=(60,), place=lambda label: 5 + 40 * label)
    monkeypatch.setattr(settings, "LARGEST_FIELD", 2 * 15)
    assert "stride: 4 (probe: 4 " in law(data, seed=0).why[2]
    monkeypatch.setattr(settings, "LARGEST_FIELD", 2 * 15 - 1)
    assert "stride: 12 (probe: 12 " in law(data, seed=0).why[2]
    monkeypatch.setattr(settings, "LARGEST_FIELD", 1)
    anywhere = law(data, seed=0)
    assert "stride: all places as one (probe: all places as one 50.0%)" in anywhere.why[2]
    assert anywhere.layers[-1].units_per_class == 1  # though its one entry fires 30 times


def test_the_last_of_two_layers_learns_and_the_first_does_not():
    data = regular([30] * 10, [0, 1] * 5, field=(60,), place=lambda label: 5 + 40 * label)
    found = law(data, seed=0)
    assert len(found.layers) == 2
    assert found.rule.alpha == (0, pytest.approx(0.2 * 2 / 16 / 30))


def test_a_coarser_field_has_the_same_events():
    data = regular([3, 2], [0, 1], field=(60,), place=lambda label: 5 + 40 * label)
    coarse = probe.divided(data, (13,))
    assert (coarse.field, coarse.coords[0].tolist()) == ((5,), [0, 0, 0, 3, 3])
    assert coarse.labels.tolist() == [0, 1]
    assert coarse.offsets.tolist() == [0, 3, 5]


def test_mean_surfaces_are_over_events_and_the_whole_field():
    data = Recordings([[0, 1, 2]], [0, 10, 5], offsets=[0, 2, 3], field=(3,))
    found = means.mean_surfaces(engines.load("cpu"), data, 10.0)
    np.testing.assert_allclose(found, [[(1 + math.exp(-1)) / 2, 0.5, 0], [0, 0, 1]], rtol=1e-6)
    short = means.mean_surfaces(engines.load("cpu"), data, 0.5)
    np.testing.assert_allclose(short[0], [(1 + math.exp(-10)) / 2, 0.5, 0], rtol=1e-6)  # 1 us at least


@pytest.mark.parametrize(("apart", "temperature"), [(2.0, 4.5 * math.log(2)), (0.0, 1e6), (1e5, 1e-6)])
def test_the_temperature_is_nine_logarithms_of_the_classes_by_the_squared_distance_of_two_classes(apart, temperature):
    means = np.array([[1.0, 1], [apart, 0], [-1, 1], [apart, 2]])  # class 0 is at (0, 1), class 1 at (apart, 1)
    assert settings._temperature(means, np.array([0, 1, 0, 1])) == pytest.approx(temperature)


# ------------------------------------------------------------------ who is probed with


def sampled(monkeypatch, *, recordings=400, events=3_000_000):
    """Numbers of the recordings drawn of twelve of ten events each: nine of class 0, three of class 1."""
    monkeypatch.setattr(probe, "PROBED", recordings)
    data = regular([10] * 12, [0] * 9 + [1] * 3)
    data = Recordings([], data.t + np.repeat(np.arange(12), 10), offsets=data.offsets, field=(), labels=data.labels)
    drawn = probe.sample(data, np.random.default_rng(0), events)
    return drawn.t[drawn.offsets[:-1]].tolist()


def test_a_sample_takes_from_all_classes_in_turn(monkeypatch):
    assert sampled(monkeypatch) == list(range(12))
    drawn = sampled(monkeypatch, recordings=5)
    assert drawn == sorted(set(drawn))
    assert len(drawn) == 5
    assert sum(r >= 9 for r in drawn) in (2, 3)
    assert sum(r >= 9 for r in sampled(monkeypatch, recordings=7)) == 3


@pytest.mark.parametrize(("events", "recordings"), [(1, 4), (40, 4), (41, 5), (50, 5), (55, 6), (1000, 12)])
def test_a_sample_has_enough_events_and_two_recordings_per_class(monkeypatch, events, recordings):
    drawn = sampled(monkeypatch, events=events)
    assert len(drawn) == recordings
    assert sum(r >= 9 for r in drawn) == min(recordings // 2, 3)


def test_a_probe_has_the_first_hundred_for_its_rhythm_and_few_for_the_rest():
    assert (settings.LOOKED_AT, probe.PROBED, probe.PROBED_EVENTS) == (100, 400, 3_000_000)
    assert (settings.LARGEST_SURFACE, settings.LARGEST_FIELD) == (4096, 4_194_304)


# ------------------------------------------------------------------ the probe


def test_a_probe_is_ridge_regression_on_folds_left_out():
    rng = np.random.default_rng(3)
    label = np.array([0, 0, 0, 2, 5] * 14)
    surfaces = rng.normal(size=(70, 90)) * np.linspace(0.2, 3, 90) + 1.2 * np.eye(90)[label * 3] + 7
    fold = split.folds(np.unique(label, return_inverse=True)[1], 5, np.random.default_rng(1))
    centred = surfaces - surfaces.mean(axis=0)
    kernel = centred @ centred.T
    kernel *= len(label) / np.trace(kernel)
    target, accuracy, error = np.eye(6)[label][:, [0, 2, 5]] - 1 / 3, [], []
    for penalty in PENALTIES:
        right = off = 0
        for k in range(5):
            learn, test = fold != k, fold == k
            ridge = kernel[learn][:, learn] + penalty * learn.sum() * np.eye(learn.sum())
            scores = kernel[test][:, learn] @ np.linalg.solve(ridge, target[learn])
            right += (scores.argmax(axis=1) == label[test] // 2).sum()
            off += ((scores - target[test]) ** 2).sum()
        accuracy.append(right / len(label))
        error.append(off / (target**2).sum())
    assert len(set(accuracy)) > 2
    assert PENALTIES == (1e-4, 1e-3, 1e-2, 1e-1)
    found = cross_validated(surfaces, label, np.random.default_rng(1))
    assert found == (max(accuracy), pytest.approx(min(error)))


def test_a_probe_survives_what_it_cannot_learn_from():
    rng = np.random.default_rng(0)
    assert cross_validated(np.ones((1, 3)), np.array([0]), rng).accuracy == 0  # nothing is left to learn from
    assert cross_validated(np.ones((10, 3)), np.zeros(10, int), rng).accuracy == 1


@pytest.mark.parametrize(
    ("mine", "other", "better"),
    [(0.604, 0.5, False), (0.606, 0.5, True), (1.0, 1.0, False), (0.004, 0.0, False), (0.006, 0.0, True)],
)
def test_better_means_by_two_standard_errors_and_half_a_recording(mine, other, better):
    assert clearly_better(mine, other, 100) is better


def test_an_interval_of_a_microsecond_counts():
    assert intervals(np.array([7, 7, 7]), np.array([5, 6, 6]), np.array([3])).tolist() == [1]


@pytest.mark.parametrize("wrong", [0, -1, math.inf, math.nan, "2"])
def test_a_factor_is_a_positive_number(wrong):
    with pytest.raises(SettingError, match=r"tau = .* must be a positive number"):
        settings.Knobs(tau=wrong)
    assert settings.Knobs(tau=1e-9, units=2).changed == {"tau": 1e-9, "units": 2}


def test_the_probe_leaves_other_cores_alone(monkeypatch, rng):
    """Its result is then also the same for any number of threads."""
    used, eigh = [], np.linalg.eigh

    def watched(matrix):
        used.extend(about["num_threads"] for about in threadpool_info() if about["user_api"] == "blas")
        return eigh(matrix)

    monkeypatch.setattr(np.linalg, "eigh", watched)
    with threadpool_limits(2, user_api="blas"):
        cross_validated(rng.normal(size=(20, 3)), np.arange(20) % 2, rng)
    assert set(used) == {1}


@pytest.mark.parametrize(
    ("field", "copies", "events", "bent"),
    [((9, 7), 4, 10, 3), ((9, 7), 1.4, 10, 0), ((9, 7), 9, 10, 3), ((9, 7), 0.2, 10, 0), ((9,), 4, 10, 0),
     ((9, 1), 4, 10, 0), ((9, 7), 4, 12_500_000, 3), ((9, 7), 4, 12_500_001, 2), ((9, 7), 4, 60_000_000, 0)],
)  # fmt: skip
def test_recordings_are_bent_on_fields_of_two_dimensions_while_there_is_room(field, copies, events, bent):
    n = SimpleNamespace(field=field, counts=np.array([events]))
    assert settings._bent(n, Knobs(copies=copies)) == bent


def test_bent_copies_are_shown_in_fewer_passes():
    data = regular([40] * 60, np.arange(60) % 3, field=(20, 20), place=lambda label: 5 * label)
    one, other = law(data, seed=0), law(data, seed=0, knobs=Knobs(copies=4))
    assert (one.fitting["bent"], other.fitting["bent"]) == (0, 3)
    assert other.fitting["passes"] == round(one.fitting["passes"] / 4) == 15
    assert other.why[-1].endswith("15 passes over 60 recordings and 3 bent copies of each in batches of 16")
    assert one.layers == other.layers
    few = law(data, seed=0, knobs=Knobs(copies=4, passes=0.01))
    assert few.fitting["passes"] == 2
    network = Network.for_data(data, seed=0, knobs=Knobs(copies=4)).fit(data, passes=1)
    assert network.law.fitting["bent"] == 3
