"""Formulas of the confusion matrix, as text."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..exceptions import InvalidInputError
from ._base import Cells

CELLS = ("tp", "fp", "fn", "tn")

_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sqrt": np.sqrt,
    "log": np.log,
    "exp": np.exp,
    "abs": np.abs,
    "min": np.minimum,
    "max": np.maximum,
}
#: Largest number of characters of a formula.
MAX_LENGTH = 1000


@dataclass(frozen=True)
class Formula:
    """A function of the confusion matrix, from a formula.

    A formula consists of numbers, tp, fp, fn, tn, ``+ - * / **``, brackets, sqrt, log, exp, abs, min and
    max. Anything else is an error, so that formulas from untrusted sources are safe.

    Parameters
    ----------
    text : str
        The formula, such as ``"10 * tp - 2 * fp"``.

    Examples
    --------
    >>> from capo.measures import Formula
    >>> float(Formula("10 * tp - 2 * fp")(3.0, 1.0, 0.0, 5.0))
    28.0
    """

    text: str

    def __post_init__(self) -> None:
        self._function  # noqa: B018 (raises for an invalid formula)

    @cached_property
    def _function(self) -> Callable[[dict[str, Cells]], Any]:
        try:
            if len(self.text) > MAX_LENGTH:
                raise SyntaxError(f"it has more than {MAX_LENGTH} characters")
            return _compile(ast.parse(self.text.strip(), mode="eval").body)
        except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
            reason = error.msg if isinstance(error, SyntaxError) else str(error)
            raise InvalidInputError(
                f"the measure {_shorten(self.text)!r} is neither a name nor a formula: {reason}. A formula "
                f"consists of {', '.join(CELLS)}, numbers, + - * / **, brackets and {', '.join(_FUNCTIONS)}."
            ) from error

    def __call__(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        return self._function(dict(zip(CELLS, (tp, fp, fn, tn), strict=True)))

    def __getstate__(self) -> dict[str, str]:
        return {"text": self.text}

    @property
    def __name__(self) -> str:
        return self.text


def _compile(node: ast.AST) -> Callable[[dict[str, Cells]], Any]:
    """The function of a part of a formula, or a SyntaxError for anything that is not allowed in it."""
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            constant = np.float64(number)
            return lambda cells: constant
        case ast.Name(id=name) if name in CELLS:
            return operator.itemgetter(name)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            function, parts = _OPERATORS[type(op)], [_compile(left), _compile(right)]
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
            function, parts = _OPERATORS[type(op)], [_compile(operand)]
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            function, parts = _FUNCTIONS[name], [_compile(each) for each in args]
            if len(args) != (expected := function.nin):  # type: ignore[attr-defined]
                raise SyntaxError(
                    f"{name} takes {expected} argument{'s' if expected > 1 else ''}, not {len(args)}"
                )
        case _:
            raise SyntaxError(f"{_shorten(ast.unparse(node))!r} is not allowed")
    return lambda cells: function(*(part(cells) for part in parts))


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."
