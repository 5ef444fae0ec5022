"""Options about the model to train."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import typer

from ._panels import MODEL

MAX_SEED = 2**32 - 1

_option = partial(typer.Option, rich_help_panel=MODEL)


def _complete_measure_names() -> list[str]:
    from ... import measures, multiclass, multilabel  # noqa: PLC0415 (only for tab completion)

    return sorted({*measures.names(), *multiclass.names(), *multilabel.names()})


_folds_option = partial(_option, "--folds", metavar="NUMBER", min=2)

JobsOption = Annotated[
    int,
    _option(
        "--jobs",
        "-j",
        metavar="NUMBER",
        help="Auxiliaries trained in parallel; -1 uses all cores.",
    ),
]
SeedOption = Annotated[
    int, typer.Option("--seed", metavar="NUMBER", min=0, max=MAX_SEED, help="Random seed.")
]


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The measure, what is trained for it, and how."""

    measure: Annotated[
        str | None,
        _option(
            "--measure",
            "-m",
            metavar="MEASURE",
            show_default="f1, or cost if prices are given",
            help="Measure to optimize: a name (see 'capo measures') or a formula such as '10*tp - 2*fp'.",
            autocompletion=_complete_measure_names,
        ),
    ] = None
    measure_args: Annotated[
        list[str] | None,
        _option(
            "--measure-arg",
            metavar="NAME=VALUE",
            help="Parameter of the measure, such as beta=2, classes=a,b, order=low,mid,high or "
            "matrix=costs.csv; repeatable.",
        ),
    ] = None
    cost_fp: Annotated[
        str | None,
        _option(
            "--cost-fp",
            metavar="COLUMN|NUMBER",
            help="What a false positive costs: a column with the amount of each row, or a number for all "
            "rows. Makes 'cost' the measure.",
        ),
    ] = None
    cost_fn: Annotated[
        str | None,
        _option(
            "--cost-fn",
            metavar="COLUMN|NUMBER",
            help="What a missed positive costs: a column, or a number.",
        ),
    ] = None
    benefit_tp: Annotated[
        str | None,
        _option(
            "--benefit-tp",
            metavar="COLUMN|NUMBER",
            help="What a true positive is worth: a column, or a number.",
        ),
    ] = None
    auxiliaries: Annotated[
        list[str] | None,
        _option(
            "--auxiliaries",
            "-a",
            metavar="NAMES",
            show_default="auto",
            help="Classifiers to combine and adapt: auto, or a comma-separated list of boosting, quick, "
            "trees, full_trees, linear, kernel, svm, latent, lgbm, xgb, rf, knn, nb, cvm, c45, rbfnet; "
            "repeatable.",
        ),
    ] = None
    preset: Annotated[
        str | None,
        _option(
            "--preset",
            metavar="NAME",
            show_default="balanced",
            help="Which built-in classifiers to combine: fast (about a quarter of the time), balanced, or "
            "best (some more time). Not together with --auxiliaries.",
        ),
    ] = None
    budget: Annotated[
        str | None,
        _option(
            "--budget",
            metavar="TIME",
            help="Time for training, such as 60s, 5m or 1h: classifiers that would take longer are left out, "
            "as estimated from trainings on samples.",
        ),
    ] = None
    delta: Annotated[
        str,
        _option(
            "--delta",
            metavar="NAME",
            help="Features of the delta function, which corrects the auxiliaries: linear, rbf or none.",
        ),
    ] = "linear"
    folds: Annotated[
        int | None,
        _folds_option(
            help="Folds for cross-fitting the auxiliaries and choosing C: by default 5, or 3 with --preset "
            "fast on more than 2,000 rows of two classes, with at least 60 of each."
        ),
    ] = None
    jobs: JobsOption = 1
    seed: SeedOption = 0

    @property
    def prices(self) -> dict[str, str]:
        """The prices of rows: columns or numbers by the names of the parameters of `fit`."""
        given = {"cost_fp": self.cost_fp, "cost_fn": self.cost_fn, "benefit_tp": self.benefit_tp}
        return {name: text for name, text in given.items() if text is not None}

    @property
    def measure_name(self) -> str:
        """The measure that was named, or the default: prices make it the cost."""
        return self.measure or ("cost" if self.prices else "f1")


@dataclass(frozen=True, kw_only=True)
class FitModelOptions(ModelOptions):
    """The model of ``capo fit``: folds may be repeated."""

    repeats: Annotated[
        int,
        _option(
            "--repeats",
            metavar="NUMBER",
            min=1,
            help="Draw the folds so many times, for small tables: the out-of-fold values and the threshold "
            "depend less on chance. Training takes as many times longer.",
        ),
    ] = 1


@dataclass(frozen=True, kw_only=True)
class ComparisonModelOptions(ModelOptions):
    """The models of ``capo compare``: the folds are those of the comparison."""

    folds: Annotated[int, _folds_option(help="Folds of the cross-validation; each is held out once.")] = 5
