"""Prior, path, choice and operating point, each against its plain definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification

from capo import measures
from capo.adaptation import AdaptationData, CVScore, Settings
from capo.adaptation._path_search import PathSearch
from capo.adaptation._problem import Problem, stack
from capo.adaptation._scores import cv_score
from capo.adaptation._threshold import operating_point
from capo.model_selection._calibration import PlattCalibrator

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
    change += np.sum((weights.delta - prior.delta) ** 2) + (weights.bias - prior.bias) ** 2
    scores = weights.scores(rows.columns, rows.features)
    cut = given.measure.for_training().most_violated(scores, rows.positive, rows.weight)
    return 0.5 * change + C * max(0.0, cut.value(scores))


@pytest.mark.parametrize(
    "measure", [each for each in ALL_MEASURES if each.params.get("costs") is None], ids=repr
)
@pytest.mark.parametrize("prior", ["stack", "zero", "unit"])
def test_the_certificate_is_that_of_the_problem_as_it_is_written(measure, prior):
    rows = problem(weighted=prior == "stack")
    given = Settings(measure, prior=prior, B=2.5, positive=True)
    solved = Problem(rows, given)
    start, _ = solved.at(0.0)
    weights, solution = solved.at(20.0)
    assert solution.gap <= 20.0 * given.tol
    assert objective(rows, given, 20.0, weights, start) == pytest.approx(solution.primal, rel=1e-6, abs=1e-9)
    assert (weights.auxiliary >= 0).all()
    if prior == "unit":
        np.testing.assert_array_equal(weights.auxiliary, 1.0)
    rng = np.random.default_rng(0)
    for _ in range(20):
        step = rng.normal(size=3 + 4 + 1) * 0.1
        other = type(weights)(
            weights.auxiliary if prior == "unit" else np.maximum(weights.auxiliary + step[:3], 0.0),
            weights.delta + step[3:7],
            weights.bias + step[7],
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

    a, b = stack(rows, positive=False)
    for part in slope(a, b, rows.columns):
        np.testing.assert_allclose(part, 0.0, atol=1e-3)
    flipped = AdaptationData(-rows.columns, None, rows.positive, rows.weight)
    a, b = stack(flipped, positive=True)
    np.testing.assert_allclose(a, 0.0, atol=1e-8)
    assert (slope(a, b, flipped.columns)[0] > 0).all()


def test_the_stack_of_few_rows_is_near_the_average_and_of_many_near_the_best():
    few, many = (stack(problem(5, n=n), positive=True)[0] for n in (12, 5000))
    assert np.ptp(few) < 0.5 * np.ptp(many)
    says_nothing = problem(5)
    says_nothing.columns[:, 0] = 1e-6 * says_nothing.columns[:, 0] + 3.0
    assert stack(says_nothing, positive=True)[0][0] == 0.0


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["f1", "mcc", "balanced_accuracy", "jaccard", "accuracy"]))
def test_the_operating_point_is_the_best_of_all_cuts_of_the_expected_table(seed, name):
    rng = np.random.default_rng(seed)
    positive = rng.random(25) < 0.5
    positive[:2] = True, False
    scores = np.round(rng.normal(size=25) + positive, 1)  # ties
    weight = rng.integers(1, 4, 25).astype(float)
    point = operating_point(measures.get(name), scores, positive, weight)
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
    point = operating_point(measures.get("f1"), rows.columns[:, 2], rows.positive, None, 0.3)
    assert point.probability == pytest.approx(0.3)


def test_figures_hold_out_scores_and_cuts():
    rows = problem(2, n=200)
    folds = np.arange(200) % 4
    scores = rows.columns[:, 2]
    ranked = cv_score(Settings(measures.get("roc_auc")), scores, rows, folds)
    assert ranked.value == measures.get("roc_auc").score(rows.positive, scores)
    for number in range(4):
        kept = folds != number
        assert ranked.without[number] == measures.get("roc_auc").score(rows.positive[kept], scores[kept])
    cut = cv_score(Settings(measures.get("f1")), scores, rows, folds)
    predicted = np.zeros(200, dtype=bool)
    for number in range(4):
        kept = folds != number
        point = operating_point(measures.get("f1"), scores[kept], rows.positive[kept], None)
        predicted[~kept] = scores[~kept] > point.score
    assert cut.value == pytest.approx(measures.get("f1").score(rows.positive, predicted - 0.5))


def test_the_spread_is_that_of_a_mean_where_the_value_is_one():
    """The accuracy is a mean over rows, so that the jackknife gives the plain standard deviation of folds."""
    rng = np.random.default_rng(0)
    folds = np.repeat(np.arange(5), 40)
    right = rng.random(200) < 0.7
    by_fold = np.array([right[folds == number].mean() for number in range(5)])
    without = np.array([right[folds != number].mean() for number in range(5)])
    assert CVScore(right.mean(), without).spread == pytest.approx(by_fold.std(ddof=1))
    assert CVScore(right.mean(), without).error == pytest.approx(by_fold.std(ddof=1) / np.sqrt(5))


def test_c_zero_is_left_only_for_a_gain_above_its_error():
    X, y = make_classification(400, n_features=4, n_informative=4, n_redundant=0, random_state=0)
    noise = np.random.default_rng(0).normal(size=(400, 1))
    folds = np.arange(400) % 5
    useful = AdaptationData(noise, X, y == 1, None)
    walk = PathSearch(useful, folds, Settings(measures.get("roc_auc")))
    walk.run([0.0, 1.0, 100.0], extend=False, leave=False, say=lambda *_: None)
    assert walk.chosen("best").C > 0
    useless = AdaptationData(X @ [[1.0], [1.0], [0.0], [0.0]], noise, y == 1, None)
    walk = PathSearch(useless, folds, Settings(measures.get("roc_auc")))
    walk.run([0.0, 1.0, 100.0], extend=False, leave=False, say=lambda *_: None)
    assert walk.chosen("best").C == 0
    assert walk.chosen("one_se").C == 0


def test_scores_of_folds_meet_on_one_scale():
    rows = problem(3)
    weights, _ = Problem(rows, Settings(measures.get("f1"))).at(1000.0)
    scores = weights.normalised(rows).scores(rows.columns, rows.features)
    assert scores.mean() == pytest.approx(0.0, abs=1e-9)
    assert scores.std() == pytest.approx(1.0)
