"""MulticlassCAPOClassifier: any classifiers of many classes, adapted to a measure of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import log_loss
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from .. import multiclass
from .._sklearn_compat import HasMethods, StrOptions, VisualBlock
from .._threads import library_threads_for
from .._typing import FloatArray, IntArray
from ..auxiliary import (
    AUXILIARY_SETS,
    Auxiliary,
    ClassOutput,
    CrossFitResult,
    JobRunner,
    RawOutput,
    TrainingSet,
    count_numbers,
    cross_fit,
    iter_row_blocks,
    use_class_defaults,
)
from ..inspection import Summary, summarize_multiclass
from ..measures import Measure
from ..model_selection import fold_numbers, split_class_folds
from ..multiclass import (
    MulticlassMeasure,
    RuleChoice,
    RuleChooser,
    calibration_error,
    fit_stack,
)
from ..preprocessing import (
    DemandedKind,
    class_positions,
    encode_class_labels,
    ordered_categories,
    warn_of_alphabetical_order,
    warn_of_data,
)
from ._atomic_fit import atomic_fit
from ._auxiliary_params import AuxiliaryMetaEstimatorMixin
from ._progress import ProgressLogger, StepTimer
from ._validation import check_row_weights


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
        What to optimize: a name from `capo.multiclass.names()`; a measure made with `capo.multiclass.get`; a
        measure of two classes, which stands for its mean over the classes; or a vectorized function of the
        confusion matrix, with true classes in rows and predicted classes in columns.
    auxiliaries : {"auto", "fast", "best"} or list, default="auto"
        Classifiers, (name, classifier) pairs, or names of built-in auxiliaries, as for `CAPOClassifier`. They
        are trained on labels 0, 1, ..., the positions of the classes in `classes_`. "boosting" has a penalty
        that it does not have with two classes, without which classes of a few rows make it diverge.
    cv : int, splitter or iterable, default=5
        Folds for cross-fitting; an integer means stratified folds of shuffled rows, or of groups if `fit` is
        given ``groups``.
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
    stack_ : capo.multiclass.ProbabilityStack
        From the auxiliaries' raw outputs to probabilities.
    auxiliary_weights_ : dict of str to float
        The weight of each auxiliary's calibrated log-probabilities.
    rule_ : capo.multiclass.DecisionRule
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
    rule_score_, most_probable_score_ : capo.model_selection.CVScore
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
    auxiliary_scores_ : dict of str to capo.model_selection.CVScore
        The out-of-fold value of each auxiliary by itself, with its most probable class as the label.
    measure_ : capo.multiclass.MulticlassMeasure
        The measure that was optimized.
    class_counts_ : ndarray of int, shape (n_classes,)
        Number of training rows of each class.
    schema_ : capo.preprocessing.FeatureSchema
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
