"""SVMPerfClassifierCV: its choice against folds and fits made one by one."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, make_circles, make_classification
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from capo import SVMPerfClassifier, SVMPerfClassifierCV
from capo.exceptions import InvalidInputError

from ..cases import make_noise_in_groups

X, Y = make_classification(300, n_informative=4, flip_y=0.1, weights=[0.7], random_state=3)
TO_THE_LAST_DIGIT = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)


@parametrize_with_checks([SVMPerfClassifierCV(Cs=[1.0, 10.0], extend_grid=False, cv=2, random_state=0)])
def test_scikit_learns_own_checks(estimator, check):
    if check.func.__name__ in TO_THE_LAST_DIGIT:
        pytest.skip("folds of repeated rows are other folds than those of weighted rows")
    check(estimator)


def by_hand(measure, C, kernel, gamma, cut):
    """The pooled value of cold fits, fold by fold; `cut` judges labels or scores."""
    scores = np.zeros(len(Y))
    for train, test in StratifiedKFold(4).split(X, Y):
        model = SVMPerfClassifier(measure, C=C, kernel=kernel, gamma=gamma, tol=1e-5).fit(X[train], Y[train])
        raw = model.decision_function(X) + model.threshold_
        scores[test] = (
            raw[test] / raw[train].std() if cut else (raw[test] - raw[train].mean()) / raw[train].std()
        )
    return f1_score(Y, scores > 0) if cut else roc_auc_score(Y, scores)


@pytest.mark.slow
@pytest.mark.parametrize(("kernel", "gamma"), [("linear", "scale"), ("rbf", 0.05)])
@pytest.mark.parametrize(("measure", "cut"), [("f1", True), ("roc_auc", False)])
def test_every_value_is_that_of_fits_made_one_by_one(measure, cut, kernel, gamma):
    Cs = [30.0, 300.0, 3000.0]
    model = SVMPerfClassifierCV(
        measure,
        Cs=Cs,
        kernel=kernel,
        gammas=[0.05],
        cv=StratifiedKFold(4),
        extend_grid=False,
        tol=1e-5,
    ).fit(X, Y)
    expected = [by_hand(measure, C, kernel, gamma, cut) for C in Cs]
    # In cross-validation the gap is coarser, and a small C of F1 leaves many equal solutions.
    np.testing.assert_allclose(model.cv_results_["test_score"], expected, atol=0.03)
    assert model.score_ == model.cv_results_["test_score"].max()
    assert Cs.index(model.C_) == np.argmax(model.cv_results_["test_score"])


def test_a_circle_takes_the_kernel():
    circle, inside = make_circles(300, noise=0.1, factor=0.4, random_state=0)
    linear = SVMPerfClassifierCV("f1", Cs=[1, 100], random_state=0).fit(circle, inside)
    kernel = SVMPerfClassifierCV("f1", Cs=[1, 100], kernel="rbf", random_state=0).fit(circle, inside)
    assert linear.gamma_ is None
    assert kernel.score(circle, inside) > 0.95 > linear.score(circle, inside)
    assert kernel.gamma_ in set(kernel.cv_results_["param_gamma"])
    assert len(set(kernel.cv_results_["param_gamma"])) == 5


def test_the_grid_goes_on_while_the_best_is_at_its_end():
    data, target = load_breast_cancer(return_X_y=True)
    short = SVMPerfClassifierCV("prbep", Cs=[1e-3, 2e-3], random_state=0).fit(scale(data), target)
    tried = short.cv_results_["param_C"]
    assert len(tried) > 2
    ratios = np.unique(np.round(tried / 1e-3, 9))
    assert set(ratios) <= {2.0**k for k in range(-5, 7)}
    fixed = SVMPerfClassifierCV("prbep", Cs=[1e-3, 2e-3], extend_grid=False, random_state=0).fit(data, target)
    assert len(fixed.cv_results_["param_C"]) == 2


def test_sparse_tables_give_what_dense_ones_give():
    thin = np.where(np.abs(X) > 1, X, 0.0)
    dense = SVMPerfClassifierCV(Cs=[10, 100], extend_grid=False, random_state=0).fit(thin, Y)
    slim = SVMPerfClassifierCV(Cs=[10, 100], extend_grid=False, random_state=0).fit(sparse.csr_array(thin), Y)
    assert dense.C_ == slim.C_
    np.testing.assert_allclose(dense.decision_function(thin), slim.decision_function(sparse.csr_array(thin)))


@pytest.mark.parametrize("Cs", [[], [-1.0], [0.0, 1.0], "all", [np.nan]])
def test_bad_grids_get_a_sentence(Cs):
    with pytest.raises((InvalidInputError, ValueError), match="C"):
        SVMPerfClassifierCV(Cs=Cs).fit(X, Y)


@pytest.mark.parametrize("gammas", [[], [-1.0, 1.0], "wide"])
def test_bad_widths_get_a_sentence(gammas):
    with pytest.raises((InvalidInputError, ValueError), match="gammas"):
        SVMPerfClassifierCV(kernel="rbf", gammas=gammas).fit(X, Y)


def test_rows_of_weight_zero_do_not_widen_the_kernel():
    far = np.vstack([X, 1000.0 * X[:20]])
    weight = np.append(np.ones(len(Y)), np.zeros(20))
    model = SVMPerfClassifierCV(kernel="rbf", Cs=[10.0], extend_grid=False, random_state=0)
    widths = model.fit(far, np.append(Y, Y[:20]), weight).cv_results_["param_gamma"]
    alone = model.fit(X, Y).cv_results_["param_gamma"]
    np.testing.assert_allclose(widths.astype(float), alone.astype(float), rtol=1e-6)


def test_groups_are_held_out_together():
    data, target, groups = make_noise_in_groups(5)
    model = SVMPerfClassifierCV(
        "roc_auc", kernel="rbf", Cs=[1000.0], gammas=[2.0], extend_grid=False, random_state=0
    )
    assert model.fit(data, target, groups=groups).score_ < 0.7
    assert model.fit(data, target).score_ > 0.95
    with pytest.raises(InvalidInputError, match="one entry per row"):
        model.fit(data, target, groups=groups[:9])
