"""CostSVMClassifier against scikit-learn's own grid search."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from capo.baselines import CostSVMClassifier

from ..cases import make_noise_in_groups

X, Y = make_classification(240, n_informative=4, flip_y=0.1, weights=[0.8], random_state=1)
FOLDS = StratifiedKFold(3)


@parametrize_with_checks(
    [
        CostSVMClassifier(Cs=[0.1, 1.0], costs=[1, 2], cv=2, random_state=0),
        CostSVMClassifier(kernel="rbf", Cs=[1.0], costs=[1, 2], gammas=[0.1], cv=2, random_state=0),
    ]
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("measure", "scoring"), [("f1", "f1"), ("roc_auc", "roc_auc"), ("accuracy", "accuracy")]
)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_choice_is_that_of_a_grid_search(measure, scoring, kernel):
    Cs, costs, gammas = [0.03, 1.0, 8.0], [0.5, 1.0, 4.0], [0.02, 0.2]
    model = CostSVMClassifier(measure, kernel=kernel, Cs=Cs, costs=costs, gammas=gammas, cv=FOLDS).fit(X, Y)
    grid = {"C": Cs, "class_weight": [{0: 1.0, 1: cost} for cost in costs]}
    machine = LinearSVC(random_state=0)
    if kernel == "rbf":
        grid["gamma"], machine = gammas, SVC()
    search = GridSearchCV(machine, grid, scoring=scoring, cv=FOLDS).fit(X, Y)
    assert model.score_ == pytest.approx(search.best_score_, abs=2e-3)
    chosen = {"C": model.C_, "class_weight": {0: 1.0, 1: model.cost_}}
    if kernel == "rbf":
        chosen["gamma"] = model.gamma_
    at = search.cv_results_["params"].index(chosen)
    assert search.cv_results_["mean_test_score"][at] == pytest.approx(search.best_score_, abs=2e-3)


def test_the_last_fit_has_all_rows_and_the_choice_a_share():
    model = CostSVMClassifier(
        "f1", kernel="rbf", Cs=[1.0], costs=[1.0], gammas=[0.1], max_rows=100, random_state=0
    )
    model.fit(X, Y)
    whole = SVC(C=1.0, gamma=0.1, class_weight={False: 1.0, True: 1.0}).fit(X, Y == 1)
    np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X))


def test_another_measure_remembers_the_folds(tmp_path):
    same = {"Cs": [0.1, 1.0], "costs": [1, 4], "memory": str(tmp_path), "random_state": 0}
    first = CostSVMClassifier("f1", **same).fit(X, Y)
    second = CostSVMClassifier("roc_auc", **same).fit(X, Y)
    assert first.selection_seconds_ == second.selection_seconds_
    alone = CostSVMClassifier("roc_auc", **{**same, "memory": None}).fit(X, Y)
    assert (alone.C_, alone.cost_) == (second.C_, second.cost_)


def test_sparse_tables_work():
    thin = sparse.csr_array(np.where(np.abs(X) > 1, X, 0.0))
    for kernel in ("linear", "rbf"):
        model = CostSVMClassifier("prbep", kernel=kernel, Cs=[1.0], costs=[1.0, 2.0], random_state=0).fit(
            thin, Y
        )
        assert model.score(thin, Y) > 0.4  # twice the share of positives


@pytest.mark.parametrize("name", ["Cs", "costs", "gammas"])
@pytest.mark.parametrize("values", [[], [-2.0], [0.0, 1.0], [np.inf], [[1.0]]])
def test_bad_grids_get_a_sentence(name, values):
    with pytest.raises(ValueError, match=f"{name} must be a list of at least one number above 0"):
        CostSVMClassifier(kernel="rbf", **{name: values}).fit(X, Y)


def test_folds_of_all_rows_need_all_rows():
    folds = list(StratifiedKFold(3).split(X, Y))
    with pytest.raises(ValueError, match="max_rows=None"):
        CostSVMClassifier(Cs=[1.0], costs=[1.0], cv=folds, max_rows=100).fit(X, Y)
    assert CostSVMClassifier(Cs=[1.0], costs=[1.0], cv=folds, max_rows=None).fit(X, Y).C_ == 1.0


def test_dense_and_sparse_rows_and_long_indices():
    table = sparse.csr_array(X)
    table.indices, table.indptr = table.indices.astype(np.int64), table.indptr.astype(np.int64)
    for kernel in ("linear", "rbf"):
        same = {"kernel": kernel, "Cs": [1.0], "costs": [1.0], "gammas": [0.1], "random_state": 0}
        dense, thin = CostSVMClassifier(**same).fit(X, Y), CostSVMClassifier(**same).fit(table, Y)
        np.testing.assert_allclose(dense.decision_function(table), dense.decision_function(X))
        np.testing.assert_allclose(thin.decision_function(table), dense.decision_function(X), atol=1e-2)


def test_groups_are_held_out_together():
    data, target, groups = make_noise_in_groups(5)
    model = CostSVMClassifier(
        "roc_auc", kernel="rbf", Cs=[100.0], costs=[1], gammas=[2.0], max_rows=150, random_state=0
    )
    assert model.fit(data, target, groups=groups).score_ < 0.7
    assert model.fit(data, target).score_ > 0.95
    with pytest.raises(ValueError, match="one entry per row"):
        model.fit(data, target, groups=groups[:9])
