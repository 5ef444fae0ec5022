"""Many classes: CAPOClassifier with more than two classes."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, log_loss
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import capo
from capo import CAPOClassifier
from capo.exceptions import DataWarning, InvalidInputError
from capo.measures import multiclass, multilabel
from capo.measures import names as binary_names

X, CODES = load_wine(return_X_y=True)
Y = np.array(["low", "mid", "top"])[CODES]
LINEAR = make_pipeline(StandardScaler(), LogisticRegression())
LIGHT = [("linear", LINEAR), ("tree", DecisionTreeClassifier(max_depth=2, random_state=0))]
EXPECTED = {
    "check_classifier_multioutput": "labels are predicted above thresholds for the measure, not above 0.5",
    "check_sample_weight_equivalence_on_dense_data": "rows that are repeated fall into other folds",
    "check_sample_weight_equivalence_on_sparse_data": "rows that are repeated fall into other folds",
}


def light(measure="f1_macro", **params):
    return CAPOClassifier(measure, auxiliaries=LIGHT, random_state=0, **params)


@parametrize_with_checks([CAPOClassifier("f1_macro", auxiliaries=[GaussianNB()], cv=3, random_state=0)])
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_own_checks(estimator, check):
    if check.func.__name__ in EXPECTED:
        pytest.skip(EXPECTED[check.func.__name__])
    check(estimator)


@pytest.fixture(scope="module")
def fitted():
    return light().fit(X[::2], Y[::2])


@pytest.mark.parametrize("name", ["log_odds", "positive_decision", "as_probability", "delta_features"])
def test_what_only_a_model_of_two_classes_has_is_refused(fitted, name):
    with pytest.raises(InvalidInputError, match=r"for a model of two classes.*predict_proba"):
        getattr(fitted, name)(X)


def test_three_classes_need_no_other_class(fitted):
    labels = fitted.predict(X[1::2])
    assert f1_score(Y[1::2], labels, average="macro") == pytest.approx(fitted.score(X[1::2], Y[1::2]))
    assert fitted.score_ > 0.9
    probabilities = fitted.predict_proba(X[1::2])
    assert log_loss(Y[1::2], probabilities) < 0.3
    assert probabilities.shape == fitted.decision_function(X[1::2]).shape == (89, 3)
    assert np.array_equal(fitted.classes_[fitted.decision_function(X).argmax(axis=1)], fitted.predict(X))
    assert fitted.auxiliary_outputs(X).shape == (178, 2, 3)
    assert fitted.n_features_in_ == 13


def test_attributes(fitted):
    assert fitted.bound_ >= fitted.value_
    assert fitted.gap_ == pytest.approx(fitted.bound_ - fitted.value_)
    assert fitted.oof_probabilities_.shape == (89, 3)
    assert fitted.log_loss_ == pytest.approx(log_loss(Y[::2], fitted.oof_probabilities_))
    assert fitted.score_ == pytest.approx(f1_score(Y[::2], fitted.oof_labels_, average="macro"))
    assert list(fitted.auxiliaries_) == list(fitted.auxiliary_weights_) == ["linear", "tree"]
    assert min(fitted.auxiliary_weights_.values()) >= 0
    with pytest.raises(AttributeError, match="no attribute 'threshold_'"):
        fitted.threshold_  # noqa: B018


def test_summary(fitted):
    text = str(fitted.summary())
    assert "for f1_macro: 89 rows, 3 classes" in text
    assert "no labeling can exceed" in text
    assert "log loss" in text
    assert "low (30), mid (35), top (24)" in text
    assert "<- chosen" in text


def test_a_saved_model_predicts_the_same(fitted, tmp_path):
    pytest.importorskip("skops")
    capo.save(fitted, tmp_path / "wine.capo")
    again = capo.load(tmp_path / "wine.capo")
    assert np.array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert np.array_equal(again.predict(X), fitted.predict(X))
    assert again.measure_ == fitted.measure_
    assert str(again.summary()) == str(fitted.summary())
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))


def test_a_refit_with_two_classes_leaves_nothing_of_the_first():
    model = CAPOClassifier("f1", auxiliaries=[GaussianNB()], cv=2, random_state=0)
    alone = clone(model).fit(X, Y == "mid")
    assert model.fit(X, Y).measure_.label == "f1_macro"
    model.fit(X, Y == "mid")
    assert model.target_type_ == "binary"
    assert not hasattr(model, "rule_")
    assert model.threshold_ > 0
    assert np.array_equal(alone.decision_function(X), model.decision_function(X))


def test_two_classes_with_a_measure_of_many():
    two = np.where(Y == "mid", "b", "a")
    model = light("f1_macro").fit(X, two)
    assert model.decision_function(X).shape == (178,)
    assert np.array_equal(np.where(model.decision_function(X) > 0, "b", "a"), model.predict(X))
    assert model.score(X, two) == pytest.approx(f1_score(two, model.predict(X), average="macro"))
    assert "f1_macro" not in binary_names()


def test_a_rare_class_is_predicted_because_the_measure_asks_for_it():
    rng = np.random.default_rng(0)
    codes = rng.choice(3, size=900, p=(0.6, 0.32, 0.08))
    features = rng.normal(size=(900, 4)) + 0.9 * np.eye(3, 4)[codes]
    model = CAPOClassifier("balanced_accuracy", auxiliaries=[GaussianNB()], random_state=0)
    model.fit(features, codes)
    assert model.uses_rule_
    assert model.is_exact_
    assert model.gap_ == pytest.approx(0.0, abs=1e-12)
    assert "certified" in str(model.summary())
    shares = np.bincount(model.predict(features), minlength=3)
    most_probable = np.bincount(model.predict_proba(features).argmax(axis=1), minlength=3)
    assert shares[2] > 2 * most_probable[2]
    assert model.most_probable_score_.value < model.score_


def test_a_class_with_one_row():
    labels = Y.copy()
    labels[0] = "odd"
    model = CAPOClassifier(auxiliaries=[GaussianNB()], random_state=0).fit(X, labels)
    assert model.predict_proba(X).shape == (178, 4)
    assert "fewer than 10 rows: odd" in str(model.summary())
    two_rows = np.array([0, 0, 1, 1, 2])
    small = CAPOClassifier(auxiliaries=[GaussianNB()], random_state=0).fit(X[[0, 1, 70, 71, 150]], two_rows)
    assert set(small.predict(X)) <= {0, 1, 2}
    with pytest.raises(InvalidInputError, match="each class of y has a single row"):
        light().fit(X[:3], ["a", "b", "c"])


def test_one_class_and_unknown_labels(fitted):
    with pytest.raises(InvalidInputError, match="only one class"):
        light().fit(X, np.full(178, "low"))
    with pytest.raises(InvalidInputError, match="'new', which the classifier was not trained on: 1 of 178"):
        fitted.score(X, np.where(np.arange(178) == 3, "new", Y))
    rows = Y != "top"
    expected = f1_score(Y[rows], fitted.predict(X[rows]), average="macro")
    assert fitted.score(X[rows], Y[rows]) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 1.0}, "Only binary classification is supported with C="),
        ({"pos_label": "low"}, "Only binary classification is supported with pos_label="),
        ({"threshold": 0.3}, "Only binary classification is supported with threshold="),
        ({"delta": None}, "Only binary classification is supported with delta="),
        ({"measure": "prbep"}, "for two classes only"),
    ],
)
def test_parameters_of_two_classes_are_refused(params, message):
    with pytest.raises(InvalidInputError, match=message):
        CAPOClassifier(**{"auxiliaries": LIGHT, **params}).fit(X, Y)


class LabelsOnly:
    """A black box that predicts the user's labels and cannot be trained."""

    def predict(self, X):
        return np.where(X[:, 12] > 750, "low", "mid")


