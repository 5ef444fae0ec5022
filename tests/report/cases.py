"""Models and results that the tests of the report share."""

from dataclasses import replace
from functools import cache

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from capo import CAPOClassifier, measures
from capo.inspection import (
    ColumnEffect,
    ColumnImportance,
    Comparison,
    ConfusionCounts,
    EffectPoint,
    Evaluation,
    Importance,
    MeasureEstimate,
    MethodResult,
)

X, LABELS = load_breast_cancer(return_X_y=True)
X = X[:, :8]
#: Labels that contain markup.
POSITIVE_LABEL = "</script><b>x</b>"
Y = np.where(LABELS == 1, POSITIVE_LABEL, "& 'no' \"no\"\n")
TRAIN, TEST = slice(None, None, 2), slice(1, None, 2)

COMPARISON = Comparison(
    "f1",
    "boosting",
    [
        MethodResult("default learner", np.array([0.59, 0.63]), 3.1),
        MethodResult("tuned threshold", np.array([0.60, 0.64]), 5.0),
        MethodResult("tuned stack", np.array([0.62, 0.66]), 200.0),
        MethodResult("capo", np.array([0.63, 0.69]), 300.0),
    ],
)
EVALUATION = Evaluation(
    [MeasureEstimate("f1", 0.7, 0.68, 0.72), MeasureEstimate("lift_at_k", 2.5, 2.25, 2.75)],
    ConfusionCounts(40.0, 10.0, 20.0, 60.0),
    ("no", "yes"),
)
#: Columns of numbers, categories and money, with long names and markup.
IMPORTANCE = Importance(
    "f1",
    0.7,
    [
        ColumnImportance(("averageTransactionAmountLast30Days", "average_transaction_amount"), 0.2, 0.1, 0.3),
        ColumnImportance(("<b>color</b>",), 0.05, 0.01, 0.09),
        ColumnImportance(("2",), -0.01, -0.03, 0.01),
    ],
    [
        ColumnEffect(
            ("averageTransactionAmountLast30Days", "average_transaction_amount"),
            "probability of 'yes'",
            [
                EffectPoint("-1.5 to 0.25", -0.5, 0.3, 0.05, -0.01, 0.11),
                EffectPoint("0.3 to 2", 1.0, 0.3, 0.2, 0.15, 0.25),
                EffectPoint("2.5 to 9", 6.0, 0.3, 0.6, 0.5, 0.7),
                EffectPoint("(missing)", None, 0.1, 0.3, 0.2, 0.4),
            ],
        ),
        ColumnEffect(
            ("<b>color</b>",),
            "probability of 'yes'",
            [
                EffectPoint("<i>red</i>", None, 0.6, 0.3, 0.2, 0.4),
                EffectPoint("blue", None, 0.4, 0.1, 0, 0.2),
            ],
        ),
        ColumnEffect(
            ("price",),
            "probability of 'yes'",
            [EffectPoint(f"${k}.00 to ${k + 1}.00", k, 0.25, 0.1 * k, 0.05 * k, 0.2 * k) for k in range(4)],
        ),
    ],
    n_rows=2000,
    n_total_rows=12_345,
    n_repeats=5,
    rows="given rows",
)


def comparison_of(model):
    """The comparison, for the measure of a model."""
    return replace(COMPARISON, measure=model.measure_.label)


@cache
def fitted(measure="f1", **params):
    """A small model, trained once for all tests."""
    auxiliaries = [("bayes <i>", GaussianNB()), ("stump", DecisionTreeClassifier(max_depth=1))]
    chosen = measures.get(measure, floor=0.9) if measure == "recall_at_precision" else measure
    model = CAPOClassifier(
        chosen, auxiliaries=auxiliaries, pos_label=POSITIVE_LABEL, random_state=0, **params
    )
    return model.fit(X[TRAIN], Y[TRAIN])


@cache
def decisions_on_test_rows(measure="f1", **params):
    """The model, which of some other rows are positive, and its decisions on them."""
    model = fitted(measure, **params)
    return model, Y[TEST] == model.pos_label_, model.positive_decision(X[TEST])
