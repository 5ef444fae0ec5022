"""Measures of a user's own: a formula or a function of the confusion matrix."""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from .._compat import FloatArray
from ..exceptions import ExhaustiveSearchWarning, InvalidInputError, MeasureFunctionError
from . import _search as search
from ._base import Cells, Cut, LabeledOracle, Oracle
from ._binned import BinnedConfusionOracle
from ._confusion import MIN_BINNED_ROWS, ConfusionMeasure, ConfusionOracle
from ._labels import Labels

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

    def __init__(self, text: str) -> None:
        self.text = text
        self._tree  # noqa: B018 (raises for an invalid formula)

    @cached_property
    def _tree(self) -> ast.expr:
        try:
            if len(self.text) > MAX_LENGTH:
                raise SyntaxError(f"it has more than {MAX_LENGTH} characters")
            tree = ast.parse(self.text.strip(), mode="eval").body
            _check(tree)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            reason = error.msg if isinstance(error, SyntaxError) else str(error)
            raise InvalidInputError(
                f"the measure {_shorten(self.text)!r} is neither a name nor a formula: {reason}. A formula "
                f"consists of {', '.join(CELLS)}, numbers, + - * / **, brackets and {', '.join(_FUNCTIONS)}."
            ) from error
        return tree

    def __call__(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        cells = dict(zip(CELLS, (tp, fp, fn, tn), strict=True))
        return _value(self._tree, cells)

    def __getstate__(self) -> dict[str, str]:
        return {"text": self.text}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Formula) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Formula({self.text!r})"

    @property
    def __name__(self) -> str:
        return self.text


def _check(node: ast.AST) -> None:
    """Raise a SyntaxError for anything that is not allowed in a formula."""
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            return
        case ast.Name(id=name) if name in CELLS:
            return
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            _check(left)
            _check(right)
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
            _check(operand)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            if len(args) != (expected := _FUNCTIONS[name].nin):  # type: ignore[attr-defined]
                raise SyntaxError(
                    f"{name} takes {expected} argument{'s' if expected > 1 else ''}, not {len(args)}"
                )
            for each in args:
                _check(each)
        case _:
            raise SyntaxError(f"{_shorten(ast.unparse(node))!r} is not allowed")


def _value(node: ast.AST, cells: dict[str, Cells]) -> Any:
    match node:
        case ast.Constant(value=value):
            return np.float64(value)  # type: ignore[arg-type]
        case ast.Name(id=name):
            return cells[name]
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](_value(left, cells), _value(right, cells))
        case ast.UnaryOp(op=op, operand=operand):
            return _OPERATORS[type(op)](_value(operand, cells))
        case ast.Call(func=ast.Name(id=name), args=args):
            return _FUNCTIONS[name](*(_value(each, cells) for each in args))
    raise AssertionError(f"unchecked node: {type(node).__name__}")


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


ConfusionFunction = Callable[[FloatArray, FloatArray, FloatArray, FloatArray], ArrayLike]

