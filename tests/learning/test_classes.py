"""Probabilities of many classes: calibration, the stack, the choice of the rule."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from capo.decisions import fit_softmax
from capo.learning.classes import ClassScorer, ProbabilityStack, calibration_error, fit_class_stack
from capo.learning.outputs import ClassCalibrator
from capo.measures import multiclass

RNG = np.random.default_rng(0)
N, K = 900, 4
CODES = RNG.integers(0, K, N)
LOGITS = RNG.normal(size=(N, K)) + 2.0 * np.eye(K)[CODES]
FOLDS = np.arange(N) % 5


def log_probabilities(logits):
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


def choose_rule(measure, codes, probabilities):
    folds = np.arange(len(codes)) % 5
    scorer = ClassScorer(multiclass.get(measure), codes, None, folds)
    return scorer.choose_rule(probabilities, np.broadcast_to(probabilities, (5, *probabilities.shape)))


def test_the_softmax_regression_is_scikit_learns_for_inputs_without_information():
    _, intercepts = fit_softmax(np.zeros((1, N, K)), CODES, np.ones(N))
    constant = LogisticRegression().fit(np.zeros((N, 1)), CODES)
    shares = np.exp(intercepts) / np.exp(intercepts).sum()
    np.testing.assert_allclose(shares, constant.predict_proba(np.zeros((1, 1)))[0], atol=2e-3)


def test_overconfident_outputs_are_calibrated():
    raw = 5.0 * LOGITS
    calibrator = ClassCalibrator.fit(raw, CODES, np.ones(N))
    probabilities, before = np.exp(calibrator.log_probabilities(raw)), np.exp(log_probabilities(raw))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert log_loss(CODES, probabilities) < log_loss(CODES, before) - 0.2
    assert calibration_error(probabilities, CODES) < 0.05 < calibration_error(before, CODES)


def test_noise_gets_less_weight_than_information():
    raw = np.stack((log_probabilities(LOGITS), RNG.normal(size=(N, K))), axis=1)
    stack = ProbabilityStack.fit(raw, CODES, None)
    assert (stack.weights >= 0).all()
    assert stack.weights[0] > 10 * stack.weights[1]
    alone = log_loss(CODES, np.exp(log_probabilities(LOGITS)))
    chosen, probabilities, _ = fit_class_stack(raw, CODES, None, FOLDS)
    assert log_loss(CODES, probabilities) < alone + 0.02
    assert chosen.correction is None


def test_confused_classes_are_corrected():
    """An auxiliary that exchanges two classes is of use with a correction only."""
    exchanged = log_probabilities(LOGITS)[:, [1, 0, 2, 3]]
    raw = exchanged[:, None]
    chosen, probabilities, _ = fit_class_stack(raw, CODES, None, FOLDS)
    assert chosen.correction.shape == (5, 4)
    plain = ProbabilityStack.fit(raw, CODES, None)
    assert log_loss(CODES, probabilities) < log_loss(CODES, plain.probabilities([exchanged])) - 0.3
    again = chosen.probabilities([exchanged])
    np.testing.assert_allclose(again.sum(axis=1), 1.0)
    assert log_loss(CODES, again) == pytest.approx(log_loss(CODES, probabilities), abs=0.06)


def test_noise_is_not_corrected():
    rng = np.random.default_rng(5)
    for _ in range(3):
        codes = rng.integers(0, 3, 150)
        raw = rng.normal(size=(150, 2, 3))
        _, probabilities, _ = fit_class_stack(raw, codes, None, np.arange(150) % 5)
        assert log_loss(codes, probabilities) > np.log(3) - 0.02


def test_weights_count_as_repeated_rows():
    raw, repeats = log_probabilities(LOGITS)[:, None], RNG.integers(1, 3, N)
    weighted = ProbabilityStack.fit(raw, CODES, repeats.astype(float))
    repeated = ProbabilityStack.fit(np.repeat(raw, repeats, axis=0), np.repeat(CODES, repeats), None)
    np.testing.assert_allclose(weighted.weights, repeated.weights, atol=0.02)


@pytest.mark.parametrize("measure", ["f1_macro", "balanced_accuracy", "quadratic_kappa"])
def test_on_noise_no_rule_looks_better_than_guessing(measure):
    """Labels without any relation to the probabilities."""
    values = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        codes = rng.choice(3, size=300, p=(0.6, 0.3, 0.1))
        probabilities = rng.dirichlet((6, 3, 1), size=300)
        values.append(choose_rule(measure, codes, probabilities)["score_"])
    guessing = {"f1_macro": 0.36, "balanced_accuracy": 1 / 3, "quadratic_kappa": 0.0}[measure]
    assert np.mean(values) < guessing + 0.05


def test_a_rule_that_gains_is_used():
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet((8, 3, 1), size=1500)
    codes = (rng.random((1500, 1)) > probabilities.cumsum(axis=1)).sum(axis=1)
    choice = choose_rule("balanced_accuracy", codes, probabilities)
    assert choice["uses_rule_"]
    assert choice["rule_score_"].value > choice["most_probable_score_"].value + 0.05
    accuracy = choose_rule("accuracy", codes, probabilities)
    assert not accuracy["uses_rule_"]
    assert np.array_equal(accuracy["decision_"].rule.gain, np.eye(3))
    assert accuracy["gap_"] == pytest.approx(0.0, abs=1e-12)
