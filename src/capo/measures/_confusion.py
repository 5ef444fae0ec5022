"""Measures of the confusion matrix.

Sort the positives and the negatives by score. The worst labeling marks the top
``a`` positives and the top ``b`` negatives as positive, for some (a, b); its value
is

    V(a, b) = Delta(a, b) + Gp(a) + Gn(b)

with Gp and Gn concave prefix sums of the sorted scores. `capo.measures._search` finds the best (a, b).

Measures with a constraint maximize one rate subject to a lower or upper limit on another. A confusion matrix
that violates the constraint has the loss 1, so that a single row can change the loss from 0 to 1. For
overlapping classes R is then minimal at zero scores, and a fit has to relax the constraint
(`ConstrainedMeasure.for_training`): `penalty` times the shortfall is added to the loss instead. Their score
does not depend on a threshold: it is the best rate among all thresholds that satisfy the constraint, and 0
if none does. For a classifier at its own threshold, use `rate`, `limited_rate` and `is_satisfied` of its
confusion matrix.
"""

from __future__ import annotations

import ast
import math
import operator
import warnings
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from .._compat import ArrayLike, FloatArray
from ..engine import Cut, Oracle
from ..exceptions import (
    ConstraintWarning,
    ExhaustiveSearchWarning,
    InvalidInputError,
    MeasureFunctionError,
    check_positive,
)
from . import _search as search
from ._base import Cells, LabeledOracle, Measure
from ._binned import BinnedConfusionOracle
from ._labels import ClassTotals, Labels, Share, score_curve, to_positive_mask

#: With fewer rows, sorts are as fast as bins.
MIN_BINNED_ROWS = 30_000
#: The smallest and the largest number in each block.
Range = tuple[Cells, Cells]


