"""Tables to predict on, and what ONNX Runtime says of them."""

import numpy as np
import pandas as pd
import polars as pl
from onnxruntime import InferenceSession, SessionOptions

from capo.export import onnx_inputs, to_onnx

#: Rows whose score is nearer to the threshold than this may get either label.
ROUNDING = 1e-9


def frame(n_rows, seed, *, unseen=False):
    """Numbers, truth values, text and categories, rare ones among them, some missing."""
    rng = np.random.default_rng(seed)
    age, pay = rng.normal(size=n_rows), np.exp(rng.normal(size=n_rows))
    towns = np.array([*(f"town{i}" for i in range(12)), "hamlet", "farm"])
    town = rng.choice(towns, n_rows, p=[*[0.99 / 12] * 12, 0.005, 0.005])
    colour = rng.choice(["red", "green", "blue"], n_rows)
    wanted = age + np.sin(3 * pay) + np.isin(town, towns[::3]) + (colour == "red") + rng.normal(size=n_rows)
    if unseen:
        town = np.where(rng.random(n_rows) < 0.05, "a town of tomorrow", town)

    def some(values, share):
        gone = rng.random(n_rows) < share
        return [None if missing else value for value, missing in zip(values.tolist(), gone, strict=True)]

    table = {
        "age": some(age, 0.1),
        "pay": some(pay, 0.05),
        "visits": rng.integers(0, 5, n_rows),
        "new": rng.random(n_rows) < 0.3,
        "town": some(town, 0.05),
        "colour": some(colour, 0.02),
    }
    return pl.DataFrame(table, schema_overrides={"colour": pl.Categorical}), (wanted > 1.8).astype(int)


def in_pandas(table):
    """The same table for pandas."""
    kinds = {name: pd.Categorical if kind == pl.Categorical else list for name, kind in table.schema.items()}
    return pd.DataFrame({name: kinds[name](table[name].to_list()) for name in table.columns})


def numbers(n_rows, seed, *, missing=0.0):
    """An array, one column of it whole numbers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    X[:, 3] = rng.integers(0, 6, n_rows)
    y = X[:, 0] + X[:, 1] ** 2 + np.isin(X[:, 3], (1, 4)) + 0.7 * rng.normal(size=n_rows) > 1.5
    X[rng.random(X.shape) < missing] = np.nan
    return X, y.astype(int)


def run(graph, X):
    """The outputs of a graph by name."""
    options = SessionOptions()
    options.intra_op_num_threads = 1
    session = InferenceSession(graph.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_outputs()]
    return dict(zip(names, session.run(names, onnx_inputs(X)), strict=True))


def assert_same(model, X, new, atol=1e-6):
    """Export with the rows X; labels and probabilities of the new rows are those of the model."""
    graph = to_onnx(model, X)
    found, score = run(graph, new), model.decision_function(new)
    np.testing.assert_allclose(found["score"], score, rtol=0, atol=max(atol, 1e-6 * np.abs(score).max()))
    clear = np.abs(score) > ROUNDING
    assert np.mean(~clear) < 1e-3
    assert np.array_equal(found["label"][clear], model.predict(new)[clear])
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(found["probability"], model.predict_proba(new)[:, 1], rtol=0, atol=atol)
    else:
        assert "probability" not in found
    return graph
