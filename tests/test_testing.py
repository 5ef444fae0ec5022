"""The test kit: it passes what is right and catches what is not."""

import numpy as np
import pytest

from capo import measures
from capo.measures import ConfusionMeasure, Cut
from capo.measures import _search as search
from capo.testing import check_case, check_measure, check_weights


class Careless(ConfusionMeasure):
    """Claims to be convex in tp and concave in fp, and is neither."""

    name = "careless"
    strategy = search.ConvexConcave

    def value(self, tp, fp, fn, tn):
        return np.sqrt(tp / (tp + fn)) * np.sqrt(tn / (tn + fp)) ** 0.2


class Greedy(ConfusionMeasure):
    """Finds a cut that is too good to be true."""

    name = "greedy"

    def value(self, tp, fp, fn, tn):
        return tp / (tp + fn)

    def oracle(self, y, sample_weight=None):
        plain = super().oracle(y, sample_weight)
        return lambda scores: Cut(plain(scores).coef, 2.0)


def test_a_right_measure_passes():
    assert check_measure(measures.get("f1"), n_cases=20) == 20
    assert check_measure(measures.get("average_precision"), n_cases=5, max_rows=4) == 5


@pytest.mark.parametrize("measure", [Careless(), Greedy()])
def test_a_wrong_measure_is_caught_with_the_case_that_shows_it(measure):
    with pytest.raises(AssertionError, match=r"the search found .* brute force .*\nscores="):
        check_measure(measure, n_cases=300, max_rows=7)


def test_wrong_weights_are_caught():
    class Unweighted(type(measures.get("accuracy"))):
        def oracle(self, y, sample_weight=None):
            return super().oracle(y)

    with pytest.raises(AssertionError, match=r"worst value .* with weights, .* with repeated rows"):
        check_weights(Unweighted(), [0.1, -0.4, 0.3], [1, -1, 1], [1, 2, 3])


@pytest.mark.parametrize("rows", [slice(None), [0, 2], [2, 0, 0]])
def test_prices_of_each_row_are_checked_row_by_row(rows):
    prices = {"cost_fp": [1.0, 10.0, 0.5], "cost_fn": [3.0, 2.0, 0.0], "benefit_tp": [0.0, 4.0, 1.5]}
    measure, y = measures.get("cost", **prices).for_rows(rows), np.array([1, -1, -1])[rows]
    check_case(measure, np.array([0.3, 0.2, -0.1])[rows], y)
    called = measure.score(y, np.ones(len(y)))
    fp, benefit = (np.array(prices[name])[rows] for name in ("cost_fp", "benefit_tp"))
    assert called == pytest.approx(np.where(y > 0, benefit, -fp).mean())
