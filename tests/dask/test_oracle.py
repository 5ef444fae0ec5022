"""The oracle on the workers: its cuts are lower bounds of R, and their errors are known."""

import dask
import numpy as np
import pytest

from capo import measures
from capo.dask import _adaptation as adaptation
from capo.dask import _partitions as partitions


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    y = rng.random(3000) < 0.2
    return rng.normal(size=(3000, 3)) + y[:, None], y


def make_oracle(X, y, measure):
    parts = [slice(0, 1000), slice(1000, 1000), slice(1000, 3000)]
    rows = [(dask.delayed(partitions.Block(X[part], y[part]), traverse=False),) for part in parts]
    blocks = partitions.Partitions.from_delayed(rows, client=None)
    summary = blocks.reduce(partitions.BlockSummary.merge, partitions.BlockSummary.from_block)
    return adaptation.DistributedOracle(blocks, measure, summary, tol=0.0)


@pytest.mark.parametrize("name", ["f1", "mcc", "roc_auc"])
@pytest.mark.parametrize("max_splits", [0, 1, 8])
def test_cuts_are_lower_bounds_however_far_bins_are_divided(rows, name, max_splits, monkeypatch):
    monkeypatch.setattr(adaptation, "MAX_SPLITS", max_splits)
    X, y = rows
    design, exact = np.column_stack([X, np.ones(len(y))]), measures.get(name).oracle(y)
    rng = np.random.default_rng(1)
    with dask.config.set(scheduler="synchronous"):
        oracle = make_oracle(X, y, measures.get(name))
        for _ in range(3):
            v = rng.normal(size=4)
            cut = oracle(v)
            scores = design @ v
            value, risk = cut.loss - cut.coef @ v, exact(scores).value(scores)
            assert value - 1e-9 <= risk <= value + cut.error + 1e-9
            for _ in range(3):
                other = rng.normal(size=4)
                bound = exact(design @ other).value(design @ other)
                assert cut.loss - cut.coef @ other <= bound + 1e-9
    if max_splits == 8:
        assert cut.error < 1e-6