class ConfusionMeasure(Measure):
    """A measure that is a function of (tp, fp, fn, tn), for scores at the threshold 0.

    A subclass defines `value` and, if its values are not between 0 and 1, `best` and `worst`. `strategy`
    is the search, which depends on the properties of the loss. For given numbers of positive and negative
    rows, `is_monotone` says whether the value rises with tp and falls with fp, and `is_fractional` whether
    it is a ratio of linear functions of tp and fp.
    """

    needs_threshold: ClassVar[bool] = True
    best: ClassVar[float] = 1.0
    worst: ClassVar[float] = 0.0
    strategy: ClassVar[type[search.Strategy]] = search.Bounded
    is_monotone: ClassVar[bool] = True
    is_fractional: ClassVar[bool] = False

    @abstractmethod
    def value(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        """The measure of each confusion matrix; the arguments broadcast."""

    def delta(self, tp: Cells, fp: Cells, n_pos: float, n_neg: float) -> Cells:
        """The loss of each confusion matrix, between 0 and 1."""
        value = self.value(tp, fp, n_pos - tp, n_neg - fp)
        return (self.best - value) / (self.best - self.worst)

    def delta_bound(self, tp: Range, fp: Range, n_pos: float, n_neg: float) -> Cells:
        """An upper bound of `delta` over blocks of matrices, from the (smallest, largest) tp and fp.

        For a loss that falls with tp and rises with fp it is the value at one corner.
        """
        return self.delta(tp[0], fp[1], n_pos, n_neg)

    def score(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        labels = Labels.from_arrays(y, sample_weight, both_classes=False)
        values = Labels.check_scores(scores, len(labels.positive))
        return float(self.value(*(np.asarray(cell) for cell in labels.confusion(values > 0))))

    def loss(self, y: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        labels = Labels.from_arrays(y, sample_weight)
        tp, fp, _, _ = labels.confusion(to_positive_mask(y_pred))
        return float(self.delta(np.asarray(tp), np.asarray(fp), labels.n_pos, labels.n_neg))

    def threshold(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The threshold on the training scores with the best value; 0 if no other is better."""
        curve = score_curve(Labels.from_arrays(y, sample_weight), scores)
        return curve.best_threshold(curve.evaluate(self.value))

    def oracle_for(self, labels: Labels) -> Oracle:
        return ConfusionOracle(self, labels)


class ConfusionOracle(LabeledOracle):
    """Sorts the scores of both classes and finds (a, b) by the measure's strategy."""

    def __init__(self, measure: ConfusionMeasure, labels: Labels) -> None:
        self.measure, self.labels = measure, labels
        self.strategy = measure.strategy(measure, labels.pos, labels.neg)

    def __call__(self, scores: FloatArray) -> Cut:
        self.labels.check_length(scores)
        pos, neg, total = self.labels.pos, self.labels.neg, self.labels.total
        s_pos, s_neg = scores[pos.index], scores[neg.index]
        atoms_pos, atoms_neg = pos.sorted_atoms(s_pos), neg.sorted_atoms(s_neg)
        a, b, loss = self.strategy(atoms_pos, atoms_neg, 1.0 / total)
        share: Share = np.zeros(len(scores), dtype=bool if self.labels.weight is None else float)
        share[pos.index] = pos.top(s_pos, a, atoms_pos)
        share[neg.index] = neg.top(s_neg, b, atoms_neg)
        return Cut(self.labels.cut_coef(share), loss)

    def within(self, error: float) -> Oracle:
        is_large = len(self.labels.positive) >= MIN_BINNED_ROWS
        if is_large and not isinstance(self.strategy, search.Exhaustive):
            return BinnedConfusionOracle(self, error, self.measure)
        return self


def ratio(numerator: Cells, denominator: Cells) -> FloatArray:
    """The quotient, and 0 where the denominator is 0."""
    top, bottom = np.asarray(numerator, dtype=np.float64), np.asarray(denominator, dtype=np.float64)
    return np.divide(top, bottom, out=np.zeros(np.broadcast(top, bottom).shape), where=bottom != 0)


class F1(ConfusionMeasure):
    """F1, the harmonic mean of precision and recall: 2 tp / (2 tp + fn + fp)."""

    name = "f1"
    strategy = search.ConvexConcave
    is_fractional = True
    _square = 1.0

    def value(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        weighted = (1 + self._square) * tp
        return ratio(weighted, weighted + self._square * fn + fp)

    def delta(self, tp: Cells, fp: Cells, n_pos: float, n_neg: float) -> Cells:
        # The same with tp + fn = P > 0 substituted: half the work in the innermost loop.
        return 1.0 - (1 + self._square) * tp / (tp + fp + self._square * n_pos)


class FBeta(F1):
    """F-beta: (1 + beta^2) tp / ((1 + beta^2) tp + beta^2 fn + fp).

    Parameters
    ----------
    beta : float, default=1.0
        Weight of recall relative to precision.
    """

    name = "fbeta"

    def __init__(self, beta: float = 1.0) -> None:
        self._square = check_positive(beta, "beta") ** 2
        self.beta = beta


class Jaccard(ConfusionMeasure):
    """Jaccard index: tp / (tp + fp + fn)."""

    name = "jaccard"
    strategy = search.ConvexConcave
    is_fractional = True

    def value(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        return ratio(tp, tp + fp + fn)

    def delta(self, tp: Cells, fp: Cells, n_pos: float, n_neg: float) -> Cells:
        return 1.0 - tp / (n_pos + fp)


class GMean(ConfusionMeasure):
    """Geometric mean of the two classes' recalls: sqrt(tp / P * tn / N)."""

    name = "gmean"

    def value(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        return np.sqrt(ratio(tp, tp + fn) * ratio(tn, tn + fp))


class MCC(ConfusionMeasure):
    """Matthews' correlation coefficient, from -1 to 1; its loss is (1 - MCC) / 2.

    With P and N fixed it is (tp N - fp P) / sqrt(P N m (n - m)) for m = tp + fp, and
    rises with tp and falls with fp over all matrices: the derivative in tp has the
    sign of 2 N m (n - m) - (tp N - fp P)(n - 2 m), and tp N - fp P lies between
    -N (n - m) and N m.
    """

    name = "mcc"
    worst = -1.0

    def value(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        # Two square roots: the product of all four margins can overflow.
        root = np.sqrt((tp + fn) * (fp + tn)) * np.sqrt((tp + fp) * (fn + tn))
        return ratio(tp * tn - fp * fn, root)


class CohenKappa(ConfusionMeasure):
    """Cohen's kappa, agreement beyond chance, from -1 to 1; its loss is (1 - kappa) / 2."""

    name = "cohen_kappa"
    worst = -1.0
    is_fractional = True

    def value(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        chance = (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)
        return ratio(2.0 * (tp * tn - fp * fn), chance)


class KLD(ConfusionMeasure):
    """Quantification: agreement of the predicted share of positives with the true one.

    The loss is the normalized Kullback-Leibler divergence 2 / (1 + exp(-KLD)) - 1 between
    the true and the predicted class shares, smoothed by 1 / (2 n) as Forman and QuaPy do;
    the score is 1 minus that. Only tp + fp matters.
    """

    name = "kld"
    is_monotone = False

    def value(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        total = tp + fp + fn + tn
        smooth = 0.5 / total
        true = ((tp + fn) / total + smooth) / (1 + 2 * smooth)
        guess = ((tp + fp) / total + smooth) / (1 + 2 * smooth)
        divergence = true * np.log(true / guess) + (1 - true) * np.log((1 - true) / (1 - guess))
        return 1.0 - np.tanh(np.maximum(divergence, 0.0) / 2.0)

    def delta_bound(self, tp: Range, fp: Range, n_pos: float, n_neg: float) -> Cells:
        # It grows with the distance of tp + fp from P in both directions.
        ends = (self.delta(tp[i], fp[i], n_pos, n_neg) for i in (0, 1))
        return np.maximum(*ends)


class QMeasure(ConfusionMeasure):
    """Quantification and classification at once: the F-beta mean of recall and agreement.

    Agreement is 1 - abs(fn - fp) / max(P, N), as in Barranquero, Diez and del Coz (2015).

    Parameters
    ----------
    beta : float, default=1.0
        Weight of agreement relative to recall.
    """

    name = "q_measure"
    is_monotone = False

    def __init__(self, beta: float = 1.0) -> None:
        check_positive(beta, "beta")
        self.beta = beta

    def value(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        agreement = 1.0 - np.abs(fn - fp) / np.maximum(tp + fn, fp + tn)
        return self._mean(ratio(tp, tp + fn), agreement)

    def _mean(self, recall: Cells, agreement: Cells) -> Cells:
        square = self.beta**2
        return ratio((1 + square) * recall * agreement, square * recall + agreement)

    def delta_bound(self, tp: Range, fp: Range, n_pos: float, n_neg: float) -> Cells:
        # The mean rises with recall and agreement: bound both by their smallest values in the block.
        error = np.maximum(np.abs(n_pos - tp[0] - fp[0]), np.abs(n_pos - tp[1] - fp[1]))
        return 1.0 - self._mean(tp[0] / n_pos, 1.0 - error / max(n_pos, n_neg))


CELLS = ("tp", "fp", "fn", "tn")

_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sqrt": np.sqrt,
    "log": np.log,
    "exp": np.exp,
    "abs": np.abs,
    "min": np.minimum,
    "max": np.maximum,
}
#: Largest number of characters of a formula.
MAX_LENGTH = 1000


@dataclass(frozen=True)
class Formula:
    """A function of the confusion matrix, from a formula.

    A formula consists of numbers, tp, fp, fn, tn, ``+ - * / **``, brackets, sqrt, log, exp, abs, min and
    max. Anything else is an error, so that formulas from untrusted sources are safe.

    Parameters
    ----------
    text : str
        The formula, such as ``"10 * tp - 2 * fp"``.

    Examples
    --------
    >>> from capo.measures import Formula
    >>> float(Formula("10 * tp - 2 * fp")(3.0, 1.0, 0.0, 5.0))
    28.0
    """

    text: str

    def __post_init__(self) -> None:
        self._function  # noqa: B018 (raises for an invalid formula)

    @cached_property
    def _function(self) -> Callable[[dict[str, Cells]], Any]:
        try:
            if len(self.text) > MAX_LENGTH:
                raise SyntaxError(f"it has more than {MAX_LENGTH} characters")
            return _compile(ast.parse(self.text.strip(), mode="eval").body)
        except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
            reason = error.msg if isinstance(error, SyntaxError) else str(error)
            raise InvalidInputError(
                f"the measure {_shorten(self.text)!r} is neither a name nor a formula: {reason}. A formula "
                f"consists of {', '.join(CELLS)}, numbers, + - * / **, brackets and {', '.join(_FUNCTIONS)}."
            ) from error

    def __call__(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        return self._function(dict(zip(CELLS, (tp, fp, fn, tn), strict=True)))

    def __getstate__(self) -> dict[str, str]:
        return {"text": self.text}

    @property
    def __name__(self) -> str:
        return self.text


def _compile(node: ast.AST) -> Callable[[dict[str, Cells]], Any]:
    """The function of a part of a formula, or a SyntaxError for anything that is not allowed in it."""
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            constant = np.float64(number)
            return lambda cells: constant
        case ast.Name(id=name) if name in CELLS:
            return operator.itemgetter(name)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            function, parts = _OPERATORS[type(op)], [_compile(left), _compile(right)]
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
            function, parts = _OPERATORS[type(op)], [_compile(operand)]
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            function, parts = _FUNCTIONS[name], [_compile(each) for each in args]
            if len(args) != (expected := function.nin):  # type: ignore[attr-defined]
                raise SyntaxError(
                    f"{name} takes {expected} argument{'s' if expected > 1 else ''}, not {len(args)}"
                )
        case _:
            raise SyntaxError(f"{_shorten(ast.unparse(node))!r} is not allowed")
    return lambda cells: function(*(part(cells) for part in parts))


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


ConfusionFunction = Callable[[FloatArray, FloatArray, FloatArray, FloatArray], ArrayLike]

#: Largest number of confusion matrices on which a function is checked to be monotone.
MAX_CHECKED = 2**24
#: Number of rows of the grid of confusion matrices that are evaluated together.
CHECK_CHUNK_SIZE = 64
FUNCTION_ADVICE = (
    "It is called with four arrays (tp, fp, fn, tn): write it with elementwise NumPy operations, and with "
    "np.where in place of if."
)
FORMULA_ADVICE = (
    "A formula must contain tp, fp, fn or tn and must not divide by 0: write tp / max(tp + fp, 1) in place "
    "of tp / (tp + fp)."
)


def call_function(
    function: Callable[..., Any], cells: Sequence[FloatArray], shape: tuple[int, ...], name: str, advice: str
) -> FloatArray:
    """The values of a user's function, or an error unless it returns a finite number for each matrix."""
    try:
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.asarray(function(*cells))
    except Exception as error:
        raise MeasureFunctionError(
            f"the measure function {name!r} failed on arrays ({error}). {advice}"
        ) from error
    if values.dtype.kind not in "biuf" or values.shape != shape:
        raise MeasureFunctionError(
            f"the measure function {name!r} must return one number per confusion matrix: for arrays of shape "
            f"{cells[0].shape} it returned {values.dtype} of shape {values.shape}. {advice}"
        )
    if not np.isfinite(values).all():
        first = np.unravel_index(np.argmin(np.isfinite(values)), shape)
        matrix = ", ".join(f"{number:g}" for each in cells for number in np.ravel(each[first]))
        raise MeasureFunctionError(
            f"the measure function {name!r} returned {values[first]} for the confusion matrix ({matrix}). "
            f"Define its value there. {advice}"
        )
    return values.astype(np.float64, copy=False)


class FunctionMeasure(ConfusionMeasure):
    """A function of (tp, fp, fn, tn) as a measure.

    Higher must be better. The loss is the difference from the value of a perfect prediction, divided by
    the difference between the perfect and the worst value. If the function rises with tp and falls with
    fp, the search for the worst labeling is as fast as for the built-in measures. This is checked on all
    confusion matrices if there are at most 16 million and on a dense sample otherwise, and again for each
    bound in the search. For any other function the search is exhaustive, with a warning.

    Parameters
    ----------
    function : callable
        Takes four arrays and returns one number per confusion matrix.
    name : str, optional
        Name of the measure; that of the function by default.

    Examples
    --------
    >>> from capo.measures import FunctionMeasure
    >>> profit = FunctionMeasure(lambda tp, fp, fn, tn: 10 * tp - 2 * fp, name="profit")
    >>> profit.score([1, 1, 0, 0], [0.3, -0.2, 0.1, -0.5])
    8.0
    """

    def __init__(self, function: ConfusionFunction, name: str | None = None) -> None:
        self.function = function
        self._cached_ranges: dict[tuple[float, float], tuple[float, float]] = {}
        self._cached_slopes: dict[ClassTotals, tuple[float, float] | None] = {}
        self.name = name or str(getattr(function, "__name__", type(function).__name__))

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_cached_ranges": {}, "_cached_slopes": {}}

    @property
    def params(self) -> dict[str, object]:
        return {}

    @property
    def label(self) -> str:
        """The formula's text or the function's name; a lambda has none."""
        return "custom measure" if self.name == "<lambda>" else self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionMeasure) and bool(other.function == self.function)

    def __hash__(self) -> int:
        return hash(self.function)

    def value(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        cells = np.broadcast_arrays(*(np.asarray(cell, dtype=np.float64) for cell in (tp, fp, fn, tn)))
        advice = FORMULA_ADVICE if isinstance(self.function, Formula) else FUNCTION_ADVICE
        return call_function(self.function, cells, cells[0].shape, self.name, advice)

    def delta(self, tp: Cells, fp: Cells, n_pos: float, n_neg: float) -> Cells:
        best, worst = self.value_range(n_pos, n_neg)
        return (best - self.value(tp, fp, n_pos - tp, n_neg - fp)) / (best - worst)

    def value_range(self, n_pos: float, n_neg: float) -> tuple[float, float]:
        """Return the value of a perfect prediction, and the lowest on a grid of confusion matrices.

        Errors in the function occur here.
        """
        if (n_pos, n_neg) not in self._cached_ranges:
            tp, fp = (np.linspace(0, mass, 65) for mass in (n_pos, n_neg))
            tp, fp = (np.rint(each) if each[-1].is_integer() else each for each in (tp, fp))
            values = self.value(tp[:, None], fp, n_pos - tp[:, None], n_neg - fp)
            best, worst = float(values[-1, 0]), float(values.min())
            if not best > worst:
                raise MeasureFunctionError(
                    f"the measure function {self.name!r} has the value {best:g} for a perfect prediction "
                    "and no lower value: higher must be better. If it is a loss, return its negative."
                )
            self._cached_ranges[n_pos, n_neg] = best, worst
        return self._cached_ranges[n_pos, n_neg]

    def oracle_for(self, labels: Labels) -> Oracle:
        return FunctionOracle(self, labels)

    def min_slopes(self, labels: Labels) -> tuple[float, float] | None:
        """The smallest decrease of the loss with a and increase with b; None if it is not monotone."""
        n_a, n_b = labels.pos.n_atoms, labels.neg.n_atoms

        def losses(a: FloatArray, b: FloatArray) -> FloatArray:
            tp, fp = a[:, None] * labels.pos.atom_mass, b[None, :] * labels.neg.atom_mass
            return np.asarray(self.delta(tp, fp, labels.n_pos, labels.n_neg))

        a, b = _levels_to_check(n_a), _levels_to_check(n_b)
        fall, rise = np.inf, np.inf
        for start in range(0, len(a) - 1, CHECK_CHUNK_SIZE):
            chunk = a[start : start + CHECK_CHUNK_SIZE + 1]
            loss = losses(chunk, b)
            fall = min(fall, float((-np.diff(loss, axis=0) / np.diff(chunk)[:, None]).min()))
            rise = min(rise, float((np.diff(loss, axis=1) / np.diff(b)).min()))
        if min(fall, rise) < -1e-12:
            return None
        # Slopes between the corners have no rounding errors: they replace those that equal them.
        corners = losses(np.array([0.0, n_a]), np.array([0.0, n_b]))
        overall = (corners[0, 0] - corners[1, 0]) / n_a, (corners[0, 1] - corners[0, 0]) / n_b
        if np.all(np.abs(np.subtract((fall, rise), overall)) <= 1e-9 * np.array(overall)):
            return float(overall[0]), float(overall[1])
        # Between sampled matrices the slopes may be smaller.
        is_complete = len(a) == n_a + 1 and len(b) == n_b + 1
        return (max(fall, 0.0), max(rise, 0.0)) if is_complete else (0.0, 0.0)


class FunctionOracle(ConfusionOracle):
    """The fast search; the exhaustive one if the loss is not monotone, or a bound turns out to be wrong."""

    measure: FunctionMeasure

    def __init__(self, measure: FunctionMeasure, labels: Labels) -> None:
        super().__init__(measure, labels)
        self.key, known = ClassTotals.from_labels(labels), measure._cached_slopes
        if self.key not in known:
            known[self.key] = measure.min_slopes(labels)
        if (slopes := known[self.key]) is not None:
            self.strategy.min_slopes = slopes
        else:
            self._search_all()

    def __call__(self, scores: FloatArray) -> Cut:
        try:
            return super().__call__(scores)
        except search.NotMonotoneError:
            self.measure._cached_slopes[self.key] = None
            self._search_all()
            return super().__call__(scores)

    def _search_all(self) -> None:
        """Switch to evaluating all confusion matrices, with a warning."""
        pos, neg = self.labels.pos, self.labels.neg
        warnings.warn(
            f"the measure {self.measure.name!r} does not rise with tp and fall with fp: each search "
            f"evaluates all {(pos.n_atoms + 1) * (neg.n_atoms + 1):,} confusion matrices.",
            ExhaustiveSearchWarning,
            stacklevel=7,
        )
        self.strategy = search.Exhaustive(self.measure, pos, neg)


def _levels_to_check(count: int) -> FloatArray:
    """All levels from 0 to `count`, or a sample of pairs of neighbors, denser at both ends."""
    side = int(MAX_CHECKED**0.5)
    if count < side:
        return np.arange(count + 1, dtype=np.float64)
    even = np.linspace(0, count - 1, side // 3)
    near = np.geomspace(1, count, side // 12) - 1
    lower = np.unique(np.concatenate([even, near, count - 1 - near]).astype(np.int64))
    return np.unique(np.concatenate([lower, lower + 1])).astype(np.float64)


#: Tolerance for rounding errors: 9 of 10 must satisfy a limit of 0.9.
_ROUNDING_TOL = 1e-12

#: Rates of a confusion matrix, by their names.
RATES: dict[str, Callable[..., Cells]] = {
    "precision": lambda tp, fp, fn, tn: ratio(tp, tp + fp),
    "recall": lambda tp, fp, fn, tn: ratio(tp, tp + fn),
    "true positive rate": lambda tp, fp, fn, tn: ratio(tp, tp + fn),
    "false positive rate": lambda tp, fp, fn, tn: ratio(fp, fp + tn),
}


class ConstrainedMeasure(ConfusionMeasure):
    """A rate, subject to a constraint on another one.

    Parameters
    ----------
    bound : float
        The limit.
    penalty : float, default=inf
        Factor of the shortfall in the loss; with infinity any shortfall has the loss 1.
        Training uses 1 in place of an infinite penalty.
    confidence : float, optional
        The probability with which the constraint must hold on new rows. `CAPOClassifier` then chooses its
        threshold on rows that it holds out.
    """

    needs_threshold = False
    # The value is between 0 and 1, but jumps, so that the jackknife estimate can be far too large.
    max_std = 0.5
    #: The rate to maximize, and the one that the constraint limits: keys of `RATES`.
    rate_name: ClassVar[str]
    limited_rate_name: ClassVar[str]
    #: How the bound limits the rate.
    limit_name: ClassVar[str] = "at least"

    def __init__(self, bound: float, penalty: float = math.inf, confidence: float | None = None) -> None:
        if not (isinstance(penalty, (int, float, np.number)) and penalty > 0):
            raise InvalidInputError(f"penalty must be above 0: got {penalty!r}.")
        self._bound, self.penalty = float(bound), float(penalty)
        is_number = isinstance(confidence, (int, float, np.number))
        if confidence is not None and not (is_number and 0 < confidence < 1):
            raise InvalidInputError(
                f"confidence must be above 0 and below 1: got {confidence!r}. No number of rows gives "
                "certainty."
            )
        self.confidence = None if confidence is None else float(confidence)

    def rate(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        """The rate to maximize."""
        return RATES[self.rate_name](tp, fp, fn, tn)

    def limited_rate(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        """The rate that the constraint limits, 0 where it is not defined."""
        return RATES[self.limited_rate_name](tp, fp, fn, tn)

    @abstractmethod
    def shortfall(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        """How far the constraint is violated; at most 0 if it is satisfied."""

    @property
    def constraint(self) -> str:
        """The constraint in words, such as "precision of at least 0.9"."""
        return f"{self.limited_rate_name} of {self.limit_name} {self._bound:g}"

    def is_satisfied(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        """Whether each confusion matrix satisfies the constraint."""
        return self.shortfall(tp, fp, fn, tn) <= _ROUNDING_TOL

    def value(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        return np.where(self.is_satisfied(tp, fp, fn, tn), self.rate(tp, fp, fn, tn), 0.0)

    def at_threshold(self) -> Measure:
        """The same measure of the labels at a threshold of 0: the rate, or 0 if the constraint is violated.

        With a finite penalty, it is the rate minus the penalty times the shortfall, and at least 0.
        """
        if math.isinf(self.penalty):
            return FunctionMeasure(self.value, self.label)
        delta: Any = self.delta
        return FunctionMeasure(lambda tp, fp, fn, tn: 1.0 - delta(tp, fp, tp + fn, fp + tn), self.label)

    def delta(self, tp: Cells, fp: Cells, n_pos: float, n_neg: float) -> Cells:
        if math.isinf(self.penalty):
            return super().delta(tp, fp, n_pos, n_neg)
        cells = tp, fp, n_pos - tp, n_neg - fp
        penalty = self.penalty * np.maximum(self.shortfall(*cells), 0.0)
        return np.minimum(1.0, 1.0 - self.rate(*cells) + penalty)

    def for_training(self) -> Self:
        """The same measure with a penalty of 1 in place of an infinite one."""
        return self if math.isfinite(self.penalty) else type(self)(self._bound, penalty=1.0)

    def score(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        curve = score_curve(Labels.from_arrays(y, sample_weight), scores)
        return float(curve.evaluate(self.value).max())

    def threshold(self, y: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The best threshold that satisfies the constraint, or the one that is nearest to it."""
        if self.score(y, scores, sample_weight) > 0:
            return super().threshold(y, scores, sample_weight)
        warnings.warn(
            f"no threshold on the training scores satisfies the constraint of {self.label}: predictions use "
            "the nearest one. Relax the constraint or use better features.",
            ConstraintWarning,
            stacklevel=5,
        )
        curve = score_curve(Labels.from_arrays(y, sample_weight), scores)
        nearness = -curve.evaluate(self.shortfall)
        nearness[0] = -np.inf  # without predicted positives there is no precision
        return curve.best_threshold(nearness)


class _FloorMeasure(ConstrainedMeasure):
    """A measure with a smallest value of its limited rate."""

    def __init__(
        self, floor: float = 0.9, penalty: float = math.inf, confidence: float | None = None
    ) -> None:
        if not (isinstance(floor, (int, float, np.number)) and 0 < floor <= 1):
            raise InvalidInputError(
                f"floor must be above 0 and at most 1: got {floor!r}. A {self.limited_rate_name} of 0 is no "
                f"constraint, and a {self.limited_rate_name} above 1 is impossible."
            )
        self.floor = float(floor)
        super().__init__(self.floor, penalty, confidence)

    def shortfall(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        return 1.0 - self.limited_rate(tp, fp, fn, tn) / self.floor


class RecallAtPrecision(_FloorMeasure):
    """Recall subject to a precision of at least `floor`.

    Parameters
    ----------
    floor : float, default=0.9
        The smallest precision allowed.
    penalty, confidence
        As in `ConstrainedMeasure`; the penalty multiplies the relative shortfall.
    """

    name = "recall_at_precision"
    rate_name, limited_rate_name = "recall", "precision"


class PrecisionAtRecall(_FloorMeasure):
    """Precision subject to a recall of at least `floor`.

    Parameters
    ----------
    floor : float, default=0.9
        The smallest recall allowed.
    penalty, confidence
        As in `ConstrainedMeasure`; the penalty multiplies the relative shortfall.
    """

    name = "precision_at_recall"
    rate_name, limited_rate_name = "precision", "recall"


class TprAtFpr(ConstrainedMeasure):
    """True positive rate subject to a false positive rate of at most `ceiling`.

    Parameters
    ----------
    ceiling : float, default=0.1
        The largest false positive rate allowed.
    penalty, confidence
        As in `ConstrainedMeasure`; the penalty multiplies the excess.
    """

    name = "tpr_at_fpr"
    rate_name, limited_rate_name = "true positive rate", "false positive rate"
    limit_name = "at most"

    def __init__(
        self, ceiling: float = 0.1, penalty: float = math.inf, confidence: float | None = None
    ) -> None:
        if not (isinstance(ceiling, (int, float, np.number)) and 0 <= ceiling <= 1):
            raise InvalidInputError(f"ceiling must be between 0 and 1: got {ceiling!r}.")
        self.ceiling = float(ceiling)
        super().__init__(self.ceiling, penalty, confidence)

    def shortfall(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        return self.limited_rate(tp, fp, fn, tn) - self.ceiling