#: Largest number of confusion matrices on which a function is checked to be monotone.
MAX_CHECKED = 2**24
#: Number of rows of the grid of confusion matrices that are evaluated together.
CHECK_CHUNK_SIZE = 64


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

    strategy: ClassVar[type[search.Strategy]] = search.Monotone

    def __init__(self, function: ConfusionFunction, name: str | None = None) -> None:
        self._function = function
        self._cached_ranges: dict[tuple[float, float], tuple[float, float]] = {}
        self._cached_slopes: dict[tuple[float, ...], tuple[float, float] | None] = {}
        self.name = name or str(getattr(function, "__name__", type(function).__name__))

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_cached_ranges": {}, "_cached_slopes": {}}

    @property
    def function(self) -> ConfusionFunction:
        """The function of (tp, fp, fn, tn)."""
        return self._function

    @property
    def params(self) -> dict[str, object]:
        return {}

    @property
    def label(self) -> str:
        """The formula's text or the function's name; a lambda has none."""
        return "custom measure" if self.name == "<lambda>" else self.name

    def __repr__(self) -> str:
        return f"FunctionMeasure({self.name})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionMeasure) and bool(other._function == self._function)

    def __hash__(self) -> int:
        return hash(self._function)

    def value(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        cells = np.broadcast_arrays(*(np.asarray(cell, dtype=np.float64) for cell in (tp, fp, fn, tn)))
        shape = cells[0].shape
        try:
            with np.errstate(divide="ignore", invalid="ignore"):
                out = np.asarray(self._function(*cells))
        except Exception as error:
            raise MeasureFunctionError(
                f"the measure function {self.name!r} failed on arrays ({error}). It is called with four "
                "arrays (tp, fp, fn, tn): write it with NumPy operations, with np.where in place of if."
            ) from error
        if out.dtype.kind not in "biuf" or out.shape not in (shape, ()):
            raise MeasureFunctionError(
                f"the measure function {self.name!r} must return one number per confusion matrix: for "
                f"arrays of shape {shape} it returned {out.dtype} of shape {out.shape}. Write it with "
                "elementwise NumPy operations."
            )
        out = np.broadcast_to(out.astype(np.float64, copy=False), shape)
        if not np.isfinite(out).all():
            first = int(np.argmin(np.isfinite(out)))
            cells_text = ", ".join(f"{float(cell.flat[first]):g}" for cell in cells)
            raise MeasureFunctionError(
                f"the measure function {self.name!r} returned {out.flat[first]} for "
                f"(tp, fp, fn, tn) = ({cells_text}). Define its value there, with np.where in a function or "
                "max(..., 1) in a formula."
            )
        return out

    def delta(self, tp: Cells, fp: Cells, n_pos: float, n_neg: float) -> Cells:
        best, worst = self._value_range(n_pos, n_neg)
        return (best - self.value(tp, fp, n_pos - tp, n_neg - fp)) / (best - worst)

    def _value_range(self, n_pos: float, n_neg: float) -> tuple[float, float]:
        """The value of a perfect prediction, and the lowest on a grid of confusion matrices."""
        if (n_pos, n_neg) not in self._cached_ranges:
            tp, fp = _grid_points(n_pos)[:, None], _grid_points(n_neg)
            values = self.value(tp, fp, n_pos - tp, n_neg - fp)
            best, worst = float(values[-1, 0]), float(values.min())
            if not best > worst:
                raise MeasureFunctionError(
                    f"the measure function {self.name!r} has the value {best:g} for a perfect prediction "
                    "and no lower value: higher must be better. If it is a loss, return its negative."
                )
            self._cached_ranges[n_pos, n_neg] = best, worst
        return self._cached_ranges[n_pos, n_neg]

    def oracle_for(self, labels: Labels) -> Oracle:
        key = _slope_key(labels)
        if key not in self._cached_slopes:
            self._cached_slopes[key] = self._min_slopes(labels)
        min_slopes = self._cached_slopes[key]
        return self._exhaustive(labels) if min_slopes is None else GuardedOracle(self, labels, min_slopes)

    def _exhaustive(self, labels: Labels) -> ConfusionOracle:
        n_matrices = (labels.pos.n_atoms + 1) * (labels.neg.n_atoms + 1)
        warnings.warn(
            f"the measure {self.name!r} does not rise with tp and fall with fp: each search evaluates all "
            f"{n_matrices:,} confusion matrices.",
            ExhaustiveSearchWarning,
            stacklevel=7,
        )
        return ConfusionOracle(_NonMonotoneMeasure(self._function, self.name), labels)

    def _min_slopes(self, labels: Labels) -> tuple[float, float] | None:
        """The smallest decrease of the loss with a and increase with b; None if it is not monotone."""
        a, b = _levels_to_check(labels.pos.n_atoms), _levels_to_check(labels.neg.n_atoms)
        fall, rise = np.inf, np.inf
        for start in range(0, len(a) - 1, CHECK_CHUNK_SIZE):
            chunk = a[start : start + CHECK_CHUNK_SIZE + 1]
            loss = self._losses(chunk, b, labels)
            fall = min(fall, float((-np.diff(loss, axis=0) / np.diff(chunk)[:, None]).min()))
            rise = min(rise, float((np.diff(loss, axis=1) / np.diff(b)).min()))
        if min(fall, rise) < -1e-12:
            return None
        if slopes := self._slopes_if_linear(fall, rise, labels):
            return slopes
        # Between sampled matrices the slopes may be smaller.
        complete = len(a) == labels.pos.n_atoms + 1 and len(b) == labels.neg.n_atoms + 1
        return (max(fall, 0.0), max(rise, 0.0)) if complete else (0.0, 0.0)

    def _slopes_if_linear(self, fall: float, rise: float, labels: Labels) -> tuple[float, float] | None:
        """Slopes between the corners, without rounding errors, if the smallest slopes equal them."""
        n_a, n_b = labels.pos.n_atoms, labels.neg.n_atoms
        corners = self._losses(np.array([0.0, n_a]), np.array([0.0, n_b]), labels)
        overall = (corners[0, 0] - corners[1, 0]) / n_a, (corners[0, 1] - corners[0, 0]) / n_b
        near = (
            abs(slope - other) <= 1e-9 * other for slope, other in zip((fall, rise), overall, strict=True)
        )
        return (float(overall[0]), float(overall[1])) if all(near) else None

    def _losses(self, a: FloatArray, b: FloatArray, labels: Labels) -> FloatArray:
        tp, fp = a[:, None] * labels.pos.atom_mass, b[None, :] * labels.neg.atom_mass
        loss: FloatArray = self.delta(tp, fp, labels.n_pos, labels.n_neg)
        return loss


class _NonMonotoneMeasure(FunctionMeasure):
    """A function that is not monotone."""

    strategy = search.Exhaustive


class GuardedOracle(LabeledOracle):
    """The fast search; the exhaustive one replaces it if a bound turns out to be wrong."""

    def __init__(self, measure: FunctionMeasure, labels: Labels, min_slopes: tuple[float, float]) -> None:
        self.measure, self.labels = measure, labels
        oracle = ConfusionOracle(measure, labels)
        oracle.strategy.min_slopes = min_slopes
        self.search: Oracle = oracle

    def __call__(self, scores: FloatArray) -> Cut:
        try:
            return self.search(scores)
        except search.NotMonotoneError:
            self.measure._cached_slopes[_slope_key(self.labels)] = None
            self.search = self.measure._exhaustive(self.labels)
            return self.search(scores)

    def within(self, error: float) -> Oracle:
        large = len(self.labels.positive) >= MIN_BINNED_ROWS and isinstance(self.search, ConfusionOracle)
        return BinnedConfusionOracle(self, error, self.measure) if large else self


def _slope_key(labels: Labels) -> tuple[float, ...]:
    """What the slopes of a function depend on."""
    return labels.pos.n_atoms, labels.neg.n_atoms, labels.n_pos, labels.n_neg


def _levels_to_check(count: int) -> FloatArray:
    """All levels from 0 to `count`, or a sample of pairs of neighbors, denser at both ends."""
    side = int(MAX_CHECKED**0.5)
    if count < side:
        return np.arange(count + 1, dtype=np.float64)
    even = np.linspace(0, count - 1, side // 3)
    near = np.geomspace(1, count, side // 12) - 1
    lower = np.unique(np.concatenate([even, near, count - 1 - near]).astype(np.int64))
    return np.unique(np.concatenate([lower, lower + 1])).astype(np.float64)


def _grid_points(mass: float) -> FloatArray:
    """Evenly spaced masses from 0 to `mass`, rounded to integers if it is one."""
    points = np.linspace(0, mass, 65)
    return np.rint(points) if mass == int(mass) else points
