"""Exported models of many classes in ONNX Runtime against the original models."""

import json

import lightgbm
import numpy as np
import pytest
from onnxruntime import InferenceSession
from sklearn.datasets import load_wine
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from capo import CAPOClassifier
from capo.exceptions import ExportError
from capo.export.onnx import onnx_inputs, to_onnx
from capo.measures import multiclass

CLASSES = np.array(["a", "b", "c"])


@pytest.fixture(scope="module")
def tables():
    """Training rows that no classifier separates, their labels, and new rows."""
    X, y = load_wine(return_X_y=True)
    rng = np.random.default_rng(0)
    X = X[:, :5] + rng.normal(size=(len(X), 5)) * X[:, :5].std(axis=0)
    return X, CLASSES[y], rng.normal(size=(500, 5)) * X.std(axis=0) * 1.5 + X.mean(axis=0)


def assert_same(model, X, new):
    graph = to_onnx(model, X)
    session = InferenceSession(graph.SerializeToString())
    label, probability, score = session.run(["label", "probability", "score"], onnx_inputs(new, session))
    np.testing.assert_allclose(probability, model.predict_proba(new), rtol=0, atol=1e-9)
    assert label.tolist() == model.predict(new).tolist()
    return graph, score


@pytest.mark.parametrize(
    "auxiliary",
    [
        make_pipeline(StandardScaler(), LogisticRegression()),
        DecisionTreeClassifier(max_depth=3),
        RandomForestClassifier(4),
        ExtraTreesClassifier(4),
        GradientBoostingClassifier(n_estimators=2),
        HistGradientBoostingClassifier(max_iter=2),
        lightgbm.LGBMClassifier(n_estimators=2, verbose=-1, n_jobs=1),
        make_pipeline(StandardScaler(), SVC()),
        make_pipeline(StandardScaler(), LinearSVC()),
        RidgeClassifier(),
        VotingClassifier([("a", RandomForestClassifier(2)), ("b", GaussianNB())], voting="soft"),
        BaggingClassifier(GaussianNB(), 3),
        StackingClassifier([("a", GaussianNB()), ("b", RidgeClassifier())], LogisticRegression(), cv=2),
        GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9]}, cv=2),
        KNeighborsClassifier(),
    ],
    ids=lambda each: type(each[-1] if hasattr(each, "steps") else each).__name__,
)
def test_probabilities_and_labels_of_a_graph(tables, auxiliary):
    X, y, new = tables
    model = CAPOClassifier("f1_macro", auxiliaries=[auxiliary], cv=2, random_state=0).fit(X, y)
    assert next(iter(model.auxiliary_weights_.values())) > 0
    _, score = assert_same(model, X, new)
    np.testing.assert_allclose(score, model.decision_function(new), rtol=0, atol=1e-9)


def test_a_cost_matrix_is_in_the_graph(tables):
    X, y, new = tables
    cost = multiclass.get("cost", matrix=[[0, 1, 9], [1, 0, 9], [1, 1, 0]])
    model = CAPOClassifier(cost, auxiliaries=[GaussianNB()], cv=2, random_state=0).fit(X, y)
    graph, _ = assert_same(model, X, new)
    metadata = {each.key: each.value for each in graph.metadata_props}
    assert json.loads(metadata["classes"]) == ["a", "b", "c"]
    assert metadata["measure"] == model.measure_.label


def test_a_frozen_classifier_that_knows_two_of_three_classes(tables):
    X, y, new = tables
    known = np.isin(y, ["a", "c"])
    for inner in (LogisticRegression(max_iter=500), LinearSVC()):
        frozen = FrozenEstimator(make_pipeline(StandardScaler(), inner).fit(X[known], y[known]))
        auxiliaries = [("two", frozen), ("all", GaussianNB())]
        model = CAPOClassifier("f1_macro", auxiliaries=auxiliaries, cv=2, random_state=0).fit(X, y)
        assert model.auxiliary_weights_["two"] > 0
        assert_same(model, X, new)


def test_whole_numbers_stay_labels_and_two_classes_take_a_measure_of_many(tables):
    X, y, new = tables
    codes = np.where(y == "a", 7, 3)
    model = CAPOClassifier("f1_macro", auxiliaries=[GaussianNB()], cv=2, random_state=0).fit(X, codes)
    assert_same(model, X, new)


def test_what_cannot_be_exported_is_named(tables):
    X, y, _ = tables
    voting = VotingClassifier([("forest", RandomForestClassifier(2))], voting="hard")
    model = CAPOClassifier("f1_macro", auxiliaries=[("mine", voting)], cv=2, random_state=0).fit(X, y)
    with pytest.raises(ExportError, match=r"^the auxiliary 'mine' cannot be exported to ONNX: .*"):
        to_onnx(model, X)
