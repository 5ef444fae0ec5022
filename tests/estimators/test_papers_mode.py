"""The paper's mode: auxiliaries read in sample, and what is chosen by folds that repeat all of it."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import calibration_curve
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from capo import CAPOClassifier, SVMPerfClassifier, measures
from capo.auxiliary import Auxiliary, cross_fit
from capo.exceptions import InvalidInputError

X, Y = make_classification(600, n_features=8, n_informative=4, weights=[0.8], flip_y=0.1, random_state=0)
AUXILIARIES = [("bayes", GaussianNB()), ("tree", DecisionTreeClassifier(max_depth=3, random_state=0))]
BY_HEART = ("by_heart", DecisionTreeClassifier(random_state=0))


def papers_mode(measure="f1", **params):
    """The paper's own problem: labels of the rows trained on, no prior, free signs, a cut at 0."""
    settings = {
        "auxiliaries": AUXILIARIES,
        "outputs": "labels",
        "cv": "in-sample",
        "delta": FunctionTransformer(),
        "positive": False,
        "prior": "zero",
        "threshold": "zero",
        "random_state": 0,
    }
    return CAPOClassifier(measure, **{**settings, **params})


def wide(models, X):
    """The auxiliaries' labels as columns before those of the table."""
    return np.column_stack([*(np.where(each.predict(X) == 1, 1.0, -1.0) for each in models), X])


def at_zero(svm, X):
    """Who is positive where the problem was solved for it, whatever threshold the classifier keeps."""
    return X @ svm.coef_[0] + svm.solution_.v[-1] > 0


def test_the_columns_are_labels_of_the_rows_trained_on():
    model = papers_mode(C=[10.0]).fit(X, Y)
    assert set(np.unique(model.auxiliary_outputs_)) == {-1.0, 1.0}
    in_sample = clone(AUXILIARIES[1][1]).fit(X, Y).predict(X)
    np.testing.assert_array_equal(model.auxiliary_outputs_[:, 1] > 0, in_sample == 1)
    assert model.cv_results_["param_C"].tolist() == [10.0]


@pytest.mark.parametrize("measure", ["f1", "accuracy", "mcc"])
def test_it_is_svmperf_on_the_augmented_table(measure):
    model = papers_mode(measure, C=100.0, tol=1e-7).fit(X, Y)
    table = wide(model.auxiliaries_.values(), X)
    svm = SVMPerfClassifier(measure, C=100.0, tol=1e-7).fit(table, Y)
    ours = np.array([*model.auxiliary_weights_.values(), *model.delta_coef_.values()])
    theirs = svm.coef_[0]
    np.testing.assert_allclose(ours / np.linalg.norm(ours), theirs / np.linalg.norm(theirs), atol=2e-3)
    assert model.primal_ == pytest.approx(svm.primal_, rel=1e-5)
    assert np.mean(model.predict(X).astype(bool) == at_zero(svm, table)) > 0.99


@pytest.mark.parametrize("measure", ["f1", "accuracy"])
def test_every_fold_repeats_it_whole(measure):
    model = papers_mode(measure, C=100.0, tol=1e-7).fit(X, Y)
    said = np.zeros(len(Y), dtype=bool)
    for train, test in StratifiedKFold(5, shuffle=True, random_state=np.random.RandomState(0)).split(X, Y):
        models = [clone(each).fit(X[train], Y[train]) for _, each in AUXILIARIES]
        svm = SVMPerfClassifier(measure, C=100.0, tol=1e-7).fit(wide(models, X[train]), Y[train])
        said[test] = at_zero(svm, wide(models, X[test]))
    assert np.mean((model.oof_decision_ > 0) == said) > 0.99
    value = measures.get(measure).score(Y, np.where(said, 1.0, -1.0))
    assert model.score_ == pytest.approx(value, abs=0.01)


@pytest.mark.parametrize("outputs", ["labels", "scores"])
def test_what_it_says_of_itself_is_of_rows_that_nothing_has_seen(outputs):
    X, y = make_classification(2000, n_features=10, flip_y=0.3, random_state=0)
    auxiliaries = [BY_HEART, ("linear", LogisticRegression())]
    model = papers_mode("accuracy", auxiliaries=auxiliaries, outputs=outputs, C=[1.0, 100.0])
    model.fit(X[:1000], y[:1000])
    on_new_rows = model.score(X[1000:], y[1000:])
    assert model.auxiliaries_["by_heart"].score(X[:1000], y[:1000]) == 1.0
    assert model.score_ == pytest.approx(on_new_rows, abs=0.04)
    assert model.auxiliary_scores_[0].value < 0.8
    np.testing.assert_allclose(
        model.auxiliary_scores_[0].value, model.auxiliaries_["by_heart"].score(X[1000:], y[1000:]), atol=0.04
    )


