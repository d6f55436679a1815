"""What every public estimator must do, as one list of checks in the spirit of scikit-learn's `check_estimator`.

`CHECKS` take an unfitted estimator of recordings and labelled recordings. `OnArrays` lets scikit-learn's own checks
run, which know rows of numbers only: it turns each row into a recording. `LEFT_OUT` names those that cannot hold.
"""

import pickle

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from timesurf import EventError, Full, Recordings, Sup3rClassifier
from timesurf.presets import SENTENCES

LAYERS = SENTENCES.layers
ESTIMATORS = {
    "online": Sup3rClassifier(LAYERS, passes=1, random_state=0),
    "batches": Sup3rClassifier(LAYERS, passes=2, batch_size=5, decay=True, start="kmeans", random_state=0),
    "validated": Sup3rClassifier(LAYERS, passes=2, validation=0.25, patience=1, random_state=0),
}


def raises(error, call):
    try:
        call()
    except error:
        return
    raise AssertionError(f"{error.__name__} was not raised")


def check_clone_has_the_same_parameters_and_no_fit(estimator, data):
    copy = clone(estimator.fit(data))
    assert copy.get_params() == estimator.get_params()
    raises(NotFittedError, lambda: copy.predict(data))


def check_parameters_can_be_read_and_set(estimator, data):
    for name, value in estimator.get_params(deep=False).items():
        assert getattr(estimator.set_params(**{name: value}), name) is value
    raises(ValueError, lambda: estimator.set_params(no_such_parameter=1))


def check_init_sets_parameters_only(estimator, data):
    assert set(vars(estimator)) == set(estimator.get_params(deep=False))


def check_fit_returns_the_estimator_and_changes_no_parameter(estimator, data):
    before = estimator.get_params()
    assert estimator.fit(data) is estimator
    assert estimator.get_params() == before


def check_fit_changes_no_data(estimator, data):
    before = data.fingerprint()
    estimator.fit(data)
    assert data.fingerprint() == before


def check_every_method_refuses_to_run_unfitted(estimator, data):
    for name in ("predict", "predict_proba", "score", "transform"):
        raises(NotFittedError, lambda name=name: getattr(estimator, name)(data))


def check_the_same_seed_gives_the_same_decisions(estimator, data):
    one, two = (clone(estimator).fit(data).predict_proba(data) for _ in range(2))
    np.testing.assert_array_equal(one, two)


def check_a_second_fit_forgets_the_first(estimator, data):
    other = data[::2]
    twice = clone(estimator).fit(other).fit(data).predict_proba(data)
    np.testing.assert_array_equal(twice, clone(estimator).fit(data).predict_proba(data))


def check_another_seed_may_be_none(estimator, data):
    clone(estimator).set_params(random_state=None).fit(data).predict_proba(data)


def check_pickling_keeps_decisions(estimator, data):
    fitted = estimator.fit(data)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(data), fitted.predict_proba(data))
    assert pickle.loads(pickle.dumps(clone(estimator))).get_params() == estimator.get_params()


def check_labels_may_be_of_any_kind(estimator, data):
    number = np.unique(data.labels, return_inverse=True)[1]
    expected = clone(estimator).fit(data, number).predict_proba(data)
    for names in (["a", "b"], [7, 3000], [0, 1], ["é", "ü"]):
        fitted = clone(estimator).fit(data, np.array(names)[number])
        assert fitted.classes_.tolist() == names
        assert set(fitted.predict(data)) <= set(names)
        np.testing.assert_array_equal(fitted.predict_proba(data), expected)
    assert clone(estimator).fit(data, [str(n) for n in number]).classes_.tolist() == ["0", "1"]


def check_y_replaces_the_labels_of_x(estimator, data):
    swapped = np.where(data.labels == data.classes[0], data.classes[1], data.classes[0])
    with_y = clone(estimator).fit(data, swapped).predict_proba(data)
    np.testing.assert_array_equal(with_y, clone(estimator).fit(data.with_labels(swapped)).predict_proba(data))


def check_unlabelled_recordings_are_no_class(estimator, data):
    number = np.unique(data.labels, return_inverse=True)[1]
    number[::4] = -1
    fitted = clone(estimator).fit(data, number)
    assert fitted.classes_.tolist() == [0, 1]
    known = number >= 0
    assert fitted.score(data, number) == fitted.score(data[known], number[known])
    raises(EventError, lambda: clone(estimator).fit(data, np.full(len(data), -1)))


