"""Prices of each row: a cost of errors and a benefit of hits that differ from row to row."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from .. import measures
from ..exceptions import DataWarning, InvalidInputError
from ..measures import Cost
from ..model_selection import TimeFolds, check_groups
from ..preprocessing import positive_mask
from ..prices import PRICE_NAMES, PriceTerms, RowPrices, Savings, estimate_savings
from ._delegation import DelegatingClassifier
from ._validation import check_row_weights


class PricedClassifier(DelegatingClassifier):
    """Takes prices of each row in `fit`, `predict` and `score`, and reports savings in money."""

    threshold: Any

    def _fit_prices(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        given: dict[str, Any],
        params: dict[str, Any],
    ) -> Self:
        """Fit with prices; the measure of the rows is known in all folds."""
        base = self._check_priced_parameters()
        values = {name: base[name] if given[name] is None else given[name] for name in PRICE_NAMES}
        prices = RowPrices.from_values(len(self._check_y(X := self._check_X(X, reset=True), y)), **values)
        if not (prices.cost_fp.any() or prices.stakes.any()):
            raise InvalidInputError("all prices are 0: at least one row must have a price above 0.")
        self._fit(X, y, sample_weight, params, prices.measure)
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        self.prices_, self.measure_ = PriceTerms.from_values(values), prices.mean_measure(weights)
        rows = ~np.isnan(self.oof_decision_)
        assert self.oof_positive_ is not None
        predicted = (self.oof_decision_ - self.oof_thresholds_)[rows] > 0
        weight = None if weights is None else weights[rows]
        # The groups of folds in the order of time are times.
        groups = None if isinstance(self.cv, TimeFolds) else params.get("groups")
        self.savings_ = estimate_savings(
            prices.take_rows(rows),
            self.oof_positive_[rows],
            predicted,
            weight,
            groups=None if groups is None else np.asarray(groups)[rows],
        )
        return self

    def _check_priced_parameters(self) -> dict[str, Any]:
        """The prices of the measure, which those of `fit` replace."""
        measure = measures.get(self.measure)
        if not isinstance(measure, Cost):
            raise InvalidInputError(
                f"prices are for the measure 'cost': got {measure.label}. Use CAPOClassifier('cost')."
            )
        if not isinstance(self.threshold, str):
            raise InvalidInputError(
                "with prices of each row the threshold follows from the prices: leave threshold at 'auto'."
            )
        if measure.per_row:
            raise InvalidInputError("pass the prices of each row to fit only, not to the measure as well.")
        return measure.params

    def predict(
        self, X: Any, *, cost_fp: Any = None, cost_fn: Any = None, benefit_tp: Any = None
    ) -> NDArray[Any]:
        """Predict the label of each row: positive where its probability is above `threshold_`.

        With prices, a row is positive where calling it so is worth more in expectation than not, which is
        a threshold of its own.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            The table, with the columns of the training table.
        cost_fp, cost_fn, benefit_tp : float or array-like of shape (n_samples,), optional
            The prices of these rows, if the model was trained with prices of each row. Those that were a
            number in training need not be given again.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        prices = self._resolve_prices(X, cost_fp, cost_fn, benefit_tp)
        if prices is None:
            return super().predict(X)
        above = self.log_odds(X) > prices.log_odds
        return np.asarray(self.label_pair[above.astype(int)])

    def score(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        cost_fp: Any = None,
        cost_fn: Any = None,
        benefit_tp: Any = None,
    ) -> float:
        """Return the measure that was optimized, on these rows; higher is better.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            The table, with the columns of the training table.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            The labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.
        cost_fp, cost_fn, benefit_tp : float or array-like of shape (n_samples,), optional
            The prices of these rows, as for `predict`; without them, those of training on average.

        Returns
        -------
        float
            The value.
        """
        prices = self._resolve_prices(X, cost_fp, cost_fn, benefit_tp)
        if prices is None:
            return super().score(X, y, sample_weight)
        positive = positive_mask(y, self.label_pair)
        return prices.measure.score(positive, self.log_odds(X) - prices.log_odds, sample_weight)

    def savings(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        cost_fp: Any = None,
        cost_fn: Any = None,
        benefit_tp: Any = None,
        groups: ArrayLike | None = None,
        random_state: int = 0,
    ) -> Savings:
        """Return what the predictions for labeled rows are worth in money, with a bootstrap interval.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            The table, with the columns of the training table.
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,), optional
            How many rows each row stands for.
        cost_fp, cost_fn, benefit_tp : float or array-like of shape (n_samples,), optional
            The prices of these rows, as for `predict`; none if all of them were numbers in training.
        groups : array-like of shape (n_samples,), optional
            The group of each row, such as a customer: the bootstrap then draws whole groups.
        random_state : int, default=0
            Seed of the bootstrap.

        Returns
        -------
        capo.prices.Savings
            Totals, and the saving compared with treating all rows alike.
        """
        given: dict[str, Any] = {"cost_fp": cost_fp, "cost_fn": cost_fn, "benefit_tp": benefit_tp}
        if all(value is None for value in given.values()):
            given.update(self._constant_prices())
        prices = self._resolve_prices(X, **given)
        assert prices is not None
        positive = positive_mask(y, self.label_pair)
        if len(positive) != len(prices):
            raise InvalidInputError(f"X has {len(prices)} rows, but y has {len(positive)}.")
        predicted = self.log_odds(X) > prices.log_odds
        weight = None if sample_weight is None else check_row_weights(sample_weight, positive[:, None])
        groups = None if groups is None else check_groups(groups, len(positive))
        return estimate_savings(prices, positive, predicted, weight, groups=groups, random_state=random_state)

    def row_prices(
        self, n_rows: int, *, cost_fp: Any = None, cost_fn: Any = None, benefit_tp: Any = None
    ) -> RowPrices | None:
        """Return the prices of new rows, with those that were a number in training; None if none are given.

        Parameters
        ----------
        n_rows : int
            Number of rows.
        cost_fp, cost_fn, benefit_tp : float or array-like of shape (n_rows,), optional
            The prices, as for `predict`.

        Returns
        -------
        capo.prices.RowPrices or None
            The prices, with the threshold and the expected saving of each row.
        """
        check_is_fitted(self, "auxiliaries_")
        given = {"cost_fp": cost_fp, "cost_fn": cost_fn, "benefit_tp": benefit_tp}
        if self.prices_ is None:
            if any(value is not None for value in given.values()):
                raise InvalidInputError(
                    "the model was trained without prices of each row: pass them to fit as well."
                )
            return None
        found = self.prices_.resolve(given, n_rows)
        if found is not None and self.guarantee_ is not None:
            raise InvalidInputError(
                "the guarantee of this model holds for its one threshold, not for those of the rows: leave "
                "the prices out, or use the model without a guarantee."
            )
        return found

    def _constant_prices(self) -> dict[str, float]:
        """The prices of training if all of them were numbers."""
        check_is_fitted(self, "auxiliaries_")
        if self.prices_ is None or self.prices_.per_row:
            raise InvalidInputError(
                "savings need the prices of the rows: pass cost_fp, cost_fn or benefit_tp."
            )
        return self.prices_.constants

    def _complete_prices(self, params: dict[str, Any]) -> dict[str, Any]:
        """Arguments of `fit` for a refit, with the prices that were numbers when this model was trained."""
        if self.prices_ is None:
            return params
        given = {name: params.get(name) for name in PRICE_NAMES}
        return {**params, **self.prices_.complete(given, "pass the prices of the new rows")}

    def _resolve_prices(self, X: Any, cost_fp: Any, cost_fn: Any, benefit_tp: Any) -> RowPrices | None:
        """The prices of the rows of X; None if none are given, with a warning if training had some."""
        given = {"cost_fp": cost_fp, "cost_fn": cost_fn, "benefit_tp": benefit_tp}
        is_priced = any(value is not None for value in given.values())
        if is_priced and self._delegate is not None:
            raise InvalidInputError("prices of each row need a model of two classes: this one has more.")
        if is_priced:
            check_is_fitted(self, "auxiliaries_")
            return self.row_prices(self._check_X(X, reset=False).shape[0], **given)
        if self.prices_ is not None and self.prices_.per_row and self.guarantee_ is None:
            warnings.warn(
                f"the model was trained with {' and '.join(self.prices_.per_row)} of each row, but none is "
                f"given: one threshold, {self.threshold_:.4g}, is used for all rows.",
                DataWarning,
                stacklevel=3,
            )
        return None
