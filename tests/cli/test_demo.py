"""The demo prints what it promises."""

import contextlib
import io
import re
import time

import numpy as np
import pytest

from capo import measures
from capo.cli import model as commands
from capo.inspection import METHODS


@pytest.fixture(scope="module")
def text():
    with contextlib.redirect_stdout(io.StringIO()) as out:
        commands.demo()
    return out.getvalue()


@pytest.fixture(scope="module")
def adapted_rule():
    """The second part on its own, and the CPU seconds that it took."""
    start = time.process_time()
    return commands.adapt_rule(*commands.split_digits(0)), time.process_time() - start


@pytest.mark.slow
def test_the_table_has_a_line_for_each_measure(text):
    for name in commands.DEMO_MEASURES:
        line = next(line for line in text.splitlines() if line.startswith(name))
        scores = [float(each) for each in re.findall(r"0\.\d{4}", line)]
        assert len(scores) == len(METHODS)
        assert scores[-1] >= scores[0] - 0.01
    assert "CAPOClassifier for f1" in text


@pytest.mark.slow
def test_the_parts_are_in_order(text, adapted_rule):
    assert text.index("measure  ") < text.index(adapted_rule[0]) < text.index("capo compare table.csv")


def test_the_adapted_rule_is_fast(adapted_rule):
    assert adapted_rule[1] < 10


def test_the_adapted_rule_is_better_than_the_rule_alone(adapted_rule):
    _, X_test, _, y_test = commands.split_digits(0)
    pattern = r"^f1 on ([\d,]+) test rows: rule alone (\S+), adapted (\S+)$"
    line = re.search(pattern, adapted_rule[0], re.MULTILINE)
    n_rows, alone, adapted = (float(each.replace(",", "")) for each in line.groups())
    expected = measures.get("f1").score(y_test, commands.TwoPixelRule().predict(X_test) - 0.5)
    assert n_rows == len(y_test)
    assert alone == pytest.approx(expected, abs=1e-4)
    assert adapted > alone + 0.4


def test_the_path_shows_that_a_positive_C_is_chosen(adapted_rule):
    path = re.findall(r"^ *(\S+) +(0\.\d{4})(.*)$", adapted_rule[0], re.MULTILINE)
    C, scores, remarks = zip(*path, strict=True)
    assert [float(each) for each in C] == sorted(float(each) for each in C)
    assert C[0] == "0"
    assert remarks[0].strip() == "rule without delta function"
    chosen = [i for i, remark in enumerate(remarks) if "chosen" in remark]
    assert chosen == [int(np.argmax([float(each) for each in scores]))]
    assert float(C[chosen[0]]) > 0


def test_the_certificate_is_consistent(adapted_rule):
    line = re.search(r"^certificate: primal (\S+), dual (\S+), gap (\S+)$", adapted_rule[0], re.MULTILINE)
    primal, dual, gap = map(float, line.groups())
    assert primal - dual == pytest.approx(gap, rel=0.05)
    assert 0 < gap < 0.05 * primal