def check_decisions_depend_on_the_recording_alone(estimator, data):
    fitted = estimator.fit(data)
    whole, order = fitted.predict_proba(data), np.random.default_rng(0).permutation(len(data))
    np.testing.assert_array_equal(fitted.predict_proba(data[order]), whole[order])
    np.testing.assert_array_equal(np.concatenate([fitted.predict_proba(one) for one in data]), whole)


def check_figures_agree_with_each_other(estimator, data):
    fitted = estimator.fit(data)
    shares = fitted.predict_proba(data)
    assert shares.shape == (len(data), len(fitted.classes_))
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert fitted.predict(data).tolist() == fitted.classes_[shares.argmax(axis=1)].tolist()
    assert fitted.score(data) == np.mean(fitted.predict(data) == data.labels)
    weight = np.arange(len(data))
    right = fitted.predict(data) == data.labels
    assert fitted.score(data, sample_weight=weight) == np.average(right, weights=weight)


def check_other_fields_are_refused(estimator, data):
    fitted = estimator.fit(data)
    raises(EventError, lambda: fitted.predict(data.on_field((31, 5), 1)))
    raises(EventError, lambda: fitted.predict(data.on_field((30, 5), 2)))


def check_what_is_not_recordings_is_refused(estimator, data):
    for x in (np.zeros((4, 3)), [[1, 2]], "recordings", None):
        raises(EventError, lambda x=x: clone(estimator).fit(x, [0, 1]))
    raises(EventError, lambda: clone(estimator).fit(data, [0, 1]))
    raises(EventError, lambda: clone(estimator).fit(data[:0]))


def check_tags_are_those_of_a_classifier_of_recordings(estimator, data):
    tags = estimator.__sklearn_tags__()
    assert tags.estimator_type == "classifier"
    assert not tags.input_tags.two_d_array
    assert not tags.target_tags.required  # recordings may bring their labels
    assert tags.no_validation


CHECKS = [
    check for name, check in list(globals().items()) if name.startswith("check_") and check.__module__ == __name__
]


READS = 30  # events of the last channel per column
LEFT_OUT = {
    "check_classifiers_classes": "it uses -1 as a class, which means no label here",
}


class OnArrays(ClassifierMixin, BaseEstimator):
    """Sup3rClassifier for rows of numbers: each column is a channel that fires the sooner the larger its value is.

    A last channel fires at the end, so often that most output events see the whole row.
    """

    def __init__(self, passes=1, random_state=0):
        self.passes = passes
        self.random_state = random_state

    def fit(self, X, y):
        X, y = validate_data(self, X, y)
        check_classification_targets(y)
        y = y.astype(int) if y.dtype.kind == "f" else y  # recordings refuse floats as labels
        self.low_, self.range_ = X.min(axis=0), np.maximum(np.ptp(X, axis=0), 1e-12)
        self.classifier_ = Sup3rClassifier(
            [Full(tau="3 ms")], passes=self.passes, start="kmeans", sample=len(X), random_state=self.random_state
        ).fit(self._recordings(X), y)
        self.classes_ = self.classifier_.classes_
        return self

    def predict(self, X):
        check_is_fitted(self)
        return self.classifier_.predict(self._recordings(validate_data(self, X, reset=False)))

    def predict_proba(self, X):
        check_is_fitted(self)
        return self.classifier_.predict_proba(self._recordings(validate_data(self, X, reset=False)))

    def _recordings(self, X):
        rows, columns = X.shape
        sooner = np.clip((self.low_ + self.range_ - X) / self.range_, 0, 2)
        times = np.concatenate([np.rint(1000 * sooner), np.full((rows, READS * columns), 2001.0)], axis=1).astype(
            np.int64
        )
        channels = np.tile([*range(columns), *[columns] * READS * columns], (rows, 1))
        order = np.argsort(times, axis=1, kind="stable")
        times, channels = (np.take_along_axis(a, order, axis=1).ravel() for a in (times, channels))
        return Recordings([channels], times, offsets=np.arange(rows + 1) * (READS + 1) * columns, field=(columns + 1,))
