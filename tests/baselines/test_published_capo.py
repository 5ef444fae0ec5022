"""CAPO as published: in-sample outputs, and C chosen by folds that repeat the whole procedure."""

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

from capo import SVMPerfClassifier, measures
from capo.baselines import PublishedCAPOClassifier
from capo.baselines._published_capo import fit_in_sample
from capo.learning.cross_fit import Auxiliary, JobRunner, TrainingSet
from capo.learning.outputs import LabelOutput

X, Y = make_classification(600, n_features=8, n_informative=4, weights=[0.8], flip_y=0.1, random_state=0)
AUXILIARIES = [("bayes", GaussianNB()), ("tree", DecisionTreeClassifier(max_depth=3, random_state=0))]
BY_HEART = ("by_heart", DecisionTreeClassifier(random_state=0))


def published(measure="f1", **params):
    """The published problem: labels of the training rows, no prior, free signs, a threshold of 0."""
    settings = {"auxiliaries": AUXILIARIES, "delta": FunctionTransformer(), "random_state": 0}
    return PublishedCAPOClassifier(measure, **{**settings, **params})


def wide(models, X):
    """The auxiliaries' labels as columns before those of the table."""
    return np.column_stack([*(np.where(each.predict(X) == 1, 1.0, -1.0) for each in models), X])


def at_zero(svm, X):
    """Who is positive where the problem was solved for it, whatever threshold the classifier keeps."""
    return X @ svm.coef_[0] + svm.solution_.v[-1] > 0


def test_the_columns_are_labels_of_the_rows_trained_on():
    model = published(C=[10.0]).fit(X, Y)
    assert set(np.unique(model.auxiliary_outputs_)) == {-1.0, 1.0}
    in_sample = clone(AUXILIARIES[1][1]).fit(X, Y).predict(X)
    np.testing.assert_array_equal(model.auxiliary_outputs_[:, 1] > 0, in_sample == 1)
    assert model.cv_results_["param_C"].tolist() == [10.0]


@pytest.mark.parametrize("measure", ["f1", "accuracy", "mcc"])
def test_it_is_svmperf_on_the_augmented_table(measure):
    model = published(measure, C=100.0, tol=1e-7).fit(X, Y)
    table = wide(model.auxiliaries_.values(), X)
    svm = SVMPerfClassifier(measure, C=100.0, tol=1e-7).fit(table, Y)
    ours = np.array([*model.auxiliary_weights_.values(), *model.delta_coef_.values()])
    theirs = svm.coef_[0]
    np.testing.assert_allclose(ours / np.linalg.norm(ours), theirs / np.linalg.norm(theirs), atol=2e-3)
    assert model.primal_ == pytest.approx(svm.primal_, rel=1e-5)
    assert np.mean(model.predict(X).astype(bool) == at_zero(svm, table)) > 0.99


@pytest.mark.parametrize("measure", ["f1", "accuracy"])
def test_every_fold_repeats_it_whole(measure):
    model = published(measure, C=100.0, tol=1e-7).fit(X, Y)
    predicted = np.zeros(len(Y), dtype=bool)
    for train, test in StratifiedKFold(5, shuffle=True, random_state=np.random.RandomState(0)).split(X, Y):
        models = [clone(each).fit(X[train], Y[train]) for _, each in AUXILIARIES]
        svm = SVMPerfClassifier(measure, C=100.0, tol=1e-7).fit(wide(models, X[train]), Y[train])
        predicted[test] = at_zero(svm, wide(models, X[test]))
    assert np.mean((model.oof_decision_ > 0) == predicted) > 0.99
    value = measures.get(measure).score(Y, np.where(predicted, 1.0, -1.0))
    assert model.score_ == pytest.approx(value, abs=0.01)


@pytest.mark.parametrize("outputs", ["labels", "scores"])
def test_what_it_says_of_itself_is_of_rows_that_nothing_has_seen(outputs):
    X, y = make_classification(2000, n_features=10, flip_y=0.3, random_state=0)
    auxiliaries = [BY_HEART, ("linear", LogisticRegression())]
    model = published("accuracy", auxiliaries=auxiliaries, outputs=outputs, C=[1.0, 100.0])
    model.fit(X[:1000], y[:1000])
    on_new_rows = model.score(X[1000:], y[1000:])
    assert model.auxiliaries_["by_heart"].score(X[:1000], y[:1000]) == 1.0
    assert model.score_ == pytest.approx(on_new_rows, abs=0.04)
    by_heart = model.auxiliary_scores_["by_heart"].value
    assert by_heart < 0.8
    assert by_heart == pytest.approx(model.auxiliaries_["by_heart"].score(X[1000:], y[1000:]), abs=0.04)


def test_probabilities_are_calibrated_on_rows_that_nothing_has_seen():
    X, y = make_classification(6000, n_features=10, flip_y=0.3, random_state=0)
    auxiliaries = [BY_HEART, ("linear", LogisticRegression())]
    model = published(auxiliaries=auxiliaries, outputs="scores", prior="unit", C=1.0)
    share = model.fit(X[:1500], y[:1500]).predict_proba(X[1500:])[:, 1]
    observed, predicted = calibration_curve(y[1500:], share, n_bins=2, strategy="quantile")
    np.testing.assert_allclose(observed, predicted, atol=0.07)
    assert share.max() < 0.9


