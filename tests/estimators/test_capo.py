"""CAPOClassifier as its users meet it."""

import logging
import pickle
import warnings

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.exceptions import NotFittedError
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import precision_score, recall_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from capo import CAPOClassifier, measures
from capo.exceptions import InvalidInputError

from .capo_cases import LIGHT, LINEAR, NOISY, X, Y, light

# The exceptions that scikit-learn makes for TunedThresholdClassifierCV and StackingClassifier.
EXPECTED = {
    "check_classifier_multioutput": "labels are predicted above thresholds for the measure, not above 0.5",
    "check_classifiers_train": "predict cuts probabilities at the threshold for the measure, not at 0.5",
    "check_sample_weight_equivalence_on_dense_data": "rows that are repeated fall into other folds",
    "check_sample_weight_equivalence_on_sparse_data": "rows that are repeated fall into other folds",
}


@parametrize_with_checks([light("mcc", threshold=0.5, C=[1.0], cv=2)])
@pytest.mark.filterwarnings("ignore")  # the checks train on a handful of rows, about which auxiliaries warn
def test_scikit_learns_own_checks(estimator, check):
    run_check(estimator, check)


@pytest.mark.slow
@parametrize_with_checks([CAPOClassifier(auxiliaries="fast")])
@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_own_checks_of_a_built_in_set(estimator, check):
    if check.func.__name__ == "check_estimator_sparse_matrix":
        pytest.skip("minutes of training, as for sparse arrays, which are checked")
    run_check(estimator, check)


def run_check(estimator, check):
    name = check.func.__name__
    if name in EXPECTED and not (name == "check_classifiers_train" and estimator.threshold == 0.5):
        pytest.skip(EXPECTED[name])
    check(estimator)


@pytest.mark.parametrize("name", [*measures.names(), "own"])
@pytest.mark.filterwarnings("ignore::capo.exceptions.ConstraintWarning")
def test_every_measure_can_be_adapted_to(name):
    measure = (lambda tp, fp, fn, tn: 5 * tp - fp) if name == "own" else name
    model = light(measure, C=[1.0, 100.0], cv=2).fit(X, Y)
    assert set(model.cv_results_["param_C"]) == {0.0, 1.0, 100.0}
    assert model.gap_ <= model.C_ * 1e-3
    assert np.isfinite(model.score_)
    assert model.score_std_ >= 0
    assert np.mean(model.predict(X) == Y) > (0.3 if name.endswith("_at_k") else 0.7)


@pytest.mark.parametrize(
    "delta",
    [
        "linear",
        "rbf",
        None,
        Nystroem(n_components=20),
        make_pipeline(StandardScaler(), Nystroem(n_components=9)),
    ],
)
def test_delta_functions(delta):
    model = light(delta=delta, C=[10.0]).fit(X, Y)
    expected = {"linear": 30, "rbf": 2 * len(Y) // 5}.get(delta) if isinstance(delta, str) else None
    expected = 0 if delta is None else expected or (20 if isinstance(delta, Nystroem) else 9)
    assert len(model.delta_coef_) == expected
    assert model.score(X, Y) > 0.95


@pytest.mark.parametrize("bad", [StandardScaler(with_mean="?"), make_pipeline(GaussianNB())])
def test_a_delta_that_fails_is_named(bad):
    with pytest.raises((InvalidInputError, ValueError), match=r"delta"):
        light(delta=bad).fit(X, Y)


def test_inside_scikit_learns_tools(tmp_path):
    pipeline = make_pipeline(StandardScaler(), light(C=[10.0], cv=2))
    assert cross_val_score(pipeline, X, Y, cv=2).mean() > 0.95
    search = GridSearchCV(light(C=[10.0], cv=2), {"tol": [1e-2, 1e-3], "tree__max_depth": [2, 3]}, cv=2).fit(
        X, Y
    )
    assert search.best_score_ > 0.95
    assert CalibratedClassifierCV(light(C=[10.0], cv=2), cv=2).fit(X, Y).score(X, Y) > 0.95
    model = light(C=[10.0], cv=2).fit(X, Y)
    again = clone(model).fit(X, Y)
    joblib.dump(model, tmp_path / "model")
    for other in (again, pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model")):
        np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))


@pytest.mark.slow
def test_the_same_for_any_n_jobs():
    auxiliaries = [ExtraTreesClassifier(20), LINEAR, DecisionTreeClassifier(max_depth=4)]
    models = [
        CAPOClassifier(auxiliaries=auxiliaries, random_state=3, n_jobs=n_jobs).fit(X, Y) for n_jobs in (1, 2)
    ]
    one, two = (model.decision_function(X) for model in models)
    np.testing.assert_array_equal(one, two)
    other = CAPOClassifier(auxiliaries=auxiliaries, random_state=4).fit(X, Y)
    assert (other.decision_function(X) != one).any()
    assert auxiliaries[0].random_state is None


def test_the_threshold_is_a_probability():
    model = light(threshold=0.2, C=[1.0], cv=3).fit(X, Y)
    assert model.threshold_ == pytest.approx(0.2)
    np.testing.assert_array_equal(model.predict(X) == 1, model.predict_proba(X)[:, 1] > 0.2)
    chosen = light(C=[1.0], cv=3).fit(X, Y)
    np.testing.assert_array_equal(chosen.predict(X) == 1, chosen.predict_proba(X)[:, 1] > chosen.threshold_)


