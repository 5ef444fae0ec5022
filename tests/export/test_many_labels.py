"""Exported models of several labels per row in ONNX Runtime against the original models."""

import json

import numpy as np
import pandas as pd
import pytest
from onnxruntime import InferenceSession
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from capo import CAPOClassifier
from capo.exceptions import ExportError
from capo.export.onnx import onnx_inputs, to_onnx

X, Y = make_multilabel_classification(150, n_features=6, n_classes=3, random_state=0)
NEW = np.random.default_rng(0).normal(size=(400, 6)) * 2 * X.std(axis=0) + X.mean(axis=0)
LINEAR = make_pipeline(StandardScaler(), LogisticRegression())


def fit(auxiliary, measure="f1_macro", labels=Y, table=X, **params):
    model = CAPOClassifier(
        measure, auxiliaries=[auxiliary], **{"C": 0.0, "cv": 2, "random_state": 0, **params}
    )
    return model.fit(table, labels)


def assert_same(model, table, new):
    graph = to_onnx(model, table)
    session = InferenceSession(graph.SerializeToString())
    label, probability, score = session.run(["label", "probability", "score"], onnx_inputs(new, session))
    np.testing.assert_allclose(probability, model.predict_proba(new), rtol=0, atol=1e-9)
    np.testing.assert_allclose(score, model.decision_function(new), rtol=0, atol=1e-8)
    assert np.array_equal(label, model.predict(new))
    return {each.key: each.value for each in graph.metadata_props}


@pytest.mark.parametrize(
    "auxiliary",
    [
        LINEAR,
        GaussianNB(),
        DecisionTreeClassifier(max_depth=3),
        RandomForestClassifier(4),
        ExtraTreesClassifier(4),
        FrozenEstimator(DecisionTreeClassifier(max_depth=2).fit(X, Y)),
    ],
    ids=lambda each: type(each).__name__,
)
@pytest.mark.parametrize("measure", ["f1_macro", "f1_micro"])
def test_probabilities_and_labels_of_a_graph(auxiliary, measure):
    notes = assert_same(fit(auxiliary, measure), X, NEW)
    assert notes["measure"] == measure
    assert json.loads(notes["labels"]) == ["0", "1", "2"]


def test_a_delta_function_and_the_default_auxiliaries_on_a_frame():
    frame, new = (pd.DataFrame(each).add_prefix("x") for each in (X, NEW))
    labels = pd.DataFrame(Y, columns=["red", "green", "blue"])
    notes = assert_same(fit("auto", labels=labels, table=frame, C=1.0), frame, new)
    assert json.loads(notes["labels"]) == ["red", "green", "blue"]


@pytest.mark.parametrize("auxiliary", [LINEAR, RandomForestClassifier(4)])
def test_labels_without_positive_rows(auxiliary):
    labels = np.column_stack((Y, np.zeros(len(Y), dtype=int), np.arange(len(Y)) == 7))
    assert_same(fit(auxiliary, labels=labels.astype(int)), X, NEW)


def test_what_cannot_be_exported_is_named():
    with pytest.raises(ExportError, match=r"'kneighborsclassifier'.*was trained on all labels together"):
        to_onnx(fit(KNeighborsClassifier()), X)
    with pytest.raises(ExportError, match="a model for f1_samples chooses the labels of each row together"):
        to_onnx(fit(GaussianNB(), "f1_samples"), X)
