"""A fitted model put to use: a guarantee, another population, prices, few rows from a new place."""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .. import measures
from .._compat import FloatArray, IntArray, check_y
from ..decisions import (
    PRICE_NAMES,
    ClassScores,
    Constraint,
    Guarantee,
    Population,
    PriceTerms,
    RowPrices,
    Savings,
    TrainingScores,
    adjust_threshold,
    certify,
    estimate_prevalence,
    estimate_savings,
)
from ..exceptions import DataWarning, InvalidInputError, LabelShiftError
from ..learning.folds import TimeFolds, check_groups
from ..learning.outputs import is_frozen
from ..measures import Cost, Measure
from ..tables.checks import warn_of_copies
from ..tables.targets import positive_mask
from ._base import check_row_weights
from ._many import DelegatingClassifier

if TYPE_CHECKING:
    from ..engine import Solution
    from ..learning.combination import LinearCombination
    from ._adapted import BaseAdaptedClassifier


#: Share of the training rows, or of their groups, that `fit` holds out if the measure has a confidence.
CALIBRATION_SHARE = 0.3
#: The confidence where none is given.
DEFAULT_CONFIDENCE = 0.95
#: Warnings of rows that break a promise without an error.
_DEPENDENT_ROWS = (
    "{share} of the calibration rows are exact copies of others: copies are no independent draws, and the "
    "promise may not hold. Remove copies that new rows would not be, or pass groups: a row and its copies "
    "are one group."
)
_SEEN_ROWS = (
    "{share} of the rows have an exact copy on the other side of the split into training and calibration "
    "rows, so that the model has seen calibration rows and the promise may not hold. Remove copies that new "
    "rows would not be, or pass groups: a row and its copies are one group."
)


def certify_threshold(
    model: BaseAdaptedClassifier,
    X: Any,
    y: ArrayLike,
    *,
    constraint: str | Constraint | None = None,
    confidence: float | None = None,
    objective: Any = None,
    groups: ArrayLike | None = None,
    random_state: int = 0,
) -> Guarantee:
    """Find the threshold of a fitted model on calibration rows; the model is unchanged."""
    limit = _resolve_constraint(constraint, model.measure_)
    if confidence is None:
        confidence = model.measure_.params.get("confidence") or DEFAULT_CONFIDENCE
    positive = positive_mask(check_y(y, y_numeric=False, estimator=model), model.label_pair)
    scores = model.log_odds(X)
    if len(scores) != len(positive):
        raise InvalidInputError(f"X has {len(scores)} rows, but y has {len(positive)}.")
    rows = slice(None) if groups is None else _draw_from_groups(groups, len(positive), random_state)
    found = certify(
        limit,
        scores[rows],
        positive[rows],
        training_scores(model),
        confidence=confidence,
        objective=None if objective is None else measures.get(objective),
        random_state=random_state,
    )
    return replace(found, by_group=groups is not None)


def training_scores(model: BaseAdaptedClassifier) -> TrainingScores:
    """The out-of-fold log-odds of the training rows, with their labels as far as they are known."""
    rows = ~np.isnan(model.oof_decision_)
    log_odds = model.oof_decision_[rows] + model.combination_.threshold_log_odds
    positive = expit(log_odds) if model.oof_positive_ is None else model.oof_positive_[rows]
    return TrainingScores(log_odds, positive)


def move_threshold(model: BaseAdaptedClassifier, log_odds: float) -> None:
    """Give a fitted model another threshold."""
    moved = log_odds - model.combination_.threshold_log_odds
    model.combination_ = replace(model.combination_, threshold_log_odds=log_odds)
    model.threshold_ = float(expit(log_odds))
    shift_oof_decisions(model, -moved)


def replace_weights(
    model: BaseAdaptedClassifier, weights: LinearCombination, log_odds: float, solution: Solution | None
) -> None:
    """Give a fitted model other weights, whose scores are log-odds, and another threshold.

    The out-of-fold values remain those of the model's own training rows.
    """
    model.combination_ = replace(model.combination_, weights=weights)
    model.auxiliary_weights_ = dict(zip(model.auxiliary_weights_, weights.auxiliary.tolist(), strict=True))
    model.delta_coef_ = dict(zip(model.delta_coef_, weights.delta.tolist(), strict=True))
    model.intercept_ = weights.intercept
    model.solution_ = solution
    for name in ("primal", "dual", "gap", "n_iter"):
        setattr(model, f"{name}_", getattr(solution, name, 0))
    move_threshold(model, log_odds)


def shift_oof_decisions(model: BaseAdaptedClassifier, amount: float) -> None:
    """Add a constant to the out-of-fold decisions and thresholds, as far as the model's file has them."""
    for name in ("oof_decision_", "oof_thresholds_"):
        if name in vars(model):
            setattr(model, name, getattr(model, name) + amount)


