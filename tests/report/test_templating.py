"""Numbers and names as text of the page."""

import importlib
import sys

import numpy as np
import pytest

pytest.importorskip("jinja2")

from capo.exceptions import MissingExtraError
from capo.report import _templating


def test_names_break_between_words():
    for name, expected in [
        ("recall_at_precision(floor=0.95), best", "recall_|at_|precision|(floor=0.95), best"),
        ("averageAmountLast30Days", "average|Amount|Last30|Days"),
        ("stack (C = 0)", "stack (C = 0)"),
        ("train.csv 0.25", "train.|csv 0.25"),
        ("x" * 60, f"{'x' * 24}|{'x' * 24}|{'x' * 12}"),
        ("a sentence of many words and no break inside", "a sentence of many words and no break inside"),
    ]:
        assert _templating.allow_breaks(name).replace("<wbr>", "|") == expected
        assert "".join(_templating.allow_breaks(name).split("<wbr>")) == name


def test_numbers_are_formatted():
    numbers = (0.12345, -0.0001, 12.34, -1234.5, np.inf, 1e6, 123456.789, -2.5e12)
    assert [_templating.format_number(each) for each in numbers] == [
        *("0.123", "0.000", "12.3", "\N{MINUS SIGN}1,234", "n/a"),
        *("1,000,000", "123,457", "\N{MINUS SIGN}2.5e12"),
    ]
    assert [_templating.format_number(each, sign="+") for each in (0.5, -12345.678)] == [
        "+0.500",
        "\N{MINUS SIGN}12,346",
    ]
    probabilities = (0.5, 0.0123, 0.99995, 0.0, 1.0, 1e-30)
    assert [_templating.format_threshold(each) for each in probabilities] == [
        "0.500",
        "0.0123",
        "0.99995",
        "0",
        "1",
        "0",
    ]


def test_without_jinja2_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.delitem(sys.modules, "capo.report._templating")
    with pytest.raises(MissingExtraError, match=r"capo-learn\[report\]"):
        importlib.import_module("capo.report._templating")
