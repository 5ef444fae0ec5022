"""Boosted trees by tables give the decision function of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier

from capo.learning.prediction import compute_output, find_leaf_tables, has_leaf_tables, make_leaf_tables

SPECIAL = [np.nan, np.inf, -np.inf]


def sample(seed, n_columns, *, has_missing=False, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, n_columns)).round(1)  # with ties, at thresholds too
    y = np.clip(np.abs(X[:, 0] + X[:, -1]) + rng.normal(size=400) // 2, 0, n_classes - 1).astype(int)
    if has_missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def train(X, y, **params):
    return HistGradientBoostingClassifier(max_iter=6, min_samples_leaf=2, random_state=0, **params).fit(X, y)


@given(
    seed=st.integers(0, 10**6),
    n_columns=st.integers(1, 5),
    max_leaf_nodes=st.sampled_from([2, 3, 15, 16, 17, 31, 32]),
    has_missing=st.booleans(),
    block_rows=st.sampled_from([70, 1000]),
)
def test_tables_give_the_decision_function(seed, n_columns, max_leaf_nodes, has_missing, block_rows):
    X, y = sample(seed, n_columns, has_missing=has_missing)
    model = train(X[:200], y[:200], max_leaf_nodes=max_leaf_nodes)
    X[np.random.default_rng(seed).random(X.shape) < 0.1] = SPECIAL[seed % 3]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("capo.learning.prediction.TABLE_BLOCK_ROWS", block_rows)
        found = make_leaf_tables(model)(X)
    np.testing.assert_allclose(found, model.decision_function(X), rtol=0, atol=1e-12)


def test_a_boosting_without_splits():
    X, y = sample(0, 2)
    model = train(np.zeros_like(X), y)
    np.testing.assert_allclose(make_leaf_tables(model)(X), model.decision_function(X), rtol=0, atol=1e-12)


def test_more_leaves_than_bits_and_more_columns_are_left_to_scikit_learn(monkeypatch):
    X, y = sample(0, 4)
    assert make_leaf_tables(train(X, y, max_leaf_nodes=33)) is None
    monkeypatch.setattr("capo.learning.prediction.MAX_TABLE_COLUMNS", 3)
    assert make_leaf_tables(train(X, y)) is None


def test_other_models_have_no_tables():
    X, y = sample(0, 2, n_classes=3)
    assert len(np.unique(y)) == 3
    codes = X.round().clip(0)
    assert not has_leaf_tables(train(X, y))
    assert not has_leaf_tables(train(codes, y > 0, categorical_features=[0]))
    assert not has_leaf_tables(ExtraTreesClassifier(2).fit(X, y > 0))


def test_evaluation_uses_the_tables_for_many_rows(monkeypatch):
    X, y = sample(0, 3, has_missing=True)
    model = train(X, y)
    expected = model.decision_function(X)
    monkeypatch.setattr("capo.learning.prediction.MIN_TABLE_ROWS", 1)
    monkeypatch.setattr(HistGradientBoostingClassifier, "decision_function", None)
    np.testing.assert_allclose(compute_output(model, "decision_function", X), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("warm_start", [False, True])
def test_tables_are_those_of_the_last_fit(warm_start):
    X, y = sample(0, 3)
    model = train(X, y, warm_start=warm_start)
    assert (find_leaf_tables(model) is find_leaf_tables(model)) != warm_start
    model.set_params(max_iter=9).fit(X, 1 - y)
    np.testing.assert_allclose(find_leaf_tables(model)(X), model.decision_function(X), rtol=0, atol=1e-12)
