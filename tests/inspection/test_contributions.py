"""Explanations of single rows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from capo import CAPOClassifier
from capo.exceptions import InvalidInputError
from capo.inspection import explain_rows

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))


class Product:
    """A model whose exact Shapley values are known: w x + 2 x_2 x_3, for independent columns."""

    classes_ = np.array([0, 1])

    def decision_function(self, rows):
        rows = np.asarray(rows)
        return 1.5 * rows[:, 0] - rows[:, 1] + 2 * rows[:, 2] * rows[:, 3]


def test_the_changes_are_shapley_values():
    row = np.array([[1.0, 2.0, 1.5, -1.0]])
    mean = X.mean(axis=0)
    product = np.mean(X[:, 2] * X[:, 3])
    both = row[0, 2] * row[0, 3]
    one, other = row[0, 2] * mean[3], row[0, 3] * mean[2]
    expected = {
        "0": 1.5 * (row[0, 0] - mean[0]),
        "1": -(row[0, 1] - mean[1]),
        "2": (one - product) + (both - other),
        "3": (other - product) + (both - one),
    }
    found = explain_rows(Product(), row, X, n_walks=2000, max_correlation=None, random_state=0)[0]
    changes = {each.columns[0]: each.change for each in found.contributions}
    assert changes == pytest.approx(expected, abs=0.1)
    assert found.decision == pytest.approx(Product().decision_function(row)[0])


@pytest.mark.parametrize("as_table", [np.asarray, csr_matrix, pd.DataFrame, pl.DataFrame])
def test_the_changes_add_up_in_every_kind_of_table(as_table):
    table = (
        as_table(X)
        if as_table in (np.asarray, csr_matrix)
        else as_table({name: X[:, k] for k, name in enumerate("abcd")})
    )
    y = X[:, 0] + X[:, 1] > 0
    model = CAPOClassifier("f1", auxiliaries=[LogisticRegression()], cv=2, random_state=0).fit(table, y)
    for found in explain_rows(model, table[:2], table, n_walks=8, random_state=0):
        total = sum(each.change for each in found.contributions)
        assert found.baseline + total == pytest.approx(found.decision)
        assert found.decision == pytest.approx(model.decision_function(table[:2])[found.row])
        assert {each.columns[0] for each in found.contributions[:2]} in ({"0", "1"}, {"a", "b"})


def test_the_standard_error_shrinks_with_the_number_of_walks():
    few, many = (
        explain_rows(Product(), X[:1], X, n_walks=n, random_state=0)[0].contributions[0].std_error
        for n in (8, 512)
    )
    assert many < 0.5 * few


@pytest.mark.filterwarnings("ignore::capo.exceptions.DataWarning")
def test_values_and_groups_are_printed():
    copy = pd.DataFrame({"x": X[:, 0], "copy": 2 * X[:, 0], "color": np.where(X[:, 1] > 0, "red", "blue")})
    y = X[:, 0] > 0
    model = CAPOClassifier("f1", auxiliaries=["linear"], cv=2, random_state=0).fit(copy, y)
    found = explain_rows(model, copy[:1], copy, random_state=0)[0]
    first = found.contributions[0]
    assert first.columns == ("x", "copy")
    assert f"x = {X[0, 0]:.4g} + copy = {2 * X[0, 0]:.4g}" in str(found)
    assert "change in log-odds" in str(found)
    rest = explain_rows(model, copy[:1], copy, columns=["color"], random_state=0)[0]
    assert {each.columns for each in rest.contributions} == {("color",), ("x", "copy")}


def test_errors():
    y = np.arange(200) % 3
    many = CAPOClassifier("f1_macro", auxiliaries=[GaussianNB()], cv=2, random_state=0).fit(X, y)
    with pytest.raises(InvalidInputError, match="models of two classes"):
        explain_rows(many, X[:1], X)
    with pytest.raises(InvalidInputError, match="an even number of at least 4: got 3"):
        explain_rows(Product(), X[:1], X, n_walks=3)
    with pytest.raises(InvalidInputError, match=r"of the same kind.*got DataFrame of shape .* and ndarray"):
        explain_rows(Product(), pd.DataFrame(X[:1]), X)
    with pytest.raises(InvalidInputError, match=r"same columns.*\(1, 4\) and ndarray of shape \(200, 3\)"):
        explain_rows(Product(), X[:1], X[:, :3])
    with pytest.raises(InvalidInputError, match=r"background must have rows: got .* of shape \(0, 4\)"):
        explain_rows(Product(), X[:1], X[:0])


def test_columns_without_names_and_lists_of_rows():
    expected = explain_rows(Product(), X[:1], X, n_walks=8, random_state=0)[0]
    for rows, table in ((pd.DataFrame(X[:1]), pd.DataFrame(X)), (X[:1].tolist(), X.tolist())):
        found = explain_rows(Product(), rows, table, n_walks=8, random_state=0)[0]
        assert found.contributions == expected.contributions
