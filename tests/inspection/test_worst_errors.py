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
    found = worst_errors(Labeled(), [False, True, True, True], decision)
    assert [(each.row, each.actual) for each in found] == [(2, "good"), (1, "bad"), (4, "good")]


def test_rows_without_a_decision_are_left_out():
    found = worst_errors(Labeled(), [True, True, False], [np.nan, -1.0, -1.0])
    assert [each.row for each in found] == [2]


def test_errors():
    with pytest.raises(InvalidInputError, match=r"such as y == model.pos_label_: got \['good', 'bad'\]"):
        worst_errors(Labeled(), ["good", "bad"], [1.0, 1.0])
    with pytest.raises(InvalidInputError, match="decision must have one number per row"):
        worst_errors(Labeled(), [True, False], [1.0])
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 3
    many = CAPOClassifier("f1_macro", auxiliaries=[GaussianNB()], cv=2, random_state=0).fit(X, y)
    with pytest.raises(InvalidInputError, match="models of two classes: this one has more"):
        worst_errors(many, y == 1, X[:, 0])


def test_with_losses_the_most_expensive_errors_come_first():
    found = worst_errors(Labeled(), [True, False, True], [-1.0, 3.0, -2.0], losses=[7.0, 0.0, 5.0])
    assert [(each.row, each.loss, each.severity) for each in found] == [(1, 7.0, 7.0), (3, 5.0, 5.0)]
