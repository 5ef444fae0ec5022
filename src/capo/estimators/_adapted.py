"""The base class of classifiers that adapt auxiliaries: parameters, `fit` and predictions."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_array, check_is_fitted, check_memory, validate_data

from .. import measures
from .._accel.threads import library_threads_for
from .._compat import ArrayLike, BoolArray, FloatArray, IntArray, NDArray, check_y, routing_enabled
from ..decisions import (
    Decision,
    Guarantee,
    Population,
    PriceTerms,
    RowPrices,
    Savings,
    Threshold,
    normalize_weights,
)
from ..exceptions import AuxiliaryError, DataWarning, InvalidInputError
from ..learning.auxiliaries import (
    AUXILIARY_SETS,
    FAST,
    ScoreColumn,
    bind_sample_weight,
    name_auxiliaries,
    resolve_auxiliaries,
    score_columns,
    set_random_states,
)
from ..learning.cross_fit import Auxiliary, JobRunner, TrainingSet
from ..learning.folds import check_fold_sizes, fold_numbers, split_folds
from ..learning.outputs import count_numbers, iter_row_blocks, predict_block
from ..learning.task import TASKS, Task, TrainingOutputs
from ..measures import Measure
from ..tables.checks import SeenRows, check_numbers, segment_names, warn_of_data, warn_of_majority_class
from ..tables.features import check_features
from ..tables.kinds import is_dataframe
from ..tables.schema import DemandedKind, FeatureSchema, infer_schema, list_columns
from ..tables.targets import check_classes, check_no_missing_labels, plain_labels
from ..tables.vectors import encode_column, encode_texts
from ._base import (
    CapoEstimator,
    ProgressLogger,
    StepTimer,
    check_frame,
    check_row_weights,
    fit_delta,
    reject_operator,
    warn_not_converged,
)

#: A score column may have seen the labels if it ranks only this share of pairs of rows wrongly, and only this
#: share of those that the best of the other auxiliaries does.
MAX_SEEN_ERRORS, SEEN_ERROR_SHARE = 0.01, 0.1


@dataclass(eq=False, repr=False)
class AdaptationParameters:
    """The parameters that all classifiers with adapted auxiliaries have, with their defaults."""

    measure: Any = "f1"
    _: KW_ONLY
    auxiliaries: Any = "auto"
    pos_label: Any = None
    cv: Any = 5
    delta: Any = "linear"
    C: Any = "auto"
    tol: float = 1e-3
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0


class BaseAdaptedClassifier(AdaptationParameters, ClassifierMixin, CapoEstimator):
    """A classifier that combines auxiliaries and adapts them to a measure.

    Its task contains what differs between two classes, many classes and label matrices. For two classes, all
    scores, thresholds and out-of-fold values are about the positive class, `pos_label_`. Only
    `decision_function` and `predict_proba` follow the order of `classes_`, which is sorted.
    """

    memory: Any
    #: Not a parameter of all estimators.
    column_kinds: Mapping[str, DemandedKind] | FeatureSchema | None = None
    text_encoder: Any = None

    #: The kind of target: "binary", "multiclass" or "multilabel".
    target_type_: str
    #: The name of the labels, if they were a named column.
    target_name_: str
    auxiliary_weights_: dict[str, Any]
    decision_: Any
    combination_: Any
    #: The length of the text encoder's vectors of each column of free text.
    text_lengths_: dict[Any, int]
    classes_: NDArray[Any]
    pos_label_: Any
    oof_decision_: FloatArray
    oof_thresholds_: FloatArray
    oof_positive_: NDArray[np.bool_]
    #: The fold of each training row, -1 for a row that was never held out.
    oof_fold_: IntArray | None = None
    #: The weights of the training rows, if any.
    sample_weight_: FloatArray | None = None
    #: Fingerprints of the training rows, for two classes.
    seen_rows_: SeenRows | None = None
    #: The population that the model was adjusted to, if it was.
    population_: Population | None = None
    #: The prices that the model was trained with, if there were any.
    prices_: PriceTerms | None = None
    #: The savings of the out-of-fold predictions, if the model was trained with prices.
    savings_: Savings | None = None

    @property
    def task_(self) -> Task:
        """The part that depends on the kind of target."""
        return TASKS[self.target_type_]

    @property
    def threshold_(self) -> float:
        """The probability of the positive class above which a row is positive, for two classes."""
        if self.target_type_ != "binary":
            raise AttributeError(f"a {self.target_type_} model has no attribute 'threshold_'.")
        return float(expit(self.decision_.log_odds))

    @property
    def guarantee_(self) -> Guarantee | None:
        """What the threshold guarantees, if it was chosen on calibration rows."""
        return self.decision_ if isinstance(self.decision_, Guarantee) else None

    @property
    def rule_(self) -> Any:
        """From probabilities to labels, for many classes."""
        return self.decision_.rule

    @property
    def answers_(self) -> NDArray[Any]:
        """The possible return values of `predict`: the labels, and the abstain label if there is one."""
        asks = self.prices_ is not None and self.prices_.asks and self.guarantee_ is None
        decision = RowPrices.from_values(0, cost_ask=0.0) if asks else self.decision_
        return np.asarray(decision.answers(self.label_pair))

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
        """The auxiliaries with parameters, without names of sets; empty if `fit` would reject them."""
        try:
            pairs = self._named_auxiliaries()
        except InvalidInputError:
            return []
        return [(name, estimator) for name, estimator in pairs if name not in AUXILIARY_SETS]

    def _inner_estimators(self) -> list[tuple[str, Any]]:
        """The user's own estimators under their names."""
        names = (str, ScoreColumn)
        return [(name, estimator) for name, estimator in self._slots() if not isinstance(estimator, names)]

    def _named_auxiliaries(self) -> list[tuple[str, Any]]:
        """The auxiliaries under their names, registered names in the place of their estimators."""
        if not isinstance(self.auxiliaries, list | tuple):
            return []
        return name_auxiliaries(self.auxiliaries, {*self._get_param_names(), "splitter", "method_mapping"})

    def _check_X(self, X: Any, *, reset: bool) -> Any:
        """Return a data frame as it is, anything else as an array or CSR matrix of numbers.

        Without `reset`, a data frame must have the columns of the training table; others are left out.
        """
        reject_operator(X, self)
        try:
            X = check_frame(X)
            frame = is_dataframe(X)
        except DuplicateError as error:
            raise InvalidInputError(f"the columns of X must have different names: {error}") from error
        if not frame:
            X = self._check_array(X)
        elif 0 in X.shape:
            n_rows, n_columns = X.shape
            empty = "0 columns (0 feature(s))" if n_rows else f"0 rows (0 sample(s)) and {n_columns} columns"
            raise InvalidInputError(f"X has {empty}: at least one row and one column are needed.")
        if frame and not reset:
            X = self.schema_.select(X)
        validate_data(self, X, reset=reset, skip_check_array=True)
        return X

    def _parse_X(self, X: Any) -> Any:
        """Check a table to predict, and parse its columns as those of the training table."""
        check_is_fitted(self, "auxiliaries_")
        X = self.schema_.parse(self._check_X(X, reset=False))
        check_numbers(X)
        return self._encode_texts(X)

    def _encode_texts(self, X: Any) -> Any:
        """Replace the columns of free text by the vectors of the text encoder, if there is one."""
        encode = partial(check_memory(self.memory).cache(encode_texts), self.text_encoder)
        for column in self.schema_.of_role("text") if self.text_encoder is not None else ():
            known = self.text_lengths_.get(column.key, 0)
            series, self.text_lengths_[column.key] = encode_column(column.select(X), encode, known)
            X = nw.from_native(X, eager_only=True).with_columns(series).to_native()
        return X

    def _check_array(self, X: Any) -> Any:
        try:
            # Infinite numbers are found by `check_numbers`, which says where they are.
            return check_array(
                X, accept_sparse="csr", dtype="numeric", ensure_all_finite=False, estimator=self
            )
        except ValueError as error:
            if "could not convert string" not in str(error):
                raise
            raise InvalidInputError(
                f"X is an array with text ({error}): pass a data frame, whose columns of text are encoded as "
                "categories."
            ) from error

    def _check_y(self, X: Any, y: Any) -> NDArray[Any]:
        """Return the labels as an array with one entry per row of X."""
        if y is None:
            raise InvalidInputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        try:
            labels = check_y(plain_labels(y), y_numeric=False, estimator=self)
        except ValueError:
            check_no_missing_labels(np.asarray(y, dtype=object).ravel())
            raise
        if len(labels) != X.shape[0]:
            raise InvalidInputError(
                f"Found input variables with inconsistent numbers of samples: X has {X.shape[0]} rows, y has "
                f"{len(labels)}."
            )
        return np.asarray(labels)

    def _given_auxiliaries(self) -> list[tuple[str, Any]]:
        """The auxiliaries under their names, names of sets among them."""
        auxiliaries = self.auxiliaries
        return [(auxiliaries,) * 2] if isinstance(auxiliaries, str) else self._named_auxiliaries()

    @property
    def score_columns(self) -> dict[str, list[Any]]:
        """The columns of each auxiliary that is made of score columns."""
        return {
            name: each.columns for name, each in self._given_auxiliaries() if isinstance(each, ScoreColumn)
        }

    def _bind_auxiliaries(
        self, pairs: list[tuple[str, Any]], weight: Any, sample_weight: Any, params: dict[str, Any]
    ) -> tuple[list[Auxiliary], dict[str, Any]]:
        """Return the auxiliaries with the parameters of their `fit`, and the parameters of the splitter.

        The weights of the built-in ones have a mean of 1: their penalties and samples are meant for that.
        """
        own = {name for name, _ in self._inner_estimators()}
        normalized = None if weight is None else normalize_weights(len(weight), weight)
        if not routing_enabled():
            unknown = sorted(set(params) - {"groups"})
            if unknown:
                raise TypeError(f"fit() got an unexpected keyword argument {unknown[0]!r}; it takes groups.")
            return [
                bind_sample_weight(name, estimator, weight if name in own else normalized)
                for name, estimator in pairs
            ], params
        routed = process_routing(self, "fit", sample_weight=sample_weight, **params)
        bound = [
            Auxiliary(name, estimator, dict(routed[name].fit))
            if name in own
            else bind_sample_weight(name, estimator, normalized)
            for name, estimator in pairs
        ]
        return bound, routed.splitter.split

    def _fit(
        self, task: Task, measure: Any, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]
    ) -> Self:
        """Train the auxiliaries and learn from their outputs."""
        progress, timer = ProgressLogger(self), StepTimer()
        random = None if self.random_state is None else check_random_state(self.random_state)
        X = self._check_X(X, reset=True)
        labels = y if task.target_type == "multilabel" else self._check_y(X, y)
        classes, targets = task.encode(labels, X.shape[0])
        if task.target_type == "multiclass":
            check_classes(y, classes, targets)
        weight = None if sample_weight is None else check_row_weights(sample_weight, X)
        self.__dict__.update(
            task.describe(classes, targets, weight), target_type_=task.target_type, text_lengths_={}
        )
        self.target_name_ = str(getattr(y, "name", None) or "")
        measure = self.measure_ = task.bind_measure(measure, classes, targets, y)
        raw, kinds = X, self.column_kinds if is_dataframe(X) else None
        self.schema_ = kinds if isinstance(kinds, FeatureSchema) else infer_schema(X, kinds).with_features()
        check_numbers(parsed := self.schema_.parse(raw))
        X = self._encode_texts(parsed)
        schema = self.schema_.with_vectors(self.text_lengths_)
        given, kind = self._given_auxiliaries(), task.target_type
        pairs = [
            (name, set_random_states(estimator, random))
            for name, estimator in resolve_auxiliaries(given, X, schema, kind, len(classes))
        ]
        auxiliaries, split_params = self._bind_auxiliaries(pairs, weight, sample_weight, params)
        auxiliaries = [replace(each, is_score_column=each.name in self.score_columns) for each in auxiliaries]
        splits = split_folds(
            self.cv,
            X,
            task.fold_labels(measure, targets),
            split_params,
            random,
            allow_partial=task.allow_partial,
            weight=weight,
        )
        self.n_splits_ = len(splits)
        if isinstance(measure, Measure):
            check_fold_sizes(measure, splits, len(targets), weight)
        columns = schema.take(score_columns(given), others=True)
        warn_of_data(
            raw,
            fold_numbers(splits, len(targets)),
            None
            if isinstance(kinds, FeatureSchema)
            else self.schema_.take(score_columns(given), others=True),
            targets,
            self.target_name_,
            stacklevel=4,
        )
        if getattr(task, "pos_label", "") is None:
            counted = targets if weight is None else targets[weight > 0]
            warn_of_majority_class(classes, counted == 1, stacklevel=4)
        with timer("delta"):
            has_delta = columns.columns or not self.score_columns
            delta = task.used_delta(measure, len(classes)) if has_delta else None
            self.delta_, features = fit_delta(delta, X, columns, random)
        is_fast = self.auxiliaries == FAST and kind == "binary"
        groups = None if (found := split_params.get("groups")) is None else np.asarray(found)
        training = TrainingSet(X, targets, classes, splits, weight, groups, is_fast)
        runner = JobRunner(auxiliaries, training, task.output, self.memory, self.n_jobs, progress.log)
        with library_threads_for(count_numbers(X), find_libraries=True):
            with timer("auxiliaries"):
                used, fitted = task.train(runner, measure)
            names = _feature_names(self.delta_, features)
            outputs = TrainingOutputs(training, used, fitted, features, names)
            self.__dict__.update(task.learn(measure, outputs, timer, progress.log))
        self.seen_rows_ = SeenRows.from_rows(parsed) if kind == "binary" else None
        self.auxiliaries_, self.auxiliary_outputs_ = outputs.by_name(fitted.models), fitted.raw_outputs
        self.timings_ = timer.with_auxiliaries([each.name for each in used], fitted)
        self._warn_of_seen_labels(targets == 1, fitted.raw_outputs)
        if (solution := getattr(self, "solution_", None)) is not None:
            warn_not_converged(solution, stacklevel=4, limits="tol", C_is_given=not isinstance(self.C, str))
        return self

    def _warn_of_seen_labels(self, positive: BoolArray, outputs: FloatArray) -> None:
        """Warn about score columns that are too good for rows that their model has not seen."""
        if not self.score_columns or self.target_type_ != "binary":
            return
        areas = {
            name: measures.get("roc_auc").score(positive, column)
            for name, column in zip(self.auxiliaries_, outputs.T, strict=True)
        }
        others = [area for name, area in areas.items() if name not in self.score_columns]
        best = max(others, default=0.5)
        for name in self.score_columns:
            errors = 1.0 - max(areas[name], 1.0 - areas[name])
            if errors <= MAX_SEEN_ERRORS and errors < SEEN_ERROR_SHARE * (1.0 - best):
                warnings.warn(
                    f"the score column {name!r} has a ROC area of {1.0 - errors:.4f} on the training rows, "
                    "far above the other auxiliaries: if the labels of these rows were used to make it, all "
                    "values are too high. Use scores of rows that the service had not seen.",
                    DataWarning,
                    stacklevel=5,
                )

    @property
    def label_pair(self) -> NDArray[Any]:
        """The labels in the order of their numbers: of two classes, the positive one is the second."""
        return self.classes_[::-1] if self._is_reversed else self.classes_

    @property
    def _is_reversed(self) -> bool:
        """Whether the positive class is the first of `classes_`."""
        return self.target_type_ == "binary" and bool(self.classes_[0] == self.pos_label_)

    def _scores(self, X: Any) -> FloatArray:
        """Return what is decided by: log-odds, or probabilities of many classes."""
        X = self._parse_X(X)
        return np.concatenate([self._block_scores(block) for block in iter_row_blocks(X)])

    def _block_scores(self, X: Any) -> FloatArray:
        task = self.task_
        is_used = zip(self.auxiliaries_, task.is_used(self), strict=True)
        used = self._raw_outputs((name for name, needed in is_used if needed), X)
        unused = np.zeros((X.shape[0], *(() if self.target_type_ == "binary" else self.classes_.shape)))
        raw = [used.get(name, unused) for name in self.auxiliaries_]
        return task.scores(self, raw, self._used_features(X))

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
        blocks = iter_row_blocks(self._parse_X(X))
        outputs = (self._raw_outputs(self.auxiliaries_, block).values() for block in blocks)
        return np.concatenate([np.stack(list(each), axis=1) for each in outputs])

    def _raw_outputs(self, names: Iterable[str], X: Any) -> dict[str, FloatArray]:
        """Return the raw outputs of some auxiliaries; an error names the auxiliary."""
        models = {name: self.auxiliaries_[name] for name in names}
        output = self.combination_.output_kind if self.target_type_ == "binary" else self.task_.output
        return predict_block(models, X, output, self.label_pair, lambda name: self._name_errors(name, X))

    @contextmanager
    def _name_errors(self, name: str, X: Any) -> Iterator[None]:
        """Add the name of an auxiliary to its errors."""
        try:
            yield
        except Exception as error:
            self._raise_mismatch(X, error)
            raise AuxiliaryError(
                f"the auxiliary {name!r} failed to predict: {type(error).__name__}: {error}"
            ) from error

    def _used_features(self, X: Any) -> Any | None:
        """Return the features of the delta function; None if they have no weight."""
        has_weight = self.target_type_ != "binary" or self.combination_.weights.delta.any()
        if self.delta_ is None or not has_weight:
            return None
        try:
            return check_features(self.delta_.transform(X))
        except Exception as error:
            self._raise_mismatch(X, error)
            raise

    def _raise_mismatch(self, X: Any, error: Exception) -> None:
        """Raise a clear error if X is an array, and the training table was a data frame."""
        if (names := self.schema_.names) and not is_dataframe(X):
            raise InvalidInputError(
                "X is an array, but the model was trained on a data frame, whose columns it selects by name "
                f"({list_columns(names)}): pass a data frame with these columns, such as pandas.DataFrame(X, "
                "columns=model.feature_names_in_)."
            ) from error

    def row_decision(self, X: Any) -> Any:
        """Return `decision_`, with the thresholds of each row's segment if there are segments.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            The table; with segments, a data frame that has their column.

        Returns
        -------
        capo.decisions.Decision
            From the scores of these rows to labels.
        """
        found = self.guarantee_
        if found is None or not found.segments:
            return self.decision_
        names = segment_names(check_frame(X), found.column)
        if unknown := sorted(set(names.tolist()) - {*found.segments, ""}):
            warnings.warn(
                f"{np.isin(names, unknown).sum():,} of {len(names):,} rows have a {found.column} that the "
                f"calibration rows did not have, such as {unknown[0]!r}: no threshold is known for them.",
                DataWarning,
                stacklevel=3,
            )
        return found.for_rows(names)

    def _predict(self, X: Any, decision: Decision | None = None) -> NDArray[Any]:
        """Return the labels by a decision, by default that of the model."""
        scores, decision = self._scores(X), self.row_decision(X) if decision is None else decision
        found = decision.decide(scores).astype(np.intp)
        return found if self.target_type_ == "multilabel" else decision.answers(self.label_pair)[found]

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
        return self._predict(X)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the classes or labels, calibrated on out-of-fold scores.

        `predict` applies `decision_` to them, which need not predict the most probable class.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            The table, with the columns of the training table.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities in the order of `classes_`.
        """
        scores = self._scores(X)
        probabilities = self.task_.probabilities(scores)
        return probabilities[:, ::-1] if self._is_reversed else probabilities

    def decision_function(self, X: Any) -> FloatArray:
        """Return the values on which `predict` bases its decisions.

        For two classes, the log-odds of ``classes_[1]`` minus those at the threshold: above 0 is
        ``classes_[1]``. That is the positive class unless `pos_label` is the smaller label; see
        `positive_decision`. For many classes, the expected gain of each class, of which `predict` takes the
        largest. For a label matrix, the log-odds of each label minus those at its threshold. If segments have
        thresholds of their own, the log-odds themselves, which compare rows of all segments.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            The table, with the columns of the training table.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            One number per row, or per row and class.
        """
        scores, found = self._scores(X), self.guarantee_
        has_segments = found is not None and bool(found.segments)
        margins = scores if has_segments else np.asarray(self.decision_.margins(scores))
        return -margins if self._is_reversed else margins

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the measure that was optimized, on these rows; higher is better."""
        return self._score(X, y, sample_weight, self.measure_)

    def _score(
        self, X: Any, y: Any, sample_weight: Any, measure: Any, decision: Decision | None = None
    ) -> float:
        """Return the measure of a decision, by default that of the model."""
        scores, decision = self._scores(X), self.row_decision(X) if decision is None else decision
        if decision.abstain_label is not None and measure.at_threshold() is not None:
            raise InvalidInputError(
                f"this model does not label all rows, and {measure.label} needs one for each: see "
                "guarantee_ for what the labels promise, or score the model without the guarantee."
            )
        labels = self._check_y(scores, y) if self.target_type_ == "multiclass" else y
        truth = self.task_.match(labels, len(scores), self.label_pair)
        if self.target_type_ == "binary" and measure.at_threshold() is None:  # a measure of the ranking
            decision = Threshold(0.0, "")
        weight = None if sample_weight is None else check_row_weights(sample_weight, scores)
        return self.task_.score(measure, truth, decision, scores, weight)

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
        self._check_two_classes()
        return self._scores(X)

    def positive_decision(self, X: Any) -> FloatArray:
        """Return the log-odds of the positive class, minus those at the threshold: above 0 is positive.

        This is `decision_function`, with the opposite sign if the positive class is ``classes_[0]``. If
        segments have thresholds of their own, it is relative to that of the row's segment.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            The table, with the columns of the training table.

        Returns
        -------
        ndarray of shape (n_samples,)
            One number per row.
        """
        return np.asarray(self.row_decision(X).margins(self.log_odds(X)))

    def as_probability(self, decision: FloatArray) -> FloatArray:
        """Convert values of `positive_decision` to probabilities of the positive class."""
        self._check_two_classes()
        if (found := self.guarantee_) is not None and found.segments:
            raise InvalidInputError(
                f"each {found.column} has its own threshold, but this needs a single threshold for all rows: "
                "use the model without the guarantee, or predict_proba."
            )
        return np.asarray(expit(decision + self.decision_.log_odds))

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
        self._check_two_classes()
        return self._used_features(self._parse_X(X))

    def _check_two_classes(
        self,
        message: str = "this is for a model of two classes, and this model has more classes or several "
        "labels: use decision_function or predict_proba.",
    ) -> None:
        """Raise an error if there is no positive class."""
        check_is_fitted(self, "auxiliaries_")
        if self.target_type_ != "binary":
            raise InvalidInputError(message)

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


def _feature_names(transformer: Any, features: Any) -> list[str]:
    """Names of the delta function's features, those of the transformer if it has them."""
    try:
        return [] if transformer is None else list(transformer.get_feature_names_out())
    except (AttributeError, ValueError, NotFittedError):
        return [f"phi{number}" for number in range(features.shape[1])]
