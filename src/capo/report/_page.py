"""The pages."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import sklearn
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .. import __version__
from .._compat import BoolArray
from ..decisions import RowPrices, estimate_savings
from ..engine import Status
from ..exceptions import InvalidInputError
from ..inspection import (
    ClassRates,
    Comparison,
    Evaluation,
    Importance,
    MeasureEstimate,
    MulticlassEvaluation,
    MultilabelEvaluation,
    WorstError,
    describe_few_rows,
    worst_errors,
)
from ..measures import ConstrainedMeasure, Labels
from . import _formatting as formatting
from ._sections import (
    CalibrationSection,
    CertificateSection,
    ComparisonSection,
    DeltaSection,
    ErrorsSection,
    EvaluationSection,
    ImportanceSection,
    MeasureRow,
    ModelRow,
    ModelsSection,
    OperatingPointSection,
    PathSection,
    SavingsSection,
    ThresholdCurves,
    build_calibration,
    build_certificate,
    build_comparison,
    build_delta,
    build_errors,
    build_evaluation,
    build_importance,
    build_measure_rows,
    build_model_rows,
    build_models,
    build_operating_point,
    build_path,
    build_savings,
    check_comparison,
    compute_curves,
)
from ._templating import Markup, content_security_policy, load_environment, read_asset

if TYPE_CHECKING:
    from ..estimators import CAPOClassifier


def collect_cautions(model: CAPOClassifier, about_rows: str, notes: Iterable[str]) -> list[str]:
    """The notes, the caution about the rows, and what limits the trust in the model's own values."""
    sentences = [each for each in (about_rows, model.summary().notes.get("caution", "")) if each]
    found = [f"{each[0].upper()}{each[1:]}." for each in sentences]
    return [formatting.clean_text(each) for each in (*notes, *found)]


@dataclass(frozen=True)
class Footer:
    """Training times and versions."""

    durations: str
    versions: str
    date: str


def build_footer(model: CAPOClassifier, steps: Mapping[str, str]) -> Footer:
    """Collect the durations of the training's steps, by the text that describes each, and the versions."""
    durations = (
        f"{formatting.format_duration(model.timings_[key])} for {step}" for key, step in steps.items()
    )
    versions = (
        f"capo {__version__}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"scikit-learn {sklearn.__version__}"
    )
    return Footer(formatting.join_words(durations), versions, datetime.now(UTC).date().isoformat())


#: Longer headline values are written in smaller letters.
MAX_HEADLINE_LENGTH = 8


@dataclass(frozen=True)
class ConstraintHeader:
    """A measure with a constraint at the model's threshold."""

    rate_name: str
    limited_rate_name: str
    limited_rate: float
    limited_estimate: MeasureEstimate | None
    constraint: str
    is_satisfied: bool
    none_predicted: bool
    best_value: float


@dataclass(frozen=True)
class Promise:
    """What the threshold guarantees on new rows, or that it guarantees nothing, in one sentence."""

    is_certified: bool
    sentence: str


@dataclass(frozen=True)
class Header:
    """The measure's value at the model's threshold, and the rows that it is computed on."""

    measure_label: str
    value: float
    estimate: MeasureEstimate | None
    constraint: ConstraintHeader | None
    table_name: str
    positive: Any
    threshold: float
    n_rows: int
    n_positive: float
    total: float
    decimals: int
    promise: Promise | None

    @property
    def has_long_value(self) -> bool:
        """Whether the value needs smaller letters."""
        return len(formatting.format_number(self.value)) > MAX_HEADLINE_LENGTH


def build_header(
    model: CAPOClassifier,
    curves: ThresholdCurves,
    value: float,
    table_name: str,
    n_rows: int,
    evaluation: Evaluation | None,
) -> Header:
    """Collect the head of the page; `value` is the score of the model's measure."""
    guarantee = model.guarantee_
    measure, estimate = model.measure_, _find_estimate(evaluation, model.measure_.label)
    constraint = None
    if isinstance(measure, ConstrainedMeasure):
        constraint = _build_constraint(measure, curves, value, evaluation)
        estimate = evaluation.constraint.rate if evaluation and evaluation.constraint else None
        value = float(measure.rate(*curves.chosen_cells))
    return Header(
        measure_label=measure.label,
        value=value,
        estimate=estimate,
        constraint=constraint,
        table_name=table_name,
        positive=model.pos_label_,
        threshold=float(curves.thresholds[curves.chosen]),
        n_rows=n_rows,
        n_positive=curves.n_pos,
        total=curves.total,
        decimals=formatting.count_decimals(curves.total, curves.integers),
        promise=None if guarantee is None else Promise(guarantee.is_certified, f"{guarantee}."),
    )


