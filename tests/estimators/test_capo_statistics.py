"""Scores and probabilities of CAPOClassifier are those of rows it has not seen."""

import warnings

import numpy as np
import pytest
from scipy.special import logit
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, f1_score, log_loss, precision_score, recall_score
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from capo import CAPOClassifier, measures
from capo.exceptions import ConstraintWarning

from .capo_cases import LIGHT, LINEAR, light


class RandomScore:
    """A fitted model that is unrelated to the labels."""

    def __init__(self, direction):
        self.direction = direction

    def predict(self, X):
        return (X @ self.direction > 0).astype(int)

    def decision_function(self, X):
        return X @ self.direction


@pytest.mark.slow
def test_nothing_set_beats_each_auxiliary_and_a_default_learner():
    rare = make_classification(
        3000, n_features=20, n_informative=8, weights=[0.93], class_sep=0.8, flip_y=0.02, random_state=1
    )
    half = slice(None, 1500), slice(1500, None)
    (train, test), (y, y_test) = ([part[rows] for rows in half] for part in rare)
    model = CAPOClassifier("f1", random_state=0).fit(train, y)
    default = f1_score(y_test, RandomForestClassifier(random_state=0).fit(train, y).predict(test))
    assert model.score(test, y_test) > default + 0.05
    assert model.score(test, y_test) == pytest.approx(f1_score(y_test, model.predict(test)))
    alone = [average_precision_score(y_test, each) for each in model.auxiliary_outputs(test).T]
    assert average_precision_score(y_test, model.decision_function(test)) > max(alone)


def test_probabilities_are_honest_on_rows_never_seen():
    X, y = make_classification(
        24000, n_features=10, n_informative=5, flip_y=0.2, weights=[0.7], random_state=0
    )
    overfitted = DecisionTreeClassifier(random_state=0)
    model = CAPOClassifier("f1", auxiliaries=[overfitted, GaussianNB()], C=0.0, random_state=0).fit(
        X[:2000], y[:2000]
    )
    share, truth = model.predict_proba(X[2000:])[:, 1], y[2000:]
    # The calibration is a logistic one: the mean and the slope of the log-odds are right within the error of
    # 2,000 training rows, and the curve within what a straight line can follow.
    assert share.mean() == pytest.approx(truth.mean(), abs=0.02)
    line = LogisticRegression(C=np.inf).fit(logit(share)[:, None], truth)
    assert line.coef_[0, 0] == pytest.approx(1.0, abs=0.15)
    assert line.intercept_[0] == pytest.approx(0.0, abs=0.15)
    bins = np.digitize(share, [0.2, 0.5, 0.8])
    assert np.abs(np.bincount(bins, truth - share)).sum() / len(truth) < 0.05
    tree = overfitted.fit(X[:2000], y[:2000]).predict_proba(X[2000:])
    assert log_loss(truth, share) < 0.2 * log_loss(truth, tree)


def test_no_leak_on_labels_that_mean_nothing():
    """Permuted labels: the figure of the chosen model must not pretend otherwise."""
    rng = np.random.default_rng(0)
    figures = []
    for seed in range(4):
        y = rng.permutation(np.repeat([0, 1], [450, 150]))
        model = CAPOClassifier("roc_auc", auxiliaries=LIGHT, C=[0.1, 1.0, 10.0], random_state=seed).fit(
            rng.normal(size=(600, 40)), y
        )
        figures.append(model.score_)
        assert abs(model.score_ - 0.5) < 3 * max(model.score_std_, 0.03)
    assert np.mean(figures) == pytest.approx(0.5, abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["f1", "mcc", "balanced_accuracy"])
def test_no_leak_with_the_default_auxiliaries(measure):
    figures = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y = rng.permutation(np.repeat([0, 1], [280, 120]))
        model = CAPOClassifier(measure, random_state=seed).fit(rng.normal(size=(400, 10)), y)
        figures.append(model.score_)
    # All positive has F1 2 x 0.3 / 1.3; any constant has MCC 0 and balanced accuracy 0.5.
    chance = {"f1": 0.4615, "mcc": 0.0, "balanced_accuracy": 0.5}[measure]
    assert np.mean(figures) <= chance + 0.05


def test_the_score_of_frozen_models_on_labels_that_mean_nothing_is_chance():
    scores = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        data, target = rng.normal(size=(200, 4)), rng.permutation(200) < 100
        unrelated = [(f"model{i}", RandomScore(rng.normal(size=4))) for i in range(4)]
        model = CAPOClassifier("roc_auc", auxiliaries=unrelated, delta=None, C=0.0, random_state=seed)
        scores.append(model.fit(data, target).score_)
    assert np.mean(scores) < 0.5 + 2 * np.std(scores, ddof=1) / np.sqrt(len(scores))


@pytest.mark.parametrize("measure", ["f1", "roc_auc"])
def test_the_score_is_the_measure_of_the_out_of_fold_decisions(measure):
    X, y = make_classification(120, weights=[0.7], flip_y=0.2, random_state=0)
    model = light(measure).fit(X, y)
    decisions = model.oof_decision_ - model.oof_thresholds_
    assert model.score_ == pytest.approx(model.measure_.score(y, decisions))
    assert np.ptp(model.oof_thresholds_) > 0 if measure == "f1" else not model.oof_thresholds_.any()


