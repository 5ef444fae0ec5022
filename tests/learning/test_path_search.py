"""The choice of C on the path."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from capo import measures
from capo.decisions import ZeroThreshold
from capo.learning.adaptation import Objective, make_search
from capo.learning.combination import AdaptationData
from capo.learning.path import AUTO_GRID, COARSE_AUTO_GRID, CGrid, CVScorer, PathSearch


def test_c_zero_is_left_only_for_a_significant_gain():
    X, y = make_classification(400, n_features=4, n_informative=4, n_redundant=0, random_state=0)
    noise = np.random.default_rng(0).normal(size=(400, 1))
    folds, objective = np.arange(400) % 5, Objective(measures.get("roc_auc"))

    def best_C(outputs, features):
        data = AdaptationData(outputs, features, y == 1, None)
        search = make_search(data, folds, objective)
        search.run(CGrid((0.0, 1.0, 100.0)))
        return search.choose()[0].C

    assert best_C(noise, X) > 0
    assert best_C(X @ [[1.0], [1.0], [0.0], [0.0]], noise) == 0


class FoldOfKnownScores:
    """A fold whose scores at each C are given."""

    def __init__(self, test_rows, scores):
        self.test_rows, self._scores = test_rows, scores

    def test_scores(self, C):
        return self._scores[C][self.test_rows], 1


def test_equal_scores_at_two_values_of_C_are_one_loss_for_an_early_stop():
    y = np.arange(40) % 4 == 0
    right, wrong = np.where(y, 1.0, -1.0), np.where(y, -1.0, 1.0)
    middling = np.where(np.arange(40) % 8 == 0, wrong, right)

    def tried(scores):
        folds = np.arange(40) // 8
        scorer = CVScorer(measures.get("roc_auc"), ZeroThreshold(), y, None, folds)
        paths = [FoldOfKnownScores(np.flatnonzero(folds == fold), scores) for fold in range(5)]
        grid = CGrid(tuple(scores), stop_early=True)
        return [point.C for point in PathSearch(paths, scorer).run(grid)]

    assert tried({0.0: middling, 1.0: wrong, 2.0: wrong, 3.0: right}) == [0.0, 1.0, 2.0, 3.0]
    assert tried({0.0: middling, 1.0: wrong, 2.0: 2 * wrong, 3.0: right}) == [0.0, 1.0, 2.0]


def choose_of(scores, y, folds):
    """The choice among known scores at each C."""
    scorer = CVScorer(measures.get("roc_auc"), ZeroThreshold(), y, None, folds)
    paths = [FoldOfKnownScores(np.flatnonzero(folds == fold), scores) for fold in np.unique(folds)]
    search = PathSearch(paths, scorer)
    search.run(CGrid(tuple(scores)))
    chosen, by_fold = search.choose()
    return chosen.C, [point.C for point in by_fold]


@pytest.mark.parametrize("n_folds", [2, 5])
def test_the_smallest_of_about_equal_gains_is_chosen(n_folds):
    rng = np.random.default_rng(0)
    y, folds = rng.random(500) < 0.3, np.arange(500) % n_folds
    weak, strong = (rng.normal(size=500) + shift * y for shift in (0.2, 2.0))
    about_as_strong = strong + 1e-3 * rng.normal(size=500)
    scores = {0.0: weak, 1.0: weak + 0.1 * strong, 10.0: strong, 100.0: about_as_strong}
    assert choose_of(scores, y, folds) == (10.0, [10.0] * n_folds)


def test_a_gain_in_one_fold_is_not_enough():
    rng = np.random.default_rng(0)
    y, folds = rng.random(500) < 0.3, np.arange(500) % 5
    weak, strong = (rng.normal(size=500) + shift * y for shift in (0.2, 2.0))
    assert choose_of({0.0: weak, 1.0: np.where(folds == 0, strong, weak)}, y, folds) == (0.0, [0.0] * 5)


def test_making_up_for_less_than_chance_is_no_gain():
    rng = np.random.default_rng(0)
    y, folds = rng.random(500) < 0.3, np.arange(500) % 5
    below_chance = rng.normal(size=500) - y
    assert choose_of({0.0: below_chance, 1.0: below_chance + y}, y, folds)[0] == 0.0


def test_the_reported_value_is_that_of_the_choices_without_each_fold():
    """Each of two C's is good in one fold only, so that the other fold chooses it."""
    rng = np.random.default_rng(0)
    y, folds = rng.random(400) < 0.3, np.arange(400) % 2
    weak, strong = (rng.normal(size=400) + shift * y for shift in (0.0, 1.0))
    scores = {0.0: weak}
    scores |= {float(1 + fold): strong + np.where(folds == fold, 4.0, 0.0) * (y - 0.5) for fold in (0, 1)}
    scorer = CVScorer(measures.get("roc_auc"), ZeroThreshold(), y, None, folds)
    search = PathSearch([FoldOfKnownScores(np.flatnonzero(folds == f), scores) for f in (0, 1)], scorer)
    search.run(CGrid(tuple(scores)))
    chosen, by_fold = search.choose()
    assert [point.C for point in by_fold] == [2.0, 1.0]
    without_choice = scorer.evaluate(strong)
    combined = chosen.with_folds(by_fold, scorer)
    assert combined.cv_score.value == without_choice.value < chosen.cv_score.value


def test_the_coarse_path_has_half_of_the_values():
    assert set(COARSE_AUTO_GRID.values) < set(AUTO_GRID.values)
    assert len(COARSE_AUTO_GRID.values) == 5
    ends = [(each.values[0], each.values[-1]) for each in (AUTO_GRID, COARSE_AUTO_GRID)]
    assert ends[0] == ends[1] == (0.01, 100.0)
