"""The page."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sklearn
from sklearn.utils.validation import check_is_fitted

from .. import __version__, inspection
from .._compat import ArrayLike
from ..decisions import RowPrices, estimate_savings
from ..engine import Status
from ..exceptions import InvalidInputError
from ..inspection import Comparison, Evaluation, Importance, WorstError
from ..measures import ConstrainedMeasure, Labels
from ..tables.targets import positive_mask
from . import _sections as sections
from . import _templating as templates
from ._templating import format_number

if TYPE_CHECKING:
    from ..estimators import CAPOClassifier


#: Columns in the table of importance, features of the delta function, and confusions, at most.
MAX_COLUMNS, MAX_FEATURES, MAX_CONFUSIONS = 15, 15, 10
#: Columns whose values are listed for each error.
N_VALUE_COLUMNS = 3
#: The steps of the training in words.
STEPS = {
    "auxiliaries": "the auxiliaries",
    "stack": "the stack",
    "rule": "the decision rule",
    "delta": "the features of the delta function",
    "adaptation": "the adaptation",
}


def write_report(
    model: CAPOClassifier,
    X: Any,
    y: ArrayLike,
    path: str | PathLike[str],
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    random_state: int = 0,
    **options: Any,
) -> None:
    """Evaluate and explain a fitted classifier on labeled rows, and write an HTML page about it.

    Parameters
    ----------
    model : CAPOClassifier
        The fitted classifier.
    X : data frame, array or sparse matrix of shape (n_samples, n_features)
        Rows that the model was not trained on.
    y : array-like of shape (n_samples,) or (n_samples, n_labels)
        Their labels.
    path : path-like
        The file to write, such as "report.html".
    sample_weight, groups, random_state
        As in `render_report`.
    **options
        Other arguments of `render_report`: prices, table_name, comparison and notes.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from capo import CAPOClassifier
    >>> from capo.report import write_report
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CAPOClassifier("f1", auxiliaries=[GaussianNB()], random_state=0).fit(X[::2], y[::2])
    >>> with TemporaryDirectory() as folder:
    ...     write_report(model, X[1::2], y[1::2], Path(folder, "report.html"))
    ...     Path(folder, "report.html").read_text("utf-8")[:15]
    '<!DOCTYPE html>'
    """
    check_is_fitted(model)
    methods = {"multiclass": "predict_proba", "multilabel": "decision_function"}
    outputs = getattr(model, methods.get(model.target_type_, "positive_decision"))(X)
    rows: dict[str, Any] = {"sample_weight": sample_weight, "groups": groups, "random_state": random_state}
    truth = positive_mask(y, model.label_pair) if model.target_type_ == "binary" else np.asarray(y)
    chosen = {"prices": options.get("prices"), "all_measures": True, **rows}
    options |= {
        "evaluation": inspection.evaluate(model, truth, outputs, **chosen),
        "importance": inspection.importance(model, X, y, **rows),
    }
    html = render_report(model, truth, outputs, X=X, **rows, **options)
    Path(path).write_text(html, "utf-8", errors="backslashreplace")


def render_report(
    model: CAPOClassifier,
    y: ArrayLike,
    outputs: ArrayLike,
    *,
    X: Any = None,
    prices: RowPrices | None = None,
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
    """Render an HTML page about a fitted classifier and its outputs on labeled rows.

    Parameters
    ----------
    model : CAPOClassifier
        The fitted classifier.
    y : array-like of shape (n_samples,) or (n_samples, n_labels)
        For two classes, a Boolean for each row: whether it is of the class ``model.pos_label_``. For many
        classes the labels, for labels the label matrix.
    outputs : array-like of shape (n_samples,) or (n_samples, n_classes)
        The output of ``model.positive_decision`` for two classes, of ``model.predict_proba`` for many, and of
        ``model.decision_function`` for labels.
    X : data frame, array or sparse matrix of shape (n_samples, n_features), optional
        The rows, to list the values of the worst errors.
    prices : RowPrices, optional
        The prices of the rows, from ``model.row_prices``: the page then shows the savings of thresholds of
        each row in place of a slider for one threshold.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows.
    groups : array-like of shape (n_samples,), optional
        The group of each row, such as a customer: intervals then come from draws of whole groups.
    table_name : str, default=""
        The name of the table that the rows are from.
    comparison : Comparison, optional
        The model and simpler methods in cross-validation, from `capo.inspection.compare`.
    evaluation : Evaluation, optional
        All measures on the rows with bootstrap intervals, from `capo.inspection.evaluate`. By default they
        are computed for more than two classes, and left out for two.
    importance : Importance, optional
        The importance of the columns and the effects of the strongest ones, from
        `capo.inspection.importance`.
    errors : sequence of WorstError, optional
        The worst errors of two classes, from `capo.inspection.worst_errors`; by default those among the rows.
    notes : iterable of str, optional
        Cautions to show at the top, one sentence each.
    random_state : int, default=0
        Seed of the bootstrap.

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
    if comparison is not None and (difference := comparison.difference(model)):
        raise InvalidInputError(f"the comparison does not belong to this model: it is {difference}.")
    kind, summary = "priced" if prices is not None else model.target_type_, model.summary()
    context: dict[str, Any] = {
        "n_rows": len(np.asarray(outputs)),
        "estimate": None,
        "is_constrained": False,
    }
    if comparison is not None:  # the limits of a scale that covers all methods, with a margin
        ends = [each.mean + sign * each.std for each in comparison.methods for sign in (-1, 1)]
        margin = 0.05 * (max(ends) - min(ends)) or 1.0
        context["comparison_scale"] = (min(ends) - margin, max(ends) + margin)
    if kind in ("multiclass", "multilabel"):
        evaluation = evaluation or inspection.evaluate(
            model,
            y,
            outputs,
            sample_weight=sample_weight,
            groups=groups,
            all_measures=True,
            random_state=random_state,
        )
        about_rows = evaluation.caution
        context |= _describe_classes(model, evaluation)
    else:
        mask = np.asarray(y)
        if mask.dtype != np.bool_ or mask.ndim != 1:
            raise InvalidInputError(
                f"positive must be a one-dimensional Boolean array: got {mask.ndim} dimensions of dtype "
                f"{mask.dtype}. For labels y, pass y == model.pos_label_."
            )
        labels = Labels.from_arrays(mask, sample_weight, both_classes=False)
        scores = np.asarray(outputs, dtype=np.float64)
        Labels.check_scores(scores, len(labels.positive))
        names = [templates.quote_label(label) for label in model.label_pair.tolist()]
        counted = inspection.make_targets(model.measure_, labels.positive[labels.mass > 0], names)
        about_rows = counted.describe_few_rows() if evaluation is None else evaluation.caution
        context |= _describe_training(model)
        losses = None
        if prices is None:
            context |= _describe_threshold(model, labels, scores, evaluation)
        else:
            if len(prices) != len(scores):
                raise InvalidInputError(f"prices has {len(prices)} rows, but the table has {len(scores)}.")
            log_odds = scores + model.decision_.log_odds
            predicted, decided = log_odds > prices.log_odds, prices.decide(log_odds)
            savings = (evaluation.savings if evaluation else None) or estimate_savings(
                prices, labels.positive, decided, labels.weight, groups=groups, random_state=random_state
            )
            context |= {
                "headline": sections.write_money(savings.saving),
                "savings_interval": f"{sections.write_money(savings.low)} to "
                f"{sections.write_money(savings.high)}, compared with {savings.baseline}",
                "policies": sections.list_policies(model, labels, log_odds, prices),
                "savings_figure": sections.draw_savings(labels, log_odds, prices),
                "cells": [float(cell) for cell in labels.confusion(predicted)],
            }
            losses = prices.losses(labels.positive, decided)
        if errors is None:
            known = model.label_pair[labels.positive.astype(int)]
            errors = inspection.worst_errors(model, X, known, decision=scores, losses=losses)
        context |= _describe_rows(model, labels, scores, errors, importance)
    sentences = filter(None, (about_rows, summary.notes.get("caution")))
    cautions = [f"{each[0].upper()}{each[1:]}." for each in sentences]
    solution = getattr(model, "solution_", None)
    if solution is not None and solution.status is not Status.OPTIMAL:
        cautions.append(f"The solver stopped before it reached its tolerance: {solution.message}.")
    seconds = {key: templates.format_seconds(each) for key, each in model.timings_.items()}
    durations = [f"{seconds[key]} for {step}" for key, step in STEPS.items() if key in seconds]
    style, script = (templates.read_asset(name) for name in ("style.css", "script.js"))
    script = script if kind == "binary" else ""
    return (
        templates.load_environment()
        .get_template("page.html")
        .render(
            context,
            kind=kind,
            model=model,
            summary=summary,
            measure_label=model.measure_.label,
            table_name=table_name,
            cautions=[templates.clean_text(each) for each in (*notes, *cautions)],
            evaluation=evaluation,
            comparison=comparison,
            importance=importance,
            max_columns=MAX_COLUMNS,
            durations=templates.join_words(durations),
            versions=f"capo {__version__}, Python {platform.python_version()}, NumPy {np.__version__}, "
            f"scikit-learn {sklearn.__version__}",
            date=datetime.now(UTC).date().isoformat(),
            content_security_policy=templates.content_security_policy(style, script),
            style=templates.Markup(style),
            script=templates.Markup(script),
            draw_effect=sections.draw_effect,
        )
    )


