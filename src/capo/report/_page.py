"""The report: collection of the data of all sections, and the page."""

from __future__ import annotations

import base64
import hashlib
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import sklearn
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .. import __version__
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
from ._curves import compute_curves
from ._evaluation import (
    ComparisonSection,
    EvaluationSection,
    build_comparison,
    build_evaluation,
)
from ._explanation import ErrorsSection, ImportanceSection, build_errors, build_importance
from ._header import Header, build_header
from ._operating_point import OperatingPointSection, build_operating_point
from ._templating import Markup, load_environment, read_asset
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
    mask = _check_mask(positive)
    curves = compute_curves(model, mask, decision, sample_weight)
    check_comparison(model, comparison)
    value = float(model.measure_.score(mask, decision, sample_weight))
    style, script = read_asset("style.css"), read_asset("script.js")
    report = Report(
        header=build_header(model, curves, value, table_name, len(mask), evaluation),
        cautions=_collect_cautions(model, _describe_rows(model, mask, sample_weight, evaluation), notes),
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
class Footer:
    """Training times and versions."""

    durations: str
    versions: str
    date: str


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


def _check_mask(positive: ArrayLike) -> BoolArray:
    mask = np.asarray(positive)
    if mask.dtype != np.bool_ or mask.ndim != 1:
        raise InvalidInputError(
            f"positive must be a one-dimensional Boolean array: got {mask.ndim} dimensions of dtype "
            f"{mask.dtype}. For labels y, pass y == model.pos_label_."
        )
    return mask


def content_security_policy(style: str, script: str) -> str:
    """Allow the style and the script of the page, and nothing else."""
    sources = [f"style-src 'sha256-{_sha256(style)}'", f"script-src 'sha256-{_sha256(script)}'"]
    return "; ".join(
        ["default-src 'none'", "img-src data:", *sources, "base-uri 'none'", "form-action 'none'"]
    )


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def check_comparison(model: CAPOClassifier, comparison: Comparison | None) -> None:
    """Raise an error if a comparison is of another table, measure or set of auxiliaries."""
    if comparison is not None and (difference := comparison.difference(model)):
        raise InvalidInputError(f"the comparison does not belong to this model: it is {difference}.")


def _describe_rows(
    model: CAPOClassifier,
    positive: BoolArray,
    sample_weight: ArrayLike | None,
    evaluation: Evaluation | None,
) -> str:
    """The caution about the rows: that of the evaluation, which knows their groups, if there is one."""
    if evaluation is not None:
        return formatting.clean_text(evaluation.caution)
    names = [formatting.quote_label(label) for label in model.label_pair.tolist()]
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    return describe_few_rows(positive, (names[0], names[1]), weight)


def _collect_cautions(model: CAPOClassifier, few_rows: str, notes: Iterable[str]) -> list[str]:
    """The notes, and what limits the trust in the model's values."""
    cautions = [formatting.clean_text(note) for note in notes]
    caution = model.summary().notes.get("caution")
    cautions += [f"{each[0].upper()}{each[1:]}." for each in (few_rows, caution) if each]
    if model.solution_ is not None and model.solution_.status is not Status.OPTIMAL:
        cautions.append(f"The solver stopped before it reached its tolerance: {model.solution_.message}.")
    return cautions


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
