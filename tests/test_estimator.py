import copy
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

from timesurf import EventError, Full, Recordings, SettingError, Sup3rClassifier, Tile
from timesurf.datasets import sentences
from timesurf.presets import SENTENCES

pytestmark = pytest.mark.filterwarnings("ignore:All")  # networks that learn for so short a time may know one class only


@pytest.fixture(scope="module")
def data():
    return sentences.make(24, seed=0, duration="2 ms")


def classifier(**settings):
    return Sup3rClassifier(SENTENCES.layers, **{"passes": 1, "random_state": 0} | settings)


@pytest.fixture(scope="module")
def fitted(data):
    return classifier(passes=3, alpha=3e-3, beta=3e-4, gamma=3e-3, delta=1.5e-4).fit(data)


def test_parameters_are_kept_as_given_and_survive_clone():
    one = classifier(alpha=1e-3, batch_size=7)
    assert one.get_params()["alpha"] == 1e-3
    assert clone(one).get_params() == one.get_params()
    assert one.set_params(margin=1.2).margin == 1.2
    assert set(one.get_params(deep=False)) == {
        "layers", "passes", "batch_size", "decay", "keep", "moved", "bent", "validation", "patience",
        "if_diverged", "checkpoints", "resume",
        "alpha", "beta", "gamma", "delta", "d", "kernel", "competition", "last", "temperature",
        "start", "zeta", "margin", "sample", "decide", "calibrate", "engine", "dtype", "precision", "threads",
        "deterministic", "random_state", "client", "verbose",
    }  # fmt: skip


def test_probabilities_are_shares_of_output_events(fitted, data):
    shares, votes = fitted.predict_proba(data), fitted.network_.infer(data).votes
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(shares, votes / votes.sum(axis=1, keepdims=True))
    assert fitted.predict(data).tolist() == fitted.classes_[shares.argmax(axis=1)].tolist()
    assert fitted.score(data) == np.mean(fitted.predict(data) == data.labels)


def test_unlabelled_recordings_teach_and_are_not_scored(data):
    y = np.arange(len(data)) % 2
    y[:6] = -1
    mixed, labelled = classifier().fit(data, y), classifier().fit(data[6:], y[6:])
    assert mixed.classes_.tolist() == labelled.classes_.tolist() == [0, 1]
    assert not np.array_equal(mixed.network_.parameters[0].centroids, labelled.network_.parameters[0].centroids)
    assert mixed.score(data, y) == mixed.score(data[6:], y[6:])
    weights = np.arange(len(data))
    assert mixed.score(data, y, weights) == mixed.score(data[6:], y[6:], weights[6:])
    later = classifier().partial_fit(data, y)
    later.partial_fit(data, np.full(len(data), -1))  # once the classes are known, no label is needed


def test_cross_validation_and_grid_search(data):
    assert cross_val_score(classifier(), data, data.labels, cv=3).shape == (3,)
    search = GridSearchCV(classifier(), {"alpha": [1e-4, 1e-3], "layers": [SENTENCES.layers]}, cv=2)
    search.fit(data, data.labels)
    assert search.best_params_["alpha"] in (1e-4, 1e-3)
    assert len(search.best_estimator_.predict(data)) == len(data)


def test_partial_fit_learns_piece_by_piece(data):
    whole, pieces = classifier(), classifier()
    whole.partial_fit(data)
    pieces.partial_fit(data, classes=["v/vyty", "vxvyty"])
    np.testing.assert_array_equal(*(one.network_.parameters[0].centroids for one in (whole, pieces)))
    whole.partial_fit(data)
    for half in (data[:12], data[12:]):
        pieces.partial_fit(half)
    np.testing.assert_array_equal(*(one.network_.parameters[0].centroids for one in (whole, pieces)))
    with pytest.raises(EventError, match="none of"):
        pieces.partial_fit(data, ["new"] * len(data))


