"""The page on a model with prices of each row."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from capo import CAPOClassifier
from capo.decisions import estimate_savings, format_money
from capo.exceptions import InvalidInputError

from .cases import LABELS, TEST, TRAIN, X
from .test_page import ParsedPage

pytest.importorskip("jinja2")

from capo.report import render_report

AMOUNT = X[:, 3]


@pytest.fixture(scope="module")
def priced():
    model = CAPOClassifier("cost", auxiliaries=[GaussianNB()], delta=None, random_state=0)
    model.fit(X[TRAIN], LABELS[TRAIN], cost_fp=300, cost_fn=AMOUNT[TRAIN])
    prices = model.row_prices(len(LABELS[TEST]), cost_fn=AMOUNT[TEST])
    return model, LABELS[TEST] == 1, model.positive_decision(X[TEST]), prices


def render(model, positive, decision, prices, **options):
    return render_report(model, positive, decision, prices=prices, **options)


def test_the_page_tells_the_money_of_each_way_to_decide(priced):
    model, positive, decision, prices = priced
    text = ParsedPage(render(*priced, table_name="cells")).text
    by_row = model.predict(X[TEST], cost_fn=AMOUNT[TEST]) == 1
    found = estimate_savings(prices, positive, by_row)
    assert f"saving on cells {format_money(found.saving)}" in text
    assert f"{format_money(found.low)} to {format_money(found.high)}, compared with {found.baseline}" in text
    for predicted in (by_row, decision > 0, np.zeros(len(positive), bool), np.ones(len(positive), bool)):
        total = format_money(prices.values(positive, predicted).sum()).replace("-", "\N{MINUS SIGN}")
        assert f" {int(predicted.sum())} {total} " in text


def test_the_costliest_errors_are_listed_with_their_losses(priced):
    model, positive, _, prices = priced
    by_row = model.predict(X[TEST], cost_fn=AMOUNT[TEST]) == 1
    text = ParsedPage(render(*priced)).text
    worst = int(np.argmax(prices.losses(positive, by_row)))
    errors = text[text.index("cost the most") :]
    assert errors.index(format_money(prices.losses(positive, by_row)[worst])) < errors.index("Training")


def test_weights_count_rows_several_times(priced):
    model, positive, _, prices = priced
    twice = ParsedPage(render(*priced, sample_weight=np.full(len(positive), 2.0))).text
    by_row = model.predict(X[TEST], cost_fn=AMOUNT[TEST]) == 1
    total = format_money(2 * prices.values(positive, by_row).sum()).replace("-", "\N{MINUS SIGN}")
    assert f" {2 * int(by_row.sum())} {total} " in twice


def test_prices_of_other_rows_are_refused(priced):
    model, positive, decision, prices = priced
    with pytest.raises(InvalidInputError, match="prices has 5 rows, but the table has"):
        render(model, positive, decision, prices.take_rows(np.arange(5)))
