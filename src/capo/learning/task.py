"""The differences between two classes, many classes and label matrices.

A `Task` encodes the labels, chooses the folds and the auxiliaries, learns from the auxiliaries' outputs, and
turns outputs of new rows into scores. Its fields are the parameters of a classifier that it understands.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from scipy.special import expit, softmax
from sklearn.metrics import log_loss
from sklearn.utils.multiclass import type_of_target

from .. import measures
from .._compat import ArrayLike, BoolArray, FloatArray, IntArray, NDArray
from ..decisions import Decision, ExpectedValueThreshold, FixedThreshold, Threshold, ThresholdRule
from ..exceptions import ConstraintWarning, InvalidInputError, UnknownMeasureError
from ..measures import ConstrainedMeasure, FunctionMeasure, Measure, multiclass, multilabel
from ..measures.multiclass import ConfusionMatrixMeasure, MulticlassMeasure
from ..measures.multilabel import MultilabelMeasure
from ..tables import targets as target_columns
from ..tables.checks import warn_of_alphabetical_order
from .adaptation import Objective, adapt
from .auxiliaries import label_fold_codes, labelwise_auxiliary
from .center import StackPrior
from .classes import ClassScorer, calibration_error, fit_class_stack
from .combination import AdaptationData, FittedCombination, scale_outputs
from .cross_fit import Auxiliary, CrossFitResult, JobRunner, TrainingSet, cross_fit
from .labels import MIN_POSITIVE_ROWS, LabelData, fit_label_models, tries_adaptation
from .outputs import ClassOutput, LabelColumnsOutput, OutputKind, RawOutput, ScoreOutput
from .path import AUTO_GRID, CGrid, CVScore, CVScorer

Log = Callable[..., None]
#: Returns a context that records its time under the name of a step.
Timer = Callable[[str], AbstractContextManager[None]]


@dataclass(frozen=True)
class TrainingOutputs:
    """The outputs of trained auxiliaries for the training rows, and other training data.

    Attributes
    ----------
    training : TrainingSet
        The rows and their labels.
    auxiliaries : sequence of Auxiliary
        The auxiliaries that are used.
    fitted : CrossFitResult
        Their models and outputs.
    features : ndarray or sparse matrix of shape (n_samples, n_delta_features), optional
        The features of the delta function.
    feature_names : list of str
        Their names.
    """

    training: TrainingSet
    auxiliaries: Sequence[Auxiliary]
    fitted: CrossFitResult
    features: Any | None
    feature_names: list[str]

    def by_name(self, values: Iterable[Any]) -> dict[str, Any]:
        """Return one value for each auxiliary, by its name."""
        return dict(zip((each.name for each in self.auxiliaries), values, strict=True))


@dataclass(frozen=True)
class Task(ABC):
    """The part of a classifier that depends on the kind of target."""

    #: The kind of target: "binary", "multiclass" or "multilabel".
    target_type: ClassVar[str]
    #: Whether folds may leave rows that are never held out.
    allow_partial: ClassVar[bool] = False

    @classmethod
    def parameters(cls) -> list[str]:
        """Return the names of the parameters that this kind of target supports."""
        return [field.name for field in fields(cls)]

    @property
    @abstractmethod
    def output(self) -> RawOutput:
        """The kind of output of an auxiliary to use."""

    @abstractmethod
    def encode(self, y: Any, n_rows: int) -> tuple[NDArray[Any], IntArray]:
        """Return the labels in the order of their numbers, and what auxiliaries are trained on."""

    @abstractmethod
    def match(self, y: Any, n_rows: int, classes: NDArray[Any]) -> NDArray[Any]:
        """Return the labels of new rows as the measure needs them; `classes` are in the order of `encode`."""

    @abstractmethod
    def describe(self, classes: NDArray[Any], targets: IntArray, weight: Any) -> dict[str, Any]:
        """Return the fitted attributes about labels; raise an error if they cannot be learned."""

    def bind_measure(self, measure: Any, classes: NDArray[Any], targets: IntArray, y: Any) -> Any:
        """Return the measure for these labels; errors in a user's function occur before training."""
        return measure

    def fold_labels(self, measure: Any, targets: IntArray) -> NDArray[Any]:
        """Return the labels by which folds are stratified."""
        return targets

    def used_delta(self, measure: Any, n_outputs: int) -> Any:
        """Return the delta function, if one is used."""
        return None

    def train(self, runner: JobRunner, measure: Any) -> tuple[Sequence[Auxiliary], CrossFitResult]:
        """Train the auxiliaries; return those that are used, and their outputs."""
        return runner.auxiliaries, cross_fit(runner)

    @abstractmethod
    def learn(self, measure: Any, data: TrainingOutputs, timer: Timer, log: Log) -> dict[str, Any]:
        """Learn from the auxiliaries' outputs, and return the fitted attributes of the classifier."""

    @abstractmethod
    def is_used(self, model: Any) -> list[bool]:
        """Return which auxiliaries a fitted classifier needs."""

    @abstractmethod
    def scores(self, model: Any, raw: Sequence[FloatArray], features: Any | None) -> FloatArray:
        """Return the scores that a fitted classifier decides by, from the raw outputs of each auxiliary."""

    @abstractmethod
    def probabilities(self, scores: FloatArray) -> FloatArray:
        """Return the probabilities of the classes or labels."""

    def score(self, measure: Any, truth: Any, decision: Decision, scores: FloatArray, weight: Any) -> float:
        """Return the measure of a decision; `truth` are labels from `match`."""
        return float(measure.score(truth, decision.margins(scores), weight))


