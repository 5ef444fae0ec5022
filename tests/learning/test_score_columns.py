"""Columns of scores and answers as auxiliaries."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from capo import CAPOClassifier, ScoreColumn, load, measures, save
from capo.exceptions import DataWarning, InvalidInputError


def make_table(n=600, seed=0):
    """Two columns, a probability of a service, its answer in words, and labels."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    score = 1 / (1 + np.exp(-(rng.normal(size=n) + 2 * y - 1)))
    score[rng.random(n) < 0.1] = np.nan
    answer = np.select([np.isnan(score), score > 0.7, score > 0.4], [None, "yes", "unsure"], "no")
    X = pd.DataFrame({"a": rng.normal(size=n) + y, "b": rng.choice(["red", "blue"], n)})
    return X.assign(score=score, answer=answer), y


def fit(auxiliaries, X, y, measure="roc_auc", **params):
    return CAPOClassifier(measure, auxiliaries=auxiliaries, C=0.0, random_state=0, **params).fit(X, y)


@pytest.mark.parametrize("column", ["score", "answer"])
def test_a_score_column_alone_is_worth_what_it_says(column):
    X, y = make_table()
    X_test, y_test = make_table(3000, seed=1)
    model = fit([ScoreColumn(column)], X, y, delta=None)
    assert list(model.auxiliary_weights_) == [column]
    expected = (
        X_test["score"] if column == "score" else X_test["answer"].map({"no": 0, "unsure": 1, "yes": 2})
    )
    known = expected.notna()
    found = model.positive_decision(X_test)
    assert roc_auc_score(y_test[known], found[known]) == pytest.approx(
        roc_auc_score(y_test[known], expected[known]), abs=1e-3
    )
    rate = y[X["score"].isna()].mean()
    missing = model.predict_proba(X_test[~known])[:, 1]
    assert np.ptp(missing) == 0
    assert missing[0] == pytest.approx(rate, abs=0.12)


@pytest.mark.parametrize("name", ["linear", "measure", "auto", "a__b", "", "splitter"])
def test_a_score_column_may_have_any_name(name, tmp_path):
    X, y = make_table(200)
    X = X.rename(columns={"score": name})
    model = fit(["linear", ScoreColumn(name)], X, y)
    auxiliary = f"score({name.replace('__', '_')})"
    assert list(model.auxiliary_weights_) == ["linear", auxiliary]
    assert model.score_columns == {auxiliary: [name]}
    save(model, tmp_path / "m.capo")
    np.testing.assert_array_equal(load(tmp_path / "m.capo").log_odds(X), model.log_odds(X))
    assert clone(model).get_params()["auxiliaries"][1].column == name


def test_the_direction_of_a_score_is_learned():
    X, y = make_table()
    turned = X.assign(score=100 * (1 - X["score"]))
    found, same = (fit([ScoreColumn("score")], table, y, delta=None) for table in (turned, X))
    assert found.score(turned, y) == pytest.approx(same.score(X, y), abs=1e-2)
    assert "direction" not in same.summary().notes
    assert found.summary().notes["direction"] == "rows with a higher score are positive less often"


@pytest.mark.parametrize("law", ["cauchy", "lognormal", "sentinel"])
def test_extreme_scores_are_worth_their_order(law):
    rng = np.random.default_rng(0)
    n_rows, n_train = 8000, 400
    y = rng.random(n_rows) < 0.25
    shifted = rng.normal(size=n_rows) + 1.5 * y
    score = {
        "cauchy": rng.standard_cauchy(n_rows) + 3 * y,
        "lognormal": np.exp(2 * shifted),
        "sentinel": np.where(rng.random(n_rows) < 0.1, -999.0, shifted),
    }[law]
    X, measure = score[:, None], measures.get("f1")
    model = fit([ScoreColumn(0)], X[:n_train], y[:n_train], measure="f1", delta=None)
    tuned = measure.score(y[n_train:], score[n_train:] - measure.threshold(y[:n_train], score[:n_train]))
    assert model.score(X[n_train:], y[n_train:]) > tuned - 0.03


