"""Many labels: CAPOClassifier with a label matrix."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import capo
from capo import CAPOClassifier
from capo.decisions import expected_value
from capo.exceptions import InvalidInputError
from capo.learning.auxiliaries import LabelwiseClassifier, default_auxiliary_names
from capo.measures import multiclass, multilabel

X, Y = make_multilabel_classification(240, n_features=8, n_classes=4, random_state=0)
TRAIN, TEST = slice(0, 160), slice(160, None)
LIGHT = [GaussianNB(), ExtraTreesClassifier(5, random_state=0)]


def light(measure="f1_macro", **params):
    return CAPOClassifier(measure, auxiliaries=LIGHT, **{"cv": 3, "random_state": 0, **params})


@parametrize_with_checks([CAPOClassifier(auxiliaries=[GaussianNB()], C=0.0, cv=2, random_state=0)])
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_own_checks_of_several_outputs(estimator, check):
    """The checks of one output are those of tests of two and of many classes."""
    if check.func.__name__ == "check_classifier_multioutput":
        pytest.skip("labels are predicted above thresholds for the measure, not above 0.5")
    if "multilabel" in check.func.__name__:
        check(estimator)


@pytest.fixture(scope="module")
def fitted():
    return light(C=0.0).fit(X[TRAIN], Y[TRAIN])


def test_a_label_matrix_needs_no_other_class(fitted):
    labels = fitted.predict(X[TEST])
    assert labels.shape == (80, 4)
    assert fitted.score(X[TEST], Y[TEST]) == pytest.approx(f1_score(Y[TEST], labels, average="macro"))
    assert np.array_equal(labels, fitted.decision_function(X[TEST]) > 0)
    assert np.array_equal(labels, fitted.predict_proba(X[TEST]) > fitted.thresholds_)
    assert fitted.score_ == pytest.approx(f1_score(Y[TRAIN], fitted.oof_decision_ > 0, average="macro"))
    assert fitted.value_ <= fitted.bound_ < fitted.value_ + 0.05
    assert fitted.auxiliary_outputs(X).shape == (240, 2, 4)


def test_each_label_is_the_binary_adaptation():
    """One label with the same folds, auxiliaries and C is what CAPOClassifier makes of it."""
    cv = list(KFold(3, shuffle=True, random_state=0).split(X))
    auxiliaries = [GaussianNB(), LogisticRegression()]
    many = CAPOClassifier("f1_macro", auxiliaries=auxiliaries, cv=cv, C=0.1, random_state=0).fit(X, Y)
    one = CAPOClassifier("f1", auxiliaries=auxiliaries, cv=cv, C=0.1, random_state=0).fit(X, Y[:, 1])
    np.testing.assert_allclose(many.predict_proba(X)[:, 1], one.predict_proba(X)[:, 1], atol=1e-6)
    assert many.label_models_[1].C == 0.1
    assert many.label_models_[1].gap == pytest.approx(one.gap_)


@pytest.mark.parametrize("measure", ["f1_micro", "f1_samples", "mcc_weighted"])
def test_other_averages(measure, fitted):
    model = light(measure, C=0.0).fit(X[TRAIN], Y[TRAIN])
    assert model.measure_.name == measure
    assert model.value_ <= model.bound_ + 1e-12
    assert model.score(X[TEST], Y[TEST]) > 0.2
    if measure == "f1_micro":
        assert len(set(model.thresholds_.tolist())) == 1
        everything = model.measure_.score(Y[TRAIN] > 0, model.oof_decision_)
        assert everything == pytest.approx(model.score_)


def test_precision_at_k_predicts_k_labels_of_each_row():
    model = light(multilabel.get("precision_at_k", k=2)).fit(X[TRAIN], Y[TRAIN])
    assert (model.predict(X[TEST]).sum(axis=1) == 2).all()


def test_rare_and_constant_labels_are_named():
    labels = pd.DataFrame(Y, columns=["a", "b", "c", "d"])
    labels["none"], labels["all"], labels["one"], labels["five"] = 0, 1, 0, 0
    labels.loc[3, "one"] = 1
    labels.loc[[1, 50, 100, 150, 200], "five"] = 1
    model = light(C=0.0).fit(X, labels)
    assert model.rare_labels_ == ["none", "one", "five"]
    assert model.constant_labels_ == ["none", "all", "one"]
    predicted = model.predict(X)
    assert predicted[:, 4].max() == predicted[:, 6].max() == 0
    assert predicted[:, 5].min() == 1
    text = str(model.summary())
    assert "fewer than 10 positive rows: none, one, five" in text
    assert "base rate, for lack of rows: none, all, one" in text
    assert model.classes_.tolist() == list(labels.columns)


def test_sparse_rows_and_label_matrices():
    model = CAPOClassifier("f1_micro", auxiliaries=["linear", ExtraTreesClassifier(5)], C=0.0, cv=2)
    model.fit(sparse.csr_matrix(X), sparse.csr_matrix(Y))
    assert model.predict(sparse.csr_matrix(X)).shape == Y.shape


def test_the_default_set_is_small_for_many_labels():
    assert default_auxiliary_names(X, "auto", "multilabel", 4) == ["boosting", "trees", "linear", "kernel"]
    assert default_auxiliary_names(X, "auto", "multilabel", 160) == ["trees", "linear"]


def test_a_saved_model_predicts_the_same(fitted, tmp_path):
    pytest.importorskip("skops")
    capo.save(fitted, tmp_path / "labels.capo")
    again = capo.load(tmp_path / "labels.capo")
    assert np.array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert str(again.summary()) == str(fitted.summary())


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (Y[:10], "X has 160 rows, Y has 10"),
        (np.where(Y[TRAIN] == 1, 3, 0), "several columns|must contain only 0 and 1"),
        (Y[TRAIN] + np.arange(160)[:, None] % 3, "several columns"),
        (Y[TRAIN].astype(str), "several columns with other values than 0 and 1"),
        (np.where(Y[TRAIN] == 1, np.nan, 0.0), f"contains NaN: {Y[TRAIN].sum()} of 640 entries are missing"),
        (
            pd.DataFrame(Y[TRAIN] > 0).astype("boolean").mask(Y[TRAIN] > 0),
            f"{Y[TRAIN].sum()} of 640 labels are missing",
        ),
        (pd.DataFrame(Y[TRAIN], columns=["a", "b", "b", "c"]), "different names: 'b'"),
        (np.zeros((160, 3), dtype=int), "nothing to learn"),
        (np.eye(160, 3, dtype=int), "nothing to learn"),
    ],
)
def test_label_matrices_that_cannot_be_used(labels, message):
    with pytest.raises(InvalidInputError, match=message):
        light().fit(X[TRAIN], labels)


@pytest.mark.parametrize("dtype", ["boolean", object, "Int64"])
def test_columns_of_python_objects_and_missing_values_dtypes(fitted, dtype):
    labels = pd.DataFrame(Y[TRAIN] > 0, columns=list("abcd")).astype(dtype)
    assert clone(fitted).fit(X[TRAIN], labels).value_ == fitted.value_


def test_columns_of_the_labels_are_found_by_name(fitted):
    labels = pd.DataFrame(Y, columns=list("abcd"))
    model = clone(fitted).fit(X[TRAIN], labels[TRAIN])
    expected = fitted.score(X[TEST], Y[TEST])
    assert model.score(X[TEST], labels[TEST][list("dbca")]) == expected
    assert model.score(X[TEST], Y[TEST]) == expected
    with pytest.raises(InvalidInputError, match="Y has 3 labels, but the classifier was trained on 4"):
        model.score(X[TEST], labels[TEST][list("abc")])
    with pytest.raises(InvalidInputError, match="Y has the label 'z', which"):
        model.score(X[TEST], labels[TEST].rename(columns={"b": "z"}))
    with pytest.raises(ValueError, match="sample_weight"):
        model.score(X[TEST], Y[TEST], np.ones(3))


def test_a_measure_of_classes_is_refused():
    with pytest.raises(InvalidInputError, match="is for classes, but y is a label matrix"):
        light(multiclass.get("mcc")).fit(X[TRAIN], Y[TRAIN])


@pytest.mark.parametrize("measure", ["f1_micro", "f1_weighted", "f1_samples"])
def test_the_expected_value_counts_rows_by_their_weight(measure):
    """Rows of weight 0 count for nothing: the value is that of the other rows."""
    rng = np.random.default_rng(0)
    log_odds, weight = rng.normal(size=(30, 4)), np.repeat((0.0, 2.0), 15)
    chosen = multilabel.get(measure)
    expected = expected_value(chosen, log_odds[15:], log_odds[15:] + 0.3)
    assert expected_value(chosen, log_odds, log_odds + 0.3, weight) == pytest.approx(expected)


def test_the_summary_of_a_measure_without_a_bound():
    model = light("10 * tp - fp", C=0.0).fit(X[TRAIN], Y[TRAIN])
    assert model.bound_ == np.inf
    assert "no bound is known" in model.summary().notes["certificate"]


def test_auxiliaries_are_trained_once_or_once_per_label(fitted):
    kinds = [type(each) for each in fitted.auxiliaries_.values()]
    assert kinds == [LabelwiseClassifier, ExtraTreesClassifier]
    selected = make_pipeline(SelectKBest(k=3), LogisticRegression())
    model = CAPOClassifier(auxiliaries=[selected], C=0.0, cv=2, random_state=0).fit(X[TRAIN], Y[TRAIN])
    assert type(model.auxiliaries_["pipeline"]) is LabelwiseClassifier


def test_weights_and_a_refit_with_classes(fitted):
    weight = np.random.default_rng(0).integers(1, 3, 160)
    model = clone(fitted).fit(X[TRAIN], Y[TRAIN], weight)
    assert model.score(X[TEST], Y[TEST], np.ones(80)) > 0.3
    model.set_params(C="auto").fit(X[TRAIN], Y[TRAIN][:, 0] + Y[TRAIN][:, 1])
    assert not hasattr(model, "label_models_")
    assert model.classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("measure", ["f1_macro", "f1_micro", "f1_samples"])
def test_labels_of_a_fold_do_not_reach_its_out_of_fold_predictions(measure):
    rng, folds = np.random.default_rng(0), np.arange(160) % 4
    cv = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(4)]
    other = Y[TRAIN].copy()
    other[cv[0][1]] = rng.permutation(other[cv[0][1]])
    one, two = (
        CAPOClassifier(measure, auxiliaries=[GaussianNB()], C=0.0, cv=cv).fit(X[TRAIN], each)
        for each in (Y[TRAIN], other)
    )
    np.testing.assert_array_equal(one.oof_log_odds_[cv[0][1]], two.oof_log_odds_[cv[0][1]])
    np.testing.assert_array_equal(one.oof_decision_[cv[0][1]], two.oof_decision_[cv[0][1]])
    assert (one.oof_log_odds_ != two.oof_log_odds_).any()
