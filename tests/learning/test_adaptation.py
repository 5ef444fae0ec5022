"""Priors and the adaptation problem, each against its plain definition."""

from dataclasses import replace

import numpy as np
import pytest

from capo import measures
from capo.decisions import ExpectedValueThreshold, FixedThreshold, ShrunkenThreshold
from capo.engine import Status
from capo.learning.adaptation import AdaptationProblem, Objective, adapt, make_search
from capo.learning.center import StackPrior, UnitPrior, ZeroPrior, fit_binary_stack
from capo.learning.combination import AdaptationData, LinearCombination, scale_outputs
from capo.learning.outputs import ScoreOutput

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


@pytest.mark.parametrize("measure", ["accuracy", "f1"])
def test_a_row_far_on_the_right_side_does_not_spoil_the_certificate_around_fixed_weights(measure):
    rows = problem(seed=1, n=60, k=2, d=3)
    rows.features[0] *= 1e14
    _, solution = AdaptationProblem(rows, Objective(measures.get(measure), UnitPrior())).solve(5.0)
    assert solution.status is Status.OPTIMAL


def test_the_stack_meets_the_conditions_of_its_optimum():
    rows = problem(1, weighted=True)
    mass = rows.weight * len(rows.weight) / rows.weight.sum()

    def slope(a, b, columns):
        share = 1 / (1 + np.exp(-(columns @ a + b)))
        return columns.T @ (mass * (share - rows.positive)) + 10.0 * (a - 1 / 3), mass @ (
            share - rows.positive
        )

    a, b = fit_binary_stack(rows, nonnegative=False)
    for part in slope(a, b, rows.outputs):
        np.testing.assert_allclose(part, 0.0, atol=1e-3)
    flipped = AdaptationData(-rows.outputs, None, rows.positive, rows.weight)
    a, b = fit_binary_stack(flipped, nonnegative=True)
    np.testing.assert_allclose(a, 0.0, atol=1e-8)
    assert (slope(a, b, flipped.outputs)[0] > 0).all()


def test_the_stack_of_few_rows_is_near_the_average_and_of_many_near_the_best():
    few, many = (fit_binary_stack(problem(5, n=n), nonnegative=True)[0] for n in (12, 5000))
    assert np.ptp(few) < 0.5 * np.ptp(many)
    constant = problem(5)
    constant.outputs[:, 0] = 1e-6 * constant.outputs[:, 0] + 3.0
    assert fit_binary_stack(constant, nonnegative=True)[0][0] == 0.0


def test_the_stack_leaves_out_what_the_others_replace():
    rows = problem(5, n=2000)
    best = int(np.argmax(fit_binary_stack(rows, nonnegative=True)[0]))
    noise = np.random.default_rng(0).normal(size=len(rows.positive))
    copies = np.column_stack((rows.outputs, rows.outputs[:, best] + 0.01 * noise, noise))
    weights, intercept = fit_binary_stack(replace(rows, outputs=copies), nonnegative=True)
    assert weights[-1] == 0.0
    assert (weights[best] == 0.0) != (weights[-2] == 0.0)
    alone, alone_intercept = fit_binary_stack(rows, nonnegative=True)
    difference = copies @ weights + intercept - (rows.outputs @ alone + alone_intercept)
    assert np.abs(difference).max() < 0.2
    few = replace(problem(5, n=100), outputs=problem(5, n=100).outputs)
    assert min(few.positive.sum(), (~few.positive).sum()) < 100
    assert (fit_binary_stack(few, nonnegative=False)[0] != 0.0).all()


def test_scores_of_folds_meet_on_one_scale():
    rows = problem(3)
    weights, _ = AdaptationProblem(rows, Objective(measures.get("f1"))).solve(1000.0)
    scores = weights.standardize(rows).scores(rows.outputs, rows.features)
    assert scores.mean() == pytest.approx(0.0, abs=1e-9)
    assert scores.std() == pytest.approx(1.0)


@pytest.mark.parametrize("C", [0.0, 5.0])
def test_the_threshold_of_a_fold_does_not_depend_on_its_labels(C):
    rows, folds = problem(n=100), np.arange(100) % 5
    flipped = replace(rows, positive=np.where(folds == 2, ~rows.positive, rows.positive))
    scores = [
        make_search(each, folds, Objective(measures.get("f1")), nested=True).evaluate(C).fold_scores[2]
        for each in (rows, flipped)
    ]
    np.testing.assert_array_equal(*scores)


def test_outputs_of_evaluation_do_not_enter_the_model():
    rows, folds = problem(n=100), np.arange(100) % 5
    noise = np.random.default_rng(0).normal(size=rows.outputs.shape)
    plain, evaluated = (
        adapt(each, folds, Objective(measures.get("f1")), 1.0)
        for each in (rows, replace(rows, pair_outputs=lambda fold: (noise, None)))
    )
    np.testing.assert_array_equal(plain.weights.auxiliary, evaluated.weights.auxiliary)
    assert plain.point == evaluated.point
    assert plain.chosen.cv_score.value > evaluated.chosen.cv_score.value


