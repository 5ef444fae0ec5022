"""Classifiers that adapt auxiliaries."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from .. import measures
from .._accel.threads import library_threads_for
from .._compat import BoolArray, FloatArray, IntArray, VisualBlock, routing_enabled
from ..decisions import Guarantee, Population, PriceTerms, Savings, normalize_weights
from ..exceptions import AuxiliaryError, ConstraintWarning, InvalidInputError
from ..inspection import Summary
from ..learning.adaptation import AdaptationResult, Objective, adapt
from ..learning.auxiliaries import (
    AUXILIARY_SETS,
    bind_sample_weight,
    name_auxiliaries,
    resolve_auxiliaries,
    set_random_states,
)
from ..learning.combination import (
    AdaptationData,
    FittedCombination,
    OutputScaler,
    RepeatData,
    known_threshold,
)
from ..learning.cross_fit import Auxiliary, CrossFitResult, JobRunner, RepeatOutputs, TrainingSet
from ..learning.folds import Split, check_fold_sizes, fold_numbers, parts_suffice, split_folds, split_repeats
from ..learning.outputs import (
    OutputKind,
    OutputScale,
    RawOutput,
    apply_scales,
    count_numbers,
    iter_row_blocks,
    iter_tree_blocks,
    mean_scale,
    predict_block,
)
from ..learning.path import CGrid, CVScore, CVScorer
from ..measures import Cost, Measure
from ..tables.checks import warn_of_data, warn_of_majority_class
from ..tables.features import check_features
from ..tables.kinds import is_dataframe
from ..tables.schema import DemandedKind, FeatureSchema, describe_mismatch, infer_schema
from ..tables.targets import encode_binary_labels, positive_mask
from ._base import (
    BinaryClassifier,
    ProgressLogger,
    StepTimer,
    TableInputMixin,
    check_class_weights,
    check_row_weights,
    fit_delta,
    warn_not_converged,
)


class AuxiliaryMetaEstimatorMixin(TableInputMixin, BaseEstimator):
    """Parameters, metadata routing, outputs, tags and diagram of an estimator with `auxiliaries`."""

    auxiliaries: Any
    delta: Any
    cv: Any
    #: Not a parameter of all estimators.
    column_kinds: Mapping[str, DemandedKind] | None = None
    auxiliaries_: dict[str, Any]
    delta_: Any
    schema_: FeatureSchema
    classes_: NDArray[Any]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; with `deep`, also those of the auxiliaries under their names."""
        params = super().get_params(deep=deep)
        if deep and isinstance(self.auxiliaries, list | tuple):
            for name, estimator in self._slots():
                params[name] = estimator
                if hasattr(estimator, "get_params"):
                    inner = estimator.get_params(deep=True)
                    params.update((f"{name}__{key}", value) for key, value in inner.items())
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; those of the auxiliaries under their names."""
        if "auxiliaries" in params:
            self.auxiliaries = params.pop("auxiliaries")
        if any(name in params for name, _ in self._slots()):
            self.auxiliaries = [
                (name, params.pop(name, estimator)) for name, estimator in self._named_auxiliaries()
            ]
        return super().set_params(**params)

    def _slots(self) -> list[tuple[str, Any]]:
        """The auxiliaries that are parameters: all but sets of them; none if `fit` would refuse them."""
        try:
            pairs = self._named_auxiliaries()
        except InvalidInputError:
            return []
        return [(name, estimator) for name, estimator in pairs if name not in AUXILIARY_SETS]

    def _inner_estimators(self) -> list[tuple[str, Any]]:
        """The user's own estimators under their names."""
        return [(name, estimator) for name, estimator in self._slots() if not isinstance(estimator, str)]

    def _named_auxiliaries(self) -> list[tuple[str, Any]]:
        """The auxiliaries under their names, registered names in the place of their estimators."""
        if not isinstance(self.auxiliaries, list | tuple):
            return []
        return name_auxiliaries(self.auxiliaries, {*self._get_param_names(), "splitter", "method_mapping"})

    def _auxiliaries_for(self, X: Any) -> list[tuple[str, Any]]:
        """The auxiliaries under their names, names of sets among them."""
        auxiliaries = self.auxiliaries
        return [(auxiliaries,) * 2] if isinstance(auxiliaries, str) else self._named_auxiliaries()

    def _bind_auxiliaries(
        self,
        X: Any,
        weight: FloatArray | None,
        random: np.random.RandomState | None,
        sample_weight: ArrayLike | None,
        params: dict[str, Any],
    ) -> tuple[list[Auxiliary], dict[str, Any]]:
        """Return the auxiliaries with the parameters of their `fit`, and the parameters of the splitter.

        The weights of the built-in ones have a mean of 1: their penalties and samples are meant for that.
        """
        self.schema_ = infer_schema(X, self.column_kinds if is_dataframe(X) else None)
        resolved = resolve_auxiliaries(self._auxiliaries_for(X), X, self.schema_)
        pairs = [(name, set_random_states(estimator, random)) for name, estimator in resolved]
        own = {name for name, _ in self._inner_estimators()}
        normalized = None if weight is None else normalize_weights(len(weight), weight)
        if not routing_enabled():
            unknown = sorted(set(params) - {"groups"})
            if unknown:
                raise TypeError(f"fit() got an unexpected keyword argument {unknown[0]!r}; it takes groups.")
            weights = [weight if name in own else normalized for name, _ in pairs]
            return [
                bind_sample_weight(*pair, each) for pair, each in zip(pairs, weights, strict=True)
            ], params
        routed = process_routing(self, "fit", sample_weight=sample_weight, **params)
        bound = [
            Auxiliary(name, estimator, dict(routed[name].fit))
            if name in own
            else bind_sample_weight(name, estimator, normalized)
            for name, estimator in pairs
        ]
        return bound, routed.splitter.split

    @property
    @abstractmethod
    def _raw_output(self) -> RawOutput:
        """What is taken of a fitted auxiliary."""

    @property
    def _auxiliary_labels(self) -> NDArray[Any]:
        """The user's labels in the order of the labels 0, 1, ... that auxiliaries are trained on."""
        return self.classes_

    def _store_models(
        self, auxiliaries: Sequence[Auxiliary], fitted: CrossFitResult, timer: StepTimer
    ) -> list[str]:
        """Store the trained auxiliaries, their outputs and the times; return their names."""
        names = [each.name for each in auxiliaries]
        self.auxiliaries_ = dict(zip(names, fitted.models, strict=True))
        self.auxiliary_outputs_ = fitted.raw_outputs
        self.timings_ = timer.with_auxiliaries(names, fitted)
        return names

    def auxiliary_outputs(self, X: Any) -> FloatArray:
        """Return the raw output of each auxiliary for each row, before calibration.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            The table, with the columns of the training table.

        Returns
        -------
        ndarray of shape (n_samples, n_auxiliaries), or (n_samples, n_auxiliaries, n_classes)
            Log-odds, log-probabilities or margins, in the order of `auxiliaries_`; with many classes or
            labels, one for each, in the order of `classes_`.
        """
        check_is_fitted(self, "auxiliaries_")
        X = self._check_X(X, reset=False)
        return np.stack(list(self._raw_outputs(self.auxiliaries_, X).values()), axis=1)

    def _raw_outputs(self, names: Iterable[str], X: Any) -> dict[str, FloatArray]:
        """Return the raw outputs of some auxiliaries; an error names the auxiliary."""
        models = {name: self.auxiliaries_[name] for name in names}
        return predict_block(
            models, X, self._raw_output, self._auxiliary_labels, lambda name: self._name_errors(name, X)
        )

    @contextmanager
    def _name_errors(self, name: str, X: Any) -> Iterator[None]:
        """Raise errors of an auxiliary with its name."""
        try:
            yield
        except Exception as error:
            self._raise_mismatch(X, error)
            raise AuxiliaryError(
                f"the auxiliary {name!r} failed to predict: {type(error).__name__}: {error}"
            ) from error

    def _transform_delta(self, X: Any) -> Any:
        """Return the features of the delta function."""
        try:
            return check_features(self.delta_.transform(X))
        except Exception as error:
            self._raise_mismatch(X, error)
            raise

    def _raise_mismatch(self, X: Any, error: Exception) -> None:
        """Raise a clear error if X differs from the training table."""
        if message := describe_mismatch(X, self.schema_):
            raise InvalidInputError(message) from error

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata this estimator, each auxiliary's `fit` and the splitter request."""
        # By name: scikit-learn 1.7 copies its owner, which may hold a generator of folds.
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        fit = MethodMapping().add(caller="fit", callee="fit")
        for name, estimator in self._named_auxiliaries():
            if not isinstance(estimator, str):
                router.add(**{name: estimator}, method_mapping=fit)
        splitter = self.cv if hasattr(self.cv, "get_n_splits") else StratifiedGroupKFold()
        return router.add(splitter=splitter, method_mapping=MethodMapping().add(caller="fit", callee="split"))

    def _auxiliaries_block(self) -> VisualBlock:
        """The auxiliaries side by side in the estimator's diagram."""
        try:
            pairs = self._auxiliaries_for(None)
        except InvalidInputError:
            pairs = [("auto", "auto")]
        names, estimators = zip(*pairs, strict=True)
        return VisualBlock("parallel", estimators, names=names, dash_wrapped=False)

    def _sk_visual_block_(self) -> VisualBlock:
        delta = self.delta if self.delta is not None else "passthrough"
        phi = VisualBlock("parallel", [delta], names=["delta"], dash_wrapped=False)
        return VisualBlock("serial", (self._auxiliaries_block(), phi), dash_wrapped=False)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = [
            get_tags(each).input_tags
            for _, each in self._inner_estimators()
            if isinstance(each, BaseEstimator)
        ]
        tags.input_tags.sparse = all(each.sparse for each in inner)
        tags.input_tags.allow_nan = all(each.allow_nan for each in inner)
        return tags


