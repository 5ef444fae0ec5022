"""Intervals of rows that come in groups."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capo import measures
from capo.decisions import RowPrices, estimate_savings
from capo.inspection import evaluate
from capo.inspection._bootstrap import RowBootstrap
from capo.measures import multiclass, multilabel

N_GROUPS, GROUP_ROWS = 40, 25


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.integers(0, 100))
def test_whole_groups_are_drawn(groups, seed):
    groups = np.array(groups)
    ones, strata, random = np.ones(len(groups)), np.zeros(len(groups), dtype=int), np.random.RandomState(seed)
    times = next(RowBootstrap(ones, strata, groups, 1, random).weights())
    by_group = [set(times[groups == name]) for name in np.unique(groups)]
    assert all(len(each) == 1 for each in by_group)
    assert sum(each.pop() for each in by_group) == len(np.unique(groups))


def test_groups_of_both_classes_are_drawn():
    groups = np.repeat(np.arange(6), 5)
    strata = (groups == 0).astype(int)
    for weight in RowBootstrap(np.ones(30), strata, groups, 50, np.random.RandomState(0)).weights():
        assert weight[strata == 1].sum() > 0


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
    f1 = measures.get("f1")
    by_row = evaluate(f1, positive[groups], decision[groups], **chosen)
    by_group = evaluate(f1, positive[groups], decision[groups], groups=groups, **chosen)
    once = evaluate(f1, positive, decision, random_state=0)
    assert by_group.estimates[0].value == pytest.approx(once.estimates[0].value)
    names = [each.name for each in once.estimates]
    chosen = [names.index(name) for name in ("f1", "accuracy", "roc_auc", "mcc")]
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
    assert "only 5 of these 10 rows are" in found.caution
