"""Exported models in ONNX Runtime against the original models, on 10,000 rows."""

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import xgboost
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    OneHotEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC, LinearSVC, NuSVC
from sklearn.tree import DecisionTreeClassifier

import capo
from capo import CAPOClassifier, ScoreColumn, SVMPerfClassifier, SVMPerfClassifierCV
from capo.baselines import PublishedCAPOClassifier
from capo.export.onnx import to_onnx
from capo.learning.auxiliaries import make_auxiliaries
from capo.tables.schema import infer_schema

from .runtime import assert_same_predictions, make_array, make_frame, run, to_pandas

TRAINING, NEW = 400, 10_000


@pytest.fixture(scope="module")
def tables():
    return (*make_frame(TRAINING, 0), make_frame(NEW, 1, unknown=True)[0])


@pytest.fixture(scope="module")
def arrays():
    return (*make_array(TRAINING, 0), make_array(NEW, 1)[0])


def fit_capo(auxiliaries, X, y, **params):
    """Fit a model in which all auxiliaries have the same weight, so that none is left out."""
    settings = {"cv": 2, "random_state": 0, "C": 1.0, "prior": "unit", "outputs": "scores", **params}
    return PublishedCAPOClassifier(auxiliaries=auxiliaries, **settings).fit(X, y)


def test_the_default_auxiliaries_on_a_frame(tables):
    X, y, new = tables
    model = fit_capo("auto", X, y, delta=None)
    assert min(model.auxiliary_weights_.values()) > 0
    graph = assert_same_predictions(model, X, new)
    assert [each.name for each in graph.graph.input] == X.columns


@pytest.mark.parametrize("delta", ["linear", "rbf"])
def test_the_delta_functions_on_a_frame(tables, delta):
    X, y, new = tables
    model = CAPOClassifier(auxiliaries=["linear"], delta=delta, C=10.0, cv=2, random_state=0).fit(X, y)
    assert np.any(model.combination_.weights.delta)
    assert_same_predictions(model, X, new)


@pytest.mark.slow
def test_pandas_with_categories_of_numbers_and_dates(tables):
    X, y, new = tables

    def more(table, seed):
        table = to_pandas(table)
        table["color"] = table["color"].astype(pd.CategoricalDtype(["blue", "green", "red", "white"]))
        rng = np.random.default_rng(seed)
        table["size"] = pd.Categorical(rng.integers(0, 8 + seed, len(table)))
        table["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(
            rng.integers(0, 5 + seed, len(table)), "D"
        )
        return table

    model = fit_capo("auto", X := more(X, 0), y)
    assert_same_predictions(model, X, more(new[:2000], 1))


@pytest.mark.parametrize("pos_label", ["no", "yes"])
def test_a_refitted_model_with_its_old_one(tables, pos_label):
    X, y, new = tables
    labels = np.where(y == 1, "yes", "no")
    old = CAPOClassifier(auxiliaries=["linear"], delta=None, C=0.0, pos_label=pos_label, random_state=0)
    old.fit(X[:250], labels[:250])
    assert_same_predictions(old.refit_on(X[250:], labels[250:]), X[250:], new)


def test_an_array_with_missing_values():
    X, y = make_array(TRAINING, 0, missing=0.1)
    X[:, 2] = np.nan  # dropped for trees
    X[:, 4] *= 1e-6  # standardized for trees
    new = make_array(NEW, 1, missing=0.1)[0] * [1, 1, 1, 1, 1e-6]
    graph = assert_same_predictions(fit_capo("auto", X, y), X, new)
    assert [each.name for each in graph.graph.input] == ["X"]


def test_a_model_trained_on_a_sparse_matrix_takes_a_dense_one():
    rng = np.random.default_rng(0)
    X, new = (
        scipy.sparse.random(n, 60, density=0.1, random_state=rng, format="csr") for n in (TRAINING, 2000)
    )
    y = np.asarray(X[:, :20].sum(axis=1)).ravel() + 0.3 * rng.normal(size=TRAINING) > 1
    assert_same_predictions(fit_capo("auto", X, y), X, new)


def linear():
    return LogisticRegression(max_iter=1000)


def trees():
    return RandomForestClassifier(10)


