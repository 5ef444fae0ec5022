"""Plots in the style of scikit-learn's displays.

A display holds the numbers, `from_estimator` creates and draws it, and `plot` draws it again. The displays
need matplotlib: ``pip install 'capo-learn[plots]'``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from .._compat import ArrayLike, FloatArray
from ..exceptions import InvalidInputError, MissingExtraError
from ..tables.targets import positive_mask
from ._formatting import format_value

#: Number of thresholds at which the measure is evaluated.
N_THRESHOLDS = 400


class _Display:
    """Numbers that `_draw` draws; `plot` sets `ax_` and `figure_`."""

    ax_: Any
    figure_: Any
    _draw: Callable[[Any], None]

    def plot(self, ax: Any = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw on; by default those of a new figure.

        Returns
        -------
        Self
            The display, with the axes as `ax_` and their figure as `figure_`.
        """
        try:
            import matplotlib.pyplot as plt  # noqa: PLC0415 (an extra)
        except ImportError as error:
            raise MissingExtraError("plots need matplotlib: pip install 'capo-learn[plots]'.") from error
        if ax is None:
            _, ax = plt.subplots()
        self._draw(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


@dataclass
class ThresholdDisplay(_Display):
    """The measure as a function of the threshold, with the model's threshold marked.

    Attributes
    ----------
    thresholds : ndarray
        Thresholds; rows with a higher probability are predicted as positive.
    values : ndarray
        The measure at each threshold.
    chosen_threshold : float
        The model's threshold.
    chosen_value : float
        The measure at the model's threshold.
    measure_name : str
        The measure.
    ax_, figure_ : matplotlib Axes and Figure
        Set by `plot`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from capo import CAPOClassifier
    >>> from capo.inspection import ThresholdDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CAPOClassifier("f1", auxiliaries=[GaussianNB()], random_state=0).fit(X, y)
    >>> display = ThresholdDisplay.from_estimator(model, X, y)
    >>> display.ax_.get_xlabel()
    'threshold (probability of the positive class)'
    """

    thresholds: FloatArray
    values: FloatArray
    chosen_threshold: float
    chosen_value: float
    measure_name: str

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None, ax: Any = None
    ) -> Self:
        """Evaluate a fitted CAPOClassifier on labeled rows, and draw."""
        check_is_fitted(estimator)
        measure, threshold = estimator.measure_, estimator.threshold_
        at_threshold = measure.at_threshold()
        if at_threshold is None:
            raise InvalidInputError(
                f"{measure.label} depends on the order of the scores and not on a threshold: there is no "
                "curve over thresholds to draw."
            )
        positive = positive_mask(y, estimator.label_pair)
        probability = expit(estimator.log_odds(X))
        quantiles = np.quantile(probability, np.linspace(0, 1, N_THRESHOLDS))
        thresholds = np.unique(np.append(quantiles, threshold))

        def value_at(cut: float) -> float:
            return float(at_threshold.score(positive, probability - cut, sample_weight))

        values = np.array([value_at(cut) for cut in thresholds])
        return cls(thresholds, values, threshold, value_at(threshold), measure.label).plot(ax)

    def _draw(self, ax: Any) -> None:
        chosen = f"chosen: {self.measure_name} {format_value(self.chosen_value)}"
        ax.plot(self.thresholds, self.values, drawstyle="steps-post")
        ax.plot([self.chosen_threshold], [self.chosen_value], "o", label=chosen)
        ax.set(xlabel="threshold (probability of the positive class)", ylabel=self.measure_name)
        ax.legend()


@dataclass
class CPathDisplay(_Display):
    """The out-of-fold value of the measure for each C, with the chosen C marked.

    Attributes
    ----------
    C : ndarray
        The values of C that were tried; C = 0 keeps the prior, the model before adaptation.
    values : ndarray
        The out-of-fold value of the measure for each C.
    std : ndarray
        Its standard deviation over folds, drawn as a band.
    chosen_C : float
        The model's C.
    measure_name : str
        The measure.
    ax_, figure_ : matplotlib Axes and Figure
        Set by `plot`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from capo import CAPOClassifier
    >>> from capo.inspection import CPathDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CAPOClassifier("f1", auxiliaries=[GaussianNB()], C=[1.0, 10.0], random_state=0).fit(X, y)
    >>> CPathDisplay.from_estimator(model).C.tolist()
    [0.0, 1.0, 10.0]
    """

    C: FloatArray
    values: FloatArray
    std: FloatArray
    chosen_C: float
    measure_name: str

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Read `cv_results_` of a fitted CAPOClassifier, and draw."""
        check_is_fitted(estimator)
        results = estimator.cv_results_
        return cls(
            results["param_C"],
            results["test_score"],
            results["std_test_score"],
            estimator.C_,
            estimator.measure_.label,
        ).plot(ax)

    def _draw(self, ax: Any) -> None:
        nonzero = self.C[self.C > 0]
        ax.set_xscale("symlog", linthresh=nonzero.min() if nonzero.size else 1.0)
        ax.fill_between(self.C, self.values - self.std, self.values + self.std, alpha=0.2)
        ax.plot(self.C, self.values, ".-")
        chosen_value = self.values[self.chosen_C == self.C]
        ax.plot([self.chosen_C], chosen_value, "o", label=f"chosen: C = {self.chosen_C:.3g}")
        ax.set(xlabel="C (0 keeps the prior)", ylabel=f"{self.measure_name}, out of fold")
        ax.legend()


@dataclass
class SolverDisplay(_Display):
    """The solver's primal and dual objective after each iteration.

    The difference between them, the duality gap, bounds the distance of the solution from the optimum.

    Attributes
    ----------
    primal : ndarray
        The lowest objective found after each iteration; the last value is that of the solution.
    dual : ndarray
        The lower bound on the objective after each iteration; the last value is that of the solution.
    ax_, figure_ : matplotlib Axes and Figure
        Set by `plot`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from capo import SVMPerfClassifier
    >>> from capo.inspection import SolverDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> display = SolverDisplay.from_estimator(SVMPerfClassifier("f1", C=10.0).fit(scale(X), y))
    >>> bool(display.primal[-1] >= display.dual[-1])
    True
    """

    primal: FloatArray
    dual: FloatArray

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Read `solution_` of a fitted classifier, and draw."""
        check_is_fitted(estimator)
        if estimator.solution_ is None or not estimator.solution_.history:
            raise InvalidInputError(
                "there are no solver iterations to draw: the prior was kept, or it was already within the "
                "tolerance."
            )
        # The solution's own values are recomputed after the last iteration.
        states = [*estimator.solution_.history, estimator.solution_]
        primal, dual = ([getattr(each, value) for each in states] for value in ("primal", "dual"))
        return cls(np.array(primal), np.array(dual)).plot(ax)

    def _draw(self, ax: Any) -> None:
        iterations = np.arange(1, len(self.primal) + 1)
        ax.plot(iterations, self.primal, label="primal: lowest objective found")
        ax.plot(iterations, self.dual, label="dual: lower bound on the objective")
        ax.fill_between(iterations, self.dual, self.primal, alpha=0.15)
        ax.set(xlabel="iteration", ylabel="objective")
        ax.legend()
