"""Options of ``capo guarantee``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import typer

from ._panels import MODEL

_option = partial(typer.Option, rich_help_panel=MODEL)


@dataclass(frozen=True, kw_only=True)
class GuaranteeOptions:
    """What is guaranteed; parameters of `CAPOClassifier.guarantee`."""

    constraint: Annotated[
        str | None,
        _option(
            "--constraint",
            metavar="LIMIT",
            help="Constraint such as 'precision >= 0.9', on precision, fdr, npv, recall, fnr, specificity, "
            "fpr or positive_rate; by default that of the model's measure.",
        ),
    ] = None
    confidence: Annotated[
        float | None,
        _option(
            "--confidence",
            metavar="NUMBER",
            help="Probability with which the constraint must hold; by default that of the measure, or 0.95.",
        ),
    ] = None
    objective: Annotated[
        str | None,
        _option(
            "--objective",
            metavar="MEASURE",
            help="Measure to maximize among the thresholds that pass; by default recall for a precision or "
            "fpr.",
        ),
    ] = None