def _describe_threshold(
    model: CAPOClassifier, labels: Labels, decision: np.ndarray, evaluation: Evaluation | None
) -> dict[str, Any]:
    """The headline at the model's threshold, and the effect of other thresholds."""
    curves = sections.compute_curves(model, labels.positive, decision, labels.weight)
    score = float(model.measure_.score(labels.positive, decision, labels.weight))
    estimates = evaluation.estimates if evaluation else []
    estimate = next((each for each in estimates if each.name == model.measure_.label), None)
    value = score
    if isinstance(model.measure_, ConstrainedMeasure):
        estimate = evaluation.estimates[1] if evaluation and evaluation.constraint else None
        value = float(model.measure_.rate(*curves.chosen_cells))
    return {
        "curves": curves,
        "operating_point": sections.describe_operating_point(model, curves),
        "score": score,
        "headline": format_number(value),
        "estimate": estimate,
        "is_constrained": isinstance(model.measure_, ConstrainedMeasure),
        "cells": curves.chosen_cells,
    }


def _describe_rows(
    model: CAPOClassifier,
    labels: Labels,
    decision: np.ndarray,
    errors: Sequence[WorstError],
    importance: Importance | None,
) -> dict[str, Any]:
    """The rows of two classes: their numbers, their calibration and the worst errors."""
    known = list(errors[0].values) if errors else []
    ranked = [name for each in importance.columns for name in each.columns[:1]] if importance else known
    bins = sections.calibration_bins(model.as_probability(decision), labels.positive, labels.mass)
    probabilities = model.as_probability(np.array([each.decision for each in errors]))
    return {
        "classes": model.label_pair.tolist(),
        "integers": labels.has_integer_weights,
        "decimals": templates.decimals_of_counts(labels.total, labels.has_integer_weights),
        "n_positive": labels.n_pos,
        "total": labels.total,
        "bins": bins,
        "calibration_figure": sections.draw_calibration(bins),
        "errors": list(zip(errors, probabilities.tolist(), strict=True)),
        "error_columns": [name for name in ranked if name in known][:N_VALUE_COLUMNS],
    }


