"""What is read from a classifier, and the scale that all of them share."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from capo.auxiliary import LabelOutput, ScoreOutput
from capo.exceptions import InvalidInputError
from capo.model_selection._calibration import PlattCalibrator, fit_logistic

RNG = np.random.default_rng(0)
Y = RNG.random(300) < 0.3
X = RNG.normal(size=(300, 2)) + Y[:, None]


class Margins:
    """A classifier that has only margins, for one or for both classes."""

    def __init__(self, values, classes=(0, 1)):
        self.values, self.classes_ = values, np.array(classes)

    def decision_function(self, X):
        return self.values


def test_the_most_detailed_output_is_read():
    labels = np.where(Y, "yes", "no")
    both = LogisticRegression().fit(X, labels)
    np.testing.assert_array_equal(ScoreOutput().predict(both, X, both.classes_), both.decision_function(X))
    shares = GaussianNB().fit(X, Y.astype(int))
    odds = ScoreOutput().predict(shares, X, np.array(["no", "yes"]))
    np.testing.assert_allclose(1 / (1 + np.exp(-odds)), shares.predict_proba(X)[:, 1])
    np.testing.assert_array_equal(LabelOutput().predict(both, X, both.classes_) > 0, both.predict(X) == "yes")
    frozen = FrozenEstimator(SVC().fit(X, labels))
    np.testing.assert_array_equal(
        ScoreOutput().predict(frozen, X, np.array(["no", "yes"])), frozen.decision_function(X)
    )


def test_margins_of_two_columns_and_infinite_ones():
    both = np.column_stack([-np.arange(300.0), np.arange(300.0)])
    np.testing.assert_array_equal(ScoreOutput().predict(Margins(both), X, np.array([0, 1])), np.arange(300.0))
    values = np.where(Y, np.inf, -np.inf)
    raw = ScoreOutput().predict(Margins(values), X, np.array([0, 1]))
    assert np.isfinite(ScoreOutput().fit_scale(raw, Y, None)(raw)).all()


@pytest.mark.parametrize(
    ("values", "classes", "message"),
    [
        (np.zeros(300), ("a", "b"), "trained on the labels 'a' and 'b', but y has 0 and 1"),
        (np.zeros(300), (0,), "class 0 only"),
        (np.zeros(299), (0, 1), "shape"),
        (np.full(300, np.nan), (0, 1), "NaN for 300 rows"),
    ],
)
def test_what_cannot_be_read(values, classes, message):
    with pytest.raises(InvalidInputError, match=message):
        ScoreOutput().predict(Margins(values, classes), X, np.array([0, 1]))


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([1e-12, 1.0, 1e12, 1e90]), st.booleans())
def test_the_scale_keeps_the_order_and_bounds_the_size(seed, size, outlier):
    rng = np.random.default_rng(seed)
    y = rng.random(40) < 0.5
    y[:2] = True, False
    raw = size * (rng.normal(size=40) + 2 * y)
    if outlier:
        raw[3] = 1e100
    scaled = ScoreOutput().fit_scale(raw, y, None)(raw)
    assert np.isfinite(scaled).all()
    order = np.argsort(raw, kind="stable")
    assert (np.diff(scaled[order]) >= 0).all()
    if not outlier:
        assert np.abs(scaled).max() < 2 * np.log(41) + 1


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