@dataclass(frozen=True)
class BinaryTask(Task):
    """Two classes: one adaptation of the auxiliaries' outputs, and a threshold."""

    pos_label: Any = None
    delta: Any = "linear"
    C: float | CGrid = AUTO_GRID
    threshold: str | float = "auto"
    tol: float = 1e-3

    target_type: ClassVar[str] = "binary"
    allow_partial: ClassVar[bool] = True

    @property
    def output(self) -> OutputKind:
        return ScoreOutput()

    def encode(self, y: Any, n_rows: int) -> tuple[NDArray[Any], IntArray]:
        label_pair, positive = target_columns.encode_binary_labels(y, self.pos_label)
        return label_pair, positive.astype(np.int64)

    def match(self, y: Any, n_rows: int, classes: NDArray[Any]) -> NDArray[Any]:
        return target_columns.positive_mask(y, classes)

    def bind_measure(self, measure: Any, classes: NDArray[Any], targets: IntArray, y: Any) -> Any:
        if isinstance(measure, FunctionMeasure):
            n_pos = float(targets.sum())
            measure.value_range(n_pos, len(targets) - n_pos)
        return measure

    def describe(self, classes: NDArray[Any], targets: IntArray, weight: Any) -> dict[str, Any]:
        if weight is not None:
            target_columns.check_class_weights(weight, targets, classes)
        counted = targets if weight is None else targets[weight > 0]
        return {
            "classes_": np.unique(classes),
            "pos_label_": classes.tolist()[1],
            "n_positive_": int(counted.sum()),
            "n_negative_": int((1 - counted).sum()),
            "sample_weight_": weight,
            "oof_positive_": targets.astype(bool),
        }

    def fold_labels(self, measure: Any, targets: IntArray) -> NDArray[Any]:
        return targets == 1

    def used_delta(self, measure: Any, n_outputs: int) -> Any:
        return self.delta

    def objective(self, measure: Measure) -> Objective:
        """Return the objective of the adaptation."""
        threshold = self.threshold
        rule: ThresholdRule = (
            ExpectedValueThreshold() if isinstance(threshold, str) else FixedThreshold(float(threshold))
        )
        return Objective(measure, tol=float(self.tol), threshold_rule=rule)

    def learn(self, measure: Any, data: TrainingOutputs, timer: Timer, log: Log) -> dict[str, Any]:
        training, fitted, folds = data.training, data.fitted, data.fitted.folds
        n_rows, rows = len(folds), np.flatnonzero(folds >= 0)
        raw, pairs, by_fold = fitted.raw_outputs, fitted.pair_outputs, fitted.fold_outputs
        center, positive = _stack_center(data.auxiliaries), training.targets == 1
        unscaled = AdaptationData(np.zeros((n_rows, 0)), data.features, positive, training.weight, center)
        if len(rows) < n_rows:
            unscaled, folds, measure = unscaled.take_rows(rows), folds[rows], measure.for_rows(rows)
            raw, pairs = raw[rows], None if pairs is None else pairs[:, rows]
        objective = self.objective(measure)
        is_external = all(each.is_frozen or each.is_score_column for each in data.auxiliaries)
        if is_external and isinstance(objective.prior, StackPrior):
            objective = replace(objective, prior=StackPrior(is_external=True))
            if isinstance(objective.threshold_rule, ExpectedValueThreshold):
                # One linear model may be misspecified: its probabilities are trusted less.
                objective = replace(objective, threshold_rule=ExpectedValueThreshold(observed_share=0.5))
        scaled, scales = scale_outputs(
            self.output,
            unscaled,
            folds,
            raw,
            fold_raw=by_fold,
            pair_raw=pairs,
            nonnegative=objective.nonnegative,
        )
        with timer("adaptation"):
            result = adapt(scaled, folds, objective, self.C, log)
        scorer = CVScorer(measure, objective.threshold_rule, scaled.positive, scaled.weight, folds)
        evaluated = next(each for each in (pairs, by_fold, raw) if each is not None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstraintWarning)
            scores = [scorer(scale.clip(evaluated[..., j])) for j, scale in enumerate(scales)]
        point, chosen, weights = result.point, result.chosen, result.weights
        reached = chosen.cv_score
        shifts = chosen.thresholds - point.score if measure.needs_threshold else np.zeros(len(rows))
        if isinstance(measure, ConstrainedMeasure):  # C is chosen without thresholds, the labels are not
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConstraintWarning)
                thresholds = scorer.thresholds(chosen.fold_scores)
            shifts = thresholds - point.score
            by_labels = replace(scorer, measure=measure.at_threshold())
            reached = replace(by_labels.evaluate(chosen.scores - thresholds), max_std=measure.max_std)
        oof_decision, oof_thresholds = np.full((2, n_rows), np.nan)
        oof_decision[rows] = point.calibration.log_odds(chosen.scores) - point.log_odds
        oof_thresholds[rows] = point.calibration.slope * shifts
        return {
            "combination_": FittedCombination(weights, tuple(scales), self.output),
            "decision_": Threshold(point.log_odds, objective.threshold_rule.reason),
            "auxiliary_scores_": data.by_name(scores),
            "auxiliary_weights_": data.by_name(weights.auxiliary.tolist()),
            "delta_coef_": dict(zip(data.feature_names, weights.delta.tolist(), strict=True)),
            "intercept_": weights.intercept,
            "oof_decision_": oof_decision,
            "oof_thresholds_": oof_thresholds,
            "oof_fold_": fitted.folds,
            "C_": chosen.C,
            "score_": reached.value,
            "score_std_": reached.std,
            "cv_results_": result.cv_results(),
            "delta_ridge_": result.delta_ridge,
            "stack_score_": result.stack_score,
            **solver_attributes(result.solution),
        }

    def score(self, measure: Any, truth: Any, decision: Decision, scores: FloatArray, weight: Any) -> float:
        return float(measure.score_labels(truth, decision.margins(scores), weight))

    def is_used(self, model: Any) -> list[bool]:
        return [weight != 0 for weight in model.auxiliary_weights_.values()]

    def scores(self, model: Any, raw: Sequence[FloatArray], features: Any | None) -> FloatArray:
        return np.asarray(model.combination_.log_odds(raw, features))

    def probabilities(self, scores: FloatArray) -> FloatArray:
        positive = expit(scores)
        return np.column_stack((1.0 - positive, positive))


