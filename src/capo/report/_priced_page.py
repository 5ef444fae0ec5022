"""The page on a model with prices of each row: money in place of a slider for one threshold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..exceptions import InvalidInputError
from ..inspection import Comparison, Evaluation, Importance, WorstError, worst_errors
from ..measures import Labels
from ..prices import RowPrices, estimate_savings
from ._calibration import CalibrationSection, build_calibration
from ._cautions import collect_cautions
from ._evaluation import (
    ComparisonSection,
    EvaluationSection,
    build_comparison,
    build_evaluation,
    check_comparison,
)
from ._explanation import ErrorsSection, ImportanceSection, build_errors, build_importance
from ._footer import Footer, build_footer
from ._header import MAX_HEADLINE_LENGTH
from ._page import TRAINING_STEPS, check_mask, describe_rows, solver_cautions
from ._savings import SavingsSection, build_savings
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
    log_odds = scores + model.combination_.threshold_log_odds
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
        comparison=build_comparison(comparison, _METHODS) if comparison else None,
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
