"""Settings from the data: nothing depends on the clock or the name of a sensor, and every field gets a network."""

import math

import numpy as np
import pytest

from timesurf import EventError, Full, Network, Recordings, SettingError, Sup3rClassifier, Window
from timesurf.datasets import sentences
from timesurf.learning.law import law
from timesurf.learning.probe import clearly_better, cross_validated
from timesurf.learning.rhythm import intervals


def flashes(field, classes=3, recordings=24, events=60, step=100, polarities=1, seed=0):
    """Class c lights up place c of the field more often than others; seed 0 unless given."""
    rng = np.random.default_rng(seed)
    labels = np.arange(recordings) % classes
    coords = [rng.integers(0, n, recordings * events) for n in field]
    for r, c in enumerate(labels):
        some = slice(r * events, r * events + events // 2)
        for x, n in zip(coords, field, strict=True):
            x[some] = c % n
    t = np.tile(np.arange(events) * step, recordings)
    p = rng.integers(0, polarities, recordings * events)
    return Recordings(
        coords, t, p, np.arange(recordings + 1) * events, field=field, polarities=polarities, labels=labels
    )


def test_intervals_are_of_one_entry_in_one_recording():
    entry, t = np.array([1, 2, 1, 1, 1]), np.array([0, 3, 10, 10, 0])
    assert intervals(entry, t, np.array([4, 1])).tolist() == [10]  # the pair at the same time is left out


def test_recordings_without_events_do_not_shorten_the_duration():
    data = flashes((20, 20))
    empty = np.concatenate([data.offsets, np.full(40, data.offsets[-1])])
    more = Recordings(data.coords, data.t, data.p, empty, field=data.field, labels=np.arange(64) % 3)
    assert law(more, seed=0).why[0] == law(data, seed=0).why[0]


@pytest.mark.parametrize("factor", [1, 1000])
def test_a_slower_clock_gives_the_same_network_with_longer_times(factor):
    one, other = law(flashes((20, 20)), seed=0), law(flashes((20, 20), step=100 * factor), seed=0)
    for mine, theirs in zip(one.layers, other.layers, strict=True):
        assert theirs.tau == pytest.approx(factor * mine.tau, rel=1e-6)
        assert getattr(mine, "stride", None) == getattr(theirs, "stride", None)
    assert one.rule.temperature == pytest.approx(other.rule.temperature, rel=1e-3)
    assert one.fitting == other.fitting


@pytest.mark.parametrize("field", [(), (1,), (12,), (64,), (9, 7), (64, 1), (30, 20, 6), (1280, 720)])
def test_every_field_gets_a_network_that_runs(field):
    data = flashes(field, polarities=2)
    network = Network.for_data(data, seed=0).fit(data, passes=2)
    assert network.infer(data).votes.shape == (len(data), 3)
    assert len(network.law.why) >= 2


@pytest.mark.parametrize(
    ("classes", "recordings", "events"), [(1, 4, 30), (2, 2, 30), (10, 10, 1), (40, 40, 5), (500, 500, 6)]
)
def test_few_recordings_and_few_events_give_a_network_too(classes, recordings, events):
    data = flashes((10, 10), classes=classes, recordings=recordings, events=events)
    network = Network.for_data(data, seed=0).fit(data, passes=1)
    assert network.infer(data).votes.shape == (recordings, classes)


def test_what_the_choice_has_found_is_not_computed_again():
    data = flashes((20, 20))
    network = Network.for_data(data, seed=0).fit(data, passes=1)
    assert np.array_equal(network.parameters[0].centroids, network.law.hidden[0])
    other = Network([Window(3, units=4, tau=100), Full(tau=100)], data.field, 1, data.classes, seed=0)
    other.law = network.law  # of other layers: nothing of it fits
    assert other.fit(data, passes=1).parameters[0].centroids.shape == (4, 3, 3, 1)


def test_too_many_polarities_are_refused_with_the_way_out():
    data = flashes((5, 5), polarities=10_000)
    with pytest.raises(SettingError, match="merge polarities"):
        law(data)


def test_without_labels_or_events_there_is_nothing_to_choose_from():
    data = flashes((5, 5))
    with pytest.raises(EventError, match="no labelled recordings"):
        law(data.with_labels([None] * len(data)))
    empty = Recordings([[]], t=np.zeros(0, int), offsets=[0, 0, 0], field=(3,), labels=["a", "b"])
    with pytest.raises(EventError, match="no labelled recordings"):
        law(empty)


def test_the_same_seed_chooses_the_same():
    data = flashes((20, 20))
    assert law(data, seed=3) == law(data, seed=3)


def test_things_that_wander_are_classified_wherever_they_are():
    """Class 0 shows a horizontal bar anywhere, class 1 a vertical one. Margin: 2 of 40 recordings, seed 0."""
    rng = np.random.default_rng(0)
    x, y, t, labels = [], [], [], []
    for r in range(120):
        label = r % 2
        for k in range(12):
            at = rng.integers(4, 76, 2)
            along = np.arange(-3, 4)
            x.append(at[0] + (along if label == 0 else 0 * along))
            y.append(at[1] + (0 * along if label == 0 else along))
            t.append(1000 * k + 10 * np.arange(7))
        labels.append(label)
    data = Recordings(
        [np.concatenate(x), np.concatenate(y)], np.concatenate(t), offsets=np.arange(121) * 84, field=(80, 80),
        labels=labels,
    )  # fmt: skip
    network = Network.for_data(data[:80], seed=0).fit(data[:80])
    assert network.evaluate(data[80:])["recording_accuracy"] >= 0.95


def test_a_classifier_without_arguments_chooses_and_takes_what_is_given_all_the_same():
    data = sentences.make(60, seed=0)
    model = Sup3rClassifier(passes=2, random_state=0).fit(data)
    assert [type(layer) for layer in model.network_.layers] == [Window, Full]
    assert len(model.network_.history) == 2
    assert model.network_.rule.last == "delta"
    assert Sup3rClassifier(random_state=0).partial_fit(data).predict(data).shape == (60,)


def test_a_probe_finds_what_separates_classes_and_nothing_in_noise():
    rng = np.random.default_rng(0)
    label = np.arange(200) % 4
    noise = rng.normal(size=(200, 30))
    assert cross_validated(noise + 3 * np.eye(30)[label], label, rng).accuracy > 0.8
    assert cross_validated(noise, label, rng).accuracy < 0.45
    wide, narrow = (cross_validated(noise + by * np.eye(30)[label], label, rng) for by in (40, 20))
    assert wide.accuracy == narrow.accuracy == 1
    assert wide.error < narrow.error < cross_validated(noise, label, rng).error


def test_a_probe_is_not_tested_on_pieces_of_what_it_has_learned_from():
    rng = np.random.default_rng(0)
    label, surfaces = np.arange(100) % 4, rng.normal(size=(100, 600))
    twins = np.concatenate([surfaces, surfaces]), np.concatenate([label, label])
    assert cross_validated(*twins, rng).accuracy > 0.6  # most are known from their twin
    assert cross_validated(*twins, rng, origin=np.tile(rng.permutation(100), 2)).accuracy < 0.4


def test_a_probe_knows_classes_of_which_there_is_one_recording():
    rng = np.random.default_rng(0)
    label = np.arange(60) % 3
    surfaces = np.eye(3)[label] + rng.normal(size=(60, 3)) / 10
    one_is = np.where(label == 2, 99, np.arange(60))
    for origin in (label, one_is):
        assert cross_validated(surfaces, label, rng, origin=origin).accuracy > 0.95
    with_all = cross_validated(surfaces, label, rng, origin=np.zeros(60, int))
    assert with_all.accuracy > 0.95  # one recording in which all classes occur


@pytest.mark.parametrize(("mine", "better"), [(0.5, False), (0.54, False), (0.61, True)])
def test_better_means_by_two_standard_errors(mine, better):
    assert clearly_better(mine, 0.5, 100) is better
    assert math.isclose(2 * (0.5 * 0.5 / 100) ** 0.5, 0.1)


def in_order(recordings=24, events=6000, seed=0):
    """Two classes show the same two places equally often: one first, then the other. All others are noise."""
    rng = np.random.default_rng(seed)
    labels = np.arange(recordings) % 2
    x = rng.integers(0, 8, (recordings, events))
    for r, c in enumerate(labels):
        shown = np.where(np.arange(events) < events // 2, 2 if c else 6, 6 if c else 2)
        x[r] = np.where(rng.random(events) < 0.3, shown, x[r])
    t = np.tile(np.arange(events) * 50, recordings)
    return Recordings([x.ravel()], t, np.zeros_like(t), np.arange(recordings + 1) * events, field=(8,), labels=labels)


def test_where_inputs_fire_often_the_last_layer_sees_what_is_and_what_was():
    train, test = in_order(), in_order(seed=1)
    network = Network.for_data(train, seed=0).fit(train, passes=4)
    long, short = network.layers[-1].tau
    assert long == pytest.approx(16 * short)
    assert network.layers[-1].units_per_class == 1
    assert network.evaluate(test)["recording_accuracy"] == 1.0


def test_inputs_that_fire_seldom_get_one_time_constant():
    assert isinstance(law(flashes((20, 20)), seed=0).layers[-1].tau, float)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_hidden_time_constant_is_doubled_where_the_probe_says_so(seed):
    data = flashes((20, 20), seed=seed)
    found = law(data, seed=0)
    rest = np.median(intervals(data.entries(), data.t, data.counts))
    doubled = "less with the longer" in next(line for line in found.why if line.startswith("hidden layer"))
    assert found.layers[0].tau == pytest.approx((8 if doubled else 4) * rest)
