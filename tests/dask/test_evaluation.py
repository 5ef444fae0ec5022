"""All measures of rows in partitions are those of the rows in memory."""

import dask
import dask.array as da
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from capo.dask import evaluate
from capo.exceptions import InvalidInputError
from capo.inspection import evaluate as evaluate_in_memory
from capo.measures import get

CHUNKS = (2500, 0, 40, 1460)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    X[:, 1] *= 10.0 ** rng.integers(0, 6, 4000)  # scores of very different sizes
    y = np.where(X[:, 0] + rng.normal(size=4000) > 1, "yes", "no")
    return X, y, LogisticRegression().fit(X, y)


def on_dask(X, y, chunks=CHUNKS):
    return da.from_array(X, chunks=(chunks, X.shape[1])), da.from_array(y, chunks=(chunks,))


@pytest.mark.parametrize("n_bins", [4096, 64])
def test_values_and_confusion_matrix_are_those_of_the_rows_in_memory(rows, n_bins, monkeypatch):
    monkeypatch.setattr("capo.dask._evaluation.N_BINS", n_bins)
    monkeypatch.setattr("capo.inspection._bootstrap.N_RESAMPLES", 3)
    X, y, model = rows
    chosen = {"all_measures": True, "random_state": 0}
    expected = evaluate_in_memory(
        get("f1"), y == "yes", model.decision_function(X), class_names=("no", "yes"), **chosen
    )
    with dask.config.set(scheduler="synchronous"):
        found = evaluate(model, *on_dask(X, y), **chosen)
    assert found.confusion == expected.confusion
    assert found.class_names == expected.class_names
    assert found.max_error < 0.1
    for one, other in zip(found.estimates, expected.estimates, strict=True):
        assert one.name == other.name
        assert abs(one.value - other.value) <= found.max_error + 1e-12
    assert f"exact to {found.max_error:.1g}" in str(found)


def test_the_first_few_rows_are_counted_apart(rows, monkeypatch):
    monkeypatch.setattr("capo.dask._evaluation.N_BINS", 64)
    monkeypatch.setattr("capo.inspection._bootstrap.N_RESAMPLES", 3)
    X, y, model = rows
    measure = get("precision_at_k", k=10)
    with dask.config.set(scheduler="synchronous"):
        found = evaluate(model, *on_dask(X, y), measure)
    exact = measure.score(y == "yes", model.decision_function(X))
    assert found.estimates[0].value == pytest.approx(exact, abs=0.1)


def test_what_cannot_be_evaluated_is_refused(rows):
    X, y, model = rows
    with dask.config.set(scheduler="synchronous"):
        with pytest.raises(InvalidInputError, match="all rows are 'no'"):
            evaluate(model, *on_dask(X, np.full(len(y), "no")))
        with pytest.raises(ValueError, match="maybe"):
            evaluate(model, *on_dask(X, np.full(len(y), "maybe")))
        with pytest.raises(ValueError, match="distributed"):
            evaluate(model, *on_dask(X, y), client="tcp://host:8786")
        with pytest.raises(InvalidInputError, match="cost_fn of single rows"):
            evaluate(model, *on_dask(X, y), get("cost", cost_fn=np.ones(len(y))))
