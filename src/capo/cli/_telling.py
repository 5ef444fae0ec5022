"""What can be told without a table: the measures, what a model file holds, where the study is."""

from __future__ import annotations

import importlib
import math
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .. import measures as all_measures
from ..exceptions import InvalidInputError
from ..io.model_files import read_manifest
from ..measures import Description
from ._console import Console


def run_measures(name: str | None, screen: Console) -> None:
    """List all measures, or explain one."""
    known = {each.name: each for each in all_measures.describe()}
    if name is None:
        screen.result(_listed(list(known.values())), [_plain(each) for each in known.values()])
        return
    measure = all_measures.get(name)
    each = known.get(measure.name) or Description(measure.name, {}, measure.name, "a formula of your own")
    screen.result(_explained(each), _plain(each))


def run_show(path: str, screen: Console) -> None:
    """Show the card of a model file."""
    card = read_manifest(path)
    versions = ", ".join(f"{package} {number}" for package, number in card.versions.items())
    schema = card.schema.get("columns", {})
    named = schema.items() if isinstance(schema, dict) else []
    kinds = [f"{name} ({kind})" for name, kind in named] or [str(each) for each in _listed_names(schema)]
    lines = {
        "estimator": card.estimator,
        "measure": card.measure,
        "classes": ", ".join(map(repr, card.classes)) + " (the last is positive)",
        "columns": ", ".join(kinds) or str(card.schema.get("n_features", "not known")),
        "target": card.schema.get("target", ""),
        "trained on": card.training.get("table", ""),
        "written": f"{card.created} with {versions}",
    }
    told = "\n".join(f"{key:<11}{value}" for key, value in lines.items() if value)
    screen.result(_plain_text(f"{told}\n\n{card.summary}".rstrip()), asdict(card))


def run_paper(arguments: list[str]) -> None:
    """Run the study, which is part of the repository and not of the package."""
    checkout = Path(__file__).parents[3]
    try:
        if not (checkout / "benchmarks" / "paper").is_dir():
            raise ImportError("there is no folder benchmarks beside the package")
        sys.path.insert(0, str(checkout))
        study = importlib.import_module("benchmarks.paper.__main__")
    except ImportError as error:
        raise InvalidInputError(
            "the study is in capo's repository, not in the package: run 'make paper DATA=FOLDER' or "
            f"'capo paper --data FOLDER' in a checkout ({error})."
        ) from error
    try:
        study.main(arguments)
    except SystemExit as end:
        if isinstance(end.code, str):
            raise InvalidInputError(end.code) from end
        raise


def _listed_names(schema: object) -> list[Any]:
    return schema if isinstance(schema, list) else []


def _plain_text(text: str) -> str:
    """Text from a file without what could steer a terminal."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in text)


def _plain(each: Description) -> dict[str, Any]:
    parameters = {key: None if value in (None, math.inf) else value for key, value in each.parameters.items()}
    return {**each._asdict(), "parameters": parameters}


def _listed(known: list[Description]) -> str:
    names = [f"{each.name}({', '.join(each.parameters)})" if each.parameters else each.name for each in known]
    first, second = max(map(len, names)), max(len(each.value) for each in known)
    lines = [f"{'measure':<{first}}  {'value':<{second}}  when to use it"]
    rows = zip(names, known, strict=True)
    lines += [f"{name:<{first}}  {each.value:<{second}}  {each.use.replace('`', '')}" for name, each in rows]
    end = (
        "P and N are the numbers of positives and negatives, n = P + N. Give parameters with --measure-arg,\n"
        "such as --measure fbeta --measure-arg beta=2; k is a count, or a share of the rows if below 1.\n"
        "Any formula of tp, fp, fn and tn is a measure, too: --measure '10*tp - 2*fp'."
    )
    return "\n".join([*lines, "", end])


def _explained(each: Description) -> str:
    lines = [each.name, f"  value       {each.value}", f"  when        {each.use.replace('`', '')}"]
    lines += [f"  parameter   {name}, {value!r} by default" for name, value in each.parameters.items()]
    example = "".join(f" --measure-arg {name}={value}" for name, value in list(each.parameters.items())[:1])
    return "\n".join(
        [*lines, f"  use         capo fit table.csv --target y --measure {each.name}{example} -o m.capo"]
    )
