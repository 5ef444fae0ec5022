"""Prices of each row on the command line."""

import json
import re

import numpy as np
import polars as pl
import pytest

from capo.decisions import format_money

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


def test_the_report_tells_the_savings_and_has_no_slider(priced, capsys):
    pytest.importorskip("jinja2")
    page = priced / "r.html"
    assert run(capsys, "report", priced / "m.capo", priced / "test.csv", "-o", page)[0] == 0
    text = page.read_text()
    assert "slider" not in re.sub("so that this page has no slider", "", text.split("</style>")[1])
    assert "<script" not in text
    found = json.loads(run(capsys, "evaluate", priced / "m.capo", priced / "test.csv", "--json")[1])
    savings = found["savings"]
    low, high = (format_money(savings[end]).replace("-", "\N{MINUS SIGN}") for end in ("low", "high"))
    assert f'<span class="headline-value">{format_money(savings["saving"])}</span>' in text
    assert f"95% bootstrap interval: {low} to {high}, compared with calling" in text
    for total in (savings["total"], savings["total_of_none"]):
        assert f"\N{MINUS SIGN}{format_money(-total)}</td>" in text
    rows = pl.read_csv(priced / "test.csv")
    labels = predictions(run(capsys, "predict", priced / "m.capo", priced / "test.csv", "-q")[1])["label"]
    missed = rows.filter((pl.col("y") == "yes") & (labels == "no"))["amount"]
    assert text.index(f"{format_money(missed.max())}</td>") > text.index("errors cost the most")


def test_the_report_of_a_table_without_prices_has_one_threshold_and_a_note(priced, capsys):
    pytest.importorskip("jinja2")
    page = priced / "u.html"
    assert run(capsys, "report", priced / "m.capo", priced / "unknown.csv", "-o", page)[0] == 0
    text = page.read_text()
    assert "The table has no column" in text
    assert 'id="slider"' in text


def test_methods_are_compared_by_the_money_of_held_out_rows(priced, capsys):
    columns = ("-t", "y", "--drop", "id", "--cost-fn", "amount", "--cost-fp", "8", "--folds", "2")
    output = priced / "comparison.json"
    fast = [each for each in FAST if each not in ("--folds", "2")]
    code, out, _ = run(capsys, "compare", priced / "train.csv", *columns, *fast, "-o", output)
    assert code == 0
    assert "mean money per held-out row" in out
    assert "cost(cost_fp=8.0" in out
    found = json.loads(output.read_text())
    rows = pl.read_csv(priced / "train.csv")
    missed = rows.filter(pl.col("y") == "yes")["amount"].sum() / len(rows)
    values = {each["name"]: each["value"] for each in found["methods"]}
    assert values["capo"] > -missed
    assert all(-100 < value < 0 for value in values.values())


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
    assert "--benefit-tp are for targets and measures of two classes" in err


def test_a_negative_price_is_refused_in_prediction(priced, capsys):
    code, _, err = run(capsys, "predict", priced / "m.capo", priced / "negative.csv")
    assert code == 2
    assert "row 1 contains '-1.0'" in err


def test_a_guarantee_takes_the_place_of_the_prices(priced, capsys):
    output = priced / "promised.capo"
    arguments = (priced / "m.capo", priced / "test.csv", "--promise", "recall >= 0.3", "-o", output)
    assert run(capsys, "guarantee", *arguments)[0] == 0
    found = predictions(run(capsys, "predict", output, priced / "test.csv", "-q")[1])
    assert found["threshold"].n_unique() == 1
    assert "expected_saving" not in found.columns
    assert "that of each row at its prices" not in run(capsys, "show", output)[1]
    assert "guarantee was chosen on these rows" in run(capsys, "evaluate", output, priced / "test.csv")[2]
    refit = run(capsys, "refit", output, priced / "test.csv", "-o", priced / "refitted.capo")
    assert "note: the guarantee of the old model does not hold for the refitted one" in refit[2]


def test_a_refit_keeps_the_columns_of_the_prices(priced, capsys):
    output = priced / "refit.capo"
    assert run(capsys, "refit", priced / "m.capo", priced / "test.csv", "-o", output)[0] == 0
    found = predictions(run(capsys, "predict", output, priced / "test.csv", "-q")[1])
    assert found["threshold"].n_unique() > 100


def test_a_price_of_asking(priced, capsys):
    place = priced
    columns = (
        "-t",
        "y",
        "--id",
        "id",
        "--drop",
        "amount",
        "--cost-fn",
        "amount",
        "--cost-fp",
        "8",
        "--cost-ask",
        "3",
    )
    code, out, _ = run(capsys, "fit", place / "train.csv", *columns, *FAST, "-o", place / "asks.capo")
    assert code == 0
    assert re.search(r"asks about \d+ of them", out)
    found = predictions(run(capsys, "predict", place / "asks.capo", place / "test.csv", "-q")[1])
    amount, p = pl.read_csv(place / "test.csv")["amount"].to_numpy(), found["score"].to_numpy()
    losses = np.column_stack((p * amount, np.full(len(p), 3.0), (1 - p) * 8))
    best = np.array(["no", "ask", "yes"])[losses.argmin(axis=1)]
    np.testing.assert_array_equal(found["label"].to_numpy(), best)
    code, out, _ = run(capsys, "evaluate", place / "asks.capo", place / "test.csv")
    assert code == 0
    assert f"asks about {(best == 'ask').sum()} of them" in out
    report = ("report", place / "asks.capo", place / "test.csv", "--no-explain", "-o", place / "asks.html")
    assert run(capsys, *report)[0] == 0
    assert "asking about every row" in (place / "asks.html").read_text()
