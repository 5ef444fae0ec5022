"""Cross-fitting: what the models behind each output have seen."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from capo.learning.cross_fit import Auxiliary, JobRunner, TrainingSet, cross_fit
from capo.learning.folds import fold_numbers, pairs_of_folds
from capo.learning.outputs import ScoreOutput

N_FOLDS = 4


class SeenFolds(ClassifierMixin, BaseEstimator):
    """Its score is the set of the folds of its training rows, as a binary number; X is the fold of a row."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.seen_ = float(sum(2 ** int(fold) for fold in np.unique(X)))
        return self

    def decision_function(self, X):
        return np.full(len(X), self.seen_)


def training_set(n=40):
    positive = np.arange(n) % 3 == 0
    splits = list(StratifiedKFold(N_FOLDS).split(positive, positive))
    X = fold_numbers(splits, n)[:, None].astype(float)
    return TrainingSet(X, positive.astype(int), np.array([0, 1]), splits)


def without(*folds):
    return sum(2**fold for fold in range(N_FOLDS) if fold not in folds)


def test_no_output_of_a_fold_comes_from_a_model_that_has_seen_the_fold_or_the_row():
    training = training_set()
    folds = training.X[:, 0].astype(int)
    fitted = cross_fit(JobRunner([Auxiliary("seen", SeenFolds(), {})], training, ScoreOutput()))
    np.testing.assert_array_equal(fitted.raw_outputs[:, 0], [without(fold) for fold in folds])
    for fold in range(N_FOLDS):
        expected = [without(fold, own) for own in folds]
        np.testing.assert_array_equal(fitted.pair_outputs[fold, :, 0], expected)
    assert fitted.models[0].seen_ == without()
    assert fitted.pair_seconds > 0


def test_large_tables_many_folds_and_rare_classes_are_trained_without_single_folds_only():
    training = training_set()
    folds = training.X[:, 0].astype(int)
    assert len(pairs_of_folds(folds, training.targets)) == N_FOLDS * (N_FOLDS - 1) // 2
    assert pairs_of_folds(folds, np.arange(40) < 4) == []
    assert pairs_of_folds(np.arange(40), training.targets) == []
    training = replace(training, max_rows_for_pairs=39)
    fitted = cross_fit(JobRunner([Auxiliary("seen", SeenFolds(), {})], training, ScoreOutput()))
    assert fitted.pair_outputs is None
    assert fitted.pair_seconds == 0


def test_a_frozen_model_has_the_same_outputs_in_all_folds():
    training = training_set()
    frozen = FrozenEstimator(LogisticRegression().fit(training.X, training.targets))
    fitted = cross_fit(
        JobRunner(
            [Auxiliary("seen", SeenFolds(), {}), Auxiliary("frozen", frozen, {})], training, ScoreOutput()
        )
    )
    expected = frozen.decision_function(training.X)
    np.testing.assert_array_equal(fitted.raw_outputs[:, 1], expected)
    for outputs in fitted.pair_outputs:
        np.testing.assert_array_equal(outputs[:, 1], expected)


@pytest.mark.parametrize(("n_folds", "n_pairs"), [(2, 0), (3, 0), (4, 6), (20, 190), (21, 0)])
def test_pairs_need_some_folds_but_not_many(n_folds, n_pairs):
    folds, positive = np.arange(420) % n_folds, np.arange(420) % 11 == 0
    assert len(pairs_of_folds(folds, positive)) == n_pairs


def test_pairs_of_many_classes_disregard_those_with_fewer_rows_than_folds():
    folds, codes = np.arange(200) % 5, np.arange(200) % 4
    assert len(pairs_of_folds(folds, np.where(np.arange(200) < 3, 9, codes))) == 10
    assert pairs_of_folds(folds, np.where(folds == 0, 9, codes)) == []  # one fold has all rows of a class


def test_large_label_matrices_are_trained_without_single_folds_only(monkeypatch):
    training = training_set()
    labels = np.column_stack((np.zeros(40, dtype=int), training.targets))
    matrix = TrainingSet(training.X, labels, np.array(["none", "some"]), training.splits)
    assert len(matrix.fold_pairs) == N_FOLDS * (N_FOLDS - 1) // 2
    monkeypatch.setattr("capo.learning.cross_fit.MAX_OUTPUTS_FOR_PAIRS", 79)
    assert matrix.fold_pairs == []
