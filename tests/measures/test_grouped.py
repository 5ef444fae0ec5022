"""Groups of rows with equal scores: the oracles find what they find for the rows."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capo import measures
from capo.exceptions import ExhaustiveSearchWarning, InvalidInputError
from capo.measures import ClassTotals, GroupedLabels, Labels
from capo.measures import _labels as labels_module

from ..cases import ALL_MEASURES, problems


def group_rows(scores, labels):
    """The groups of rows with equal scores and labels: their scores, their labels and each row's group."""
    keys = np.stack([scores, labels.positive], axis=1)
    groups, group_of_row = np.unique(keys, axis=0, return_inverse=True)
    mass = np.bincount(group_of_row.ravel(), weights=labels.mass)
    positive = groups[:, 1] > 0
    return groups[:, 0], GroupedLabels(positive, mass, ClassTotals.from_labels(labels)), group_of_row.ravel()


def assert_same_cut(measure, labels, scores):
    values, groups, group_of_row = group_rows(scores, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExhaustiveSearchWarning)
        expected = measure.oracle_for(labels)(scores)
        cut = measure.oracle_for(groups)(values)
    assert cut.value(values) == pytest.approx(expected.value(scores), abs=1e-9)
    # It is a lower bound for other scores of the rows too.
    per_mass = cut.coef / groups.mass
    for other in (scores[::-1].copy(), np.zeros(len(scores)), scores + np.linspace(-1, 1, len(scores))):
        bound = cut.loss - (per_mass[group_of_row] * labels.mass) @ other
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExhaustiveSearchWarning)
            assert bound <= measure.oracle_for(labels)(other).value(other) + 1e-9


@pytest.mark.parametrize("measure", ALL_MEASURES, ids=lambda measure: measure.label)
@settings(max_examples=8)
@given(problem=problems(9))
def test_groups_have_the_cut_of_their_rows(measure, problem):
    scores, y = problem
    assert_same_cut(measure.for_training(), Labels.from_arrays(y), scores)


@pytest.mark.parametrize("name", ["f1", "mcc", "kld", "precision_at_k", "roc_auc", "average_precision"])
@settings(max_examples=8)
@given(problem=problems(9), seed=st.integers(0, 10))
def test_groups_of_weighted_rows_have_the_cut_of_their_rows(name, problem, seed):
    scores, y = problem
    weight = np.random.default_rng(seed).uniform(0.2, 2.0, len(y))
    assert_same_cut(measures.get(name), Labels.from_arrays(y, weight), scores)


def test_a_billion_rows_take_the_time_of_their_groups():
    totals = ClassTotals(4e8, 6e8, 400_000_000, 600_000_000, True)
    groups = GroupedLabels(np.array([True, True, False, False]), np.array([1e8, 3e8, 2e8, 4e8]), totals)
    cut = measures.get("f1").oracle_for(groups)(np.array([2.0, 0.1, 0.5, -1.0]))
    small = Labels.from_arrays(np.repeat([1, 1, 0, 0], [100, 300, 200, 400]))
    scores = np.repeat([2.0, 0.1, 0.5, -1.0], [100, 300, 200, 400])
    value = measures.get("f1").oracle_for(small)(scores).value(scores)
    assert cut.value(np.array([2.0, 0.1, 0.5, -1.0])) == pytest.approx(value, abs=1e-3)


def test_average_precision_of_too_many_rows_is_refused(monkeypatch):
    monkeypatch.setattr(labels_module, "MAX_COPIES", 3)
    groups = GroupedLabels(np.array([True, False]), np.array([4.0, 2.0]), ClassTotals(4.0, 2.0, 4, 2, True))
    with pytest.raises(InvalidInputError, match="class with 4 rows has more than 3"):
        measures.get("average_precision").oracle_for(groups)(np.zeros(2))
