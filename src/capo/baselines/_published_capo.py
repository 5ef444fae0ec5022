"""Classifier adaptation as published: in-sample outputs, no stack, a threshold of 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np

from .. import estimators, measures
from .._compat import ArrayLike, Interval, StrOptions
from ..decisions import ZeroThreshold
from ..exceptions import InvalidInputError
from ..inspection import Summary, summarize
from ..learning.adaptation import Objective, parse_C
from ..learning.center import UnitPrior, ZeroPrior
from ..learning.combination import AdaptationData, scale_outputs
from ..learning.cross_fit import Auxiliary, CrossFitResult, JobRunner, TrainingJob, rows_or_all
from ..learning.folds import fold_numbers
from ..learning.outputs import LabelOutput, OutputKind, ScoreOutput
from ..learning.path import MAX_GRID_EXTENSIONS, CGrid, CVScorer
from ..learning.task import BinaryTask
from ..measures import Measure


@dataclass(eq=False, repr=False, kw_only=True)
class PublishedCAPOClassifier(estimators.BaseAdaptedClassifier):
    """Classifier adaptation (CAPO) as published.

    Learns weights for the auxiliary classifiers' outputs z(x) and a delta function on features Phi(x),

        f(x) = a' z(x) + w' Phi(x) + b,
        min  1/2 (B ||a - a0||^2 + ||w||^2 + b^2) + C R(f),

    as `capo.CAPOClassifier` does, except for the choices of the paper: the auxiliaries' outputs are computed
    on their training rows, a0 is 0, the weights have either sign, and rows with ``f(x) > 0`` are positive. C
    is chosen by 5 folds, each of which repeats the whole procedure with auxiliaries of its own; they also
    give `score_`.

    Use `capo.CAPOClassifier` for predictions; this class is for comparison with the paper.

    Parameters
    ----------
    measure : str, Measure or callable, default="f1"
        What to optimize, as in `capo.CAPOClassifier`.
    auxiliaries : "auto" or list, default="auto"
        The auxiliary classifiers, as in `capo.CAPOClassifier`.
    pos_label : label, optional
        The label of the positive class; the larger one by default.
    outputs : {"labels", "scores"}, default="labels"
        The output of an auxiliary: -1 and +1, or calibrated log-odds.
    prior : {"zero", "unit"}, default="zero"
        "zero" is the paper's choice for several auxiliaries, and "unit" for a single auxiliary: the weights
        are fixed at 1, and only the delta function is learned.
    max_auxiliaries : int, optional
        Largest number of auxiliaries: those with the best out-of-fold values of the measure are kept.
    cv : int, splitter or iterable, default=5
        Folds for the choice of C; an integer means stratified folds of shuffled rows.
    delta : "linear", "rbf", None or transformer, default="linear"
        Phi, the features of the delta function, as in `capo.CAPOClassifier`.
    B : float, default=1.0
        Regularization strength of the auxiliary weights relative to that of the delta weights.
    C : float or array-like, optional
        The values of C to try; by default 15 from 0.78 to 12,800 (2^-7 to 2^7 for SVMperf).
    extend_grid : bool, default=False
        Whether to extend the grid of C by up to 16 values while the best value is at one of its ends.
    tol : float, default=1e-3
        Accuracy of the solver: R is within `tol` of its best value.
    memory, n_jobs, random_state, verbose
        As in `capo.CAPOClassifier`.

    Attributes
    ----------
    combination_, auxiliary_weights_, delta_coef_, intercept_, threshold_, C_, score_, score_std_, cv_results_
        As in `capo.CAPOClassifier`.
    auxiliary_outputs_ : ndarray of shape (n_samples, n_auxiliaries)
        The output of each auxiliary for each training row, in sample.
    auxiliaries_, auxiliary_scores_, delta_, measure_, oof_decision_, n_positive_, timings_
        As in `capo.CAPOClassifier`.
    classes_, pos_label_
        As in `capo.CAPOClassifier`.
    primal_, dual_, gap_, n_iter_, solution_
        The solver's certificate, as in `capo.CAPOClassifier`.

    References
    ----------
    N. Li, I. W. Tsang, Z.-H. Zhou. Efficient optimization of performance measures by classifier
    adaptation. IEEE Transactions on Pattern Analysis and Machine Intelligence 35(6), 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from capo.baselines import PublishedCAPOClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    >>> model = PublishedCAPOClassifier("f1", auxiliaries=[tree], C=[1, 100], random_state=0).fit(X, y)
    >>> bool(model.score_ > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **estimators.CAPOClassifier._parameter_constraints,
        "outputs": [StrOptions({"labels", "scores"})],
        "prior": [StrOptions({"zero", "unit"})],
        "max_auxiliaries": [Interval(Integral, 1, None, closed="left"), None],
        "B": [Interval(Real, 0, None, closed="neither")],
        "C": [Interval(Real, 0, None, closed="left"), "array-like", None],
        "extend_grid": ["boolean"],
    }

    outputs: str = "labels"
    prior: str = "zero"
    max_auxiliaries: int | None = None
    B: float = 1.0
    C: Any = None
    extend_grid: bool = False
    memory: Any = None

    @estimators.atomic_fit
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: Any) -> Self:
        """Train the auxiliaries and adapt them to the measure.

        Parameters
        ----------
        X : data frame, array or sparse matrix of shape (n_samples, n_features)
            The table.
        y : array-like of shape (n_samples,)
            Two labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.
        **params : dict
            ``groups``: rows of one group are held out together; with metadata routing, also what the
            auxiliaries and the splitter request.

        Returns
        -------
        self : PublishedCAPOClassifier
            The fitted classifier. If fitting fails, it remains unchanged.
        """
        self._validate_params()
        measure = measures.get(self.measure)
        estimators.reject_confidence(measure, self)
        estimators.reject_row_prices(measure)
        C = parse_C(estimators.SVMPERF_CS if self.C is None else self.C)
        if self.prior == "zero" and (C == 0.0 if isinstance(C, float) else 0.0 in C.values):
            raise InvalidInputError("With C = 0 all weights stay 0, so there is no classifier: use C > 0.")
        if self.extend_grid and isinstance(C, CGrid):
            C = replace(C, max_extensions=MAX_GRID_EXTENSIONS)
        params_of_task = {name: getattr(self, name) for name in PublishedTask.parameters() if name != "C"}
        task = PublishedTask(**params_of_task, C=C)
        return self._fit(task, measure, X, y, sample_weight, params)

    def summary(self) -> Summary:
        """Return a printable summary of the fit: out-of-fold scores, weights, certificate and times.

        Returns
        -------
        capo.inspection.Summary
            Prints as a table.
        """
        return summarize(self, prior=UnitPrior.label, threshold="positive where f(x) is above 0")


