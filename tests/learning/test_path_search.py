"""The choice of C on the path."""

import numpy as np
from sklearn.datasets import make_classification

from capo import measures
from capo.decisions import ZeroThreshold
from capo.learning.adaptation import Objective, make_search
from capo.learning.combination import AdaptationData
from capo.learning.path import AUTO_GRID, COARSE_AUTO_GRID, CGrid, CVScore, CVScorer, PathSearch


def test_c_zero_is_left_only_for_a_significant_gain():
    X, y = make_classification(400, n_features=4, n_informative=4, n_redundant=0, random_state=0)
    noise = np.random.default_rng(0).normal(size=(400, 1))
    folds, objective = np.arange(400) % 5, Objective(measures.get("roc_auc"))

    def best_C(outputs, features):
        data = AdaptationData(outputs, features, y == 1, None)
        search = make_search(data, folds, objective)
        search.run(CGrid((0.0, 1.0, 100.0)))
        return search.best_significant(3.0).C

    assert best_C(noise, X) > 0
    assert best_C(X @ [[1.0], [1.0], [0.0], [0.0]], noise) == 0


def test_a_gain_needs_a_share_of_the_error_of_the_value():
    errors = np.array([0.1, -0.1, 0.2, -0.2, 0.0])
    value, gain = CVScore(0.5, 0.5 + errors), 0.05  # a standard error of 0.28, and the same gain in all folds
    better = CVScore(0.5 + gain, 0.5 + gain + errors)
    assert better.is_significant_gain(value, 3.0)
    assert better.is_significant_gain(value, 3.0, 0.99 * gain / value.standard_error)
    assert not better.is_significant_gain(value, 3.0, 1.01 * gain / value.standard_error)


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


def test_the_coarse_path_has_half_of_the_values():
    assert set(COARSE_AUTO_GRID.values) < set(AUTO_GRID.values)
    assert len(COARSE_AUTO_GRID.values) == 6
    ends = [(each.values[0], each.values[-1]) for each in (AUTO_GRID, COARSE_AUTO_GRID)]
    assert ends[0] == ends[1] == (0.01, 1000.0)
