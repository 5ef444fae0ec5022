"""The promise: the search never misses the worst labeling. Against all of them, 20,000 times and more."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capo import measures
from capo.exceptions import InvalidInputError
from capo.measures import ConfusionMeasure, Cut, Labels
from capo.measures._confusion import ConfusionOracle
from capo.measures._search import Exhaustive
from capo.testing import brute_force, check_case, check_lower_bound, check_weights

from ..cases import ALL_MEASURES, LABEL_MEASURES, RANKING_MEASURES, problems
from ..exact import exact_risk

LABEL_CASES, LONG_CASES, RANKING_CASES = 650, 12, 500
quick = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True, "database": None}


def test_the_suite_holds_enough_cases():
    label = len(LABEL_MEASURES) * (LABEL_CASES + LONG_CASES)
    assert label + len(RANKING_MEASURES) * RANKING_CASES >= 20_000


@pytest.mark.parametrize("measure", ALL_MEASURES, ids=repr)
@settings(**quick)
@given(problems(max_rows=5))
def test_worst_case_of_a_few_problems(measure, problem):
    check_case(measure, *problem)


@pytest.mark.slow
@pytest.mark.parametrize("measure", LABEL_MEASURES, ids=repr)
@settings(max_examples=LABEL_CASES, **quick)
@given(problems(max_rows=6))
def test_worst_labeling_among_all(measure, problem):
    check_case(measure, *problem)


@pytest.mark.parametrize("measure", LABEL_MEASURES, ids=repr)
@settings(max_examples=min(LONG_CASES, settings.default.max_examples // 3), **quick)
@given(problems(max_rows=10).filter(lambda problem: len(problem[0]) > 7))
def test_worst_labeling_among_all_of_up_to_ten_rows(measure, problem):
    check_case(measure, *problem)


@pytest.mark.slow
@pytest.mark.parametrize("measure", RANKING_MEASURES, ids=repr)
@settings(max_examples=RANKING_CASES, **quick)
@given(problems(max_rows=5))
def test_worst_ranking_among_all(measure, problem):
    check_case(measure, *problem)


@pytest.mark.parametrize("measure", RANKING_MEASURES, ids=repr)
@settings(**quick)
@given(problems(max_rows=10))
def test_worst_ranking_among_all_interleavings(measure, problem):
    """With each class in the order of its scores, as the ranking that is worst always has it."""
    scores, y = problem
    n, n_pos = len(y), int((y > 0).sum())
    pos, neg = (np.flatnonzero(side)[np.argsort(-scores[side], kind="stable")] for side in (y > 0, y < 0))
    best = -np.inf
    for places in combinations(range(n), n_pos):
        order = np.empty(n, dtype=int)
        mask = np.isin(np.arange(n), places)
        order[mask], order[~mask] = pos, neg
        loss = measure.loss(np.where(mask, 1, -1), -np.arange(n))
        best = max(best, Cut(measure.ranking_coef(y, order), loss).value(scores))
    assert measure.most_violated(scores, y).value(scores) == pytest.approx(best, abs=1e-9)


@settings(**quick)
@given(problems(max_rows=10))
def test_roc_is_the_mean_pairwise_hinge(problem):
    scores, y = problem
    margins = scores[y > 0][:, None] - scores[y < 0]
    found = measures.get("roc_auc").most_violated(scores, y).value(scores)
    assert found == pytest.approx(np.maximum(0, 1 - margins).mean(), abs=1e-12)


@settings(**quick)
@given(problems(max_rows=10))
def test_accuracy_is_the_mean_hinge(problem):
    scores, y = problem
    found = measures.get("accuracy").most_violated(scores, y).value(scores)
    assert found == pytest.approx(np.maximum(0, 1 - y * scores).mean(), abs=1e-12)


@pytest.mark.parametrize("measure", ALL_MEASURES, ids=repr)
@settings(**quick)
@given(problems(max_rows=6), st.lists(st.integers(1, 4), min_size=6, max_size=6))
def test_whole_weights_are_repeated_rows(measure, problem, counts):
    scores, y = problem
    check_weights(measure, scores, y, counts[: len(y)])


@pytest.mark.parametrize("measure", ALL_MEASURES, ids=repr)
@settings(**quick)
@given(problems(max_rows=8), st.integers(0, 2**32))
def test_a_cut_is_a_lower_bound_everywhere(measure, problem, seed):
    scores, y = problem
    check_lower_bound(measure, scores, np.random.default_rng(seed).normal(scale=2, size=len(y)), y)


@pytest.mark.parametrize("measure", ALL_MEASURES, ids=repr)
@settings(**quick)
@given(problems(max_rows=8), st.integers(0, 2**32))
def test_a_cut_is_a_lower_bound_with_any_weights(measure, problem, seed):
    """Real weights: the set of labelings must not depend on the scores, or R is not convex."""
    scores, y = problem
    rng = np.random.default_rng(seed)
    weight = rng.choice([0.3, 1.7, 2.5, 0.01], size=len(y))
    other = rng.normal(scale=2, size=len(y))
    if measure == measures.get("precision_at_k", k=1) and weight.sum() < 1:
        weight *= 2 / weight.sum()  # a count of rows needs as much weight
    oracle = measure.oracle(y, weight)
    risk = oracle(other)
    assert oracle(scores).value(other) <= risk.value(other) + 1e-9 * (1 + abs(risk.value(other)))


@pytest.mark.parametrize("measure", ALL_MEASURES, ids=repr)
def test_rows_of_weight_zero_do_not_count(measure):
    rng = np.random.default_rng(3)
    scores, y = rng.normal(size=12), np.array([1, -1] * 6)
    weight = np.array([1.0, 1.0, 2.0, 3.0, 0.0, 0.0, 1.0, 2.0, 0.0, 1.0, 4.0, 0.0])
    some = weight > 0
    whole = measure.most_violated(scores, y, weight)
    part = measure.most_violated(scores[some], y[some], weight[some])
    assert not whole.coef[~some].any()
    np.testing.assert_allclose(whole.value(scores), part.value(scores[some]), rtol=1e-12)


@pytest.mark.parametrize("measure", [m for m in LABEL_MEASURES if isinstance(m, ConfusionMeasure)], ids=repr)
@pytest.mark.parametrize("scale", [0.02, 1.0, 30.0])
def test_fast_searches_agree_with_every_confusion_matrix(measure, scale):
    """Where the grid is too large for all labelings, all confusion matrices are still few enough."""
    rng = np.random.default_rng(int(scale * 100))
    for n_pos, n_neg in [(1, 300), (300, 1), (40, 200), (150, 150)]:
        y = np.repeat([1, -1], [n_pos, n_neg])
        scores = scale * (rng.normal(size=len(y)) + 0.7 * y)
        labels = Labels.from_arrays(y)
        every = ConfusionOracle(measure, labels)
        every.strategy = Exhaustive(measure, labels.pos, labels.neg)
        found = measure.most_violated(scores, y).value(scores)
        assert found == pytest.approx(every(scores).value(scores), abs=1e-12)


def test_brute_force_is_not_blind():
    """The judge itself: R of two rows, by hand."""
    # Labelings of y = (+, -) at scores (0.5, 0.5): right 0, both + 1/2 + 1/4, both - 1/2 - 1/4, swapped 1.
    assert brute_force(measures.get("accuracy"), [0.5, 0.5], [1, -1]) == pytest.approx(1.0)
    assert brute_force(measures.get("roc_auc"), [0.2, -0.3], [1, -1]) == pytest.approx(0.5)


@st.composite
def huge_problems(draw):
    """Scores some of which are up to 1e25 times as large as the others, at times with whole weights."""
    scores, y = draw(problems(max_rows=6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    huge = rng.random(len(y)) < 0.4
    size = 10.0 ** rng.integers(5, 26)
    scores = np.where(huge, draw(st.sampled_from([scores, np.ones(len(y)), -np.ones(len(y))])) * size, scores)
    counts = rng.integers(1, 3, size=len(y)) if len(y) < 5 and rng.random() < 0.4 else None
    return scores, y, counts


@pytest.mark.parametrize("measure", ALL_MEASURES, ids=repr)
@settings(**quick)
@given(huge_problems())
def test_worst_case_beside_huge_scores(measure, problem):
    """In rational arithmetic: neither the search nor the cut loses small scores beside large ones."""
    scores, y, counts = problem
    rows = np.repeat(np.arange(len(y)), 1 if counts is None else counts)
    best = exact_risk(measure, [Fraction(float(score)) for score in scores[rows]], y[rows])
    cut = measure.most_violated(scores, y, counts)
    products = [Fraction(float(c)) * Fraction(float(s)) for c, s in zip(cut.coef, scores, strict=True)]
    found = max(Fraction(0), Fraction(float(cut.loss)) - sum(products))
    rounded = Fraction(1, 2**50) * sum(map(abs, products))  # the coefficients' own last digits
    assert abs(found - best) <= Fraction(1, 10**9) * (1 + best) + rounded


def test_a_margin_that_is_lost_in_rounding_still_counts():
    cut = measures.get("roc_auc").most_violated([1, -1e300, -1e300], [1, 0, 1])
    assert cut.value([1, -1e300, -1e300]) == 0.5


@pytest.mark.parametrize("measure", [measures.get("f1"), measures.get("mcc"), measures.get("kld")], ids=repr)
def test_fractional_weights_beside_a_huge_score(measure):
    """A huge score on the right side changes nothing: the others must not be lost beside it."""
    y, weight = np.array([1, 1, 1, -1, -1, -1]), np.array([0.5, 1.5, 0.7, 0.5, 1.2, 0.8])
    scores = np.array([30.0, 0.3, -0.2, 0.4, -0.1, -30.0])
    plain = measure.most_violated(scores, y, weight)
    scores[[0, 5]] *= 1e20
    huge = measure.most_violated(scores, y, weight)
    np.testing.assert_allclose(huge.coef, plain.coef, atol=1e-12)
    assert huge.loss == pytest.approx(plain.loss)


def test_a_cut_between_scores_at_the_limit_of_float64():
    threshold = measures.get("roc_auc").threshold([1, 1, 0], [1.7e308, 1.5e308, -1e308])
    assert threshold == pytest.approx(2.5e307)
    assert 1.5e308 < measures.get("roc_auc").threshold([1, 0, 0], [1.7e308, 1.5e308, -1e308]) < 1.7e308


def test_weights_whose_sums_would_overflow():
    with pytest.raises(InvalidInputError, match="too large to be summed over 3 rows"):
        measures.get("f1").oracle([1, 0, 1], [1e300, 1.0, 1.0])
