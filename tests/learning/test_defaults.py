"""The models of the built-in sets."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from capo import CAPOClassifier, ScoreColumn
from capo.learning.auxiliaries import default_auxiliary_names, make_auxiliaries
from capo.tables.schema import infer_schema


def make(name, n_rows, n_columns=3):
    X = np.zeros((n_rows, n_columns))
    ((_, pipeline),) = make_auxiliaries(name, X, infer_schema(X))
    return pipeline[-1]


def test_the_default_set():
    assert default_auxiliary_names(np.zeros((50, 3))) == [
        "boosting",
        "trees",
        "full_trees",
        "linear",
        "kernel",
    ]


def test_the_default_set_of_vectors_alone_has_no_boosting():
    rng = np.random.default_rng(0)
    vectors = pd.DataFrame({"embedding": list(rng.normal(size=(200, 120)))})
    alone, table = infer_schema(vectors), vectors.assign(x=rng.normal(size=200))
    assert default_auxiliary_names(vectors, schema=alone) == ["trees", "linear", "kernel", "svm"]
    assert "boosting" in default_auxiliary_names(table, schema=infer_schema(table))
    assert "boosting" in default_auxiliary_names(np.zeros((2_001, 1)), schema=alone)
    y = np.arange(200) % 2
    model = CAPOClassifier(auxiliaries=[ScoreColumn("x"), "auto"], C=0.0).fit(table, y)
    assert list(model.auxiliaries_) == ["x", "trees", "linear", "kernel", "svm"]


@pytest.mark.parametrize("name", ["trees", "full_trees"])
@pytest.mark.parametrize(
    ("n_rows", "n_drawn"), [(14_999, None), (15_000, 12_000), (60_000, 12_000), (160_000, 20_000)]
)
def test_from_15000_rows_on_each_random_tree_sees_a_sample(name, n_rows, n_drawn):
    trees = make(name, n_rows)
    assert trees.bootstrap == (n_drawn is not None)
    if n_drawn is not None:
        assert round(trees.max_samples * n_rows) == n_drawn


@pytest.mark.parametrize(("n_columns", "n_seen"), [(1, 1), (5, 2), (40, 20), (60, 30), (400, 30)])
def test_a_split_of_a_fully_grown_tree_sees_half_of_the_columns_or_30(n_columns, n_seen):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, n_columns)), np.arange(40) % 2
    trees = make("full_trees", 40, n_columns).set_params(n_estimators=1).fit(X, y)
    assert trees.estimators_[0].max_features_ == n_seen
    assert trees.min_samples_leaf == 1


def test_a_split_sees_30_of_the_columns_that_are_selected_of_a_sparse_matrix():
    X = csr_matrix(np.eye(40, 5_000) + np.eye(40, 5_000, 1))
    pipeline = make_auxiliaries("full_trees", X, infer_schema(X))[0][1]
    pipeline[-1].set_params(n_estimators=1)
    assert pipeline.fit(X, np.arange(40) % 2)[-1].estimators_[0].max_features_ == 30


@pytest.mark.parametrize("name", ["boosting", "quick"])
def test_boosting_learns_from_all_rows(name):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10_001, 3)), np.arange(10_001) % 2
    boosting = make(name, len(X)).set_params(max_iter=2, random_state=0).fit(X, y)
    assert not boosting.do_early_stopping_
