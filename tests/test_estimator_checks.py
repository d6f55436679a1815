"""Every public estimator goes through one list of checks, and through scikit-learn's own.

Only `Sup3rClassifier` is an estimator: the baselines are functions around scikit-learn's classifiers and PyTorch.
"""

import pytest
from sklearn.base import clone
from sklearn.utils import estimator_checks as of_sklearn

from timesurf.datasets import sentences

pytest.importorskip("sklearn", "1.6", reason="tags and expected failures came with scikit-learn 1.6")
from tests.estimator_checks import CHECKS, ESTIMATORS, LEFT_OUT, OnArrays

DATA = sentences.make(16, seed=0, duration="1 ms")


@pytest.mark.filterwarnings("ignore:All")  # networks that learn for so short a time may know one class only
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_keeps_to_the_conventions(name, check):
    check(clone(ESTIMATORS[name]), DATA)


@pytest.mark.filterwarnings("default")  # some of scikit-learn's checks warn on purpose
@of_sklearn.parametrize_with_checks([OnArrays()], expected_failed_checks=lambda _: LEFT_OUT)
def test_scikit_learns_own_checks_hold_on_rows_turned_into_recordings(estimator, check):
    check(estimator)
