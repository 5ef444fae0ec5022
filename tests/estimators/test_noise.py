"""With labels that are pure noise, the values that a model reports are those of chance."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from capo import CAPOClassifier
from capo.learning.folds import evaluation_folds

N_PERMUTATIONS = 20


def fit(measure, y, seed, **params):
    X = np.random.default_rng(seed).normal(size=(len(y), 8))
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    params = {"auxiliaries": [LogisticRegression(), GaussianNB(), tree], "random_state": seed, **params}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CAPOClassifier(measure, **params).fit(X, y)


def check_chance(excess):
    """The mean over seeds is within two standard errors of 0, or below."""
    assert len(set(excess)) > len(excess) / 2
    assert np.mean(excess) < 2 * np.std(excess, ddof=1) / np.sqrt(len(excess))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("measure", "n_rows", "params", "n_seeds"),
    [
        ("roc_auc", 150, {"cv": StratifiedKFold(3)}, 60),
        ("mcc", 150, {"cv": StratifiedKFold(3)}, 40),
        ("roc_auc", 12_000, {"auxiliaries": "fast"}, 6),
    ],
)
def test_two_classes(measure, n_rows, params, n_seeds):
    excess = []
    for seed in range(n_seeds):
        y = np.random.default_rng(seed).permutation(n_rows) % 2
        model = fit(measure, y, seed + 1_000, **params)
        excess.append(model.score_ - {"roc_auc": 0.5, "mcc": 0.0}[measure])
    check_chance(excess)


@pytest.mark.slow
def test_many_classes():
    excess = []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        y = rng.permutation(200) % 4
        model = fit("mcc", y, seed + 1_000)
        labels, probabilities = model.oof_labels_, model.oof_probabilities_
        chance = [
            model.measure_.score(rng.permutation(y), labels, probabilities) for _ in range(N_PERMUTATIONS)
        ]
        excess.append(model.score_ - np.mean(chance))
    check_chance(excess)


@pytest.mark.slow
def test_all_entries_of_a_label_matrix():
    """New rows have other shares of the labels, which a value of all entries must not know."""
    excess = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        model = fit("f1_micro", (rng.random((200, 6)) < 0.1).astype(int), seed + 1_000)
        chance = [
            model.measure_.score(rng.random((200, 6)) < 0.1, model.oof_decision_)
            for _ in range(N_PERMUTATIONS)
        ]
        excess.append(model.score_ - np.mean(chance))
    check_chance(excess)


def fit_with_other_labels(measure, y, n_folds, **params):
    """Return which rows are evaluated in one fold or half, and models for different labels of these."""
    rng = np.random.default_rng(0)
    folds = rng.permutation(len(y)) % n_folds
    splits = [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in range(n_folds)]
    held_out = (folds == 0) & (evaluation_folds(splits, len(y)) == 0)
    models = []
    for _ in range(5):
        labels = y.copy()
        labels[held_out] = rng.permutation(y)[: held_out.sum()]
        models.append(fit(measure, labels, 1, cv=splits, **params))
    return held_out, models


@pytest.mark.parametrize("n_folds", [4, 5])
@pytest.mark.parametrize("measure", ["f1_macro", "mcc"])
def test_what_evaluates_a_fold_of_many_classes_has_not_seen_its_labels(n_folds, measure):
    y = np.random.default_rng(1).permutation(120) % 3
    held_out, (one, *others) = fit_with_other_labels(measure, y, n_folds, auxiliaries=[GaussianNB()])
    for other in others:
        for found in ("oof_probabilities_", "oof_labels_"):
            np.testing.assert_array_equal(*(getattr(model, found)[held_out] for model in (one, other)))
        assert not np.array_equal(one.oof_probabilities_, other.oof_probabilities_)


@pytest.mark.parametrize("n_folds", [2, 3, 4, 12])
def test_what_evaluates_a_fold_of_two_classes_has_not_seen_its_labels(n_folds):
    y = np.random.default_rng(1).permutation(120) % 2
    held_out, (one, *others) = fit_with_other_labels("mcc", y, n_folds, C=0.0)
    signs = [model.oof_decision_ > model.oof_thresholds_ for model in (one, *others)]
    assert all(np.array_equal(signs[0][held_out], each[held_out]) for each in signs)
    assert not all(np.array_equal(signs[0], each) for each in signs)


@pytest.mark.parametrize("measure", ["mcc_macro", "mcc_micro", "f1_samples"])
def test_what_evaluates_a_fold_of_labels_has_not_seen_them(measure):
    y = (np.random.default_rng(1).random((120, 3)) < 0.4).astype(int)
    held_out, models = fit_with_other_labels(measure, y, 4, C=0.0, auxiliaries=[GaussianNB()])
    signs = [model.oof_decision_ > 0 for model in models]
    assert all(np.array_equal(signs[0][held_out], each[held_out]) for each in signs)
    assert not all(np.array_equal(signs[0], each) for each in signs)


def test_the_summary_says_how_the_values_were_found(monkeypatch):
    y = np.random.default_rng(0).permutation(100) % 2
    assert "out of fold" not in fit("f1", y, 0, C=0.0).summary().notes
    monkeypatch.setattr("capo.learning.folds.MAX_ROWS_FOR_PAIRS", 99)
    assert "have seen the fold" in fit("f1", y, 0, C=0.0).summary().notes["out of fold"]
    classes = fit("f1_macro", np.arange(100) % 3, 0)
    assert f"{classes.score_:.4f} out of fold" in classes.summary().notes["value"]