def warn_of_dependent_rows(X: Any, *, stacklevel: int) -> None:
    """Warn if many calibration rows are copies of each other."""
    warn_of_copies(X, np.arange(X.shape[0]), _DEPENDENT_ROWS, stacklevel=stacklevel + 1)


def warn_of_seen_rows(X: Any, held_out: IntArray, *, stacklevel: int) -> None:
    """Warn if many calibration rows are copies of training rows."""
    sides = np.isin(np.arange(X.shape[0]), held_out).astype(np.intp)
    warn_of_copies(X, sides, _SEEN_ROWS, stacklevel=stacklevel + 1)


def check_can_hold_out(sample_weight: ArrayLike | None, cv: Any, threshold: Any) -> None:
    """Raise an error if calibration rows cannot be held out, or would not choose the threshold."""
    if not isinstance(threshold, str):
        raise InvalidInputError(
            "a measure with a confidence chooses the threshold on calibration rows: leave threshold at "
            f"'auto', or use the measure without a confidence. Got threshold={threshold!r}."
        )
    if sample_weight is not None:
        raise InvalidInputError(
            "a measure with a confidence cannot be combined with sample_weight: the exact test counts rows. "
            "Train without a confidence, and call guarantee on rows that were drawn with these weights."
        )
    if isinstance(cv, TimeFolds):
        raise InvalidInputError(
            "a measure with a confidence holds out rows at random, which folds in the order of time do not "
            "allow: train without a confidence, and call guarantee on later rows."
        )
    if not (cv is None or isinstance(cv, (int, np.integer)) or hasattr(cv, "split")):
        raise InvalidInputError(
            "a measure with a confidence holds out calibration rows, so that cv cannot be a list of splits: "
            "pass a number or a splitter, or call guarantee on calibration rows of your own."
        )


def split_calibration(n_rows: int, groups: ArrayLike | None, random_state: Any) -> tuple[IntArray, IntArray]:
    """Positions for training and for calibration: not stratified, since the test needs independent rows."""
    random = check_random_state(random_state)
    names, group = (
        (np.arange(n_rows), np.arange(n_rows))
        if groups is None
        else np.unique(check_groups(groups, n_rows), return_inverse=True)
    )
    is_held_out = np.zeros(len(names), dtype=bool)
    is_held_out[random.permutation(len(names))[: int(np.ceil(CALIBRATION_SHARE * len(names)))]] = True
    return np.flatnonzero(~is_held_out[group]), np.flatnonzero(is_held_out[group])


def _resolve_constraint(constraint: str | Constraint | None, measure: Measure) -> Constraint:
    if isinstance(constraint, Constraint):
        return constraint
    if constraint is not None:
        return Constraint.parse(constraint)
    found = Constraint.from_measure(measure)
    if found is None:
        raise InvalidInputError(
            f"the measure {measure.label} has no constraint: pass one, such as constraint='precision >= 0.9'."
        )
    return found


def _draw_from_groups(groups: ArrayLike, n_rows: int, random_state: int) -> IntArray:
    """The position of one random row of each group."""
    labels = check_groups(groups, n_rows)
    order = np.random.default_rng(random_state).permutation(n_rows)
    _, first = np.unique(labels[order], return_index=True)
    return np.sort(order[first])


#: New scores that are further from every mixture of the two classes are no matter of another base rate.
MAX_MIXTURE_DISTANCE = 0.06


#: With fewer rows of a class by the estimate, there is no threshold to be placed between the classes.
MIN_EXPECTED_ROWS = 1.0


def class_scores(model: BaseAdaptedClassifier) -> ClassScores:
    """The out-of-fold log-odds of the training rows as trained, before any adjustment."""
    found, weight = training_scores(model), model.sample_weight_
    if weight is not None:
        weight = weight[~np.isnan(model.oof_decision_)]
    return ClassScores(found.scores - current_shift(model), found.positive, weight)


def current_shift(model: BaseAdaptedClassifier) -> float:
    """What an earlier adjustment has added to the model's log-odds."""
    return 0.0 if model.population_ is None else model.population_.log_odds_shift


