"""``capo measures``: the measures that can be optimized."""

from __future__ import annotations

import math
from typing import Any

from ... import measures
from ...measures import Description, multiclass, multilabel
from ..console import Console

_FOOTER = """\
P and N are the numbers of positives and negatives, n = P + N. Set parameters with --measure-arg, such as
--measure fbeta --measure-arg beta=2; k is a number of rows if it is an integer, and a
share of the rows if it has a decimal point (k=0.1).
Any formula of tp, fp, fn and tn is a measure too: --measure '10*tp - 2*fp'.

More than two classes: {multiclass}.
Several labels per row: {multilabel}.
A measure of two classes by its plain name, such as f1, is then averaged over the classes or labels; the
ending _macro, _weighted or _micro names the average ('capo measures f1_weighted')."""
#: Measures of many classes and labels that the footer names as examples.
_MULTICLASS = (
    "accuracy",
    "balanced_accuracy",
    "f1_macro",
    "f1_weighted",
    "jaccard_macro",
    "mcc",
    "cohen_kappa",
    "quadratic_kappa",
    "gmean",
    "roc_auc_ovr",
    "roc_auc_ovo",
)
_MULTILABEL = ("f1_macro", "f1_micro", "f1_weighted", "f1_samples", "precision_at_k")


def run_measures(name: str | None, console: Console) -> None:
    """List all measures, or describe one."""
    by_name = {each.name: each for each in measures.describe()}
    if name is None:
        descriptions = list(by_name.values())
        console.result(_format_table(descriptions), [_to_dict(each) for each in descriptions])
        return
    description = _describe_many(name)
    if description is None:
        measure = measures.get(name)
        custom = Description(measure.name, {}, measure.name, "a formula of your own")
        description = by_name.get(measure.name, custom)
    console.result(_format_description(description), _to_dict(description))


def _describe_many(name: str) -> Description | None:
    """The description of a measure that only many classes or labels have."""
    if name in measures.names():
        return None
    found = (each for each in (*multiclass.describe(), *multilabel.describe()) if each.name == name)
    return next(found, None)


def _to_dict(description: Description) -> dict[str, Any]:
    parameters = {
        name: None if default in (None, math.inf) else default
        for name, default in description.parameters.items()
    }
    return {**description._asdict(), "parameters": parameters}


def _format_table(descriptions: list[Description]) -> str:
    rows = [("measure", "value", "when to use it")]
    for each in descriptions:
        parameters = f"({', '.join(each.parameters)})" if each.parameters else ""
        rows.append((each.name + parameters, each.value, each.use.replace("`", "")))
    first, second = (max(len(row[column]) for row in rows) for column in (0, 1))
    lines = [f"{name:<{first}}  {value:<{second}}  {use}" for name, value, use in rows]
    footer = _FOOTER.format(multiclass=", ".join(_MULTICLASS), multilabel=", ".join(_MULTILABEL))
    return "\n".join([*lines, "", footer])


def _format_description(description: Description) -> str:
    name, parameters = description.name, description.parameters
    example = "".join(f" --measure-arg {key}={default}" for key, default in list(parameters.items())[:1])
    return "\n".join(
        [
            name,
            f"  value       {description.value}",
            f"  when        {description.use.replace('`', '')}",
            *(f"  parameter   {key}, default {default!r}" for key, default in parameters.items()),
            f"  example     capo fit table.csv --target y --measure {name}{example} -o m.capo",
        ]
    )