def _describe_training(model: CAPOClassifier) -> dict[str, Any]:
    """The values of C, the delta function and the solver's certificate."""
    coef, results = model.delta_coef_, model.cv_results_
    keys = ("param_C", "test_score", "std_test_score", "gain", "gain_std_error", "n_iter")
    path = list(zip(*(results[key].tolist() for key in keys), strict=True))
    return {
        "features": sorted((each for each in coef.items() if each[1]), key=lambda each: -abs(each[1])),
        "max_features": MAX_FEATURES,
        "path": path,
        "path_figure": sections.draw_path(model) if len(path) > 1 else None,
        "solver_figure": None if model.solution_ is None else sections.draw_solver(model.solution_),
    }


def _describe_classes(model: CAPOClassifier, evaluation: Evaluation) -> dict[str, Any]:
    """The headline, the confusion matrix as a heat map, and the numbers of the decision rule."""
    context: dict[str, Any] = {
        "headline": format_number(evaluation.estimates[0].value),
        "estimate": evaluation.estimates[0],
        "noun": "label" if evaluation.confusion is None else "class",
    }
    if evaluation.confusion is not None:
        confusion = np.asarray(evaluation.confusion)
        total, integers = float(confusion.sum()), bool((confusion % 1 == 0).all())
        numbers = model.rule_.multipliers_and_offsets if model.uses_rule_ else None
        context |= {
            "shares": confusion / np.maximum(confusion.sum(axis=1, keepdims=True), np.finfo(float).tiny),
            "largest_confusions": evaluation.largest_confusions(MAX_CONFUSIONS),
            "decimals": templates.decimals_of_counts(total, integers),
            "rule": numbers and list(zip(model.classes_.tolist(), *numbers, strict=True)),
        }
    return context
