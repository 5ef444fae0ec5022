import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit

from capo import measures
from capo.decisions import ClassScores, Population, adjust_threshold, estimate_prevalence, mixture_distance
from capo.exceptions import InvalidInputError

DISTANCE = 2.0


def draw(rng, n, prevalence):
    """Normal scores as log-odds, calibrated where half of the rows are positive."""
    y = rng.random(n) < prevalence
    return DISTANCE * (rng.normal(size=n) + DISTANCE * y) - DISTANCE**2 / 2, y


@pytest.fixture(scope="module")
def training():
    return ClassScores(*draw(np.random.default_rng(0), 4000, 0.5))


@pytest.mark.parametrize("prevalence", [0.02, 0.1, 0.5, 0.9])
def test_the_estimate_is_near_the_truth_and_its_interval_holds_it(training, prevalence):
    log_odds, y = draw(np.random.default_rng(1), 3000, prevalence)
    found = estimate_prevalence(log_odds, training)
    assert found.low < y.mean() < found.high
    assert found.value == pytest.approx(y.mean(), abs=0.03)
    assert found.is_changed == (prevalence != 0.5)


def test_the_estimate_maximizes_the_likelihood_with_two_training_rows_added(training):
    """The definition of the mixture's likelihood, maximized by another program."""
    log_odds, _ = draw(np.random.default_rng(2), 400, 0.2)
    share, trained = expit(training.log_odds).mean(), training.positive.mean()
    positive, negative = expit(log_odds) / share, expit(-log_odds) / (1 - share)

    def loss(s):
        prior = 2 * (trained * np.log(s) + (1 - trained) * np.log(1 - s))
        return -np.log(s * positive + (1 - s) * negative).sum() - prior

    best = minimize_scalar(loss, bounds=(1e-9, 1 - 1e-9), method="bounded", options={"xatol": 1e-9})
    assert estimate_prevalence(log_odds, training).value == pytest.approx(best.x, abs=1e-5)


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say(training):
    rng = np.random.default_rng(3)
    inside = 0
    for seed in range(20):
        fresh = ClassScores(*draw(rng, 500, 0.5))
        found = estimate_prevalence(draw(rng, 300, 0.1)[0], fresh, random_state=seed)
        inside += found.low <= 0.1 <= found.high
    assert inside >= 16  # 95% of 20, less three standard errors


def test_scores_that_are_noise_change_nothing():
    """Scores that say nothing of the labels are calibrated to log-odds close to a constant."""
    rng = np.random.default_rng(4)
    training = ClassScores(0.01 * rng.normal(size=2000) - 1.39, rng.random(2000) < 0.2)
    found = estimate_prevalence(0.01 * rng.normal(size=500) - 1.39, training)
    assert found.value == pytest.approx(0.2, abs=0.1)
    assert not found.is_changed


def test_no_rows_are_refused(training):
    with pytest.raises(InvalidInputError, match="prevalence of 0 rows"):
        estimate_prevalence(np.zeros(0), training)


@pytest.mark.parametrize("prevalence", [0.0, 0.05, 0.5, 1.0])
def test_a_mixture_is_near_whatever_its_prevalence(training, prevalence):
    log_odds, _ = draw(np.random.default_rng(5), 5000, prevalence)
    assert mixture_distance(log_odds, training) < 0.03


def test_other_changes_are_far(training):
    log_odds, _ = draw(np.random.default_rng(6), 5000, 0.3)
    assert mixture_distance(log_odds / 4, training) > 0.1
    certain = ClassScores(np.array([-50.0, 50.0]), np.array([False, True]))
    assert mixture_distance(np.full(100, 50.0), certain) == 0.0


def test_fractional_labels_give_the_same_distributions(training):
    fractional = ClassScores(np.repeat(training.log_odds, 2), np.repeat(training.positive, 2).astype(float))
    points = np.linspace(-5, 5, 11)
    for found, expected in zip(fractional.distributions(points), training.distributions(points), strict=True):
        np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("prevalence", [0.02, 0.3, 0.8])
def test_the_threshold_is_close_to_the_best_one_in_the_new_population(training, prevalence):
    rng, f1 = np.random.default_rng(7), measures.get("f1")
    log_odds, y = draw(rng, 20_000, prevalence)
    population = Population.from_prevalence(prevalence, training)
    for rows in (log_odds, None):  # with new rows, and with training rows that stand for them
        threshold = adjust_threshold(f1, rows, training, population)
        reached = f1.score(y, log_odds + population.log_odds_shift - threshold)
        assert reached > f1.score(y, log_odds - f1.threshold(y, log_odds)) - 0.02


def test_shifted_probabilities_are_calibrated_in_the_new_population(training):
    log_odds, y = draw(np.random.default_rng(8), 50_000, 0.05)
    population = Population.from_prevalence(0.05, training)
    probability = expit(log_odds + population.log_odds_shift)
    assert probability.mean() == pytest.approx(y.mean(), abs=0.005)
    sure = probability > 0.5
    assert y[sure].mean() == pytest.approx(probability[sure].mean(), abs=0.05)
