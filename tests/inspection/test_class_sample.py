"""Samples in which a rare class keeps its rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capo.inspection._explanation import MIN_CLASS_ROWS, sample_by_class


@given(
    st.lists(st.integers(0, 900), min_size=1, max_size=5).filter(any),
    st.floats(0.05, 0.95),
    st.integers(0, 100),
)
def test_sizes_and_weights(counts, share, seed):
    classes = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    n_rows = max(int(share * len(classes)), np.count_nonzero(counts))
    rows, weight = sample_by_class(classes, n_rows, np.random.RandomState(seed))
    assert len(rows) == len(np.unique(rows)) == n_rows
    least = np.minimum(counts, min(MIN_CLASS_ROWS, n_rows // np.count_nonzero(counts)))
    assert (np.bincount(classes[rows], minlength=len(counts)) >= least).all()
    shares = np.bincount(classes[rows], weight, minlength=len(counts)) / weight.sum()
    np.testing.assert_allclose(shares, np.array(counts) / len(classes))
    assert weight.mean() == pytest.approx(1.0)


def test_common_classes_are_drawn_by_their_shares():
    classes = np.repeat([0, 1], [30_000, 10_000])
    rows, weight = sample_by_class(classes, 2000, np.random.RandomState(0))
    np.testing.assert_array_equal(np.bincount(classes[rows]), [1500, 500])
    np.testing.assert_allclose(weight, 1.0)
