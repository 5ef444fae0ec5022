"""Prior, path, choice and operating point, each against its plain definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification

from capo import measures
from capo.adaptation import (
    AdaptationData,
    AdaptationProblem,
    Objective,
    StackPrior,
    UnitPrior,
    ZeroPrior,
    fit_stack,
    make_folds,
)
from capo.model_selection import (
    CGrid,
    CVScore,
    CVScorer,
    ExpectedValueThreshold,
    FixedThreshold,
    PathSearch,
    PlattCalibrator,
    ZeroThreshold,
)

from ..cases import ALL_MEASURES


def problem(seed=0, n=120, k=3, d=4, weighted=False):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.4
    columns = rng.normal(size=(n, k)) + positive[:, None] * np.linspace(0.5, 2.0, k)
    features = rng.normal(size=(n, d)) + positive[:, None] * np.linspace(-1, 1, d)
    return AdaptationData(
        columns, features, positive, rng.integers(1, 4, n).astype(float) if weighted else None
    )


def objective(rows, given, C, weights, prior):
    """J written out, from the weights alone."""
    change = given.B * np.sum((weights.auxiliary - prior.auxiliary) ** 2)
    change += np.sum((weights.delta - prior.delta) ** 2) + (weights.intercept - prior.intercept) ** 2
    scores = weights.scores(rows.outputs, rows.features)
    cut = given.measure.for_training().most_violated(scores, rows.positive, rows.weight)
    return 0.5 * change + C * max(0.0, cut.value(scores))


@pytest.mark.parametrize(
    "measure", [each for each in ALL_MEASURES if each.params.get("costs") is None], ids=repr
)
@pytest.mark.parametrize("prior", [StackPrior(), ZeroPrior(), UnitPrior()], ids=repr)
def test_the_certificate_is_that_of_the_problem_as_it_is_written(measure, prior):
    rows = problem(weighted=isinstance(prior, StackPrior))
    given = Objective(measure, prior, B=2.5)
    solved = AdaptationProblem(rows, given)
    start, _ = solved.solve(0.0)
    weights, solution = solved.solve(20.0)
    assert solution.gap <= 20.0 * given.tol
    assert objective(rows, given, 20.0, weights, start) == pytest.approx(solution.primal, rel=1e-6, abs=1e-9)
    assert (weights.auxiliary >= 0).all()
    if isinstance(prior, UnitPrior):
        np.testing.assert_array_equal(weights.auxiliary, 1.0)
    rng = np.random.default_rng(0)
    for _ in range(20):
        step = rng.normal(size=3 + 4 + 1) * 0.1
        other = type(weights)(
            weights.auxiliary
            if isinstance(prior, UnitPrior)
            else np.maximum(weights.auxiliary + step[:3], 0.0),
            weights.delta + step[3:7],
            weights.intercept + step[7],
        )
        assert objective(rows, given, 20.0, other, start) >= solution.dual - 1e-9


def test_the_stack_meets_the_conditions_of_its_optimum():
    rows = problem(1, weighted=True)
    mass = rows.weight * len(rows.weight) / rows.weight.sum()

    def slope(a, b, columns):
        share = 1 / (1 + np.exp(-(columns @ a + b)))
        return columns.T @ (mass * (share - rows.positive)) + 10.0 * (a - 1 / 3), mass @ (
            share - rows.positive
        )

    a, b = fit_stack(rows, nonnegative=False)
    for part in slope(a, b, rows.outputs):
        np.testing.assert_allclose(part, 0.0, atol=1e-3)
    flipped = AdaptationData(-rows.outputs, None, rows.positive, rows.weight)
    a, b = fit_stack(flipped, nonnegative=True)
    np.testing.assert_allclose(a, 0.0, atol=1e-8)
    assert (slope(a, b, flipped.outputs)[0] > 0).all()


def test_the_stack_of_few_rows_is_near_the_average_and_of_many_near_the_best():
    few, many = (fit_stack(problem(5, n=n), nonnegative=True)[0] for n in (12, 5000))
    assert np.ptp(few) < 0.5 * np.ptp(many)
    constant = problem(5)
    constant.outputs[:, 0] = 1e-6 * constant.outputs[:, 0] + 3.0
    assert fit_stack(constant, nonnegative=True)[0][0] == 0.0


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["f1", "mcc", "balanced_accuracy", "jaccard", "accuracy"]))
def test_the_operating_point_is_the_best_of_all_cuts_of_the_expected_table(seed, name):
    rng = np.random.default_rng(seed)
    positive = rng.random(25) < 0.5
    positive[:2] = True, False
    scores = np.round(rng.normal(size=25) + positive, 1)  # ties
    weight = rng.integers(1, 4, 25).astype(float)
    point = ExpectedValueThreshold()(measures.get(name), scores, positive, weight)
    share = PlattCalibrator.fit(scores, positive, weight).probability(scores)

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


def test_a_threshold_that_is_given_is_kept():
    rows = problem()
    point = FixedThreshold(0.3)(measures.get("f1"), rows.outputs[:, 2], rows.positive, None)
    assert point.probability == pytest.approx(0.3)


def test_cross_validation_holds_out_scores_and_thresholds():
    rows = problem(2, n=200)
    folds = np.arange(200) % 4
    scores, rule = rows.outputs[:, 2], ExpectedValueThreshold()
    ranked = CVScorer(measures.get("roc_auc"), rule, rows.positive, None, folds)(scores)
    assert ranked.value == measures.get("roc_auc").score(rows.positive, scores)
    for fold in range(4):
        kept = folds != fold
        assert ranked.leave_one_out[fold] == measures.get("roc_auc").score(rows.positive[kept], scores[kept])
    with_threshold = CVScorer(measures.get("f1"), rule, rows.positive, None, folds)(scores)
    predicted = np.zeros(200, dtype=bool)
    for fold in range(4):
        kept = folds != fold
        point = rule(measures.get("f1"), scores[kept], rows.positive[kept], None)
        predicted[~kept] = scores[~kept] > point.score
    assert with_threshold.value == pytest.approx(measures.get("f1").score(rows.positive, predicted - 0.5))


def test_a_threshold_of_zero_is_for_measures_of_labels():
    rows = problem()
    scores = rows.outputs[:, 2]
    assert ZeroThreshold()(measures.get("f1"), scores, rows.positive, None).score == 0.0
    assert ZeroThreshold()(measures.get("roc_auc"), scores, rows.positive, None).score != 0.0


def test_the_spread_is_that_of_a_mean_where_the_value_is_one():
    """The accuracy is a mean over rows, so that the jackknife gives the plain standard deviation of folds."""
    rng = np.random.default_rng(0)
    folds = np.repeat(np.arange(5), 40)
    right = rng.random(200) < 0.7
    by_fold = np.array([right[folds == number].mean() for number in range(5)])
    without = np.array([right[folds != number].mean() for number in range(5)])
    assert CVScore(right.mean(), without).std == pytest.approx(by_fold.std(ddof=1))
    assert CVScore(right.mean(), without).standard_error == pytest.approx(by_fold.std(ddof=1) / np.sqrt(5))


def test_c_zero_is_left_only_for_a_significant_gain():
    X, y = make_classification(400, n_features=4, n_informative=4, n_redundant=0, random_state=0)
    noise = np.random.default_rng(0).normal(size=(400, 1))
    folds, objective = np.arange(400) % 5, Objective(measures.get("roc_auc"))

    def best_C(outputs, features):
        data = AdaptationData(outputs, features, y == 1, None)
        scorer = CVScorer(objective.measure, objective.threshold_rule, y == 1, None, folds)
        search = PathSearch(make_folds(data, folds, objective), scorer)
        search.run(CGrid((0.0, 1.0, 100.0)))
        return search.best_significant.C

    assert best_C(noise, X) > 0
    assert best_C(X @ [[1.0], [1.0], [0.0], [0.0]], noise) == 0


def test_scores_of_folds_meet_on_one_scale():
    rows = problem(3)
    weights, _ = AdaptationProblem(rows, Objective(measures.get("f1"))).solve(1000.0)
    scores = weights.standardize(rows).scores(rows.outputs, rows.features)
    assert scores.mean() == pytest.approx(0.0, abs=1e-9)
    assert scores.std() == pytest.approx(1.0)