def test_probabilities_are_calibrated_on_rows_that_nothing_has_seen():
    X, y = make_classification(6000, n_features=10, flip_y=0.3, random_state=0)
    auxiliaries = [BY_HEART, ("linear", LogisticRegression())]
    model = CAPOClassifier("f1", auxiliaries=auxiliaries, cv="in-sample", random_state=0)
    share = model.fit(X[:1500], y[:1500]).predict_proba(X[1500:])[:, 1]
    found, said = calibration_curve(y[1500:], share, n_bins=2, strategy="quantile")
    np.testing.assert_allclose(found, said, atol=0.07)
    assert share.max() < 0.9


def test_auxiliaries_that_are_not_trained_say_the_same_in_every_fold():
    frozen = [(name, FrozenEstimator(clone(each).fit(X, Y))) for name, each in AUXILIARIES]
    in_sample = papers_mode(auxiliaries=frozen, C=[1.0, 100.0]).fit(X, Y)
    folds = papers_mode(auxiliaries=frozen, C=[1.0, 100.0], cv=5).fit(X, Y)
    np.testing.assert_array_equal(in_sample.oof_decision_, folds.oof_decision_)
    np.testing.assert_array_equal(in_sample.predict(X), folds.predict(X))


def test_one_that_came_trained_is_named():
    auxiliaries = [*AUXILIARIES, ("vendor", FrozenEstimator(clone(BY_HEART[1]).fit(X, Y)))]
    summary = str(papers_mode(auxiliaries=auxiliaries, C=1.0).fit(X, Y).summary())
    assert "vendor came trained: its values hold only if it has not seen these rows" in summary
    assert "came trained" not in str(papers_mode(C=1.0).fit(X, Y).summary())


def test_groups_are_refused_with_the_way_out():
    with pytest.raises(InvalidInputError, match=r"part the groups.*GroupKFold"):
        papers_mode(C=1.0).fit(X, Y, groups=np.arange(len(Y)) // 2)


def test_each_fold_is_read_on_all_rows():
    splits = list(StratifiedKFold(3).split(X, Y))
    given = [
        Auxiliary("bayes", GaussianNB(), {}),
        Auxiliary("frozen", FrozenEstimator(clone(BY_HEART[1]).fit(X, Y)), {}),
    ]
    fitted = cross_fit(given, X, Y, splits, np.array([0, 1]), "labels", in_sample=True)
    assert fitted.by_fold.shape == (3, len(Y), 2)
    for by_fold, (train, _) in zip(fitted.by_fold, splits, strict=True):
        expected = GaussianNB().fit(X[train], Y[train]).predict(X)
        np.testing.assert_array_equal(by_fold[:, 0], np.where(expected == 1, 1.0, -1.0))
        np.testing.assert_array_equal(by_fold[:, 1], np.where(Y == 1, 1.0, -1.0))
    np.testing.assert_array_equal(
        fitted.columns[:, 0], np.where(GaussianNB().fit(X, Y).predict(X) == 1, 1.0, -1.0)
    )
    assert cross_fit(given, X, Y, splits, np.array([0, 1]), "labels").by_fold is None


def test_the_best_auxiliaries_are_those_on_rows_held_out():
    by_heart = ("by_heart", DecisionTreeClassifier(random_state=0, max_features=1))
    poor = ("poor", DummyClassifier(strategy="stratified", random_state=0))
    X, y = make_classification(600, n_features=10, flip_y=0.4, random_state=0)
    given = [by_heart, poor, ("linear", LogisticRegression())]
    model = papers_mode("accuracy", auxiliaries=given, max_auxiliaries=1, C=[10.0]).fit(X, y)
    assert list(model.auxiliary_weights_) == ["linear"]
    assert model.auxiliary_outputs_.shape == (600, 1)


def test_a_grid_is_extended_only_if_asked():
    fixed = papers_mode(C=[1e-3, 2e-3]).fit(X, Y)
    longer = papers_mode(C=[1e-3, 2e-3], extend=True).fit(X, Y)
    assert fixed.cv_results_["param_C"].tolist() == [1e-3, 2e-3]
    tried = longer.cv_results_["param_C"]
    assert len(tried) > 2
    powers = np.log2(tried / 1e-3)
    np.testing.assert_allclose(powers, np.round(powers), atol=1e-9)