@dataclass(frozen=True)
class MulticlassTask(Task):
    """Many classes: a stack of probabilities, and a rule that chooses the class."""

    target_type: ClassVar[str] = "multiclass"

    @property
    def output(self) -> RawOutput:
        return ClassOutput()

    def encode(self, y: Any, n_rows: int) -> tuple[NDArray[Any], IntArray]:
        classes, codes = target_columns.encode_class_labels(y)
        return classes, codes.astype(np.int64)

    def match(self, y: Any, n_rows: int, classes: NDArray[Any]) -> NDArray[Any]:
        return target_columns.class_positions(y, classes)

    def describe(self, classes: NDArray[Any], targets: IntArray, weight: Any) -> dict[str, Any]:
        counted = targets if weight is None else targets[weight > 0]
        return {"classes_": classes, "class_counts_": np.bincount(counted, minlength=len(classes))}

    def bind_measure(self, measure: Any, classes: NDArray[Any], targets: IntArray, y: Any) -> Any:
        if (categories := target_columns.ordered_categories(y)) is not None:
            known = set(classes.tolist())
            measure = measure.with_order([label for label in categories if label in known])
        if measure.assumes_order and len(classes) > 2:
            warn_of_alphabetical_order(classes, measure.name, stacklevel=5)
        measure = measure.for_classes(classes)
        if isinstance(measure, ConfusionMatrixMeasure):
            counts = np.bincount(targets).astype(np.float64)
            first_class = counts[:, None] * (np.arange(len(counts)) == 0)
            measure.value(np.stack((np.diag(counts), first_class)))
        return measure

    def learn(self, measure: Any, data: TrainingOutputs, timer: Timer, log: Log) -> dict[str, Any]:
        training, folds, raw = data.training, data.fitted.folds, data.fitted.raw_outputs
        codes, weight, classes = training.targets, training.weight, training.classes
        pairs = data.fitted.pair_outputs
        with timer("stack"):
            stack, probabilities, by_fold = fit_class_stack(raw, codes, weight, folds, pairs)
        scorer = ClassScorer(measure, codes, weight, folds)
        with timer("rule"):
            rule = scorer.choose_rule(probabilities, by_fold, nested=pairs is not None)
        oof_probabilities, known = by_fold[folds, np.arange(len(folds))], np.arange(len(classes))
        return {
            **rule,
            "oof_labels_": classes[rule["oof_labels_"]],
            "stack_": stack,
            "oof_probabilities_": oof_probabilities,
            "log_loss_": float(log_loss(codes, oof_probabilities, sample_weight=weight, labels=known)),
            "calibration_error_": calibration_error(oof_probabilities, codes, weight),
            "auxiliary_weights_": data.by_name(stack.weights.tolist()),
            "auxiliary_scores_": data.by_name(
                scorer(each.argmax(axis=1), softmax(each, axis=1)) for each in np.moveaxis(raw, 1, 0)
            ),
        }

    def is_used(self, model: Any) -> list[bool]:
        return list(model.stack_.is_used)

    def scores(self, model: Any, raw: Sequence[FloatArray], features: Any | None) -> FloatArray:
        return np.asarray(model.stack_.probabilities(raw))

    def probabilities(self, scores: FloatArray) -> FloatArray:
        return scores

    def score(self, measure: Any, truth: Any, decision: Decision, scores: FloatArray, weight: Any) -> float:
        return float(measure.score(truth, decision.decide(scores), scores, weight))


