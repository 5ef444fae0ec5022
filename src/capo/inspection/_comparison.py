"""The result of a comparison of `CAPOClassifier` with simpler methods, and its verdict."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.stats import t as student

from .._typing import FloatArray
from ._formatting import count_decimals, format_table, format_value

if TYPE_CHECKING:
    from ..estimators import CAPOClassifier

DEFAULT_LEARNER, TUNED_THRESHOLD, TUNED_STACK = "default learner", "tuned threshold", "tuned stack"
CAPO = "capo"
#: The methods from the simplest to the most complex.
METHODS = (DEFAULT_LEARNER, TUNED_THRESHOLD, TUNED_STACK, CAPO)
#: Quantile of Student's t distribution for a two-sided test at the 5% level.
SIGNIFICANCE_QUANTILE = 0.975
#: Lower limit of a standard error, relative to the largest mean: folds that agree to the last digit are no
#: evidence.
MIN_RELATIVE_ERROR = 1e-4
#: The smallest width of each column of the table.
MIN_WIDTHS = (16, 8, 7, 8)
#: Numbers beyond this in a stored comparison are refused.
MAX_STORED_NUMBER = 1e100


@dataclass(frozen=True)
class MethodResult:
    """One method: its value on each held-out fold and the time of one fit.

    Attributes
    ----------
    name : str
        The method.
    values : ndarray of shape (n_folds,)
        The measure on each held-out fold.
    seconds : float
        Mean time of one fit.
    """

    name: str
    values: FloatArray
    seconds: float

    @property
    def mean(self) -> float:
        """The mean value over folds."""
        return float(self.values.mean())

    @property
    def std(self) -> float:
        """The standard deviation over folds."""
        return float(self.values.std(ddof=1)) if len(self.values) > 1 else 0.0

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Restore one entry of "methods" in `Comparison.to_dict`; raise ValueError for other data."""
        match data:
            case {"name": str() as name, "values": list() as values, "seconds": seconds}:
                if all(_is_finite_number(each) for each in (*values, seconds)):
                    return cls(name, np.array(values, dtype=np.float64), float(seconds))
        raise ValueError(f"{str(data)[:60]} is not a method with a name, a finite value per fold and seconds")


