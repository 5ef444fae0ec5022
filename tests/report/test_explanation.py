"""The sections on importance, effects, calibration, errors and the thresholds of the folds."""

import re
from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta

from capo.inspection import worst_errors
from capo.report import _sections, render_report

from .cases import IMPORTANCE, TEST, X, Y, decisions_on_test_rows
from .test_page import ParsedPage


@pytest.fixture(scope="module")
def page():
    decisions = decisions_on_test_rows()
    return ParsedPage(
        render_report(*decisions, importance=IMPORTANCE, errors=worst_errors(decisions[0], X[TEST], Y[TEST]))
    )


def test_the_sections_are_on_the_page(page):
    for heading in ("Which columns matter", "How the strongest columns act", "Calibration", "Worst errors"):
        assert heading in page.text
    assert "2,000 rows, drawn at random" in page.text
    assert "<b>color</b>" in page.text
    assert len(page.ids) == len(set(page.ids))
    assert set(page.references) <= set(page.ids)
    assert "effect-1-chart-title" in page.ids
    assert "effect-3-chart-title" not in page.ids  # amounts of money are a table


def test_a_page_without_importance_lists_errors_without_values():
    text = ParsedPage(render_report(*decisions_on_test_rows())).text
    assert "Which columns matter" not in text
    assert "Worst errors" in text


def test_the_worst_errors_are_the_most_confident_ones():
    model, positive, decision = decisions_on_test_rows()
    errors = worst_errors(model, X[TEST], Y[TEST])
    wrong = np.flatnonzero((decision > 0) != positive)
    assert abs(errors[0].decision) == np.abs(decision[wrong]).max()
    assert all((each.decision > 0) != positive[each.row - 1] for each in errors)
    assert errors[0].values["0"] == f"{X[TEST][errors[0].row - 1, 0]:.4g}"
    table = render_report(model, positive, decision, errors=errors, importance=IMPORTANCE)
    headings = re.findall("<th[^>]*>(.*?)</th>", table.partition('<table id="errors-table"')[2])
    assert headings[3] == "<bdi>2</bdi>"  # the strongest column whose values are known
    assert "Worst errors" not in render_report(model, positive, decision, errors=[])


def test_many_columns_are_cut():
    found = replace(IMPORTANCE, columns=[IMPORTANCE.columns[1]] * 40)
    html = render_report(*decisions_on_test_rows(), importance=found)
    table = html.partition('<table id="importance-table"')[2].partition("</table>")[0]
    assert table.count("<tr>") == 1 + 15
    assert "25 more columns with a smaller loss." in html


def test_bins_of_calibration_hold_all_rows_and_their_shares():
    rng = np.random.default_rng(0)
    probability = rng.random(1000).round(2)
    positive = rng.random(1000) < probability
    bins = _sections.calibration_bins(probability, positive, np.ones(1000))
    assert sum(each.n_rows for each in bins) == 1000
    assert sum(each.n_rows * each.share for each in bins) == pytest.approx(positive.sum())
    inside = [each.low <= each.probability <= each.high for each in bins]
    assert np.mean(inside) >= 0.8
    assert len(_sections.calibration_bins(np.full(50, 0.3), positive[:50], np.ones(50))) == 1
    weight = np.where(positive, 2.0, 1.0)
    weighted = _sections.calibration_bins(probability, positive, weight)
    assert weighted[5].share > bins[5].share


def test_the_intervals_of_calibration_are_those_of_jeffreys():
    for hits, n_rows in ((81, 263), (1, 20)):
        found = _sections.calibration_bins(np.full(n_rows, 0.3), np.arange(n_rows) < hits, np.ones(n_rows))[0]
        expected = beta.ppf((0.025, 0.975), hits + 0.5, n_rows - hits + 0.5)
        assert (found.low, found.high) == pytest.approx(tuple(expected))


def test_the_thresholds_of_the_folds():
    model, positive, decision = decisions_on_test_rows()
    found = _sections.fold_thresholds(model)
    shifts = np.unique(model.oof_thresholds_.round(9))
    assert found == pytest.approx(model.as_probability(shifts).tolist())
    assert found == sorted(found)
    html = render_report(model, positive, decision)
    assert len(re.findall('class="fold-line"', html)) == len(found) + 1  # and one in the legend
    assert _sections.fold_thresholds(decisions_on_test_rows("roc_auc")[0]) == []
    moved = copy(model)
    moved.population_ = object()
    assert _sections.fold_thresholds(moved) == []
