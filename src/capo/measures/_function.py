"""The user's own measure: any vectorised function of (tp, fp, fn, tn)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from .._typing import FloatArray
from ..exceptions import ExhaustiveSearchWarning, MeasureFunctionError
from . import _search as search
from ._base import Cells, Cut, Oracle
from ._confusion import ConfusionMeasure, ConfusionOracle
from ._labels import Labels

TableFunction = Callable[[FloatArray, FloatArray, FloatArray, FloatArray], ArrayLike]

#: Up to this many tables are all looked at to find out whether a function is monotone.
MOST_CHECKED = 2**24
#: Rows of the grid of tables that are looked at together.
ROWS_CHECKED = 64


class FunctionMeasure(ConfusionMeasure):
    """A function of (tp, fp, fn, tn) as a measure.

    Higher must be better. Its loss is the distance from the perfect table, scaled by the
    distance between the perfect and the worst one. Where the function rises with tp and
    falls with fp, the worst labelling is found as fast as for the built-in measures; this
    is checked, on all tables where there are up to 16 million and on a dense sample of them
    otherwise, and again on every block that the search bounds. Any other function is
    searched exhaustively, with a warning.

    Parameters
    ----------
    function : callable
        Takes four arrays and returns one number per table.
    name : str, optional
        How the measure is called; the function's own name if not given.

    Examples
    --------
    >>> from capo.measures import FunctionMeasure
    >>> profit = FunctionMeasure(lambda tp, fp, fn, tn: 10 * tp - 2 * fp, name="profit")
    >>> profit.score([1, 1, 0, 0], [0.3, -0.2, 0.1, -0.5])
    8.0
    """

    strategy: ClassVar[type[search.Strategy]] = search.Monotone

    def __init__(self, function: TableFunction, name: str | None = None) -> None:
        self._function = function
        self._known_ends: dict[tuple[float, float], tuple[float, float]] = {}
        self.name = name or str(getattr(function, "__name__", type(function).__name__))

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_known_ends": {}}

    @property
    def function(self) -> TableFunction:
        """The function that the measure was made from."""
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
                f"the measure function {self.name!r} failed on arrays of tables ({error}). It is called with "
                "four arrays (tp, fp, fn, tn); write it with NumPy operations, np.where in the place of if."
            ) from error
        if out.dtype.kind not in "biuf" or out.shape not in (shape, ()):
            raise MeasureFunctionError(
                f"the measure function {self.name!r} must return one number per table: for cells of "
                f"shape {shape} it returned {out.dtype} of shape {out.shape}. Write it with NumPy "
                "operations that work element by element."
            )
        out = np.broadcast_to(out.astype(np.float64, copy=False), shape)
        if not np.isfinite(out).all():
            first = int(np.argmin(np.isfinite(out)))
            table = ", ".join(f"{float(cell.flat[first]):g}" for cell in cells)
            raise MeasureFunctionError(
                f"the measure function {self.name!r} returned {out.flat[first]} for the table "
                f"(tp, fp, fn, tn) = ({table}). Give it a value there, with np.where in a function or "
                "max(..., 1) in a formula."
            )
        return out

    def delta(self, tp: Cells, fp: Cells, n_pos: float, n_neg: float) -> Cells:
        best, worst = self._ends(n_pos, n_neg)
        return (best - self.value(tp, fp, n_pos - tp, n_neg - fp)) / (best - worst)

    def _ends(self, n_pos: float, n_neg: float) -> tuple[float, float]:
        """The value of the perfect table and the lowest on a grid of tables with all corners."""
        if (n_pos, n_neg) not in self._known_ends:
            tp, fp = _spaced(n_pos)[:, None], _spaced(n_neg)
            values = self.value(tp, fp, n_pos - tp, n_neg - fp)
            best, worst = float(values[-1, 0]), float(values.min())
            if not best > worst:
                raise MeasureFunctionError(
                    f"the measure function {self.name!r} gives the perfect table {best:g} and no table "
                    "less: higher must be better. If it is a loss, return its negative."
                )
            self._known_ends[n_pos, n_neg] = best, worst
        return self._known_ends[n_pos, n_neg]

    def oracle(self, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Oracle:
        labels = Labels.of(y, sample_weight)
        tilt = self._least_slopes(labels)
        return self._exhaustive(labels) if tilt is None else GuardedOracle(self, labels, tilt)

    def _exhaustive(self, labels: Labels) -> ConfusionOracle:
        tables = (labels.pos.levels + 1) * (labels.neg.levels + 1)
        warnings.warn(
            f"the measure {self.name!r} does not rise with tp and fall with fp, so each search goes "
            f"through all {tables:,} tables.",
            ExhaustiveSearchWarning,
            stacklevel=4,
        )
        return ConfusionOracle(_AnyFunction(self._function, self.name), labels)

    def _least_slopes(self, labels: Labels) -> tuple[float, float] | None:
        """By how much the loss falls with each a and rises with each b at least; None if it does not."""
        a, b = _levels(labels.pos.levels), _levels(labels.neg.levels)
        fall, rise = np.inf, np.inf
        for start in range(0, len(a) - 1, ROWS_CHECKED):
            some = a[start : start + ROWS_CHECKED + 1]
            loss = self._loss_of(some, b, labels)
            fall = min(fall, float((-np.diff(loss, axis=0) / np.diff(some)[:, None]).min()))
            rise = min(rise, float((np.diff(loss, axis=1) / np.diff(b)).min()))
        if min(fall, rise) < -1e-12:
            return None
        if slopes := self._slopes_if_linear(fall, rise, labels):
            return slopes
        # Between the tables of a sample the loss may be flatter than at any of them.
        complete = len(a) == labels.pos.levels + 1 and len(b) == labels.neg.levels + 1
        return (max(fall, 0.0), max(rise, 0.0)) if complete else (0.0, 0.0)

    def _slopes_if_linear(self, fall: float, rise: float, labels: Labels) -> tuple[float, float] | None:
        """Slopes over the whole grid, free of rounding, if the least ones are the same."""
        n_a, n_b = labels.pos.levels, labels.neg.levels
        corners = self._loss_of(np.array([0.0, n_a]), np.array([0.0, n_b]), labels)
        whole = (corners[0, 0] - corners[1, 0]) / n_a, (corners[0, 1] - corners[0, 0]) / n_b
        near = (abs(slope - other) <= 1e-9 * other for slope, other in zip((fall, rise), whole, strict=True))
        return (float(whole[0]), float(whole[1])) if all(near) else None

    def _loss_of(self, a: FloatArray, b: FloatArray, labels: Labels) -> FloatArray:
        tp, fp = a[:, None] * labels.pos.unit, b[None, :] * labels.neg.unit
        loss: FloatArray = self.delta(tp, fp, labels.n_pos, labels.n_neg)
        return loss


class _AnyFunction(FunctionMeasure):
    """The same function where nothing is known of its shape."""

    strategy = search.Exhaustive


class GuardedOracle:
    """The fast search, given up for the exhaustive one as soon as a bound proves wrong."""

    def __init__(self, measure: FunctionMeasure, labels: Labels, tilt: tuple[float, float]) -> None:
        self.measure, self.labels = measure, labels
        search_tables = ConfusionOracle(measure, labels)
        search_tables.strategy.tilt = tilt
        self.search: Oracle = search_tables

    def __call__(self, scores: FloatArray) -> Cut:
        try:
            return self.search(scores)
        except search.NotMonotoneError:
            self.search = self.measure._exhaustive(self.labels)
            return self.search(scores)


def _levels(count: int) -> FloatArray:
    """All levels 0..count, or a sample with neighbours, denser at both ends."""
    side = int(MOST_CHECKED**0.5)
    if count < side:
        return np.arange(count + 1, dtype=np.float64)
    even = np.linspace(0, count - 1, side // 3)
    near = np.geomspace(1, count, side // 12) - 1
    some = np.unique(np.concatenate([even, near, count - 1 - near]).astype(np.int64))
    return np.unique(np.concatenate([some, some + 1])).astype(np.float64)


def _spaced(mass: float) -> FloatArray:
    """Some masses from 0 to all of it, whole numbers if that is one."""
    levels = np.linspace(0, mass, 65)
    return np.rint(levels) if mass == int(mass) else levels