@dataclass(frozen=True)
class PublishedTask(BinaryTask):
    """Two classes, with the objective and the outputs of the paper."""

    outputs: str = "labels"
    prior: str = "zero"
    B: float = 1.0
    max_auxiliaries: int | None = None

    allow_partial: ClassVar[bool] = False

    @classmethod
    def parameters(cls) -> list[str]:
        return [name for name in super().parameters() if name != "threshold"]

    @property
    def output(self) -> OutputKind:
        return LabelOutput() if self.outputs == "labels" else ScoreOutput()

    def objective(self, measure: Measure) -> Objective:
        return Objective(
            measure,
            UnitPrior() if self.prior == "unit" else ZeroPrior(),
            B=float(self.B),
            nonnegative=False,
            tol=float(self.tol),
            threshold_rule=ZeroThreshold(),
        )

    def train(self, runner: JobRunner, measure: Any) -> tuple[Sequence[Auxiliary], CrossFitResult]:
        fitted = fit_in_sample(runner)
        if self.max_auxiliaries is None:
            return runner.auxiliaries, fitted
        # The best single auxiliaries, in their original order.
        training, by_fold = runner.training, fitted.fold_outputs
        assert by_fold is not None
        positive, folds = training.targets == 1, fitted.folds
        data = AdaptationData(fitted.raw_outputs, None, positive, training.weight)
        data, _ = scale_outputs(self.output, data, folds, data.outputs, fold_raw=by_fold, nonnegative=False)
        outputs = np.stack([data.in_fold(fold).outputs for fold in range(len(training.splits))])
        scorer = CVScorer(measure, ZeroThreshold(), positive, training.weight, folds)
        values = [scorer(outputs[folds, np.arange(len(folds)), j]).value for j in range(outputs.shape[2])]
        kept = np.sort(np.argsort(values, kind="stable")[::-1][: self.max_auxiliaries])
        return [runner.auxiliaries[i] for i in kept], CrossFitResult(
            fitted.raw_outputs[:, kept],
            [fitted.models[i] for i in kept],
            [fitted.seconds[i] for i in kept],
            folds,
            fold_outputs=by_fold[:, :, kept],
        )


def fit_in_sample(runner: JobRunner) -> CrossFitResult:
    """Train all auxiliaries in all folds and on all rows; the outputs are in sample."""
    training, auxiliaries = runner.training, runner.auxiliaries
    jobs = [
        TrainingJob(i, (fold,), train)
        for i, each in enumerate(auxiliaries)
        if not each.is_frozen
        for fold, (train, _) in enumerate(training.splits)
    ]
    jobs += [TrainingJob(i) for i in range(len(auxiliaries))]
    raw_outputs = np.zeros((training.n_rows, len(auxiliaries)))
    fold_outputs = np.zeros((len(training.splits), *raw_outputs.shape))
    models: list[Any] = [None] * len(auxiliaries)
    seconds = [0.0] * len(auxiliaries)
    for result in runner.run(jobs):
        job = result.job
        rows = rows_or_all(job.predict_rows)
        if job.held_out:
            fold_outputs[job.held_out[0]][rows, job.auxiliary] = result.outputs
        else:
            raw_outputs[rows, job.auxiliary] = result.outputs
            models[job.auxiliary] = result.model
        if auxiliaries[job.auxiliary].is_frozen:
            fold_outputs[:, :, job.auxiliary] = result.outputs
        seconds[job.auxiliary] += result.seconds
    folds = fold_numbers(training.splits, training.n_rows)
    return CrossFitResult(raw_outputs, models, seconds, folds, fold_outputs=fold_outputs)
