"""A model from elsewhere, refitted on a few rows from where it is used."""

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB

import capo
from capo import CAPOClassifier
from capo.exceptions import InvalidInputError


def draw(n, seed, turn=0.0, shift=0.0):
    """Rows of a place: `turn` changes the direction that separates the classes, `shift` the base rate."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 20))
    log_odds = 2 * (np.cos(turn) * X[:, 0] + np.sin(turn) * X[:, 1]) - 1 + shift
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(-log_odds)), "yes", "no")


TEST = draw(3000, 9, turn=0.4, shift=-1)


@pytest.fixture(scope="module")
def old():
    model = CAPOClassifier(auxiliaries=[LogisticRegression()], delta=None, C=0.0, random_state=0)
    return model.fit(*draw(1500, 0))


@pytest.mark.parametrize("n", [50, pytest.param(200, marks=pytest.mark.slow)])
def test_a_refit_combines_the_old_model_and_a_new_one(old, n):
    """Means over draws; beside learners that need no more than 200 rows, the old model may cost a little."""
    scores = []
    for seed in range(1, 7):
        X, y = draw(n, seed, turn=0.4, shift=-1)
        scratch = CAPOClassifier(auxiliaries=[LogisticRegression()], delta=None, C=0.0, random_state=0)
        models = (old, scratch.fit(X, y), old.refit_on(X, y))
        scores.append([roc_auc_score(TEST[1] == "yes", each.log_odds(TEST[0])) for each in models])
    with_old, without, refitted = np.mean(scores, axis=0)
    assert refitted > max(with_old, without) - (0.002 if n == 50 else 0.02)
    assert refitted > min(with_old, without) + 0.01


def test_the_threshold_is_that_of_the_new_place(old):
    X, y = draw(200, 1, shift=-2)
    X_test, y_test = draw(3000, 2, shift=-2)
    assert old.refit_on(X, y).score(X_test, y_test) > old.score(X_test, y_test) + 0.02


def test_the_short_form_is_the_recipe(old):
    X, y = draw(120, 3, turn=0.5)
    recipe = CAPOClassifier(
        auxiliaries=[("old", FrozenEstimator(old)), LogisticRegression()], delta=None, C=0.0, random_state=0
    )
    np.testing.assert_array_equal(old.refit_on(X, y).log_odds(TEST[0]), recipe.fit(X, y).log_odds(TEST[0]))


def test_the_old_model_is_not_changed_and_not_trained(old):
    before = old.log_odds(TEST[0])
    X, y = draw(60, 4)
    refitted = old.refit_on(X, y)
    np.testing.assert_array_equal(old.log_odds(TEST[0]), before)
    assert refitted.auxiliaries_["old"].estimator.auxiliaries_ is old.auxiliaries_
    np.testing.assert_array_equal(refitted.auxiliary_outputs_[:, 0], old.decision_function(X))


def test_two_contrary_rows_do_not_abolish_the_old_model(old):
    X = draw(60, 5)[0]
    below_median = np.argsort(old.log_odds(X))[[20, 25]]
    refitted = old.refit_on(X, np.where(np.isin(np.arange(60), below_median), "yes", "no"))
    assert roc_auc_score(TEST[1] == "yes", refitted.log_odds(TEST[0])) > 0.7


@pytest.mark.parametrize(
    ("measure", "chance"), [("roc_auc", 0.5), pytest.param("mcc", 0.0, marks=pytest.mark.slow)]
)
def test_labels_of_noise_promise_nothing(measure, chance):
    """The out-of-fold value of the refit must not be above that of labels drawn at random."""
    values = []
    noise = CAPOClassifier(measure, auxiliaries=[GaussianNB()], delta=None, C=0.0, random_state=0)
    noise.fit(*draw(300, 0))
    for seed in range(10):
        rng = np.random.default_rng(seed)
        y = np.where(rng.random(80) < 0.5, "yes", "no")
        values.append(noise.refit_on(rng.normal(size=(80, 20)), y).score_)
    assert np.mean(values) < chance + 2 * np.std(values) / np.sqrt(10)


def test_a_refit_can_be_refitted_and_saved(old, tmp_path):
    pytest.importorskip("skops")
    first = old.refit_on(*draw(80, 6))
    second = first.refit_on(*draw(80, 7))
    assert list(second.auxiliaries_) == ["old", "logisticregression"]
    capo.save(second, tmp_path / "m.capo")
    loaded = capo.load(tmp_path / "m.capo")
    np.testing.assert_array_equal(loaded.log_odds(TEST[0]), second.log_odds(TEST[0]))


def test_the_positive_label_and_prices_are_kept():
    X, y = draw(400, 0)
    amount = np.random.default_rng(0).exponential(30, 400)
    model = CAPOClassifier("cost", auxiliaries=[GaussianNB()], delta=None, pos_label="no", random_state=0)
    model.fit(X[:300], y[:300], cost_fp=5, cost_fn=amount[:300])
    refitted = model.refit_on(X[300:], y[300:], cost_fn=amount[300:])
    assert refitted.pos_label_ == "no"
    assert refitted.prices_ == model.prices_
    with pytest.raises(InvalidInputError, match="cost_fn is missing: pass the prices of the new rows"):
        model.refit_on(X[300:], y[300:])


def test_rows_that_cannot_be_used_are_refused(old):
    X, y = draw(40, 8)
    with pytest.raises(InvalidInputError, match="y has the label 'maybe', but the model was trained on 'no'"):
        old.refit_on(X, np.where(y == "yes", "maybe", y))
    with pytest.raises(InvalidInputError, match="all 40 new rows are 'no': at least 2 rows of each class"):
        old.refit_on(X, np.full(40, "no"))
    with pytest.raises(InvalidInputError, match="single row of one of its classes"):
        old.refit_on(X, np.where(np.arange(40) == 0, "yes", "no"))
    with pytest.raises(ValueError, match="X has 3 features"):
        old.refit_on(X[:, :3], y)
    many = CAPOClassifier("f1_macro", auxiliaries=[GaussianNB()]).fit(X, np.arange(40) % 3)
    with pytest.raises(InvalidInputError, match="refit_on needs a model of two classes"):
        many.refit_on(X, np.arange(40) % 3)


def test_columns_of_a_frame_are_those_of_the_old_model():
    frame, y = pd.DataFrame(draw(200, 0)[0], columns=list("abcdefghijklmnopqrst")), draw(200, 0)[1]
    model = CAPOClassifier(auxiliaries=[GaussianNB()], delta=None, random_state=0).fit(frame, y)
    with pytest.raises(ValueError, match="lacks 1 column that the model needs: 'a'"):
        model.refit_on(frame.rename(columns={"a": "other"}), y)
