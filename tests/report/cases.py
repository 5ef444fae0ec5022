"""Models and pages that the tests of the report share."""

from functools import cache

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from capo import CAPOClassifier, measures

X, LABELS = load_breast_cancer(return_X_y=True)
X = X[:, :8]
#: The labels as text that HTML and scripts could mistake for their own.
Y = np.where(LABELS == 1, "</script><b>x</b>", "& 'no' \"no\"\n")
TRAIN, TEST = slice(None, None, 2), slice(1, None, 2)

COMPARISON = {
    "measure": "f1",
    "folds": 5,
    "systems": [
        {"name": "default <learner>", "value": 0.61, "spread": 0.02, "seconds": 3.1},
        {"name": "capo", "value": 0.66, "spread": 0.03, "seconds": 300.0},
    ],
    "verdict": "capo is better & faster.",
}
EVALUATION = [
    {"name": "f1", "value": 0.7, "low": 0.68, "high": 0.72},
    {"name": "lift_at_k", "value": 2.5, "low": 2.25, "high": 2.75},
]


@cache
def fitted(measure="f1", **params):
    """A small model, trained once for all tests."""
    auxiliaries = [("bayes <i>", GaussianNB()), ("stump", DecisionTreeClassifier(max_depth=1))]
    given = measures.get(measure, floor=0.9) if measure == "recall_at_precision" else measure
    model = CAPOClassifier(given, auxiliaries=auxiliaries, random_state=0, **params)
    return model.fit(X[TRAIN], Y[TRAIN])


@cache
def judged(measure="f1", **params):
    """The model, the labels of other rows, and its decisions on them."""
    model = fitted(measure, **params)
    return model, Y[TEST], model.decision_function(X[TEST])