@dataclass(frozen=True)
class ComparisonSource:
    """The data and the auxiliaries of a comparison, to recognize one of another table or model.

    Attributes
    ----------
    pos_label : str
        The positive label; empty for many classes or labels.
    auxiliaries : tuple of str
        Names of the auxiliaries.
    n_rows : int
        Number of rows.
    target : str
        The column of the labels; empty if not known.
    table : str
        The name of the table; empty if not known.
    sha256 : str
        The checksum of the table's file; empty if not known.

    Examples
    --------
    >>> from capo.inspection import ComparisonSource
    >>> source = ComparisonSource("yes", ("boosting",), n_rows=400)
    >>> source.difference(ComparisonSource("no", ("boosting",), n_rows=400))
    "for the positive label 'yes', not for 'no'"
    """

    pos_label: str
    auxiliaries: tuple[str, ...]
    n_rows: int
    target: str = ""
    table: str = ""
    sha256: str = ""

    def difference(self, other: ComparisonSource) -> str:
        """The first difference from another source as text, such as "of 'a.csv', not of 'b.csv'"; or ""."""
        if self.sha256 and other.sha256 and self.sha256 != other.sha256:
            return _describe_tables(self, other)
        if self.n_rows != other.n_rows:
            return f"of {self.n_rows:,} rows, not of {other.n_rows:,}"
        if self.target and other.target and self.target != other.target:
            return f"for the target {self.target!r}, not for {other.target!r}"
        if self.pos_label != other.pos_label:
            return f"for the positive label {self.pos_label!r}, not for {other.pos_label!r}"
        if self.auxiliaries != other.auxiliaries:
            mine, others = ", ".join(self.auxiliaries), ", ".join(other.auxiliaries)
            return f"with the auxiliaries {mine}, not with {others}"
        return ""

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Restore "source" of `Comparison.to_dict`; raise ValueError for other data."""
        match data:
            case {
                "pos_label": str() as pos_label,
                "auxiliaries": list() as auxiliaries,
                "n_rows": int() as n_rows,
                "target": str() as target,
                "table": str() as table,
                "sha256": str() as sha256,
            } if all(isinstance(each, str) for each in auxiliaries):
                return cls(pos_label, tuple(auxiliaries), n_rows, target, table, sha256)
        raise ValueError("its source must have a positive label, auxiliaries, a number of rows and a table")


def _describe_tables(source: ComparisonSource, other: ComparisonSource) -> str:
    if source.table == other.table:
        return f"of other contents of {source.table!r}"
    return f"of {source.table!r}, not of {other.table!r}"


@dataclass(frozen=True)
class Comparison:
    """Four methods on the same held-out folds; prints as a table followed by a verdict.

    Attributes
    ----------
    measure : str
        The measure by which the methods are compared.
    default_learner : str
        The auxiliary used as the default learner.
    methods : list of MethodResult
        The default learner, the same with a tuned threshold, the tuned stack, and capo.
    note : str
        What the values mean, if the measure does not depend on the methods' thresholds.
    source : ComparisonSource, optional
        The data and the auxiliaries that were compared.

    Examples
    --------
    >>> import numpy as np
    >>> from capo.inspection import Comparison, MethodResult
    >>> values = {
    ...     "default learner": [0.60, 0.62, 0.61],
    ...     "tuned threshold": [0.70, 0.71, 0.72],
    ...     "tuned stack": [0.71, 0.70, 0.72],
    ...     "capo": [0.75, 0.76, 0.77],
    ... }
    >>> results = [MethodResult(name, np.array(each), seconds=1.0) for name, each in values.items()]
    >>> gain, standard_error = Comparison("f1", "boosting", results).gain("tuned threshold")
    >>> round(gain, 3)
    0.05
    """

    measure: str
    default_learner: str
    methods: list[MethodResult]
    note: str = ""
    source: ComparisonSource | None = None

    @property
    def folds(self) -> int:
        """Number of held-out folds."""
        return len(self.methods[0].values)

    def gain(self, over: str) -> tuple[float, float]:
        """Mean difference between capo and another method, and its standard error.

        Folds share training rows. The variance of the mean is therefore that of the differences times
        1/k + 1/(k - 1) instead of 1/k, where k is the number of folds (Nadeau and Bengio, 2003).
        """
        by_name = {method.name: method.values for method in self.methods}
        difference, k = by_name[CAPO] - by_name[over], self.folds
        return float(difference.mean()), float(difference.std(ddof=1) * np.sqrt(1 / k + 1 / (k - 1)))

    def _significant_sign(self, over: str) -> int:
        """1 if capo is significantly better than another method, -1 if significantly worse, else 0."""
        gain, error = self.gain(over)
        largest = max((abs(each.mean) for each in self.methods if np.isfinite(each.mean)), default=0.0)
        smallest_error = max(error, MIN_RELATIVE_ERROR * largest)
        needed = float(student.ppf(SIGNIFICANCE_QUANTILE, self.folds - 1)) * smallest_error
        return int(gain > needed) - int(gain < -needed)

    @property
    def verdict(self) -> str:
        """Whether capo is better here than simpler methods, as text."""
        others = [each for each in self.methods if each.name != CAPO]
        others.sort(key=_mean_nan_last, reverse=True)
        alternative = next((each for each in others if self._significant_sign(each.name) < 0), others[0])
        sign = self._significant_sign(alternative.name)
        gain, error = self.gain(alternative.name)
        decimals = count_decimals(each.mean for each in self.methods)
        difference = f"{format_value(gain, decimals, sign='+')} ± {format_value(error, decimals)}"
        evidence = f"{self.measure} {difference} (standard error) compared with the {alternative.name}"
        if sign < 0:
            return f"capo is worse here than a simpler method: {evidence}. Use the {alternative.name}."
        if sign > 0:
            return f"capo is better here than simpler methods: {evidence}, the best alternative."
        simplest = next(each for each in self.methods if self._significant_sign(each.name) == 0)
        return (
            f"capo is not better here than simpler methods: {evidence}, the best alternative; with "
            f"{self.folds} folds this difference is not statistically significant. The simplest "
            f"statistically equivalent option is the {simplest.name}."
        )

    def difference(
        self, model: CAPOClassifier, *, target: str = "", table: str = "", sha256: str = ""
    ) -> str:
        """How the comparison differs from the training of a model, as text; "" if it is of the same.

        Parameters
        ----------
        model : CAPOClassifier
            The fitted model.
        target, table, sha256 : str, optional
            The label column, the name and the checksum of the model's training table, if they are known.

        Returns
        -------
        str
            Such as "for f1, not for mcc". A comparison without a source is known by its measure only.
        """
        if self.measure != model.measure_.label:
            return f"for {self.measure}, not for {model.measure_.label}"
        trained = ComparisonSource(
            "" if hasattr(model, "delegate_") else str(model.pos_label_),
            tuple(model.auxiliaries_),
            len(model.auxiliary_outputs_),
            target,
            table,
            sha256,
        )
        return "" if self.source is None else self.source.difference(trained)

    def to_dict(self) -> dict[str, Any]:
        """The comparison as values that JSON can hold."""
        return {
            "measure": self.measure,
            "default_learner": self.default_learner,
            "folds": self.folds,
            "methods": [
                {
                    "name": each.name,
                    "value": each.mean,
                    "std": each.std,
                    "seconds": each.seconds,
                    "values": each.values.tolist(),
                }
                for each in self.methods
            ],
            "verdict": self.verdict,
            "note": self.note,
            "source": None
            if self.source is None
            else {**asdict(self.source), "auxiliaries": list(self.source.auxiliaries)},
        }

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Restore a comparison from the output of `to_dict`.

        Parameters
        ----------
        data : dict
            "measure", "default_learner" and "methods" as `to_dict` returns them, for instance read from
            JSON; "note" and "source" are optional. Means, standard deviations and the verdict are computed
            again from the values on the folds.

        Raises
        ------
        ValueError
            If `data` is not of that form.

        Examples
        --------
        >>> import numpy as np
        >>> from capo.inspection import Comparison, MethodResult
        >>> names = ["default learner", "tuned threshold", "tuned stack", "capo"]
        >>> methods = [MethodResult(name, np.array([0.7, 0.8]), seconds=1.0) for name in names]
        >>> stored = Comparison("f1", "boosting", methods).to_dict()
        >>> Comparison.from_dict(stored).folds
        2
        """
        match data:
            case {
                "measure": str() as measure,
                "default_learner": str() as learner,
                "methods": list() as entries,
                **others,
            }:
                methods = [MethodResult.from_dict(each) for each in entries]
            case _:
                raise ValueError('it needs the keys "measure", "default_learner" and "methods"')
        if {each.name for each in methods} != set(METHODS) or len(methods) != len(METHODS):
            raise ValueError(f"its methods must be {', '.join(METHODS)}, each once")
        counts = {len(each.values) for each in methods}
        if len(counts) > 1 or min(counts) < 2:
            raise ValueError("its methods must have the same number of values, at least 2")
        source = None if others.get("source") is None else ComparisonSource.from_dict(others["source"])
        return cls(measure, learner, methods, str(others.get("note", "")), source)

    def __str__(self) -> str:
        decimals = count_decimals(each.mean for each in self.methods)
        table = [("held-out folds", self.measure, "std", "seconds")]
        for each in self.methods:
            value, std = format_value(each.mean, decimals), format_value(each.std, decimals)
            table.append((each.name, value, std, f"{each.seconds:,.1f}"))
        legend = "std: standard deviation over folds; seconds: time of one fit"
        notes = [legend, self.note] if self.note else [legend]
        return "\n".join([*format_table(table, MIN_WIDTHS), *notes, "", self.verdict])

    __repr__ = __str__


def _is_finite_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MAX_STORED_NUMBER


def _mean_nan_last(method: MethodResult) -> float:
    return -np.inf if np.isnan(method.mean) else method.mean
