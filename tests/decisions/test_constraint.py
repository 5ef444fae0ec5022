import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capo import measures
from capo.decisions import Constraint, rate_names
from capo.exceptions import InvalidInputError


def exact_tail(failures, trials, rate):
    """P(at most so many failures), as a sum of binomial probabilities."""
    return sum(math.comb(trials, k) * rate**k * (1 - rate) ** (trials - k) for k in range(failures + 1))


@given(st.integers(0, 60), st.data(), st.floats(0.05, 0.95))
def test_p_value_is_the_binomial_tail(trials, data, limit):
    failures = data.draw(st.integers(0, trials))
    found = Constraint("precision", limit).p_values([failures], [trials])[0]
    assert found == pytest.approx(exact_tail(failures, trials, 1 - limit), abs=1e-9)


@given(st.floats(0.02, 0.98), st.floats(0.001, 0.3))
def test_most_failures_that_pass(limit, alpha):
    constraint, trials = Constraint("fpr", limit), np.arange(80)
    most = constraint.max_failures(trials, alpha)
    for n, allowed in zip(trials.tolist(), most.tolist(), strict=True):
        if allowed >= 0:
            assert exact_tail(allowed, n, limit) <= alpha + 1e-12
        if allowed < n:
            assert exact_tail(allowed + 1, n, limit) > alpha - 1e-12


@pytest.mark.parametrize(("limit", "confidence", "n"), [(0.9, 0.9, 22), (0.9, 0.95, 29), (0.5, 0.75, 2)])
def test_rows_without_failure_that_pass(limit, confidence, n):
    constraint = Constraint("precision", limit)
    assert constraint.min_trials(confidence) == n
    assert exact_tail(0, n, 1 - limit) <= 1 - confidence + 1e-12 < exact_tail(0, n - 1, 1 - limit)


@pytest.mark.parametrize("text", ["precision >= 0.9", "recall>=0.5", " fpr <= 5e-2 ", "positive_rate <= 0.1"])
def test_parse_reads_what_it_prints(text):
    constraint = Constraint.parse(text)
    assert Constraint.parse(str(constraint)) == constraint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("precision", "a rate and a limit, such as"),
        ("precision >= high", "a rate and a limit, such as"),
        ("precision <= 0.9", "can only be limited as 'precision >= 0.9'"),
        ("accuracy >= 0.9", "can limit fdr, fnr"),
        ("precision >= 1", "must be above 0 and below 1"),
        ("fpr <= 0", "must be above 0 and below 1"),
        ("fpr <= nan", "must be above 0 and below 1"),
        (0.9, "a rate and a limit, such as"),
    ],
)
def test_parse_explains_errors(text, message):
    with pytest.raises(InvalidInputError, match=message):
        Constraint.parse(text)


def test_constraints_of_measures():
    assert str(Constraint.from_measure(measures.get("recall_at_precision", floor=0.8))) == "precision >= 0.8"
    assert str(Constraint.from_measure(measures.get("precision_at_recall", floor=0.7))) == "recall >= 0.7"
    assert str(Constraint.from_measure(measures.get("tpr_at_fpr", ceiling=0.2))) == "fpr <= 0.2"
    with pytest.raises(InvalidInputError, match=r"f1 has no constraint: pass one"):
        Constraint.from_measure(measures.get("f1"))
    assert len(rate_names()) == 8
