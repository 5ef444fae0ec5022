"""Decisions: one interface for thresholds, guarantees, prices, classes and labels."""

import re

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.naive_bayes import GaussianNB

from capo import CAPOClassifier, load, save
from capo.decisions import Guarantee, Threshold

X, Y = make_classification(600, n_features=6, class_sep=1.5, random_state=0)
LABELS = make_multilabel_classification(600, n_features=6, n_classes=3, random_state=0)


def fit(measure, X, y, **params):
    return CAPOClassifier(measure, auxiliaries=[GaussianNB()], C=0.0, cv=2, random_state=0, **params).fit(
        X, y
    )


def fit_classes():
    model = CAPOClassifier("f1_macro", auxiliaries=[GaussianNB()], cv=2, random_state=0)
    return model.fit(X, Y + (X[:, 0] > 1))


CASES = {
    "positive if the probability is above 0.*best expected value": lambda: fit("f1", X, Y),
    "positive if the probability is above 0.3, as given": lambda: fit("f1", X, Y, threshold=0.3),
    "precision >= 0.8 on new rows": lambda: fit("f1", X[:300], Y[:300]).guarantee(
        X[300:], Y[300:], "precision >= 0.8"
    ),
    "in a population with 2.00% positive": lambda: fit("f1", X, Y).for_population(prevalence=0.02),
    "the class that": fit_classes,
    "the labels above their thresholds": lambda: fit("f1_macro", *LABELS),
    "best expected f1_samples": lambda: fit("f1_samples", *LABELS),
}


@pytest.mark.parametrize("sentence", CASES)
def test_a_decision_says_what_it_does_and_does_it(sentence, tmp_path):
    model = CASES[sentence]()
    rows = LABELS[0] if model.target_type_ == "multilabel" else X
    scores = model.log_odds(rows) if model.target_type_ == "binary" else model.predict_proba(rows)
    if model.target_type_ == "multilabel":
        scores = np.log(scores / (1 - scores))
    predicted = model.decision_.decide(scores)
    labels = predicted if model.target_type_ == "multilabel" else model.classes_[predicted.astype(int)]
    np.testing.assert_array_equal(labels, model.predict(rows))
    assert np.shape(model.decision_.margins(scores)) == model.decision_function(rows).shape
    assert re.search(sentence, model.decision_.describe())
    pytest.importorskip("skops")
    save(model, tmp_path / "model.capo")
    again = load(tmp_path / "model.capo").decision_
    assert again.describe() == model.decision_.describe()
    np.testing.assert_array_equal(again.decide(scores), predicted)


def test_a_copy_with_another_decision_leaves_the_model_as_it_is():
    model = fit("f1", X[:300], Y[:300])
    before = model.decision_
    certified = model.guarantee(X[300:], Y[300:], "fpr <= 0.1")
    assert isinstance(certified.decision_, Guarantee)
    assert certified.guarantee_ is certified.decision_
    assert model.decision_ is before
    assert isinstance(before, Threshold)
    assert model.guarantee_ is None
    np.testing.assert_allclose(certified.log_odds(X), model.log_odds(X))
    shift = certified.decision_.log_odds - before.log_odds
    np.testing.assert_allclose(certified.oof_decision_, model.oof_decision_ - shift)
