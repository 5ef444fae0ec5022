"""Plots in scikit-learn's manner: a Display holds the numbers, `from_estimator` makes it, `plot` draws.

They need matplotlib, which ``pip install capo-learn[plots]`` brings.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from .._typing import FloatArray
from ..exceptions import InvalidInputError, MissingExtraError
from ..measures import Measure
from ..preprocessing import positive_mask

__all__ = ["CPathDisplay", "SolverDisplay", "ThresholdDisplay", "WeightsDisplay"]


#: Thresholds at which the measure is drawn.
GRID = 400


class Display(ABC):
    """Numbers that can be drawn; after `plot`, `ax_` and `figure_` are what they were drawn on."""

    ax_: Any
    figure_: Any

    @abstractmethod
    def _draw(self, ax: Any) -> None:
        """Draw on the axes."""

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax`, or on axes of a new figure."""
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
class ThresholdDisplay(Display):
    """The measure against the threshold, with the chosen point.

    Attributes
    ----------
    thresholds : ndarray
        Probabilities above which a row is positive.
    values : ndarray
        The measure at each of them.
    chosen : float
        The threshold of the model.
    value : float
        The measure at the chosen threshold.
    name : str
        The measure.

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
    chosen: float
    value: float
    name: str

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, *, sample_weight: ArrayLike | None = None, ax: Any = None
    ) -> Self:
        """From a fitted CAPOClassifier, on the rows given."""
        check_is_fitted(estimator)
        return cls.from_predictions(
            positive_mask(y, estimator.classes_),
            expit(estimator.decision_function(X) + estimator._log_odds_cut),
            measure=estimator.measure_,
            threshold=estimator.threshold_,
            sample_weight=sample_weight,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        measure: Measure,
        threshold: float,
        sample_weight: ArrayLike | None = None,
        ax: Any = None,
    ) -> Self:
        """From labels and the probabilities of the positive class."""
        if not measure.needs_threshold:
            raise InvalidInputError(
                f"{measure.label} depends on the order of the scores, not on where they are cut: there is no "
                "curve over thresholds to draw."
            )
        share = np.asarray(y_score, dtype=np.float64)
        thresholds = np.unique(np.append(np.quantile(share, np.linspace(0, 1, GRID)), threshold))

        def value(cut: float) -> float:
            return measure.score(y_true, share - cut, sample_weight)

        values = np.array([value(cut) for cut in thresholds])
        return cls(thresholds, values, threshold, value(threshold), measure.label).plot(ax)

    def _draw(self, ax: Any) -> None:
        ax.plot(self.thresholds, self.values, drawstyle="steps-post")
        ax.plot([self.chosen], [self.value], "o", label=f"chosen: {self.name} {self.value:.4f}")
        ax.set(xlabel="threshold (probability of the positive class)", ylabel=self.name)
        ax.legend()


@dataclass
class CPathDisplay(Display):
    """The measure out of fold along the path of C's, with its spread and the chosen C.

    Attributes
    ----------
    C, values, spread : ndarray
        The C's, the measure and its standard deviation over folds.
    chosen : float
        The C of the model.
    name : str
        The measure.
    """

    C: FloatArray
    values: FloatArray
    spread: FloatArray
    chosen: float
    name: str

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """From a fitted CAPOClassifier."""
        check_is_fitted(estimator)
        found = estimator.cv_results_
        return cls(
            found["param_C"],
            found["test_score"],
            found["std_test_score"],
            estimator.C_,
            estimator.measure_.label,
        ).plot(ax)

    def _draw(self, ax: Any) -> None:
        above = self.C[self.C > 0]
        ax.set_xscale("symlog", linthresh=above.min() if above.size else 1.0)
        ax.fill_between(self.C, self.values - self.spread, self.values + self.spread, alpha=0.2)
        ax.plot(self.C, self.values, ".-")
        ax.plot(
            [self.chosen], self.values[self.chosen == self.C], "o", label=f"chosen: C = {self.chosen:.3g}"
        )
        ax.set(xlabel="C (0 is the prior)", ylabel=f"{self.name} out of fold")
        ax.legend()


@dataclass
class WeightsDisplay(Display):
    """The auxiliaries' weights.

    Attributes
    ----------
    names : list of str
        The auxiliaries.
    weights : ndarray
        Their weights.
    """

    names: list[str]
    weights: FloatArray

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """From a fitted CAPOClassifier."""
        check_is_fitted(estimator)
        given = estimator.auxiliary_weights_
        return cls(list(given), np.array(list(given.values()))).plot(ax)

    def _draw(self, ax: Any) -> None:
        ax.barh(self.names[::-1], self.weights[::-1])
        ax.axvline(0.0, color="black", linewidth=0.8)
        ax.set(xlabel="weight of the auxiliary's log-odds")


@dataclass
class SolverDisplay(Display):
    """The solver's primal and dual value over its rounds: the certificate as it closes.

    Attributes
    ----------
    primal, dual : ndarray
        The value of the best point and the lower bound, after each round; last, those of the certificate.
    """

    primal: FloatArray
    dual: FloatArray

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """From a fitted classifier that keeps its solution."""
        check_is_fitted(estimator)
        if estimator.solution_ is None or not estimator.solution_.history:
            raise InvalidInputError(
                "there are no rounds to draw: the prior was kept or was already within the tolerance."
            )
        # The last pair is that of the certificate, computed afresh.
        states = [*estimator.solution_.history, estimator.solution_]
        primal, dual = ([getattr(each, value) for each in states] for value in ("primal", "dual"))
        return cls(np.array(primal), np.array(dual)).plot(ax)

    def _draw(self, ax: Any) -> None:
        rounds = np.arange(1, len(self.primal) + 1)
        ax.plot(rounds, self.primal, label="primal: the best point so far")
        ax.plot(rounds, self.dual, label="dual: no point is lower")
        ax.fill_between(rounds, self.dual, self.primal, alpha=0.15)
        ax.set(xlabel="round", ylabel="objective")
        ax.legend()
