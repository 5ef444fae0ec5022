"""CAPOClassifier: any classifiers, adapted to any measure."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from .. import decisions, measures
from .._compat import HasMethods, IntArray, Interval, StrOptions, check_method_params, safe_indexing
from ..exceptions import ConstraintWarning, DataWarning, InvalidInputError
from ..inspection import Summary, summarize
from ..learning.adaptation import parse_C
from ..learning.auxiliaries import AUXILIARY_SETS, FAST
from ..learning.center import StackPrior
from ..learning.folds import TimeFolds, check_groups
from ..learning.outputs import is_frozen
from ..learning.task import TASKS, BinaryTask, Task, find_task, solver_attributes
from ..measures import Cost, Measure
from ..measures.multiclass import MulticlassMeasure
from ..measures.multilabel import MultilabelMeasure
from ..tables.checks import segment_names, warn_of_copies
from ..tables.kinds import canonical_text
from ..tables.schema import DemandedKind, FeatureSchema
from ..tables.targets import positive_mask
from ._adapted import BaseAdaptedClassifier
from ._base import atomic_fit, check_frame, check_row_weights, reject_confidence, reject_row_prices

if TYPE_CHECKING:
    from ..engine import Solution
    from ..learning.combination import LinearCombination

#: Parameters that some kinds of targets do not support, with their default values.
OPTIONAL_PARAMETERS = {"pos_label": None, "delta": "linear", "C": "auto", "threshold": "auto", "tol": 1e-3}
#: Share of the training rows, or of their groups, that `fit` holds out if the measure has a confidence.
CALIBRATION_SHARE = 0.3
#: The default confidence.
DEFAULT_CONFIDENCE = 0.95
#: The name of the old model among the auxiliaries.
OLD_MODEL = "old"
#: Warnings of rows that break a promise without an error.
_DEPENDENT_ROWS = (
    "{share} of the calibration rows are exact copies of others: copies are not independent draws, and the "
    "promise may not hold. Drop duplicated rows if new data will not contain them, or pass groups: a row and "
    "its copies are one group."
)
_SEEN_ROWS = (
    "{share} of the rows have an exact copy on the other side of the split into training and calibration "
    "rows, so that the model has seen calibration rows and the promise may not hold. Drop duplicated rows if "
    "new data will not contain them, or pass groups: a row and its copies are one group."
)


@dataclass(eq=False, repr=False, kw_only=True)
class CAPOClassifier(BaseAdaptedClassifier):
    """Combine classifiers and adapt them to a performance measure.

    Learns, in one convex problem solved to a certified gap, weights for the auxiliary classifiers'
    outputs z(x) and a delta function on features Phi(x),

        f(x) = a' z(x) + w' Phi(x) + b,
        min  1/2 (||a - a0||^2 + ||w - w0||^2 + (b - b0)^2) + C R(f),      a >= 0,

    where R is the convex upper bound of the measure's loss over all labelings of the training set
    and (a0, w0, b0) the prior: the stacked auxiliaries, with a delta function learned by log loss if it
    lowers the log loss out of fold; otherwise w0 = 0. The auxiliaries' outputs for a training row come
    from models that have not seen it. C is chosen in cross-validation by the measure itself, with
    C = 0, the prior, among the candidates; the threshold is the one with the best expected value of the
    measure.

    This is the model for two classes. For more classes, the auxiliaries' calibrated outputs are combined into
    probabilities by a multinomial logistic regression with one weight per auxiliary,

        log P(k | x) = sum_j w_j log p_jk(x) + c_k - log(normalizer),      w >= 0,

    and, where it lowers the log loss out of fold by more than one standard error, a regularized matrix that
    corrects confusions between classes (`stack_.correction`). A rule with a gain matrix G predicts the class
    with the largest expected gain, ``argmax_k sum_j P(j | x) G[j, k]``. G is the one whose labels of the
    training rows have the best expected value of the measure. It is used if its gain over the most probable
    class, in folds that it has not seen, exceeds one standard error.

    For a label matrix, what is adapted depends on the average of the measure:

    - over labels (``"f1_macro"``): one adaptation as above for each label, with its own weights and
      threshold;
    - over all entries (``"f1_micro"``): the stack of each label, and one adaptation of all entries of the
      label matrix, with the same threshold for all labels;
    - over rows (``"f1_samples"``, ``"precision_at_k"``): the stack of each label, and for each row the set of
      labels with the best expected value, for labels that are independent given the row.

    Parameters
    ----------
    measure : str, Measure or callable, default="f1"
        What to optimize: a name from `capo.measures.names()`, a formula such as
        ``"10 * tp - 2 * fp"``, a measure made with `capo.measures.get`, or a vectorized function of
        (tp, fp, fn, tn). For many classes, a name from `capo.measures.multiclass.names()`, a measure made
        with `capo.measures.multiclass.get`, or a function of the confusion matrix; for a label matrix, a
        name from `capo.measures.multilabel.names()` or a measure made with `capo.measures.multilabel.get`.
        For both, the name of a measure of two classes means its average over the classes or labels.
        With a confidence, as in ``measures.get("recall_at_precision", floor=0.9, confidence=0.95)``, 30% of
        the rows are held out, and the threshold keeps the constraint on new rows with that confidence
        (`guarantee_`).
    auxiliaries : {"auto", "fast"} or list, default="auto"
        Classifiers, (name, classifier) pairs, or names of built-in auxiliaries such as "boosting" or
        "linear" (`capo.learning.auxiliaries.auxiliary_names()` lists them). "auto", also in a list, stands
        for the default set: boosted trees, two kinds of random trees, a linear and a kernel machine, and
        with 100 or more columns a support vector machine, which need no preparation of the table; "fast" for
        a small boosting and a linear machine, at about a quarter of the cost. With many classes or labels the
        sets are slightly different; a classifier that takes a label matrix is then trained once, any other
        once per label. A classifier needs `decision_function`, `predict_proba` or only `predict`; it
        is trained on X as given and labels 0, 1, ... One in a `sklearn.frozen.FrozenEstimator`, or without
        `fit`, is used without training, and should not have seen these rows.
    pos_label : label, optional
        The label of the positive class; the larger one by default. The measure, `threshold_`, `log_odds`,
        `positive_decision` and the out-of-fold values are about this class. `classes_` is always sorted, and
        `predict_proba` and `decision_function` follow its order, as scikit-learn requires: a scorer such as
        "roc_auc" takes the larger label as positive.
    cv : int, splitter or iterable, optional
        Folds for cross-fitting and for the choice of C; 5 by default. An integer means stratified folds of
        shuffled rows, or of groups if `fit` is given ``groups``; those of a label matrix are stratified by
        the rarest label of each row, and not at all for a measure of all entries. Pass a splitter for any
        other structure, such as `capo.TimeFolds`. For two classes, rows that are never held out, such as the
        first ones of `TimeSeriesSplit`, only train the auxiliaries.
    delta : "linear", "rbf", None or transformer, default="linear"
        Phi, the features of the delta function: the table's columns (missing values filled, numbers
        standardized, categories one-hot encoded), 300 random features of a Gaussian kernel on them,
        none, or a transformer. It is trained on all rows and should not use y. Not for many classes;
        for a label matrix, used by averages over labels.
    C : "auto", float or array-like, default="auto"
        Weight of the measure against the size of the change; a grid, or "auto" for values from 0.01 to 100,
        in larger steps with ``auxiliaries="fast"``. C > 0 is chosen only if the gain exceeds 1.5 standard
        errors and half the standard error of the value itself, stays positive whichever fold is left out, and
        is confirmed by at least four of five choices that leave out one fold. Of the values of C within one
        standard error of the best, the smallest is used. With fewer than 5 rows of a class per fold, "auto"
        keeps C = 0, and so it does with more than 10 labels, or 200,000 entries for an average over entries.
    threshold : "auto" or float, default="auto"
        The probability above which a row is positive; "auto" takes the one with the best expected
        value of the measure under calibrated out-of-fold probabilities.
    tol : float, default=1e-3
        Accuracy of the solver: R is within `tol` of its best value.
    column_kinds : dict of str to str or dict, or FeatureSchema, optional
        Kinds of columns, where the inferred ones are wrong, such as ``{"title": "text"}``, as in
        `capo.tables.schema.infer_schema`; or the schema of all columns, as it returns it.
    text_encoder : object, optional
        Turns each column of free text into vectors, in place of the words that are used by default: an object
        whose `transform` or `encode` takes a list of texts and returns an array with a row for each, such as
        a sentence encoder. It is not trained; pass a fitted scikit-learn transformer in a
        `sklearn.frozen.FrozenEstimator`. All auxiliaries get the vectors.
    memory : str or joblib.Memory, optional
        Where to cache the trained auxiliaries, so that another measure does not train them again, and the
        vectors of `text_encoder`; set `random_state` too, since other folds need other models.
    n_jobs : int, optional
        Number of models trained in parallel, as in scikit-learn. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds, and of all auxiliaries and transformers whose random_state is None. Pass an int for
        reproducible results.
    verbose : int, default=0
        1 logs a line every two seconds, 2 every step, by the logger ``"capo"``; to standard error
        if logging has not been configured.

    Attributes
    ----------
    target_type_ : str
        The kind of target: "binary", "multiclass" or "multilabel".
    decision_ : capo.decisions.Decision
        From log-odds, or from probabilities of many classes, to labels: a threshold, a guarantee, a rule of
        classes, thresholds of labels or the cut of each row.
    combination_ : capo.learning.combination.FittedCombination
        The fitted model as a formula: weights and scales of the auxiliaries' outputs.
    auxiliary_weights_ : dict of str to float
        The weight of each auxiliary's calibrated log-odds in the log-odds of the model.
    delta_coef_ : dict of str to float
        The weight of each feature of Phi.
    delta_ridge_ : float
        The penalty on the weights of Phi at C = 0; inf if they are 0 there.
    stack_score_ : capo.learning.path.CVScore
        The out-of-fold value of the stack alone, without Phi and at C = 0; of two classes only.
    intercept_ : float
        The intercept of the log-odds.
    threshold_ : float
        The probability of the positive class above which a row is predicted as positive.
    C_ : float
        The C that was chosen.
    score_, score_std_ : float
        The out-of-fold value of the chosen model, and its standard deviation over folds; of a measure with a
        constraint, that of the labels, as `score` returns it.
    cv_results_ : dict of str to ndarray
        All values of C that were tried: "param_C", "test_score" (with a constraint, at the best threshold),
        "std_test_score", "gain" over the first C and its standard error "gain_std_error",
        "rank_test_score", "n_iter".
    primal_, dual_, gap_ : float
        The objective at the solution, a lower bound on its minimum, and their difference; 0 if C_ is 0.
    n_iter_ : int
        Iterations of the solver.
    solution_ : capo.engine.Solution or None
        The solver's result, its history included; None if C_ is 0.
    auxiliaries_ : dict of str to estimator
        The auxiliaries, trained on all rows.
    delta_ : transformer or None
        Phi, trained.
    schema_ : capo.tables.schema.FeatureSchema
        The kind of each column of a data frame, and the reason; prints as a table.
    measure_ : Measure
        The measure that was optimized.
    oof_decision_ : ndarray of shape (n_samples,)
        The `positive_decision` for each training row, from models that have not seen it; NaN for a row that
        was never held out. For a label matrix, the decision function.
    oof_thresholds_ : ndarray of shape (n_samples,)
        The out-of-fold threshold of each row, chosen without the row: `score_`
        is the measure of ``oof_decision_ - oof_thresholds_``.
    oof_positive_ : ndarray of bool, shape (n_samples,)
        Which training rows are positive.
    oof_fold_ : ndarray of int, shape (n_samples,)
        The fold of each training row; -1 for a row that was never held out.
    sample_weight_ : ndarray of shape (n_samples,) or None
        The weights of the training rows, if `fit` was given any.
    guarantee_ : capo.decisions.Guarantee or None
        What the threshold guarantees, if it was chosen on calibration rows.
    population_ : capo.decisions.Population or None
        The population that the model was adjusted to by `for_population`.
    prices_ : capo.decisions.PriceTerms or None
        The prices passed to `fit`. The parameters of `measure_` are then their means, and `threshold_` is
        for rows whose prices are not known.
    savings_ : capo.decisions.Savings or None
        The savings of the out-of-fold predictions, if prices were passed to `fit`.
    auxiliary_outputs_ : ndarray of shape (n_samples, n_auxiliaries)
        The output of each auxiliary for each training row, out of fold: log-odds or margins before
        calibration.
    auxiliary_scores_ : dict of str to capo.learning.path.CVScore
        The out-of-fold value of each single auxiliary.
    n_positive_, n_negative_ : int
        Number of positive and of negative rows in the training table; rows of weight 0 do not count.
    timings_ : dict of str to float
        The seconds that each step took.
    n_splits_ : int
        Number of folds.
    classes_ : ndarray of shape (2,)
        The two labels, sorted.
    pos_label_ : label
        The label of the positive class.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, if X had any.
    stack_ : capo.learning.classes.ProbabilityStack
        For many classes: from the auxiliaries' raw outputs to probabilities.
    rule_ : capo.measures.DecisionRule
        For many classes: from probabilities to labels.
    uses_rule_ : bool
        Whether `rule_` is the one with the best expected value; if not, the most probable class is predicted.
    value_, bound_ : float
        For many classes and labels: the expected value of the measure on the training rows, and a bound on
        that of any labeling of these rows; `gap_` is their difference. The bound is infinite if none is
        known.
    is_exact_ : bool
        Whether the rule is certified to be the best labeling for the measure of many classes; otherwise the
        bound is that of a relaxation.
    rule_score_, most_probable_score_ : capo.learning.path.CVScore
        The out-of-fold values of the rule with the best expected value, and of the most probable class.
    log_loss_, calibration_error_ : float
        Of the out-of-fold probabilities of many classes: the log loss, and the mean distance between the
        probability of the most probable class and the share of correct rows, in 15 bins.
    oof_probabilities_, oof_labels_ : ndarray
        The probabilities and the label of each training row, from models and a rule that have not seen it.
    class_counts_ : ndarray of int, shape (n_classes,)
        Number of training rows of each class.
    label_models_ : list of capo.learning.labels.LabelModel
        For each label the weights, C, the solver's gap and the out-of-fold value.
    thresholds_ : ndarray of shape (n_labels,)
        The probability above which each label is predicted; for averages over rows it depends on the row.
    n_labels_ : int
        Number of labels.
    rare_labels_, constant_labels_ : list of str
        Labels with fewer than 10 positive rows, and labels that are predicted by their base rate, since the
        rows of one of their classes are missing or all in one fold.
    oof_log_odds_ : ndarray of shape (n_samples, n_labels)
        The log-odds of each label of each training row, from models that have not seen the row.

    See Also
    --------
    SVMPerfClassifier : The linear classifier for a measure, without auxiliaries.
    capo.baselines.PublishedCAPOClassifier : Classifier adaptation as published.

    References
    ----------
    N. Li, I. W. Tsang, Z.-H. Zhou. Efficient optimization of performance measures by classifier
    adaptation. IEEE Transactions on Pattern Analysis and Machine Intelligence 35(6), 2013.

    H. Narasimhan, H. G. Ramaswamy, A. Saha, S. Agarwal. Consistent multiclass algorithms for complex
    performance measures. ICML 2015.

    N. Ye, K. M. A. Chai, W. S. Lee, H. L. Chieu. Optimizing F-measures: a tale of two approaches. ICML 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from capo import CAPOClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CAPOClassifier("mcc", auxiliaries=[RandomForestClassifier(50), "linear"], random_state=0)
    >>> model = model.fit(X, y)
    >>> sorted(model.auxiliary_weights_)
    ['linear', 'randomforestclassifier']
    >>> bool(model.score_ > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "measure": [str, Measure, MulticlassMeasure, MultilabelMeasure, callable],
        "auxiliaries": [StrOptions(set(AUXILIARY_SETS)), list, tuple],
        "pos_label": [Real, str, "boolean", None],
        "cv": ["cv_object"],
        "delta": [StrOptions({"linear", "rbf"}), None, HasMethods(["fit", "transform"])],
        "C": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left"), "array-like"],
        "threshold": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "column_kinds": [Mapping, FeatureSchema, None],
        "text_encoder": [HasMethods(["transform"]), HasMethods(["encode"]), None],
        "memory": [str, HasMethods(["cache"]), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    cv: Any = None
    threshold: str | float = "auto"
    column_kinds: Mapping[str, DemandedKind] | FeatureSchema | None = None
    text_encoder: Any = None
    memory: Any = None

    @atomic_fit
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        cost_fp: Any = None,
        cost_fn: Any = None,
        benefit_tp: Any = None,
        cost_ask: Any = None,
        **params: Any,
    ) -> Self:
        """Train the auxiliaries and adapt them to the measure.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            The table. The default auxiliaries and delta take text, categories and missing values in
            a data frame, and missing values in an array; a sparse matrix must have none.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Labels of two or more classes, or a label matrix of zeros and ones. Of two classes, the larger
            label is positive unless `pos_label` is set.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, for the measure and for every auxiliary that takes them. A row of weight 0
            gets an out-of-fold decision, but has no influence on the folds of the others. The delta
            transformer and auxiliaries that do not support weights use it, too; drop such rows if this
            matters.
        cost_fp, cost_fn, benefit_tp : float or array-like of shape (n_samples,), optional
            Prices for the measure "cost": what a false positive and a false negative cost and what a true
            positive is worth, as a number or one number per row. Each row then has the threshold with the
            best expected value at its prices, and `savings_` is the result in money.
        cost_ask : float or array-like of shape (n_samples,), optional
            The cost of asking for the correct label of a row. `predict` returns "ask" where asking costs less
            than the expected loss of either label. All out-of-fold values except `savings_` refer to
            predictions without asking.
        **params : dict
            ``groups``: rows of one group are held out together; with metadata routing, also what the
            auxiliaries and the splitter request.

        Returns
        -------
        self : CAPOClassifier
            The fitted classifier. If fitting fails, it remains as it was before.
        """
        self._validate_params()
        kind, measure = find_task(self.measure, y)
        task = self._make_task(kind)
        given = {"cost_fp": cost_fp, "cost_fn": cost_fn, "benefit_tp": benefit_tp, "cost_ask": cost_ask}
        is_priced = any(value is not None for value in given.values())
        if kind is not BinaryTask:
            reject_confidence(self.measure, self)
            if is_priced:
                raise InvalidInputError("prices of each row need two classes: y has another kind of target.")
            return self._fit(task, measure, X, y, sample_weight, params)
        if is_priced:
            return self._fit_with_prices(task, measure, X, y, sample_weight, given, params)
        reject_row_prices(measure)
        if measure.params.get("confidence") is not None:
            return self._fit_with_guarantee(task, measure, X, y, sample_weight, params)
        return self._fit(task, measure, X, y, sample_weight, params)

    def _make_task(self, kind: type[Task]) -> Task:
        """Return the task with its parameters; raise an error if one is set that the task does not have."""
        for name, default in OPTIONAL_PARAMETERS.items():
            value = getattr(self, name)
            if name not in kind.parameters() and not _is_default(value, default):
                raise InvalidInputError(
                    f"Only binary classification is supported with {name}={value!r}, but y has another kind "
                    f"of target: leave {name} at its default, {default!r}."
                )
        params = {name: getattr(self, name) for name in kind.parameters()}
        if "C" in params:
            params["C"] = parse_C(self.C, coarse=kind is BinaryTask and _is_default(self.auxiliaries, FAST))
        return kind(**params)

    def _fit_with_guarantee(
        self, task: Task, measure: Measure, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]
    ) -> Self:
        """Train on some of the rows, and choose the threshold on those that were held out."""
        self._check_can_hold_out(sample_weight)
        X = self._check_X(X, reset=True)
        labels, groups = self._check_y(X, y), params.get("groups")
        task.encode(labels, len(labels))
        train, held_out = _split_calibration(len(labels), groups, self.random_state)
        if groups is None:
            sides = np.isin(np.arange(len(labels)), held_out).astype(np.intp)
            warn_of_copies(X, sides, _SEEN_ROWS, stacklevel=4)
        train_params = dict(check_method_params(X, params, train))
        with warnings.catch_warnings():  # the threshold of the training rows is replaced
            warnings.simplefilter("ignore", ConstraintWarning)
            self._fit(task, measure, safe_indexing(X, train), labels[train], None, train_params)
        held_groups = None if groups is None else np.asarray(groups)[held_out]
        _replace_decision(self, self._certify(safe_indexing(X, held_out), labels[held_out], held_groups))
        return self

    def _check_can_hold_out(self, sample_weight: ArrayLike | None) -> None:
        """Raise an error if calibration rows cannot be held out, or would have no effect on the threshold."""
        if not isinstance(self.threshold, str):
            raise InvalidInputError(
                "a measure with a confidence chooses the threshold on calibration rows: leave threshold at "
                f"'auto', or use the measure without a confidence. Got threshold={self.threshold!r}."
            )
        if sample_weight is not None:
            raise InvalidInputError(
                "a measure with a confidence cannot be combined with sample_weight: the exact test counts "
                "rows. Train without a confidence, and call guarantee on rows that were drawn with these "
                "weights."
            )
        if isinstance(self.cv, TimeFolds):
            raise InvalidInputError(
                "a measure with a confidence holds out rows at random, which folds in the order of time do "
                "not allow: train without a confidence, and call guarantee on later rows."
            )
        if not (self.cv is None or isinstance(self.cv, (int, np.integer)) or hasattr(self.cv, "split")):
            raise InvalidInputError(
                "a measure with a confidence holds out calibration rows, so that cv cannot be a list of "
                "splits: pass a number or a splitter, or call guarantee on separate calibration rows."
            )

    def _fit_with_prices(
        self, task: Task, measure: Measure, X: Any, y: Any, sample_weight: Any, given: Any, params: Any
    ) -> Self:
        """Fit with the prices that are given, which replace those of the measure."""
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
        values = {name: measure.params.get(name) if price is None else price for name, price in given.items()}
        X = self._check_X(X, reset=True)
        labels = self._check_y(X, y)
        if values["cost_ask"] is not None and decisions.ASK in labels.tolist():
            raise InvalidInputError(
                f"with cost_ask, {decisions.ASK!r} is predicted for rows to ask about: rename this label."
            )
        prices = decisions.RowPrices.from_values(len(labels), **values)
        if not (prices.cost_fp.any() or prices.stakes.any()):
            raise InvalidInputError("all prices are 0: at least one row must have a price above 0.")
        self._fit(task, prices.measure, X, y, sample_weight, params)
        weight, rows = self.sample_weight_, ~np.isnan(self.oof_decision_)
        self.prices_, self.measure_ = decisions.PriceTerms.from_values(values), prices.mean_measure(weight)
        # The groups of folds in the order of time are times.
        groups = None if isinstance(self.cv, TimeFolds) else params.get("groups")
        priced, decided = prices.take_rows(rows), (self.oof_decision_ - self.oof_thresholds_)[rows] > 0
        if prices.abstain_label is not None:
            decided = priced.decide(self.oof_decision_[rows] + self.decision_.log_odds)
        self.savings_ = decisions.estimate_savings(
            priced,
            self.oof_positive_[rows],
            decided,
            None if weight is None else weight[rows],
            groups=None if groups is None else np.asarray(groups)[rows],
        )
        return self

    def predict(
        self,
        X: Any,
        *,
        cost_fp: Any = None,
        cost_fn: Any = None,
        benefit_tp: Any = None,
        cost_ask: Any = None,
    ) -> NDArray[Any]:
        """Predict the label of each row, or the label matrix, by `decision_`.

        Of two classes, a row is positive where its probability is above `threshold_`. With prices, each row
        has its own threshold, above which predicting it positive has the higher expected value, and "ask" is
        predicted where asking costs less than the expected loss of either label. With promises for segments,
        the threshold is that of the row's segment, from a column of X.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            The table, with the columns of the training table.
        cost_fp, cost_fn, benefit_tp, cost_ask : float or array-like of shape (n_samples,), optional
            The prices of these rows, if the model was trained with prices of each row. Those that were a
            number in training need not be given again.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            Labels; of a label matrix, 1 where a label is predicted, else 0.
        """
        given = {"cost_fp": cost_fp, "cost_fn": cost_fn, "benefit_tp": benefit_tp, "cost_ask": cost_ask}
        return self._predict(X, self._price_decision(X, **given))

    def score(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        cost_fp: Any = None,
        cost_fn: Any = None,
        benefit_tp: Any = None,
        cost_ask: Any = None,
    ) -> float:
        """Return the measure that was optimized, on these rows; higher is better.

        It is the measure of the labels that `predict` returns. A measure with a constraint, such as
        recall_at_precision, is 0 if these rows break it; give it a penalty if that is too harsh.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            The table, with the columns of the training table.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            The labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.
        cost_fp, cost_fn, benefit_tp, cost_ask : float or array-like of shape (n_samples,), optional
            The prices of these rows, as for `predict`; without them, those of training on average. If rows
            can be asked about, the value is the mean money per row.

        Returns
        -------
        float
            The value.
        """
        given = {"cost_fp": cost_fp, "cost_fn": cost_fn, "benefit_tp": benefit_tp, "cost_ask": cost_ask}
        prices = self._price_decision(X, **given)
        if prices is not None and prices.abstain_label is not None:
            log_odds = self.log_odds(X)
            positive = positive_mask(self._check_y(log_odds, y), self.label_pair)
            weight = None if sample_weight is None else check_row_weights(sample_weight, log_odds)
            return float(np.average(prices.values(positive, prices.decide(log_odds)), weights=weight))
        return self._score(X, y, sample_weight, self.measure_ if prices is None else prices.measure, prices)

    def savings(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        random_state: int = 0,
        **prices: Any,
    ) -> decisions.Savings:
        """Return the savings of the predictions for labeled rows in money, with a bootstrap interval.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            The table, with the columns of the training table.
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,), optional
            How many rows each row stands for.
        groups : array-like of shape (n_samples,), optional
            The group of each row, such as a customer: the bootstrap then draws whole groups.
        random_state : int, default=0
            Seed of the bootstrap.
        **prices : float or array-like of shape (n_samples,)
            The prices of these rows by name, as for `predict`; none if all of them were numbers in training.

        Returns
        -------
        capo.decisions.Savings
            Totals, and the saving compared with treating all rows alike.
        """
        self._check_two_classes("savings need a model of two classes that was trained with prices.")
        if all(value is None for value in prices.values()):
            if self.prices_ is None or self.prices_.per_row:
                raise InvalidInputError(
                    "savings need the prices of the rows: pass cost_fp, cost_fn or benefit_tp."
                )
            prices = dict(self.prices_.constants)
        log_odds, positive = self.log_odds(X), positive_mask(y, self.label_pair)
        of_rows = self.row_prices(len(log_odds), **prices)
        assert of_rows is not None
        if len(positive) != len(of_rows):
            raise InvalidInputError(f"X has {len(of_rows)} rows, but y has {len(positive)}.")
        weight = None if sample_weight is None else check_row_weights(sample_weight, positive)
        groups = None if groups is None else check_groups(groups, len(positive))
        return decisions.estimate_savings(
            of_rows, positive, of_rows.decide(log_odds), weight, groups=groups, random_state=random_state
        )

    def row_prices(self, n_rows: int, **prices: Any) -> decisions.RowPrices | None:
        """Return the prices of new rows, with those that were a number in training; None if none are given.

        Parameters
        ----------
        n_rows : int
            Number of rows.
        **prices : float or array-like of shape (n_rows,)
            The prices by name, as for `predict`.

        Returns
        -------
        capo.decisions.RowPrices or None
            The prices, with the threshold and the expected saving of each row.
        """
        check_is_fitted(self, "auxiliaries_")
        if all(value is None for value in prices.values()):
            return None
        if self.prices_ is None:
            raise InvalidInputError(
                "the model was trained without prices of each row: pass them to fit as well."
            )
        advice = "pass all of them, or none to use one threshold for all rows"
        found = decisions.RowPrices.from_values(n_rows, **self.prices_.complete(prices, advice))
        if self.guarantee_ is not None:
            raise InvalidInputError(
                "the guarantee of this model holds for one threshold, not for a threshold of each row: leave "
                "the prices out, or use the model without a guarantee."
            )
        return found

    def _price_decision(self, X: Any, **given: Any) -> decisions.RowPrices | None:
        """The prices of the rows of X; None if none are given, with a warning if training had some."""
        terms = self.prices_
        if terms is not None and terms.asks and not terms.per_row and self.guarantee_ is None:
            given = {
                name: terms.constants.get(name) if each is None else each for name, each in given.items()
            }
        if any(value is not None for value in given.values()):
            self._check_two_classes("prices of each row need a model of two classes: this one has more.")
            return self.row_prices(self._check_X(X, reset=False).shape[0], **given)
        if terms is not None and terms.per_row and self.guarantee_ is None:
            warnings.warn(
                f"the model was trained with {' and '.join(terms.per_row)} of each row, but no prices were "
                f"passed: one threshold, {self.threshold_:.4g}, is used for all rows.",
                DataWarning,
                stacklevel=3,
            )
        return None

    def guarantee(
        self,
        X: Any,
        y: ArrayLike,
        *promises: str | decisions.Constraint,
        confidence: float | None = None,
        abstain_label: Any = None,
        objective: Any = None,
        groups: ArrayLike | None = None,
        segments: str | None = None,
        random_state: int = 0,
    ) -> Self:
        """Return this model with a threshold that keeps promises on new rows with a given confidence.

        If the rows of X are independent draws from where the model will be used, and neither training nor an
        earlier choice has used them, all promises hold on new rows with probability `confidence`,
        whatever the distribution. If no threshold passes the test, no row is predicted positive (for a
        promise about recall, fnr or npv: every row), and ``guarantee_`` says how many rows would be needed.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            Calibration rows that were not used for this model in any way.
        y : array-like of shape (n_samples,)
            Their labels.
        *promises : str or capo.decisions.Constraint
            Such as ``"precision >= 0.9"`` or ``"fpr <= 0.05"``; `capo.decisions.rate_names()` lists the
            rates. By default that of the measure, such as recall_at_precision.
        confidence : float, optional
            By default that of the measure, or 0.95.
        abstain_label : object, optional
            What `predict` returns for rows that get no label, such as "ask". Promises about both labels, such
            as "precision >= 0.9" and "npv >= 0.99", then have a threshold each, and these rows are between
            them. A missed positive is one with a negative label.
        objective : str, Measure or callable, optional
            What to maximize subject to the promises; by default the highest recall if the first one is about
            precision, fdr, fpr, specificity or positive_rate, and else the fewest predicted positives.
        groups : array-like of shape (n_samples,), optional
            Rows of one group may depend on each other: one row is drawn from each group, and the promise is
            about a random row of a new group.
        segments : str, optional
            A column of X, which need not be a feature: all promises hold for each of its values, such as
            every region, at once. Each segment has its own thresholds. Where there are too few rows for a
            promise, and for values that X does not have, no row gets the label in question. `predict` reads
            the column too.
        random_state : int, default=0
            Seed of the plan of the thresholds, and of the draw from groups.

        Returns
        -------
        CAPOClassifier
            A copy with its own `decision_`, which is also its `guarantee_`; this model is unchanged.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from capo import CAPOClassifier
        >>> X, y = make_classification(3000, class_sep=1.5, random_state=0)
        >>> model = CAPOClassifier(auxiliaries=[GaussianNB()], delta=None, random_state=0)
        >>> model = model.fit(X[:1000], y[:1000])
        >>> promised = model.guarantee(X[1000:], y[1000:], "precision >= 0.9")
        >>> print(promised.guarantee_)
        precision >= 0.9 on new rows like the calibration rows, with 95% confidence: ...
        """
        self._check_two_classes(
            "a guarantee needs a model of two classes and a measure of two classes, such as 'f1': for one "
            "class or label of many, train a model of it against the rest."
        )
        if not (segments is None or isinstance(segments, str)):
            raise InvalidInputError(
                f"segments must be the name of a column of X, which predict reads for new rows as well: got "
                f"{type(segments).__name__}. Add the segments to X as a column."
            )
        names = None if segments is None else segment_names(check_frame(X), segments)
        X = self._check_X(X, reset=False)
        self._check_rows_are_new(X, "a guarantee")
        if groups is None:
            warn_of_copies(X, np.arange(X.shape[0]), _DEPENDENT_ROWS, stacklevel=2)
        certified = copy(self)
        found = self._certify(
            X, y, groups, promises, confidence, abstain_label, objective, random_state, names
        )
        found = replace(found, column=segments or "")
        _replace_decision(certified, found)
        return certified

    def _check_rows_are_new(self, X: Any, purpose: str) -> None:
        """Raise an error if this model or one of its parts was trained on copies of the rows."""
        parts = (getattr(each, "estimator", each) for each in self.auxiliaries_.values())
        for seen in (self.seen_rows_, *(getattr(each, "seen_rows_", None) for each in parts)):
            n_copies = 0 if seen is None else seen.count_copies(X, max_share=0.0)
            found = f"{n_copies:,} of {X.shape[0]:,} rows are copies of rows that the model was trained on"
            if seen is not None and seen.count_copies(X):
                raise InvalidInputError(
                    f"{found}: {purpose} needs labeled rows that it has not seen. Set them aside before "
                    "training, and leave out copies of training rows."
                )
            if n_copies:
                warnings.warn(
                    f"{found}: {purpose} needs rows that it has not seen. Leave the copies out.",
                    DataWarning,
                    stacklevel=3,
                )

    def _certify(
        self,
        X: Any,
        y: ArrayLike,
        groups: ArrayLike | None,
        promises: Sequence[str | decisions.Constraint] = (),
        confidence: float | None = None,
        abstain_label: Any = None,
        objective: Any = None,
        random_state: int = 0,
        segments: NDArray[np.str_] | None = None,
    ) -> decisions.Guarantee:
        """Find the thresholds that keep promises on calibration rows."""
        constraints = [
            each if isinstance(each, decisions.Constraint) else decisions.Constraint.parse(each)
            for each in promises
        ] or [decisions.Constraint.from_measure(self.measure_)]
        if isinstance(abstain_label, np.generic):
            abstain_label = abstain_label.item()
        if abstain_label is not None:
            is_label = isinstance(abstain_label, str | int | float)
            text, classes = canonical_text(abstain_label) if is_label else None, self.classes_.tolist()
            if text is None or text in map(canonical_text, classes) or abstain_label in classes:
                raise InvalidInputError(
                    "abstain_label must be a text or a number that is not the label of a class, also when "
                    f"written as text: got {abstain_label!r}."
                )
        if confidence is None:
            confidence = self.measure_.params.get("confidence") or DEFAULT_CONFIDENCE
        scores = self.log_odds(X)
        positive = positive_mask(self._check_y(scores, y), self.label_pair)
        if groups is not None:  # one random row of each group
            labels = check_groups(groups, len(positive))
            order = np.random.default_rng(random_state).permutation(len(labels))
            _, first = np.unique(labels[order], return_index=True)
            rows = np.sort(order[first])
            scores, positive = scores[rows], positive[rows]
            segments = None if segments is None else segments[rows]
        found = decisions.certify(
            constraints,
            scores,
            positive,
            _oof_scores(self),
            confidence=confidence,
            abstain_label=abstain_label,
            objective=None if objective is None else measures.get(objective),
            segments=segments,
            random_state=random_state,
        )
        by_group = groups is not None
        parts = {name: replace(each, by_group=by_group) for name, each in found.segments.items()}
        return replace(found, by_group=by_group, segments=parts)

    def for_population(
        self,
        X: Any = None,
        *,
        prevalence: float | None = None,
        random_state: int = 0,
    ) -> Self:
        """Return a copy of this model, adjusted to another share of positives.

        The probabilities are those of the new population, and the threshold is the one with the best
        expected value of the measure there. The share of positives is estimated from unlabeled rows by
        maximum likelihood (the EM algorithm), assuming that each class looks as it did in training; if its
        95% interval contains the share in training, the model is not changed.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features), optional
            Unlabeled rows of the new population.
        prevalence : float, optional
            The share of positives in the new population, if it is known; X then only places the threshold.
        random_state : int, default=0
            Seed of the bootstrap.

        Returns
        -------
        CAPOClassifier
            A copy with its own probabilities and threshold and with `population_`; this model is unchanged.

        Raises
        ------
        LabelShiftError
            If more than the share of positives has changed: the scores of X are further than 0.06, plus the
            sampling error, from every mixture of the two classes as trained.

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
        self._check_two_classes(
            "for_population needs a model of two classes and a measure of two classes, such as 'f1'."
        )
        if self.guarantee_ is not None:
            raise InvalidInputError(
                "the guarantee of this model does not hold in another population: adjust the model without a "
                "guarantee, then call guarantee with labeled rows of the new population."
            )
        training, before, shift = class_scores(self), self.population_, current_shift(self)
        log_odds = None if X is None else self.log_odds(X) - shift
        if prevalence is not None:
            population = decisions.Population.from_prevalence(prevalence, training)
        elif log_odds is not None:
            population = decisions.Population.from_rows(log_odds, training, random_state)
        else:
            raise InvalidInputError("pass rows of the new population, or its prevalence.")
        trained = self.decision_.log_odds if before is None else before.trained_threshold
        if population.log_odds_shift == 0:
            threshold = trained
        elif isinstance(self.threshold, str):
            threshold = decisions.adjust_threshold(self.measure_, log_odds, training, population)
        else:
            threshold = float(logit(self.threshold))
        adjusted = copy(self)
        adjusted.population_ = replace(population, trained_threshold=trained)
        weights = self.combination_.weights
        weights = replace(weights, intercept=weights.intercept + population.log_odds_shift - shift)
        adjusted.combination_ = replace(self.combination_, weights=weights)
        adjusted.intercept_ = weights.intercept
        _shift_oof(adjusted, population.log_odds_shift - shift)
        _replace_decision(adjusted, decisions.Threshold(threshold, f"in a population with {population}"))
        return adjusted

    def refit_on(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: Any) -> Self:
        """Return a model that combines this one with models trained on labeled rows from a new place.

        This model becomes a frozen auxiliary. The auxiliaries that it was trained with are
        trained on the new rows, and the stack weighs all of them, shrunk toward this model: with 50 rows the
        result is close to this model with another threshold, with 1,000 to models of the new rows. Weights,
        calibration and threshold are learned from out-of-fold outputs. For any other classifier, use
        ``CAPOClassifier(measure, auxiliaries=[FrozenEstimator(old), "auto"])``.

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
        self._check_two_classes(
            "refit_on needs a model of two classes and a measure of two classes, such as 'f1': for others, "
            "train with auxiliaries=[FrozenEstimator(model), 'auto']."
        )
        X = self._check_X(X, reset=False)
        self._check_rows_are_new(X, "a refit")
        labels = self._check_y(X, y)
        known, found = self.label_pair.tolist(), np.unique(labels).tolist()
        if unknown := [label for label in found if label not in known]:
            raise InvalidInputError(
                f"y has the label {unknown[0]!r}, but the model was trained on {known[0]!r} and {known[1]!r}."
            )
        if len(found) < 2:
            raise InvalidInputError(
                f"all {len(labels):,} new rows are {found[0]!r}: at least 2 rows of each class are needed."
            )
        if self.prices_ is not None:
            given = {name: params.get(name) for name in decisions.ROW_PRICE_NAMES}
            params = {**params, **self.prices_.complete(given, "pass the prices of the new rows")}
        new = self._make_refit().fit(X, y, sample_weight, **params)
        if self.guarantee_ is not None and new.guarantee_ is None:
            warnings.warn(
                "the guarantee of the old model does not hold for the refitted one: renew it with other "
                "labeled rows by guarantee, or 'capo guarantee'.",
                ConstraintWarning,
                stacklevel=2,
            )
        return new

    def _make_refit(self) -> Self:
        """Return an unfitted classifier with these parameters, and this model as a frozen auxiliary."""
        # Frozen auxiliaries of this model are parts of it, and are not used twice.
        trained = [
            pair for pair in self._given_auxiliaries() if isinstance(pair[1], str) or not is_frozen(pair[1])
        ]
        names = {name for name, _ in trained}
        candidates = (OLD_MODEL, *(f"{OLD_MODEL}{number}" for number in range(2, 99)))
        name = next(each for each in candidates if each not in names)
        auxiliaries = [each if isinstance(each, str) else (key, each) for key, each in trained] or ["auto"]
        old = copy(self)
        # It is given tables that the new model has parsed, with texts as vectors if it encodes them.
        old.schema_, old.text_encoder = self.schema_.parsed.with_vectors(self.text_lengths_), None
        if self.guarantee_ is not None and self.guarantee_.segments:
            # Their column is not part of these tables.
            old.decision_ = decisions.Threshold(0.0, "where both labels are equally likely")
        params = {
            **self.get_params(deep=False),
            "pos_label": self.pos_label_,
            "auxiliaries": [(name, FrozenEstimator(old)), *auxiliaries],
            "column_kinds": self.schema_,
        }
        return type(self)(**params)

    def summary(self) -> Summary:
        """Return a printable summary of the fit: out-of-fold scores, weights, certificate and times.

        Returns
        -------
        capo.inspection.Summary
            Prints as a table.
        """
        return summarize(self, prior=StackPrior.label)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        changed = {
            name for name, value in OPTIONAL_PARAMETERS.items() if not _is_default(getattr(self, name), value)
        }
        for_classes, for_labels = (
            changed <= set(TASKS[kind].parameters()) for kind in ("multiclass", "multilabel")
        )
        tags.classifier_tags.multi_class = for_classes
        tags.classifier_tags.multi_label = tags.target_tags.multi_output = for_labels
        return tags


