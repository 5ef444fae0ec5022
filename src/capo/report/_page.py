"""The page as a whole."""

from __future__ import annotations

import base64
import hashlib
import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from html import escape
from importlib import resources
from string import Template
from typing import Any

import numpy as np
import sklearn
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .. import __version__
from ..engine import Status
from ..inspection import Comparison, Evaluation
from ..preprocessing import positive_mask
from . import _formatting as formatting
from . import _metrics as metrics
from . import _operating_point as operating_point
from . import _training as training
from ._curves import Curves, trace


def page(
    model: Any,
    y: ArrayLike,
    decision: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    table: str = "",
    comparison: Comparison | None = None,
    evaluation: Evaluation | None = None,
    notes: Iterable[str] = (),
) -> str:
    """A fitted classifier and what it does on some rows, as one HTML file.

    Parameters
    ----------
    model : CAPOClassifier
        Fitted.
    y : array-like of shape (n_samples,)
        The labels of the rows.
    decision : array-like of shape (n_samples,)
        What ``model.decision_function`` says of them.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows.
    table : str, default=""
        What the table is called.
    comparison : capo.inspection.Comparison, optional
        The model against simpler ones in cross-validation, as `capo.inspection.compare` returns it.
    evaluation : capo.inspection.Evaluation, optional
        Measures with bootstrap intervals, as `capo.inspection.evaluate` returns them.
    notes : iterable of str, optional
        Cautions, one sentence each.

    Returns
    -------
    str
        The page. It opens offline and asks the network for nothing.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from capo import CAPOClassifier
    >>> from capo.report import page
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CAPOClassifier("f1", auxiliaries=[GaussianNB()], random_state=0).fit(X[::2], y[::2])
    >>> html = page(model, y[1::2], model.decision_function(X[1::2]), table="breast cancer")
    >>> html.startswith("<!DOCTYPE html>")
    True
    """
    check_is_fitted(model)
    positive = positive_mask(y, model.classes_)
    curves = trace(model, positive, decision, sample_weight)
    value = float(model.measure_.score(positive, decision, sample_weight))
    style, script = _file("style.css"), _file("script.js")
    return Template(_file("page.html")).substitute(
        policy=_policy(style, script),
        title=escape(_title(model, value, table)),
        style=style,
        script=script,
        header=_header(model, curves, value, table, len(positive), evaluation),
        cautions=_cautions(model, notes),
        operating=operating_point.operating(model, curves, value),
        evaluation=metrics.evaluation(evaluation),
        comparison=metrics.comparison(comparison),
        training=_training(model),
        footer=_footer(model),
        data=operating_point.data(model, curves),
    )


def _file(name: str) -> str:
    return resources.files(__package__).joinpath("templates", name).read_text(encoding="utf-8").strip()


def _policy(style: str, script: str) -> str:
    """What the browser may do: show what is in the file, and nothing else."""
    allowed = {"style": style, "script": script}
    rules = [f"{kind}-src 'sha256-{_digest(text)}'" for kind, text in allowed.items()]
    return "; ".join(["default-src 'none'", "img-src data:", *rules, "base-uri 'none'", "form-action 'none'"])


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _title(model: Any, value: float, table: str) -> str:
    on = f" on {formatting.plain(table)}" if table else ""
    return f"{model.measure_.label} {formatting.figure(value)}{on} | capo report"


def _header(
    model: Any,
    curves: Curves,
    value: float,
    table: str,
    n_rows: int,
    evaluation: Evaluation | None,
) -> str:
    full = model.measure_.label
    found = metrics.of_measure(evaluation, full)
    within = f'<p class="within">{found} by the bootstrap</p>' if found else ""
    on = f" on {formatting.name(table)}" if table else ""
    return (
        f'<p class="brand">capo report</p><h1><span class="measure">{formatting.breakable(full)}{on}</span> '
        f'<span class="big">{formatting.figure(value)}</span></h1>{within}'
        f'<p class="does">{_does(model, curves)} {_rows(model, curves, n_rows)}</p>'
    )


def _does(model: Any, curves: Curves) -> str:
    positive = formatting.positive_class(model)
    at = formatting.threshold(float(curves.thresholds[curves.chosen]))
    return f"The model predicts {positive} above a probability of <b>{at}</b>."


def _rows(model: Any, curves: Curves, n_rows: int) -> str:
    positive = formatting.positive_class(model)
    digits = formatting.digits_of(curves.total, curves.whole)
    rows, n_pos = formatting.many(n_rows, "row"), formatting.count(curves.n_pos, digits)
    mass = (
        "" if curves.total == n_rows else f" with a total weight of {formatting.count(curves.total, digits)}"
    )
    share = formatting.percent(curves.n_pos, curves.total)
    return f"The figures are of {rows}{mass}: {n_pos} are {positive} ({share})."


def _training(model: Any) -> str:
    """What the training found, in two columns of about the same height."""
    models, delta, path = training.models(model), training.delta(model), training.path(model)
    proof = training.certificate(model)
    columns = (models + path, delta + proof) if model.solution_ else (models + delta + proof, path)
    return "".join(f"<div>{each}</div>" for each in columns)


def _cautions(model: Any, notes: Iterable[str]) -> str:
    """What a reader must know before trusting a figure."""
    said = [formatting.said(note) for note in notes]
    own = model.summary().notes.get("caution")
    if own:
        said.append(f"{escape(own[0].upper() + own[1:])}.")
    if model.solution_ is not None and model.solution_.status is not Status.OPTIMAL:
        said.append(f"The solver fell short: {escape(model.solution_.message)}.")
    if not said:
        return ""
    inner = "".join(f"<p>{each}</p>" for each in said)
    return (
        f'<section class="caution" aria-labelledby="caution"><h2 id="caution">Caution</h2>{inner}</section>'
    )


def _footer(model: Any) -> str:
    taken = model.timings_
    steps = formatting.listed(f"{formatting.seconds(taken[key])} for the {what}" for key, what in _STEPS)
    versions = (
        f"capo {__version__}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"scikit-learn {sklearn.__version__}"
    )
    made = datetime.now(UTC).date().isoformat()
    return (
        f"<p>Training took {steps}.</p><p>Made on {made} with {escape(versions)}. This page is one file: it "
        "works offline and sends nothing.</p>"
    )


_STEPS = (
    ("auxiliaries", "auxiliaries"),
    ("delta", "features of the delta function"),
    ("adaptation", "adaptation"),
)
