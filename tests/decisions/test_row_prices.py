"""Prices of rows: the best decision in expectation, the money of predictions, and invalid prices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capo.decisions import PriceTerms, RowPrices, estimate_savings
from capo.exceptions import InvalidInputError

_price = st.sampled_from([0.0, 0.25, 1.0, 3.0, 1000.0])


@given(st.lists(st.tuples(_price, _price, _price, st.sampled_from([0.01, 0.2, 0.5, 0.9])), min_size=1))
def test_the_threshold_is_that_of_the_best_expected_value(rows):
    cost_fp, cost_fn, benefit_tp, probability = map(np.array, zip(*rows, strict=True))
    if not (cost_fp.any() or cost_fn.any() or benefit_tp.any()):
        return
    prices = RowPrices.from_values(len(rows), cost_fp=cost_fp, cost_fn=cost_fn, benefit_tp=benefit_tp)
    # The expected money of each decision by its definition: both labels with their probabilities.
    positive, negative = np.ones(len(rows), bool), np.zeros(len(rows), bool)
    called, left = (
        probability * prices.values(positive, each) + (1 - probability) * prices.values(negative, each)
        for each in (positive, negative)
    )
    np.testing.assert_allclose(prices.expected_savings(probability), called - left, atol=1e-9)
    clear = np.abs(called - left) > 1e-9  # rounding decides a draw
    np.testing.assert_array_equal((probability > prices.thresholds)[clear], (called > left)[clear])
    assert not (probability > prices.thresholds)[prices.cost_fp + prices.stakes == 0].any()


def test_money_by_hand():
    positive = np.array([True, True, False, False])
    prices = RowPrices.from_values(4, cost_fp=2, cost_fn=[10, 20, 30, 40], benefit_tp=1)
    predicted = np.array([True, False, True, False])
    np.testing.assert_array_equal(prices.values(positive, predicted), [1, -20, -2, 0])
    found = estimate_savings(prices, positive, predicted)
    assert (found.total, found.total_of_none, found.total_of_all) == (-21, -30, -2)
    assert found.saving == -19
    assert found.baseline == "calling every row positive"
    assert (found.n_rows, found.n_predicted) == (4, 2)
    assert prices.measure.score(positive, np.where(predicted, 1.0, -1.0)) == pytest.approx(-21 / 4)
    doubled = estimate_savings(prices, positive, predicted, np.full(4, 2.0))
    assert doubled.total == -42


def test_the_interval_holds_the_mean_saving_of_new_samples():
    rng = np.random.default_rng(0)
    totals, inside = 0.0, 0
    amounts, y, guess = rng.exponential(50, 10_000), rng.random(10_000) < 0.3, rng.random(10_000) < 0.5
    predicted = np.where(rng.random(10_000) < 0.6, y, guess)
    prices = RowPrices.from_values(10_000, cost_fp=5, cost_fn=amounts)
    expected = estimate_savings(prices, y, predicted).saving / 50
    for sample in rng.permutation(10_000).reshape(50, 200):
        found = estimate_savings(prices.take_rows(sample), y[sample], predicted[sample])
        inside += found.low <= expected <= found.high
        totals += found.saving
    assert totals / 50 == pytest.approx(expected, rel=0.1)
    assert inside >= 42


@pytest.mark.parametrize(
    ("prices", "message"),
    [
        (
            {"cost_fn": [1.0, -2.0, 3.0]},
            "cost_fn must be finite and not negative: 1 of 3 rows .* row 1 with -2",
        ),
        (
            {"cost_fp": [1.0, np.nan, 3.0]},
            "cost_fp must be finite .* row 1 with nan. .* fill in missing ones",
        ),
        ({"benefit_tp": np.inf}, "benefit_tp must be finite"),
        ({"cost_fn": [1.0, 2.0]}, r"cost_fn must be .* one number per row: got shape \(2,\) for 3 rows"),
        ({"cost_fn": ["a", "b", "c"]}, "cost_fn must be a number or one number per row: got"),
    ],
)
def test_invalid_prices_are_refused_by_name(prices, message):
    with pytest.raises(InvalidInputError, match=message):
        RowPrices.from_values(3, **prices)


def test_terms_keep_numbers_and_ask_for_prices_of_each_row():
    terms = PriceTerms.from_values({"cost_fp": 5, "cost_fn": [1.0, 2.0], "benefit_tp": 0})
    assert str(terms) == "cost_fp 5, cost_fn of each row"
    assert terms.complete({"cost_fn": [4, 6]}, "pass it")["cost_fp"] == 5
    with pytest.raises(InvalidInputError, match="cost_fn is missing: pass it"):
        terms.complete({"cost_fp": 4.0, "cost_fn": None}, "pass it")


@given(st.integers(0, 10_000))
def test_asking_is_decided_where_it_costs_least(seed):
    """By brute force over the three decisions of each row, also with prices of 0."""
    rng = np.random.default_rng(seed)
    prices = RowPrices.from_values(
        50,
        **{
            name: rng.integers(0, 6, 50) * rng.random()
            for name in ("cost_fp", "cost_fn", "benefit_tp", "cost_ask")
        },
    )
    log_odds = rng.normal(size=50) * 3
    p = 1 / (1 + np.exp(-log_odds))
    decided = prices.decide(log_odds)
    expected = np.array(
        [
            p * prices.values(np.ones(50, bool), each) + (1 - p) * prices.values(np.zeros(50, bool), each)
            for each in np.repeat([[0], [1], [2]], 50, axis=1)
        ]
    )
    by_hand = [-p * prices.cost_fn, p * prices.benefit_tp - prices.cost_ask]
    by_hand.append(p * prices.benefit_tp - (1 - p) * prices.cost_fp)
    np.testing.assert_allclose(expected, by_hand, atol=1e-12)
    np.testing.assert_allclose(expected[decided, np.arange(50)], expected.max(axis=0), atol=1e-9)


def test_savings_are_compared_with_asking_about_every_row():
    positive = np.tile([True, False], 100)
    prices = RowPrices.from_values(200, cost_fp=10, cost_fn=10, cost_ask=2)
    decided = np.tile([1, 0], 100)
    found = estimate_savings(prices, positive, decided)
    assert (found.total, found.total_of_asking, found.n_asked, found.n_predicted) == (-200, -400, 100, 0)
    assert found.saving == 200
    assert "compared with asking about every row" in str(found)
    assert "asks about 100 of them" in str(found)
