"""Scored rows that the tests of model selection share."""

import numpy as np


def scored_rows(seed=0, n=120):
    """A mask of the positive rows, and scores that are higher for them on average."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.4
    return positive, rng.normal(size=n) + 2.0 * positive
