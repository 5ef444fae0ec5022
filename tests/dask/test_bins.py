"""Scores in bins: R lies between the two bounds, whatever the measure, the scores and the edges are."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capo import measures
from capo.dask import _adaptation as adaptation
from capo.exceptions import ExhaustiveSearchWarning
from capo.measures import ClassTotals, Labels

from ..cases import ALL_MEASURES, problems

edge_lists = st.lists(st.sampled_from([-2.5, -1.0, -0.25, 0.0, 0.5, 1.0]), unique=True)


def risk(measure, labels, scores):
    return measure.oracle_for(labels)(scores).value(scores)


def lower_bound(cut, bins):
    """The value of a cut, whose coefficients are those of bins, at the scores in them."""
    return cut.loss - np.sum(cut.coef * bins.total)


@pytest.mark.parametrize("measure", ALL_MEASURES, ids=lambda measure: measure.label)
@settings(max_examples=10)
@given(problem=problems(9), edges=edge_lists)
def test_the_bounds_hold_and_the_cut_is_valid(measure, problem, edges):
    scores, y = problem
    measure, labels, edges = measure.for_training(), Labels.from_arrays(y), np.sort(edges)
    bins = adaptation.ScoreBins.from_rows(adaptation.ScoredRows(scores, labels.positive), edges)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExhaustiveSearchWarning)
        cut, shares = adaptation.bound_risk(measure, ClassTotals.from_labels(labels), bins)
        lower, value = lower_bound(cut, bins), risk(measure, labels, scores)
        assert lower - 1e-9 <= value <= lower + cut.error + 1e-9
        assert cut.error <= shares.sum() + 1e-9
        coef = cut.coef[labels.positive.astype(int), np.searchsorted(edges, scores)]
        assert cut.loss - coef @ scores == pytest.approx(lower, abs=1e-9)
        for other in (scores[::-1], scores + np.linspace(-1, 1, len(scores)), np.zeros(len(scores))):
            assert cut.loss - coef @ other <= risk(measure, labels, other.copy()) + 1e-9


@pytest.mark.parametrize("name", ["f1", "kld", "prbep", "roc_auc", "partial_auc", "average_precision"])
@settings(max_examples=10)
@given(problem=problems(9), edges=edge_lists, seed=st.integers(0, 9))
def test_the_bounds_hold_with_weights(name, problem, edges, seed):
    scores, y = problem
    weight = np.random.default_rng(seed).uniform(0.1, 3.0, len(y))
    measure, labels = measures.get(name), Labels.from_arrays(y, weight)
    bins = adaptation.ScoreBins.from_rows(
        adaptation.ScoredRows(scores, labels.positive, weight), np.sort(edges)
    )
    cut, _ = adaptation.bound_risk(measure, ClassTotals.from_labels(labels), bins)
    lower = lower_bound(cut, bins)
    assert lower - 1e-9 <= risk(measure, labels, scores) <= lower + cut.error + 1e-9


@pytest.mark.parametrize("name", measures.names())
def test_bins_are_divided_until_the_bounds_meet(name):
    rng = np.random.default_rng(0)
    y = rng.random(3000) < 0.2
    scores = np.round(rng.normal(y.astype(float), 2.0), 3)  # some scores are tied
    scores[:3] = 1e6, -1e5, 300.0  # far from the others
    measure, labels, edges = measures.get(name).for_training(), Labels.from_arrays(y), np.zeros(1)
    for _ in range(8):
        bins = adaptation.ScoreBins.from_rows(adaptation.ScoredRows(scores, y), edges)
        cut, shares = adaptation.bound_risk(measure, ClassTotals.from_labels(labels), bins)
        if cut.error <= 1e-6:
            break
        edges = adaptation.split_bins(edges, bins, shares, 1024)
    assert cut.error <= 1e-6
    assert lower_bound(cut, bins) == pytest.approx(risk(measure, labels, scores), abs=1e-6)
    # The edges for the next scores are good for the same ones.
    edges = adaptation.place_edges(bins, shares, 2048)
    bins = adaptation.ScoreBins.from_rows(adaptation.ScoredRows(scores, y), edges)
    assert adaptation.bound_risk(measure, ClassTotals.from_labels(labels), bins)[0].error < 0.02
    assert len(edges) < 2 * 2048


def test_parts_are_merged_to_the_bins_of_all_rows():
    rng = np.random.default_rng(0)
    scores, y, weight, edges = rng.normal(size=50), rng.random(50) < 0.3, rng.random(50), np.array([-1, 0, 1])
    parts = [slice(0, 10), slice(10, 10), slice(10, 50)]
    merged = adaptation.ScoreBins.merge(
        [
            adaptation.ScoreBins.from_rows(adaptation.ScoredRows(scores[part], y[part], weight[part]), edges)
            for part in parts
        ]
    )
    for found, expected in zip(
        merged, adaptation.ScoreBins.from_rows(adaptation.ScoredRows(scores, y, weight), edges), strict=True
    ):
        np.testing.assert_allclose(found, expected)
    assert merged.mass.sum() == pytest.approx(weight.sum())
    assert merged.low[1, 0] == scores[y & (scores <= -1)].min()


def test_a_grid_finds_the_bins_of_many_scores():
    rng = np.random.default_rng(0)
    edges = np.unique(np.concatenate([rng.normal(size=200), 0.3 + 1e-9 * rng.random(50), [0.0, 1e4]]))
    scores = np.concatenate([3 * rng.standard_cauchy(40_000), edges, np.nextafter(edges, 9), [1e300, -1e300]])
    found = adaptation.BinIndex(edges, len(scores)).count_below(scores)
    np.testing.assert_array_equal(found, np.searchsorted(edges, scores))
    for few in (edges[:1], edges[:0], np.array([-1e300, 1e300])):
        found = adaptation.BinIndex(few, len(scores)).count_below(scores)
        np.testing.assert_array_equal(found, np.searchsorted(few, scores))
