"""Base class of the adapted classifiers: validation, auxiliaries, the adaptation itself, prediction."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .. import measures
from .._threads import library_threads_for
from .._typing import BoolArray, FloatArray, IntArray
from ..adaptation import (
    AdaptationData,
    AdaptationResult,
    FittedCombination,
    Objective,
    adapt,
)
from ..auxiliary import (
    JobRunner,
    OutputKind,
    RawOutput,
    TrainingSet,
    count_numbers,
    iter_row_blocks,
    iter_tree_blocks,
)
from ..exceptions import InvalidInputError
from ..guarantees import Guarantee
from ..inspection import Summary
from ..label_shift import Population
from ..measures import Cost, Measure
from ..model_selection import (
    CGrid,
    CVScore,
    Split,
    check_fold_sizes,
    fold_numbers,
    parts_suffice,
    split_folds,
    split_repeats,
)
from ..preprocessing import (
    encode_binary_labels,
    positive_mask,
    warn_of_data,
    warn_of_majority_class,
)
from ..prices import PriceTerms, Savings
from ._auxiliary_params import AuxiliaryMetaEstimatorMixin
from ._base import BinaryClassifier
from ._convergence import warn_not_converged
from ._delta import fit_delta
from ._progress import ProgressLogger, StepTimer
from ._trained_auxiliaries import TrainedAuxiliaries, evaluate_auxiliaries
from ._validation import check_class_weights, check_row_weights


class BaseAdaptedClassifier(AuxiliaryMetaEstimatorMixin, BinaryClassifier):
    """A classifier that combines auxiliaries and a delta function for a measure.

    All scores, thresholds and out-of-fold values are about the positive class, `pos_label_`. Only
    `decision_function` and `predict_proba` follow the order of `classes_`, which is sorted.

    Subclasses say what is optimized (`_objective`), which C's are tried (`_parse_C`), which output of an
    auxiliary is used (`_output_kind`) and how auxiliaries are trained (`_train_auxiliaries`).
    """

    measure: Any
    pos_label: Any
    C: Any
    memory: Any
    n_jobs: int | None
    random_state: Any
    verbose: int

    combination_: FittedCombination
    #: The label of the positive class.
    pos_label_: Any
    #: How often each row was held out.
    n_repeats_: int = 1
    #: Whether folds may leave rows that are never held out, or hold out every row several times.
    _allows_other_folds: bool = False
    #: Which training rows are positive; None in models of files that were written before 0.2.
    oof_positive_: BoolArray | None = None
    #: The weights of the training rows, if they had any.
    sample_weight_: FloatArray | None = None
    #: What the threshold guarantees, if it was chosen on calibration rows.
    guarantee_: Guarantee | None = None
    #: The population that the model was adjusted to, if it was.
    population_: Population | None = None
    #: The prices that the model was trained with, if there were any.
    prices_: PriceTerms | None = None
    #: What the out-of-fold predictions save, if the model was trained with prices.
    savings_: Savings | None = None

    @property
    @abstractmethod
    def _output_kind(self) -> OutputKind:
        """Which output of an auxiliary is used."""

    @abstractmethod
    def _objective(self, measure: Measure) -> Objective:
        """Return the objective of the adaptation."""

    @abstractmethod
    def _parse_C(self) -> float | CGrid:
        """The C's to try."""

    @abstractmethod
    def _train_auxiliaries(
        self, runner: JobRunner[OutputKind], data: AdaptationData, folds: IntArray, objective: Objective
    ) -> TrainedAuxiliaries:
        """Train the auxiliaries and scale their outputs; `data` has none yet."""

    @abstractmethod
    def summary(self) -> Summary:
        """Return a printable summary of the fit."""

    def _fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        params: dict[str, Any],
        measure: Measure | None = None,
    ) -> Self:
        """Fit to the measure of these rows, by default that of the constructor."""
        self._validate_params()
        objective = self._objective(_check_measure(self.measure) if measure is None else measure)
        C = self._parse_C()
        progress, timer = ProgressLogger(self.verbose), StepTimer()
        random = None if self.random_state is None else check_random_state(self.random_state)
        X = self._check_X(X, reset=True)
        positive, weight = self._check_labels(X, y, sample_weight)
        auxiliaries, split_params = self._bind_auxiliaries(X, weight, random, sample_weight, params)
        repeats = self._split(X, positive, split_params, random, weight)
        for splits in repeats:
            check_fold_sizes(objective.measure, splits, len(positive), weight)
        folds = fold_numbers(repeats[0], len(positive))
        warn_of_data(X, folds, stacklevel=4)
        counted = positive if weight is None else positive[weight > 0]
        if self.pos_label is None:
            warn_of_majority_class(self.label_pair, counted, stacklevel=4)
        self.delta_, features = timer("delta", fit_delta, self.delta, X, self.schema_, random)
        targets = positive.astype(np.int64)
        training = TrainingSet(X, targets, self.label_pair, repeats[0], weight, repeats[1:])
        runner = JobRunner(auxiliaries, training, self._output_kind, self.memory, self.n_jobs, progress.log)
        parts = self._divide_folds(folds, positive, split_params, weight) if runner.has_training else None
        if parts is not None and not parts_suffice(objective.measure, folds, parts, weight):
            parts = None
        data = AdaptationData(np.zeros((len(positive), 0)), features, positive, weight, parts=parts)
        rows = np.flatnonzero(folds >= 0)
        if len(rows) < len(folds):
            data, folds, objective = data.take_rows(rows), folds[rows], objective.for_rows(rows)
        with library_threads_for(count_numbers(X), find_libraries=True):
            trained = timer("auxiliaries", self._train_auxiliaries, runner, data, folds, objective)
            result = timer(
                "adaptation", adapt, trained.data, folds, objective, C, progress.log, trained.further
            )
            scores = evaluate_auxiliaries(trained, folds, objective)
        self.measure_, self.n_repeats_ = objective.measure, len(repeats)
        self.n_positive_, self.n_negative_ = int(counted.sum()), int((~counted).sum())
        self.sample_weight_ = weight
        self._store(trained, scores, result, timer)
        self._scatter(rows, positive)
        return self

    def _split(
        self,
        X: Any,
        positive: BoolArray,
        params: dict[str, Any],
        random: np.random.RandomState | None,
        weight: FloatArray | None,
    ) -> list[list[Split]]:
        """The folds of each repeat."""
        cv = self._choose_folds(positive, params, weight)
        if self._allows_other_folds:
            return split_repeats(cv, X, positive, params, random, weight=weight)
        return [split_folds(cv, X, positive, params, random, weight=weight)]

    def _choose_folds(self, positive: BoolArray, params: dict[str, Any], weight: FloatArray | None) -> Any:
        """The number of folds, a splitter or the folds themselves."""
        return self.cv

    def _divide_folds(
        self, folds: IntArray, positive: BoolArray, params: dict[str, Any], weight: FloatArray | None
    ) -> IntArray | None:
        """The parts of the folds by which the model is evaluated; None if it is evaluated by the folds."""
        return None

    def _check_labels(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[BoolArray, FloatArray | None]:
        labels = self._check_y(X, y)
        label_pair, positive = encode_binary_labels(labels, self.pos_label)
        self.classes_, self.pos_label_ = np.unique(label_pair), label_pair.tolist()[1]
        if sample_weight is None:
            return positive, None
        weight = check_row_weights(sample_weight, X)
        check_class_weights(weight, positive, label_pair)
        return positive, weight

    def _store(
        self,
        trained: TrainedAuxiliaries,
        scores: list[CVScore],
        result: AdaptationResult,
        timer: StepTimer,
    ) -> None:
        names = self._store_models(trained.auxiliaries, trained.fitted, timer)
        weights, point = result.weights, result.point
        self.combination_ = FittedCombination(
            weights, tuple(trained.scales), self._output_kind, point.log_odds
        )
        self.auxiliary_scores_ = dict(zip(names, scores, strict=True))
        self.auxiliary_weights_ = dict(zip(names, weights.auxiliary.tolist(), strict=True))
        self.delta_coef_ = dict(zip(self._delta_names(), weights.delta.tolist(), strict=True))
        self.intercept_ = weights.intercept
        self.threshold_ = point.probability
        self.oof_positive_ = trained.data.positive
        self.oof_decision_ = point.calibration.log_odds(result.chosen.scores) - point.log_odds
        self.oof_thresholds_ = point.calibration.slope * self._threshold_shifts(result)
        self._store_choice(result)

    def _threshold_shifts(self, result: AdaptationResult) -> FloatArray:
        """How far each row's threshold, chosen without the row, is above the final one."""
        if not self.measure_.needs_threshold:
            return np.zeros(len(result.chosen.scores))
        return result.chosen.thresholds - result.point.score

    def _scatter(self, rows: IntArray, positive: BoolArray) -> None:
        """Give rows that were never held out an out-of-fold decision and threshold of NaN."""
        if len(rows) < len(positive):
            for name in ("oof_decision_", "oof_thresholds_"):
                values = np.full(len(positive), np.nan)
                values[rows] = getattr(self, name)
                setattr(self, name, values)
            self.oof_positive_ = positive

    def _store_choice(self, result: AdaptationResult) -> None:
        chosen, solution = result.chosen, result.solution
        self.C_, self.score_, self.score_std_ = chosen.C, chosen.cv_score.value, chosen.cv_score.std
        self.cv_results_ = result.cv_results()
        self.solution_ = solution
        self.primal_ = solution.primal if solution else 0.0
        self.dual_ = solution.dual if solution else 0.0
        self.gap_ = solution.gap if solution else 0.0
        self.n_iter_ = solution.n_iter if solution else 0
        if solution is not None:
            warn_not_converged(solution, stacklevel=6, limits="tol", C_is_given=not isinstance(self.C, str))

    def _delta_names(self) -> list[str]:
        """Names of the delta function's features, those of the transformer if it has them."""
        try:
            return [] if self.delta_ is None else list(self.delta_.get_feature_names_out())
        except (AttributeError, ValueError, NotFittedError):
            return [f"phi{number}" for number in range(len(self.combination_.weights.delta))]

    @property
    def label_pair(self) -> NDArray[Any]:
        """The labels of the negative and of the positive class, in this order."""
        return self.classes_[::-1] if self._is_reversed else self.classes_

    @property
    def _is_reversed(self) -> bool:
        """Whether the positive class is the first of `classes_`."""
        return bool(self.classes_[0] == self.pos_label_)

    @property
    def _auxiliary_labels(self) -> NDArray[Any]:
        return self.label_pair

    def positive_decision(self, X: Any) -> FloatArray:
        """Return the log-odds of the positive class, minus those at the threshold: above 0 is positive.

        This is `decision_function`, with the opposite sign if the positive class is ``classes_[0]``.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            The table, with the columns of the training table.

        Returns
        -------
        ndarray of shape (n_samples,)
            One number per row.
        """
        return self.log_odds(X) - self.combination_.threshold_log_odds

    def decision_function(self, X: Any) -> FloatArray:
        """Return the log-odds of ``classes_[1]``, minus those at the threshold: above 0 is ``classes_[1]``.

        That is the positive class unless `pos_label` is the smaller label; see `positive_decision`.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            The table, with the columns of the training table.

        Returns
        -------
        ndarray of shape (n_samples,)
            One number per row.
        """
        decision = self.positive_decision(X)
        return -decision if self._is_reversed else decision

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the label of each row: positive where its probability is above `threshold_`.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            The table, with the columns of the training table.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        above = self.positive_decision(X) > 0
        return np.asarray(self.label_pair[above.astype(int)])

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The measure that was optimized, on these rows; higher is better."""
        decision = self.positive_decision(X)
        return self.measure_.score(positive_mask(y, self.label_pair), decision, sample_weight)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of both classes, calibrated on out-of-fold scores.

        `predict` compares that of the positive class with `threshold_`, not with 0.5.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            The table, with the columns of the training table.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Probabilities of the two classes in the order of `classes_`.
        """
        positive = expit(self.log_odds(X))
        probabilities = np.column_stack((1.0 - positive, positive))
        return probabilities[:, ::-1] if self._is_reversed else probabilities

    def as_probability(self, decision: FloatArray) -> FloatArray:
        """Return values of `positive_decision` as probabilities of the positive class."""
        check_is_fitted(self, "auxiliaries_")
        return np.asarray(expit(decision + self.combination_.threshold_log_odds))

    def delta_features(self, X: Any) -> Any | None:
        """Return the features of the delta function, or None if it has no weight.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            The table, with the columns of the training table.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_delta_features), or None
            Phi.
        """
        check_is_fitted(self, "auxiliaries_")
        if self.delta_ is None or not self.combination_.weights.delta.any():
            return None
        return self._transform_delta(X)

    def log_odds(self, X: Any) -> FloatArray:
        """Return the log-odds of the positive class, `pos_label_`; no threshold is involved.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            The table, with the columns of the training table.

        Returns
        -------
        ndarray of shape (n_samples,)
            One number per row.
        """
        check_is_fitted(self, "auxiliaries_")
        X = self._check_X(X, reset=False)
        return np.concatenate([self._block_log_odds(block) for block in iter_tree_blocks(X)])

    def _block_log_odds(self, X: Any) -> FloatArray:
        used = self._raw_outputs((name for name, weight in self.auxiliary_weights_.items() if weight), X)
        unused = np.zeros(X.shape[0])
        raw = np.stack([used.get(name, unused) for name in self.auxiliary_weights_])
        parts, start = [], 0
        for block in iter_row_blocks(X):
            rows = slice(start, start + block.shape[0])
            parts.append(self.combination_.log_odds(raw[:, rows], self.delta_features(block)))
            start = rows.stop
        return np.concatenate(parts)

    @property
    def _raw_output(self) -> RawOutput:
        return self.combination_.output_kind


def _check_measure(measure: Any) -> Measure:
    found = measures.get(measure)
    if isinstance(found, Cost) and found.per_row:
        raise InvalidInputError(
            "a measure with prices of each row cannot be used with rows that are split into folds: pass "
            "cost_fp, cost_fn and benefit_tp to the fit of CAPOClassifier('cost') instead."
        )
    return found