@dataclass(frozen=True)
class TrainedAuxiliaries:
    """Auxiliaries after training, with their outputs on the common scale.

    Attributes
    ----------
    auxiliaries : list of Auxiliary
        What was trained.
    fitted : CrossFitResult
        Models, raw outputs and times.
    evaluation_outputs : ndarray of shape (n_folds, n_samples, n_auxiliaries)
        The raw outputs that each fold is evaluated with.
    scales : list of OutputScale
        From raw outputs to the common scale.
    data : AdaptationData
        The outputs on that scale, with the features of the delta function and the labels.
    further : tuple of RepeatData
        The same for all repeats of the folds but the first, if there are several.
    further_outputs : tuple of ndarray
        The raw outputs that each fold of these is evaluated with.
    """

    auxiliaries: list[Auxiliary]
    fitted: CrossFitResult
    evaluation_outputs: FloatArray
    scales: list[OutputScale]
    data: AdaptationData
    further: tuple[RepeatData, ...] = ()
    further_outputs: tuple[FloatArray, ...] = ()


def evaluate_auxiliaries(trained: TrainedAuxiliaries, folds: IntArray, objective: Objective) -> list[CVScore]:
    """Return the out-of-fold value of each auxiliary by itself, from outputs that no label has scaled."""
    data, measure, rule = trained.data, objective.measure, objective.threshold_rule
    if data.parts is not None:
        return _evaluate_in_parts(trained, folds, objective)
    repeats = zip(
        (folds, *(each.folds for each in trained.further)),
        (trained.evaluation_outputs, *trained.further_outputs),
        strict=True,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintWarning)
        scores = [
            [
                CVScorer(measure, rule, data.positive, data.weight, own_folds, folds)(scale.clip(each))
                for scale, each in zip(trained.scales, np.moveaxis(outputs, -1, 0), strict=True)
            ]
            for own_folds, outputs in repeats
        ]
    return [CVScore.mean(each) for each in zip(*scores, strict=True)]


