"""Platt's curve and the logistic regression behind it."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from capo.decisions import PlattCalibrator, fit_logistic

RNG = np.random.default_rng(0)
Y = RNG.random(300) < 0.3
X = RNG.normal(size=(300, 2)) + Y[:, None]


def test_platt_agrees_with_a_logistic_regression():
    y = RNG.random(2000) < 0.4
    scores = RNG.normal(size=2000) + y
    curve = PlattCalibrator.fit(scores, y)
    reference = LogisticRegression(C=1e8, tol=1e-10).fit(scores[:, None], y)
    assert curve.slope == pytest.approx(reference.coef_[0, 0], rel=0.01)
    assert curve.intercept == pytest.approx(reference.intercept_[0], abs=0.02)


def test_platt_on_constant_separable_and_inverted_scores():
    constant = PlattCalibrator.fit(np.full(300, 3.0), Y)
    assert constant.probability(np.array([3.0]))[0] == pytest.approx(Y.mean(), abs=0.01)
    separable = PlattCalibrator.fit(Y * 2.0 - 1.0, Y)
    assert 0.9 < separable.probability(np.array([1.0]))[0] < 1.0
    inverted = PlattCalibrator.fit(-1.0 * Y, Y)
    assert 0 < inverted.slope < 1e-3
    assert PlattCalibrator.fit(-1.0 * Y, Y, nonnegative=False).slope < -1


def test_rounding_errors_are_not_the_scale_of_scores():
    """Other rows may have scores that differ by more, and would get log-odds of 1e15."""
    scores = 3.0 + 4e-16 * np.arange(300)
    curve = PlattCalibrator.fit(scores[np.argsort(np.argsort(X[:, 0]))], Y)
    assert np.abs(curve.log_odds(np.array([2.0, 3.0, 4.0]))).max() < 5


def test_a_repeated_row_is_a_row_of_weight_two():
    scores, weight = X[:, 0], RNG.integers(1, 4, 300)
    repeated = PlattCalibrator.fit(np.repeat(scores, weight), np.repeat(Y, weight))
    weighted = PlattCalibrator.fit(scores, Y, weight)
    at = np.linspace(-2, 3, 9)
    np.testing.assert_allclose(weighted.probability(at), repeated.probability(at), rtol=0.06)


def test_bounded_weights_meet_the_conditions_of_their_optimum():
    Z = np.column_stack([X[:, 0], -X[:, 0], RNG.normal(size=300)])
    target, weight = Y.astype(float), np.ones(300)
    a, b = fit_logistic(Z, target, weight, ridge=1.0)
    slope = Z.T @ (1 / (1 + np.exp(-(Z @ a + b))) - target) + a
    assert (a >= 0).all()
    assert (slope >= -1e-4).all()
    np.testing.assert_allclose(slope[a > 1e-8], 0.0, atol=1e-3)


@pytest.mark.parametrize("n", [6, 3000])
def test_log_odds_are_shrunk_toward_themselves(n):
    rng = np.random.default_rng(1)
    log_odds = rng.normal(size=n)
    y = rng.random(n) < expit(3.0 * log_odds - 1.0)
    y[:2] = True, False
    weight = rng.integers(1, 4, n).astype(float)
    curve = PlattCalibrator.fit_log_odds(log_odds, y, weight)
    residual = weight * n / weight.sum() * (curve.probability(log_odds) - y)
    assert residual.sum() == pytest.approx(0.0, abs=1e-4)
    assert residual @ log_odds + curve.slope - 1.0 == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("shift", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("ridge", [1e-3, 10.0])
def test_logistic_regression_meets_the_conditions_of_its_optimum(ridge, shift, nonnegative):
    """With a column of the wrong sign, one of noise, one twice, and classes that may be separated."""
    rng = np.random.default_rng(0)
    target = np.where(rng.random(300) < 0.3, 0.98, 0.01)
    Z = rng.normal(size=(300, 4)) + shift * target[:, None] * np.array([1.0, -1.0, 0.0, 0.5])
    Z, weight = np.column_stack((Z, Z[:, 0])), rng.random(300) * (rng.random(300) < 0.9)
    coef, bias = fit_logistic(Z, target, weight, ridge=ridge, center=0.2, nonnegative=nonnegative)
    slope = weight * (expit(Z @ coef + bias) - target)
    gradient = (Z.T @ slope + ridge * (coef - 0.2)) / weight.sum()
    at_bound = (coef == 0) & nonnegative
    assert not (nonnegative and (coef < 0).any())
    assert slope.sum() / weight.sum() == pytest.approx(0.0, abs=1e-6)
    np.testing.assert_allclose(gradient[~at_bound], 0.0, atol=1e-6)
    assert (gradient[at_bound] >= 0).all()


def test_columns_that_are_huge_and_opposite_have_a_solution():
    rng = np.random.default_rng(0)
    z = rng.normal(size=200)
    target = (z + rng.normal(size=200) > 0).astype(float)
    weights, _ = fit_logistic(np.column_stack((z, -z)) * 1e6, target, np.ones(200), ridge=1e-3)
    assert np.isfinite(weights).all()
