"""Faster training gives the same models."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from capo.learning.cross_fit import fit_classifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 5)).round(1)  # with ties
X[:, 1] = X[:, 0]
X[:, 4] = 1.0
X[RNG.random(X.shape) < 0.05] = np.nan
BINARY = (np.nan_to_num(X[:, 0]) + RNG.normal(size=120) > 0.5).astype(int)
MATRIX = np.column_stack([BINARY, RNG.integers(2, size=120)])
WEIGHT = RNG.random(120)


@pytest.mark.parametrize("y", [BINARY, BINARY + RNG.integers(2, size=120), MATRIX])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"min_samples_leaf": 2},
        {"min_samples_leaf": 0.05},
        {"criterion": "entropy", "max_features": 0.5},
        {"max_depth": 3},
        {"class_weight": "balanced"},
        {"max_features": None},
        {"bootstrap": True},
        {"bootstrap": True, "max_samples": 0.4, "criterion": "entropy"},
        {"bootstrap": True, "max_samples": 50, "min_samples_leaf": 2},
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_trees_are_those_of_scikit_learn(y, params, weighted):
    model = make_pipeline(StandardScaler(), ExtraTreesClassifier(20, random_state=3, **params))
    weights = {"extratreesclassifier__sample_weight": WEIGHT} if weighted else {}
    expected = clone(model).fit(X, y, **weights)
    found = fit_classifier(clone(model), X, y, weights)
    for one, other in zip(found[-1].estimators_, expected[-1].estimators_, strict=True):
        np.testing.assert_array_equal(one.tree_.threshold, other.tree_.threshold)
        np.testing.assert_array_equal(one.tree_.value, other.tree_.value)
        assert vars(one).keys() == vars(other).keys()
        assert one.get_params() == other.get_params()
    assert vars(found[-1]).keys() == vars(expected[-1]).keys()
    assert found[-1].n_estimators == 20
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))


def test_other_pipelines_are_fitted_as_they_are():
    rows = np.nan_to_num(X)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    found = fit_classifier(clone(model), rows, BINARY, {}).decision_function(rows)
    np.testing.assert_array_equal(found, model.fit(rows, BINARY).decision_function(rows))


def test_trees_without_a_seed_differ_from_fit_to_fit():
    model = make_pipeline(StandardScaler(), ExtraTreesClassifier(20))
    one, other = (fit_classifier(clone(model), X, BINARY, {}).predict_proba(X) for _ in range(2))
    assert not np.array_equal(one, other)


def test_trees_with_other_parameters_are_those_of_scikit_learn():
    model = make_pipeline(StandardScaler(), ExtraTreesClassifier(5, random_state=0))
    rows = np.nan_to_num(X)
    model[-1].set_params(monotonic_cst=np.array([1, 0, 0, 0, 0]))
    found = fit_classifier(clone(model), rows, BINARY, {}).predict_proba(rows)
    np.testing.assert_array_equal(found, model.fit(rows, BINARY).predict_proba(rows))


@pytest.mark.parametrize("n_estimators", [0, -1, 2.5, None, "3"])
def test_a_wrong_number_of_trees_is_reported_as_by_scikit_learn(n_estimators):
    model = make_pipeline(StandardScaler(), ExtraTreesClassifier(n_estimators, random_state=0))
    with pytest.raises(ValueError, match="'n_estimators' parameter"):
        fit_classifier(model, X, BINARY, {})