def _evaluate_in_parts(trained: TrainedAuxiliaries, folds: IntArray, objective: Objective) -> list[CVScore]:
    """Return the value of each auxiliary, with thresholds that are chosen on other parts of the same fold."""
    data, measure, rule = trained.data, objective.measure, objective.threshold_rule
    scorer = CVScorer(measure, rule, data.positive, data.weight, np.asarray(data.parts), folds, folds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintWarning)
        columns = zip(trained.scales, trained.fitted.raw_outputs.T, strict=True)
        return [scorer(scale.clip(column)) for scale, column in columns]


def scale_outputs(
    runner: JobRunner[OutputKind],
    fitted: CrossFitResult,
    data: AdaptationData,
    folds: IntArray,
    *,
    fold_outputs: FloatArray | None = None,
    nonnegative: bool = True,
) -> TrainedAuxiliaries:
    """Scale the outputs: in each fold without the labels of the rows that it holds out.

    `fold_outputs` are the raw outputs in each fold, where they are not the same in all folds.
    """
    rows = runner.training.held_out_rows
    raw, pairs = fitted.raw_outputs[rows], fitted.pair_outputs
    pairs = None if pairs is None else pairs[:, rows]
    if fold_outputs is None:
        fold_outputs = np.broadcast_to(raw, (len(runner.training.splits), *raw.shape))
    data = replace(data, center=_stack_center(runner.auxiliaries))
    scaler = OutputScaler(runner.output_kind, folds, nonnegative)
    scaled, scales = scaler.scale(data, raw, fold_outputs, pairs)
    evaluation = fold_outputs if pairs is None else pairs
    trained = TrainedAuxiliaries(list(runner.auxiliaries), fitted, evaluation, scales, scaled)
    return _add_repeats(trained, runner, data, scaler) if fitted.further_outputs else trained


