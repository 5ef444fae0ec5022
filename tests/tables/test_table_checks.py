"""Numbers that would overflow, missing values in sparse matrices, and columns of lists."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.naive_bayes import GaussianNB

from capo import CAPOClassifier, SVMPerfClassifier, SVMPerfClassifierCV
from capo.baselines import (
    C45Classifier,
    CoreVectorMachine,
    CostSVMClassifier,
    PublishedCAPOClassifier,
    RBFNetworkClassifier,
)
from capo.exceptions import InvalidInputError
from capo.tables.checks import check_numbers
from capo.tables.schema import infer_schema

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = X[:, 0] > 0
LARGE = X.copy()
LARGE[7, 2] = -1e300
WITH_LARGE = {
    "array": LARGE,
    "sparse": csr_matrix(LARGE),
    "frame": pd.DataFrame(LARGE, columns=["a", "b", "c"]),
    "with missing": np.where(np.arange(3) == 0, np.nan, LARGE),
}


@pytest.mark.parametrize("kind", WITH_LARGE)
def test_a_large_number_is_named_with_its_place(kind):
    column = "the column 'c'" if kind == "frame" else r"column 2 of X \(counted from 0\)"
    with pytest.raises(
        InvalidInputError, match=f"^{column} contains -1e\\+300 in row 7: numbers beyond 1e\\+100"
    ):
        check_numbers(WITH_LARGE[kind])


@pytest.mark.parametrize(
    "table",
    [
        X * 1e99,
        np.full((2, 2), np.nan),
        np.zeros((0, 2)),
        np.array([[2**62, 1]]),
        csr_matrix((3, 2)),
        pd.DataFrame({"a": ["x", None], "b": [1, 2], "c": [np.nan, 1e99]}),
    ],
)
def test_other_numbers_are_accepted(table):
    check_numbers(table)


@pytest.mark.parametrize(
    "model",
    [
        CAPOClassifier("f1", auxiliaries=["nb"], cv=2),
        PublishedCAPOClassifier("f1", auxiliaries=[GaussianNB()], cv=2),
        SVMPerfClassifier("f1"),
        SVMPerfClassifier("f1", kernel="rbf"),
        SVMPerfClassifierCV("f1", cv=2),
        CoreVectorMachine(),
        CostSVMClassifier("f1", cv=2),
        C45Classifier(),
        RBFNetworkClassifier(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_classifier_refuses_numbers_that_overflow(model):
    with pytest.raises(InvalidInputError, match=r"column 2 of X .* contains -1e\+300 in row 7"):
        model.fit(LARGE, Y)


def test_large_numbers_in_rows_to_predict():
    model = SVMPerfClassifier("f1", kernel="rbf").fit(X, Y)
    with pytest.raises(InvalidInputError, match="numbers beyond 1e\\+100 overflow"):
        model.predict(LARGE)


def test_missing_values_in_a_sparse_matrix():
    table = csr_matrix(X)
    table.data[4] = np.nan
    with pytest.raises(InvalidInputError, match="X is a sparse matrix with missing values"):
        CAPOClassifier("f1", auxiliaries=["nb"], cv=2).fit(table, Y)


@pytest.mark.parametrize("value", [[[1, 2]], {"key": 1}, {1}, np.zeros((2, 2))])
def test_columns_of_collections(value):
    frame = pd.DataFrame({"a": X[:, 0], "tags": [value] * len(X)})
    with pytest.raises(InvalidInputError, match="the column 'tags' contains collections that are neither"):
        infer_schema(frame)
    with pytest.raises(InvalidInputError, match="the column 'tags' contains collections that are neither"):
        CAPOClassifier("f1", auxiliaries=["nb"], cv=2).fit(frame, Y)
    pl = pytest.importorskip("polars")
    with pytest.raises(InvalidInputError, match="the column 'tags'"):
        infer_schema(pl.DataFrame({"tags": [[1, 2], [3]]}))


@pytest.mark.filterwarnings("ignore::capo.exceptions.DataWarning")
def test_lists_where_there_were_categories():
    frame = pd.DataFrame({"a": X[:, 0], "tags": np.where(Y, "red", "blue")})
    model = CAPOClassifier("f1", auxiliaries=["nb"], cv=2, random_state=0).fit(frame, Y)
    with pytest.raises(ValueError, match="'tags' held categories in training, but now contains lists"):
        model.predict(frame.assign(tags=[[1]] * len(frame)))


def test_a_frame_that_scikit_learn_does_not_read(monkeypatch):
    """Releases before 1.9 know the frames of polars by a protocol that polars 2 has not."""

    class Frame(pl.DataFrame):
        __dataframe__ = property()

    monkeypatch.setattr("capo.tables.checks.NEEDS_INTERCHANGE", True)
    with pytest.raises(InvalidInputError, match=r"does not read.*scikit-learn to 1\.9"):
        check_numbers(Frame({"a": [1.0, 2.0]}))
    check_numbers(pd.DataFrame({"a": [1.0, 2.0]}))