@pytest.mark.parametrize(
    "auxiliary",
    [
        LabelsOnly(),
        FrozenEstimator(LINEAR.fit(X[::2], Y[::2])),
        FrozenEstimator(GaussianNB().fit(X[::2], CODES[::2])),
    ],
    ids=["labels only", "own labels", "codes"],
)
def test_auxiliaries_that_cannot_be_trained(auxiliary):
    model = CAPOClassifier(auxiliaries=[("other", auxiliary)], random_state=0).fit(X[1::2], Y[1::2])
    assert model.auxiliaries_["other"] is auxiliary
    assert model.score(X, Y) > 0.5


def test_sparse_rows_weights_groups_and_folds():
    groups = np.arange(178) // 4
    weight = np.random.default_rng(0).integers(0, 3, 178)
    model = CAPOClassifier("mcc", auxiliaries=["linear"], random_state=0)
    model.fit(sparse.csr_matrix(X), Y, weight, groups=groups)
    assert model.predict(sparse.csr_matrix(X)).shape == (178,)
    given = CAPOClassifier("mcc", auxiliaries=["linear"], cv=GroupKFold(3)).fit(X, Y, groups=groups)
    assert given.score_ > 0.8


def test_cross_validation_uses_the_measure():
    scores = cross_val_score(CAPOClassifier(auxiliaries=[GaussianNB()]), X, Y, cv=3)
    assert (scores > 0.8).all()


@pytest.mark.parametrize("measure", ["recall_macro", lambda C: np.trace(C, axis1=-2, axis2=-1)])
def test_two_classes_with_another_name_or_a_function_of_the_matrix(measure):
    rows = Y != "top"
    model = CAPOClassifier(measure, auxiliaries=[GaussianNB()], random_state=0).fit(X[rows], Y[rows])
    assert len(model.classes_) == 2
    assert model.value_ > 0


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.where(CODES == 0, np.nan, CODES), "contains NaN"),
        (np.where(CODES == 0, None, Y), "contains NaN: 59 of 178 labels are missing"),
        (CODES + 0.5, "continuous"),
        (np.r_[0, np.ones(177)], "all rows of y but one have the same class"),
    ],
)
def test_the_labels_are_to_blame_and_not_the_measure(y, message):
    with pytest.raises(ValueError, match=message):
        light().fit(X, y)


