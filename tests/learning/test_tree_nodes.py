"""Compiled random trees give what scikit-learn's give, to the last bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from capo.learning.trees import TreeNodes, _sum_leaf_values, find_tree_nodes, forest_probability

pytest.importorskip("numba")

MANY_ROWS = 10**9


def make_table(seed, n_rows, missing, decimals=1):
    """Numbers with ties, some of them missing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4)).round(decimals)
    X[rng.random(X.shape) < missing] = np.nan
    return X.astype(np.float32), rng.random(n_rows) < 0.3


@given(
    seed=st.integers(0, 2**20),
    forest=st.sampled_from([ExtraTreesClassifier, RandomForestClassifier]),
    missing=st.sampled_from([0.0, 0.2]),
    missing_later=st.sampled_from([0.0, 0.2]),
    n_rows=st.integers(1, 40),
    min_samples_leaf=st.integers(1, 20),
)
def test_sums_are_those_of_scikit_learn(seed, forest, missing, missing_later, n_rows, min_samples_leaf):
    X, y = make_table(seed, 60, missing)
    y[:2] = False, True
    model = forest(5, min_samples_leaf=min_samples_leaf, random_state=seed).fit(X, y)
    new, _ = make_table(seed + 1, n_rows, missing_later)
    nodes = find_tree_nodes(model, MANY_ROWS)
    np.testing.assert_array_equal(nodes.sum_leaf_values(new), _sum_leaf_values(model, new))
    np.testing.assert_array_equal(forest_probability(model, new), model.predict_proba(new)[:, 1])


def test_a_value_next_to_a_threshold_goes_the_same_way():
    X, y = make_table(0, 200, 0.0, decimals=6)
    model = ExtraTreesClassifier(10, random_state=0).fit(X, y)
    thresholds = np.concatenate([each.tree_.threshold for each in model.estimators_]).astype(np.float32)
    neighbors = [np.nextafter(thresholds, np.float32(side)) for side in (-np.inf, np.inf)]
    new = np.column_stack((thresholds, *neighbors, thresholds))
    nodes = find_tree_nodes(model, MANY_ROWS)
    np.testing.assert_array_equal(nodes.sum_leaf_values(new), _sum_leaf_values(model, new))


def test_a_forest_that_is_fitted_again_has_other_nodes():
    X, y = make_table(0, 60, 0.0)
    model = ExtraTreesClassifier(5, random_state=0).fit(X, y)
    nodes = find_tree_nodes(model, MANY_ROWS)
    assert isinstance(nodes, TreeNodes)
    assert find_tree_nodes(model, 1) is nodes
    model.fit(X, ~y)
    assert find_tree_nodes(model, MANY_ROWS) is not nodes


def test_a_forest_whose_trees_change_has_other_nodes():
    X, y = make_table(0, 60, 0.0)
    model = ExtraTreesClassifier(5, random_state=0, warm_start=True).fit(X, y)
    find_tree_nodes(model, MANY_ROWS)
    model.set_params(n_estimators=9).fit(X, y)
    find_tree_nodes(model, MANY_ROWS)
    np.testing.assert_array_equal(forest_probability(model, X), model.predict_proba(X)[:, 1])
    del model.estimators_[3:]
    np.testing.assert_array_equal(
        find_tree_nodes(model, MANY_ROWS).sum_leaf_values(X), _sum_leaf_values(model, X)
    )


def test_blocks_of_rows_are_counted_together(monkeypatch):
    from capo.learning import trees as _tree_nodes

    requested = []
    monkeypatch.setattr(_tree_nodes, "load_kernels", lambda name, n_steps, **_: requested.append(n_steps))
    X, y = make_table(0, 60, 0.0)
    model = ExtraTreesClassifier(5, random_state=0).fit(X, y)
    for _ in range(3):
        assert find_tree_nodes(model, 100) is None
    np.testing.assert_allclose(requested, requested[0] * np.array([1, 2, 3]))
