"""Repeated folds: each row is held out several times."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold, ShuffleSplit, StratifiedKFold
from sklearn.naive_bayes import GaussianNB

from capo import CAPOClassifier, load, save
from capo.exceptions import InvalidInputError
from capo.learning.folds import RepeatedFolds, split_repeats

N = 120
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 3))
Y = X[:, 0] + X[:, 1] ** 2 + rng.normal(size=N) > 1.2
WEIGHT = rng.integers(0, 3, N).astype(float)


def folds(seed):
    return list(StratifiedKFold(4, shuffle=True, random_state=seed).split(X, Y))


def fit(cv, measure="f1", C=0.0, **params):
    auxiliaries = [LogisticRegression(), GaussianNB()]
    model = CAPOClassifier(measure, auxiliaries=auxiliaries, cv=cv, C=C, random_state=0)
    return model.fit(X, Y, **params)


@pytest.mark.parametrize("measure", ["f1", "roc_auc", "precision_at_k"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_same_folds_twice_give_the_same_model(measure, weighted):
    params = {"sample_weight": WEIGHT} if weighted else {}
    once = fit(folds(0), measure, C=[0, 1.0], **params)
    twice = fit([*folds(0), *folds(0)], measure, C=[0, 1.0], **params)
    assert (once.n_repeats_, twice.n_repeats_) == (1, 2)
    assert twice.C_ == once.C_
    np.testing.assert_allclose(twice.cv_results_["test_score"], once.cv_results_["test_score"])
    assert twice.score_std_ == pytest.approx(once.score_std_)
    np.testing.assert_allclose(twice.log_odds(X), once.log_odds(X), atol=1e-4)
    assert twice.threshold_ == pytest.approx(once.threshold_, abs=1e-5)
    for name, score in once.auxiliary_scores_.items():
        assert twice.auxiliary_scores_[name].value == pytest.approx(score.value)


@pytest.mark.parametrize("measure", ["mcc", "average_precision"])
def test_values_are_means_of_the_values_of_single_repeats(measure):
    single = [fit(folds(seed), measure) for seed in (1, 2)]
    both = fit([*folds(1), *folds(2)], measure)
    assert both.score_ == pytest.approx(np.mean([each.score_ for each in single]))
    for name, score in both.auxiliary_scores_.items():
        assert score.value == pytest.approx(np.mean([each.auxiliary_scores_[name].value for each in single]))
    assert len(both.auxiliary_scores_["gaussiannb"].leave_one_out) == 4
    assert both.score_std_ < np.inf


def test_every_repeat_is_used():
    assert fit([*folds(1), *folds(2)]).threshold_ != fit(folds(1)).threshold_
    assert "means of 2 repeats of the folds" in str(fit([*folds(1), *folds(2)]).summary())


@pytest.mark.parametrize("splitter", [RepeatedStratifiedKFold, RepeatedKFold])
def test_splitters_of_scikit_learn_are_divided_into_repeats(splitter):
    repeats = split_repeats(splitter(n_splits=3, n_repeats=2, random_state=0), X, Y, {}, None)
    assert [len(each) for each in repeats] == [3, 3]
    for each in repeats:
        np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in each])), np.arange(N))


@pytest.mark.parametrize(
    "cv",
    [
        ShuffleSplit(4, random_state=0),
        [*folds(0), *folds(1)[:2]],
        [folds(0)[0], *folds(1)],
        [*folds(0)[:2], *folds(1), *folds(0)[2:]],
    ],
)
def test_rows_that_are_held_out_unequally_often_are_refused(cv):
    with pytest.raises(InvalidInputError, match="RepeatedStratifiedKFold every row equally often"):
        split_repeats(cv, X, Y, {}, None)


def test_groups_are_held_out_together():
    groups = np.arange(N) // 4
    splits = list(RepeatedFolds(3, 2, random_state=0).split(X, Y, groups))
    assert len(splits) == RepeatedFolds(3, 2).get_n_splits() == 6
    assert all(not np.isin(groups[test], groups[train]).any() for train, test in splits)
    assert not all(np.array_equal(splits[k][1], splits[k + 3][1]) for k in range(3))
    assert fit(RepeatedFolds(3, 2, random_state=0), groups=groups).n_repeats_ == 2


def test_more_than_two_classes_are_refused():
    y = np.arange(N) % 3
    with pytest.raises(InvalidInputError, match="two classes: got 3"):
        next(RepeatedFolds().split(X, y))
    repeated = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    with pytest.raises(InvalidInputError, match="ShuffleSplit and repeated splits do not"):
        CAPOClassifier("f1", auxiliaries=[GaussianNB()], cv=repeated).fit(X, y)


def test_a_model_with_repeated_folds_can_be_saved(tmp_path):
    model = fit(RepeatedFolds(3, 2, random_state=0))
    save(model, tmp_path / "model.capo")
    loaded = load(tmp_path / "model.capo")
    assert loaded.get_params()["cv"].n_repeats == 2
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
