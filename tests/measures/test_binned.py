"""Searches among bins: their cuts are lower bounds of R, and the exact search is within their error."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capo import measures
from capo.measures import BinnedConfusionOracle, BinnedPairOracle, ConfusionMeasure

from ..cases import LABEL_MEASURES, problems

quick = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True, "database": None}
ROC = measures.get("roc_auc")
CONFUSION = [each for each in LABEL_MEASURES if isinstance(each, ConfusionMeasure)]


def binned(measure, y, weight, max_error):
    """A search among bins for a few rows, which would be sorted otherwise."""
    exact = measure.oracle(y, weight)
    pairs = measure == ROC
    oracle = BinnedPairOracle(exact, max_error) if pairs else BinnedConfusionOracle(exact, max_error, measure)
    oracle.max_bins = 10**6
    return oracle


def assert_within_error(measure, scores, other, y, weight, max_error):
    oracle, exact = binned(measure, y, weight, max_error), measure.oracle(y, weight)
    cut, risk = oracle(scores), exact(scores).value(scores)
    assert cut.error > 0.0 or np.ptp(scores) == 0.0
    assert cut.error <= max_error
    assert cut.value(scores) <= risk + 1e-9
    assert risk <= cut.value(scores) + cut.error + 1e-9
    assert cut.value(other) <= exact(other).value(other) + 1e-9
    return cut, risk


@pytest.mark.parametrize("measure", [*CONFUSION, ROC], ids=repr)
@settings(**quick)
@given(problems(max_rows=12), st.integers(0, 2**32), st.sampled_from([1, 2, 3, 10]))
def test_cuts_of_wide_bins(measure, problem, seed, n_bins):
    """Ties, equal scores, classes of one row, real weights and weights of 0."""
    scores, y = problem
    rng = np.random.default_rng(seed)
    weight = None if seed % 2 else rng.choice([0.3, 1.0, 2.5], size=len(y))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("capo.measures._binned.MIN_BINS", n_bins)
        assert_within_error(measure, scores, rng.normal(scale=2, size=len(y)), y, weight, 1e6)


@pytest.mark.parametrize("measure", [*CONFUSION, ROC], ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_cuts_of_narrow_bins_are_as_good_as_they_say(measure, weighted):
    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.3
    weight = rng.choice([0.0, 1.0, 2.5], size=400) if weighted else None
    scores = rng.normal(size=400) + y
    for max_error in (1e-2, 1e-3, 1e-4):
        assert_within_error(measure, scores, -scores, y, weight, max_error)


def test_the_error_is_real():
    """Two rows in one bin, in the wrong order by 0.5 after the margin: half of it is the error."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("capo.measures._binned.MIN_BINS", 1)
        patch.setattr("capo.measures._binned.EXPECTED_PEAK", 1e-9)
        cut, risk = assert_within_error(
            ROC, np.array([0.5, 0.0]), np.zeros(2), np.array([1, 0]), None, max_error=10.0
        )
    assert risk == 0.5
    assert cut.value(np.array([0.5, 0.0])) == 0.25


@pytest.mark.parametrize("name", ["roc_auc", "f1"])
def test_large_problems_use_bins_and_fall_back_to_the_exact_search(name):
    rng = np.random.default_rng(0)
    y = rng.random(40_000) < 0.2
    oracle, scores = measures.get(name).oracle(y), rng.normal(size=40_000) + y
    assert oracle.within(1e-4)(scores).error > 0.0
    for fast, values in ((oracle.within(1e-15), scores), (oracle.within(1e-4), scores * 1e9)):
        cut, exact = fast(values), oracle(values)
        assert cut.error == 0.0
        np.testing.assert_array_equal(cut.coef, exact.coef)
        assert cut.loss == exact.loss
    assert oracle.within(1e-4).within(1e-15)(scores).value(scores) == oracle(scores).value(scores)
    small = measures.get(name).oracle(y[:100])
    assert small.within(1e-4) is small


@pytest.mark.usefixtures("small_tasks")
@pytest.mark.parametrize("name", ["roc_auc", "f1"])
@pytest.mark.parametrize("weighted", [False, True])
def test_cuts_do_not_depend_on_the_number_of_threads(name, weighted, use_threads):
    """To the last bit, with a size of tasks that does not divide the rows."""
    rng = np.random.default_rng(0)
    y, weight = rng.random(40_001) < 0.2, rng.random(40_001) if weighted else None
    scores, cuts = rng.normal(size=40_001) + y, []
    for n_threads in (1, 2, 3):
        use_threads(n_threads)
        cuts.append(measures.get(name).oracle(y, weight).within(1e-4)(scores))
        assert cuts[-1].error > 0.0
    for cut in cuts[1:]:
        np.testing.assert_array_equal(cut.coef, cuts[0].coef)
        assert (cut.loss, cut.error) == (cuts[0].loss, cuts[0].error)
