"""Decision rules against brute force over all labelings."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from capo import measures
from capo.measures import DecisionRule, ExpectedRows, multiclass

from .multiclass_cases import BOUNDED, EXACT, all_matrices, expected_rows, make_measure

#: No row can be of the second class.
WITHOUT_A_CLASS = ExpectedRows(np.array([[0, 0, 1 / 3, 2 / 3], [1 / 4, 0, 0, 3 / 4], [1 / 2, 0, 1 / 2, 0]]))
#: Rows of different weights: the class shares of some labeling are closer to the true ones than any cut's.
UNEQUAL_WEIGHTS = ExpectedRows(
    np.array([[3 / 4, 1 / 4], [1 / 2, 1 / 2], [2 / 3, 1 / 3], [1 / 2, 1 / 2], [2 / 3, 1 / 3]]),
    np.array([0.99, 0.72, 0.81, 0.15, 0.71]),
)


def assert_search_is_right(rows, name, seed):
    measure = make_measure(name, rows.n_classes, np.random.default_rng(seed))
    found = measure.search(rows)
    best = measure.value(all_matrices(rows)).max()
    tol = 1e-7 * max(1.0, abs(best))
    reached = measure.value(rows.confusion(found.rule.predict(rows.probabilities)))
    assert found.value == pytest.approx(float(reached), abs=1e-12)
    assert found.bound >= best - tol
    assert found.value <= best + tol
    assert found.is_exact == (name in EXACT)
    if name in EXACT:
        assert found.value >= best - tol


@given(expected_rows(), st.sampled_from(EXACT), st.integers(0, 2**16))
def test_the_rule_of_a_linear_or_fractional_measure_is_the_best_labeling(rows, name, seed):
    assert_search_is_right(rows, name, seed)


@given(expected_rows(max_rows=5), st.sampled_from(BOUNDED), st.integers(0, 2**16))
@example(WITHOUT_A_CLASS, "gmean", 0)
@example(WITHOUT_A_CLASS, "kld_macro", 0)
@example(UNEQUAL_WEIGHTS, "kld_macro", 0)
def test_no_labeling_exceeds_the_bound(rows, name, seed):
    assert_search_is_right(rows, name, seed)


@pytest.mark.slow
@settings(max_examples=6000, deadline=None)
@given(expected_rows(), st.sampled_from(EXACT), st.integers(0, 2**16))
def test_the_rule_is_the_best_labeling_in_thousands_of_cases(rows, name, seed):
    assert_search_is_right(rows, name, seed)


@given(
    st.integers(2, 40),
    st.integers(0, 2**16),
    st.sampled_from(("balanced_accuracy", "mcc", "cohen_kappa", "gmean", "f1")),
)
def test_two_classes_have_the_value_of_the_best_binary_threshold(n_rows, seed, name):
    rng = np.random.default_rng(seed)
    p = np.round(rng.beta(0.7, 1.5, n_rows), int(rng.integers(1, 4)))
    rows = ExpectedRows(np.column_stack((1.0 - p, p)))
    many = multiclass.get("f1_micro", classes=[1]) if name == "f1" else multiclass.get(name)
    found = many.for_classes(np.array([0, 1])).search(rows)
    labels, mass = np.repeat((True, False), n_rows), np.concatenate((p, 1.0 - p))
    if not 0 < p.sum() < n_rows:
        return
    binary = measures.get(name)
    threshold = binary.threshold(labels, np.tile(p, 2), mass)
    expected = binary.score(labels, np.tile(p, 2) - threshold, mass)
    assert found.value == pytest.approx(expected, abs=1e-7)


def test_the_ascent_does_not_stop_at_the_most_probable_class():
    """A rare class that is never the most probable one has an F1 of 0 without a rule."""
    rng = np.random.default_rng(0)
    rare, rest = rng.beta(1, 8, 2000), rng.beta(4, 4, 2000)
    rows = ExpectedRows(np.column_stack((rare, (1 - rare) * rest, (1 - rare) * (1 - rest))))
    measure = multiclass.get("f1_macro")
    plain = measure.value(rows.confusion(rows.probabilities.argmax(axis=1)))
    found = measure.search(rows)
    assert found.value > plain + 0.03
    assert found.gap < 0.06


def test_with_many_rows_the_rule_is_found_on_a_sample_and_finished_on_all(monkeypatch):
    rng = np.random.default_rng(1)
    rows = ExpectedRows(rng.dirichlet((4, 1, 0.3), size=3000), rng.random(3000))
    measure = multiclass.get("f1_macro")
    complete = measure.search(rows)
    monkeypatch.setattr("capo.measures.multiclass.MAX_ROWS_FOR_START", 500)
    sampled = measure.search(rows)
    assert sampled.value == pytest.approx(complete.value, abs=2e-3)
    assert sampled.bound == complete.bound


def test_multipliers_and_offsets():
    rule = DecisionRule.from_multipliers(np.array([2.0, 1.0, 4.0]), np.array([0.5, 0.0, 1.0]))
    multipliers, offsets = rule.normalize().multipliers_and_offsets
    p = np.random.default_rng(0).dirichlet(np.ones(3), size=50)
    assert np.array_equal((multipliers * p - offsets).argmax(axis=1), rule.predict(p))
    assert DecisionRule(np.arange(9.0).reshape(3, 3) ** 2).multipliers_and_offsets is None
