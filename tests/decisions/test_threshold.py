"""Threshold rules against their plain definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from capo import measures
from capo.decisions import (
    ExpectedValueThreshold,
    FixedThreshold,
    PlattCalibrator,
    ShrunkenThreshold,
    ZeroThreshold,
)

from ..learning.cases import scored_rows


@given(
    st.integers(0, 10_000),
    st.sampled_from(["f1", "mcc", "balanced_accuracy", "jaccard", "accuracy"]),
    st.sampled_from([0.0, 0.5, 1.0]),
)
def test_the_operating_point_is_the_best_of_all_cuts_of_the_expected_confusion_matrix(seed, name, observed):
    rng = np.random.default_rng(seed)
    positive = rng.random(25) < 0.5
    positive[:2] = True, False
    scores = np.round(rng.normal(size=25) + positive, 1)  # ties
    weight = rng.integers(1, 4, 25).astype(float)
    point = ExpectedValueThreshold(observed)(measures.get(name), scores, positive, weight)
    probability = PlattCalibrator.fit(scores, positive, weight).probability(scores)
    share = (1 - observed) * probability + observed * positive

    def value(cut):
        above = scores > cut
        tp, fp = weight @ (share * above), weight @ ((1 - share) * above)
        fn, tn = weight @ (share * ~above), weight @ ((1 - share) * ~above)
        return {
            "f1": 2 * tp / (2 * tp + fp + fn),
            "jaccard": tp / (tp + fp + fn),
            "accuracy": (tp + tn) / weight.sum(),
            "balanced_accuracy": 0.5 * (tp / (tp + fn) + tn / (tn + fp)),
            "mcc": (tp * tn - fp * fn) / np.sqrt(max((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn), 1e-300)),
        }[name]

    best = max(value(cut) for cut in [*scores, scores.min() - 1])
    assert value(point.score) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("n_positive", [2, 30, 95])
def test_a_known_threshold_counts_as_much_as_one_row_of_the_rarer_class(n_positive):
    rng = np.random.default_rng(0)
    positive = np.arange(100) < n_positive
    scores = rng.normal(size=100) + 1.5 * positive + 2.0
    point = ShrunkenThreshold(ExpectedValueThreshold())(measures.get("f1"), scores, positive, None)
    probability = point.calibration.probability(scores)
    above = scores[:, None] > np.append(scores, scores.min() - 1)
    expected = 2 * probability @ above / (above.sum(axis=0) + probability.sum())
    n_rarer = min(n_positive, 100 - n_positive)
    unshrunken = point.score * (n_rarer + 1) / n_rarer
    assert 2 * probability @ (scores > unshrunken) / (
        (scores > unshrunken).sum() + probability.sum()
    ) == pytest.approx(expected.max())
    weighted = ShrunkenThreshold(ExpectedValueThreshold())(
        measures.get("f1"), scores, positive, np.full(100, 7.0)
    )
    assert weighted.score == pytest.approx(point.score)


def test_only_a_threshold_that_is_learned_is_shrunk():
    for rule in (FixedThreshold(0.3), ZeroThreshold(), ShrunkenThreshold(ExpectedValueThreshold())):
        assert rule.toward_zero() is rule
    assert ExpectedValueThreshold(0.5).toward_zero() == ShrunkenThreshold(ExpectedValueThreshold(0.5))


def test_a_threshold_that_is_given_is_kept():
    positive, scores = scored_rows()
    point = FixedThreshold(0.3)(measures.get("f1"), scores, positive, None)
    assert expit(point.log_odds) == pytest.approx(0.3)


def test_a_threshold_of_zero_is_for_measures_of_labels():
    positive, scores = scored_rows()
    assert ZeroThreshold()(measures.get("f1"), scores, positive, None).score == 0.0
    assert ZeroThreshold()(measures.get("roc_auc"), scores, positive, None).score != 0.0