CLASSIFIERS = {
    "forest": trees(),
    "extra": ExtraTreesClassifier(10),
    "boosting": GradientBoostingClassifier(n_estimators=10),
    "exponential": GradientBoostingClassifier(loss="exponential", n_estimators=10, init="zero"),
    "histograms": HistGradientBoostingClassifier(categorical_features=[3], max_iter=20),
    "one leaf": HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=500),
    "bags of lines": BaggingClassifier(linear(), n_estimators=4, max_features=3),
    "bags of trees": BaggingClassifier(trees(), n_estimators=2),
    "bags of votes": BaggingClassifier(LinearSVC(), n_estimators=3),
    "soft votes": VotingClassifier([("a", trees()), ("b", linear())], voting="soft", weights=[1, 3]),
    "hard votes": VotingClassifier([("a", trees()), ("b", linear()), ("c", GaussianNB())]),
    "stumps": AdaBoostClassifier(n_estimators=5),
    "stack": StackingClassifier([("a", trees()), ("b", LinearSVC())], linear(), cv=2),
    "stack of labels": StackingClassifier(
        [("a", RidgeClassifier()), ("b", trees())], trees(), cv=2, stack_method="predict", passthrough=True
    ),
    "isotonic": CalibratedClassifierCV(trees(), method="isotonic", cv=2),
    "platt": CalibratedClassifierCV(LinearSVC(), cv=2),
    "bayes": GaussianNB(),
    "network": make_pipeline(StandardScaler(), MLPClassifier((8,), solver="lbfgs", max_iter=5000, alpha=1.0)),
    "neighbors": KNeighborsClassifier(7),
    "discriminant": LinearDiscriminantAnalysis(),
    "descent": make_pipeline(StandardScaler(), SGDClassifier()),
    "ridge": RidgeClassifier(),
    "poly": make_pipeline(StandardScaler(), SVC(kernel="poly", coef0=1)),
    "sigmoid": SVC(kernel="sigmoid", gamma=0.01),
    "nu": NuSVC(nu=0.3),
    "searched": GridSearchCV(linear(), {"C": [0.1, 1]}, cv=2),
    "quantiles": make_pipeline(QuantileTransformer(n_quantiles=10), linear()),
    "products": make_pipeline(StandardScaler(), PolynomialFeatures(3, interaction_only=True), linear()),
    "svmperf": SVMPerfClassifier("f1"),
    "lightgbm": lightgbm.LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1),
    "mean of trees": lightgbm.LGBMClassifier(
        n_estimators=20, verbose=-1, n_jobs=1, boosting_type="rf", bagging_freq=1, bagging_fraction=0.6
    ),
    "xgboost": xgboost.XGBClassifier(n_jobs=1, n_estimators=60),
}


@pytest.mark.slow
@pytest.mark.parametrize("outputs", ["scores", "labels"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_user_classifiers(arrays, name, outputs):
    X, y, new = arrays
    model = fit_capo([(name, CLASSIFIERS[name])], X, y, delta="linear", outputs=outputs)
    assert_same_predictions(model, X, new)


BOOSTERS = {
    "lightgbm": lightgbm.LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1),
    "zero is missing": lightgbm.LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1, zero_as_missing=True),
    "xgboost": xgboost.XGBClassifier(n_jobs=1, n_estimators=20),
    "histograms": HistGradientBoostingClassifier(max_iter=20, categorical_features=[3]),
}


@pytest.mark.parametrize("name", BOOSTERS)
@pytest.mark.parametrize("share", [0.0, 0.1])
def test_missing_values_with_or_without_missing_values_in_training(name, share):
    X, y = make_array(TRAINING, 0, missing=share)
    assert_same_predictions(
        fit_capo([BOOSTERS[name]], X, y, delta=None), X, make_array(NEW, 1, missing=0.1)[0]
    )


def test_a_forest_on_missing_values():
    X, y = make_array(TRAINING, 0, missing=0.1)
    assert_same_predictions(fit_capo([trees()], X, y, delta=None), X, make_array(NEW, 1, missing=0.1)[0])


@pytest.mark.slow
def test_hundreds_of_categories():
    rng = np.random.default_rng(0)
    word, x = rng.integers(0, 300, 1500), rng.normal(size=1500)
    X = pd.DataFrame({"word": [f"word {each}" for each in word], "x": x})
    y = np.sin(word) + x + 0.5 * rng.normal(size=1500) > 0.5
    words = [f"word {each}" for each in rng.integers(0, 330, NEW)]
    new = pd.DataFrame({"word": words, "x": rng.normal(size=NEW)})
    trees = [
        model
        for name, model in make_auxiliaries("auto", X, infer_schema(X))
        if name in ("boosting", "trees", "linear")
    ]
    assert_same_predictions(fit_capo(trees, X, y, delta=None), X, new)


