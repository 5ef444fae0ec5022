"""Intervals of rows that come in groups."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from benchmarks.intervals.__main__ import Rows, cover
from capo import measures
from capo.decisions import RowPrices, estimate_savings
from capo.inspection import evaluate
from capo.inspection._bootstrap import RandomWeights
from capo.measures import multiclass, multilabel

N_GROUPS, GROUP_ROWS = 40, 25


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.integers(0, 100))
def test_rows_of_a_group_are_weighted_alike(groups, seed):
    groups, weight = np.array(groups), np.arange(1.0, len(groups) + 1)
    weights = RandomWeights(weight, groups, 2, np.random.RandomState(seed))
    first, second = weights
    for found in (first, second):
        assert found.sum() == pytest.approx(weight.sum())
        for name in np.unique(groups):
            factors = (found / weight)[groups == name]
            np.testing.assert_allclose(factors, factors[0])
    np.testing.assert_array_equal(first, next(iter(weights)))
    assert len(np.unique(groups)) == 1 or not np.allclose(first, second)


def copies():
    """Rows that are copies of 40 different ones, so that their number says nothing."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(N_GROUPS), GROUP_ROWS)
    positive = np.tile([True, False], N_GROUPS // 2)
    decision = positive + rng.normal(0, 1.0, N_GROUPS) - 0.5
    return groups, positive, decision


def widths(evaluation):
    return np.array([each.high - each.low for each in evaluation.estimates])


@pytest.mark.parametrize("weighted", [False, True])
def test_copies_of_rows_do_not_narrow_the_intervals(weighted):
    groups, positive, decision = copies()
    weight = np.ones(len(groups)) if weighted else None
    chosen = {"random_state": 0, "sample_weight": weight}
    roc_auc = measures.get("roc_auc")
    by_row = evaluate(roc_auc, positive[groups], decision[groups], **chosen)
    by_group = evaluate(roc_auc, positive[groups], decision[groups], groups=groups, **chosen)
    once = evaluate(roc_auc, positive, decision, random_state=0)
    assert by_group.estimates[0].value == pytest.approx(once.estimates[0].value)
    names = [each.name for each in once.estimates]
    chosen = [names.index(name) for name in ("roc_auc", "precision", "recall", "specificity")]
    np.testing.assert_allclose(widths(by_group)[chosen], widths(once)[chosen], rtol=0.3)
    assert (widths(by_row)[chosen] < 0.4 * widths(once)[chosen]).all()


def test_many_classes_labels_and_money():
    groups, positive, decision = copies()
    classes, codes = np.array(["a", "b", "c"]), np.arange(N_GROUPS) % 3
    predicted = np.where(decision > -0.5, codes, (codes + 1) % 3)
    p = np.eye(3)[predicted] * 0.7 + 0.1
    accuracy = multiclass.get("accuracy")

    def of_classes(rows, **params):
        labels = classes[codes[rows]]
        return evaluate(accuracy, labels, p[rows], class_names=classes, random_state=0, **params)

    def of_labels(rows, **params):
        pair = np.column_stack([positive, ~positive])[rows]
        scores = np.column_stack([decision, decision])[rows]
        return evaluate(
            multilabel.get("f1_macro"), pair, scores, class_names=["x", "y"], random_state=0, **params
        )

    for evaluation in (of_classes, of_labels):
        one, many = evaluation(np.arange(N_GROUPS)), evaluation(groups, groups=groups)
        np.testing.assert_allclose(widths(many)[:1], widths(one)[:1], rtol=0.3)
    prices = RowPrices.from_values(N_GROUPS, cost_fp=1.0, cost_fn=3.0, benefit_tp=0.0)
    one = estimate_savings(prices, positive, decision > 0)
    prices = RowPrices.from_values(len(groups), cost_fp=1.0, cost_fn=3.0, benefit_tp=0.0)
    many = estimate_savings(prices, positive[groups], (decision > 0)[groups], groups=groups)
    assert many.high - many.low == pytest.approx(GROUP_ROWS * (one.high - one.low), rel=0.3)


def test_few_groups_are_a_caution():
    groups, positive, decision = copies()
    found = evaluate(
        measures.get("f1"), positive[groups], decision[groups], groups=groups % 7, random_state=0
    )
    assert "only 7 groups" in found.caution


def test_rows_of_weight_0_are_not_counted_in_cautions():
    groups, positive, decision = copies()
    weight = (groups < 10).astype(float) * (np.arange(len(groups)) % GROUP_ROWS == 0)
    found = evaluate(
        measures.get("f1"), positive[groups], decision[groups], sample_weight=weight, random_state=0
    )
    assert (
        found.caution
        == "values and intervals are uncertain: there are only a few rows of negative (5), positive (5)"
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_rates_have_the_intervals_of_jeffreys(weighted):
    positive = np.repeat([True, False], (12, 188))
    decision = np.where(positive, 1.0, -1.0)
    decision[[0, 1, 2, 50]] *= -1
    weight = np.full(200, 3.0) if weighted else None
    found = evaluate(measures.get("f1"), positive, decision, sample_weight=weight, random_state=0)
    by_name = {each.name: each for each in found.estimates}
    for name, hits, n_rows in (("recall", 9, 12), ("precision", 9, 10), ("specificity", 187, 188)):
        expected = beta.ppf((0.025, 0.975), hits + 0.5, n_rows - hits + 0.5)
        ends = by_name[name].low, by_name[name].high
        np.testing.assert_allclose(ends, expected, atol=0.15 * (expected[1] - expected[0]))


def perfect(kind, n_rows):
    """Rows of which all predictions are right, and some names."""
    positive = np.arange(n_rows) % 4 == 0
    if kind == "labels":
        truth = np.column_stack((positive, ~positive))
        return multilabel.get("f1_macro"), truth, truth - 0.5, ["x", "y"]
    if kind == "classes":
        codes = np.arange(n_rows) % 3
        return multiclass.get("f1_macro"), np.array(["a", "b", "c"])[codes], np.eye(3)[codes], ["a", "b", "c"]
    return measures.get(kind), positive, positive - 0.5 + np.arange(n_rows) / (4 * n_rows), ("no", "yes")


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("kind", ["f1", "roc_auc", "average_precision", "mcc", "classes", "labels"])
def test_perfect_predictions_of_few_rows_are_not_certain(kind, grouped):
    widths = []
    for n_rows in (40, 400):
        measure, y, outputs, names = perfect(kind, n_rows)
        groups = np.arange(n_rows) // 2 if grouped else None
        found = evaluate(measure, y, outputs, class_names=names, groups=groups, random_state=0)
        for each in (*found.estimates[:1], *(rate for row in found.classes for rate in (row.recall, row.f1))):
            assert (each.value, each.high) == pytest.approx((1, 1))
            assert each.low < 0.999
        widths.append(1 - found.estimates[0].low)
    assert 0.005 < widths[0] < 0.5
    assert widths[1] < 0.4 * widths[0]


@pytest.mark.slow
@pytest.mark.parametrize(("distance", "threshold"), [(1.0, 1.6), (3.0, 2.2)])
def test_intervals_of_ten_positive_rows_cover_the_value_on_new_rows(distance, threshold):
    found = cover(Rows(200, 0.05, distance, threshold), 60, seed=1).set_index("measure")
    assert found.coverage.min() >= 0.82  # 0.9, minus two standard errors
    assert found.coverage.mean() >= 0.92
    assert found.single_point.max() == 0
