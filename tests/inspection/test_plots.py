"""The displays hold the numbers that they draw."""

import builtins

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import f1_score
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from capo import CAPOClassifier, SVMPerfClassifier, measures
from capo.exceptions import InvalidInputError, MissingExtraError
from capo.inspection import CPathDisplay, SolverDisplay, ThresholdDisplay

X, Y = load_breast_cancer(return_X_y=True)


@pytest.fixture(scope="module")
def model():
    auxiliaries = [("bayes", GaussianNB()), ("stump", DecisionTreeClassifier(max_depth=1))]
    return CAPOClassifier("f1", auxiliaries=auxiliaries, C=10.0, random_state=0).fit(X, Y)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_threshold_display(model):
    display = ThresholdDisplay.from_estimator(model, X, Y)
    assert display.chosen_threshold == model.threshold_
    assert display.chosen_value == pytest.approx(model.score(X, Y))
    probability = model.predict_proba(X)[:, 1]
    for cut, value in list(zip(display.thresholds, display.values, strict=True))[::50]:
        assert value == pytest.approx(f1_score(Y, probability > cut))
    assert "f1" in display.ax_.get_ylabel()


def test_a_measure_without_thresholds_has_no_curve():
    model = CAPOClassifier("roc_auc", auxiliaries=[GaussianNB()], C=1.0).fit(X, Y)
    with pytest.raises(InvalidInputError, match="depends on the order of the scores"):
        ThresholdDisplay.from_estimator(model, X, Y)


def test_a_constrained_measure_is_drawn_at_each_threshold():
    measure = measures.get("recall_at_precision", floor=0.8)
    weak = CAPOClassifier(measure, auxiliaries=[GaussianNB()], delta=None, C=0.0, random_state=0)
    texture = X[:, 1:2]
    display = ThresholdDisplay.from_estimator(weak.fit(texture, Y), texture, Y)
    positive, predicted = Y == 1, weak.predict(texture) == 1
    precision, recall = positive[predicted].mean(), predicted[positive].mean()
    assert display.chosen_value == pytest.approx(recall if precision >= 0.8 else 0.0)
    assert display.chosen_value == pytest.approx(weak.score(texture, Y))
    assert display.values.max() == pytest.approx(measure.score(positive, weak.log_odds(texture)))
    assert display.ax_.get_ylabel() == "recall_at_precision(floor=0.8)"


def test_c_path_display(model):
    _, ax = plt.subplots()
    display = CPathDisplay.from_estimator(model, ax=ax)
    assert display.ax_ is ax
    np.testing.assert_array_equal(display.C, [0.0, 10.0])
    np.testing.assert_array_equal(display.values, model.cv_results_["test_score"])
    assert f"C = {model.C_:.3g}" in display.ax_.get_legend().get_texts()[0].get_text()


def test_solver_display(model):
    display = SolverDisplay.from_estimator(model)
    assert display.primal[-1] >= display.dual[-1]
    assert len(display.primal) == model.n_iter_ + 1
    assert (display.primal[-1], display.dual[-1]) == (model.primal_, model.dual_)
    linear = SVMPerfClassifier(C=10.0).fit(X / X.max(axis=0), Y)
    assert len(SolverDisplay.from_estimator(linear).dual) == linear.n_iter_ + 1
    kept = CAPOClassifier(auxiliaries=[GaussianNB()], C=0.0).fit(X, Y)
    with pytest.raises(InvalidInputError, match="no solver iterations to draw"):
        SolverDisplay.from_estimator(kept)


def test_without_matplotlib_the_error_names_the_extra(model, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"capo-learn\[plots\]"):
        CPathDisplay.from_estimator(model)