def _add_repeats(
    trained: TrainedAuxiliaries, runner: JobRunner[OutputKind], data: AdaptationData, scaler: OutputScaler
) -> TrainedAuxiliaries:
    """Add the other repeats. The weights are learned from outputs on the mean of the repeats' scales."""
    fitted = trained.fitted
    scaled = [
        _scale_repeat(training, outputs, data, scaler)
        for training, outputs in zip(runner.training.repeats[1:], fitted.further_outputs, strict=True)
    ]
    all_scales = (trained.scales, *(scales for _, scales in scaled))
    scales = [mean_scale(each) for each in zip(*all_scales, strict=True)]

    def on_mean_scale(own: AdaptationData, raw: FloatArray) -> AdaptationData:
        outputs, threshold = apply_scales(scales, raw.T), known_threshold(scales, own.center)
        return replace(own, outputs=outputs, known_threshold=threshold)

    return replace(
        trained,
        scales=scales,
        data=on_mean_scale(trained.data, fitted.raw_outputs),
        further=tuple(
            RepeatData(on_mean_scale(each.data, outputs.raw), each.folds)
            for (each, _), outputs in zip(scaled, fitted.further_outputs, strict=True)
        ),
        further_outputs=tuple(raw if pairs is None else pairs for raw, pairs in fitted.further_outputs),
    )


def _scale_repeat(
    training: TrainingSet, outputs: RepeatOutputs, data: AdaptationData, scaler: OutputScaler
) -> tuple[RepeatData, list[OutputScale]]:
    folds = fold_numbers(training.splits, training.n_rows)
    scaled, scales = replace(scaler, folds=folds).scale(data, outputs.raw, None, outputs.pairs)
    return RepeatData(scaled, folds), scales


def _stack_center(auxiliaries: Sequence[Auxiliary]) -> FloatArray | None:
    """The average of the frozen auxiliaries if others are trained beside them; None for that of all.

    A frozen auxiliary has learned from other rows. Where the new rows are few, it is the better guess.
    """
    frozen = np.array([each.is_frozen for each in auxiliaries])
    return frozen / frozen.sum() if 0 < frozen.sum() < len(frozen) else None


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