@pytest.mark.slow
def test_an_array_in_single_precision(arrays):
    X, y, new = (each.astype(np.float32) for each in arrays)
    model = fit_capo("auto", X, y.astype(int))
    # The model computes in single precision here, and its kernel loses most digits.
    found = run(to_onnx(model, X), new)["probability"]
    np.testing.assert_allclose(found, model.predict_proba(new)[:, 1], rtol=0, atol=5e-3)


def test_early_stopping_keeps_the_best_trees(arrays):
    X, y, new = arrays
    stopped = xgboost.XGBClassifier(n_jobs=1, n_estimators=200, early_stopping_rounds=3, learning_rate=0.5)
    stopped.fit(X[:300], y[:300], eval_set=[(X[300:], y[300:])], verbose=False)
    assert stopped.best_iteration < 190
    assert_same_predictions(fit_capo([FrozenEstimator(stopped)], X, y, delta=None), X, new)


@pytest.mark.filterwarnings("ignore:`TargetEncoder.shuffle` and:FutureWarning")
@pytest.mark.parametrize("pandas", [False, True])
def test_user_pipelines_on_a_frame(tables, pandas):
    X, y, new = (to_pandas(each) if pandas and isinstance(each, pl.DataFrame) else each for each in tables)
    filled = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    first = make_column_transformer(
        (filled, ["town"]),
        (OneHotEncoder(handle_unknown="ignore", drop="if_binary"), ["visits", "new"]),
        (make_pipeline(SimpleImputer(add_indicator=True), RobustScaler()), ["age", "pay"]),
    )
    second = make_column_transformer(
        (TargetEncoder(), ["town", "color"]),
        (SimpleImputer(strategy="constant", fill_value=-1.0), ["age"]),
        remainder="passthrough",
    )
    boosting = HistGradientBoostingClassifier(max_iter=10)
    models = [make_pipeline(first, linear()), make_pipeline(second, boosting)]
    assert_same_predictions(fit_capo(models, X, y, delta=None), X, new)


def test_lightgbm_on_categories_of_numbers(arrays):
    X, y, new = arrays
    model = lightgbm.LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1, min_data_per_group=5)
    model.fit(X, y, categorical_feature=[3])
    assert "==" in str(model.booster_.dump_model())
    assert_same_predictions(fit_capo([FrozenEstimator(model)], X, y, delta=None), X, new)


def test_lightgbm_on_the_categories_of_a_frame(tables):
    X, y, new = (to_pandas(each) if isinstance(each, pl.DataFrame) else each for each in tables)
    X, new = (each.astype({"town": "category", "color": "category"}) for each in (X, new))
    model = lightgbm.LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1, min_data_per_group=5)
    assert_same_predictions(fit_capo([model], X, y, delta=None), X, new)


@pytest.mark.parametrize("labels", [("no", "yes"), (-1, 1), (3, 7), (False, True), (0.0, 1.0)], ids=repr)
def test_labels_keep_their_type(arrays, labels):
    X, y, new = arrays
    model = fit_capo([trees()], X, np.array(labels)[y], measure="mcc", delta=None)
    found = run(assert_same_predictions(model, X, new), new)["label"]
    assert set(found.tolist()) == set(labels)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian", "inverse_squared_distance", "poly"])
def test_svmperf(arrays, kernel):
    X, y, new = arrays
    assert_same_predictions(SVMPerfClassifier("f1", kernel=kernel, C=10.0).fit(X[:200], y[:200]), X, new)


def test_svmperf_cv(arrays):
    X, y, new = arrays
    assert_same_predictions(SVMPerfClassifierCV("f1", cv=2).fit(X, y), X, new)


def test_auxiliaries_with_weight_zero_are_left_out(arrays):
    X, y, new = arrays
    constant = DecisionTreeClassifier(min_samples_leaf=TRAINING)
    auxiliaries = [("forest", trees()), ("constant", constant)]
    model = CAPOClassifier(auxiliaries=auxiliaries, delta=None, C=0, cv=2, random_state=0).fit(X, y)
    assert model.auxiliary_weights_["constant"] == 0.0
    graph = assert_same_predictions(model, X, new)
    assert sum(node.op_type == "TreeEnsemble" for node in graph.graph.node) == 1