def _build_constraint(
    measure: ConstrainedMeasure, curves: ThresholdCurves, best_value: float, evaluation: Evaluation | None
) -> ConstraintHeader:
    cells = curves.chosen_cells
    result = evaluation.constraint if evaluation else None
    return ConstraintHeader(
        rate_name=measure.rate_name,
        limited_rate_name=measure.limited_rate_name,
        limited_rate=float(measure.limited_rate(*cells)),
        limited_estimate=result.limited_rate if result else None,
        constraint=measure.constraint,
        is_satisfied=bool(measure.is_satisfied(*cells)),
        none_predicted=cells[0] + cells[1] == 0,
        best_value=best_value,
    )


def _find_estimate(evaluation: Evaluation | None, measure_label: str) -> MeasureEstimate | None:
    """The estimate of one measure, if the evaluation has it."""
    estimates = evaluation.estimates if evaluation else []
    return next((each for each in estimates if each.name == measure_label), None)


#: How the default learner decides, and what the other methods of a comparison are.
_METHODS = (
    "with a threshold of 0.5. The tuned threshold is the same learner with a threshold chosen for the "
    "measure. The tuned stack is a logistic regression on all auxiliaries, also with a chosen threshold."
)


def render_report(
    model: CAPOClassifier,
    positive: ArrayLike,
    decision: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    table_name: str = "",
    comparison: Comparison | None = None,
    evaluation: Evaluation | None = None,
    importance: Importance | None = None,
    errors: Sequence[WorstError] | None = None,
    notes: Iterable[str] = (),
) -> str:
    """Render an HTML page about a fitted classifier and its decisions on labeled rows.

    Parameters
    ----------
    model : CAPOClassifier
        The fitted classifier.
    positive : array-like of bool of shape (n_samples,)
        Which rows are positive, that is, of the class ``model.pos_label_``.
    decision : array-like of shape (n_samples,)
        The output of ``model.positive_decision`` for the rows.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows.
    table_name : str, default=""
        The name of the table that the rows are from.
    comparison : Comparison, optional
        The model and simpler methods in cross-validation, from `capo.inspection.compare`.
    evaluation : Evaluation, optional
        All measures on the rows with bootstrap intervals, from `capo.inspection.evaluate`.
    importance : Importance, optional
        The importance of the columns and the effects of the strongest ones, from
        `capo.inspection.importance`.
    errors : sequence of WorstError, optional
        The worst errors with their values, from `capo.inspection.worst_errors`; by default they are listed
        without values.
    notes : iterable of str, optional
        Cautions to show at the top, one sentence each.

    Returns
    -------
    str
        The page: a single file that works offline and makes no network requests.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from capo import CAPOClassifier
    >>> from capo.report import render_report
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CAPOClassifier("f1", auxiliaries=[GaussianNB()], random_state=0).fit(X[::2], y[::2])
    >>> html = render_report(model, y[1::2] == 1, model.positive_decision(X[1::2]))
    >>> html.startswith("<!DOCTYPE html>")
    True
    """
    check_is_fitted(model)
    mask = check_mask(positive)
    curves = compute_curves(model, mask, decision, sample_weight)
    check_comparison(model, comparison)
    value = float(model.measure_.score(mask, decision, sample_weight))
    about_rows = describe_rows(model, mask, sample_weight, evaluation)
    style, script = read_asset("style.css"), read_asset("script.js")
    report = Report(
        header=build_header(model, curves, value, table_name, len(mask), evaluation),
        cautions=[*collect_cautions(model, about_rows, notes), *solver_cautions(model)],
        operating_point=build_operating_point(model, curves, value),
        importance=build_importance(importance) if importance else None,
        errors=build_errors(
            model, worst_errors(model, mask, decision) if errors is None else errors, importance
        ),
        calibration=build_calibration(model, mask, decision, sample_weight),
        evaluation=build_evaluation(evaluation) if evaluation else None,
        comparison=build_comparison(comparison, _METHODS) if comparison else None,
        models=build_models(model),
        delta=build_delta(model),
        certificate=build_certificate(model),
        path=build_path(model),
        footer=build_footer(model, TRAINING_STEPS),
    )
    return (
        load_environment()
        .get_template("page.html")
        .render(
            report=report,
            content_security_policy=content_security_policy(style, script),
            style=Markup(style),
            script=Markup(script),
        )
    )


#: The parts of the training that the footer names.
TRAINING_STEPS = {
    "auxiliaries": "the auxiliaries",
    "delta": "the features of the delta function",
    "adaptation": "the adaptation",
}