def test_the_summary_tells_what_was_found():
    model = light().fit(*NOISY)
    text = str(model.summary())
    assert "CAPOClassifier for f1: 600 rows" in text
    assert f"{model.score_:.4f}" in text
    assert all(
        word in text for word in ("linear", "tree", "stack (C = 0)", "<- chosen", "threshold", "seconds")
    )
    assert [line.is_chosen for line in model.summary().lines].count(True) == 1
    strong = light(C=100.0).fit(*NOISY)
    assert "primal" in str(strong.summary())


def test_the_summary_has_the_rates_out_of_fold_and_says_what_the_model_is():
    half = len(NOISY[1]) // 2
    (X, y), others = ((each[:half] for each in NOISY), [each[half:] for each in NOISY])
    model = light(C=[0.0], delta="linear").fit(X, y)
    predicted, y = model.oof_decision_ > model.oof_thresholds_, y == model.pos_label_
    notes = model.summary().notes
    precision, recall = precision_score(y, predicted), recall_score(y, predicted)
    specificity = 1 - predicted[~y].mean()
    rates = f"precision {precision:.3f}, recall {recall:.3f}, specificity {specificity:.3f}, "
    assert notes["decisions"] == f"{rates}predicted positive {predicted.mean():.3f}, out of fold"
    assert notes["model"] == "the weighted sum of the auxiliaries' log-odds"
    assert "delta" not in notes
    assert "certificate" not in notes
    adjusted = model.guarantee(*others, "recall >= 0.9")
    caught = (adjusted.oof_decision_ > 0)[y].mean()
    assert f"recall {caught:.3f}," in adjusted.summary().notes["decisions"]


def test_the_repr_reads_well():
    assert repr(CAPOClassifier("mcc")) == "CAPOClassifier(measure='mcc')"
    page = light()._repr_html_()
    assert "LogisticRegression" in page
    assert "DecisionTreeClassifier" in page


def test_progress_is_logged(caplog):
    with caplog.at_level(logging.INFO, logger="capo"):
        light(verbose=2, cv=5, C=0.0).fit(*NOISY)
    text = caplog.text
    assert "auxiliary linear: model 1 of 32" in text
    assert "out of fold" in text


def test_an_interrupt_during_the_path_is_an_interrupt(monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("capo.engine._bundle.Bundle.solve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        light().fit(*NOISY)


def test_nothing_is_warned_about_on_a_plain_table():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CAPOClassifier("f1", cv=3, random_state=0).fit(*(part[:150] for part in NOISY))


def test_a_fit_that_failed_is_no_fit():
    model = light()
    with pytest.raises(ValueError, match="only one class"):
        model.fit(X, np.ones(len(Y)))
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_the_summary_is_of_the_fit_whatever_is_set_later():
    model = light(C=1.0).fit(*NOISY)
    before = str(model.summary())
    assert before == str(model.set_params(threshold=0.9, delta=None, cv=3).summary())


@pytest.mark.parametrize("step", ["cross_fit", "adapt"])
def test_a_failed_refit_leaves_the_old_model(monkeypatch, step):
    data, target = NOISY
    model = light(C=0.0).fit(data, target)
    before, attributes = model.decision_function(data), set(vars(model))
    monkeypatch.setattr(f"capo.learning.task.{step}", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.fit(data[:, :4], 1 - target)
    assert set(vars(model)) == attributes
    np.testing.assert_array_equal(model.decision_function(data), before)


def test_the_fitted_combination_gives_the_decision():
    data, target = NOISY
    model = light(C=10.0).fit(data, target)
    log_odds = model.combination_.log_odds(model.auxiliary_outputs(data).T, model.delta_features(data))
    np.testing.assert_allclose(model.decision_.margins(log_odds), model.decision_function(data))


@pytest.mark.parametrize("kind", ["array", "sparse", "frame"])
def test_predictions_in_blocks_are_those_of_all_rows(monkeypatch, kind):
    data, target = np.abs(NOISY[0]), NOISY[1]
    if kind == "sparse":
        data = sparse.csr_array(data)
    elif kind == "frame":
        data = pytest.importorskip("pandas").DataFrame(data)
    model = CAPOClassifier(auxiliaries=["linear", "trees"], C=10.0, cv=2, random_state=0).fit(data, target)
    whole = model.decision_function(data[:60])
    monkeypatch.setattr("capo.learning.outputs.FEATURE_BLOCK_ROWS", 7)
    np.testing.assert_allclose(model.decision_function(data[:60]), whole, rtol=1e-12)


def test_the_summary_of_large_values_stays_in_columns():
    model = CAPOClassifier("100000 * tp - 70000 * fp", auxiliaries=LIGHT, C=0.0, random_state=0).fit(*NOISY)
    rows = str(model.summary()).splitlines()[2:6]
    end = rows[0].index("std") + len("std")
    assert all(row[end - 1] != " " and row[end : end + 1] in ("", " ") for row in rows)