@pytest.mark.parametrize("measure", ["f1_samples", multilabel.get("f1_macro")])
@pytest.mark.parametrize("y", [Y, Y == "low"])
def test_a_measure_of_label_matrices_is_refused(measure, y):
    with pytest.raises(InvalidInputError, match="is for label matrices, but y is not a matrix"):
        light(measure).fit(X, y)


@pytest.mark.parametrize(
    ("y", "weight", "message"),
    [
        (Y[:5], None, "X has 178 rows, y has 5"),
        (np.where(CODES == 0, None, Y), None, "59 of 178 labels are missing"),
        (Y, np.ones(3), "sample_weight"),
        (Y, np.full(178, np.nan), "NaN"),
        (Y, np.zeros(178), "(?i)sample weights"),
    ],
)
def test_labels_and_weights_that_cannot_be_scored(fitted, y, weight, message):
    with pytest.raises(ValueError, match=message):
        fitted.score(X, y, weight)


@pytest.mark.parametrize("name", ["guarantee", "refit_on", "for_population"])
def test_methods_of_two_classes_name_what_they_need(fitted, name):
    arguments = () if name == "for_population" else (X, Y)
    with pytest.raises(InvalidInputError, match="two classes and a measure of two classes, such as 'f1'"):
        getattr(fitted, name)(*arguments)


def test_the_summary_of_a_measure_that_needs_no_rule():
    notes = CAPOClassifier("roc_auc_ovr", auxiliaries=[GaussianNB()], cv=2).fit(X, Y).summary().notes
    assert "needs no rule" in notes["rule"]
    assert "certified: no ranking" in notes["certificate"]


def test_the_most_probable_class_is_certified_for_accuracy():
    model = CAPOClassifier("accuracy", auxiliaries=[GaussianNB()], cv=2).fit(X, Y)
    assert not model.uses_rule_
    assert "certified: no labeling of these rows has a higher one" in model.summary().notes["certificate"]


def test_the_order_of_categories_is_that_of_the_classes():
    dtype = pd.CategoricalDtype(["top", "unused", "low", "mid"], ordered=True)
    model = CAPOClassifier("quadratic_kappa", auxiliaries=[GaussianNB()], cv=2, random_state=0)
    model.fit(X, pd.Series(Y, dtype=dtype))
    assert model.measure_.order == ["top", "low", "mid"]
    by_hand = multiclass.get("quadratic_kappa", order=["top", "low", "mid"])
    assert clone(model).set_params(measure=by_hand).fit(X, Y).value_ == model.value_
    with pytest.warns(DataWarning, match="uses the alphabetical order of the classes: 'low', 'mid', 'top'"):
        model.fit(X, Y)


def test_labels_of_an_order():
    measure = multiclass.get("quadratic_kappa", order=["low", "mid", "top"])
    model = CAPOClassifier(measure, auxiliaries=[GaussianNB()], random_state=0).fit(X, Y)
    assert model.measure_.positions == (0, 1, 2)
    assert model.score(X, Y) > 0.8


def test_tags_follow_the_parameters():
    tags = get_tags(CAPOClassifier()).classifier_tags
    assert tags.multi_class
    assert tags.multi_label
    tags = get_tags(CAPOClassifier(C=1.0)).classifier_tags
    assert not tags.multi_class
    assert tags.multi_label
    tags = get_tags(CAPOClassifier(threshold=0.5)).classifier_tags
    assert not tags.multi_class
    assert not tags.multi_label


def test_labels_of_a_fold_do_not_reach_its_out_of_fold_predictions():
    """Other labels of one fold: whatever was learned from, its rows are predicted as before."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 3)), np.arange(120) % 3
    cv = [
        (np.flatnonzero(np.arange(120) // 3 % 4 != k), np.flatnonzero(np.arange(120) // 3 % 4 == k))
        for k in range(4)
    ]
    held_out = cv[0][1]
    other = y.copy()
    other[held_out] = rng.permutation(y[held_out])
    auxiliaries = [GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0)]
    one, two = (
        CAPOClassifier("f1_macro", auxiliaries=auxiliaries, cv=cv).fit(X, each) for each in (y, other)
    )
    assert one.uses_rule_ == two.uses_rule_
    assert (one.stack_.correction is None) == (two.stack_.correction is None)
    np.testing.assert_array_equal(one.oof_probabilities_[held_out], two.oof_probabilities_[held_out])
    np.testing.assert_array_equal(one.oof_labels_[held_out], two.oof_labels_[held_out])
    assert (one.oof_probabilities_ != two.oof_probabilities_).any()
