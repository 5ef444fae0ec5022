"""CAPOClassifier with prices of each row."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, TimeSeriesSplit, cross_validate
from sklearn.naive_bayes import GaussianNB

import capo
from capo import CAPOClassifier, measures
from capo.decisions import RowPrices
from capo.exceptions import DataWarning, InvalidInputError
from capo.inspection import compare, evaluate

RNG = np.random.default_rng(0)
N = 1000
X = RNG.normal(size=(N, 3))
Y = RNG.random(N) < 1 / (1 + np.exp(2 - 1.5 * X[:, 0]))
AMOUNT = np.exp(RNG.normal(3, 1.5, size=N))
TRAIN, TEST = slice(600), slice(600, N)


def light(measure="cost", **params):
    return CAPOClassifier(measure, auxiliaries=[LogisticRegression()], delta=None, random_state=0, **params)


@pytest.fixture(scope="module")
def model():
    return light().fit(X[TRAIN], Y[TRAIN], cost_fp=5, cost_fn=AMOUNT[TRAIN])


def test_a_row_is_positive_where_that_saves_money_in_expectation(model):
    probability = model.predict_proba(X[TEST])[:, 1]
    saving = probability * AMOUNT[TEST] - (1 - probability) * 5
    np.testing.assert_array_equal(model.predict(X[TEST], cost_fn=AMOUNT[TEST]), saving > 0)
    again = model.predict(X[TEST], cost_fn=AMOUNT[TEST], cost_fp=50)
    np.testing.assert_array_equal(again, probability * AMOUNT[TEST] > (1 - probability) * 50)


def test_thresholds_of_rows_save_more_than_one_threshold(model):
    with pytest.warns(DataWarning, match="one threshold"):
        constant = model.predict(X[TEST])
    prices = RowPrices.from_values(N - 600, cost_fp=5, cost_fn=AMOUNT[TEST])
    found = model.savings(X[TEST], Y[TEST], cost_fn=AMOUNT[TEST])
    assert found.total > prices.values(Y[TEST], constant).sum()
    assert found.low > 0
    score = model.score(X[TEST], Y[TEST], cost_fn=AMOUNT[TEST])
    assert score == pytest.approx(found.total / (N - 600))


def test_the_out_of_fold_value_is_that_of_the_out_of_fold_decisions(model):
    predicted = model.oof_decision_ > model.oof_thresholds_
    prices = RowPrices.from_values(600, cost_fp=5, cost_fn=AMOUNT[TRAIN])
    money = prices.values(Y[TRAIN], predicted)
    assert model.score_ == pytest.approx(money.mean())
    assert model.savings_.total == pytest.approx(money.sum())
    assert "cost_fn of each row" in str(model.summary())
    assert "saves" in model.summary().notes["savings"]


def test_labels_of_noise_promise_no_savings():
    """Out of fold, neither the calibration nor a threshold may have seen the row."""
    savings = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        y = rng.random(300) < 0.3
        fitted = light().fit(rng.normal(size=(300, 3)), y, cost_fp=20, cost_fn=rng.exponential(40, 300))
        savings.append(fitted.savings_.saving - _best_constant_rule(fitted, rng))
    assert np.mean(savings) < 2 * np.std(savings) / np.sqrt(8)


def _best_constant_rule(fitted, rng):
    """What the true probability, the same in all rows, saves on the same rows."""
    rng = np.random.default_rng(rng.bit_generator.seed_seq.entropy)
    y = rng.random(300) < 0.3
    rng.normal(size=(300, 3))
    prices = RowPrices.from_values(300, cost_fp=20, cost_fn=rng.exponential(40, 300))
    total = prices.values(y, prices.expected_savings(np.full(300, 0.3)) > 0).sum()
    return total - max(fitted.savings_.total_of_none, fitted.savings_.total_of_all)


def test_prices_go_through_metadata_routing_and_cross_validation():
    with config_context(enable_metadata_routing=True):
        routed = light().set_fit_request(cost_fn=True).set_score_request(cost_fn=True)
        found = cross_validate(routed, X, Y, params={"cost_fn": AMOUNT}, cv=2, return_estimator=True)
    assert all(each.prices_.per_row == ("cost_fn",) for each in found["estimator"])
    assert all(each.savings_.n_rows == N // 2 for each in found["estimator"])
    assert (found["test_score"] > -AMOUNT[Y].sum() / N).all()


def test_numbers_for_all_rows_are_the_measure_cost():
    priced = light(C=0.0).fit(X[TRAIN], Y[TRAIN], cost_fp=5, cost_fn=40)
    plain = light(measures.get("cost", cost_fp=5.0, cost_fn=40.0), C=0.0).fit(X[TRAIN], Y[TRAIN])
    assert priced.threshold_ == plain.threshold_
    np.testing.assert_array_equal(priced.predict(X[TEST]), plain.predict(X[TEST]))
    assert priced.savings_.total == pytest.approx(600 * plain.score_)


def test_rows_that_are_never_held_out_have_prices_too():
    fitted = light(cv=TimeSeriesSplit(3)).fit(X[TRAIN], Y[TRAIN], cost_fn=AMOUNT[TRAIN])
    held_out = ~np.isnan(fitted.oof_decision_)
    predicted = (fitted.oof_decision_ > fitted.oof_thresholds_)[held_out]
    prices = RowPrices.from_values(600, cost_fn=AMOUNT[TRAIN]).take_rows(held_out)
    assert fitted.savings_.total == pytest.approx(prices.values(Y[TRAIN][held_out], predicted).sum())


def test_the_smaller_label_can_be_the_positive_one():
    y = np.where(Y, "bad", "good")
    fitted = light(pos_label="bad").fit(X[TRAIN], y[TRAIN], cost_fp=5, cost_fn=AMOUNT[TRAIN])
    reference = light().fit(X[TRAIN], Y[TRAIN], cost_fp=5, cost_fn=AMOUNT[TRAIN])
    found = fitted.predict(X[TEST], cost_fn=AMOUNT[TEST]) == "bad"
    np.testing.assert_array_equal(found, reference.predict(X[TEST], cost_fn=AMOUNT[TEST]))
    assert fitted.savings(X[TEST], y[TEST], cost_fn=AMOUNT[TEST]).saving > 0


def test_a_model_file_keeps_prices_and_savings(model, tmp_path):
    pytest.importorskip("skops")
    capo.save(model, tmp_path / "m.capo")
    loaded = capo.load(tmp_path / "m.capo")
    assert (loaded.prices_, loaded.savings_) == (model.prices_, model.savings_)
    expected = model.predict(X[TEST], cost_fn=AMOUNT[TEST])
    np.testing.assert_array_equal(loaded.predict(X[TEST], cost_fn=AMOUNT[TEST]), expected)


def test_another_population_keeps_the_prices(model):
    rare = model.for_population(prevalence=0.02)
    assert rare.predict(X[TEST], cost_fn=AMOUNT[TEST]).sum() < model.predict(X, cost_fn=AMOUNT)[TEST].sum()


def test_a_guarantee_and_prices_exclude_each_other(model):
    promised = model.guarantee(X[TEST], Y[TEST], "recall >= 0.1")
    promised.predict(X[TEST])
    with pytest.raises(InvalidInputError, match="guarantee of this model holds for one threshold"):
        promised.predict(X[TEST], cost_fn=AMOUNT[TEST])


def test_what_does_not_fit_together_is_refused(model):
    x, y, amount = X[:60], Y[:60], AMOUNT[:60]
    with pytest.raises(InvalidInputError, match="prices are for the measure 'cost': got f1"):
        light("f1").fit(x, y, cost_fn=amount)
    with pytest.raises(InvalidInputError, match="leave threshold at 'auto'"):
        light(threshold=0.3).fit(x, y, cost_fn=amount)
    with pytest.raises(InvalidInputError, match="prices of each row need two classes"):
        CAPOClassifier("f1_macro").fit(x, np.arange(60) % 3, cost_fn=amount)
    with pytest.raises(InvalidInputError, match="to fit only, not to the measure as well"):
        light(measures.get("cost", cost_fn=amount)).fit(x, y, cost_fp=amount)
    with pytest.raises(InvalidInputError, match=r"got shape \(59,\) for 60 rows"):
        light().fit(x, y, cost_fn=amount[1:])
    with pytest.raises(InvalidInputError, match=r"got shape \(3,\) for 60 rows"):
        model.predict(x, cost_fn=amount[:3])
    with pytest.raises(InvalidInputError, match="savings need the prices"):
        model.savings(x, y)
    plain = CAPOClassifier(auxiliaries=[GaussianNB()], delta=None).fit(x, y)
    with pytest.raises(InvalidInputError, match="trained without prices of each row"):
        plain.predict(x, cost_fn=amount)


def test_mean_prices_count_the_weights_of_rows():
    weight = np.where(np.arange(200) < 50, 0.0, 2.0)
    amount = np.where(weight == 0, 1000.0, AMOUNT[:200])
    fitted = light().fit(X[:200], Y[:200], weight, cost_fp=5, cost_fn=amount)
    assert fitted.measure_.cost_fn == pytest.approx(AMOUNT[50:200].mean(), rel=1e-5)


def test_groups_without_a_name_are_refused_in_savings(model):
    groups = np.where(np.arange(N - 600) < 3, np.nan, 1.0)
    with pytest.raises(InvalidInputError, match="groups has missing values, in 3 of 400 rows"):
        model.savings(X[TEST], Y[TEST], cost_fn=AMOUNT[TEST], groups=groups)


def test_rows_with_nothing_at_stake_are_negative_and_no_error():
    free = light().fit(X[TRAIN], Y[TRAIN], cost_fp=AMOUNT[TRAIN], cost_fn=AMOUNT[TRAIN])
    assert not free.predict(X[:2], cost_fp=[0.0, 0.0], cost_fn=[0.0, 0.0]).any()
    with pytest.raises(InvalidInputError, match="all prices are 0"):
        light().fit(X[TRAIN], Y[TRAIN], cost_fp=0, cost_fn=np.zeros(600))


def test_a_comparison_has_the_prices_of_the_held_out_rows():
    folds, prices = KFold(2), {"cost_fn": AMOUNT}
    unfitted = light(measures.get("cost", cost_fp=5))  # the price that is not given is that of the measure
    found = compare(unfitted, X, Y, folds=folds, prices=prices)
    values = {each.name: each.values for each in found.methods}
    expected, at_half = [], []
    for train, test in folds.split(X):
        fitted = light().fit(X[train], Y[train], cost_fp=5, cost_fn=AMOUNT[train])
        expected.append(fitted.score(X[test], Y[test], cost_fn=AMOUNT[test]))
        learner = LogisticRegression().fit(X[train], Y[train])
        predicted = learner.predict_proba(X[test])[:, 1] > 0.5
        held_out = RowPrices.from_values(len(test), cost_fp=5, cost_fn=AMOUNT[test])
        at_half.append(held_out.values(Y[test], predicted).mean())
    np.testing.assert_allclose(values["capo"], expected)
    np.testing.assert_allclose(values["default learner"], at_half)
    assert found.difference(light().fit(X, Y, cost_fp=5, cost_fn=AMOUNT)) == ""
    assert "mean money per held-out row" in str(found)
    with pytest.raises(InvalidInputError, match="prices are for the measure 'cost'"):
        compare(light("f1"), X, Y, folds=folds, prices=prices)


def test_prices_that_were_numbers_need_not_be_given_for_savings():
    constant = light().fit(X[TRAIN], Y[TRAIN], cost_fp=5, cost_fn=20)
    test = X[TEST], Y[TEST]
    assert constant.savings(*test) == constant.savings(*test, cost_fp=5, cost_fn=20)


@pytest.mark.parametrize(
    ("rows", "weight", "message"),
    [
        (slice(600, 610), None, "X has 400 rows, but y has 10"),
        (TEST, np.ones(10), "sample_weight"),
        (TEST, np.full(400, -1.0), "Negative values in data passed to `sample_weight`"),
    ],
)
def test_savings_need_one_label_and_one_weight_per_row(model, rows, weight, message):
    with pytest.raises(ValueError, match=message):
        model.savings(X[TEST], Y[rows], weight, cost_fn=AMOUNT[TEST])


@pytest.mark.parametrize("cost_ask", [2, AMOUNT / 20])
def test_rows_are_asked_about_where_that_costs_least(cost_ask, tmp_path):
    """By the expected money of each of the three decisions."""
    of_rows = np.broadcast_to(cost_ask, N)
    asking = light().fit(
        X[TRAIN],
        Y[TRAIN],
        cost_fp=5,
        cost_fn=AMOUNT[TRAIN],
        cost_ask=cost_ask if np.ndim(cost_ask) == 0 else cost_ask[TRAIN],
    )
    given = {"cost_fn": AMOUNT[TEST]} | ({"cost_ask": of_rows[TEST]} if np.ndim(cost_ask) else {})
    predicted, p = asking.predict(X[TEST], **given), asking.predict_proba(X[TEST])[:, 1]
    losses = np.column_stack((p * AMOUNT[TEST], of_rows[TEST], (1 - p) * 5))
    assert set(predicted.tolist()) == {False, "ask", True}
    np.testing.assert_array_equal(
        predicted, np.array([False, "ask", True], dtype=object)[losses.argmin(axis=1)]
    )
    money = np.where(predicted == "ask", -of_rows[TEST], 0.0)
    money -= np.where((predicted == True) & ~Y[TEST], 5, 0)  # noqa: E712
    money -= np.where((predicted == False) & Y[TEST], AMOUNT[TEST], 0)  # noqa: E712
    found = asking.savings(X[TEST], Y[TEST], **given)
    assert found.total == pytest.approx(money.sum())
    assert found.n_asked == (predicted == "ask").sum()
    assert asking.score(X[TEST], Y[TEST], **given) == pytest.approx(money.mean())
    assert asking.savings_.n_asked > 0
    assert "cost_ask" in asking.summary().notes["prices"]
    assert "'ask'" in asking.summary().notes["threshold"]
    capo.save(asking, tmp_path / "m.capo")
    np.testing.assert_array_equal(capo.load(tmp_path / "m.capo").predict(X[TEST], **given), predicted)
    outputs, prices = asking.positive_decision(X[TEST]), asking.row_prices(N - 600, **given)
    evaluation = evaluate(asking, Y[TEST], outputs, prices=prices, random_state=0)
    assert evaluation.savings.total == pytest.approx(money.sum())
    assert f"{found.n_asked} rows that get no label" in evaluation.caution


def test_prices_that_are_numbers_ask_without_being_given_again():
    asking = light().fit(X[TRAIN], Y[TRAIN], cost_fp=5, cost_fn=20, cost_ask=2)
    predicted, p = asking.predict(X[TEST]), asking.predict_proba(X[TEST])[:, 1]
    np.testing.assert_array_equal(predicted == "ask", (p > 0.1) & (p < 0.6))
    assert asking.answers_.tolist() == [False, "ask", True]
    cheap = asking.predict(X[TEST], cost_ask=0.5)
    assert (cheap == "ask").sum() > (predicted == "ask").sum()
    assert asking.savings(X[TEST], Y[TEST]).n_asked == (predicted == "ask").sum()
    labels = np.where(Y[TRAIN], "ask", "no")
    with pytest.raises(
        InvalidInputError, match="'ask' is predicted for rows to ask about: rename this label"
    ):
        light().fit(X[TRAIN], labels, cost_fp=5, cost_ask=2)