def test_a_model_with_constant_output(arrays):
    X, y, _ = arrays
    model = fit_capo([DecisionTreeClassifier(min_samples_leaf=TRAINING)], X, y, delta=None, C=0)
    found = run(to_onnx(model, X), X[:7])
    np.testing.assert_allclose(found["probability"], model.predict_proba(X[:7])[:, 1])


def test_the_metadata_of_the_graph(arrays):
    X, y, new = arrays
    model = fit_capo([trees()], X, y, measure="fbeta", delta=None)
    notes = {each.key: each.value for each in assert_same_predictions(model, X, new).metadata_props}
    assert notes == {
        "capo_version": capo.__version__,
        "measure": model.measure_.label,
        "pos_label": "1",
        "threshold": repr(model.threshold_),
        "column_kinds": "{}",
    }


def test_columns_named_like_outputs_or_without_a_name():
    X, y = make_array(TRAINING, 0)
    table = pd.DataFrame(X, columns=["score", "label", "", "capo:1", "capo:2"])
    graph = assert_same_predictions(fit_capo([trees()], table, y), table, table)
    assert [each.name for each in graph.graph.input] == ["score_", "label_", "column2", "capo:1", "capo:2"]


def test_columns_named_by_numbers():
    X, y = make_array(TRAINING, 0)
    table = pd.DataFrame(X)
    assert_same_predictions(fit_capo([trees()], table, y), table, table)


@pytest.mark.parametrize("learner", [LogisticRegression(), DecisionTreeClassifier(max_depth=3)])
def test_a_frozen_auxiliary_whose_smaller_label_is_positive(learner):
    X, y = make_array(200, 0)
    labels = np.where(y == 1, "yes", "no")
    frozen = FrozenEstimator(learner.fit(X, labels))
    model = CAPOClassifier("f1", auxiliaries=[frozen], C=0, cv=3, pos_label="no", random_state=0)
    assert_same_predictions(model.fit(X, labels), X, make_array(200, 1)[0])


@pytest.mark.parametrize("labels", [("no", "yes"), (0, 1)])
def test_promised_cuts_separate_scores_of_few_values(labels):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(3000, 3)).astype(np.float64) / 3
    y = np.array(labels)[(rng.random(3000) < X.mean(axis=1)).astype(int)]
    auxiliaries = [LogisticRegression(), DecisionTreeClassifier(max_depth=3)]
    model = CAPOClassifier(auxiliaries=auxiliaries, delta=None, cv=2, random_state=0).fit(X[:500], y[:500])
    calibration = X[500:2000], y[500:2000]
    for promises, label in ((("fpr <= 0.3",), None), (("precision >= 0.7", "npv >= 0.7"), "ask")):
        promised = model.guarantee(*calibration, *promises, confidence=0.8, abstain_label=label)
        assert promised.guarantee_.is_certified
        exported = run(to_onnx(promised, X[:1]), X)["label"]
        predicted = promised.predict(X)
        assert len(set(predicted.tolist())) == 2 + (label is not None)
        assert [str(each) for each in exported] == [str(each) for each in predicted]


def test_score_columns():
    rng = np.random.default_rng(0)
    y = rng.random(10_400) < 0.3
    scores = pd.DataFrame(
        {
            "cauchy": rng.standard_cauchy(len(y)) + 3 * y,
            "sentinel": np.where(rng.random(len(y)) < 0.1, -999.0, rng.normal(size=len(y)) + y),
            "missing": np.where(rng.random(len(y)) < 0.2, np.nan, np.exp(3 * rng.normal(size=len(y)) + y)),
            "level": np.round(rng.normal(size=len(y)) + y),
        }
    )
    auxiliaries = [ScoreColumn(["cauchy", "sentinel"]), ScoreColumn("missing"), ScoreColumn("level")]
    model = CAPOClassifier("f1", auxiliaries=auxiliaries, C=0.0, random_state=0).fit(scores[:400], y[:400])
    new = scores[400:].reset_index(drop=True)
    new.loc[:3, "cauchy"] = [1e90, -1e90, np.nan, 0.0]
    assert_same_predictions(model, scores[:400], new)
