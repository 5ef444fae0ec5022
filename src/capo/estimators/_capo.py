"""CAPOClassifier: any classifiers, adapted to any measure."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from .. import measures
from .._sklearn_compat import HasMethods, Interval, StrOptions, check_sample_weight, check_y, routing_enabled
from .._typing import FloatArray
from ..adaptation import AdaptationData, AdaptationResult, Settings, adapt, cv_score, parse_C
from ..auxiliary import (
    Auxiliary,
    CrossFitResult,
    Scaling,
    apply_scales,
    bind_sample_weight,
    cross_fit,
    decision_scores,
    default_auxiliaries,
    set_random_states,
)
from ..exceptions import AuxiliaryError, InvalidInputError
from ..inspection import Summary, summarize
from ..measures import Measure
from ..model_selection import Split, fold_numbers, split_folds
from ..preprocessing import check_features, encode_binary_labels, is_dataframe, make_delta_features
from ._base import BinaryClassifier, DecisionFunctionMixin, MeasureScoreMixin
from ._convergence import warn_not_converged
from ._meta import AuxiliaryMetaEstimatorMixin
from ._progress import ProgressLogger, StepTimer


class CAPOClassifier(AuxiliaryMetaEstimatorMixin, MeasureScoreMixin, DecisionFunctionMixin, BinaryClassifier):
    """Classifiers of any kind, adapted to the measure that counts.

    Learns, in one convex problem solved to a certified gap, weights for the auxiliary classifiers'
    outputs z(x) and a delta function on features Phi(x),

        f(x) = a' z(x) + w' Phi(x) + b,
        min  1/2 (B ||a - a0||^2 + ||w||^2 + (b - b0)^2) + C R(f),      a >= 0,

    where R is the convex upper bound of the measure's loss over all labellings of the training set
    and (a0, b0) the stacked auxiliaries. What the auxiliaries say of a training row comes from
    models that have not seen it. C is chosen by the measure itself in cross-validation, C = 0 among
    the candidates; the threshold is the one with the best expected value of the measure.

    Parameters
    ----------
    measure : str, Measure or callable, default="f1"
        What to optimise: a name from `capo.measures.names()`, a formula such as
        ``"10 * tp - 2 * fp"``, a measure made with `capo.measures.get`, or a vectorised function of
        (tp, fp, fn, tn).
    auxiliaries : "auto" or list, default="auto"
        Classifiers, or (name, classifier) pairs, with `decision_function`, `predict_proba` or only
        `predict`. They get X as it came and labels 0 and 1. One in a
        `sklearn.frozen.FrozenEstimator`, or without `fit`, is used as it is, and should not have seen
        these rows. "auto" takes boosted trees, random trees, a linear and a kernel machine, which need no
        preparation of the table.
    pos_label : label, optional
        The label of the positive class; the larger one by default.
    max_auxiliaries : int, optional
        Keeps only so many auxiliaries: those with the best values of the measure by themselves.
    outputs : {"scores", "labels"}, default="scores"
        What is read from an auxiliary: calibrated log-odds, or -1 and +1 as in the paper.
    cv : int, splitter, iterable or "in-sample", default=5
        Folds for cross-fitting and for the choice of C; a number means stratified folds of shuffled
        rows. Give a splitter where rows belong together or follow in time. "in-sample" learns from what
        the auxiliaries say of the rows that they were trained on, as in the paper; 5 folds, each of which
        repeats this with auxiliaries of its own, then choose C and tell how good the result is.
    delta : "linear", "rbf", None or transformer, default="linear"
        Phi, the features of the delta function: the table's columns (missing values filled, numbers
        standardised, categories one-hot), 300 random features of a Gaussian kernel on them, none, or
        your own transformer, which is trained on all rows: it should not look at y.
    positive : bool, default=True
        Whether the auxiliaries' weights are kept from being negative. A free sign lets the
        adaptation play the out-of-fold outputs off against the delta function, which leaks labels.
    prior : {"stack", "zero", "unit"}, default="stack"
        Where the adaptation starts: the logistic stack of the auxiliaries; zero, as in the paper for
        several auxiliaries; or the auxiliaries with weights fixed at 1, as in the paper for one.
    B : float, default=1.0
        How much more the auxiliaries' weights are held to the prior than the delta function.
    C : "auto", float or array-like, default="auto"
        Weight of the measure against the size of the change; a grid, or "auto" for a path from 0.01
        upwards that is extended while its last C is the best. 0 is the prior, which "auto" keeps if a fold
        has fewer than 5 rows of a class to judge by.
    extend : bool, default=False
        Whether a grid of C's is continued past its ends, too, while the best C is at one of them, by up to
        16 values.
    selection : {"best", "one_se"}, default="best"
        The C with the best out-of-fold value among those whose gain over C = 0 is above twice its
        standard error, and there whichever fold is left out; or the smallest C within one standard error
        of the best.
    threshold : "auto", "zero" or float, default="auto"
        The probability above which a row is positive; "auto" takes the one with the best expected
        value of the measure under calibrated out-of-fold probabilities. "zero" cuts at f(x) = 0, for which
        the problem was solved, as in the paper.
    tol : float, default=1e-3
        Accuracy of the solver: R could be better by at most `tol`.
    memory : str or joblib.Memory, optional
        Where to keep the trained auxiliaries, each by itself, so that another measure does not train them
        again; give a `random_state` too, since other folds need other models.
    n_jobs : int, optional
        Models trained at the same time, as in scikit-learn. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seeds for every auxiliary and transformer that has none of its own.
    verbose : int, default=0
        1 logs a line every two seconds, 2 every step, by the logger ``"capo"``; to the standard error
        if logging has not been set up.

    Attributes
    ----------
    auxiliary_weights_ : dict of str to float
        The weight of each auxiliary's calibrated log-odds in the log-odds of the model.
    delta_coef_ : dict of str to float
        The weight of each feature of Phi.
    intercept_ : float
        The bias of the log-odds.
    threshold_ : float
        The probability above which a row is predicted as positive.
    C_ : float
        The C that was chosen.
    score_, score_std_ : float
        The out-of-fold value of the chosen model, and its standard deviation over folds.
    cv_results_ : dict of str to ndarray
        All C's that were tried: "param_C", "test_score", "std_test_score", "gain" over the first C and
        its standard error "gain_error", "rank_test_score", "rounds".
    primal_, dual_, gap_ : float
        The objective at the solution, a lower bound of its minimum, and their difference; 0 if C_ is 0.
    n_iter_ : int
        Rounds of the solver.
    solution_ : capo.engine.Solution or None
        All that the solver returned, its history included; None if C_ is 0.
    auxiliaries_ : dict of str to estimator
        The auxiliaries, trained on all rows.
    delta_ : transformer or None
        Phi, trained.
    measure_ : Measure
        The measure that was optimised.
    oof_decision_ : ndarray of shape (n_samples,)
        What `decision_function` would say of each training row, from models that have not seen it.
    auxiliary_outputs_ : ndarray of shape (n_samples, n_auxiliaries)
        What each auxiliary said of each training row, out of fold unless in sample: log-odds or margins,
        before calibration.
    auxiliary_scores_ : list of capo.adaptation.CVScore
        The value of each auxiliary by itself, out of fold.
    n_positive_ : int
        Positive rows in the training table.
    timings_ : dict of str to float
        How long each step took.
    classes_ : ndarray of shape (2,)
        The two labels; the second is the positive class.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, if X had any.

    See Also
    --------
    SVMPerfClassifier : The linear classifier for a measure, without auxiliaries.

    References
    ----------
    N. Li, I. W. Tsang, Z.-H. Zhou. Efficient optimization of performance measures by classifier
    adaptation. IEEE Transactions on Pattern Analysis and Machine Intelligence 35(6), 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from capo import CAPOClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CAPOClassifier("mcc", auxiliaries=[RandomForestClassifier(50), GaussianNB()], random_state=0)
    >>> model = model.fit(X, y)
    >>> sorted(model.auxiliary_weights_)
    ['gaussiannb', 'randomforestclassifier']
    >>> bool(model.score_ > 0.9)
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's convention)
        "measure": [str, Measure, callable],
        "auxiliaries": [StrOptions({"auto"}), list, tuple],
        "pos_label": [Real, str, "boolean", None],
        "max_auxiliaries": [Interval(Integral, 1, None, closed="left"), None],
        "outputs": [StrOptions({"scores", "labels"})],
        "cv": ["cv_object", StrOptions({"in-sample"})],
        "delta": [StrOptions({"linear", "rbf"}), None, HasMethods(["fit", "transform"])],
        "positive": ["boolean"],
        "prior": [StrOptions({"stack", "zero", "unit"})],
        "B": [Interval(Real, 0, None, closed="neither")],
        "C": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left"), "array-like"],
        "extend": ["boolean"],
        "selection": [StrOptions({"best", "one_se"})],
        "threshold": [StrOptions({"auto", "zero"}), Interval(Real, 0, 1, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "memory": [str, HasMethods(["cache"]), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        measure: str | Measure | Callable[..., Any] = "f1",
        *,
        auxiliaries: Any = "auto",
        pos_label: Any = None,
        max_auxiliaries: int | None = None,
        outputs: str = "scores",
        cv: Any = 5,
        delta: Any = "linear",
        positive: bool = True,
        prior: str = "stack",
        B: float = 1.0,
        C: Any = "auto",
        extend: bool = False,
        selection: str = "best",
        threshold: str | float = "auto",
        tol: float = 1e-3,
        memory: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.auxiliaries = auxiliaries
        self.pos_label = pos_label
        self.max_auxiliaries = max_auxiliaries
        self.outputs = outputs
        self.cv = cv
        self.delta = delta
        self.positive = positive
        self.prior = prior
        self.B = B
        self.C = C
        self.extend = extend
        self.selection = selection
        self.threshold = threshold
        self.tol = tol
        self.memory = memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: Any) -> Self:
        """Train the auxiliaries and adapt them to the measure.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            The table. The default auxiliaries and delta take text, categories and missing values in
            a data frame, and missing values in an array; a sparse matrix must have none.
        y : array-like of shape (n_samples,)
            Two labels; the larger one is the positive class, unless `pos_label` says otherwise.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, for the measure and for every auxiliary that takes them. A row of weight 0
            counts for nothing but has its place in a fold; leave such rows out where that matters.
        **params : dict
            ``groups`` for the splitter; with metadata routing, what the auxiliaries and the splitter ask for.

        Returns
        -------
        self : CAPOClassifier
            The fitted classifier.
        """
        self._validate_params()
        settings, grid = self._settings()
        progress, clock = ProgressLogger(self.verbose), StepTimer()
        random = None if self.random_state is None else check_random_state(self.random_state)
        X = self._table(X, reset=True)
        positive, weight = self._labels(X, y, sample_weight)
        auxiliaries, split_params = self._resolve_auxiliaries(X, weight, random, sample_weight, params)
        in_sample = isinstance(self.cv, str)
        if in_sample and split_params.get("groups") is not None:
            raise InvalidInputError(
                "cv='in-sample' has stratified folds, which would part the groups: give a splitter such as "
                "GroupKFold as cv."
            )
        splits = split_folds(None if in_sample else self.cv, X, positive, split_params, random)
        features = clock("delta", self._fit_delta, X, random)
        fitted = clock("auxiliaries", self._cross_fit, auxiliaries, X, positive, splits, progress)
        folds = fold_numbers(splits, len(positive))
        scaling = Scaling(positive, weight, self.outputs, self.positive)
        self._scales, scaled = scaling.scaled(fitted, folds)
        rows = AdaptationData(scaled.columns, features, positive, weight, scaled.by_fold)
        if self.max_auxiliaries is not None:
            rows, auxiliaries, fitted = self._best(rows, auxiliaries, fitted, settings, folds)
        adapted = clock(
            "adaptation", adapt, rows, folds, settings, grid, self.extend, self.selection, progress.log
        )
        self.measure_, self._outputs, self._fitted = settings.measure, self.outputs, (settings, in_sample)
        self._store(adapted, auxiliaries, fitted, clock)
        self.n_positive_ = int(positive.sum())
        return self

    def _settings(self) -> tuple[Settings, float | list[float] | None]:
        """The problem and the C's as the user wants them."""
        measure = measures.get(self.measure)
        if measure.params.get("costs") is not None:
            raise InvalidInputError(
                "a measure with one cost per row does not fit rows that are split into folds: train for "
                "'accuracy' and give the costs as sample_weight."
            )
        threshold = self.threshold if isinstance(self.threshold, str) else float(self.threshold)
        settings = Settings(
            measure,
            self.prior,
            float(self.B),
            bool(self.positive),
            float(self.tol),
            None if threshold == "auto" else threshold,
        )
        return settings, parse_C(self.C, self.prior)

    def _table(self, X: Any, *, reset: bool) -> Any:
        """X as it came if it is a data frame, else as an array or CSR matrix of numbers."""
        try:
            frame = is_dataframe(X)
        except DuplicateError as error:
            raise InvalidInputError(f"the columns of X must have different names: {error}") from error
        if not frame:
            X = check_array(
                X, accept_sparse="csr", dtype="numeric", ensure_all_finite="allow-nan", estimator=self
            )
        elif X.shape[0] == 0:
            raise InvalidInputError("X has 0 rows (0 sample(s)): at least one is needed.")
        validate_data(self, X, reset=reset, skip_check_array=True)
        return X

    def _labels(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[NDArray[np.bool_], FloatArray | None]:
        if y is None:
            raise InvalidInputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        labels = check_y(y, y_numeric=False, estimator=self)
        if len(labels) != X.shape[0]:
            raise InvalidInputError(
                f"Found input variables with inconsistent numbers of samples: X has {X.shape[0]} rows, y has "
                f"{len(labels)}."
            )
        self.classes_, positive = encode_binary_labels(labels, self.pos_label)
        weight = None
        if sample_weight is not None:
            weight = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        return positive, weight

    def _resolve_auxiliaries(
        self,
        X: Any,
        weight: FloatArray | None,
        random: np.random.RandomState | None,
        sample_weight: ArrayLike | None,
        params: dict[str, Any],
    ) -> tuple[list[Auxiliary], dict[str, Any]]:
        """The auxiliaries with what their `fit` is told, and what the splitter is told."""
        auto = isinstance(self.auxiliaries, str)
        pairs = default_auxiliaries(X) if auto else self._named()
        pairs = [(name, set_random_states(estimator, random)) for name, estimator in pairs]
        if not routing_enabled():
            unknown = sorted(set(params) - {"groups"})
            if unknown:
                raise TypeError(f"fit() got an unexpected keyword argument {unknown[0]!r}; it takes groups.")
            return [bind_sample_weight(*pair, weight) for pair in pairs], params
        routed = process_routing(self, "fit", sample_weight=sample_weight, **params)
        if auto:
            return [bind_sample_weight(*pair, weight) for pair in pairs], routed.splitter.split
        return [Auxiliary(*pair, dict(routed[pair[0]].fit)) for pair in pairs], routed.splitter.split

    def _fit_delta(self, X: Any, random: np.random.RandomState | None) -> Any | None:
        """Train Phi, and return the features of the training rows."""
        if self.delta is None:
            self.delta_ = None
            return None
        is_name = isinstance(self.delta, str)
        delta = make_delta_features(self.delta, X) if is_name else clone(self.delta)
        self.delta_ = set_random_states(delta, random)
        try:
            return check_features(self.delta_.fit_transform(X))
        except Exception as error:
            if is_name:
                raise
            raise InvalidInputError(
                f"the delta transformer {type(self.delta_).__name__} failed on X, which it is given without "
                f"y: {type(error).__name__}: {error}"
            ) from error

    def _cross_fit(
        self,
        auxiliaries: list[Auxiliary],
        X: Any,
        positive: NDArray[np.bool_],
        splits: list[Split],
        progress: ProgressLogger,
    ) -> CrossFitResult:
        with warnings.catch_warnings():
            # That the table is large is no news to the user.
            warnings.filterwarnings("ignore", "Persisting input arguments", UserWarning)
            return cross_fit(
                auxiliaries,
                X,
                positive.astype(np.int64),
                splits,
                self.classes_,
                self.outputs,
                in_sample=isinstance(self.cv, str),
                memory=self.memory,
                n_jobs=self.n_jobs,
                say=progress.log,
            )

    def _best(
        self,
        rows: AdaptationData,
        auxiliaries: list[Auxiliary],
        fitted: CrossFitResult,
        settings: Settings,
        folds: Any,
    ) -> tuple[AdaptationData, list[Auxiliary], CrossFitResult]:
        """The `max_auxiliaries` that are best by themselves, in the order in which they came."""
        values = [cv_score(settings, column, rows, folds).value for column in rows.held_out(folds).T]
        kept = np.sort(np.argsort(values, kind="stable")[::-1][: self.max_auxiliaries])
        self._scales = [self._scales[i] for i in kept]
        return rows.with_columns(kept), [auxiliaries[i] for i in kept], fitted.take(kept)

    def _store(
        self,
        adapted: AdaptationResult,
        auxiliaries: list[Auxiliary],
        fitted: CrossFitResult,
        clock: StepTimer,
    ) -> None:
        names = [each.name for each in auxiliaries]
        self.auxiliaries_ = dict(zip(names, fitted.models, strict=True))
        self.auxiliary_outputs_ = fitted.columns
        self._weights, self.auxiliary_scores_ = adapted.weights, adapted.singles
        self.auxiliary_weights_ = dict(zip(names, adapted.weights.auxiliary.tolist(), strict=True))
        self.delta_coef_ = dict(zip(self._delta_names(), adapted.weights.delta.tolist(), strict=True))
        self.intercept_ = adapted.weights.bias
        self.threshold_ = adapted.point.probability
        self._log_odds_cut = adapted.point.log_odds
        self.oof_decision_ = adapted.point.calibration.log_odds(adapted.chosen.scores) - self._log_odds_cut
        self._store_choice(adapted)
        self.timings_ = {
            **{f"auxiliary {name}": taken for name, taken in zip(names, fitted.seconds, strict=True)},
            **clock.seconds,
        }

    def _store_choice(self, adapted: AdaptationResult) -> None:
        chosen, solution = adapted.chosen, adapted.solution
        self.C_, self.score_, self.score_std_ = chosen.C, chosen.cv_score.value, chosen.cv_score.spread
        self.cv_results_ = adapted.results()
        self.solution_ = solution
        self.primal_ = solution.primal if solution else 0.0
        self.dual_ = solution.dual if solution else 0.0
        self.gap_ = solution.gap if solution else 0.0
        self.n_iter_ = solution.n_rounds if solution else 0
        if solution is not None:
            warn_not_converged(solution, stacklevel=4, limits="tol")

    def _delta_names(self) -> list[str]:
        """Names of the features of Phi, its own if it has them."""
        try:
            return [] if self.delta_ is None else list(self.delta_.get_feature_names_out())
        except (AttributeError, ValueError, NotFittedError):
            return [f"phi{number}" for number in range(len(self._weights.delta))]

    def decision_function(self, X: Any) -> FloatArray:
        """Log-odds of the positive class, minus those at the threshold: above 0 is positive.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            The table, with the columns of the training table.

        Returns
        -------
        ndarray of shape (n_samples,)
            One number a row.
        """
        return self._log_odds(X) - self._log_odds_cut

    def as_probability(self, decision: FloatArray) -> FloatArray:
        """What `decision_function` says as probabilities of the positive class."""
        check_is_fitted(self, "auxiliaries_")
        return np.asarray(expit(decision + self._log_odds_cut))

    def _log_odds(self, X: Any) -> FloatArray:
        check_is_fitted(self, "auxiliaries_")
        X = self._table(X, reset=False)
        weights = self.auxiliary_weights_
        raw = [
            self._auxiliary_output(name, X) if weights[name] else np.zeros(X.shape[0])
            for name in self.auxiliaries_
        ]
        return self._combine(raw, X)

    def _decide_with_outputs(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """`decision_function`, and the raw outputs of all auxiliaries, each computed once."""
        check_is_fitted(self, "auxiliaries_")
        X = self._table(X, reset=False)
        raw = [self._auxiliary_output(name, X) for name in self.auxiliaries_]
        return self._combine(raw, X) - self._log_odds_cut, np.column_stack(raw)

    def _combine(self, raw: list[FloatArray], X: Any) -> FloatArray:
        """Log-odds from the auxiliaries' raw outputs and the delta function."""
        features = None
        if self.delta_ is not None and self._weights.delta.any():
            features = check_features(self.delta_.transform(X))
        return self._weights.scores(apply_scales(self._scales, raw), features)

    def _auxiliary_output(self, name: str, X: Any) -> FloatArray:
        """The raw output of one auxiliary for new rows."""
        try:
            return decision_scores(self.auxiliaries_[name], X, self.classes_, self._outputs)
        except Exception as error:
            raise AuxiliaryError(
                f"the auxiliary {name!r} failed to predict: {type(error).__name__}: {error}"
            ) from error

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of both classes, calibrated on out-of-fold scores.

        They are probabilities, not votes: `predict` cuts them at `threshold_`, not at 0.5.
        """
        share = expit(self._log_odds(X))
        return np.column_stack((1.0 - share, share))

    def summary(self) -> Summary:
        """What was found, to be read: scores out of fold, weights, certificate, times."""
        check_is_fitted(self)
        return summarize(self)