@dataclass(frozen=True)
class Report:
    """All sections of the page."""

    header: Header
    cautions: list[str]
    operating_point: OperatingPointSection
    importance: ImportanceSection | None
    errors: ErrorsSection | None
    calibration: CalibrationSection
    evaluation: EvaluationSection | None
    comparison: ComparisonSection | None
    models: ModelsSection
    delta: DeltaSection
    certificate: CertificateSection
    path: PathSection
    footer: Footer


def check_mask(positive: ArrayLike) -> BoolArray:
    """Return the mask of the positive rows, or raise an error if it is none."""
    mask = np.asarray(positive)
    if mask.dtype != np.bool_ or mask.ndim != 1:
        raise InvalidInputError(
            f"positive must be a one-dimensional Boolean array: got {mask.ndim} dimensions of dtype "
            f"{mask.dtype}. For labels y, pass y == model.pos_label_."
        )
    return mask


def describe_rows(
    model: CAPOClassifier,
    positive: BoolArray,
    sample_weight: ArrayLike | None,
    evaluation: Evaluation | None,
) -> str:
    """The caution about the rows: that of the evaluation, which knows their groups, if there is one."""
    if evaluation is not None:
        return evaluation.caution
    names = [formatting.quote_label(label) for label in model.label_pair.tolist()]
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    return describe_few_rows(positive, (names[0], names[1]), weight)


def solver_cautions(model: CAPOClassifier) -> list[str]:
    """A caution if the solver stopped early."""
    if model.solution_ is None or model.solution_.status is Status.OPTIMAL:
        return []
    return [f"The solver stopped before it reached its tolerance: {model.solution_.message}."]


#: Steps of the colors of the heat map.
N_SHADES = 10
#: Confusions that are listed.
N_CONFUSIONS = 10
#: How the default learner decides, and what the other methods of a comparison are.
_CLASS_METHODS = (
    "with its most probable class. The tuned threshold is the same learner with a multiplier of the "
    "probability of each class, chosen for the measure. The tuned stack combines all auxiliaries, also with "
    "multipliers."
)
_LABEL_METHODS = (
    "with a threshold of 0.5 for each label. The tuned threshold is the same learner with thresholds chosen "
    "for the measure. The tuned stack combines all auxiliaries, also with chosen thresholds."
)
#: The parts of the training that the footer names.
_STEPS = {
    "auxiliaries": "the auxiliaries",
    "stack": "the stack",
    "rule": "the decision rule",
    "delta": "the features of the delta function",
    "adaptation": "the adaptation",
}


@dataclass(frozen=True)
class RuleRow:
    """The numbers of one class in a rule of the form ``a p - b``."""

    name: str
    multiplier: float
    offset: float


@dataclass(frozen=True)
class RuleSection:
    """The decision rule in words."""

    is_used: bool
    certificate: str
    rows: list[RuleRow] | None


@dataclass(frozen=True)
class HeatCell:
    """A cell of the confusion matrix, and its color by its share of the true class."""

    count: float
    share: float
    shade: int


@dataclass(frozen=True)
class HeatRow:
    """A row of the confusion matrix."""

    name: str
    cells: list[HeatCell]


@dataclass(frozen=True)
class ConfusionSection:
    """The confusion matrix as a heat map, and its largest confusions."""

    names: list[str]
    rows: list[HeatRow]
    largest: list[tuple[str, str, float]]
    decimals: int


@dataclass(frozen=True)
class ClassReport:
    """All sections of the page."""

    noun: str
    measure_label: str
    table_name: str
    n_rows: int
    n_trained: int
    estimate: MeasureEstimate
    cautions: list[str]
    classes: list[ClassRates]
    importance: ImportanceSection | None
    measures: list[MeasureRow]
    models: list[ModelRow]
    rule: RuleSection | None
    confusion: ConfusionSection | None
    comparison: ComparisonSection | None
    footer: Footer


