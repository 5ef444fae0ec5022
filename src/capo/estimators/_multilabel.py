"""MultilabelCAPOClassifier: any classifiers of label matrices, adapted to a measure of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from .. import multilabel
from .._sklearn_compat import HasMethods, Interval, StrOptions, VisualBlock
from .._threads import library_threads_for
from .._typing import BoolArray, FloatArray, IntArray
from ..adaptation import parse_C
from ..auxiliary import (
    AUXILIARY_SETS,
    Auxiliary,
    CrossFitResult,
    JobRunner,
    LabelColumnsOutput,
    RawOutput,
    TrainingSet,
    count_numbers,
    cross_fit,
    iter_row_blocks,
    label_fold_codes,
    labelwise_auxiliary,
    use_label_defaults,
)
from ..inspection import Summary, summarize_multilabel
from ..measures import Measure
from ..model_selection import CGrid, CVScore, fold_numbers, split_class_folds
from ..multilabel import (
    LabelData,
    LabelModels,
    MultilabelMeasure,
    RowAverage,
    cut_rows,
    fit_label_models,
)
from ..preprocessing import (
    DemandedKind,
    check_labels_vary,
    encode_label_matrix,
    match_label_matrix,
    warn_of_data,
)
from ._atomic_fit import atomic_fit
from ._auxiliary_params import AuxiliaryMetaEstimatorMixin
from ._delta import fit_delta
from ._progress import ProgressLogger, StepTimer
from ._validation import check_row_weights


class MultilabelCAPOClassifier(AuxiliaryMetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Combine classifiers of label matrices and adapt them to a performance measure.

    What is adapted depends on the average of the measure:

    - over labels (``"f1_macro"``): one binary adaptation for each label, as by `CAPOClassifier`, with its own
      weights and threshold;
    - over all entries (``"f1_micro"``): the stack of each label, and one binary adaptation of all entries of
      the label matrix, with the same threshold for all labels;
    - over rows (``"f1_samples"``, ``"precision_at_k"``): the stack of each label, and for each row the set of
      labels with the best expected value, for labels that are independent given the row.

    All labels share the folds, and the auxiliaries share the features.

    `CAPOClassifier` uses this class where y is a label matrix.

    Parameters
    ----------
    measure : str, MultilabelMeasure, Measure or callable, default="f1_macro"
        What to optimize: a name from `capo.multilabel.names()`, a measure made with `capo.multilabel.get`,
        or a measure of two classes, which stands for its mean over the labels.
    auxiliaries : {"auto", "fast", "best"} or list, default="auto"
        Classifiers, (name, classifier) pairs, or names of built-in auxiliaries, as for `CAPOClassifier`. A
        classifier that takes a label matrix is trained once, any other once per label. "auto" is boosted
        trees, random trees, a linear and a kernel machine; with more than 10 labels, random trees and a
        linear machine.
    cv : int, splitter or iterable, default=5
        Folds for cross-fitting; an integer means folds of shuffled rows, stratified by the rarest label of
        each row, or folds of groups if `fit` is given ``groups``.
    delta : "linear", "rbf", None or transformer, default="linear"
        The features of the delta function of each label, as for `CAPOClassifier`; for averages over labels.
    C : "auto", float or array-like, default="auto"
        Weight of the measure, as for `CAPOClassifier`. With more than 10 labels, or more than 200,000 entries
        for an average over entries, "auto" keeps C = 0, the stack.
    tol : float, default=1e-3
        Accuracy of the solver.
    column_kinds : dict of str to str or dict, optional
        Kinds of columns that are taken for something else, such as ``{"title": "text"}``, as in
        `capo.preprocessing.infer_schema`.
    memory : str or joblib.Memory, optional
        Where to cache the trained auxiliaries, so that another measure does not train them again; set
        `random_state` too.
    n_jobs : int, optional
        Number of models trained in parallel, as in scikit-learn.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds, and of every auxiliary that has none of its own.
    verbose : int, default=0
        1 logs a line every two seconds, 2 every step, by the logger ``"capo"``.

    Attributes
    ----------
    label_models_ : list of capo.multilabel.LabelModel
        For each label the weights, the threshold, C, the solver's gap and the out-of-fold value.
    auxiliary_weights_ : dict of str to ndarray of shape (n_labels,)
        The weight of each auxiliary for each label.
    thresholds_ : ndarray of shape (n_labels,)
        The probability above which each label is predicted; for averages over rows it depends on the row.
    value_, bound_, gap_ : float
        The expected value of the measure on the training rows if labels follow their probabilities, the
        best one that any labeling could have, and their difference.
    score_, score_std_ : float
        The out-of-fold value, and its standard deviation over folds.
    rare_labels_ : list of str
        Labels with fewer than 10 positive rows.
    constant_labels_ : list of str
        Labels that are predicted by their base rate, since the rows of one of their classes are missing or
        all in one fold.
    oof_log_odds_, oof_decision_ : ndarray of shape (n_samples, n_labels)
        The log-odds of each label of each training row, and the decision function, from models that have not
        seen the row.
    auxiliaries_ : dict of str to estimator
        The auxiliaries, trained on all rows.
    auxiliary_outputs_ : ndarray of shape (n_samples, n_auxiliaries, n_labels)
        The raw output of each auxiliary for each training row, out of fold.
    auxiliary_scores_ : dict of str to capo.model_selection.CVScore
        The out-of-fold value of each auxiliary as it is, with labels predicted above a probability of 0.5.
    delta_ : transformer or None
        The features of the delta function, trained.
    measure_ : capo.multilabel.MultilabelMeasure
        The measure that was optimized.
    schema_ : capo.preprocessing.FeatureSchema
        What each column of a data frame was taken for, and why; prints as a table.
    timings_ : dict of str to float
        The seconds that each step took.
    classes_ : ndarray of shape (n_labels,)
        The names of the labels, or their numbers.
    n_labels_ : int
        Number of labels.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, if X had any.

    See Also
    --------
    CAPOClassifier : Two classes, many classes or many labels.
    MulticlassCAPOClassifier : Many classes, one of which each row has.

    References
    ----------
    N. Ye, K. M. A. Chai, W. S. Lee, H. L. Chieu. Optimizing F-measures: a tale of two approaches. ICML 2012.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from capo import MultilabelCAPOClassifier
    >>> X, Y = make_multilabel_classification(200, n_classes=4, random_state=0)
    >>> model = MultilabelCAPOClassifier("f1_macro", auxiliaries=[GaussianNB()], C=0, random_state=0)
    >>> model = model.fit(X, Y)
    >>> model.predict(X).shape
    (200, 4)
    >>> bool(model.score(X, Y) > 0.6)
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        "measure": [str, MultilabelMeasure, Measure, callable],
        "auxiliaries": [StrOptions(set(AUXILIARY_SETS)), list, tuple],
        "cv": ["cv_object"],
        "delta": [StrOptions({"linear", "rbf"}), None, HasMethods(["fit", "transform"])],
        "C": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left"), "array-like"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "column_kinds": [Mapping, None],
        "memory": [str, HasMethods(["cache"]), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        measure: str | MultilabelMeasure | Measure | Callable[..., Any] = "f1_macro",
        *,
        auxiliaries: Any = "auto",
        cv: Any = 5,
        delta: Any = "linear",
        C: Any = "auto",
        tol: float = 1e-3,
        column_kinds: Mapping[str, DemandedKind] | None = None,
        memory: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.auxiliaries = auxiliaries
        self.cv = cv
        self.delta = delta
        self.C = C
        self.tol = tol
        self.column_kinds = column_kinds
        self.memory = memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @atomic_fit
    def fit(self, X: Any, Y: Any, sample_weight: ArrayLike | None = None, **params: Any) -> Self:
        """Train the auxiliaries and adapt them to the measure.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            The table, as for `CAPOClassifier`.
        Y : array, data frame or sparse matrix of shape (n_samples, n_labels)
            1 where a row has the label of the column, else 0. The names of a data frame's columns are the
            names of the labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, for the measure and for every auxiliary that takes them.
        **params : dict
            ``groups``: rows of one group are held out together; with metadata routing, also what the
            auxiliaries and the splitter request.

        Returns
        -------
        self : MultilabelCAPOClassifier
            The fitted classifier. If fitting fails, it remains as it was before.
        """
        return self._fit(X, Y, sample_weight, params)

    def _fit(self, X: Any, Y: Any, sample_weight: ArrayLike | None, params: dict[str, Any]) -> Self:
        self._validate_params()
        self.measure_, C = multilabel.get(self.measure), parse_C(self.C)
        progress, timer = ProgressLogger(self.verbose), StepTimer()
        random = None if self.random_state is None else check_random_state(self.random_state)
        X = self._check_X(X, reset=True)
        self.classes_, positive = encode_label_matrix(Y, X.shape[0])
        self.n_labels_ = len(self.classes_)
        weight = None if sample_weight is None else check_row_weights(sample_weight, X)
        auxiliaries, split_params = self._bind_auxiliaries(X, weight, random, sample_weight, params)
        check_labels_vary(positive if weight is None else positive[weight > 0])
        codes = label_fold_codes(positive)
        splits = split_class_folds(self.cv, X, codes, split_params, random, weight=weight)
        folds = fold_numbers(splits, len(positive))
        warn_of_data(X, folds, stacklevel=4)
        self.delta_, features = timer("delta", fit_delta, self._used_delta(C), X, self.schema_, random)
        training = TrainingSet(X, positive.astype(np.int64), self.classes_, splits, weight)
        labelwise = [labelwise_auxiliary(each) for each in auxiliaries]
        runner = JobRunner(labelwise, training, LabelColumnsOutput(), self.memory, self.n_jobs, progress.log)
        with library_threads_for(count_numbers(X), find_libraries=True):
            fitted = timer("auxiliaries", cross_fit, runner)
            data = LabelData(fitted.raw_outputs, features, positive, weight, folds, fitted.pair_outputs)
            models = timer(
                "adaptation", fit_label_models, self.measure_, data, C, float(self.tol), progress.log
            )
        self._store(models, data)
        self._store_auxiliaries(auxiliaries, fitted, data, timer)
        return self

    def _auxiliaries_for(self, X: Any) -> list[tuple[str, Any]]:
        """The auxiliaries under their names, those of a set for label matrices in place of its name."""
        return use_label_defaults(super()._auxiliaries_for(X), X, self.schema_, self.n_labels_)

    def _used_delta(self, C: float | CGrid) -> Any:
        """The delta function, where one is used: for averages over labels, if a C above 0 is tried."""
        is_average = isinstance(self.measure_, multilabel.LabelAverage)
        return self.delta if is_average and multilabel.tries_adaptation(C, self.n_labels_) else None

    def _store(self, fitted: LabelModels, data: LabelData) -> None:
        self.label_models_ = fitted.models
        self.oof_log_odds_, self.oof_decision_ = fitted.oof_log_odds, fitted.oof_decision
        self.thresholds_ = expit([each.combination.threshold_log_odds for each in fitted.models])
        score = self._evaluate(fitted.oof_decision, data)
        self.score_, self.score_std_ = score.value, score.std
        self.value_, self.bound_ = fitted.value, fitted.bound
        self.gap_ = max(self.bound_ - self.value_, 0.0)
        counts = data.positive[data.has_weight].sum(axis=0)
        self.rare_labels_ = self._names(counts < multilabel.MIN_POSITIVE_ROWS)
        self.constant_labels_ = self._names(~np.array([data.can_be_adapted(k) for k in range(data.n_labels)]))

    def _names(self, mask: BoolArray) -> list[str]:
        return [str(name) for name in self.classes_[mask]]

    def _evaluate(self, decision: FloatArray, data: LabelData) -> CVScore:
        """Return the value of an out-of-fold decision."""

        def value(rows: BoolArray | slice) -> float:
            weight = None if data.weight is None else data.weight[rows]
            return self.measure_.score(data.positive[rows], decision[rows], weight)

        leave_one_out = [value(data.folds != fold) for fold in np.unique(data.folds)]
        return CVScore(value(slice(None)), np.array(leave_one_out))

    def _store_auxiliaries(
        self, auxiliaries: list[Auxiliary], fitted: CrossFitResult, data: LabelData, timer: StepTimer
    ) -> None:
        names = self._store_models(auxiliaries, fitted, timer)
        weights = np.array([each.combination.weights.auxiliary for each in self.label_models_])
        self.auxiliary_weights_ = dict(zip(names, weights.T, strict=True))
        self.auxiliary_scores_ = {
            name: self._evaluate(fitted.raw_outputs[:, j], data) for j, name in enumerate(names)
        }

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each label, calibrated on out-of-fold scores.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            The table, with the columns of the training table.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            Probabilities of the labels.
        """
        return np.asarray(expit(self._log_odds(X)))

    def decision_function(self, X: Any) -> FloatArray:
        """Return the log-odds of each label minus those at its threshold: above 0 is predicted.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            The table, with the columns of the training table.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            One number per row and label.
        """
        log_odds = self._log_odds(X)
        if isinstance(self.measure_, RowAverage):
            return cut_rows(self.measure_, log_odds)
        return log_odds - [each.combination.threshold_log_odds for each in self.label_models_]

    def predict(self, X: Any) -> IntArray:
        """Predict the label matrix.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            The table, with the columns of the training table.

        Returns
        -------
        ndarray of int, shape (n_samples, n_labels)
            1 where a label is predicted, else 0.
        """
        return (self.decision_function(X) > 0).astype(np.intp)

    def score(self, X: Any, Y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the measure that was optimized, on these rows; higher is better."""
        decision = self.decision_function(X)
        positive = match_label_matrix(Y, len(decision), self.classes_)
        weight = None if sample_weight is None else check_row_weights(sample_weight, decision)
        return self.measure_.score(positive, decision, weight)

    def summary(self) -> Summary:
        """Return a printable summary of the fit: out-of-fold scores, weights, labels and times.

        Returns
        -------
        capo.inspection.Summary
            Prints as a table; has an HTML form for notebooks.
        """
        check_is_fitted(self)
        return summarize_multilabel(self)

    def _log_odds(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        X = self._check_X(X, reset=False)
        return np.concatenate([self._block_log_odds(block) for block in iter_row_blocks(X)])

    def _block_log_odds(self, X: Any) -> FloatArray:
        raw = np.stack(list(self._raw_outputs(self.auxiliaries_, X).values()))
        features = None if self.delta_ is None else self._transform_delta(X)
        return np.column_stack(
            [each.combination.log_odds(raw[:, :, k], features) for k, each in enumerate(self.label_models_)]
        )

    @property
    def _raw_output(self) -> RawOutput:
        return LabelColumnsOutput()

    def _sk_visual_block_(self) -> VisualBlock:
        return self._auxiliaries_block()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags
