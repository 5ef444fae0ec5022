"""The benchmark of few labels combines outputs as `CAPOClassifier.refit_on` does."""

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit, cross_val_predict

from benchmarks.few_labels.systems import Outputs, combine, fold_numbers, join
from capo import CAPOClassifier


def test_the_steps_are_those_of_a_refit():
    X, y = make_classification(500, flip_y=0.2, random_state=0)
    y = y == 1
    old = CAPOClassifier(auxiliaries=[LogisticRegression()], delta=None, C=0.0, random_state=0)
    old.fit(X[:200], y[:200])
    X_new, y_new, X_test = X[200:300], y[200:300], X[300:]
    folds = fold_numbers(y_new, seed=0)
    cv = PredefinedSplit(folds)
    refitted = old.set_params(cv=cv).refit_on(X_new, y_new)
    learner = LogisticRegression()
    out_of_fold = cross_val_predict(learner, X_new, y_new, cv=cv, method="decision_function")
    new_model = Outputs(out_of_fold[:, None], learner.fit(X_new, y_new).decision_function(X_test)[:, None])
    frozen = Outputs(*(old.decision_function(each)[:, None] for each in (X_new, X_test)))
    joined, center = join(frozen, new_model)
    decision = combine(joined, y_new, folds, "f1", center)
    np.testing.assert_allclose(decision, refitted.decision_function(X_test))
