"""Many classes and labels.

A `CAPOClassifier` for two classes does the work itself. For any other target it makes a classifier of that
target with the same parameters, its *delegate*, which does the work; this module is the only place where the
two are connected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import log_loss
from sklearn.utils import Tags, check_random_state
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from .. import measures
from .._accel.threads import library_threads_for
from .._compat import BoolArray, FloatArray, HasMethods, IntArray, Interval, StrOptions, VisualBlock
from ..decisions import cut_rows
from ..exceptions import InvalidInputError, UnknownMeasureError
from ..inspection import Summary, summarize_multiclass, summarize_multilabel
from ..learning.adaptation import parse_C
from ..learning.auxiliaries import (
    AUXILIARY_SETS,
    label_fold_codes,
    labelwise_auxiliary,
    use_class_defaults,
    use_label_defaults,
)
from ..learning.classes import RuleChoice, RuleChooser, calibration_error, fit_stack
from ..learning.cross_fit import Auxiliary, CrossFitResult, JobRunner, TrainingSet, cross_fit
from ..learning.folds import fold_numbers, split_class_folds
from ..learning.labels import (
    MIN_POSITIVE_ROWS,
    LabelData,
    LabelModels,
    fit_label_models,
    tries_adaptation,
)
from ..learning.outputs import ClassOutput, LabelColumnsOutput, RawOutput, count_numbers, iter_row_blocks
from ..learning.path import CGrid, CVScore
from ..measures import Measure, multiclass, multilabel
from ..measures.multiclass import MulticlassMeasure
from ..measures.multilabel import MultilabelMeasure, RowAverage
from ..tables.checks import warn_of_alphabetical_order, warn_of_data
from ..tables.schema import DemandedKind
from ..tables.targets import (
    check_labels_vary,
    class_positions,
    encode_class_labels,
    encode_label_matrix,
    match_label_matrix,
    ordered_categories,
)
from ._adapted import AuxiliaryMetaEstimatorMixin, BaseAdaptedClassifier
from ._base import ProgressLogger, StepTimer, atomic_fit, check_row_weights, fit_delta


class MulticlassCAPOClassifier(AuxiliaryMetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Combine classifiers of many classes and adapt their decisions to a performance measure.

    The auxiliaries' outputs are calibrated and combined into probabilities by a multinomial logistic
    regression with one weight per auxiliary,

        log P(k | x) = sum_j w_j log p_jk(x) + c_k - log(normalizer),      w >= 0,

    learned from outputs for rows that the auxiliaries have not seen. Where it lowers the log loss out of fold
    by more than one standard error, a regularized matrix that corrects how the auxiliaries confuse classes is
    added (`stack_.correction`). A decision rule with a gain matrix G
    predicts the class with the largest expected gain, ``argmax_k sum_j P(j | x) G[j, k]``. G is the one whose
    labels of the training rows have the best *expected* value of the measure under out-of-fold probabilities.
    It is used if its gain over the most probable class, in folds that it has not seen, exceeds one standard
    error; else the most probable class is predicted.

    `CAPOClassifier` uses this class where y has more than two classes.

    Parameters
    ----------
    measure : str, MulticlassMeasure, Measure or callable, default="f1_macro"
        What to optimize: a name from `capo.measures.multiclass.names()`; a measure made with
        `capo.measures.multiclass.get`; a measure of two classes, which stands for its mean over the
        classes; or a vectorized function of the confusion matrix, with true classes in rows and predicted classes in columns.
    auxiliaries : {"auto", "fast"} or list, default="auto"
        Classifiers, (name, classifier) pairs, or names of built-in auxiliaries, as for `CAPOClassifier`. They
        are trained on labels 0, 1, ..., the positions of the classes in `classes_`. "boosting" has a penalty
        that it does not have with two classes, without which classes of a few rows make it diverge.
    cv : int, splitter or iterable, default=5
        Folds for cross-fitting; an integer means stratified folds of shuffled rows, or of groups if `fit` is
        given ``groups``.
    column_kinds : dict of str to str or dict, optional
        Kinds of columns that are taken for something else, such as ``{"title": "text"}``, as in
        `capo.tables.infer_schema`.
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
    stack_ : capo.learning.classes.ProbabilityStack
        From the auxiliaries' raw outputs to probabilities.
    auxiliary_weights_ : dict of str to float
        The weight of each auxiliary's calibrated log-probabilities.
    rule_ : capo.measures.DecisionRule
        From probabilities to labels.
    uses_rule_ : bool
        Whether `rule_` is the one with the best expected value; if not, the most probable class is predicted.
    value_, bound_, gap_ : float
        The expected value of the measure for `rule_` on the training rows, a bound on the expected value of
        any labeling of these rows, and their difference. The bound is infinite if none is known.
    is_exact_ : bool
        Whether the best labeling is found for the measure, so that the gap of the rule with the best expected
        value is 0; else the bound is that of a relaxation.
    score_, score_std_ : float
        The out-of-fold value of the model, and its standard deviation over folds.
    rule_score_, most_probable_score_ : capo.learning.path.CVScore
        The out-of-fold values of the rule with the best expected value, and of the most probable class.
    log_loss_ : float
        The log loss of the out-of-fold probabilities.
    calibration_error_ : float
        Their expected calibration error: the mean distance between the probability of the most probable class
        and the share of correct rows, in 15 bins.
    oof_probabilities_ : ndarray of shape (n_samples, n_classes)
        The probabilities of each training row, from models that have not seen it.
    oof_labels_ : ndarray of shape (n_samples,)
        The label of each training row, from models and a rule that have not seen it.
    auxiliaries_ : dict of str to estimator
        The auxiliaries, trained on all rows.
    auxiliary_outputs_ : ndarray of shape (n_samples, n_auxiliaries, n_classes)
        The raw output of each auxiliary for each training row, out of fold: log-probabilities or margins.
    auxiliary_scores_ : dict of str to capo.learning.path.CVScore
        The out-of-fold value of each auxiliary by itself, with its most probable class as the label.
    measure_ : capo.measures.multiclass.MulticlassMeasure
        The measure that was optimized.
    class_counts_ : ndarray of int, shape (n_classes,)
        Number of training rows of each class.
    schema_ : capo.tables.FeatureSchema
        What each column of a data frame was taken for, and why; prints as a table.
    timings_ : dict of str to float
        The seconds that each step took.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, if X had any.

    See Also
    --------
    CAPOClassifier : Two classes, many classes or many labels.
    MultilabelCAPOClassifier : Several labels per row.

    References
    ----------
    H. Narasimhan, H. G. Ramaswamy, A. Saha, S. Agarwal. Consistent multiclass algorithms for complex
    performance measures. ICML 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from capo import MulticlassCAPOClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> auxiliaries = [RandomForestClassifier(20), GaussianNB()]
    >>> model = MulticlassCAPOClassifier("f1_macro", auxiliaries=auxiliaries, random_state=0).fit(X, y)
    >>> model.predict_proba(X).shape
    (178, 3)
    >>> bool(model.score_ > 0.9)
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        "measure": [str, MulticlassMeasure, Measure, callable],
        "auxiliaries": [StrOptions(set(AUXILIARY_SETS)), list, tuple],
        "cv": ["cv_object"],
        "column_kinds": [Mapping, None],
        "memory": [str, HasMethods(["cache"]), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        measure: str | MulticlassMeasure | Measure | Callable[..., Any] = "f1_macro",
        *,
        auxiliaries: Any = "auto",
        cv: Any = 5,
        column_kinds: Mapping[str, DemandedKind] | None = None,
        memory: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.auxiliaries = auxiliaries
        self.cv = cv
        self.column_kinds = column_kinds
        self.memory = memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    target_type_ = "multiclass"

    @atomic_fit
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: Any) -> Self:
        """Train the auxiliaries, combine them and find the decision rule.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            The table, as for `CAPOClassifier`.
        y : array-like of shape (n_samples,)
            The labels of at least two classes. A class needs at least 2 rows to be learned from rows that are
            not its own.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, for the measure and for every auxiliary that takes them.
        **params : dict
            ``groups``: rows of one group are held out together; with metadata routing, also what the
            auxiliaries and the splitter request.

        Returns
        -------
        self : MulticlassCAPOClassifier
            The fitted classifier. If fitting fails, it remains as it was before.
        """
        return self._fit(X, y, sample_weight, params)

    def _fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, params: dict[str, Any]) -> Self:
        self._validate_params()
        measure = multiclass.get(self.measure)
        progress, timer = ProgressLogger(self.verbose), StepTimer()
        random = None if self.random_state is None else check_random_state(self.random_state)
        X = self._check_X(X, reset=True)
        codes, weight = self._check_labels(X, y, sample_weight)
        self.measure_ = self._resolve_measure(measure, y)
        auxiliaries, split_params = self._bind_auxiliaries(X, weight, random, sample_weight, params)
        splits = split_class_folds(self.cv, X, codes, split_params, random, weight=weight)
        folds = fold_numbers(splits, len(codes))
        warn_of_data(X, folds, stacklevel=4)
        training = TrainingSet(X, codes.astype(np.int64), self.classes_, splits, weight)
        runner = JobRunner(auxiliaries, training, ClassOutput(), self.memory, self.n_jobs, progress.log)
        with library_threads_for(count_numbers(X), find_libraries=True):
            fitted = timer("auxiliaries", cross_fit, runner)
            stack = timer("stack", fit_stack, fitted.raw_outputs, codes, weight, folds, fitted.pair_outputs)
            self.stack_, self.oof_probabilities_ = stack.stack, stack.held_out_probabilities(folds)
            chooser = RuleChooser(self.measure_, codes, weight, folds)
            choice = timer("rule", chooser, stack.probabilities, stack.fold_probabilities)
        self._store_choice(choice, codes, weight)
        self._store_auxiliaries(auxiliaries, fitted, chooser, timer)
        return self

    def _check_labels(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[IntArray, FloatArray | None]:
        labels = self._check_y(X, y)
        self.classes_, codes = encode_class_labels(labels)
        weight = None if sample_weight is None else check_row_weights(sample_weight, X)
        self.class_counts_ = np.bincount(
            codes if weight is None else codes[weight > 0], minlength=len(self.classes_)
        )
        return codes, weight

    def _resolve_measure(self, measure: MulticlassMeasure, y: Any) -> MulticlassMeasure:
        """The measure for these classes, in the order of y's categories if they have one."""
        if (categories := ordered_categories(y)) is not None:
            known = set(self.classes_.tolist())
            measure = measure.with_order([label for label in categories if label in known])
        if measure.assumes_order and len(self.classes_) > 2:
            warn_of_alphabetical_order(self.classes_, measure.name, stacklevel=6)
        return measure.for_classes(self.classes_)

    def _auxiliaries_for(self, X: Any) -> list[tuple[str, Any]]:
        return use_class_defaults(super()._auxiliaries_for(X), X, self.schema_)

    def _store_choice(self, choice: RuleChoice, codes: IntArray, weight: FloatArray | None) -> None:
        search = choice.search
        self.rule_, self.uses_rule_ = search.rule, choice.is_adapted
        self.value_, self.bound_, self.gap_ = search.value, search.bound, search.gap
        self.is_exact_ = search.is_exact
        self.score_, self.score_std_ = choice.used_score.value, choice.used_score.std
        self.rule_score_, self.most_probable_score_ = choice.score, choice.most_probable_score
        self.oof_labels_ = self.classes_[choice.labels]
        known = np.arange(len(self.classes_))
        self.log_loss_ = float(log_loss(codes, self.oof_probabilities_, sample_weight=weight, labels=known))
        self.calibration_error_ = calibration_error(self.oof_probabilities_, codes, weight)

    def _store_auxiliaries(
        self,
        auxiliaries: list[Auxiliary],
        fitted: CrossFitResult,
        chooser: RuleChooser,
        timer: StepTimer,
    ) -> None:
        names = self._store_models(auxiliaries, fitted, timer)
        self.auxiliary_weights_ = dict(zip(names, self.stack_.weights.tolist(), strict=True))
        outputs = np.moveaxis(fitted.raw_outputs, 1, 0)
        self.auxiliary_scores_ = {
            name: chooser.evaluate(each.argmax(axis=1), softmax(each, axis=1))
            for name, each in zip(names, outputs, strict=True)
        }

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the classes, calibrated on out-of-fold outputs.

        `predict` applies `rule_` to them, which need not predict the most probable class.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            The table, with the columns of the training table.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities in the order of `classes_`.
        """
        check_is_fitted(self)
        X = self._check_X(X, reset=False)
        return np.concatenate([self._block_probabilities(block) for block in iter_row_blocks(X)])

    def _block_probabilities(self, X: Any) -> FloatArray:
        unused = np.zeros((X.shape[0], len(self.classes_)))
        pairs = zip(self.auxiliaries_, self.stack_.is_used, strict=True)
        used = self._raw_outputs((name for name, is_used in pairs if is_used), X)
        return self.stack_.probabilities([used.get(name, unused) for name in self.auxiliaries_])

    def decision_function(self, X: Any) -> FloatArray:
        """Return the expected gain of each class; `predict` takes the largest.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            The table, with the columns of the training table.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            One number per row and class; for two classes, the second one's minus the first one's.
        """
        probabilities = self.predict_proba(X)
        decision = self.rule_.decision(probabilities)
        return decision[:, 1] - decision[:, 0] if len(self.classes_) == 2 else decision

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the label of each row: the class with the largest expected gain.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            The table, with the columns of the training table.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels.
        """
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[self.rule_.predict(probabilities)])

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the measure that was optimized, on these rows; higher is better."""
        probabilities = self.predict_proba(X)
        codes = class_positions(self._check_y(probabilities, y), self.classes_)
        weight = None if sample_weight is None else check_row_weights(sample_weight, probabilities)
        return self.measure_.score(codes, self.rule_.predict(probabilities), probabilities, weight)

    @property
    def _raw_output(self) -> RawOutput:
        return ClassOutput()

    def summary(self) -> Summary:
        """Return a printable summary of the fit: out-of-fold scores, weights, the rule and its bound.

        Returns
        -------
        capo.inspection.Summary
            Prints as a table; has an HTML form for notebooks.
        """
        check_is_fitted(self)
        return summarize_multiclass(self)

    def _sk_visual_block_(self) -> VisualBlock:
        return self._auxiliaries_block()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags


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
        What to optimize: a name from `capo.measures.multilabel.names()`, a measure made with
        `capo.measures.multilabel.get`, or a measure of two classes, which stands for its mean over the
        labels.
    auxiliaries : {"auto", "fast"} or list, default="auto"
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
        `capo.tables.infer_schema`.
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
    label_models_ : list of capo.learning.labels.LabelModel
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
    auxiliary_scores_ : dict of str to capo.learning.path.CVScore
        The out-of-fold value of each auxiliary as it is, with labels predicted above a probability of 0.5.
    delta_ : transformer or None
        The features of the delta function, trained.
    measure_ : capo.measures.multilabel.MultilabelMeasure
        The measure that was optimized.
    schema_ : capo.tables.FeatureSchema
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

    target_type_ = "multilabel"

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
        return self.delta if is_average and tries_adaptation(C, self.n_labels_) else None

    def _store(self, fitted: LabelModels, data: LabelData) -> None:
        self.label_models_ = fitted.models
        self.oof_log_odds_, self.oof_decision_ = fitted.oof_log_odds, fitted.oof_decision
        self.thresholds_ = expit([each.combination.threshold_log_odds for each in fitted.models])
        score = self._evaluate(fitted.oof_decision, data)
        self.score_, self.score_std_ = score.value, score.std
        self.value_, self.bound_ = fitted.value, fitted.bound
        self.gap_ = max(self.bound_ - self.value_, 0.0)
        counts = data.positive[data.has_weight].sum(axis=0)
        self.rare_labels_ = self._names(counts < MIN_POSITIVE_ROWS)
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


#: Parameters that only a classifier of two classes has, with the values that mean nothing else.
BINARY_PARAMETERS = {"pos_label": None, "delta": "linear", "C": "auto", "threshold": "auto", "tol": 1e-3}


def make_delegate(estimator: BaseAdaptedClassifier, y: Any) -> Any | None:
    """Return the unfitted classifier for a target of another kind than two classes; None for two classes."""
    kind = _delegate_class(estimator.measure, y)
    _check_measure(estimator.measure, kind)
    if kind is None:
        return None
    params = estimator.get_params(deep=False)
    for name in _unknown_parameters(kind):
        value, default = params[name], BINARY_PARAMETERS[name]
        if not _is_default(value, default):
            raise InvalidInputError(
                f"Only binary classification is supported with {name}={value!r}, but y has another kind of "
                f"target: leave {name} at its default, {default!r}."
            )
    delegate = kind(**{name: value for name, value in params.items() if name in kind._get_param_names()})
    if hasattr(estimator, "_metadata_request"):
        delegate._metadata_request = deepcopy(estimator._metadata_request)
    return delegate


def _unknown_parameters(kind: type[Any]) -> list[str]:
    """The parameters of a classifier of two classes that a classifier of another target does not have."""
    return [name for name in BINARY_PARAMETERS if name not in kind._get_param_names()]


def _delegate_class(measure: Any, y: Any) -> type[Any] | None:
    kind = _target_kind(y)
    if kind in ("multiclass-multioutput", "continuous-multioutput"):
        raise InvalidInputError(
            "y has several columns with other values than 0 and 1: train one classifier for each column, or "
            "make a label matrix of zeros and ones."
        )
    if kind == "multilabel-indicator" or _has_columns(y):
        return MultilabelCAPOClassifier
    # Labels that are missing or no classes have no kind: the classifier that the measure is for explains.
    return MulticlassCAPOClassifier if kind == "multiclass" or _needs_many_classes(measure) else None


def _target_kind(y: Any) -> str | None:
    """Return scikit-learn's name of the kind of target; None where it has none."""
    if y is None:
        return None
    if issparse(y):
        return "multilabel-indicator"
    try:
        with np.errstate(invalid="ignore"):  # missing labels, which the classifier explains
            return str(type_of_target(y))
    except (TypeError, ValueError):
        return None


