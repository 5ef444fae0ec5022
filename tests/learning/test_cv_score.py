"""Values out of fold and their standard errors, against their plain definitions."""

import numpy as np
import pytest

from capo import measures
from capo.decisions import ExpectedValueThreshold, ZeroThreshold
from capo.learning.path import CVScore, CVScorer

from .cases import scored_rows


def test_cross_validation_holds_out_scores_and_thresholds():
    positive, scores = scored_rows(2, n=200)
    folds = np.arange(200) % 4
    rule = ExpectedValueThreshold()
    ranked = CVScorer(measures.get("roc_auc"), rule, positive, None, folds)(scores)
    assert ranked.value == measures.get("roc_auc").score(positive, scores)
    for fold in range(4):
        kept = folds != fold
        assert ranked.leave_one_out[fold] == measures.get("roc_auc").score(positive[kept], scores[kept])
    with_threshold = CVScorer(measures.get("f1"), rule, positive, None, folds)(scores)
    predicted = np.zeros(200, dtype=bool)
    for fold in range(4):
        kept = folds != fold
        point = rule(measures.get("f1"), scores[kept], positive[kept], None)
        predicted[~kept] = scores[~kept] > point.score
    assert with_threshold.value == pytest.approx(measures.get("f1").score(positive, predicted - 0.5))


def test_the_spread_is_that_of_a_mean_where_the_value_is_one():
    """The accuracy is a mean over rows, so that the jackknife gives the plain standard deviation of folds."""
    rng = np.random.default_rng(0)
    folds = np.repeat(np.arange(5), 40)
    right = rng.random(200) < 0.7
    by_fold = np.array([right[folds == number].mean() for number in range(5)])
    without = np.array([right[folds != number].mean() for number in range(5)])
    assert CVScore(right.mean(), without).std == pytest.approx(by_fold.std(ddof=1))
    assert CVScore(right.mean(), without).standard_error == pytest.approx(by_fold.std(ddof=1) / np.sqrt(5))


def test_the_spread_of_a_value_that_jumps_is_at_most_half_of_its_range():
    """One negative above all positives: without its fold the recall at full precision is 1, else 0."""
    positive = np.tile([True, False], 10)
    scores, folds = np.where(positive, 1.0, 0.0), np.repeat(np.arange(5), 4)
    scores[1] = 2.0
    measure = measures.get("recall_at_precision", floor=1.0)
    score = CVScorer(measure, ZeroThreshold(), positive, None, folds)(scores)
    assert score.value == 0
    assert score.leave_one_out.tolist() == [1, 0, 0, 0, 0]
    assert score.standard_error * np.sqrt(5) > 1.5
    assert score.std == 0.5
