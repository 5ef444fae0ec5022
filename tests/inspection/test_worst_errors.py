"""Rows that are far on the wrong side of the threshold."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from capo import CAPOClassifier
from capo.exceptions import InvalidInputError
from capo.inspection import worst_errors


class Labeled:
    """A model whose classes are known."""

    classes_ = np.array(["bad", "good"])


def test_the_worst_error_is_first():
    decision = np.array([1.0, -3.0, 2.0, -0.5])
    found = worst_errors(Labeled(), None, ["bad", "good", "good", "good"], decision=decision)
    assert [(each.row, each.actual) for each in found] == [(2, "good"), (1, "bad"), (4, "good")]


def test_rows_without_a_decision_are_left_out():
    found = worst_errors(Labeled(), None, ["good", "good", "bad"], decision=[np.nan, -1.0, -1.0])
    assert [each.row for each in found] == [2]


def test_errors():
    with pytest.raises(InvalidInputError, match="'fine', which the classifier was not trained on"):
        worst_errors(Labeled(), None, ["good", "fine"], decision=[1.0, 1.0])
    with pytest.raises(InvalidInputError, match="decision must have one number per row"):
        worst_errors(Labeled(), None, ["good", "bad"], decision=[1.0])
    with pytest.raises(InvalidInputError, match="pass the rows, or their decisions"):
        worst_errors(Labeled(), None, ["good", "bad"])
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 3
    many = CAPOClassifier("f1_macro", auxiliaries=[GaussianNB()], cv=2, random_state=0).fit(X, y)
    with pytest.raises(InvalidInputError, match="a model of two classes: this one has more"):
        worst_errors(many, X, y)


def test_with_losses_the_most_expensive_errors_come_first():
    y, decision = ["good", "bad", "good"], [-1.0, 3.0, -2.0]
    found = worst_errors(Labeled(), None, y, decision=decision, losses=[7.0, 0.0, 5.0])
    assert [(each.row, each.loss, each.severity) for each in found] == [(1, 7.0, 7.0), (3, 5.0, 5.0)]


def test_the_decisions_of_the_model_are_the_default():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 1, "yes", "no")
    model = CAPOClassifier("f1", auxiliaries=[GaussianNB()], pos_label="yes", random_state=0).fit(X, y)
    found = worst_errors(model, X, y)
    assert found == worst_errors(model, X, y, decision=model.positive_decision(X))
    assert {each.row - 1 for each in found} == set(np.flatnonzero(model.predict(X) != y))
