"""Outputs of classifiers, and their common scale."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from capo.exceptions import InvalidInputError
from capo.learning.outputs import ClassOutput, LabelOutput, ScoreOutput

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


class Shares:
    """A classifier that has only `predict_proba`."""

    classes_ = np.array([0, 1])

    def __init__(self, positive):
        self.positive = np.asarray(positive)

    def predict_proba(self, X):
        return np.column_stack([1 - self.positive, self.positive])


@pytest.mark.parametrize("n_trees", [5, 70])
def test_a_probability_of_0_counts_as_twice_the_largest_odds(n_trees):
    """A forest of T trees has no probabilities between 0 and 1/T: 0 is taken for about 1/(2T)."""
    votes = RNG.binomial(n_trees, np.where(Y, 0.3, 0.02))
    votes[:3] = 0, 1, n_trees - 1
    raw = ScoreOutput().predict(Shares(votes / n_trees), X, np.array([0, 1]))
    scale = ScoreOutput().fit_scale(raw, Y, None)
    assert scale.max_raw == pytest.approx(np.log(n_trees - 1) + np.log(2))
    half = ScoreOutput().predict(Shares(np.maximum(votes, 0.5) / n_trees), X, np.array([0, 1]))
    np.testing.assert_allclose(scale(raw), scale(half), atol=0.2 * scale.calibrator.slope)
    assert scale(raw)[0] < scale(raw)[1] < scale(raw)[2]


def test_a_certain_row_among_new_rows_only_counts_as_twice_the_largest_odds():
    raw = np.log(np.array([0.04, 0.5, 0.96, 0.9] * 75) / np.array([0.96, 0.5, 0.04, 0.1] * 75))
    scale = ScoreOutput().fit_scale(raw, Y, None)
    certain = ScoreOutput().predict(Shares(np.array([1.0, 0.0])), np.zeros((2, 1)), np.array([0, 1]))
    np.testing.assert_allclose(scale.clip(certain), [np.log(48), -np.log(48)])
    np.testing.assert_array_equal(scale.clip(np.array([20.0])), 20.0)  # a margin may be larger


def test_rows_without_weight_do_not_limit_others():
    shares = np.append(RNG.integers(0, 21, 299) / 20, 1 - 1e-9)
    raw = ScoreOutput().predict(Shares(shares), X, np.array([0, 1]))
    weight = np.append(np.ones(299), 0.0)
    limited = ScoreOutput().fit_scale(raw, Y, weight)
    without = ScoreOutput().fit_scale(raw[:-1], Y[:-1], None)
    assert (limited.max_raw, limited.certain_raw) == (without.max_raw, without.certain_raw)
    assert limited.max_raw == pytest.approx(np.log(38))


@pytest.mark.parametrize("values", [np.where(Y, 1.0, 0.0), np.where(Y, 0.9, 1e-9)])
def test_probabilities_without_a_resolution_are_not_limited(values):
    raw = ScoreOutput().predict(Shares(values), X, np.array([0, 1]))
    assert ScoreOutput().fit_scale(raw, Y, None).max_raw == np.inf


def test_margins_beyond_the_log_odds_of_1_are_not_limited():
    values = np.where(Y, 100.0, -30.0) + RNG.normal(size=300)
    scale = ScoreOutput().fit_scale(values, Y, None)
    assert scale.max_raw >= np.abs(values).max()


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


class Rule:
    """A black box without `fit` and `classes_`."""

    def __init__(self, labels):
        self.labels = np.array(labels)

    def predict(self, X):
        return self.labels[(X[:, 0] > 0.5).astype(int)]


@pytest.mark.parametrize("learner", [LogisticRegression(), GaussianNB(), SVC()])
@pytest.mark.parametrize("output", [ScoreOutput(), LabelOutput()])
def test_a_fitted_classifier_whose_smaller_label_is_positive(learner, output):
    frozen = FrozenEstimator(clone(learner).fit(X, np.where(Y, "yes", "no")))
    larger, smaller = (output.predict(frozen, X, np.array(pair)) for pair in (("no", "yes"), ("yes", "no")))
    np.testing.assert_allclose(smaller, -larger, rtol=1e-9)


@pytest.mark.parametrize("labels", [(1, 2), (False, True)])
def test_the_output_of_a_rule_does_not_depend_on_the_other_rows(labels):
    output = LabelOutput().predict(Rule(labels), X, np.array([1, 2]))
    np.testing.assert_array_equal(output, np.where(X[:, 0] > 0.5, 1.0, -1.0))
    rows = [LabelOutput().predict(Rule(labels), row[None], np.array([1, 2]))[0] for row in X[:20]]
    np.testing.assert_array_equal(rows, output[:20])


def test_labels_that_could_be_others_are_refused():
    with pytest.raises(InvalidInputError, match="returned the labels 0 and 1, but y has 1 and 2"):
        LabelOutput().predict(Rule((0, 1)), X, np.array([1, 2]))
    with pytest.raises(InvalidInputError, match="returned the labels 0 and 2, but y has 1 and 2 and 3"):
        ClassOutput().predict(Rule((0, 2)), X, np.array([1, 2, 3]))


def test_a_label_that_is_not_among_the_classes_is_refused():
    rule = Rule((0, np.nan))
    rule.classes_ = np.array([0, 1])
    with pytest.raises(InvalidInputError, match="returned nan"):
        LabelOutput().predict(rule, X, np.array([0, 1]))


@pytest.mark.parametrize("output", [ScoreOutput(), ClassOutput()])
def test_numbers_that_are_no_probabilities_are_refused(output):
    X, classes = np.ones((3, 1)), np.array([0, 1])
    with pytest.raises(InvalidInputError, match=r"predict_proba returned -?\d+, which is not a probability"):
        output.predict(Shares([40.0, 0.2, 60.0]), X, classes)
    rounded = output.predict(Shares([1 + 1e-9, 0.5, -1e-9]), X, classes)
    assert np.isfinite(rounded).all()
