"""The random numbers of WEKA, and its run of the RBF network."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer

from benchmarks.paper.weka import JavaRandom, initial_centers, initial_rows
from capo.baselines import RBFNetworkClassifier

X, Y = load_breast_cancer(return_X_y=True)

#: Where WEKA's k-means starts with its seed 1: two malignant rows and two benign ones.
WEKAS_ROWS = [517, 564, 456, 225]


def test_the_numbers_are_those_of_java_util_random():
    random = JavaRandom(42)
    assert [random.below(10) for _ in range(5)] == [0, 3, 8, 4, 0]


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_wekas_initial_rows(kind):
    for label, expected in ((0, WEKAS_ROWS[:2]), (1, WEKAS_ROWS[2:])):
        rows = np.flatnonzero(label == Y)
        assert set(rows[initial_rows(kind(X[rows]), 2)]) == set(expected)
        np.testing.assert_array_equal(
            initial_centers(kind(X[rows]), 2), X[rows[initial_rows(kind(X[rows]), 2)]]
        )


def test_equal_rows_are_one_center():
    assert len(initial_centers(np.zeros((20, 3)), 2)) == 1


def test_wekas_probabilities_for_breast_cancer():
    """From WEKA 3.9: Standardize, ClusterMembership of SimpleKMeans with seed 1, Logistic."""
    model = RBFNetworkClassifier(init=initial_centers).fit(X, Y)
    expected = [
        0.014365,
        0.902243,
        0.993103,
        0.993189,
        0.993189,
        0.898834,
        0.993189,
        0.899884,
        0.898834,
        0.018437,
        0.917432,
        0.788198,
    ]
    np.testing.assert_allclose(model.predict_proba(X)[::48, 1], expected, atol=2e-5)
