"""The delta function at C = 0: its weights, its penalty, and what decides about it."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from capo import CAPOClassifier, measures
from capo.learning import center
from capo.learning.adaptation import Objective, adapt
from capo.learning.center import STACK_RIDGE, StackPrior
from capo.learning.combination import AdaptationData
from capo.learning.path import AUTO_GRID

F1 = Objective(measures.get("f1"))


def make_rows(seed=0, n=300, n_features=6, signal=1.0, sparse=False):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.35
    outputs = rng.normal(size=(n, 2)) + signal * positive[:, None]
    features = rng.normal(size=(n, n_features))
    features[:, 0] += signal * positive
    return AdaptationData(outputs, csr_array(features) if sparse else features, positive, None)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("prior", "ridge", "goal"),
    [
        (StackPrior(2.0), STACK_RIDGE, 0.5),
        (StackPrior(2.0, is_external=True), 2.0, 0.0),
        (StackPrior(100.0, is_external=True), STACK_RIDGE, 0.0),
    ],
)
def test_the_center_is_the_minimum_of_its_penalized_log_loss(prior, ridge, goal, sparse):
    rows = make_rows(sparse=sparse)
    found = prior.classifier(rows, F1)
    features = rows.features.toarray() if sparse else rows.features
    sign = np.where(rows.positive, -1.0, 1.0)

    def loss(v):
        odds = rows.outputs @ v[:2] + features @ v[2:-1] + v[-1]
        penalty = ridge * np.sum((v[:2] - goal) ** 2) + prior.delta_ridge * np.sum(v[2:-1] ** 2)
        return np.sum(np.logaddexp(0.0, sign * odds)) + 0.5 * penalty

    bounds = [(0.0, None)] * 2 + [(None, None)] * 7
    best = minimize(loss, np.zeros(9), bounds=bounds, options={"ftol": 1e-15, "gtol": 1e-8})
    v = np.concatenate((found.auxiliary, found.delta, [found.intercept]))
    assert loss(v) <= best.fun + 1e-6
    np.testing.assert_allclose(v, best.x, atol=1e-3)


def test_the_penalty_of_a_fold_does_not_depend_on_its_labels():
    rows = make_rows(1)
    folds = np.arange(len(rows.positive)) % 5
    objective = replace(F1, prior=StackPrior(is_external=True))
    flipped = replace(rows, positive=np.where(folds == 3, ~rows.positive, rows.positive))
    scores = [adapt(each, folds, objective, 0.0).chosen.scores for each in (rows, flipped)]
    np.testing.assert_allclose(scores[0][folds == 3], scores[1][folds == 3], atol=1e-9)
    assert not np.allclose(scores[0][folds != 3], scores[1][folds != 3])


@pytest.mark.parametrize(("quality", "is_averaging"), [(0.0, True), (2.0, False)])
def test_the_outputs_are_averaged_where_the_trusted_one_is_no_better(quality, is_averaging):
    rng = np.random.default_rng(0)
    positive = rng.random(80) < 0.4
    outputs = rng.normal(size=(80, 6))
    outputs[:, 0] += quality * positive
    outputs[:, 1:] += (2.0 - quality) * positive[:, None]
    rows = AdaptationData(outputs, None, positive, None, np.eye(6)[0])
    prior = StackPrior().tune(rows, np.arange(80) % 5)
    assert prior.is_averaging == is_averaging
    center = np.full(6, 1 / 6) if is_averaging else np.eye(6)[0]
    expected = StackPrior().classifier(replace(rows, center=center), F1)
    np.testing.assert_allclose(prior.classifier(rows, F1).auxiliary, expected.auxiliary)


def test_features_that_say_nothing_get_no_weight_beside_trained_auxiliaries():
    used = 0
    for seed in range(30):
        rows = make_rows(seed, n=200, n_features=30, signal=0.0)
        tuned = StackPrior().tune(rows, np.arange(200) % 5)
        used += math.isfinite(tuned.delta_ridge)
    assert used <= 1


def test_features_that_say_much_get_weight_and_rows_without_folds_are_dealt():
    rows = make_rows(2, n=600, signal=1.5)
    for folds in (np.arange(600) % 5, np.zeros(600, dtype=int)):
        assert math.isfinite(StackPrior().tune(rows, folds).delta_ridge)
    assert StackPrior().tune(replace(rows, features=None), np.arange(600) % 5) == StackPrior()


def test_a_larger_C_starts_from_the_center_with_the_delta_function():
    rows = make_rows(3, n=400)
    folds = np.arange(400) % 5
    objective = replace(F1, prior=StackPrior(is_external=True))
    result = adapt(rows, folds, objective, 1e-6)
    assert math.isfinite(result.delta_ridge)
    expected = adapt(rows, folds, objective, 0.0).weights
    np.testing.assert_allclose(result.weights.delta, expected.delta, atol=1e-3)


def test_the_path_ascends_and_ends_early_where_it_loses(monkeypatch):
    rows = make_rows(4, n=800, signal=2.0)
    weak = replace(rows, outputs=rows.outputs[:, :1] * 0.01)
    monkeypatch.setattr(center, "MIN_GAIN_STD_ERRORS", math.inf)
    stack_only = replace(F1, measure=measures.get("accuracy"))
    result = adapt(weak, np.arange(800) % 5, stack_only, AUTO_GRID)
    assert result.chosen.C > 0
    assert (np.diff(result.cv_results()["param_C"]) > 0).all()
    assert result.chosen.cv_score.value > result.stack_score.value + 0.03


@pytest.mark.parametrize("delta", ["linear", "rbf"])
def test_a_black_box_is_corrected_by_the_columns(delta):
    """With a frozen yes or no and 300 labels, the columns add what a logistic regression finds in them."""
    X, y = make_classification(6000, n_features=8, n_informative=6, n_redundant=0, random_state=1)
    box = FrozenEstimator(_Answers().fit(X[:2000], y[:2000]))
    train, test = slice(2000, 2300), slice(2300, None)
    model = CAPOClassifier("roc_auc", auxiliaries=[("box", box)], delta=delta, C=0.0, random_state=0)
    model.fit(X[train], y[train])
    answers = box.predict(X)[:, None]
    rival = LogisticRegression().fit(np.hstack((X, answers))[train], y[train])
    alone = measures.get("roc_auc").score(y[test] == 1, answers[test, 0].astype(float))
    expected = measures.get("roc_auc").score(
        y[test] == 1, rival.decision_function(np.hstack((X, answers))[test])
    )
    assert model.score(X[test], y[test]) > alone + 0.05
    assert model.score(X[test], y[test]) > expected - 0.01
    assert math.isfinite(model.delta_ridge_)
    assert model.stack_score_.value < model.score_ - 0.05
    summary = model.summary()
    assert [line.name for line in summary.lines] == ["box", "stack", "stack and delta (C = 0)"]
    assert summary.notes["model"].endswith("and a delta function learned by log loss")


class _Answers(ClassifierMixin, BaseEstimator):
    """Says yes or no from the first two columns, and nothing else."""

    def fit(self, X, y):
        self.tree_, self.classes_ = DecisionTreeClassifier(max_depth=1).fit(X[:, :2], y), np.unique(y)
        return self

    def predict(self, X):
        return self.tree_.predict(np.asarray(X)[:, :2])
