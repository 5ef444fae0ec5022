"""Options of ``capo explain``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import typer

from ._panels import COLUMNS, MODEL

_option = partial(typer.Option, rich_help_panel=MODEL)


@dataclass(frozen=True, kw_only=True)
class ExplanationOptions:
    """What is explained, and on which rows."""

    rows: Annotated[
        list[int] | None,
        _option(
            "--row",
            metavar="NUMBER",
            help="Explain the prediction of this row, counted from 1; repeatable.",
        ),
    ] = None
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="COLUMN",
            help="Explain this column only; repeatable. By default all columns.",
            rich_help_panel=COLUMNS,
        ),
    ] = None
    folds: Annotated[
        int | None,
        _option(
            "--folds",
            metavar="NUMBER",
            min=2,
            help="Train the model again on this many folds of TABLE, and explain it on the held-out rows.",
        ),
    ] = None
    max_rows: Annotated[
        int,
        _option(
            "--max-rows", metavar="NUMBER", min=2, help="Rows to use; of a larger table a random sample."
        ),
    ] = 2000
