"""A fitted classifier made ready for where it is used: a guarantee, another population, another place."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..exceptions import InvalidInputError
from ..guarantees import Constraint
from ..label_shift import Population
from ._guarantee import certify_threshold, move_threshold, warn_of_dependent_rows
from ._population import (
    MAX_MIXTURE_DISTANCE,
    adjust_model,
    check_prevalence,
    class_scores,
    current_shift,
    find_population,
)
from ._prices import PricedClassifier
from ._refit import check_new_rows, make_refit


class DeployableClassifier(PricedClassifier):
    """Makes models of a fitted one: with a guarantee, for another share of positives, for new rows."""

    def guarantee(
        self,
        X: Any,
        y: ArrayLike,
        *,
        constraint: str | Constraint | None = None,
        confidence: float | None = None,
        objective: Any = None,
        groups: ArrayLike | None = None,
        random_state: int = 0,
    ) -> Self:
        """Return this model with a threshold that keeps a constraint on new rows with a given confidence.

        If the rows of X are independent draws from where the model will be used, and neither training nor an
        earlier choice has used them, the constraint holds on new rows with probability `confidence`,
        whatever the distribution. If no threshold passes the test, no row is predicted positive (for a
        constraint on recall, fnr or npv: every row), and ``guarantee_`` says how many rows would be needed.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            Calibration rows that nothing in this model has seen.
        y : array-like of shape (n_samples,)
            Their labels.
        constraint : str or capo.guarantees.Constraint, optional
            Such as ``"precision >= 0.9"`` or ``"fpr <= 0.05"``; `capo.guarantees.rate_names()` lists the
            rates. By default that of the measure, such as recall_at_precision.
        confidence : float, optional
            By default that of the measure, or 0.95.
        objective : str, Measure or callable, optional
            What to maximize subject to the constraint; by default the highest recall for a precision, fdr,
            fpr, specificity or positive_rate, and the fewest predicted positives for the others.
        groups : array-like of shape (n_samples,), optional
            Rows of one group may depend on each other: one row is drawn from each group, and the promise is
            about a random row of a new group.
        random_state : int, default=0
            Seed of the plan of the thresholds, and of the draw from groups.

        Returns
        -------
        CAPOClassifier
            A copy with its own `threshold_` and with `guarantee_`; this model is unchanged.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from capo import CAPOClassifier
        >>> X, y = make_classification(3000, class_sep=1.5, random_state=0)
        >>> model = CAPOClassifier(auxiliaries=[GaussianNB()], delta=None, random_state=0)
        >>> model = model.fit(X[:1000], y[:1000])
        >>> promised = model.guarantee(X[1000:], y[1000:], constraint="precision >= 0.9")
        >>> print(promised.guarantee_)
        precision >= 0.9 on new rows like the calibration rows, with 95% confidence: ...
        """
        check_is_fitted(self, "auxiliaries_")
        if self._delegate is not None:
            raise InvalidInputError(
                "a guarantee is for a model of two classes and a measure of them, such as 'f1': to guarantee "
                "a rate of one class or label, train a model of it against the rest."
            )
        if groups is None:
            warn_of_dependent_rows(self._check_X(X, reset=False), stacklevel=2)
        certified = copy(self)
        certified.guarantee_ = certify_threshold(
            self,
            X,
            y,
            constraint=constraint,
            confidence=confidence,
            objective=objective,
            groups=groups,
            random_state=random_state,
        )
        move_threshold(certified, certified.guarantee_.cut)
        return certified

    def for_population(
        self,
        X: Any = None,
        *,
        prevalence: float | None = None,
        max_distance: float = MAX_MIXTURE_DISTANCE,
        random_state: int = 0,
    ) -> Self:
        """Return this model adjusted to a population with another share of positives.

        The probabilities are those of the new population, and the threshold is the one with the best
        expected value of the measure there. The share of positives is estimated from unlabeled rows by
        maximum likelihood (the EM algorithm), assuming that each class looks as it did in training; if its
        95% interval holds the share in training, nothing is changed.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features), optional
            Unlabeled rows of the new population.
        prevalence : float, optional
            The share of positives in the new population, if it is known; X then only places the threshold.
        max_distance : float, default=0.06
            If the scores of X are further than this, plus the sampling error, from every mixture of the
            two classes as trained, more than the share of positives has changed, and the model is not
            adjusted.
        random_state : int, default=0
            Seed of the bootstrap.

        Returns
        -------
        CAPOClassifier
            A copy with its own probabilities and threshold and with `population_`; this model is unchanged.

        Raises
        ------
        LabelShiftError
            If more than the share of positives has changed.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from capo import CAPOClassifier
        >>> X, y = make_classification(2000, class_sep=1.5, random_state=0)
        >>> model = CAPOClassifier(auxiliaries=[GaussianNB()], delta=None, random_state=0).fit(X, y)
        >>> rare = model.for_population(prevalence=0.02)
        >>> bool(rare.predict(X).sum() < model.predict(X).sum())
        True
        """
        check_is_fitted(self, "auxiliaries_")
        self._check_adjustable()
        if X is None and prevalence is None:
            raise InvalidInputError("pass rows of the new population, or its prevalence.")
        log_odds = None if X is None else self.log_odds(X) - current_shift(self)
        if prevalence is not None:
            population = Population.from_prevalence(check_prevalence(prevalence), class_scores(self))
        else:
            assert log_odds is not None
            population = find_population(self, log_odds, max_distance, random_state)
        adjusted = copy(self)
        adjust_model(adjusted, population, log_odds, self.threshold)
        return adjusted

    def refit_on(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: Any) -> Self:
        """Return a model for the place of these labeled rows: this one beside models trained on them.

        This model is used as it is, as a frozen auxiliary. The auxiliaries that it was trained with are
        trained on the new rows, and the stack weighs all of them, shrunk toward this model: with 50 rows the
        result is close to this model with another threshold, with 1,000 to models of the new rows. Weights,
        calibration and threshold are learned from out-of-fold outputs. The same by hand, for a model of any
        kind, is ``CAPOClassifier(measure, auxiliaries=[FrozenEstimator(old), "auto"])``.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            Rows from where the model is to be used, with the columns of the training table. This model must
            not have been trained on them.
        y : array-like of shape (n_samples,)
            Their labels; at least 2 rows of each class.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.
        **params : dict
            Further arguments of `fit`: ``groups``, or prices of the rows. Prices that were a number in
            training need not be given again.

        Returns
        -------
        CAPOClassifier
            A new model; this one is its auxiliary "old" and is unchanged. A guarantee of this model does
            not hold for the new one.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.linear_model import LogisticRegression
        >>> from capo import CAPOClassifier
        >>> X, y = make_classification(600, random_state=0)
        >>> old = CAPOClassifier(auxiliaries=[LogisticRegression()], delta=None, random_state=0)
        >>> old = old.fit(X[:500], y[:500])
        >>> new = old.refit_on(X[500:] + 0.5, y[500:])
        >>> list(new.auxiliaries_)
        ['old', 'logisticregression']
        """
        check_is_fitted(self, "auxiliaries_")
        if self._delegate is not None:
            raise InvalidInputError(
                "refit_on is for a model of two classes and a measure of them, such as 'f1': for others, "
                "train with auxiliaries=[FrozenEstimator(model), 'auto']."
            )
        check_new_rows(self, X, y)
        return make_refit(self).fit(X, y, sample_weight, **self._complete_prices(params))

    def _check_adjustable(self) -> None:
        if self._delegate is not None:
            raise InvalidInputError(
                "a model can be adjusted to a population if it has two classes and a measure of them, such "
                "as 'f1'."
            )
        if self.guarantee_ is not None:
            raise InvalidInputError(
                "the guarantee of this model does not hold in another population: adjust the model without a "
                "guarantee, then call guarantee with labeled rows of the new population."
            )
