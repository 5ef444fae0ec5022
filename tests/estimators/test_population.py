from copy import copy

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import capo
from capo import CAPOClassifier, measures
from capo.exceptions import InvalidInputError, LabelShiftError


def rows(n, seed, prevalence=0.4, spread=1.0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < prevalence
    return spread * rng.normal(size=(n, 2)) + 1.5 * y[:, None], y


def classifier(**params):
    options = {"auxiliaries": [("bayes", GaussianNB())], "delta": None, "cv": 3, "random_state": 0}
    return CAPOClassifier(**{**options, **params})


@pytest.fixture(scope="module")
def model():
    return classifier().fit(*rows(1500, 0))


def test_adjusting_to_unlabeled_rows_gains_f1(model):
    X, y = rows(4000, 1, prevalence=0.03)
    adjusted = model.for_population(X)
    assert adjusted.population_.prevalence == pytest.approx(0.03, abs=0.02)
    assert adjusted.score(X, y) > model.score(X, y) + 0.05
    assert adjusted.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), abs=0.02)
    np.testing.assert_array_equal(adjusted.predict(X), adjusted.predict_proba(X)[:, 1] > adjusted.threshold_)
    assert model.population_ is None
    assert str(adjusted.population_) in str(adjusted.summary())


def test_the_out_of_fold_value_stays_that_of_the_fit(model):
    adjusted = model.for_population(prevalence=0.03)
    np.testing.assert_allclose(
        adjusted.oof_decision_ - adjusted.oof_thresholds_, model.oof_decision_ - model.oof_thresholds_
    )


def test_models_of_earlier_files_can_be_adjusted(model):
    """Their files have neither the labels of the training rows nor the thresholds of the folds."""
    earlier = copy(model)
    del earlier.oof_positive_, earlier.oof_thresholds_
    X, y = rows(4000, 1, prevalence=0.03)
    assert earlier.for_population(X).score(X, y) > model.score(X, y) + 0.05
    assert earlier.guarantee(X, y, constraint="fpr <= 0.05").guarantee_.is_certified


def test_a_known_prevalence(model):
    X, y = rows(4000, 1, prevalence=0.03)
    known = model.for_population(prevalence=0.03)
    assert known.score(X, y) > model.score(X, y) + 0.05
    with_rows = model.for_population(X, prevalence=0.03)
    np.testing.assert_allclose(with_rows.predict_proba(X), known.predict_proba(X))
    assert with_rows.population_.estimate is None


def test_no_change_changes_nothing(model):
    X, _ = rows(2000, 12)
    same = model.for_population(X)
    assert same.population_.log_odds_shift == 0
    assert same.threshold_ == model.threshold_
    assert "nothing was changed" in str(same.population_)


def test_adjustments_do_not_add_up(model):
    X, _ = rows(3000, 3, prevalence=0.05)
    once = model.for_population(X)
    twice = model.for_population(prevalence=0.9).for_population(X)
    np.testing.assert_allclose(twice.predict_proba(X), once.predict_proba(X))
    assert twice.threshold_ == pytest.approx(once.threshold_)
    back = once.for_population(rows(2000, 12)[0])
    np.testing.assert_allclose(back.predict_proba(X), model.predict_proba(X))


def test_a_threshold_of_the_user_is_a_probability_in_the_new_population():
    fixed = classifier(threshold=0.3).fit(*rows(600, 0))
    adjusted = fixed.for_population(prevalence=0.05)
    assert adjusted.threshold_ == pytest.approx(0.3)


def test_other_changes_are_refused(model):
    X, _ = rows(3000, 4)
    with pytest.raises(LabelShiftError, match="no mixture of the two classes as trained"):
        model.for_population(X / 4 + 0.6)
    with pytest.raises(LabelShiftError, match="hardly among them"):
        model.for_population(X - 10)


@pytest.mark.parametrize("prevalence", [0, 1, -0.1, float("nan"), "rare"])
def test_prevalence_is_checked(model, prevalence):
    with pytest.raises(InvalidInputError, match="prevalence must be a share of positives"):
        model.for_population(prevalence=prevalence)


def test_something_must_be_passed(model):
    with pytest.raises(InvalidInputError, match="pass rows of the new population, or its prevalence"):
        model.for_population()


def test_a_guarantee_does_not_move_to_another_population(model):
    promised = model.guarantee(*rows(1000, 5), constraint="precision >= 0.8")
    with pytest.raises(InvalidInputError, match="does not hold in another population"):
        promised.for_population(prevalence=0.1)
    adjusted = model.for_population(prevalence=0.1)
    again = adjusted.guarantee(*rows(3000, 6, prevalence=0.1), constraint="fpr <= 0.05")
    assert again.guarantee_.is_certified


def test_an_adjusted_model_survives_its_file(model, tmp_path):
    pytest.importorskip("skops")
    X, _ = rows(2000, 7, prevalence=0.05)
    adjusted = model.for_population(X)
    capo.save(adjusted, tmp_path / "m.capo")
    again = capo.load(tmp_path / "m.capo")
    assert again.population_ == adjusted.population_
    np.testing.assert_array_equal(again.predict(X), adjusted.predict(X))


@pytest.mark.parametrize(
    "measure", ["roc_auc", "recall_at_precision", "mcc", "precision_at_k", "tp - 2 * fp"]
)
def test_every_kind_of_measure_can_be_adjusted(measure):
    fitted = classifier(measure=measures.get(measure), C=0.0).fit(*rows(300, 8))
    adjusted = fitted.for_population(prevalence=0.1)
    assert np.isfinite(adjusted.threshold_)