def render_class_report(
    model: CAPOClassifier,
    evaluation: MulticlassEvaluation | MultilabelEvaluation,
    *,
    n_rows: int,
    comparison: Comparison | None = None,
    table_name: str = "",
    importance: Importance | None = None,
    notes: Iterable[str] = (),
) -> str:
    """Render an HTML page about a fitted classifier of many classes or labels.

    Parameters
    ----------
    model : CAPOClassifier
        The fitted classifier.
    evaluation : MulticlassEvaluation or MultilabelEvaluation
        All measures on labeled rows, from `capo.inspection.evaluate_multiclass` or `evaluate_multilabel`.
    n_rows : int
        The number of rows.
    comparison : Comparison, optional
        A comparison with simpler methods on the training table, from `capo.inspection.compare_many`.
    table_name : str, default=""
        The name of the table that the rows are from.
    importance : Importance, optional
        The importance of the columns, from `capo.inspection.importance`.
    notes : iterable of str, optional
        Cautions to show at the top, one sentence each.

    Returns
    -------
    str
        The page: a single file that works offline and makes no network requests.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from capo import CAPOClassifier
    >>> from capo.inspection import evaluate_multiclass
    >>> from capo.report import render_class_report
    >>> X, y = load_wine(return_X_y=True)
    >>> model = CAPOClassifier("f1_macro", auxiliaries=[GaussianNB()], random_state=0).fit(X[::2], y[::2])
    >>> rows, truth = X[1::2], y[1::2]
    >>> evaluation = evaluate_multiclass(
    ...     model.measure_, truth, model.predict(rows), model.predict_proba(rows), model.classes_
    ... )
    >>> render_class_report(model, evaluation, n_rows=len(truth)).startswith("<!DOCTYPE html>")
    True
    """
    check_comparison(model, comparison)
    is_multiclass = isinstance(evaluation, MulticlassEvaluation)
    methods = _CLASS_METHODS if is_multiclass else _LABEL_METHODS
    report = ClassReport(
        noun="class" if is_multiclass else "label",
        measure_label=model.measure_.label,
        table_name=table_name,
        n_rows=n_rows,
        n_trained=len(model.auxiliary_outputs_),
        estimate=evaluation.estimates[0],
        cautions=collect_cautions(model, evaluation.caution, notes),
        classes=evaluation.classes if isinstance(evaluation, MulticlassEvaluation) else evaluation.labels,
        importance=build_importance(importance) if importance else None,
        measures=build_measure_rows(evaluation.estimates),
        models=build_model_rows(model.summary().lines),
        rule=_build_rule(model) if is_multiclass else None,
        confusion=_build_confusion(evaluation) if isinstance(evaluation, MulticlassEvaluation) else None,
        comparison=None if comparison is None else build_comparison(comparison, methods),
        footer=build_footer(model, {key: text for key, text in _STEPS.items() if key in model.timings_}),
    )
    style = read_asset("style.css") + "\n" + read_asset("classes.css")
    template = load_environment().get_template("class_page.html")
    policy = content_security_policy(style, "")
    return template.render(report=report, content_security_policy=policy, style=Markup(style))


def _build_rule(model: CAPOClassifier) -> RuleSection:
    numbers = model.rule_.multipliers_and_offsets if model.uses_rule_ else None
    rows = None
    if numbers is not None:
        names = map(str, model.classes_.tolist())
        rows = [RuleRow(*each) for each in zip(names, *(part.tolist() for part in numbers), strict=True)]
    return RuleSection(model.uses_rule_, model.summary().notes["certificate"], rows)


