"""R and J in rational arithmetic, over all labelings or rankings of a few rows."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np

from capo.measures import RankingMeasure
from capo.testing import labeling_losses


def exact_scores(X, v):
    """``X v`` without rounding, as fractions."""
    weights = [Fraction(float(number)) for number in v]
    return [
        sum((Fraction(float(x)) * w for x, w in zip(row, weights, strict=True)), Fraction(0)) for row in X
    ]


def exact_risk(measure, scores, y):
    """The largest value over all labelings, or all rankings, of exact scores; at least 0."""
    cuts = _ranking_cuts if isinstance(measure, RankingMeasure) else _labeling_cuts
    return max(Fraction(0), *cuts(measure, scores, np.where(np.asarray(y) > 0, 1, -1)))


def exact_objective(measure, X, y, v, C):
    """J at v with v0 = 0."""
    square = sum(Fraction(float(number)) ** 2 for number in v)
    return square / 2 + Fraction(float(C)) * exact_risk(measure, exact_scores(X, v), y)


def _labeling_cuts(measure, scores, sign):
    labelings = np.array(list(product((-1, 1), repeat=len(sign))))
    for loss, labeling in zip(labeling_losses(measure, sign, labelings), labelings, strict=True):
        if np.isfinite(loss):
            wrong = np.flatnonzero(sign != labeling)
            yield Fraction(float(loss)) - sum((int(sign[i]) * scores[i] for i in wrong), Fraction(0)) / len(
                sign
            )


def _ranking_cuts(measure, scores, sign):
    """Each class in the order of its scores, as the worst ranking always has it."""
    n, pos, neg = len(sign), *(_ranked(scores, sign, label) for label in (1, -1))
    for places in combinations(range(n), len(pos)):
        positive = np.isin(np.arange(n), places)
        left = {True: list(pos), False: list(neg)}
        order = [left[bool(side)].pop(0) for side in positive]
        loss = measure.loss(np.where(positive, 1, -1), -np.arange(n))
        coef = _pair_coef(measure, [bool(side) for side in positive])
        yield Fraction(float(loss)) - sum((c * scores[i] for c, i in zip(coef, order, strict=True)))


def _ranked(scores, sign, label):
    return sorted(np.flatnonzero(sign == label), key=lambda i: scores[i], reverse=True)


def _pair_coef(measure, positive):
    """Coefficients by place: pairs out of order, with the share of each negative that counts."""
    n_pos, n_neg = sum(positive), len(positive) - sum(positive)
    high, low = (
        Fraction(float(getattr(measure, end, default))) for end, default in (("max_fpr", 1), ("min_fpr", 0))
    )
    coef, above, below = [], Fraction(0), n_pos
    for place, side in enumerate(positive):
        rank = place - (n_pos - below)
        share = min(max(high * n_neg - rank, Fraction(0)), Fraction(1))
        coef.append(above if side else -share * below)
        above, below = (above, below - 1) if side else (above + share, below)
    return [c / (n_pos * n_neg * (high - low)) for c in coef]
