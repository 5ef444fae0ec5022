"""Columns of vectors and text encoders in exported graphs."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.frozen import FrozenEstimator

from capo import CAPOClassifier, ScoreColumn
from capo.exceptions import ExportError, InvalidInputError
from capo.export.onnx import onnx_inputs, to_onnx

from .runtime import assert_same_predictions

LENGTH = 40


def make_table(n_rows, seed):
    rng = np.random.default_rng(seed)
    vectors = (rng.normal(size=(n_rows, LENGTH)) * np.linspace(2, 0.1, LENGTH)).astype(np.float32)
    score = vectors[:, 0] + rng.normal(size=n_rows)
    column = [None if row % 9 == 2 else each for row, each in enumerate(vectors)]
    table = pd.DataFrame({"v": column, "x": rng.normal(size=n_rows), "service": score})
    return table, (vectors[:, 0] + vectors[:, 1] + rng.normal(size=n_rows) > 1).astype(int)


X, Y = make_table(300, 0)
NEW, _ = make_table(500, 1)


@pytest.mark.parametrize(
    "auxiliaries",
    [["linear", ScoreColumn("service")], ["trees", "boosting"], ["kernel", "svm"], [ScoreColumn("service")]],
)
def test_a_vector_is_one_input(auxiliaries):
    model = CAPOClassifier(auxiliaries=auxiliaries, random_state=0).fit(X, Y)
    graph = assert_same_predictions(model, X, NEW, atol=1e-4)
    shapes = {each.name: each.type.tensor_type.shape.dim[1].dim_value for each in graph.graph.input}
    assert shapes == {"v": LENGTH, "x": 1, "service": 1}


def test_short_vectors_at_the_thresholds_of_trees():
    """Boosting puts thresholds on values of the training rows: rounding would move rows across them."""
    rng = np.random.default_rng(3)
    y = rng.random(600) < 0.3
    table = pd.DataFrame({"v": list(rng.normal(size=(600, 8)) + np.outer(y, np.linspace(1, 0, 8)))})
    model = CAPOClassifier(auxiliaries=["boosting"], delta=None, cv=2, random_state=0).fit(table, y)
    assert_same_predictions(model, table, table, atol=1e-9)


def test_inputs_of_other_libraries_and_lengths():
    model = CAPOClassifier(auxiliaries=["linear"], random_state=0).fit(X, Y)
    graph = to_onnx(model, X[:1])
    column = pl.Series(X["v"].map(lambda v: v if v is None else v.tolist()).tolist())
    table = pl.DataFrame({"v": column, "x": X["x"].to_numpy(), "service": X["service"].to_numpy()})
    found = onnx_inputs(table, graph)["v"]
    np.testing.assert_array_equal(found, onnx_inputs(X, graph)["v"])
    assert found.shape == (len(X), LENGTH)
    assert np.isnan(found[2]).all()
    with pytest.raises(
        InvalidInputError, match="contains vectors of 40 numbers, but row 0 has a vector of 3"
    ):
        onnx_inputs(X.assign(v=[np.zeros(3)] * len(X)), graph)


def test_a_text_encoder_is_not_exported():
    texts = [f"word{n % 7} and word{n % 5} again" for n in range(300)]
    table = pd.DataFrame({"text": texts, "x": X["x"]})
    encoder = FrozenEstimator(HashingVectorizer(n_features=8))
    kinds = {"text": "text"}
    model = CAPOClassifier(auxiliaries=["linear"], text_encoder=encoder, column_kinds=kinds).fit(table, Y)
    with pytest.raises(ExportError, match="has a text encoder, which is not exported: encode the texts"):
        to_onnx(model, table)
