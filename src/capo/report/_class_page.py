"""The page on a model of many classes or labels: its rule, its confusions and the rates of each class."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..inspection import (
    ClassRates,
    Comparison,
    Importance,
    MeasureEstimate,
    MulticlassEvaluation,
    MultilabelEvaluation,
)
from . import _formatting as formatting
from ._cautions import collect_cautions
from ._evaluation import (
    ComparisonSection,
    MeasureRow,
    build_comparison,
    build_measure_rows,
    check_comparison,
)
from ._explanation import ImportanceSection, build_importance
from ._footer import Footer, build_footer
from ._templating import Markup, content_security_policy, load_environment, read_asset
from ._training import ModelRow, build_model_rows

if TYPE_CHECKING:
    from ..estimators import CAPOClassifier

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
