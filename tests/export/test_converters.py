"""Single converters against scikit-learn: transformers, trees and kernels."""

import warnings

import numpy as np
import onnx
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)

from capo.export._classifiers import convert_classifier
from capo.export._graph import GraphBuilder, make_input_table
from capo.export._transformers import convert_transformer
from capo.tables.features import (
    KnownCategoryFilter,
    make_linear_features,
    make_rbf_features,
    make_tree_features,
)

from .runtime import make_array, make_frame, run


def export(X, convert):
    """A function that runs, on a table, the graph that `convert` builds for data with the columns of X."""
    graph = GraphBuilder()
    value = convert(make_input_table(graph, X))
    model = graph.build({"value": (value, onnx.TensorProto.DOUBLE, ["n", None])}, {"column_kinds": "{}"})
    return lambda new: run(model, new)["value"]


def dense(values):
    return values.toarray() if hasattr(values, "toarray") else np.asarray(values, dtype=float)


def assert_transforms(transformer, X, new):
    found = export(X, lambda table: convert_transformer(transformer, table).to_matrix())(new)
    np.testing.assert_allclose(found, dense(transformer.transform(new)), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    "make", [make_linear_features, make_tree_features, lambda X: make_rbf_features(X, 50)]
)
@pytest.mark.parametrize("seed", range(3))
def test_feature_pipelines_on_a_frame(make, seed):
    X, new = make_frame(300, seed)[0], make_frame(1000, seed + 10, unknown=True)[0]
    assert_transforms(make(X).fit(X), X, new)


@pytest.mark.parametrize(
    "transformer",
    [
        SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True),
        SimpleImputer(strategy="most_frequent", add_indicator=True),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        MaxAbsScaler(),
        MinMaxScaler((-1, 2), clip=True),
        make_pipeline(SimpleImputer(), PolynomialFeatures((2, 3), include_bias=False)),
        make_pipeline(SimpleImputer(), Nystroem(kernel="linear", n_components=3, random_state=0)),
        make_pipeline(SimpleImputer(), Nystroem(gamma=0.3, n_components=20, random_state=0)),
        make_pipeline(SimpleImputer(), SelectKBest(k=2)),
        FeatureUnion([("a", StandardScaler()), ("b", "passthrough")], transformer_weights={"a": 3.0}),
    ],
    ids=lambda each: str(each).replace("\n", "")[:40],
)
def test_numeric_transformers(transformer):
    X, y = make_array(200, 0, missing=0.2)
    X[:, 2] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the column without any value
        assert_transforms(transformer.fit(X, y), X, make_array(500, 1, missing=0.2)[0])


CATEGORIES = st.sampled_from(["a", "b", "c", "dd", "e e", "ä", None])


@settings(max_examples=25, deadline=None)
@given(
    seen=st.lists(st.tuples(CATEGORIES, CATEGORIES), min_size=1, max_size=30),
    new=st.lists(st.tuples(CATEGORIES, st.one_of(CATEGORIES, st.text("xyz", min_size=1)))),
    most=st.sampled_from([None, 2, 3]),
    rarest=st.sampled_from([None, 2, 4]),
    one_hot=st.booleans(),
)
def test_encoders_of_text(seen, new, most, rarest, one_hot):
    X, others = (
        pl.DataFrame(rows, schema={"a": pl.String, "b": pl.String}, orient="row")
        for rows in (seen, seen + new)
    )
    rare = {"max_categories": most, "min_frequency": rarest}
    encoder = (
        OneHotEncoder(handle_unknown="infrequent_if_exist", **rare)
        if one_hot
        else OrdinalEncoder(
            handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan, **rare
        )
    )
    for transformer in (make_pipeline(KnownCategoryFilter(), encoder), encoder):
        assert_transforms(transformer.fit(X), X, others)


def test_a_category_that_an_encoder_rejects_is_nan():
    X = np.array([[1.0], [2.0], [2.0]])
    found = export(X, lambda table: convert_transformer(OneHotEncoder().fit(X), table).to_matrix())
    assert np.isnan(found(np.array([[3.0]]))).all()
    assert found(X).tolist() == [[1, 0], [0, 1], [0, 1]]


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), digits=st.sampled_from([1, 3, 12]), missing=st.sampled_from([0.0, 0.2]))
def test_trees_at_their_thresholds(seed, digits, missing):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3)).round(digits)
    X[:, 2] = rng.integers(0, 40, 80)
    y = (X[:, 0] + X[:, 1] > 0) ^ (X[:, 2] % 3 == 0)
    X[rng.random(X.shape) < missing] = np.nan
    models = [
        ExtraTreesClassifier(5, random_state=seed).fit(X, y),
        HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=2, categorical_features=[2]).fit(X, y),
    ]
    for model in models:
        new = at_thresholds(X, model)
        found = export(X, lambda table, model=model: convert_classifier(model, table).probability)(new)
        np.testing.assert_allclose(found[:, 0], model.predict_proba(new)[:, 1], rtol=0, atol=1e-13)


def at_thresholds(X, model):
    """The rows, and rows with values at the thresholds of the model or next to them."""
    if isinstance(model, ExtraTreesClassifier):
        cuts = np.concatenate([each.tree_.threshold[each.tree_.feature == 0] for each in model.estimators_])
    else:
        nodes = np.concatenate([each.nodes for (each,) in model._predictors])
        # Categories come first where there are any.
        cuts = nodes["num_threshold"][(nodes["feature_idx"] == 1) & ~nodes["is_leaf"].astype(bool)]
    cuts = cuts[np.isfinite(cuts)]
    near = [cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf), cuts.astype(np.float32)]
    values = np.concatenate([*near, np.nextafter(cuts.astype(np.float32), np.float32(np.inf))])
    rows = np.resize(X, (len(values), X.shape[1])).copy()
    rows[:, 0] = values
    return np.concatenate((X, rows))