def _has_columns(y: Any) -> bool:
    """Whether a target has more than one column."""
    try:
        shape = getattr(y, "shape", None) or np.asarray(y).shape
    except ValueError:  # a list of lists of different lengths
        return False
    return len(shape) == 2 and shape[1] > 1


def _needs_many_classes(measure: Any) -> bool:
    """Whether a measure is one of many classes and none of two classes."""
    if isinstance(measure, str):
        return not _has_measure(measures, measure) and _has_measure(multiclass, measure)
    return isinstance(measure, multiclass.MulticlassMeasure) or multiclass.is_matrix_function(measure)


def _has_measure(registry: Any, name: str) -> bool:
    """Whether a registry knows a name, or can read it as a formula."""
    try:
        registry.get(name)
    except UnknownMeasureError:
        return False
    except InvalidInputError:  # it needs parameters, or is a formula with an error
        return True
    return True


def _check_measure(measure: Any, kind: type[Any] | None) -> None:
    """Raise an error if a measure is for another kind of target than y."""
    if kind is MultilabelCAPOClassifier:
        if isinstance(measure, multiclass.MulticlassMeasure):
            raise InvalidInputError(
                f"the measure {measure.label!r} is for classes, but y is a label matrix: choose one of "
                "capo.measures.multilabel.names()."
            )
    elif isinstance(measure, multilabel.MultilabelMeasure) or _is_only_for_labels(measure):
        name = measure if isinstance(measure, str) else measure.label
        raise InvalidInputError(
            f"the measure {name!r} is for label matrices, but y is not a matrix of zeros and ones with a "
            "column for each label: choose one of capo.measures.names() for two classes, or of "
            "capo.measures.multiclass.names()."
        )


