"""Prices of each row on the command line."""

import json

import numpy as np
import polars as pl
import pytest

from .cases import FAST, exit_code, predictions, run, table


@pytest.fixture(scope="module")
def priced(tmp_path_factory):
    """A model for prices in a column, and tables with and without it."""
    place = tmp_path_factory.mktemp("prices")
    amounts = np.random.default_rng(0).exponential(40, 600).round(2)
    rows = table(600).with_columns(amount=amounts)
    rows[:400].write_csv(place / "train.csv")
    rows[400:].write_csv(place / "test.csv")
    rows[400:].drop("amount").write_csv(place / "unknown.csv")
    rows[400:].with_columns(amount=pl.lit(-1.0)).write_csv(place / "negative.csv")
    columns = ("-t", "y", "--id", "id", "--drop", "amount", "--cost-fn", "amount", "--cost-fp", "8")
    assert exit_code("fit", place / "train.csv", *columns, *FAST, "-o", place / "m.capo") == 0
    return place


def test_each_row_has_its_threshold_and_expected_saving(priced, capsys):
    found = predictions(run(capsys, "predict", priced / "m.capo", priced / "test.csv", "-q")[1])
    amount = pl.read_csv(priced / "test.csv")["amount"].to_numpy()
    score, label = found["score"].to_numpy(), found["label"].to_numpy()
    np.testing.assert_allclose(found["threshold"].to_numpy(), 8 / (8 + amount))
    np.testing.assert_allclose(found["expected_saving"].to_numpy(), score * amount - (1 - score) * 8)
    np.testing.assert_array_equal(label == "yes", found["expected_saving"].to_numpy() > 0)


def test_without_the_column_one_threshold_is_used_with_a_note(priced, capsys):
    _, out, err = run(capsys, "predict", priced / "m.capo", priced / "unknown.csv")
    assert "The table has no column 'amount' with prices: one threshold" in err
    found = predictions(out)
    assert found["threshold"].n_unique() == 1
    assert found["expected_saving"].null_count() == len(found)


def test_a_price_that_is_a_feature_is_needed(priced, capsys):
    columns = ("-t", "y", "--id", "id", "--cost-fn", "amount", "--cost-fp", "8")
    assert exit_code("fit", priced / "train.csv", *columns, *FAST, "-q", "-o", priced / "f.capo") == 0
    code, _, err = run(capsys, "predict", priced / "f.capo", priced / "unknown.csv")
    assert code == 2
    assert "lacks 1 column" in err
    assert "one threshold" not in err


def test_rows_are_explained_at_one_threshold_with_a_note(priced, capsys):
    _, _, err = run(capsys, "explain", priced / "m.capo", priced / "unknown.csv", "--row", "1")
    assert "'capo predict' uses the threshold of each row" in err


def test_evaluate_tells_the_savings(priced, capsys):
    _, out, _ = run(capsys, "evaluate", priced / "m.capo", priced / "test.csv", "-q")
    assert "total with the model" in out
    assert "cost(cost_fp=8.0, cost_fn=<200 values>)" in out
    found = json.loads(run(capsys, "evaluate", priced / "m.capo", priced / "test.csv", "--json")[1])
    rows = pl.read_csv(priced / "test.csv")
    missed = rows.filter(pl.col("y") == "yes")["amount"].sum()
    assert found["savings"]["total_of_none"] == pytest.approx(-missed)
    assert found["measures"][0]["value"] == pytest.approx(found["savings"]["total"] / 200)


def test_the_report_of_a_model_with_prices_says_what_it_shows(priced, capsys):
    pytest.importorskip("jinja2")
    page = priced / "r.html"
    assert run(capsys, "report", priced / "m.capo", priced / "test.csv", "-o", page)[0] == 0
    assert "one threshold for all rows and the mean prices of training" in page.read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--cost-fn", "amout"), "there is no column 'amout' for --cost-fn. Did you mean 'amount'?"),
        (("--cost-fn", "-3"), "--cost-fn must be a column or a number of at least 0: got '-3'"),
        (("--cost-fp", "word"), "the prices in 'word' must be numbers of at least 0"),
        (("--cost-fp", "y"), "the target 'y' cannot be a price"),
        (("--cost-fn", "amount", "-m", "f1"), "prices are for the measure 'cost': got f1"),
    ],
)
def test_what_cannot_be_a_price_is_refused(priced, capsys, options, message):
    code, _, err = run(
        capsys, "fit", priced / "train.csv", "-t", "y", *FAST, *options, "-o", priced / "x.capo"
    )
    assert code == 2
    assert message in err


def test_prices_need_two_classes(priced, capsys):
    columns = ("-t", "word", "--cost-fn", "amount")
    code, _, err = run(capsys, "fit", priced / "train.csv", *columns, *FAST, "-o", priced / "x.capo")
    assert code == 2
    assert "--benefit-tp are for targets of two classes" in err


def test_a_negative_price_is_refused_in_prediction(priced, capsys):
    code, _, err = run(capsys, "predict", priced / "m.capo", priced / "negative.csv")
    assert code == 2
    assert "row 1 contains '-1.0'" in err


def test_a_guarantee_takes_the_place_of_the_prices(priced, capsys):
    output = priced / "promised.capo"
    arguments = (priced / "m.capo", priced / "test.csv", "--constraint", "recall >= 0.3", "-o", output)
    assert run(capsys, "guarantee", *arguments)[0] == 0
    found = predictions(run(capsys, "predict", output, priced / "test.csv", "-q")[1])
    assert found["threshold"].n_unique() == 1
    assert "expected_saving" not in found.columns
    assert "that of each row at its prices" not in run(capsys, "show", output)[1]
    assert "guarantee was chosen on these rows" in run(capsys, "evaluate", output, priced / "test.csv")[2]
    refit = run(capsys, "refit", output, priced / "test.csv", "-o", priced / "refitted.capo")
    assert "The guarantee of the old model does not hold for the refitted one" in refit[2]


def test_a_refit_keeps_the_columns_of_the_prices(priced, capsys):
    output = priced / "refit.capo"
    assert run(capsys, "refit", priced / "m.capo", priced / "test.csv", "-o", output)[0] == 0
    found = predictions(run(capsys, "predict", output, priced / "test.csv", "-q")[1])
    assert found["threshold"].n_unique() > 100