def test_a_score_that_has_seen_the_labels_is_warned_of():
    X, y = make_table()
    leaked = X.assign(score=y + np.random.default_rng(0).normal(scale=0.1, size=len(y)))
    with pytest.warns(DataWarning, match="the score column 'score' has a ROC area of 1.0000"):
        fit([ScoreColumn("score"), "linear"], leaked.drop(columns="answer"), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit([ScoreColumn("score"), "linear"], X, y)


def test_other_auxiliaries_and_the_delta_function_do_not_see_the_column():
    X, y = make_table()
    X = X.drop(columns="answer")
    shuffled = X.assign(score=X["score"].sample(frac=1.0, random_state=0).to_numpy())
    models = [fit(["linear", "trees", ScoreColumn("score")], table, y) for table in (X, shuffled)]
    first, second = (model.auxiliary_outputs_ for model in models)
    np.testing.assert_array_equal(first[:, :2], second[:, :2])
    assert not np.array_equal(first[:, 2], second[:, 2])
    assert not any("score" in name for name in models[0].delta_coef_)
    assert models[0].score_ > models[1].score_ + 0.02
    assert "score" in models[0].feature_names_in_


def test_score_columns_alone_are_corrected_by_the_other_columns():
    X, y = make_table(300)
    X_test, y_test = make_table(3000, seed=1)
    model = fit([ScoreColumn("score")], X, y)
    alone = fit([ScoreColumn("score")], X, y, delta=None)
    assert np.isfinite(model.delta_ridge_)
    assert model.score(X_test, y_test) > alone.score(X_test, y_test) + 0.02
    only = fit([ScoreColumn("score")], X[["score"]], y)
    assert not only.delta_coef_


def test_arrays_polars_files_and_predictions_without_the_column(tmp_path):
    X, y = make_table()
    model = fit(["linear", ScoreColumn("score"), ScoreColumn("answer")], X, y)
    save(model, tmp_path / "m.capo")
    for table in (X, pl.from_pandas(X)):
        np.testing.assert_array_equal(load(tmp_path / "m.capo").log_odds(table), model.log_odds(X))
    with pytest.raises(InvalidInputError, match="'score'"):
        model.predict(X.drop(columns="score"))
    array = X[["a", "score"]].to_numpy()
    same = fit([ScoreColumn(1)], array, y)
    assert list(same.auxiliary_weights_) == ["column 1"]


def test_many_classes_and_labels():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 600)
    said = np.where(rng.random(600) < 0.7, codes, rng.integers(0, 3, 600))
    names = np.array(["x", "y", "z"])
    X = pd.DataFrame({"a": rng.normal(size=600), "service": names[said]})
    for k, name in enumerate(names):
        X[f"score_{name}"] = 2.0 * (said == k) + rng.normal(size=600)
    model = CAPOClassifier("f1_macro", auxiliaries=["linear", ScoreColumn("service")], random_state=0)
    assert model.fit(X, names[codes]).score_ > 0.6
    several = ScoreColumn(["score_x", "score_y", "score_z"])
    model = CAPOClassifier("f1_macro", auxiliaries=[several], random_state=0).fit(X, names[codes])
    assert model.score_ > 0.5
    labels = np.column_stack((codes == 0, codes != 1)).astype(int)
    model = CAPOClassifier("f1_micro", auxiliaries=[ScoreColumn("service")], random_state=0).fit(X, labels)
    assert model.score_ > 0.6


def test_onnx_gives_the_same_labels(tmp_path):
    export = pytest.importorskip("capo.export")
    runtime = pytest.importorskip("onnxruntime")
    X, y = make_table()
    model = fit(["linear", ScoreColumn("score"), ScoreColumn("answer")], X, y, measure="f1")
    graph = export.to_onnx(model, X)
    session = runtime.InferenceSession(graph.SerializeToString())
    labels = session.run(None, export.onnx_inputs(X, graph))[0]
    assert np.mean(np.asarray(labels).ravel() == model.predict(X)) == 1.0


@pytest.mark.parametrize(
    ("change", "column", "message"),
    [
        ({}, "vendor", "there is no score column 'vendor'"),
        ({"score": 0.5}, "score", "same value in all rows"),
        ({"score": np.nan}, "score", "only missing values"),
        ({"score": [f"row {k} of the table" for k in range(600)]}, "score", "it needs numbers"),
    ],
)
def test_bad_score_columns_get_a_sentence(change, column, message):
    X, y = make_table()
    with pytest.raises(InvalidInputError, match=message):
        fit([ScoreColumn(column)], X.assign(**change), y)


def test_a_column_given_twice_and_nothing_left_for_others():
    X, y = make_table()
    with pytest.raises(InvalidInputError, match="appears twice"):
        fit([ScoreColumn("score"), ("again", ScoreColumn("score"))], X, y)
    with pytest.raises(InvalidInputError, match="no columns to learn from"):
        fit([ScoreColumn("score"), "linear"], X[["score"]], y)


@pytest.mark.parametrize(
    "transform",
    [
        lambda z, y: np.where(np.arange(len(z)) == np.flatnonzero(~y)[0], 1e6, z),
        lambda z, y: np.where(np.arange(len(z)) % 50 == 0, -999.0, z),
        lambda z, y: np.exp(8 * z),
        lambda z, y: 1e-9 / (1 + np.exp(-z)),
        lambda z, y: 1 - 1e-9 / (1 + np.exp(z)),
    ],
    ids=["outlier", "sentinel", "heavy tail", "small probabilities", "large probabilities"],
)
def test_the_order_of_scores_is_kept_whatever_their_distribution(transform):
    rng = np.random.default_rng(0)
    y = rng.random(1500) < 0.4
    scores = transform(rng.normal(size=1500) + 1.5 * y, y)
    X = np.column_stack((rng.normal(size=1500), scores))
    model = fit([ScoreColumn(1)], X[:500], y[:500], measure="f1", delta=None)
    found = roc_auc_score(y[500:], model.positive_decision(X[500:]))
    assert found == pytest.approx(roc_auc_score(y[500:], scores[500:]), abs=2e-3)
    assert model.score(X[500:], y[500:]) > 0.6


def test_columns_that_cannot_be_names_get_a_sentence():
    X, y = make_table()
    with pytest.raises(InvalidInputError, match="has no columns"):
        fit([("nothing", ScoreColumn([]))], X, y)
    two = fit([ScoreColumn(np.array([0, 1]))], X[["a", "score"]].to_numpy(), y)
    assert list(two.auxiliary_weights_) == ["column 0 and column 1"]
