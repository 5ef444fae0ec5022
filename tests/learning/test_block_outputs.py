"""Outputs of several auxiliaries at once are those of each by itself."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from capo.learning.auxiliaries import make_auxiliaries
from capo.learning.outputs import LabelOutput, ScoreOutput, predict_block
from capo.learning.prediction import compute_output, is_kernel_machine
from capo.tables.features import KnownCategoryFilter
from capo.tables.schema import infer_schema

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)).round(1)  # with ties
X[RNG.random(X.shape) < 0.05] = np.nan
COMPLETE = np.nan_to_num(X)
Y = (COMPLETE[:, 0] + COMPLETE[:, 1] ** 2 + RNG.normal(size=300) > 0.8).astype(int)
LABELS = np.array([0, 1])


def outputs(models, rows, output=None):
    return predict_block(models, rows, output or ScoreOutput(), LABELS, lambda name: nullcontext())


@pytest.mark.parametrize("forest", [ExtraTreesClassifier, RandomForestClassifier])
def test_random_trees_give_the_probabilities_of_scikit_learn(forest):
    model = forest(15, random_state=0).fit(X[:200], Y[:200])
    np.testing.assert_array_equal(compute_output(model, "predict_proba", X), model.predict_proba(X)[:, 1])


def test_random_trees_of_other_targets_predict_as_they_are():
    model = ExtraTreesClassifier(3, random_state=0).fit(COMPLETE, RNG.integers(3, size=300))
    assert compute_output(model, "predict_proba", COMPLETE).shape == (300, 3)


@pytest.mark.parametrize("gamma", [None, 0.3])
@pytest.mark.parametrize("to_matrix", [np.asarray, sparse.csr_array])
def test_a_kernel_machine_is_one_product_after_the_kernel(monkeypatch, gamma, to_matrix):
    monkeypatch.setattr("capo.kernels.BLOCK_SIZE", 70 * 60)
    steps = Nystroem(gamma=gamma, n_components=60, random_state=0), StandardScaler(), LogisticRegression()
    model = make_pipeline(*steps).fit(to_matrix(COMPLETE), Y)
    found = compute_output(model, "decision_function", to_matrix(COMPLETE))
    np.testing.assert_allclose(found, model.decision_function(to_matrix(COMPLETE)), rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("nystroem", "scaler", "n_classes"),
    [
        (Nystroem(kernel="polynomial", n_components=5), StandardScaler(), 2),
        (Nystroem(n_components=5), StandardScaler(with_mean=False), 2),
        (Nystroem(n_components=5), StandardScaler(with_std=False), 2),
        (Nystroem(n_components=5), StandardScaler(), 3),
    ],
)
def test_other_kernel_machines_are_not_taken_for_one(nystroem, scaler, n_classes):
    steps = [nystroem, scaler, LogisticRegression()]
    make_pipeline(*steps).fit(COMPLETE, Y if n_classes == 2 else np.arange(300) % 3)
    assert not is_kernel_machine(steps)


@pytest.fixture(scope="module")
def mixed():
    pd = pytest.importorskip("pandas")
    colors = np.array(["red", "green", "blue"], dtype=object)[RNG.integers(3, size=300)]
    frame = pd.DataFrame(X, columns=list("abcd")).assign(color=colors)
    models = make_auxiliaries("auto", frame, infer_schema(frame))
    return frame, {name: model.fit(frame, Y) for name, model in models}


@pytest.mark.parametrize("output", [ScoreOutput(), LabelOutput()])
def test_outputs_of_all_are_those_of_each(monkeypatch, mixed, output):
    frame, models = mixed
    monkeypatch.setattr("capo.learning.outputs.MIN_SHARED_ROWS", 1)
    found = outputs(models, frame, output)
    assert list(found) == list(models)
    for name, model in models.items():
        if isinstance(output, LabelOutput):
            expected = np.where(model.predict(frame) == 1, 1.0, -1.0)
        elif hasattr(model, "decision_function"):
            expected = model.decision_function(frame)
        else:
            probability = np.clip(model.predict_proba(frame)[:, 1], 1e-12, 1 - 1e-12)
            expected = np.log(probability / (1 - probability))
        np.testing.assert_allclose(found[name], expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize(("min_rows", "n_transforms"), [(1, 2), (1000, 5)])
def test_equal_features_are_computed_once(monkeypatch, mixed, min_rows, n_transforms):
    frame, models = mixed
    calls = []
    transform = KnownCategoryFilter.transform
    monkeypatch.setattr(
        KnownCategoryFilter, "transform", lambda self, rows: calls.append(1) or transform(self, rows)
    )
    monkeypatch.setattr("capo.learning.outputs.MIN_SHARED_ROWS", min_rows)
    outputs(models, frame)
    assert len(calls) == n_transforms


def test_transformers_with_other_content_are_not_shared(monkeypatch):
    monkeypatch.setattr("capo.learning.outputs.MIN_SHARED_ROWS", 1)
    halves = [COMPLETE[:, :2], 5 + 3 * COMPLETE[:, 2:]]
    models = {str(i): make_pipeline(StandardScaler(), LogisticRegression()) for i in range(2)}
    for model, half in zip(models.values(), halves, strict=True):
        model.fit(half, Y)
    found = outputs(models, halves[1])
    for name, model in models.items():
        np.testing.assert_array_equal(found[name], model.decision_function(halves[1]))


def test_nested_steps_that_do_nothing_and_functions_without_a_name():
    nested = make_pipeline("passthrough", FunctionTransformer(lambda rows: 2 * rows), StandardScaler())
    model = Pipeline([("features", nested), ("none", None), ("last", LogisticRegression())]).fit(COMPLETE, Y)
    np.testing.assert_array_equal(outputs({"own": model}, COMPLETE)["own"], model.decision_function(COMPLETE))