def find_population(
    model: BaseAdaptedClassifier, log_odds: FloatArray, max_distance: float, random_state: int
) -> Population:
    """Estimate the prevalence among rows with these log-odds as trained; refuse other changes."""
    check_max_distance(max_distance)
    training = class_scores(model)
    found = estimate_prevalence(log_odds, training, random_state=random_state)
    if not MIN_EXPECTED_ROWS <= found.value * found.n_rows <= found.n_rows - MIN_EXPECTED_ROWS:
        raise LabelShiftError(
            f"{found.value:.2%} positive as estimated from {found.n_rows:,} new rows is less than one row of "
            "a class as trained, which is hardly among them: the model is not adjusted. Pass more rows, "
            "label some of them, or pass the prevalence if it is known."
        )
    if found.distance > max_distance + sampling_error(len(log_odds)):
        raise LabelShiftError(
            f"the scores of the new rows are no mixture of the two classes as trained (distance "
            f"{found.distance:.3f}, beyond {max_distance:g} and the sampling error): more than the share of "
            "positives has changed, and adjusting the model to it could make it worse. Label some of the new "
            "rows and train on them, or pass the prevalence if it is known."
        )
    return Population.from_estimate(found, training)


def sampling_error(n_rows: int) -> float:
    """The distance that so many rows have from their own distribution in 95% of samples, at most."""
    return 1.36 / float(np.sqrt(n_rows))


def check_max_distance(max_distance: float) -> None:
    """Raise an error unless the distance is a number from 0 to 1."""
    if not (isinstance(max_distance, (int, float, np.number)) and 0 <= max_distance <= 1):
        raise InvalidInputError(f"max_distance must be a number from 0 to 1: got {max_distance!r}.")


def check_prevalence(prevalence: float) -> float:
    """Return the prevalence, or raise an error unless it is between 0 and 1."""
    if not (isinstance(prevalence, (int, float, np.number)) and 0 < prevalence < 1):
        raise InvalidInputError(
            f"prevalence must be a share of positives above 0 and below 1: got {prevalence!r}."
        )
    return float(prevalence)


def adjust_model(
    model: BaseAdaptedClassifier,
    population: Population,
    log_odds: FloatArray | None,
    threshold: str | float,
) -> None:
    """Give a fitted model the probabilities and the threshold of a population."""
    training, before = class_scores(model), model.population_
    as_trained = model.combination_.threshold_log_odds if before is None else before.trained_threshold
    _shift_log_odds(model, population.log_odds_shift - current_shift(model))
    if population.log_odds_shift == 0 and as_trained is not None:
        move_threshold(model, as_trained)
    elif isinstance(threshold, str):
        move_threshold(model, adjust_threshold(model.measure_, log_odds, training, population))
    else:
        move_threshold(model, float(logit(threshold)))
    model.population_ = replace(population, trained_threshold=as_trained)


def _shift_log_odds(model: BaseAdaptedClassifier, amount: float) -> None:
    """Add a constant to the model's log-odds."""
    weights = model.combination_.weights
    weights = replace(weights, intercept=weights.intercept + amount)
    model.combination_ = replace(model.combination_, weights=weights)
    model.intercept_ = weights.intercept
    shift_oof_decisions(model, amount)


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
        capo.decisions.Savings
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
        capo.decisions.RowPrices or None
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


ClassifierT = TypeVar("ClassifierT", bound="PricedClassifier")

#: The name of the old model among the auxiliaries.
OLD_MODEL = "old"


def make_refit(model: ClassifierT) -> ClassifierT:
    """Return an unfitted classifier with the model's parameters, and the model as a frozen auxiliary."""
    params = {**model.get_params(deep=False), "pos_label": model.pos_label_}
    # What was frozen in the old model is a part of it: it is not used twice.
    trained = [
        pair for pair in model._auxiliaries_for(None) if isinstance(pair[1], str) or not is_frozen(pair[1])
    ]
    names = {name for name, _ in trained}
    name = next(each for each in (OLD_MODEL, *(f"{OLD_MODEL}{i}" for i in range(2, 99))) if each not in names)
    auxiliaries = [each if isinstance(each, str) else (key, each) for key, each in trained] or ["auto"]
    params["auxiliaries"] = [(name, FrozenEstimator(model)), *auxiliaries]
    return type(model)(**params)


def check_new_rows(model: PricedClassifier, X: Any, y: ArrayLike) -> None:
    """Raise an error unless the rows have the model's columns and both of its labels."""
    labels = model._check_y(model._check_X(X, reset=False), y)
    known, found = model.label_pair.tolist(), np.unique(labels).tolist()
    unknown = [label for label in found if label not in known]
    if unknown:
        raise InvalidInputError(
            f"y has the label {unknown[0]!r}, but the model was trained on {known[0]!r} and {known[1]!r}."
        )
    if len(found) < 2:
        raise InvalidInputError(
            f"all {len(labels):,} new rows are {found[0]!r}: at least 2 rows of each class are needed."
        )


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
        constraint : str or capo.decisions.Constraint, optional
            Such as ``"precision >= 0.9"`` or ``"fpr <= 0.05"``; `capo.decisions.rate_names()` lists the
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