def test_frozen_auxiliaries_have_the_same_outputs_in_every_fold():
    frozen = [(name, FrozenEstimator(clone(each).fit(X, Y))) for name, each in AUXILIARIES]
    model = published(auxiliaries=frozen, C=100.0, tol=1e-7).fit(X, Y)
    models, predicted = [each for _, each in frozen], np.zeros(len(Y), dtype=bool)
    for train, test in StratifiedKFold(5, shuffle=True, random_state=np.random.RandomState(0)).split(X, Y):
        svm = SVMPerfClassifier("f1", C=100.0, tol=1e-7).fit(wide(models, X[train]), Y[train])
        predicted[test] = at_zero(svm, wide(models, X[test]))
    assert np.mean((model.oof_decision_ > 0) == predicted) > 0.99


def test_one_that_came_trained_is_named():
    auxiliaries = [*AUXILIARIES, ("vendor", FrozenEstimator(clone(BY_HEART[1]).fit(X, Y)))]
    summary = str(published(auxiliaries=auxiliaries, C=1.0).fit(X, Y).summary())
    assert "auxiliaries passed already fitted: vendor; the out-of-fold values are valid only if" in summary
    assert "already fitted" not in str(published(C=1.0).fit(X, Y).summary())


def test_each_fold_predicts_all_rows():
    splits = list(StratifiedKFold(3).split(X, Y))
    auxiliaries = [
        Auxiliary("bayes", GaussianNB(), {}),
        Auxiliary("frozen", FrozenEstimator(clone(BY_HEART[1]).fit(X, Y)), {}),
    ]
    training = TrainingSet(X, (Y == 1).astype(int), np.array([0, 1]), splits)
    fitted = fit_in_sample(JobRunner(auxiliaries, training, LabelOutput()))
    assert fitted.fold_outputs.shape == (3, len(Y), 2)
    for outputs, (train, _) in zip(fitted.fold_outputs, splits, strict=True):
        expected = GaussianNB().fit(X[train], Y[train]).predict(X)
        np.testing.assert_array_equal(outputs[:, 0], np.where(expected == 1, 1.0, -1.0))
        np.testing.assert_array_equal(outputs[:, 1], np.where(Y == 1, 1.0, -1.0))
    np.testing.assert_array_equal(
        fitted.raw_outputs[:, 0], np.where(GaussianNB().fit(X, Y).predict(X) == 1, 1.0, -1.0)
    )


def test_the_best_auxiliaries_are_those_on_rows_held_out():
    by_heart = ("by_heart", DecisionTreeClassifier(random_state=0, max_features=1))
    poor = ("poor", DummyClassifier(strategy="stratified", random_state=0))
    X, y = make_classification(600, n_features=10, flip_y=0.4, random_state=0)
    given = [by_heart, poor, ("linear", LogisticRegression())]
    model = published("accuracy", auxiliaries=given, max_auxiliaries=1, C=[10.0]).fit(X, y)
    assert list(model.auxiliary_weights_) == ["linear"]
    assert model.auxiliary_outputs_.shape == (600, 1)


def test_a_grid_is_extended_only_if_asked():
    fixed = published(C=[1e-3, 2e-3]).fit(X, Y)
    longer = published(C=[1e-3, 2e-3], extend_grid=True).fit(X, Y)
    assert fixed.cv_results_["param_C"].tolist() == [1e-3, 2e-3]
    tried = longer.cv_results_["param_C"]
    assert len(tried) > 2
    powers = np.log2(tried / 1e-3)
    np.testing.assert_allclose(powers, np.round(powers), atol=1e-9)


def test_the_unit_prior_fixes_the_weights_and_learns_the_delta_alone():
    model = PublishedCAPOClassifier("f1", auxiliaries=[GaussianNB()], prior="unit", C=50.0).fit(X, Y)
    w = np.array(list(model.delta_coef_.values()))
    assert model.C_ == 50.0
    assert w.any()
    # Only the scale of the whole is free: relative to the auxiliary, the delta is the solver's solution.
    ratio = w / model.auxiliary_weights_["gaussiannb"]
    np.testing.assert_allclose(ratio, model.solution_.v[:-1], rtol=1e-9)


@pytest.mark.parametrize("prior", ["zero", "unit"])
def test_constant_scores_are_predicted_as_they_were_evaluated(prior):
    constant = [DummyClassifier(strategy="prior")]
    model = PublishedCAPOClassifier("f1", auxiliaries=constant, C=1.0, delta=None, prior=prior, cv=3).fit(
        X, Y
    )
    assert len(set(model.predict(X))) == 1
    assert abs(model.auxiliary_weights_["dummyclassifier"]) < 1e3


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 0.0}, "no classifier"),
        ({"C": [0.0, 1.0]}, "no classifier"),
        ({"outputs": "votes"}, "outputs"),
        ({"prior": "stack"}, "prior"),
        ({"max_auxiliaries": 0}, "max_auxiliaries"),
    ],
)
def test_parameters_that_make_no_sense(params, message):
    with pytest.raises(ValueError, match=message):
        PublishedCAPOClassifier(auxiliaries=AUXILIARIES, **params).fit(X, Y)


def test_only_the_best_auxiliaries_are_kept():
    poor = [(f"poor{i}", DummyClassifier(strategy="stratified", random_state=i)) for i in range(3)]
    model = published("roc_auc", auxiliaries=[poor[0], *AUXILIARIES, *poor[1:]], max_auxiliaries=2, C=10.0)
    model.fit(X, Y)
    assert list(model.auxiliary_weights_) == ["bayes", "tree"]
    assert model.auxiliary_outputs_.shape == (600, 2)