def _is_default(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)


def _split_calibration(n_rows: int, groups: ArrayLike | None, random_state: Any) -> tuple[IntArray, IntArray]:
    """Positions for training and for calibration: not stratified, since the test needs independent rows."""
    random = check_random_state(random_state)
    labels = np.arange(n_rows) if groups is None else check_groups(groups, n_rows)
    names, group = np.unique(labels, return_inverse=True)
    is_held_out = np.zeros(len(names), dtype=bool)
    is_held_out[random.permutation(len(names))[: int(np.ceil(CALIBRATION_SHARE * len(names)))]] = True
    return np.flatnonzero(~is_held_out[group]), np.flatnonzero(is_held_out[group])


def _oof_scores(model: CAPOClassifier) -> decisions.ClassScores:
    """The out-of-fold log-odds of the training rows."""
    rows, weight, fold = ~np.isnan(model.oof_decision_), model.sample_weight_, model.oof_fold_
    weight, fold = None if weight is None else weight[rows], None if fold is None else fold[rows]
    log_odds = model.oof_decision_[rows] + model.decision_.log_odds
    return decisions.ClassScores(log_odds, model.oof_positive_[rows], weight, fold)


def class_scores(model: CAPOClassifier) -> decisions.ClassScores:
    """The out-of-fold log-odds of the training rows as trained, before any adjustment."""
    found = _oof_scores(model)
    return replace(found, log_odds=found.log_odds - current_shift(model))


