"""Warnings about training data that would mislead."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from capo import CAPOClassifier
from capo.exceptions import DataWarning, InvalidInputError

RNG = np.random.default_rng(0)
N = 300
FRAME = pd.DataFrame(RNG.normal(size=(N, 3)), columns=["a", "b", "c"])
LABELS = np.where(FRAME["a"] + RNG.normal(size=N) > 0.5, "yes", "no")


def fit(X, y=LABELS, auxiliaries=("linear",), C=0.0, **params):
    return CAPOClassifier(auxiliaries=list(auxiliaries), C=C, cv=2, random_state=0, **params).fit(X, y)


def test_an_index_is_left_out_with_a_warning():
    order = np.argsort(LABELS, kind="stable")  # a sorted file: the index gives the label away
    indexed = FRAME.iloc[order].reset_index(drop=True).reset_index(names="Unnamed: 0")
    with pytest.warns(DataWarning, match="'Unnamed: 0' has a different.*it has no name.*not use"):
        model = fit(indexed, LABELS[order])
    assert model.score_ < 0.9
    shifted = indexed.assign(**{"Unnamed: 0": indexed["Unnamed: 0"] + 1000})
    np.testing.assert_array_equal(model.decision_function(indexed), model.decision_function(shifted))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(FRAME.reset_index(names="Unnamed: 0").astype({"Unnamed: 0": float}))


def test_different_whole_numbers_are_reported_and_kept():
    income = FRAME.assign(income=RNG.choice(10**6, N, replace=False))
    with pytest.warns(DataWarning, match="'income' has a different whole number.*If it is an ident"):
        model = fit(income)
    assert (model.decision_function(income) != model.decision_function(income.assign(income=0))).any()


def test_copies_across_folds_are_reported_with_their_share():
    X, y = pd.concat([FRAME, FRAME[:100]]), np.append(LABELS, LABELS[:100])
    with pytest.warns(DataWarning, match=r"2\d% of the rows have an exact copy in another fold"):
        fit(X, y, [GaussianNB()])
    groups = np.append(np.arange(N), np.arange(100))
    CAPOClassifier(auxiliaries=[GaussianNB()], C=0.0, cv=2, random_state=0).fit(X, y, groups=groups)


def test_a_text_label_of_the_majority_is_questioned():
    y = np.where(LABELS == "yes", "bad", "good")
    with pytest.warns(DataWarning, match=r"'good', the larger.*6\d% of the rows.*pos_label='bad'.*'good'"):
        fit(FRAME, y)
    fit(FRAME, y, pos_label="good")
    fit(FRAME, (y == "good").astype(int))  # 1 is the positive class by convention


def test_summary_reports_few_rows_of_a_class():
    summary = str(fit(FRAME, auxiliaries=[LogisticRegression()]).summary())
    assert re.search(f"few rows +only {(LABELS == 'yes').sum()} rows of 'yes': values, weights", summary)
    X = np.tile(RNG.normal(size=(500, 2)), (1, 2)) + RNG.normal(size=(500, 4))
    y = (X[:, 0] > 0).astype(int)
    assert "few rows" not in str(fit(X, y, [GaussianNB()]).summary())


def test_a_column_that_gives_the_target_away_is_reported():
    leaky = FRAME.assign(refund=np.where(LABELS == "yes", 3.0, 0.0))
    with pytest.warns(DataWarning, match="'refund' almost determines the target"):
        fit(leaky)
    codes = np.digitize(FRAME["a"], [-0.5, 0.5])
    with pytest.warns(DataWarning, match="'group' almost determines the target"):
        fit(FRAME.assign(group=np.array(["x", "y", "z"])[codes]), codes.astype(str), C="auto")
    matrix = np.column_stack((LABELS == "yes", FRAME["b"] > 1)).astype(int)
    with pytest.warns(DataWarning, match="'refund' almost determines the target"):
        fit(leaky, matrix, C="auto")


def test_columns_that_are_left_out_or_in_doubt_are_reported():
    named = FRAME.assign(name=[f"Miller {number * 7}" for number in range(N)])
    with pytest.warns(DataWarning, match="'name' is treated as an identifier and not used.*column_kinds"):
        fit(named)
    dates = FRAME.assign(day=RNG.choice(["01/02/2024", "03/04/2024", "05/06/2023"], N))
    with pytest.warns(DataWarning, match="'day' is read as dates: the first number is read as the month"):
        model = fit(dates)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(named, column_kinds={"name": "identifier"})
        fit(dates, column_kinds={"day": {"kind": "date", "layout": "day-month-year"}})
        fit(dates, column_kinds=model.schema_)


def test_a_demanded_kind_that_reads_no_value_is_refused():
    colors = FRAME.assign(color=RNG.choice(["red", "green"], N))
    for kind, words in {"number": "numbers", "date": "dates", "boolean": "yes or no"}.items():
        with pytest.raises(InvalidInputError, match=f"'color' is declared as '{kind}', but none.*{words}: "):
            fit(colors, column_kinds={"color": kind})
    with pytest.raises(InvalidInputError, match="'a' is declared as 'date', but none of its values"):
        fit(FRAME, column_kinds={"a": "date"})
    colors.loc[:99, "color"] = "1.5"
    with pytest.warns(DataWarning, match="'color' is read as numbers: 200 of 300 values, such as '"):
        fit(colors, column_kinds={"color": "number"})


@pytest.mark.parametrize("unit", ["datetime64[s]", "timedelta64[s]", "object"])
def test_labels_that_are_dates_are_refused(unit):
    y = np.where(LABELS == "yes", 0, 86_400)
    y = pd.to_datetime(y, unit="s").to_period("D") if unit == "object" else y.astype(unit)
    with pytest.raises(InvalidInputError, match=r"labels of type \w+: pass texts or numbers"):
        fit(FRAME, y)
