"""A last layer by ridge regression: its evidence is the regression, and where places are one it needs no passes."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from timesurf import EventError, Full, Network, Recordings, SettingError, Window
from timesurf.engines import Parameters, load, reference
from timesurf.layers import stack
from timesurf.learning import best, means, ridge
from timesurf.learning.law import law
from timesurf.rule import Rule


def bars(recordings, classes=2, seed=0, each=12):
    """Bars of 7 pixels anywhere on 80 x 80: horizontal, vertical, or along a diagonal by class."""
    rng, along = np.random.default_rng(seed), np.arange(-3, 4)
    labels = np.arange(recordings) % classes
    step = np.array([(1, 0), (0, 1), (1, 1), (1, -1)])[labels]
    at = rng.integers(4, 76, (recordings, each, 2))
    x, y = np.moveaxis(at[:, :, None] + along[:, None] * step[:, None, None], -1, 0)
    t = np.broadcast_to(1000 * np.arange(each)[:, None] + 10 * np.arange(7), x.shape)
    offsets = np.arange(recordings + 1) * each * 7
    return Recordings([x.ravel(), y.ravel()], t.ravel(), offsets=offsets, field=(80, 80), labels=labels)


def pooled(classes, units=12, **last):
    """A network above all places as one, that decides by evidence."""
    layers = [Window(5, units=units, tau="5 ms", stride="field"), Full(tau=last.pop("tau", "2 ms"), **last)]
    return Network(layers, (80, 80), 1, range(classes), rule=Rule(last="delta", temperature=2.0), seed=0)


# ------------------------------------------------------------------ the regression


def moments(x, label, classes):
    y = np.eye(classes)[label]
    return ridge.Moments(y.mean(axis=0), x.T @ y / len(x), x.T @ x / len(x))


def test_the_regression_is_that_of_scikit_learn():
    from sklearn.linear_model import Ridge

    rng = np.random.default_rng(0)
    x, label = rng.normal(size=(40, 6)), np.arange(40) % 3
    w, b = ridge.regression(moments(x, label, 3))
    theirs = Ridge(alpha=ridge.PENALTY * float(x.var(axis=0).sum()) * 40).fit(x, np.eye(3)[label])
    np.testing.assert_allclose(w, theirs.coef_.T, rtol=1e-9)
    np.testing.assert_allclose(b, theirs.intercept_, rtol=1e-9)
    np.testing.assert_allclose(moments(x, label, 3).x, x.mean(axis=0))


def test_rows_without_variance_teach_how_often_each_class_occurs():
    w, b = ridge.regression(moments(np.ones((4, 3)), [0, 0, 0, 1], 2))
    np.testing.assert_allclose([w, np.broadcast_to(b, w.shape)], [np.zeros((3, 2)), [[0.75, 0.25]] * 3], atol=1e-12)


@given(st.integers(0, 2**31), st.floats(0, 1e-7))
@examples(30)
def test_classes_that_are_regressed_alike_leave_centroids_where_surfaces_are(seed, noise):
    """Two classes that look alike, but for rounding, and differ in how often they occur."""
    rng = np.random.default_rng(seed)
    w, middle = rng.normal(size=(10, 3)), rng.uniform(size=10)
    w = np.concatenate([w, w[:, 2:] * (1 + noise)], axis=1)
    b = np.array([0.0, 0.1, 0.2, 0.9])
    c = ridge.as_centroids(w, b, middle)
    assert np.abs(c).max() < 1e3
    score, wanted = 2 * middle @ c.T - (c**2).sum(axis=1), middle @ w + b
    assert score[1] - score[0] == pytest.approx(wanted[1] - wanted[0], abs=1.0)  # as nearly as can be


@given(st.integers(0, 2**31), st.integers(1, 5), st.integers(6, 20))
@examples(30)
def test_centroids_classify_as_the_regression_does(seed, classes, entries):
    rng = np.random.default_rng(seed)
    w, b, middle = rng.normal(size=(entries, classes)), rng.normal(size=classes), rng.uniform(size=entries)
    c, m = ridge.as_centroids(w, b, middle), rng.normal(size=(7, entries))
    score, wanted = 2 * m @ c.T - (c**2).sum(axis=1), m @ w + b
    np.testing.assert_allclose(score - score[:, :1], wanted - wanted[:, :1], atol=1e-8)
    moved = ridge.as_centroids(w, b, middle + 1e3)  # nearest to where the rows are
    assert np.linalg.norm(moved - middle - 1e3) < np.linalg.norm(c - middle - 1e3)


def test_evidence_of_a_recording_is_the_regression_on_its_mean_surface():
    """At so low a temperature that no share of an event comes near 0, where its logarithm is cut off."""
    data = bars(40, classes=3)
    network = pooled(3, tau=(2000.0, 500.0)).start(data, start="ridge")
    network.rule = Rule(last="delta", temperature=1e-3)
    events = network.transform(data, 0)
    surfaces = np.stack([means.mean_surfaces(reference, events, tau) for tau in (2000, 500)], axis=-1).reshape(40, -1)
    found = network.infer(data)
    evidence = found.evidence / found.votes.sum(axis=1, keepdims=True) / 1e-3
    c = network.parameters[-1].centroids.reshape(3, -1)
    score = 2 * surfaces @ c.T - (c**2).sum(axis=1)
    np.testing.assert_allclose(evidence - evidence[:, :1], score - score[:, :1], rtol=1e-2, atol=2e-3)
    assert (score.argmax(axis=1) == data.labels).mean() > 0.9


def test_whole_recordings_and_their_parts_weigh_the_same_and_classes_are_as_far_apart_as_their_means():
    from sklearn.linear_model import Ridge

    data = bars(40, classes=3)
    network = pooled(3).start(data, start="ridge")
    events, rows, labels, weights = network.transform(data, 0), [], [], []
    for parts in (1, 4, 16):
        cut, origin = ridge.in_parts(events, parts)
        rows.append(means.mean_surfaces(reference, cut, 2000))
        labels.append(data.labels[origin])
        weights.append(np.full(len(cut), 1 / (3 * len(cut))))
    of_class = [rows[0][labels[0] == c].mean(axis=0) for c in range(3)]
    apart = np.mean([((one - other) ** 2).sum() for one in of_class for other in of_class])
    rows, labels, weights = map(np.concatenate, (rows, labels, weights))
    variance = float((weights @ (rows - weights @ rows) ** 2).sum())
    theirs = Ridge(alpha=1e-3 * variance).fit(rows.astype(float), np.eye(3)[labels], sample_weight=weights)
    wanted, c = apart * theirs.predict(rows), network.parameters[-1].centroids.reshape(3, -1)
    score = 2 * rows @ c.T - (c**2).sum(axis=1)
    np.testing.assert_allclose(score - score[:, :1], wanted - wanted[:, :1], atol=1e-3 * apart)


def test_last_layers_of_this_size_are_suited():
    assert ridge.MOST_ENTRIES == 2048
    for entries, suited in ((2, False), (3, True), (2048, True), (2049, False)):
        assert ridge.suits(stack([Full(tau=1)], (entries,), 1, classes=2)[0]) is suited


# ------------------------------------------------------------------ what it regresses on


@given(st.integers(0, 2**31), st.integers(1, 6))
@examples(30)
def test_parts_hold_all_events_once_each_within_its_share_of_the_time(seed, parts):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 9, 4)
    t = np.concatenate([np.sort(rng.integers(5, 60, n)) for n in counts] or [[]]).astype(int)
    data = Recordings([np.arange(len(t))], t, offsets=np.concatenate([[0], np.cumsum(counts)]), field=(99,))
    cut, origin = ridge.in_parts(data, parts)
    assert np.concatenate([cut.coords[0], [0]]).tolist() == [*range(len(t)), 0]
    assert (cut.counts > 0).all()
    assert np.bincount(origin, cut.counts, minlength=4).astype(int).tolist() == counts.tolist()
    first, last = data.spans()
    for r, (begin, end) in zip(origin, zip(*cut.spans(), strict=True), strict=True):
        each = (last[r] + 1 - first[r]) / parts
        assert math.floor((begin - first[r]) / each) == math.floor((end - first[r]) / each)


@given(st.integers(0, 2**31), st.sampled_from([1, 3, 40]))
@examples(20)
def test_mean_surfaces_side_by_side_are_those_of_each_alone(seed, at_once):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 8, 7)
    t = np.concatenate([np.sort(rng.integers(0, 60, n)) for n in counts]).astype(int)
    x, p = rng.integers(0, 4, len(t)), rng.integers(0, 2, len(t))
    offsets = np.concatenate([[0], np.cumsum(counts)])
    data = Recordings([x], t, p, offsets, field=(4,), polarities=2)
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(means, "_LARGE", 8 * at_once)
        found = means.mean_surfaces(load("cpu"), data, 9.0)
    for mean, alone in zip(found, data, strict=True):
        np.testing.assert_allclose(mean, means.mean_surfaces(reference, alone, 9.0)[0], rtol=1e-5, atol=1e-6)


def test_a_recording_without_events_has_a_mean_of_0():
    data = Recordings([[1]], [0], offsets=[0, 0, 1, 1], field=(2,))
    assert means.mean_surfaces(load("cpu"), data, 5.0).tolist() == [[0, 0], [0, 1], [0, 0]]
    assert means.mean_surfaces(load("cpu"), data[:0], 5.0).shape == (0, 2)


# ------------------------------------------------------------------ networks


def test_where_all_places_are_one_the_data_choose_ridge_regression_and_no_passes():
    train, test = bars(60, classes=4, each=1), bars(60, classes=4, seed=1, each=1)
    network = Network.for_data(train, seed=0)
    assert network.stages[-1].field == (1, 1)
    assert (network.law.fitting["start"], network.law.fitting["passes"]) == ("ridge", 0)
    assert "ridge regression on 60 recordings" in network.why[-1]
    network.fit(train)
    assert network.history == []
    assert network.evaluate(test)["recording_accuracy"] >= 0.95


def test_passes_that_are_given_follow_the_regression():
    data = bars(60, classes=4, each=1)
    network = Network.for_data(data, seed=0).fit(data, passes=1)
    alone = Network.for_data(data, seed=0).fit(data)
    assert len(network.history) == 1
    assert not network.parameters.same(alone.parameters)
    assert network.parameters[0].centroids.tolist() == alone.parameters[0].centroids.tolist()


def test_places_that_stay_apart_learn_in_passes():
    rng = np.random.default_rng(0)
    x = np.repeat(np.arange(20) % 2 * 10, 30) + rng.integers(0, 3, 600)
    data = Recordings(
        [x], np.tile(np.arange(30) * 100, 20), offsets=np.arange(21) * 30, field=(20,), labels=np.arange(20) % 2
    )
    assert law(data, seed=0).fitting["start"] == "quick"


def test_recordings_without_a_label_teach_nothing():
    data = bars(40)
    half = data.with_labels([label if r < 30 else None for r, label in enumerate(data.labels.tolist())])
    network = pooled(2).start(data, start="ridge", margin=math.inf)
    below = Parameters(network.parameters[:1])
    found, wanted = (ridge.last_centroids(network, below, some) for some in (half, data[:30]))
    assert np.array_equal(found, wanted)


def test_where_nothing_reaches_the_last_layer_there_is_nothing_to_learn_from():
    network = pooled(2).start(bars(20), start="ridge")
    network.parameters[0].thresholds[:] = 0
    with pytest.raises(EventError, match="reaches the last layer"):
        ridge.last_centroids(network, Parameters(network.parameters[:1]), bars(20))


def test_thresholds_below_are_seen():
    """What the hidden layer rejects does not reach the regression."""
    data = bars(60, classes=4, each=1)
    network = Network.for_data(data, seed=0).fit(data, keep=0.6)
    assert network.evaluate(data)["kept"] == pytest.approx(0.6, abs=0.03)
    assert network.evaluate(data)["recording_accuracy"] > 0.9
    before = network.parameters[-1].centroids.copy()
    again = ridge.last_centroids(network, Parameters(network.parameters[:1]), data)
    np.testing.assert_allclose(again, before, rtol=1e-9)


@pytest.mark.parametrize(
    ("network", "says"),
    [
        (pooled(2, units_per_class=2), "has 2 and 12 entries for 2 classes"),
        (pooled(12), "12 entries for 12 classes"),
        (Network([Full(tau=1)], (80, 80), 1, [0, 1]), "6,400 entries for 2 classes: pool places"),
    ],
)
def test_last_layers_that_regression_does_not_suit_are_refused(network, says):
    with pytest.raises(SettingError, match=says):
        network.start(bars(24, classes=2).with_labels(np.arange(24) % len(network.classes)), start="ridge")


def test_a_class_without_recordings_is_refused():
    with pytest.raises(EventError, match="class number 2 has none"):
        pooled(3).start(bars(10, classes=2), start="ridge")


def test_a_network_does_not_grow_by_ridge_regression():
    network = pooled(2).start(bars(20), start="ridge")
    new = bars(20, classes=3)
    with pytest.raises(SettingError, match="finds all classes at once"):
        network.extend(new[np.flatnonzero(new.labels == 2)], units=[0], classes=[2], start="ridge")
    grown = network.extend(new[np.flatnonzero(new.labels == 2)], units=[0], classes=[2], start="quick")
    assert grown.infer(new).votes.shape == (20, 3)


def test_the_same_bits_on_any_number_of_threads():
    data = bars(30)
    networks = [pooled(2) for _ in range(2)]
    for network, threads in zip(networks, (1, 2), strict=True):
        network.threads = threads
        network.start(data, start="ridge")
    assert networks[0].parameters.same(networks[1].parameters)


@pytest.mark.parametrize("rows", [1, 12 * 50, 1 << 22])
def test_some_recordings_at_a_time_teach_the_same(rows, monkeypatch):
    data = bars(30)
    whole = pooled(2).start(data, start="ridge")
    monkeypatch.setattr(ridge, "_ROWS", rows)
    parts = pooled(2).start(data, start="ridge")
    np.testing.assert_allclose(parts.parameters[-1].centroids, whole.parameters[-1].centroids, rtol=1e-6, atol=1e-9)


def test_labels_that_chance_gave_do_not_ruin_the_rest():
    """Of each kind of bar three in ten have another label, which occurs less often and looks the same."""
    train, test = (bars(80, seed=seed, each=1) for seed in (0, 1))
    other = [np.random.default_rng(k).random(80) < 0.3 for k in (3, 4)]
    train, test = (d.with_labels(np.asarray(d.labels) * 2 + o) for d, o in zip((train, test), other, strict=True))
    network = Network.for_data(train, seed=0).fit(train, start="ridge", passes=0)
    assert np.abs(network.parameters[-1].centroids).max() < 10
    assert network.evaluate(test)["recording_accuracy"] > 0.6
    network.train(train, passes=1, batch_size=16)  # does not diverge


def test_a_class_of_which_nothing_is_kept_does_not_ruin_the_rest():
    train, test = bars(120, classes=4, each=1), bars(60, classes=4, seed=1, each=1)
    network = Network.for_data(train, seed=0).fit(train, keep=0.3)
    assert np.abs(network.parameters[-1].centroids).max() < 10
    assert network.evaluate(test)["recording_accuracy"] >= 0.5


def test_recordings_set_aside_to_choose_by_teach_nothing():
    data = bars(60, classes=3)
    rng = np.random.default_rng(0)
    random = data.with_labels(rng.permutation(np.asarray(data.labels)))  # nothing to learn but by heart
    network = pooled(3).fit(random, start="ridge", passes=0, validation=0.3)
    learned, _ = best._parts(network, random, 0.3, np.random.default_rng(network.seed))
    alone = pooled(3).fit(learned, start="ridge", passes=0)
    assert network.parameters.same(alone.parameters)
    assert network.calibration


@pytest.fixture
def bars_file(tmp_path):
    data, path = bars(60, classes=4, each=1), tmp_path / "bars.npz"
    x, y = data.coords
    np.savez(path, x=x, y=y, t=data.t, p=data.p, offsets=data.offsets, labels=data.labels, field=[80, 80])
    return path


def test_fewer_units_than_classes_learn_in_passes(timesurf, bars_file, tmp_path):
    code, said = timesurf("train", bars_file, "--model", tmp_path / "few.tsf", "--units", 3, "--validation", 0)
    assert (code, "ridge" in said) == (0, False)
    assert "given instead: --units 3" in said
    assert len(Network.load(tmp_path / "few.tsf").history) >= 10


def test_options_without_effect_are_named(timesurf, bars_file, tmp_path):
    code, said = timesurf("train", bars_file, "--model", tmp_path / "m.tsf", "--alpha", 0.1, "--batch-size", 4)
    assert code == 0
    assert "without effect, since there are no passes: --alpha, --batch-size" in said


def test_the_command_says_that_there_are_no_passes(timesurf, bars_file, tmp_path):
    model = tmp_path / "bars.tsf"
    code, said = timesurf("train", bars_file, "--model", model, "--validation", 0.2)
    assert code == 0
    assert "ridge regression on" in said
    assert "finds how sure decisions are by" in said
    assert "best pass" not in said
    assert Network.load(model).calibration
    code, said = timesurf("train", bars_file, "--model", model, "--passes", 2, "--validation", 0.2)
    assert "chooses the best pass by" in said
    assert "recordings and parts of them, then alpha" in said
    assert (code, len(Network.load(model).history)) == (0, 2)
    code, said = timesurf("train", bars_file, "--model", model, "--config", f"{model}.run/settings.toml")
    assert code == 0
