"""Commands that show something without a table."""
# ruff: noqa: PLC0415, D301

from __future__ import annotations

from typing import Annotated

import typer

from .._console import Console
from .._options import JsonOption, ModelArgument


def show(model: ModelArgument, json: JsonOption = False) -> None:
    """Describe a model file without loading the model.

    \b
      capo show churn.capo
    """
    from ..commands.show import run_show

    run_show(model, Console(as_json=json))


def measures(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Name of a measure, or a formula; by default all.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """List the measures: formula, parameters, and when to use them.

    \b
      capo measures
      capo measures fbeta
    """
    from ..commands.measures import run_measures

    run_measures(name, Console(as_json=json))


def demo() -> None:
    """Compare capo with simpler methods on scikit-learn's digits, and adapt a yes-or-no rule.

    \b
    The data comes with scikit-learn.
      capo demo
    """
    from ..commands.demo import run_demo

    run_demo()