def _build_confusion(evaluation: MulticlassEvaluation) -> ConfusionSection:
    confusion, names = evaluation.confusion, evaluation.class_names
    totals = np.maximum(confusion.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    shares = confusion / totals
    rows = [
        HeatRow(
            name,
            [
                HeatCell(count, share, round(N_SHADES * share) or int(count > 0))
                for count, share in zip(counts, row, strict=True)
            ],
        )
        for name, counts, row in zip(names, confusion.tolist(), shares.tolist(), strict=True)
    ]
    integers = bool((confusion % 1 == 0).all())
    decimals = formatting.count_decimals(float(confusion.sum()), integers)
    return ConfusionSection(names, rows, evaluation.largest_confusions(N_CONFUSIONS), decimals)


#: How the default learner decides, and what the other methods of a comparison are.
_PRICED_PAGE_METHODS = (
    "with a threshold of 0.5. The tuned threshold is the same learner with the one threshold that has the "
    "most money on the training rows. The tuned stack is a logistic regression on all auxiliaries, with the "
    "threshold of each row that follows from its prices."
)


@dataclass(frozen=True)
class PricedReport:
    """All sections of the page."""

    table_name: str
    n_rows: int
    n_positive: float
    total: float
    cautions: list[str]
    savings: SavingsSection
    importance: ImportanceSection | None
    errors: ErrorsSection | None
    calibration: CalibrationSection
    evaluation: EvaluationSection | None
    comparison: ComparisonSection | None
    models: ModelsSection
    delta: DeltaSection
    certificate: CertificateSection
    path: PathSection
    footer: Footer

    @property
    def has_long_value(self) -> bool:
        """Whether the headline needs smaller letters."""
        return len(self.savings.saving) > MAX_HEADLINE_LENGTH


def render_priced_report(
    model: CAPOClassifier,
    positive: ArrayLike,
    decision: ArrayLike,
    prices: RowPrices,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    table_name: str = "",
    comparison: Comparison | None = None,
    evaluation: Evaluation | None = None,
    importance: Importance | None = None,
    errors: Sequence[WorstError] | None = None,
    notes: Iterable[str] = (),
    random_state: int = 0,
) -> str:
    """Render an HTML page about a classifier that was trained with prices of each row.

    Parameters
    ----------
    model : CAPOClassifier
        The fitted classifier.
    positive : array-like of bool of shape (n_samples,)
        Which rows are positive, that is, of the class ``model.pos_label_``.
    decision : array-like of shape (n_samples,)
        The output of ``model.positive_decision`` for the rows.
    prices : RowPrices
        The prices of the rows, from ``model.row_prices``.
    sample_weight : array-like of shape (n_samples,), optional
        How many rows each row stands for.
    groups : array-like of shape (n_samples,), optional
        The group of each row, such as a customer: the bootstrap then draws whole groups.
    table_name : str, default=""
        The name of the table that the rows are from.
    comparison : Comparison, optional
        The model and simpler methods in cross-validation, from `capo.inspection.compare`.
    evaluation : Evaluation, optional
        All measures of the decisions at the thresholds of the rows, from `capo.inspection.evaluate`.
    importance : Importance, optional
        The importance of the columns, from `capo.inspection.importance`.
    errors : sequence of WorstError, optional
        The errors that cost the most with their values, from `capo.inspection.worst_errors`; by default they
        are listed without values.
    notes : iterable of str, optional
        Cautions to show at the top, one sentence each.
    random_state : int, default=0
        Seed of the bootstrap.

    Returns
    -------
    str
        The page: a single file that works offline, without a script.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from capo import CAPOClassifier
    >>> from capo.report import render_priced_report
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> amount = X[:, 3]
    >>> model = CAPOClassifier("cost", auxiliaries=[GaussianNB()], delta=None, random_state=0)
    >>> model = model.fit(X[::2], y[::2], cost_fn=amount[::2], cost_fp=50)
    >>> rows, truth = X[1::2], y[1::2] == 1
    >>> prices = model.row_prices(len(truth), cost_fn=amount[1::2])
    >>> html = render_priced_report(model, truth, model.positive_decision(rows), prices)
    >>> html.startswith("<!DOCTYPE html>")
    True
    """
    check_is_fitted(model)
    labels = Labels.from_arrays(check_mask(positive), sample_weight, both_classes=False)
    scores = _check_scores(labels, decision, prices)
    check_comparison(model, comparison)
    log_odds = scores + model.decision_.log_odds
    predicted = log_odds > prices.log_odds
    if errors is None:
        losses = prices.losses(labels.positive, predicted)
        errors = worst_errors(model, labels.positive, scores, losses=losses)
    savings = estimate_savings(
        prices, labels.positive, predicted, labels.weight, groups=groups, random_state=random_state
    )
    few_rows = describe_rows(model, labels.positive, labels.weight, evaluation)
    report = PricedReport(
        table_name=table_name,
        n_rows=len(scores),
        n_positive=labels.n_pos,
        total=labels.total,
        cautions=[*collect_cautions(model, few_rows, notes), *solver_cautions(model)],
        savings=build_savings(model, labels, log_odds, prices, savings),
        importance=build_importance(importance) if importance else None,
        errors=build_errors(model, errors, importance),
        calibration=build_calibration(model, labels.positive, scores, labels.weight),
        evaluation=build_evaluation(evaluation) if evaluation else None,
        comparison=build_comparison(comparison, _PRICED_PAGE_METHODS) if comparison else None,
        models=build_models(model),
        delta=build_delta(model),
        certificate=build_certificate(model),
        path=build_path(model),
        footer=build_footer(model, TRAINING_STEPS),
    )
    return _render(report)


def _render(report: PricedReport) -> str:
    style = read_asset("style.css")
    template = load_environment().get_template("priced_page.html")
    policy = content_security_policy(style, "")
    return template.render(report=report, content_security_policy=policy, style=Markup(style))


def _check_scores(labels: Labels, decision: Any, prices: RowPrices) -> np.ndarray:
    scores = np.asarray(decision, dtype=np.float64)
    Labels.check_scores(scores, len(labels.positive))
    if len(prices) != len(scores):
        raise InvalidInputError(f"there are prices of {len(prices)} rows, but {len(scores)} rows.")
    return scores
