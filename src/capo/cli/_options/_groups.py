"""Commands that take groups of options: Typer itself has only single ones."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, get_origin, get_type_hints


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with the options of each group in place of the group, for Typer.

    A group is a parameter whose type is a dataclass. Each of its fields that is annotated with an option or
    an argument becomes a parameter; the other fields keep their defaults.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters = [
        parameter
        for each in inspect.signature(command).parameters.values()
        for parameter in _expand(each.replace(annotation=hints[each.name], kind=each.KEYWORD_ONLY), groups)
    ]

    @wraps(command)
    def run_with_options(**values: Any) -> None:
        for name, group in groups.items():
            given = {each.name: values.pop(_join(name, each)) for each in _option_fields(group)}
            values[name] = group(**given)
        command(**values)

    run_with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run_with_options.__annotations__ = {each.name: each.annotation for each in parameters}
    return run_with_options


def _expand(parameter: inspect.Parameter, groups: dict[str, Any]) -> Iterator[inspect.Parameter]:
    """The parameter itself, or those of its group."""
    if parameter.name not in groups:
        yield parameter
        return
    group = groups[parameter.name]
    hints = get_type_hints(group, include_extras=True)
    for each in _option_fields(group):
        default = parameter.empty if each.default is MISSING else each.default
        name = _join(parameter.name, each)
        yield parameter.replace(name=name, annotation=hints[each.name], default=default)


def _option_fields(group: Any) -> list[Field[Any]]:
    hints = get_type_hints(group, include_extras=True)
    return [each for each in fields(group) if get_origin(hints[each.name]) is Annotated]


def _join(name: str, field: Field[Any]) -> str:
    """The name of a field's parameter; two groups may have fields of the same name."""
    return f"{name}_{field.name}"
