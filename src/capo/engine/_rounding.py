"""Bounds of the rounding errors in scores, slopes and risks, so that a certificate holds with them.

With u the unit roundoff, a sum of n products is off by at most n u times the sum of their absolute values,
and with near certainty by less than 10 sqrt(n) u times it (Higham and Mary, SIAM J. Sci. Comput. 41, 2019).
The sums of absolute values are products with |A|: its column sums, taken once, bound the errors at any v,
and tell whether they matter. Only if they do, the errors of single scores and slopes are bounded, by more
products with |A|.
"""

from __future__ import annotations

import math

import numpy as np

from .._compat import FloatArray
from ..exceptions import InvalidInputError
from ._designs import NOT_FINITE, BoundedDesign
from ._line_search import Oracle, evaluate_risk

#: Half the distance from 1 to the next larger float64.
UNIT_ROUNDOFF = 0.5 * float(np.finfo(np.float64).eps)
#: The largest number in a design: squares and their sums must not overflow.
MAX_ELEMENT = 1e100
#: Rounding errors of the risk below this share of the tolerance are not bounded any closer.
NEGLIGIBLE_SHARE = 0.01


def relative_error(n_terms: int) -> float:
    """The rounding error of a sum of products, relative to the sum of their absolute values.

    Parameters
    ----------
    n_terms : int
        The number of products.

    Returns
    -------
    float
        A bound that holds with near certainty.

    References
    ----------
    N. J. Higham and T. Mary. A new approach to probabilistic rounding error analysis. SIAM Journal on
    Scientific Computing 41(5), 2019.

    Examples
    --------
    >>> from capo.engine import relative_error
    >>> relative_error(10_000) < 1e-12
    True
    """
    return (min(n_terms, 10.0 * math.sqrt(n_terms)) + 2.0) * UNIT_ROUNDOFF


class RoundingErrors:
    """Bounds of rounding errors for one design; refuses a design whose squares would overflow.

    `slope_factor` multiplies the errors of slopes that are not computed from all rows.
    """

    def __init__(self, design: BoundedDesign, slope_factor: float = 1.0) -> None:
        self.slope_factor = slope_factor
        n_rows, n_coef = design.shape
        self.design = design
        self.row_sum_error, self.score_error = relative_error(n_rows), relative_error(n_coef)
        self.max_coef = 1.0 / max(n_rows, 1)
        with np.errstate(over="ignore", invalid="ignore"):
            self.column_sums = design.rmatvec(np.ones(n_rows), absolute=True)
            if not self.column_sums.max(initial=0.0) > MAX_ELEMENT:
                return  # NaN is found in the products
            column = int(np.argmax(self.column_sums))
            elements = design.matvec(1.0 * (np.arange(n_coef) == column), absolute=True)
        row = int(np.argmax(elements))
        if not np.isfinite(elements[row]):
            raise InvalidInputError(NOT_FINITE)
        raise InvalidInputError(
            f"column {column} of the design holds {elements[row]:.3g} in row {row} (both counted from 0): "
            f"numbers above {MAX_ELEMENT:g} overflow in the solver's products. Scale this feature, clip it, "
            "or remove the row."
        )

    def note_cut(self, coef: FloatArray) -> None:
        """Raise the largest coefficient of a cut to that of this one."""
        self.max_coef = max(self.max_coef, float(coef.max(initial=0.0)), -float(coef.min(initial=0.0)))

    @property
    def max_slopes(self) -> FloatArray:
        """Upper bounds of the sizes of a cut's slopes, one per coefficient."""
        return self.max_coef * self.column_sums

    def risk_error(self, v: FloatArray) -> float:
        """An upper bound of the error of R at v, from column sums alone."""
        error = self.row_sum_error + self.score_error
        return error * (1.0 + float(self.max_slopes @ np.abs(v)))

    def is_significant(self, v: FloatArray, tol: float) -> bool:
        """Whether errors at v may exceed a small share of the tolerance, with slopes that are updated."""
        return not self.slope_factor * self.risk_error(v) <= NEGLIGIBLE_SHARE * tol

    def slope_error(self, coef: FloatArray) -> FloatArray:
        """How far the slope of the cut with these coefficients can be off."""
        return self.row_sum_error * self.design.rmatvec(coef, absolute=True)

    def close_risk_error(self, oracle: Oracle, v: FloatArray, scores: FloatArray, risk: float) -> float:
        """An upper bound of the error of R at v, from the errors of single scores.

        For a monotone R it is evaluated where all scores are worse by their errors, so that a row far on the
        right side does not count however large its score is.
        """
        errors = self.score_error * self.design.matvec(v, absolute=True)
        direction = getattr(oracle, "direction", None)
        if direction is None:
            worst, coef = risk + self.max_coef * float(errors.sum()), np.full(len(scores), self.max_coef)
        else:
            worst, cut, _ = evaluate_risk(oracle, scores - direction * errors)
            coef = np.abs(cut.coef)
        sum_error = self.row_sum_error * (1.0 + float(coef @ (np.abs(scores) + errors)))
        return max(worst - risk, 0.0) + sum_error
