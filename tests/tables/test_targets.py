"""Targets that are quantities or lists of labels and not classes."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from capo import CAPOClassifier
from capo.exceptions import InvalidInputError
from capo.tables.targets import find_label_separator, is_quantity, plain_labels

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(300, 2))
AGE = RANDOM.integers(18, 80, 300)
GENRES = np.array(
    ["|".join(sorted(RANDOM.choice(["Crime", "Drama", "War"], k, False))) for k in RANDOM.integers(1, 4, 300)]
)


def fit(y):
    model = CAPOClassifier("accuracy", auxiliaries=["nb"], cv=2, random_state=0)
    return model.fit(X, y)


@pytest.mark.parametrize("y", [AGE, AGE.astype(float)])
def test_a_quantity_needs_to_be_text_or_categorical(y):
    with pytest.raises(ValueError, match=r"look like a quantity.*pass them as text, as in y.astype\(str\)"):
        fit(y)
    assert len(fit(y.astype(str)).classes_) == len(np.unique(y))


def test_several_labels_in_one_text_need_to_be_categorical():
    with pytest.raises(ValueError, match=r"several labels per row, separated by '\|'.*MultiLabelBinarizer"):
        fit(GENRES)
    assert len(fit(pl.Series(GENRES, dtype=pl.Categorical)).classes_) == len(np.unique(GENRES))


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (np.arange(60), False),  # codes of classes
        (np.arange(1, 61), False),
        (np.arange(2, 62), True),
        (np.arange(0, 62, 2), True),
        (np.arange(150), True),
        (np.arange(1990, 2010), False),  # few values
        (np.arange(60).astype(str), False),
    ],
)
def test_numbers_with_many_values_are_a_quantity_unless_they_count(labels, expected):
    assert is_quantity(labels) == expected


def test_labels_with_the_same_number_of_parts_are_classes():
    labels = np.array([f"{size}, {color}" for size in "abcde" for color in "fghij"])
    counts = np.full(25, 10)
    assert find_label_separator(labels, counts) == ""
    assert find_label_separator(np.append(labels, "a"), np.append(counts, 10)) == ","


@pytest.mark.parametrize("y", [np.where(AGE > 70, np.nan, AGE > 40), np.where(AGE > 70, None, AGE > 40)])
def test_missing_labels_are_counted(y):
    with pytest.raises(ValueError, match=rf"{(AGE > 70).sum()} of 300 labels are missing.*dropna"):
        fit(y)


@pytest.mark.parametrize("dtype", ["boolean", "Int64", "bool[pyarrow]", "int64[pyarrow]", object])
def test_nullable_labels_keep_their_type(dtype):
    labels = np.array([True, False, True])
    if "nt" in str(dtype):
        labels = labels.astype(int)
    found = np.asarray(plain_labels(pd.Series(labels).astype(dtype)))
    assert found.dtype == labels.dtype
    assert found.tolist() == labels.tolist()


def test_labels_in_an_object_array():
    whole = plain_labels(np.array([3, 4, np.int8(3)], dtype=object))
    assert (whole.dtype, whole.tolist()) == (np.int64, [3, 4, 3])
    big = np.array([2**70, 1], dtype=object)
    assert plain_labels(big) is big
    with pytest.raises(InvalidInputError, match="y mixes texts and other values"):
        fit(np.array([0, "a"] * 150, dtype=object))
    assert fit(np.array((AGE > 40).astype(int), dtype=object)).classes_.tolist() == [0, 1]
