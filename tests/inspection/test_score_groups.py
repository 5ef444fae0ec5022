"""Rows counted by class and score, and intervals of many rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capo import measures
from capo.inspection import ScoreGroups, evaluate, evaluate_groups

MEASURES = [measures.get(name) for name in measures.names()]


@st.composite
def labeled_scores(draw):
    """Both classes, and scores with ties on both sides of 0, in ascending order."""
    n = draw(st.integers(2, 40))
    positive = np.array([True, False, *draw(st.lists(st.booleans(), min_size=n - 2, max_size=n - 2))])
    scores = np.array(draw(st.lists(st.integers(-6, 6), min_size=n, max_size=n))) / 2.0
    order = np.argsort(scores, kind="stable")
    return positive[order], scores[order]


@given(labeled_scores())
def test_groups_of_equal_scores_have_the_values_of_the_rows(rows):
    groups = ScoreGroups.from_rows(*rows)
    assert groups.count.sum() == len(rows[0])
    for measure in MEASURES:
        assert measure.score(groups.positive, groups.position, groups.count) == pytest.approx(
            measure.score(*rows)
        ), measure
        assert groups.score_range(measure) == pytest.approx([measure.score(*rows)] * 2), measure


@given(labeled_scores(), st.lists(st.integers(-13, 13).filter(bool), max_size=3), st.booleans())
def test_the_values_of_coarse_groups_are_within_their_range(rows, edges, use_ties):
    edges = np.union1d(np.array(edges) / 4.0, [0.0])
    index = np.searchsorted(edges, rows[1])
    counts = [np.bincount(index[rows[0] == label], minlength=len(edges) + 1) for label in (False, True)]
    tied = np.array([len(np.unique(rows[1][index == i])) <= 1 for i in range(len(edges) + 1)])
    groups = ScoreGroups.from_counts(np.array(counts), edges, tied if use_ties else None)
    for measure in MEASURES:
        low, high = groups.score_range(measure)
        assert low - 1e-12 <= measure.score(*rows) <= high + 1e-12, measure
        value = measure.score(groups.positive, groups.position, groups.count)
        assert low - 1e-12 <= value <= high + 1e-12, measure


def test_the_evaluation_of_groups_is_that_of_the_rows():
    rng = np.random.default_rng(0)
    scores = np.sort(rng.normal(size=600))
    positive = scores + rng.normal(size=600) > 1
    chosen = {"all_measures": True, "random_state": 0}
    rows = evaluate(measures.get("f1"), positive, scores, **chosen)
    groups = evaluate_groups(measures.get("f1"), ScoreGroups.from_rows(positive, scores), **chosen)
    assert groups.max_error == 0
    assert groups.confusion == rows.confusion
    for one, other in zip(rows.estimates, groups.estimates, strict=True):
        assert (one.name, one.value) == (other.name, pytest.approx(other.value))
        if "best threshold" in one.name:
            continue
        width = one.high - one.low  # of different resamples
        assert abs(one.low - other.low) < 0.3 * width
        assert abs(one.high - other.high) < 0.3 * width


@pytest.mark.slow
def test_many_rows_have_exact_values_and_intervals_of_their_groups(monkeypatch):
    rng = np.random.default_rng(1)
    scores = rng.normal(size=1000)
    positive = scores + rng.normal(size=1000) > 1
    chosen = {"all_measures": True, "random_state": 0}
    expected = evaluate(measures.get("roc_auc"), positive, scores, **chosen)
    monkeypatch.setattr("capo.inspection._evaluation.MAX_RESAMPLED_ROWS", 999)
    monkeypatch.setattr("capo.inspection._bootstrap.N_BINS", 300)
    found = evaluate(measures.get("roc_auc"), positive, scores, **chosen)
    for one, other in zip(expected.estimates, found.estimates, strict=True):
        assert one.value == other.value
        if "best threshold" in one.name:
            continue
        assert abs((one.high - one.low) / (other.high - other.low) - 1) < 0.3


@pytest.mark.parametrize("rare", [True, False])
def test_a_rare_class_is_not_tied_with_the_other_one(rare):
    rng = np.random.default_rng(0)
    positive = rng.permutation(30_000) < 20
    scores = rng.normal(size=30_000) + 3.0 * positive
    order = np.argsort(scores)
    positive, scores = (positive if rare else ~positive)[order], scores[order]
    groups = ScoreGroups.from_rows(positive, scores)
    for name in ("average_precision", "roc_auc"):
        measure = measures.get(name)
        exact = measure.score(positive, scores)
        assert measure.score(groups.positive, groups.position, groups.count) == pytest.approx(exact, rel=1e-3)
        found = evaluate(measure, positive, scores, random_state=0).estimates[0]
        assert found.low < found.value < found.high
