"""The report: collection of the data of all sections, and the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._typing import BoolArray
from ..engine import Status
from ..exceptions import InvalidInputError
from ..inspection import (
    Comparison,
    Evaluation,
    Importance,
    WorstError,
    describe_few_rows,
    worst_errors,
)
from . import _formatting as formatting
from ._calibration import CalibrationSection, build_calibration
from ._cautions import collect_cautions
from ._curves import compute_curves
from ._evaluation import (
    ComparisonSection,
    EvaluationSection,
    build_comparison,
    build_evaluation,
    check_comparison,
)
from ._explanation import ErrorsSection, ImportanceSection, build_errors, build_importance
from ._footer import Footer, build_footer
from ._header import Header, build_header
from ._operating_point import OperatingPointSection, build_operating_point
from ._templating import Markup, content_security_policy, load_environment, read_asset
from ._training import (
    CertificateSection,
    DeltaSection,
    ModelsSection,
    PathSection,
    build_certificate,
    build_delta,
    build_models,
    build_path,
)

if TYPE_CHECKING:
    from ..estimators import CAPOClassifier

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