def current_shift(model: CAPOClassifier) -> float:
    """The constant that an earlier adjustment added to the model's log-odds."""
    return 0.0 if model.population_ is None else model.population_.log_odds_shift


def _replace_decision(model: CAPOClassifier, decision: decisions.Threshold | decisions.Guarantee) -> None:
    """Give a fitted model another threshold."""
    _shift_oof(model, model.decision_.log_odds - decision.log_odds)
    model.decision_ = decision


def _shift_oof(model: CAPOClassifier, amount: float) -> None:
    """Add a constant to the out-of-fold decisions and thresholds."""
    model.oof_decision_ = model.oof_decision_ + amount
    model.oof_thresholds_ = model.oof_thresholds_ + amount


def replace_weights(
    model: CAPOClassifier, weights: LinearCombination, log_odds: float, solution: Solution | None
) -> None:
    """Give a fitted model other weights, whose scores are log-odds, and another threshold.

    The out-of-fold values remain those of the model's own training rows.
    """
    model.combination_ = replace(model.combination_, weights=weights)
    model.auxiliary_weights_ = dict(zip(model.auxiliary_weights_, weights.auxiliary.tolist(), strict=True))
    model.delta_coef_ = dict(zip(model.delta_coef_, weights.delta.tolist(), strict=True))
    model.intercept_ = weights.intercept
    model.__dict__.update(solver_attributes(solution))
    _replace_decision(model, replace(model.decision_, log_odds=log_odds))
