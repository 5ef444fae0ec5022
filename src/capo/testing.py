"""Tests for measures: the search for the worst labeling against the definition.

Call `check_measure` with a measure of your own:

>>> from capo.measures import get
>>> from capo.testing import check_measure
>>> check_measure(get(lambda tp, fp, fn, tn: tp - 3 * fp), n_cases=50)
50
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product

import numpy as np

from ._compat import ArrayLike, FloatArray, IntArray
from .measures import Cut, Measure, RankingMeasure

__all__ = ["brute_force", "check_case", "check_lower_bound", "check_measure", "check_weights"]

#: Relative tolerance; the scores of the random cases are of order 1.
TOLERANCE = 1e-9


def brute_force(measure: Measure, scores: ArrayLike, y: ArrayLike) -> float:
    """R by its definition: the largest value over all labelings, or all rankings."""
    values = np.asarray(scores, dtype=np.float64)
    if isinstance(measure, RankingMeasure):
        return max(cut.value(values) for cut in ranking_cuts(measure, y))
    sign = np.where(np.asarray(y) > 0, 1, -1)
    labelings = np.array(list(product((-1, 1), repeat=len(sign))))
    losses = labeling_losses(measure, sign, labelings)
    return float(np.max(losses - (sign - labelings) @ values / (2 * len(sign))))


def labeling_losses(measure: Measure, sign: IntArray, labelings: IntArray) -> FloatArray:
    """The loss of each labeling, minus infinity for those that the measure does not admit.

    A loss that depends on the confusion matrix alone is computed once for each matrix.
    """
    losses = np.empty(len(labelings))
    known: dict[object, float] = {}
    for i, y_pred in enumerate(labelings):
        tp, fp = int(np.sum(y_pred[sign > 0] > 0)), int(np.sum(y_pred[sign < 0] > 0))
        key: object = (tp, fp) if measure.depends_on_confusion_only else i
        if key not in known:
            known[key] = measure.loss(sign, y_pred) if measure.admits(sign, y_pred) else -np.inf
        losses[i] = known[key]
    return losses


def ranking_cuts(measure: RankingMeasure, y: ArrayLike) -> Iterator[Cut]:
    """The cuts of all rankings by definition; the loss depends only on the classes in order of rank."""
    labels = np.asarray(y)
    losses: dict[bytes, float] = {}
    for order in permutations(range(len(labels))):
        ranked = labels[list(order)]
        if ranked.tobytes() not in losses:
            losses[ranked.tobytes()] = measure.loss(ranked, -np.arange(len(ranked)))
        yield Cut(measure.ranking_coef(labels, order), losses[ranked.tobytes()])


def check_case(measure: Measure, scores: ArrayLike, y: ArrayLike) -> None:
    """Raise AssertionError unless the cut's value is the maximum over all labelings."""
    cut = measure.most_violated(scores, y)
    found, best = cut.value(scores), brute_force(measure, scores, y)
    assert abs(found - best) <= TOLERANCE * (1 + abs(best)), (
        f"{measure!r}: the search found {found!r}, brute force {best!r}\n"
        f"scores={np.asarray(scores).tolist()}\ny={np.asarray(y).tolist()}"
    )


def check_weights(measure: Measure, scores: ArrayLike, y: ArrayLike, counts: ArrayLike) -> None:
    """Raise AssertionError unless integer weights are equivalent to repeated rows."""
    scores, y, counts = (np.asarray(array) for array in (scores, y, counts))
    rows = np.repeat(np.arange(len(y)), counts)
    weighted = measure.most_violated(scores, y, sample_weight=counts)
    repeated = measure.most_violated(scores[rows], y[rows])
    pairs = {
        "worst value": (weighted.value(scores), repeated.value(scores[rows])),
        "score": (measure.score(y, scores, counts), measure.score(y[rows], scores[rows])),
    }
    for quantity, (one, other) in pairs.items():
        assert abs(one - other) <= TOLERANCE * (1 + abs(other)), (
            f"{measure!r}: {quantity} {one!r} with weights, {other!r} with repeated rows\n"
            f"scores={scores.tolist()}\ny={y.tolist()}\ncounts={counts.tolist()}"
        )


def check_lower_bound(measure: Measure, scores: ArrayLike, others: ArrayLike, y: ArrayLike) -> None:
    """Raise AssertionError unless the cut at `scores` bounds R from below at `others`."""
    bound = measure.most_violated(scores, y).value(others)
    risk = measure.most_violated(others, y).value(others)
    assert bound <= risk + TOLERANCE * (1 + abs(risk)), (
        f"{measure!r}: the cut has the value {bound!r} where R is {risk!r}: it is not a lower bound"
    )


def random_case(rng: np.random.Generator, max_rows: int) -> tuple[FloatArray, IntArray]:
    """Random scores (sometimes tied or all equal) and labels (sometimes with one row of a class)."""
    n = int(rng.integers(2, max_rows + 1))
    kind = rng.integers(4)
    scores = rng.normal(scale=rng.choice([0.3, 1.0, 3.0]), size=n)
    if kind == 1:
        scores = np.rint(scores * 2) / 2
    elif kind == 2:
        scores = np.full(n, scores[0])
    n_pos = int(rng.choice([1, n - 1, int(rng.integers(1, n))]))
    y = rng.permutation(np.where(np.arange(n) < n_pos, 1, -1))
    return scores, y


def check_measure(measure: Measure, *, n_cases: int = 200, max_rows: int = 6, random_state: int = 0) -> int:
    """Compare a measure's search with brute force on random problems.

    Each case has up to `max_rows` rows; some have ties, equal scores or classes of one row. The checks
    compare the worst labeling with all labelings (or rankings), the cut with R at other scores, and
    integer weights with repeated rows.

    Parameters
    ----------
    measure : Measure
        The measure.
    n_cases : int, default=200
        Number of random problems.
    max_rows : int, default=6
        Largest number of rows; the time grows exponentially with it (for rankings, factorially).
    random_state : int, default=0
        Seed of the problems.

    Returns
    -------
    int
        The number of cases; an AssertionError shows the first failure.
    """
    rng = np.random.default_rng(random_state)
    for _ in range(n_cases):
        scores, y = random_case(rng, max_rows)
        check_case(measure, scores, y)
        check_lower_bound(measure, scores, rng.normal(size=len(y)), y)
        check_weights(measure, scores, y, rng.integers(1, 4, size=len(y)))
    return n_cases
