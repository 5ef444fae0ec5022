"""CAPOClassifier: any classifiers, adapted to any measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .. import measures
from .._compat import (
    HasMethods,
    IntArray,
    Interval,
    StrOptions,
    check_method_params,
    safe_indexing,
)
from ..decisions import ExpectedValueThreshold, FixedThreshold
from ..exceptions import InvalidInputError
from ..inspection import Summary, summarize
from ..learning.adaptation import Objective, parse_C
from ..learning.auxiliaries import AUXILIARY_SETS, is_fast_set
from ..learning.center import StackPrior
from ..learning.combination import AdaptationData
from ..learning.cross_fit import JobRunner, cross_fit
from ..learning.outputs import OutputKind, ScoreOutput
from ..learning.path import CGrid
from ..measures import Measure
from ..measures.multiclass import MulticlassMeasure
from ..measures.multilabel import MultilabelMeasure
from ..tables.schema import DemandedKind
from ._adapted import TrainedAuxiliaries, scale_outputs
from ._base import atomic_fit, reject_confidence
from ._deployment import (
    DeployableClassifier,
    certify_threshold,
    check_can_hold_out,
    move_threshold,
    split_calibration,
    warn_of_seen_rows,
)
from ._many import make_delegate


class CAPOClassifier(DeployableClassifier):
    """Combine classifiers and adapt them to a performance measure.

    Learns, in one convex problem solved to a certified gap, weights for the auxiliary classifiers'
    outputs z(x) and a delta function on features Phi(x),

        f(x) = a' z(x) + w' Phi(x) + b,
        min  1/2 (||a - a0||^2 + ||w||^2 + (b - b0)^2) + C R(f),      a >= 0,

    where R is the convex upper bound of the measure's loss over all labelings of the training set
    and (a0, b0) the prior: the stacked auxiliaries. The auxiliaries' outputs for a training row come
    from models that have not seen it. C is chosen in cross-validation by the measure itself, with
    C = 0, the prior, among the candidates; the threshold is the one with the best expected value of the
    measure.

    This is for two classes. For y with more classes the work is done by a `MulticlassCAPOClassifier`, and for
    a label matrix by a `MultilabelCAPOClassifier`, with the same parameters. It is then in `delegate_`, and
    its fitted attributes are attributes of this classifier too, in place of those below.

    Parameters
    ----------
    measure : str, Measure or callable, default="f1"
        What to optimize: a name from `capo.measures.names()`, a formula such as
        ``"10 * tp - 2 * fp"``, a measure made with `capo.measures.get`, or a vectorized function of
        (tp, fp, fn, tn). For many classes, a name from `capo.measures.multiclass.names()`, a measure made
        with `capo.measures.multiclass.get`, or a function of the confusion matrix; for a label matrix, a
        name from `capo.measures.multilabel.names()` or a measure made with `capo.measures.multilabel.get`.
        For both, a measure of two classes stands for its mean over the classes or labels.
        With a confidence, as in ``measures.get("recall_at_precision", floor=0.9, confidence=0.95)``, 30% of
        the rows are held out, and the threshold keeps the constraint on new rows with that confidence
        (`guarantee_`).
    auxiliaries : {"auto", "fast"} or list, default="auto"
        Classifiers, (name, classifier) pairs, or names of built-in auxiliaries such as "boosting" or
        "linear" (`capo.learning.auxiliaries.auxiliary_names()` lists them). "auto", also in a list, stands
        for the default set: boosted trees, two kinds of random trees, a linear and a kernel machine, and
        with 100 or more columns a support vector machine, which need no preparation of the table; "fast" for
        a small boosting and a linear machine, at about a third of the cost. A classifier needs
        `decision_function`, `predict_proba` or only `predict`; it is trained on X as given and labels 0 and
        1. One in a `sklearn.frozen.FrozenEstimator`, or without `fit`, is used without training, and should
        not have seen these rows.
    pos_label : label, optional
        The label of the positive class; the larger one by default. The measure, `threshold_`, `log_odds`,
        `positive_decision` and the out-of-fold values are about this class. `classes_` is sorted all the
        same, and `predict_proba` and `decision_function` follow its order, as scikit-learn requires: a
        scorer such as "roc_auc" takes the larger label as positive.
    cv : int, splitter or iterable, optional
        Folds for cross-fitting and for the choice of C; 5 by default. An integer means stratified folds of
        shuffled rows, or of groups if `fit` is given ``groups``. Pass a splitter for any other structure,
        such as `capo.learning.folds.TimeFolds`. Rows that are never held out, as the first ones of
        `TimeSeriesSplit`, train the auxiliaries only.
    delta : "linear", "rbf", None or transformer, default="linear"
        Phi, the features of the delta function: the table's columns (missing values filled, numbers
        standardized, categories one-hot encoded), 300 random features of a Gaussian kernel on them,
        none, or a transformer of yours. It is trained on all rows and should not use y.
    C : "auto", float or array-like, default="auto"
        Weight of the measure against the size of the change; a grid, or "auto" for a path from 0.01
        upwards, in larger steps with ``auxiliaries="fast"``, that is extended while its last C is the best.
        Of the values of C whose gain over C = 0 exceeds three standard errors and a quarter of the standard
        error of the value itself, and remains a gain whichever fold is left out, the best is used; if there
        is none, C = 0, the stack, is kept. With fewer than 5 rows of a class per fold, "auto" keeps C = 0.
    threshold : "auto" or float, default="auto"
        The probability above which a row is positive; "auto" takes the one with the best expected
        value of the measure under calibrated out-of-fold probabilities.
    tol : float, default=1e-3
        Accuracy of the solver: R is within `tol` of its best value.
    column_kinds : dict of str to str or dict, optional
        Kinds of columns that are taken for something else, such as ``{"title": "text"}``, as in
        `capo.tables.infer_schema`.
    memory : str or joblib.Memory, optional
        Where to cache the trained auxiliaries, so that another measure does not train them again; set
        `random_state` too, since other folds need other models.
    n_jobs : int, optional
        Number of models trained in parallel, as in scikit-learn. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds, and of every auxiliary and transformer that has none of its own. Pass an int for
        reproducible results.
    verbose : int, default=0
        1 logs a line every two seconds, 2 every step, by the logger ``"capo"``; to standard error
        if logging has not been configured.

    Attributes
    ----------
    combination_ : capo.learning.combination.FittedCombination
        The fitted model as a formula: weights, scales of the auxiliaries' outputs, threshold.
    auxiliary_weights_ : dict of str to float
        The weight of each auxiliary's calibrated log-odds in the log-odds of the model.
    delta_coef_ : dict of str to float
        The weight of each feature of Phi.
    intercept_ : float
        The intercept of the log-odds.
    threshold_ : float
        The probability of the positive class above which a row is predicted as positive.
    C_ : float
        The C that was chosen.
    score_, score_std_ : float
        The out-of-fold value of the chosen model, and its standard deviation over folds.
    cv_results_ : dict of str to ndarray
        All C's that were tried: "param_C", "test_score", "std_test_score", "gain" over the first C and
        its standard error "gain_std_error", "rank_test_score", "n_iter".
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
    schema_ : capo.tables.FeatureSchema
        What each column of a data frame was taken for, and why; prints as a table.
    measure_ : Measure
        The measure that was optimized.
    oof_decision_ : ndarray of shape (n_samples,)
        The `positive_decision` for each training row, from models that have not seen it; NaN for a row that
        was never held out.
    oof_thresholds_ : ndarray of shape (n_samples,)
        What each row's decision is compared with out of fold, a threshold chosen without the row: `score_`
        is the measure of ``oof_decision_ - oof_thresholds_``.
    oof_positive_ : ndarray of bool, shape (n_samples,)
        Which training rows are positive.
    sample_weight_ : ndarray of shape (n_samples,) or None
        The weights of the training rows, if `fit` was given any.
    guarantee_ : capo.decisions.Guarantee or None
        What the threshold guarantees, if it was chosen on calibration rows.
    population_ : capo.decisions.Population or None
        The population that the model was adjusted to by `for_population`.
    prices_ : capo.decisions.PriceTerms or None
        Which prices `fit` was given. The parameters of `measure_` are then their means, and `threshold_` is
        for rows whose prices are not known.
    savings_ : capo.decisions.Savings or None
        What the out-of-fold predictions save in money, if `fit` was given prices.
    auxiliary_outputs_ : ndarray of shape (n_samples, n_auxiliaries)
        The output of each auxiliary for each training row, out of fold: log-odds or margins before
        calibration.
    auxiliary_scores_ : dict of str to capo.learning.path.CVScore
        The out-of-fold value of each auxiliary by itself.
    n_positive_, n_negative_ : int
        Number of positive and of negative rows in the training table; rows of weight 0 do not count.
    timings_ : dict of str to float
        The seconds that each step took.
    classes_ : ndarray of shape (2,)
        The two labels, sorted.
    pos_label_ : label
        The label of the positive class.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, if X had any.
    delegate_ : MulticlassCAPOClassifier or MultilabelCAPOClassifier
        The classifier that does the work if y has more than two classes, if the measure is one of many
        classes only, or if y is a label matrix.

    See Also
    --------
    MulticlassCAPOClassifier : Many classes, and its fitted attributes.
    MultilabelCAPOClassifier : Many labels, and its fitted attributes.
    SVMPerfClassifier : The linear classifier for a measure, without auxiliaries.
    capo.baselines.PublishedCAPOClassifier : Classifier adaptation as published.

    References
    ----------
    N. Li, I. W. Tsang, Z.-H. Zhou. Efficient optimization of performance measures by classifier
    adaptation. IEEE Transactions on Pattern Analysis and Machine Intelligence 35(6), 2013.

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

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        "measure": [str, Measure, MulticlassMeasure, MultilabelMeasure, callable],
        "auxiliaries": [StrOptions(set(AUXILIARY_SETS)), list, tuple],
        "pos_label": [Real, str, "boolean", None],
        "cv": ["cv_object"],
        "delta": [StrOptions({"linear", "rbf"}), None, HasMethods(["fit", "transform"])],
        "C": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left"), "array-like"],
        "threshold": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "column_kinds": [Mapping, None],
        "memory": [str, HasMethods(["cache"]), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        measure: str | Measure | MulticlassMeasure | MultilabelMeasure | Callable[..., Any] = "f1",
        *,
        auxiliaries: Any = "auto",
        pos_label: Any = None,
        cv: Any = None,
        delta: Any = "linear",
        C: Any = "auto",
        threshold: str | float = "auto",
        tol: float = 1e-3,
        column_kinds: Mapping[str, DemandedKind] | None = None,
        memory: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.auxiliaries = auxiliaries
        self.pos_label = pos_label
        self.cv = cv
        self.delta = delta
        self.C = C
        self.threshold = threshold
        self.tol = tol
        self.column_kinds = column_kinds
        self.memory = memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    _allows_other_folds = True

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
        **params: Any,
    ) -> Self:
        """Train the auxiliaries and adapt them to the measure.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            The table. The default auxiliaries and delta take text, categories and missing values in
            a data frame, and missing values in an array; a sparse matrix must have none.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Two labels, of which the larger one is the positive class unless `pos_label` is given; or more; or
            a label matrix of zeros and ones.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, for the measure and for every auxiliary that takes them. A row of weight 0
            gets an out-of-fold decision, but has no influence on the folds of the others. It does reach the
            delta transformer and auxiliaries that take no weights: leave such rows out where that matters.
        cost_fp, cost_fn, benefit_tp : float or array-like of shape (n_samples,), optional
            Prices for the measure "cost": what a false positive and a false negative cost and what a true
            positive is worth, as a number or one number per row. Each row then has the threshold that is
            best in expectation at its prices, and `savings_` tells the result in money.
        **params : dict
            ``groups``: rows of one group are held out together; with metadata routing, also what the
            auxiliaries and the splitter request.

        Returns
        -------
        self : CAPOClassifier
            The fitted classifier. If fitting fails, it remains as it was before.
        """
        delegate = make_delegate(self, y)
        prices = {"cost_fp": cost_fp, "cost_fn": cost_fn, "benefit_tp": benefit_tp}
        is_priced = any(value is not None for value in prices.values())
        if delegate is not None:
            reject_confidence(self.measure, delegate)
            if is_priced:
                raise InvalidInputError("prices of each row need two classes: y has another kind of target.")
            self.delegate_ = delegate.fit(X, y, sample_weight, **params)
            return self
        self._validate_params()
        if is_priced:
            return self._fit_prices(X, y, sample_weight, prices, params)
        if measures.get(self.measure).params.get("confidence") is not None:
            return self._fit_and_guarantee(X, y, sample_weight, params)
        return self._fit(X, y, sample_weight, params)

    def _fit_and_guarantee(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, params: dict[str, Any]
    ) -> Self:
        """Train on some of the rows, and choose the threshold on those that were held out."""
        check_can_hold_out(sample_weight, self.cv, self.threshold)
        X = self._check_X(X, reset=True)
        self._check_labels(X, y, None)
        labels, groups = np.asarray(y), params.get("groups")
        train, held_out = split_calibration(len(labels), groups, self.random_state)
        if groups is None:
            warn_of_seen_rows(X, held_out, stacklevel=4)
        train_params = dict(check_method_params(X, params, train))
        self._fit(safe_indexing(X, train), labels[train], None, train_params)
        held_groups = None if groups is None else np.asarray(groups)[held_out]
        self.guarantee_ = certify_threshold(
            self, safe_indexing(X, held_out), labels[held_out], groups=held_groups
        )
        move_threshold(self, self.guarantee_.cut)
        return self

    @property
    def _output_kind(self) -> OutputKind:
        return ScoreOutput()

    def _objective(self, measure: Measure) -> Objective:
        threshold = self.threshold
        rule = ExpectedValueThreshold() if isinstance(threshold, str) else FixedThreshold(float(threshold))
        return Objective(measure, StackPrior(), tol=float(self.tol), threshold_rule=rule)

    def _parse_C(self) -> float | CGrid:
        return parse_C(self.C, coarse=is_fast_set(self.auxiliaries))

    def _train_auxiliaries(
        self, runner: JobRunner[OutputKind], data: AdaptationData, folds: IntArray, objective: Objective
    ) -> TrainedAuxiliaries:
        return scale_outputs(runner, cross_fit(runner), data, folds)

    def summary(self) -> Summary:
        """Return a printable summary of the fit: out-of-fold scores, weights, certificate and times.

        Returns
        -------
        capo.inspection.Summary
            Prints as a table; has an HTML form for notebooks.
        """
        check_is_fitted(self)
        if self._delegate is not None:
            return self._delegate.summary()
        return summarize(self, prior=StackPrior.label)
