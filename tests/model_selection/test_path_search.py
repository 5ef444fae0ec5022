"""The choice of C on the path."""

import numpy as np
from sklearn.datasets import make_classification

from capo import measures
from capo.adaptation import AdaptationData, Objective, make_folds
from capo.model_selection import CGrid, CVScorer, PathSearch


def test_c_zero_is_left_only_for_a_significant_gain():
    X, y = make_classification(400, n_features=4, n_informative=4, n_redundant=0, random_state=0)
    noise = np.random.default_rng(0).normal(size=(400, 1))
    folds, objective = np.arange(400) % 5, Objective(measures.get("roc_auc"))

    def best_C(outputs, features):
        data = AdaptationData(outputs, features, y == 1, None)
        scorer = CVScorer(objective.measure, objective.threshold_rule, y == 1, None, folds)
        search = PathSearch(make_folds(data, folds, objective), scorer)
        search.run(CGrid((0.0, 1.0, 100.0)))
        return search.best_significant(3.0).C

    assert best_C(noise, X) > 0
    assert best_C(X @ [[1.0], [1.0], [0.0], [0.0]], noise) == 0
