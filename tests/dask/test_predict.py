"""Lazy predictions of dask collections."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from capo import CAPOClassifier, SVMPerfClassifier
from capo.dask import DaskSVMPerfClassifier, decision_function, predict, predict_proba
from capo.exceptions import InvalidInputError

pytestmark = pytest.mark.usefixtures("synchronous")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(120) < 0.4, "yes", "no")
    return rng.normal(size=(120, 2)) + (y == "yes")[:, None], y


def test_predictions_of_arrays_are_lazy_and_those_of_the_classifier(rows):
    X, y = rows
    model = LogisticRegression().fit(X, y)
    lazy = da.from_array(X, chunks=((50, 0, 70), 1))
    labels = predict(model, lazy)
    assert isinstance(labels, da.Array)
    assert labels.chunks == ((50, 0, 70),)
    assert labels.dtype == y.dtype
    np.testing.assert_array_equal(labels.compute(), model.predict(X))
    np.testing.assert_array_equal(decision_function(model, lazy).compute(), model.decision_function(X))
    probabilities = predict_proba(model, lazy)
    assert probabilities.shape == (120, 2)
    np.testing.assert_array_equal(probabilities.compute(), model.predict_proba(X))
    # Of unknown length.
    some = lazy[lazy[:, 0] > 0]
    np.testing.assert_array_equal(predict(model, some).compute(), model.predict(X[X[:, 0] > 0]))


def test_predictions_of_data_frames_keep_the_index(rows):
    X, y = rows
    frame = pd.DataFrame(X, columns=["a", "b"], index=np.arange(120) * 2)
    model = SVMPerfClassifier(C=10.0).fit(frame, y)
    lazy = dd.from_pandas(frame, npartitions=3)
    pd.testing.assert_series_equal(
        predict(model, lazy).compute(),
        pd.Series(model.predict(frame), frame.index, name="predict"),
        check_dtype=False,
    )
    near = lazy[lazy.a > 1.5]  # some partitions may be empty
    expected = model.decision_function(frame[frame.a > 1.5])
    np.testing.assert_allclose(decision_function(model, near).compute().to_numpy(), expected)
    logistic = LogisticRegression().fit(frame, y)
    probabilities = predict_proba(logistic, lazy[lazy.a > 100]).compute()
    assert probabilities.shape == (0, 2)
    assert list(probabilities.columns) == ["no", "yes"]


def test_a_classifier_is_trained_on_data_frames(rows):
    X, y = rows
    frame = pd.DataFrame(X, columns=["a", "b"])
    lazy, labels = dd.from_pandas(frame, npartitions=3), dd.from_pandas(pd.Series(y), npartitions=3)
    model = DaskSVMPerfClassifier(C=10.0).fit(lazy, labels)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    local = SVMPerfClassifier(C=10.0).fit(frame, y)
    assert abs(model.primal_ - local.primal_) <= 10.0 * 1e-3
    np.testing.assert_array_equal(model.predict(lazy).compute().to_numpy(), model.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"a": "c"}))
    with pytest.raises(InvalidInputError, match="X has 3 partitions, y has 2"):
        model.fit(lazy, labels.repartition(npartitions=2))
    assert model.score(lazy, labels) == pytest.approx(model.to_local().score(frame, y))


def test_rows_in_memory_are_predicted_at_once(rows):
    model = LogisticRegression().fit(*rows)
    for function in (predict, predict_proba, decision_function):
        np.testing.assert_array_equal(
            function(model, rows[0]), getattr(model, function.__name__)(rows[0]), strict=True
        )


def test_a_model_that_asks_has_three_answers():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 1200)
    X = rng.integers(0, 3, size=(1200, 2)) + y[:, None]
    auxiliaries = [LogisticRegression()]
    model = CAPOClassifier(auxiliaries=auxiliaries, delta=None, cv=2, random_state=0).fit(X[:600], y[:600])
    asks = model.guarantee(
        X[600:], y[600:], "precision >= 0.8", "npv >= 0.8", confidence=0.8, abstain_label="ask"
    )
    lazy = predict(asks, da.from_array(X.astype(float), chunks=(70, -1)))
    assert lazy.dtype == object
    assert set(asks.predict(X).tolist()) == {0, 1, "ask"}
    np.testing.assert_array_equal(lazy.compute(), asks.predict(X))


def test_segments_and_prices_for_asking():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 1200)
    X = pd.DataFrame(rng.integers(0, 9, size=(1200, 2)) + 4 * y[:, None], columns=["a", "b"])
    table, place = X.astype(float), pd.Series(["north", "south"] * 600, name="place")
    model = CAPOClassifier("cost", auxiliaries=[LogisticRegression()], delta=None, cv=2, random_state=0)
    promised = model.fit(table[:600], y[:600]).guarantee(
        table[600:].assign(place=place), y[600:], "fpr <= 0.3", segments="place"
    )
    frame = table.assign(place=place)
    lazy = predict(promised, dd.from_pandas(frame, npartitions=4))
    np.testing.assert_array_equal(lazy.compute(), promised.predict(frame))
    asking = model.fit(table, y, cost_fp=5, cost_fn=5, cost_ask=1)
    assert "ask" in asking.predict(table).tolist()
    lazy = predict(asking, dd.from_pandas(table, npartitions=4))
    np.testing.assert_array_equal(lazy.compute(), asking.predict(table))
