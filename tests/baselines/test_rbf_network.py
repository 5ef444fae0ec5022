"""RBFNetworkClassifier: its units, its regression and its initial centers."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import norm
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from capo.baselines import RBFNetworkClassifier
from capo.exceptions import InvalidInputError

X, Y = load_breast_cancer(return_X_y=True)

#: Two malignant rows and two benign ones.
INITIAL_ROWS = [517, 564, 456, 225]


@parametrize_with_checks(
    [RBFNetworkClassifier(), RBFNetworkClassifier(1, ridge=0.1), RBFNetworkClassifier(4)]
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def xor(n, random):
    """Two classes on the diagonals of a square, which no line tells apart."""
    corner = random.integers(0, 2, (n, 2))
    return 4.0 * corner + random.normal(size=(n, 2)), corner[:, 0] ^ corner[:, 1]


def test_it_solves_what_a_line_cannot():
    random = np.random.default_rng(0)
    (X, y), (X_new, y_new) = xor(500, random), xor(2000, random)
    assert LogisticRegression().fit(X, y).score(X_new, y_new) < 0.7
    assert RBFNetworkClassifier(random_state=0).fit(X, y).score(X_new, y_new) > 0.93
    assert RBFNetworkClassifier(1).fit(X, y).score(X_new, y_new) < 0.7


def test_the_units_are_the_clusters():
    random = np.random.default_rng(1)
    X, y = xor(4000, random)
    model = RBFNetworkClassifier(random_state=0).fit(X, y)
    order = np.lexsort((model.centers_[:, 0], [0, 0, 1, 1]))
    expected = [[0, 0], [4, 4], [0, 4], [4, 0]]
    np.testing.assert_allclose(model.centers_[order], expected, atol=0.2)
    np.testing.assert_allclose(model.stds_, 1.0, atol=0.1)
    np.testing.assert_allclose(model.priors_, 0.25, atol=0.03)
    assert model.priors_.sum() == pytest.approx(1.0)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 3), st.sampled_from([0.01, 0.5, 2.0]))
def test_memberships_are_those_of_the_gaussians(seed, n_clusters, min_std):
    random = np.random.default_rng(seed)
    X = random.normal(size=(60, 3)) * [1.0, 5.0, 0.2] + [0.0, 10.0, 3.0]
    y = random.integers(0, 2, 60)
    model = RBFNetworkClassifier(n_clusters, min_std=min_std, random_state=seed).fit(X, y)
    q = model.memberships(X)
    np.testing.assert_allclose(q.sum(axis=1), 1.0)
    density = norm.pdf(X[:, None, :], model.centers_, model.stds_).prod(axis=2) * model.priors_
    np.testing.assert_allclose(q, density / density.sum(axis=1, keepdims=True), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.memberships(sparse.csr_array(X)), q, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.decision_function(X), q @ model.coef_[0] + model.intercept_[0])
    assert (model.stds_ >= min_std * X.std(axis=0) * (1 - 1e-9)).all()


def test_a_narrow_unit_takes_the_spread_of_its_class():
    """The positive rows are two points; each unit has none of its own spread, their class has."""
    negative = np.random.default_rng(0).normal(size=(50, 1))
    X, y = np.vstack([negative, [[-3.0]] * 10, [[3.0]] * 10]), np.repeat([0, 1, 1], [50, 10, 10])
    model = RBFNetworkClassifier(random_state=0).fit(X, y)
    np.testing.assert_allclose(np.sort(model.centers_[2:, 0]), [-3.0, 3.0])
    np.testing.assert_allclose(model.stds_[2:], 3.0)
    constant = RBFNetworkClassifier(random_state=0).fit(np.vstack([negative, [[3.0]] * 10]), y[:60])
    assert len(constant.centers_) == 3  # one point is one cluster
    assert constant.stds_[2, 0] == pytest.approx(0.1 * np.vstack([negative, [[3.0]] * 10]).std())


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 10**6))
def test_sparse_and_dense_are_the_same(seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(80, 6)) * (random.uniform(size=(80, 6)) < 0.4)
    y = random.integers(0, 2, 80)
    dense = RBFNetworkClassifier(random_state=seed, ridge=1e-3).fit(X, y)
    for kind in (sparse.csr_array, sparse.csc_matrix):
        model = RBFNetworkClassifier(random_state=seed, ridge=1e-3).fit(kind(X), y)
        np.testing.assert_allclose(model.centers_, dense.centers_, atol=1e-9)
        np.testing.assert_allclose(model.stds_, dense.stds_, atol=1e-9)
        np.testing.assert_allclose(model.predict_proba(kind(X)), dense.predict_proba(X), atol=1e-5)


def first_and_last(X, n_clusters, random_state):
    """Initial centers at the two ends of a class."""
    assert n_clusters == 2
    assert isinstance(random_state, np.random.RandomState)
    return X[[0, -1]]


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_initial_centers_from_a_function_or_an_array(kind):
    malignant, benign = np.flatnonzero(Y == 0), np.flatnonzero(Y == 1)
    rows = [malignant[0], malignant[-1], benign[0], benign[-1]]
    by_function = RBFNetworkClassifier(init=first_and_last).fit(kind(X), Y)
    by_array = RBFNetworkClassifier(init=X[rows]).fit(kind(X), Y)
    np.testing.assert_allclose(by_function.centers_, by_array.centers_, rtol=1e-9)
    np.testing.assert_allclose(by_function.predict_proba(kind(X)), by_array.predict_proba(kind(X)), atol=1e-6)
    others = RBFNetworkClassifier(init=X[INITIAL_ROWS]).fit(kind(X), Y)
    assert np.abs(others.predict_proba(kind(X)) - by_array.predict_proba(kind(X))).max() > 0.01


def test_the_first_centers_are_those_of_the_negative_class():
    random = np.random.default_rng(2)
    X, y = xor(400, random)
    model = RBFNetworkClassifier(init=[[0, 0], [4, 4], [0, 4], [4, 0]]).fit(X, y)
    np.testing.assert_allclose(model.centers_, [[0, 0], [4, 4], [0, 4], [4, 0]], atol=0.5)


def test_the_regression_is_at_its_optimum():
    model = RBFNetworkClassifier(random_state=0, ridge=1e-3).fit(X, Y)
    q = model.memberships(X)
    residual = model.predict_proba(X)[:, 1] - Y
    gradient = (q - q.mean(axis=0)).T @ residual + 2e-3 * model.coef_[0] * q.var(axis=0)
    assert np.abs(gradient).max() < 1e-5
    assert residual.sum() == pytest.approx(0.0, abs=1e-5)


def test_the_same_seed_gives_the_same_model():
    probabilities = [RBFNetworkClassifier(random_state=3).fit(X, Y).predict_proba(X) for _ in range(2)]
    np.testing.assert_array_equal(*probabilities)
    order = np.random.default_rng(0).permutation(len(Y))
    shuffled = RBFNetworkClassifier(random_state=3).fit(X[order], Y[order])
    np.testing.assert_allclose(shuffled.predict_proba(X), probabilities[0], atol=1e-6)


def test_weights_of_whole_numbers_are_repeated_rows():
    counts = np.random.default_rng(0).integers(0, 4, len(Y))
    rows = np.repeat(np.arange(len(Y)), counts)
    weighted = RBFNetworkClassifier(random_state=0).fit(X, Y, sample_weight=counts)
    repeated = RBFNetworkClassifier(random_state=0).fit(X[rows], Y[rows])
    np.testing.assert_allclose(weighted.centers_, repeated.centers_, rtol=1e-9)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


def test_constant_columns_do_no_harm():
    padded = np.column_stack([np.zeros(len(X)), X, np.ones(len(X))])
    plain = RBFNetworkClassifier(init=X[INITIAL_ROWS]).fit(X, Y)
    for kind in (np.asarray, sparse.csr_array):
        model = RBFNetworkClassifier(init=padded[INITIAL_ROWS]).fit(kind(padded), Y)
        np.testing.assert_allclose(model.predict_proba(kind(padded)), plain.predict_proba(X), atol=1e-5)


def test_labels_of_any_kind():
    names = np.where(Y == 1, "benign", "malignant")
    frame = pytest.importorskip("pandas").DataFrame(X).add_prefix("x")
    model = RBFNetworkClassifier(random_state=0).fit(frame, names)
    assert list(model.classes_) == ["benign", "malignant"]
    proba = model.predict_proba(frame)
    np.testing.assert_array_equal(model.predict(frame), model.classes_[proba.argmax(axis=1)])


def test_more_clusters_than_rows():
    model = RBFNetworkClassifier(5).fit([[0.0], [1.0], [5.0]], [0, 0, 1])
    assert model.centers_.shape == (3, 1)
    assert list(model.predict([[0.5], [5.0]])) == [0, 1]


def test_inside_scikit_learn():
    assert cross_val_score(RBFNetworkClassifier(random_state=0), X, Y, cv=5).mean() > 0.9
    model = RBFNetworkClassifier(random_state=0).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_invalid_input_is_refused():
    with pytest.raises(InvalidInputError, match="only one class"):
        RBFNetworkClassifier().fit(X, np.ones(len(X)))
    with pytest.raises(InvalidInputError, match="only one class"):
        RBFNetworkClassifier().fit(X, Y, sample_weight=Y)
    with pytest.raises(ValueError, match="at least one"):
        RBFNetworkClassifier().fit(X, Y, sample_weight=np.zeros(len(Y)))
    with pytest.raises(ValueError, match="Input X contains NaN"):
        RBFNetworkClassifier().fit(np.where(X > 20, np.nan, X), Y)
    with pytest.raises(InvalidInputError, match=r"\(2 \* n_clusters, n_features\) with 30 .*\(2, 30\)"):
        RBFNetworkClassifier(init=X[:2]).fit(X, Y)
    with pytest.raises(InvalidInputError, match=r"got float64 of shape \(4, 30\)"):
        RBFNetworkClassifier(init=np.full((4, 30), np.nan)).fit(X, Y)
    for centers in (X[:0], X[:2, :3], 1.0):
        with pytest.raises(InvalidInputError, match=r"shape \(n_clusters, n_features\) with 30 features"):
            RBFNetworkClassifier(init=lambda *_, centers=centers: centers).fit(X, Y)
