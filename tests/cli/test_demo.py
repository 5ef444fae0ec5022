"""The demo prints what it promises."""

import contextlib
import io
import re

import pytest

from capo.cli import model as commands
from capo.inspection import METHODS


@pytest.fixture(scope="module")
def text():
    with contextlib.redirect_stdout(io.StringIO()) as out:
        commands.demo()
    return out.getvalue()


@pytest.mark.slow
def test_the_table_has_a_line_for_each_measure(text):
    for name in commands.DEMO_MEASURES:
        line = next(line for line in text.splitlines() if line.startswith(name))
        scores = [float(each) for each in re.findall(r"0\.\d{4}", line)]
        assert len(scores) == len(METHODS)
        assert scores[-1] >= scores[0] - 0.01
    assert "CAPOClassifier for f1" in text