@dataclass(frozen=True)
class MultilabelTask(Task):
    """A label matrix: a model of each label, and thresholds or a cut of each row."""

    delta: Any = "linear"
    C: float | CGrid = AUTO_GRID
    tol: float = 1e-3

    target_type: ClassVar[str] = "multilabel"

    @property
    def output(self) -> RawOutput:
        return LabelColumnsOutput()

    def encode(self, y: Any, n_rows: int) -> tuple[NDArray[Any], IntArray]:
        classes, positive = target_columns.encode_label_matrix(y, n_rows)
        return classes, positive.astype(np.int64)

    def match(self, y: Any, n_rows: int, classes: NDArray[Any]) -> NDArray[Any]:
        return target_columns.match_label_matrix(y, n_rows, classes)

    def describe(self, classes: NDArray[Any], targets: IntArray, weight: Any) -> dict[str, Any]:
        target_columns.check_labels_vary((targets if weight is None else targets[weight > 0]).astype(bool))
        return {"classes_": classes, "n_labels_": len(classes)}

    def fold_labels(self, measure: Any, targets: IntArray) -> NDArray[Any]:
        if isinstance(measure, multilabel.EntryAverage):
            # Stratified folds would tell a value of all entries the share of each label in the held-out rows.
            return np.arange(len(targets)) % 2
        return label_fold_codes(targets.astype(bool))

    def used_delta(self, measure: MultilabelMeasure, n_outputs: int) -> Any:
        is_average = isinstance(measure, multilabel.LabelAverage)
        return self.delta if is_average and tries_adaptation(self.C, n_outputs) else None

    def train(self, runner: JobRunner, measure: Any) -> tuple[Sequence[Auxiliary], CrossFitResult]:
        labelwise = [labelwise_auxiliary(each) for each in runner.auxiliaries]
        return labelwise, cross_fit(replace(runner, auxiliaries=labelwise))

    def learn(self, measure: Any, data: TrainingOutputs, timer: Timer, log: Log) -> dict[str, Any]:
        training, folds, raw = data.training, data.fitted.folds, data.fitted.raw_outputs
        positive, weight = training.targets == 1, training.weight
        labels = LabelData(raw, data.features, positive, weight, folds, data.fitted.pair_outputs)
        with timer("adaptation"):
            found = fit_label_models(measure, labels, self.C, float(self.tol), log)

        def evaluate(decision: FloatArray) -> CVScore:
            def value(rows: BoolArray | slice) -> float:
                return measure.score(positive[rows], decision[rows], None if weight is None else weight[rows])

            return CVScore.jackknife(value, folds)

        def name_labels(mask: ArrayLike) -> list[str]:
            return [str(name) for name in training.classes[np.asarray(mask)]]

        score, models = evaluate(found["oof_decision_"]), found["label_models_"]
        weights = np.array([each.combination.weights.auxiliary for each in models])
        counts = np.array([each.n_positive for each in models])
        return {
            **found,
            "score_": score.value,
            "score_std_": score.std,
            "rare_labels_": name_labels(counts < MIN_POSITIVE_ROWS),
            "constant_labels_": name_labels([not labels.can_be_adapted(k) for k in range(labels.n_labels)]),
            "auxiliary_weights_": data.by_name(weights.T),
            "auxiliary_scores_": data.by_name(evaluate(each) for each in np.moveaxis(raw, 1, 0)),
        }

    def is_used(self, model: Any) -> list[bool]:
        return [True] * len(model.auxiliaries_)

    def scores(self, model: Any, raw: Sequence[FloatArray], features: Any | None) -> FloatArray:
        columns = [
            each.combination.log_odds([outputs[:, k] for outputs in raw], features)
            for k, each in enumerate(model.label_models_)
        ]
        return np.column_stack(columns)

    def probabilities(self, scores: FloatArray) -> FloatArray:
        return np.asarray(expit(scores))


