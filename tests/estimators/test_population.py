import warnings

import numpy as np
import pytest
from sklearn.model_selection import PredefinedSplit
from sklearn.naive_bayes import GaussianNB

import capo
from capo import CAPOClassifier, measures
from capo.exceptions import DataWarning, InvalidInputError, LabelShiftError


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
    assert "the model is unchanged" in str(same.population_)


def test_adjustments_do_not_add_up(model):
    X, _ = rows(3000, 3, prevalence=0.05)
    once = model.for_population(X)
    twice = model.for_population(prevalence=0.9).for_population(X)
    np.testing.assert_allclose(twice.predict_proba(X), once.predict_proba(X))
    assert twice.threshold_ == pytest.approx(once.threshold_)
    back = once.for_population(rows(2000, 12)[0])
    np.testing.assert_allclose(back.predict_proba(X), model.predict_proba(X))
    assert back.threshold_ == pytest.approx(model.threshold_, rel=1e-12)


def test_other_rows_place_the_threshold_of_a_known_prevalence_again(model):
    """The same prevalence twice: only the rows differ, and they place the threshold."""
    first, second = rows(300, 20, prevalence=0.05)[0], rows(300, 21, prevalence=0.05)[0] + 0.4
    once = model.for_population(second, prevalence=0.05)
    twice = model.for_population(first, prevalence=0.05).for_population(second, prevalence=0.05)
    assert twice.threshold_ == pytest.approx(once.threshold_, rel=1e-9)


@pytest.mark.parametrize("of_positives", [5.0, 0.2])
def test_weights_of_training_rows_count(of_positives):
    """Probabilities are calibrated to the weighted rows, and the share of positives is that of new rows."""
    X, y = rows(3000, 0)
    weighted = classifier().fit(X, y, sample_weight=np.where(y, of_positives, 1.0))
    trained = of_positives * y.sum() / (of_positives * y.sum() + (~y).sum())
    X_new, y_new = rows(6000, 1, prevalence=0.05)
    adjusted = weighted.for_population(X_new)
    found = adjusted.population_
    assert found.trained_prevalence == pytest.approx(trained)
    assert found.estimate.low <= found.prevalence <= found.estimate.high
    assert found.prevalence == pytest.approx(0.05, abs=0.02)
    assert adjusted.predict_proba(X_new)[:, 1].mean() == pytest.approx(y_new.mean(), abs=0.02)
    known = weighted.for_population(prevalence=0.05)
    assert known.predict_proba(X_new)[:, 1].mean() == pytest.approx(y_new.mean(), abs=0.02)
    best = classifier().fit(*rows(6000, 2, prevalence=0.05))
    assert known.score(X_new, y_new) > best.score(X_new, y_new) - 0.03


def test_weights_are_those_of_rows_that_were_repeated():
    """Integer weights give the estimate of a training table with as many copies of each row."""
    X, y = rows(800, 3)
    times = np.random.default_rng(0).integers(1, 4, size=800)
    weighted = classifier(cv=PredefinedSplit(np.arange(800) % 4)).fit(X, y, sample_weight=times)
    copied = classifier(cv=PredefinedSplit(np.repeat(np.arange(800) % 4, times)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        copied = copied.fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    X_new = rows(2000, 4, prevalence=0.1)[0]
    once, again = (each.for_population(X_new).population_ for each in (weighted, copied))
    assert once.prevalence == pytest.approx(again.prevalence, abs=0.005)
    assert once.trained_prevalence == pytest.approx(again.trained_prevalence)


def test_a_threshold_of_the_user_is_a_probability_in_the_new_population():
    fixed = classifier(threshold=0.3).fit(*rows(600, 0))
    adjusted = fixed.for_population(prevalence=0.05)
    assert adjusted.threshold_ == pytest.approx(0.3)


def test_other_changes_are_refused(model):
    X, _ = rows(3000, 4)
    with pytest.raises(LabelShiftError, match="not a mixture of the scores of the two training classes"):
        model.for_population(X / 4 + 0.6)
    with pytest.raises(LabelShiftError, match="less than one row of a class"):
        model.for_population(X - 10)


@pytest.mark.parametrize("prevalence", [0, 1, -0.1, float("nan"), "rare"])
def test_prevalence_is_checked(model, prevalence):
    with pytest.raises(InvalidInputError, match="prevalence must be a share of positives"):
        model.for_population(prevalence=prevalence)


def test_something_must_be_passed(model):
    with pytest.raises(InvalidInputError, match="pass rows of the new population, or its prevalence"):
        model.for_population()


def test_a_guarantee_does_not_move_to_another_population(model):
    promised = model.guarantee(*rows(1000, 5), "precision >= 0.8")
    with pytest.raises(InvalidInputError, match="does not hold in another population"):
        promised.for_population(prevalence=0.1)
    adjusted = model.for_population(prevalence=0.1)
    again = adjusted.guarantee(*rows(3000, 6, prevalence=0.1), "fpr <= 0.05")
    assert again.guarantee_.is_certified


def test_an_adjusted_model_survives_its_file(model, tmp_path):
    pytest.importorskip("skops")
    X, _ = rows(2000, 7, prevalence=0.05)
    adjusted = model.for_population(X)
    capo.save(adjusted, tmp_path / "m.capo")
    again = capo.load(tmp_path / "m.capo")
    assert again.population_ == adjusted.population_
    np.testing.assert_array_equal(again.predict(X), adjusted.predict(X))


@pytest.mark.filterwarnings("ignore:no threshold keeps the constraint")
@pytest.mark.parametrize(
    "measure", ["roc_auc", "recall_at_precision", "mcc", "precision_at_k", "tp - 2 * fp"]
)
def test_every_kind_of_measure_can_be_adjusted(measure):
    fitted = classifier(measure=measures.get(measure), C=0.0).fit(*rows(300, 8))
    adjusted = fitted.for_population(prevalence=0.1)
    assert np.isfinite(adjusted.threshold_)