def test_an_auxiliary_that_is_perfect_in_sample_is_seen_through():
    X, y = make_classification(1000, n_features=10, flip_y=0.3, random_state=0)
    auxiliaries = [("by_heart", DecisionTreeClassifier(random_state=0)), ("linear", LINEAR)]
    honest = CAPOClassifier("accuracy", auxiliaries=auxiliaries, random_state=0).fit(X[:500], y[:500])
    on_new_rows = honest.score(X[500:], y[500:])
    assert honest.score_ == pytest.approx(on_new_rows, abs=0.05)
    assert on_new_rows > honest.auxiliaries_["by_heart"].score(X[500:], y[500:])


def test_few_rows_of_a_class_keep_the_prior():
    data, target = make_classification(300, weights=[0.93], flip_y=0, random_state=1)
    rare = np.flatnonzero(target == 1)[20:]
    data, target = np.delete(data, rare, axis=0), np.delete(target, rare)
    assert target.sum() == 20
    assert light("mcc").fit(data, target).C_ == 0.0
    assert len(light("mcc", C=[1.0, 10.0]).fit(data, target).cv_results_["param_C"]) == 3


@pytest.mark.filterwarnings("ignore:no threshold keeps the constraint")
def test_few_labels_give_no_threshold_that_breaks_its_constraint():
    measure, n_rows, n_wrong, n_flagged = measures.get("recall_at_precision", floor=0.9), 200, 0, 0
    for seed in range(8):
        X, y = make_classification(
            2700, 10, n_informative=5, class_sep=0.8, weights=[0.7], flip_y=0.05, random_state=seed
        )
        auxiliaries = [LogisticRegression(), GaussianNB()]
        model = CAPOClassifier(measure, auxiliaries=auxiliaries, delta=None, C=0.0, random_state=0)
        flagged = model.fit(X[:n_rows], y[:n_rows]).predict(X[n_rows:]) == 1
        wrong = flagged & (y[n_rows:] == 0)
        assert wrong.sum() <= 0.2 * flagged.sum()
        n_wrong, n_flagged = n_wrong + wrong.sum(), n_flagged + flagged.sum()
    assert 0 < n_wrong <= 0.1 * n_flagged


@pytest.mark.filterwarnings("ignore:no threshold keeps the constraint")
def test_the_summary_has_the_value_of_the_labels_that_are_predicted_out_of_fold():
    measure, promised, reached, n_silent = measures.get("recall_at_precision", floor=0.9), [], [], 0
    for seed in range(6):
        X, y = make_classification(
            2200, 10, n_informative=5, class_sep=0.8, weights=[0.7], flip_y=0.05, random_state=seed
        )
        model = CAPOClassifier(measure, auxiliaries=[GaussianNB()], delta=None, C=0.0, random_state=0)
        notes = model.fit(X[:200], y[:200]).summary().notes
        predicted = model.oof_decision_ > model.oof_thresholds_
        precision = precision_score(y[:200], predicted, zero_division=0.0)
        value = recall_score(y[:200], predicted) * (precision >= 0.9)
        assert notes["values"].endswith(f"the out-of-fold labels have the value {value:.3f}")
        flagged = model.predict(X[200:]) == 1
        is_silent = notes["threshold"].startswith("no row is predicted positive")
        assert is_silent == (not flagged.any())
        n_silent += is_silent
        promised.append(predicted.mean())
        reached.append(flagged.mean())
        assert model.score_ == pytest.approx(value)
        assert model.cv_results_["test_score"][0] >= value
    assert 0 < n_silent < 6
    # The labels out of fold come from thresholds that are chosen with fewer rows: they flag no more.
    assert np.mean(promised) < np.mean(reached) + 0.05


def test_a_score_is_that_of_the_labels_that_are_predicted():
    X, y = make_classification(1000, class_sep=1.5, flip_y=0.1, random_state=0)
    train, test = slice(600), slice(600, None)
    for floor, penalty in ((0.8, np.inf), (0.97, np.inf), (0.97, 0.5)):
        measure = measures.get("recall_at_precision", floor=floor, penalty=penalty)
        model = light(measure, threshold=0.5).fit(X[train], y[train])
        predicted = model.predict(X[test])
        precision, recall = precision_score(y[test], predicted), recall_score(y[test], predicted)
        missed = max(0.0, 1.0 - precision / floor)
        expected = recall - penalty * missed if missed and penalty < 1 else recall * (missed == 0)
        assert model.score(X[test], y[test]) == pytest.approx(expected)
        assert missed > 0 or floor == 0.8


def test_the_summary_says_that_a_value_is_unstable():
    X, y = make_classification(60, n_features=3, n_informative=2, n_redundant=0, flip_y=0.3, random_state=1)
    measure = measures.get("recall_at_precision", floor=0.9)
    model = CAPOClassifier(measure, auxiliaries=[GaussianNB()], delta=None, C=0.0, cv=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintWarning)
        summary = model.fit(X, y).summary()
    assert max(line.std for line in summary.lines) == 0.5
    assert "0.5 is the largest possible" in summary.notes["std"]
