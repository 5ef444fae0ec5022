"""Cross-fitting: what the models behind each output have seen."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from capo import TimeFolds
from capo.learning.cross_fit import Auxiliary, JobRunner, TrainingSet, cross_fit
from capo.learning.folds import evaluation_folds, fold_numbers, held_out_together
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


class SeenRows(ClassifierMixin, BaseEstimator):
    """Its score is the number of its training rows of which a row knows, by its column of X."""

    def fit(self, X, y):
        self.classes_, self.seen_ = np.unique(y), np.unique(X[:, 0])
        return self

    def decision_function(self, X):
        return np.array([row[1:][self.seen_.astype(int)].sum() for row in X])


@pytest.mark.parametrize("n_folds", [2, 3, 4, 7, 40])
@pytest.mark.parametrize("is_fast", [True, False])
@pytest.mark.parametrize("splitter", [KFold, TimeFolds, GroupKFold])
def test_evaluation_is_by_models_that_have_seen_neither_the_row_nor_the_fold(n_folds, is_fast, splitter):
    n = 120
    times, positive = np.arange(n), np.random.default_rng(0).random(n) < 0.4
    groups = {} if splitter is KFold else {"groups": times}
    splits = list(splitter(n_folds).split(times, positive, **groups))
    training = TrainingSet(
        np.zeros((n, 1)), positive.astype(int), np.array([0, 1]), splits, is_fast=is_fast, **groups
    )
    folds = training.folds
    own = (
        folds if n_folds == 2 else fold_numbers(splits, n)
    )  # one of two folds cannot be left out with the other
    for fold in (0, int(folds.max())):
        # The columns of a row mark what its model must not have seen: its own fold, and the one evaluated.
        marks = (own[:, None] == own) | ((folds == fold) & (folds[:, None] != fold))
        marked = replace(training, X=np.column_stack((times, marks)).astype(float))
        fitted = cross_fit(JobRunner([Auxiliary("seen", SeenRows(), {})], marked, ScoreOutput()))
        assert not fitted.pair_outputs[fold, folds >= 0].any()


def test_many_folds_are_joined_and_few_are_halved():
    def parts(n_folds, groups=None):
        return evaluation_folds(list(KFold(n_folds).split(np.zeros(120))), 120, groups)

    assert [parts(n_folds).max() + 1 for n_folds in (2, 3, 4, 10, 11, 120)] == [4, 6, 4, 10, 10, 10]
    np.testing.assert_array_equal(parts(120), np.arange(120) % 10)
    np.testing.assert_array_equal(parts(2), np.arange(120) // 60 * 2 + np.arange(120) % 2)
    groups = np.arange(120) // 5
    assert all(len(np.unique(parts(3, groups)[groups == group])) == 1 for group in groups)


def test_sets_of_folds_contain_each_pair_and_are_none_for_large_tables():
    assert len(held_out_together(5, 5, 2_000, 1, is_fast=False)) == 10
    assert held_out_together(5, 5, 2_001, 1, is_fast=False) == []
    assert held_out_together(5, 5, 2_000, 6, is_fast=False) == []
    assert held_out_together(2, 2, 100, 1, is_fast=False) == []
    for n_folds, n_splits, n_rows in ((6, 3, 100), (5, 5, 10_001), (10, 10, 10_000)):
        sets = held_out_together(n_folds, n_splits, n_rows, 1, is_fast=True)
        assert len(sets) == (45 if n_folds == 10 else 3)
        pairs = set().union(*(combinations(sorted(each), 2) for each in sets))
        assert pairs == set(combinations(range(n_folds), 2))


class NeedsRows(SeenFolds):
    """Cannot be trained on fewer than 25 rows."""

    def fit(self, X, y):
        if len(X) < 25:
            raise ValueError("too few rows")
        return super().fit(X, y)


def test_models_that_serve_evaluation_only_do_not_make_a_fit_fail():
    lines = []
    runner = JobRunner([Auxiliary("seen", NeedsRows(), {})], training_set(), ScoreOutput())
    fitted = cross_fit(replace(runner, log=lambda *line: lines.append(line)))
    assert fitted.pair_outputs is None
    assert np.isfinite(fitted.raw_outputs).all()
    assert "too few rows" in str(lines[-1][1])


def test_pairs_of_folds_are_not_used_if_one_leaves_a_single_class():
    training = training_set()
    assert len(training.fold_sets) == N_FOLDS * (N_FOLDS - 1) // 2
    only_two_folds = np.where(training.X[:, 0] < 2, training.targets, 0)
    assert replace(training, targets=only_two_folds).fold_sets == []


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