def _is_only_for_labels(measure: Any) -> bool:
    """Whether a name is that of a measure of label matrices and of no other."""
    known = isinstance(measure, str) and measure.strip() in multilabel.names()
    return known and not any(_has_measure(each, measure) for each in (measures, multiclass))


def _is_default(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)


class DelegatingClassifier(BaseAdaptedClassifier):
    """Passes methods and fitted attributes on to the delegate, where `fit` has made one."""

    if TYPE_CHECKING:
        delegate_: Any

    @property
    def _delegate(self) -> Any | None:
        return vars(self).get("delegate_")

    @property
    def target_type_(self) -> str:
        """The kind of target: "binary", "multiclass" or "multilabel"."""
        check_is_fitted(self, "classes_")
        return "binary" if self._delegate is None else str(self._delegate.target_type_)

    def __getattr__(self, name: str) -> Any:
        if self._delegate is not None and name.endswith("_") and not name.startswith("_"):
            return getattr(self._delegate, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def predict(self, X: Any) -> NDArray[Any]:
        return self._delegate.predict(X) if self._delegate else super().predict(X)

    def predict_proba(self, X: Any) -> FloatArray:
        return self._delegate.predict_proba(X) if self._delegate else super().predict_proba(X)

    def decision_function(self, X: Any) -> FloatArray:
        return self._delegate.decision_function(X) if self._delegate else super().decision_function(X)

    def log_odds(self, X: Any) -> FloatArray:
        self._check_two_classes()
        return super().log_odds(X)

    def as_probability(self, decision: FloatArray) -> FloatArray:
        self._check_two_classes()
        return super().as_probability(decision)

    def delta_features(self, X: Any) -> Any | None:
        self._check_two_classes()
        return super().delta_features(X)

    def _check_two_classes(self) -> None:
        """Raise an error where there is no positive class."""
        if self._delegate is not None:
            raise InvalidInputError(
                "this is for a model of two classes, and this model has more classes or several labels: use "
                "decision_function or predict_proba."
            )

    def auxiliary_outputs(self, X: Any) -> FloatArray:
        return self._delegate.auxiliary_outputs(X) if self._delegate else super().auxiliary_outputs(X)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        return (
            self._delegate.score(X, y, sample_weight)
            if self._delegate
            else super().score(X, y, sample_weight)
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        changed = {
            name for name, value in BINARY_PARAMETERS.items() if not _is_default(getattr(self, name), value)
        }
        for_labels = changed.isdisjoint(_unknown_parameters(MultilabelCAPOClassifier))
        tags.classifier_tags.multi_class = changed.isdisjoint(_unknown_parameters(MulticlassCAPOClassifier))
        tags.classifier_tags.multi_label = tags.target_tags.multi_output = for_labels
        return tags