def test_silent_recordings_warn_and_score_as_wrong(data):
    one = classifier(passes=0).fit(data)
    one.network_.parameters[0].thresholds[:] = 0
    with pytest.warns(UserWarning, match="24 of 24 recordings produced no output"):
        one.predict(data)
    assert one.score(data) == 0
    np.testing.assert_allclose(one.predict_proba(data), 0.5)


def test_transform_gives_recordings(fitted, data):
    assert fitted.transform(data, 0).polarities == 3


def test_unfitted_and_bad_input_are_refused(data):
    with pytest.raises(NotFittedError):
        classifier().predict(data)
    with pytest.raises(EventError, match="X must be Recordings"):
        classifier().fit(np.zeros((3, 4)), [0, 1, 0])
    with pytest.raises(EventError, match="no labels"):
        classifier().fit(Recordings(data.coords, data.t, offsets=data.offsets, field=data.field))
    with pytest.raises(EventError, match="labels for 24 recordings"):
        classifier().fit(data, [0, 1])
    with pytest.raises(SettingError, match="alpha"):
        classifier(alpha=float("nan")).fit(data)


def test_settings_of_layers_are_parameters(data):
    classifier = Sup3rClassifier([Tile((5, 5), units=3, tau="2 ms"), Full(tau=1)])
    assert classifier.get_params()["layers__0__tau"] == 2000
    assert "layers__0__tau" not in classifier.get_params(deep=False)
    classifier.set_params(layers__0__tau="3 ms", layers__0__units=4, passes=2)
    assert (classifier.layers[0].tau, classifier.layers[0].units, classifier.passes) == (3000, 4, 2)
    assert clone(classifier).get_params() == classifier.get_params()
    for wrong in ("layers__2__tau", "layers__0__colour", "layers__x__tau"):
        with pytest.raises(ValueError, match=wrong):
            classifier.set_params(**{wrong: 1})
    assert Sup3rClassifier().get_params()["layers"] is None


def test_evaluate_shows_who_is_taken_for_whom(fitted, data):
    result = fitted.evaluate(data)
    assert result["confusion"].shape == (2, 3)
    assert result["confusion"].sum() == len(data)
    assert np.trace(result["confusion"]) / len(data) == result["recording_accuracy"] == fitted.score(data)


def test_one_class_for_all_is_warned_of(fitted, data):
    same = copy.deepcopy(fitted)
    for units in same.network_.parameters[-1:]:
        units.centroids[1:] = 1e3
    for look in (same.evaluate, same.score, same.predict):
        with pytest.warns(UserWarning, match="get one class"):
            look(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same.predict(data[data.labels == data.classes[0]])
        same.predict(data.with_labels(None))


def test_a_share_that_no_threshold_can_keep_is_warned_of(data):
    with pytest.warns(UserWarning, match="no event is rejected"):
        Sup3rClassifier([Full(tau=1)], passes=1, keep=0.5, random_state=0).fit(data)


def test_thresholds_that_were_asked_for_and_reject_nothing_are_warned_of(data):
    layers = [Tile((5, 5), units=3, tau="2 ms"), Full(tau=1)]
    with pytest.warns(UserWarning, match="gamma or delta should move thresholds, but 100.0% of the events are kept"):
        Sup3rClassifier(layers, passes=1, gamma=1e-9, random_state=0).fit(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is said where nothing was asked for, or where events are rejected
        Sup3rClassifier(layers, passes=1, gamma=0.0, delta=0.0, random_state=0).fit(data)
        Sup3rClassifier(layers, passes=1, keep=0.5, random_state=0).fit(data)


def test_verbose_prints_how_far_it_is(data, capsys):
    layers = [Tile((5, 5), units=3, tau="2 ms"), Full(tau=1)]
    Sup3rClassifier(layers, passes=1, verbose=True, random_state=0).fit(data)
    assert f"{len(data):,} of {len(data):,} recordings: event accuracy" in capsys.readouterr().out