#: The tasks with default parameters, by the name of the kind of target.
TASKS: dict[str, Task] = {each.target_type: each() for each in (BinaryTask, MulticlassTask, MultilabelTask)}


def solver_attributes(solution: Any | None) -> dict[str, Any]:
    """Return the fitted attributes of the solver's certificate, which are 0 at C = 0."""
    numbers = {f"{name}_": getattr(solution, name, 0) for name in ("primal", "dual", "gap", "n_iter")}
    return {"solution_": solution, **numbers}


def _stack_center(auxiliaries: Sequence[Auxiliary]) -> FloatArray | None:
    """The average of the frozen auxiliaries if there are others, or None for the average of all.

    A frozen auxiliary has learned from other rows. Where the new rows are few, it is the better guess.
    """
    frozen = np.array([each.is_frozen for each in auxiliaries])
    return frozen / frozen.sum() if 0 < frozen.sum() < len(frozen) else None


def find_task(measure: Any, y: Any) -> tuple[type[Task], Any]:
    """Return the task for the labels y, and the measure as an object.

    Labels that are missing or no classes have no kind of target: the task is the one that the measure is for,
    and explains what is wrong.
    """
    kind = _target_kind(y)
    if kind in ("multiclass-multioutput", "continuous-multioutput"):
        raise InvalidInputError(
            "y has several columns with other values than 0 and 1: train one classifier for each column, or "
            "make a label matrix of zeros and ones."
        )
    if kind == "multilabel-indicator" or _has_columns(y):
        if isinstance(measure, MulticlassMeasure):
            raise InvalidInputError(
                f"the measure {measure.label!r} is for classes, but y is a label matrix: choose one of "
                "capo.measures.multilabel.names()."
            )
        return MultilabelTask, multilabel.get(measure)
    is_for_classes = isinstance(measure, MulticlassMeasure) or multiclass.is_matrix_function(measure)
    if isinstance(measure, MultilabelMeasure):
        raise _wrong_target(measure.label)
    if kind != "multiclass" and not is_for_classes:
        try:
            return BinaryTask, measures.get(measure)
        except UnknownMeasureError as error:
            if not isinstance(measure, str):
                raise
            unknown = error
    try:
        return MulticlassTask, multiclass.get(measure)
    except UnknownMeasureError as error:
        if isinstance(measure, str) and measure.strip() in multilabel.names():
            raise _wrong_target(measure) from None
        raise (error if kind == "multiclass" else unknown) from None


def _wrong_target(measure: str) -> InvalidInputError:
    return InvalidInputError(
        f"the measure {measure!r} is for label matrices, but y is not a matrix of zeros and ones with a "
        "column for each label: choose one of capo.measures.names() for two classes, or of "
        "capo.measures.multiclass.names()."
    )


def _target_kind(y: Any) -> str | None:
    """Return scikit-learn's name of the kind of target; None where it has none."""
    if y is None:
        return None
    if issparse(y):
        return "multilabel-indicator"
    try:
        with np.errstate(invalid="ignore"):  # missing labels, which the task explains
            return str(type_of_target(target_columns.plain_labels(y)))
    except (TypeError, ValueError):
        return None


def _has_columns(y: Any) -> bool:
    """Whether a target has more than one column."""
    try:
        shape = getattr(y, "shape", None) or np.asarray(y).shape
    except ValueError:  # a list of lists of different lengths
        return False
    return len(shape) == 2 and shape[1] > 1
