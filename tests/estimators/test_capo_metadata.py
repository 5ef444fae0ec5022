"""Weights, groups and folds of CAPOClassifier, with and without metadata routing."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, ShuffleSplit, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from capo import CAPOClassifier
from capo.baselines import PublishedCAPOClassifier
from capo.exceptions import DataWarning, IgnoredWeightWarning, InvalidInputError

from ..cases import make_noise_in_groups
from .capo_cases import NOISY, X, Y, light


def test_weights_of_rows_count():
    X, y = NOISY
    weight = np.where(y == 1, 4.0, 1.0)
    plain, weighted = light("accuracy").fit(X, y), light("accuracy").fit(X, y, sample_weight=weight)
    assert weighted.predict(X).mean() > plain.predict(X).mean() + 0.02
    share = np.average(weighted.predict_proba(X)[:, 1], weights=weight)
    assert share == pytest.approx(np.average(y, weights=weight), abs=0.05)
    with pytest.raises(ValueError, match="at least one"):
        light().fit(X, y, sample_weight=np.zeros(len(y)))


def test_the_unit_of_the_weights_does_not_matter():
    X, y = NOISY
    model = CAPOClassifier(auxiliaries=[GaussianNB()], C=0.0, delta=None, cv=3, random_state=0)
    shares = [
        model.fit(X, y, sample_weight=np.full(len(y), unit)).predict_proba(X)[:, 1]
        for unit in (1.0, 1.0 / len(y), 1e-6, 1e6)
    ]
    for other in shares[1:]:
        np.testing.assert_allclose(other, shares[0], atol=0.02)


def test_an_auxiliary_without_weights_is_told_of():
    X, y = NOISY
    with pytest.warns(IgnoredWeightWarning, match="'kneighborsclassifier'.* does not take sample_weight"):
        CAPOClassifier(auxiliaries=[KNeighborsClassifier()], C=0.0, cv=2).fit(
            X, y, sample_weight=np.ones(len(y))
        )


def test_weights_are_routed_to_who_asks():
    X, y = NOISY
    weight = np.where(y == 1, 9.0, 1.0)
    with config_context(enable_metadata_routing=True):
        asks = LogisticRegression(max_iter=500).set_fit_request(sample_weight=True)
        quiet = LogisticRegression(max_iter=500).set_fit_request(sample_weight=False)
        model = CAPOClassifier(auxiliaries=[("asks", asks), ("quiet", quiet)], C=[1.0], cv=3)
        model = model.set_fit_request(sample_weight=True).fit(X, y, sample_weight=weight)
    assert model.auxiliaries_["asks"].intercept_ > model.auxiliaries_["quiet"].intercept_ + 1.0


def test_weights_reach_the_default_auxiliaries_with_routing():
    X, y = NOISY
    with config_context(enable_metadata_routing=True):
        model = CAPOClassifier(C=1.0, cv=2, random_state=0).set_fit_request(sample_weight=True)
        routed = model.fit(X[:100], y[:100], sample_weight=np.ones(100)).decision_function(X)
    plain = CAPOClassifier(C=1.0, cv=2, random_state=0).fit(X[:100], y[:100], sample_weight=np.ones(100))
    np.testing.assert_allclose(routed, plain.decision_function(X))


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("estimator", [CAPOClassifier, PublishedCAPOClassifier])
def test_groups_are_kept_together_by_default(estimator, routing):
    data, target, groups = make_noise_in_groups(10)
    nearest = [KNeighborsClassifier(1)]
    with config_context(enable_metadata_routing=routing):
        model = estimator("roc_auc", auxiliaries=nearest, delta=None, C=1.0, random_state=0)
        grouped = model.fit(data, target, groups=groups).score_
        assert grouped < 0.75
        with pytest.warns(DataWarning, match="100% of the rows have an exact copy in another fold"):
            assert model.fit(data, target).score_ > 0.95


def test_groups_that_cannot_be_split():
    data, target = NOISY
    with pytest.raises(InvalidInputError, match="at least 2 groups with rows of each class"):
        light().fit(data, target, groups=target)
    with pytest.raises(InvalidInputError, match="one entry per row"):
        light().fit(data, target, groups=target[:9])


def test_groups_stay_together_with_and_without_routing():
    X, y = NOISY
    groups = np.arange(len(y)) // 20
    cv = GroupKFold(4)
    told = light(cv=cv, C=[1.0]).fit(X, y, groups=groups)
    with config_context(enable_metadata_routing=True):
        routed = light(cv=cv, C=[1.0]).fit(X, y, groups=groups)
    np.testing.assert_array_equal(told.oof_decision_, routed.oof_decision_)
    with pytest.raises(ValueError, match="groups"):
        light(cv=cv).fit(X, y)
    with pytest.raises(TypeError, match="group"):
        light().fit(X, y, group=groups)


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (ShuffleSplit(3, random_state=0), "at most once"),
        ([(np.arange(0, 569, 2), np.arange(1, 569, 2))], "at most once"),
        (
            [(np.arange(200), np.arange(200, 569)), (np.arange(200, 569), np.arange(200))],
            "only one class in the training rows",
        ),
    ],
)
def test_folds_that_cannot_be_used(cv, message):
    order = np.argsort(Y, kind="stable")
    with pytest.raises(InvalidInputError, match=message):
        light(cv=cv).fit(X[order], Y[order])


def test_a_fold_without_positives():
    X, y = NOISY
    negatives = np.flatnonzero(y == 0)[:100]
    others = np.setdiff1d(np.arange(len(y)), negatives)
    cv = [(np.setdiff1d(np.arange(len(y)), part), part) for part in (negatives, others[::2], others[1::2])]
    for measure in ("f1", "roc_auc", "prbep"):
        model = light(measure, cv=cv).fit(X, y)
        assert np.isfinite([model.score_, model.score_std_, model.threshold_]).all()


def test_a_generator_of_folds_survives_routing():
    X, y = NOISY
    with config_context(enable_metadata_routing=True):
        folds = StratifiedKFold(3).split(X, y)
        assert light(cv=folds, C=[1.0]).fit(X, y).score_ > 0


@pytest.mark.parametrize("measure", ["f1", "roc_auc"])
def test_rows_of_weight_0_are_as_if_left_out(measure):
    X, y = NOISY
    X, y, weight = X[:240], y[:240], np.ones(240)
    weight[150:] = 0
    model = CAPOClassifier(measure, auxiliaries=[LogisticRegression()], delta=None, C=[0, 1], random_state=0)
    left_out = clone(model).fit(X[:150], y[:150], sample_weight=np.ones(150))
    model.fit(X, y, sample_weight=weight)
    assert (model.n_positive_, model.n_negative_) == (y[:150].sum(), 150 - y[:150].sum())
    assert model.summary().title == left_out.summary().title
    assert model.score_ == pytest.approx(left_out.score_)
    assert model.threshold_ == pytest.approx(left_out.threshold_, rel=1e-3)
    np.testing.assert_allclose(model.oof_decision_[:150], left_out.oof_decision_, atol=1e-3)
    assert np.isfinite(model.oof_decision_).all()


def test_rows_of_weight_0_do_not_count_as_rows_of_a_class():
    X, y = NOISY
    X, y, weight = X[:120], np.digitize(X[:120, 0], [-0.5, 0.5]), np.ones(120)
    weight[:90] = 0
    model = CAPOClassifier("f1_macro", auxiliaries=[GaussianNB()], cv=2, random_state=0)
    model.fit(X, y, sample_weight=weight)
    assert model.class_counts_.tolist() == np.bincount(y[90:]).tolist()
    labels = np.column_stack([y == 0, y == 1])
    many = CAPOClassifier("f1_macro", auxiliaries=[GaussianNB()], cv=2, C=0.0, random_state=0)
    many.fit(X, labels, sample_weight=weight)
    assert [each.n_positive for each in many.label_models_] == labels[90:].sum(axis=0).tolist()
