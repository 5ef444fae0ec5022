"""The positive class may be either label: classes_ is sorted, as scikit-learn's tools require."""

import re

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict, cross_val_score
from sklearn.naive_bayes import GaussianNB

import capo
from capo import CAPOClassifier, measures
from capo.baselines import PublishedCAPOClassifier
from capo.inspection import compare
from capo.io.model_file import read_manifest

X, Y = make_classification(300, n_features=5, weights=[0.7], flip_y=0.1, random_state=0)
TRAIN, TEST = slice(None, 200), slice(200, None)
#: The positive class is 1, the larger label, or 0, the smaller one.
LARGER, SMALLER = Y, 1 - Y
SETTINGS = {"auxiliaries": [GaussianNB()], "delta": None, "C": 0.0, "cv": 3, "random_state": 0}


def larger(measure="f1"):
    return CAPOClassifier(measure, pos_label=1, **SETTINGS)


def smaller(measure="f1"):
    return CAPOClassifier(measure, pos_label=0, **SETTINGS)


@pytest.fixture(scope="module")
def pair():
    """The same model with both names of the positive class."""
    measure = measures.get("recall_at_precision", floor=0.6)
    return larger(measure).fit(X[TRAIN], LARGER[TRAIN]), smaller(measure).fit(X[TRAIN], SMALLER[TRAIN])


def test_public_methods_follow_classes_and_the_rest_the_positive_class(pair):
    one, two = pair
    assert two.classes_.tolist() == [0, 1]
    assert (one.pos_label_, two.pos_label_) == (1, 0)
    assert two.label_pair.tolist() == [1, 0]
    np.testing.assert_array_equal(two.predict(X), 1 - one.predict(X))
    np.testing.assert_array_equal(two.decision_function(X), -one.decision_function(X))
    np.testing.assert_array_equal(two.predict_proba(X), one.predict_proba(X)[:, ::-1])
    np.testing.assert_array_equal(two.predict(X), (two.decision_function(X) > 0).astype(int))
    for name in ("log_odds", "positive_decision", "auxiliary_outputs"):
        np.testing.assert_array_equal(getattr(two, name)(X), getattr(one, name)(X))
    np.testing.assert_array_equal(two.oof_decision_, one.oof_decision_)
    assert two.threshold_ == one.threshold_
    assert two.n_positive_ == one.n_positive_
    assert two.score_ == one.score_
    assert two.score(X[TEST], SMALLER[TEST]) == one.score(X[TEST], LARGER[TEST])
    positive = two.predict_proba(X)[:, 0] > two.threshold_
    np.testing.assert_array_equal(positive, two.predict(X) == 0)


@pytest.mark.parametrize("estimator", [CAPOClassifier, PublishedCAPOClassifier])
def test_text_labels(estimator):
    labels = np.where(Y == 1, "bad", "good")
    auxiliaries = [GaussianNB(), ("frozen", FrozenEstimator(LogisticRegression().fit(X[TEST], labels[TEST])))]
    model = estimator("f1", auxiliaries=auxiliaries, pos_label="bad", delta=None, C=1.0, random_state=0)
    model.fit(X[TRAIN], labels[TRAIN])
    assert model.classes_.tolist() == ["bad", "good"]
    assert model.pos_label_ == "bad"
    assert roc_auc_score(labels[TEST] == "bad", model.positive_decision(X[TEST])) > 0.8
    assert roc_auc_score(labels[TEST] == "bad", model.predict_proba(X[TEST])[:, 0]) > 0.8


@pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss", None])
def test_cross_val_score(scoring):
    one, two = (cross_val_score(model, X, y, cv=3, scoring=scoring) for model, y in both())
    np.testing.assert_allclose(two, one, rtol=1e-12)
    assert (one > 0.5).all() or scoring == "neg_log_loss"


def both():
    return (larger(), LARGER), (smaller(), SMALLER)


@pytest.mark.parametrize("method", ["predict_proba", "decision_function"])
def test_cross_val_predict(method):
    one, two = (cross_val_predict(model, X, y, cv=3, method=method) for model, y in both())
    np.testing.assert_allclose(two, one[:, ::-1] if one.ndim == 2 else -one, rtol=1e-12)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda model: CalibratedClassifierCV(model, cv=3),
        lambda model: VotingClassifier([("capo", model), ("linear", LogisticRegression())], voting="soft"),
        lambda model: StackingClassifier([("capo", model), ("linear", LogisticRegression())], cv=3),
    ],
    ids=["calibrated", "voting", "stacking"],
)
def test_meta_estimators(wrap):
    one, two = (wrap(model).fit(X[TRAIN], y[TRAIN]).predict_proba(X[TEST]) for model, y in both())
    np.testing.assert_allclose(two, one[:, ::-1], atol=1e-3)
    assert roc_auc_score(LARGER[TEST], one[:, 1]) > 0.8


def test_guarantees_and_populations(pair):
    one, two = pair
    promised = [
        model.guarantee(X[TEST], y[TEST], "precision >= 0.5", confidence=0.8)
        for model, y in zip(pair, (LARGER, SMALLER), strict=True)
    ]
    assert str(promised[0].guarantee_) == str(promised[1].guarantee_)
    assert promised[0].threshold_ == promised[1].threshold_
    np.testing.assert_array_equal(promised[1].predict(X), 1 - promised[0].predict(X))
    rare = [model.for_population(prevalence=0.05) for model in (one, two)]
    assert rare[0].threshold_ == rare[1].threshold_
    assert (rare[1].predict_proba(X)[:, 0] < two.predict_proba(X)[:, 0]).all()
    np.testing.assert_array_equal(rare[1].predict(X), 1 - rare[0].predict(X))


def test_comparisons():
    one, two = (compare(model, X[TRAIN], y[TRAIN], folds=2, random_state=0) for model, y in both())
    assert [each.values.tolist() for each in one.methods] == [each.values.tolist() for each in two.methods]
    assert two.source["pos_label"] == "0"


@pytest.mark.optional_packages
def test_the_report_names_the_positive_class():
    from capo.report import render_report

    labels = np.where(Y == 1, "bad", "good")
    model = CAPOClassifier("f1", pos_label="bad", **SETTINGS).fit(X[TRAIN], labels[TRAIN])
    page = render_report(model, labels[TEST] == "bad", model.positive_decision(X[TEST]))
    assert f"<title>f1 {model.score(X[TEST], labels[TEST]):.3f} " in page
    cells = dict(re.findall(r"<tr><th scope=\"row\">actual .*?(bad|good).*?</th>(.*?)</tr>", page, re.DOTALL))
    counts = [int(each) for each in re.findall(r">([0-9]+)<", cells["bad"])]
    predicted = model.predict(X[TEST])[labels[TEST] == "bad"]
    assert counts[:2] == [np.sum(predicted == "good"), np.sum(predicted == "bad")]


@pytest.mark.optional_packages
def test_model_files(pair, tmp_path):
    _, model = pair
    capo.save(model, tmp_path / "new.capo")
    again = capo.load(tmp_path / "new.capo")
    assert (again.classes_.tolist(), again.pos_label_) == ([0, 1], 0)
    assert read_manifest(tmp_path / "new.capo").classes == [1, 0]
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