def scaled_beside_a_known_classifier(positive, folds, raw):
    data = AdaptationData(np.zeros((len(raw), 0)), None, positive, None, center=np.array([1.0, 0.0, 0.0]))
    return scale_outputs(ScoreOutput(), data, folds, raw)


def test_the_known_threshold_is_where_the_frozen_classifier_has_it():
    rows, folds = problem(n=100), np.arange(100) % 5
    data, scales = scaled_beside_a_known_classifier(rows.positive, folds, rows.outputs)
    assert data.known_threshold == pytest.approx(float(scales[0](np.zeros(1))[0]))
    without = rows.positive[folds != 2], rows.outputs[folds != 2]
    alone, _ = scaled_beside_a_known_classifier(without[0], folds[folds != 2], without[1])
    assert data.in_fold(2).known_threshold == pytest.approx(alone.known_threshold)
    assert data.in_fold(2).take_rows(np.arange(3)).known_threshold == data.in_fold(2).known_threshold
    assert replace(rows, center=None).known_threshold is None


@pytest.mark.parametrize("C", [0.0, 5.0])
def test_scores_beside_a_known_classifier_do_not_depend_on_the_labels_held_out(C):
    rows, folds = problem(n=100), np.arange(100) % 5
    flipped = np.where(folds == 2, ~rows.positive, rows.positive)
    points = []
    for positive in (rows.positive, flipped):
        data, _ = scaled_beside_a_known_classifier(positive, folds, rows.outputs)
        given = Objective(measures.get("f1")).for_data(data)
        assert given.threshold_rule == ShrunkenThreshold(ExpectedValueThreshold())
        points.append(make_search(data, folds, given, nested=True).evaluate(C))
    np.testing.assert_array_equal(points[0].fold_scores[2], points[1].fold_scores[2])


def test_a_ranking_and_a_given_threshold_are_not_shrunk():
    rows, folds = problem(n=100), np.arange(100) % 5
    data, _ = scaled_beside_a_known_classifier(rows.positive, folds, rows.outputs)
    for given in (
        Objective(measures.get("roc_auc")),
        Objective(measures.get("f1"), threshold_rule=FixedThreshold(0.3)),
    ):
        assert given.for_data(data).threshold_rule == given.threshold_rule
    assert Objective(measures.get("f1")).for_data(rows) == Objective(measures.get("f1"))


def test_the_scores_beside_a_known_classifier_are_log_odds():
    rows, folds = problem(n=400), np.arange(400) % 5
    data, _ = scaled_beside_a_known_classifier(rows.positive, folds, rows.outputs)
    weights = adapt(data, folds, Objective(measures.get("f1")), 0.0).weights
    probability = 1 / (1 + np.exp(-weights.scores(data.outputs, None)))
    assert probability.mean() == pytest.approx(rows.positive.mean(), abs=0.02)
    likely = probability > 0.5
    assert rows.positive[likely].mean() == pytest.approx(probability[likely].mean(), abs=0.05)
    assert rows.positive[~likely].mean() == pytest.approx(probability[~likely].mean(), abs=0.05)


@pytest.mark.parametrize("center", [True, False])
def test_equal_scores_are_exactly_equal_once_standardized(center):
    data = replace(problem(k=2), outputs=np.ones((120, 2)) * [1.0, 0.1], features=None)
    data.outputs[::2] *= 1.0 + 4e-16
    combination = LinearCombination(np.array([0.3, 0.7]), np.zeros(0), -0.2)
    assert np.ptp(combination.scores(data.outputs, None)) > 0
    scores = combination.standardize(data, center=center).scores(data.outputs, None)
    assert np.array_equal(scores, np.full(120, 0.0 if center else scores[0]))
    assert scores[0] == pytest.approx(0.0 if center else 0.17)


@pytest.mark.parametrize("measure", ["f1", "roc_auc"])
@pytest.mark.parametrize("rule", [ExpectedValueThreshold(), FixedThreshold(0.3)])
def test_the_stack_needs_no_problem_to_be_on_the_common_scale(measure, rule):
    rows, folds = problem(n=200), np.arange(200) % 4
    given = Objective(measures.get(measure), threshold_rule=rule)
    found = make_search(rows, folds, given).evaluate(0.0).scores[folds == 1]
    train, test = rows.take_rows(np.flatnonzero(folds != 1)), rows.take_rows(np.flatnonzero(folds == 1))
    weights, _ = AdaptationProblem(train, given).solve(0.0)
    expected = weights.standardize(train).scores(test.outputs, test.features)
    np.testing.assert_allclose(found, expected, atol=1e-10)
