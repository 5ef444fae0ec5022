"""The comparison of threshold rules uses the scores that a fit has."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import PredefinedSplit
from sklearn.naive_bayes import GaussianNB

from capo import CAPOClassifier, measures

pytest.importorskip("pandas")
rules = pytest.importorskip("benchmarks.quality.rules")


def draw(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.2
    return rng.normal(size=(n, 3)) + y[:, None], y


def test_the_default_rule_is_that_of_a_fit():
    (X, y), (X_test, y_test) = draw(300, 0), draw(500, 1)
    folds = np.arange(300) % 5
    model = CAPOClassifier(
        "f1",
        auxiliaries=[LogisticRegression(), GaussianNB()],
        delta=None,
        C=0.0,
        cv=PredefinedSplit(folds),
        random_state=0,
    ).fit(X, y)
    scores = rules.stack_scores(model.auxiliary_outputs_, model.auxiliary_outputs(X_test), y, folds)
    found = dict(rules.decisions(measures.get("f1"), scores, y, 0))
    np.testing.assert_array_equal(found[rules.DEFAULT] > 0, model.predict(X_test))
    values = {
        rule: value
        for name, rule, value in rules.evaluate(scores, y, y_test, np.ones(500), 0)
        if name == "f1"
    }
    assert set(values) == set(rules.RULES)
    assert values[rules.DEFAULT] == pytest.approx(f1_score(y_test, model.predict(X_test)))
    assert values[rules.BEST] == max(values.values())
