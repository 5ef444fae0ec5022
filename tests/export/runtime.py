"""Test tables, and runs of exported graphs in ONNX Runtime."""

import numpy as np
import pandas as pd
import polars as pl
from onnxruntime import InferenceSession, SessionOptions

from capo.export.onnx import onnx_inputs, to_onnx

#: Labels and probabilities, which follow from the scores, are compared for so many rows.
N_SLOW_PREDICTIONS = 500
#: Rows whose score is this close to the threshold may get either label.
ROUNDING = 1e-9


def make_frame(n_rows, seed, *, unknown=False):
    """NumericColumns, truth values, text and categories, rare ones among them, some missing."""
    rng = np.random.default_rng(seed)
    age, pay = rng.normal(size=n_rows), np.exp(rng.normal(size=n_rows))
    towns = np.array([*(f"town{i}" for i in range(12)), "hamlet", "farm"])
    town = rng.choice(towns, n_rows, p=[*[0.99 / 12] * 12, 0.005, 0.005])
    color = rng.choice(["red", "green", "blue"], n_rows)
    signal = age + np.sin(3 * pay) + np.isin(town, towns[::3]) + (color == "red") + rng.normal(size=n_rows)
    if unknown:
        town = np.where(rng.random(n_rows) < 0.05, "unknown town", town)

    def with_missing(values, share):
        is_missing = rng.random(n_rows) < share
        return [None if gone else value for value, gone in zip(values.tolist(), is_missing, strict=True)]

    table = {
        "age": with_missing(age, 0.1),
        "pay": with_missing(pay, 0.05),
        "visits": rng.integers(0, 5, n_rows),
        "new": rng.random(n_rows) < 0.3,
        "town": with_missing(town, 0.05),
        "color": with_missing(color, 0.02),
    }
    return pl.DataFrame(table, schema_overrides={"color": pl.Categorical}), (signal > 1.8).astype(int)


def to_pandas(table):
    """Convert a polars data frame to pandas."""
    kinds = {name: pd.Categorical if kind == pl.Categorical else list for name, kind in table.schema.items()}
    return pd.DataFrame({name: kinds[name](table[name].to_list()) for name in table.columns})


def make_array(n_rows, seed, *, missing=0.0):
    """An array with one column of integers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    X[:, 3] = rng.integers(0, 6, n_rows)
    y = X[:, 0] + X[:, 1] ** 2 + np.isin(X[:, 3], (1, 4)) + 0.7 * rng.normal(size=n_rows) > 1.5
    X[rng.random(X.shape) < missing] = np.nan
    return X, y.astype(int)


def run(graph, X):
    """Run a graph in ONNX Runtime, and return its outputs by name."""
    options = SessionOptions()
    options.intra_op_num_threads = 1
    session = InferenceSession(graph.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_outputs()]
    return dict(zip(names, session.run(names, onnx_inputs(X, session)), strict=True))


def assert_same_predictions(model, X, new, atol=1e-6):
    """Assert that the graph exported for X and the model agree on new rows."""
    graph = to_onnx(model, X)
    found, score = run(graph, new), getattr(model, "positive_decision", model.decision_function)(new)
    np.testing.assert_allclose(found["score"], score, rtol=0, atol=max(atol, 1e-6 * np.abs(score).max()))
    clear = np.abs(score) > ROUNDING
    assert np.mean(~clear) < 1e-3
    classes = model.classes_.tolist()
    positive = classes.index(getattr(model, "pos_label_", classes[1]))
    assert np.array_equal(found["label"] == classes[positive], np.where(clear, score > 0, found["score"] > 0))
    some = slice(N_SLOW_PREDICTIONS)
    assert np.array_equal(found["label"][some][clear[some]], model.predict(new[some])[clear[some]])
    if hasattr(model, "predict_proba"):
        expected = model.predict_proba(new[some])[:, positive]
        np.testing.assert_allclose(found["probability"][some], expected, rtol=0, atol=atol)
    else:
        assert "probability" not in found
    return graph
