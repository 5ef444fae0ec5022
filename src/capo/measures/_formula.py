"""Measures as formulas of tp, fp, fn and tn, which can be given as text and saved in files."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
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

    def __init__(self, text: str) -> None:
        self.text = text
        self._tree  # noqa: B018 (raises for an invalid formula)

    @cached_property
    def _tree(self) -> ast.expr:
        try:
            if len(self.text) > MAX_LENGTH:
                raise SyntaxError(f"it has more than {MAX_LENGTH} characters")
            tree = ast.parse(self.text.strip(), mode="eval").body
            _check(tree)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            reason = error.msg if isinstance(error, SyntaxError) else str(error)
            raise InvalidInputError(
                f"the measure {_shorten(self.text)!r} is neither a name nor a formula: {reason}. A formula "
                f"consists of {', '.join(CELLS)}, numbers, + - * / **, brackets and {', '.join(_FUNCTIONS)}."
            ) from error
        return tree

    def __call__(self, tp: Cells, fp: Cells, fn: Cells, tn: Cells) -> Cells:
        cells = dict(zip(CELLS, (tp, fp, fn, tn), strict=True))
        return _value(self._tree, cells)

    def __getstate__(self) -> dict[str, str]:
        return {"text": self.text}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Formula) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Formula({self.text!r})"

    @property
    def __name__(self) -> str:
        return self.text


def _check(node: ast.AST) -> None:
    """Raise a SyntaxError for anything that is not allowed in a formula."""
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            return
        case ast.Name(id=name) if name in CELLS:
            return
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            _check(left)
            _check(right)
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
            _check(operand)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            if len(args) != (expected := _FUNCTIONS[name].nin):  # type: ignore[attr-defined]
                raise SyntaxError(
                    f"{name} takes {expected} argument{'s' if expected > 1 else ''}, not {len(args)}"
                )
            for each in args:
                _check(each)
        case _:
            raise SyntaxError(f"{_shorten(ast.unparse(node))!r} is not allowed")


def _value(node: ast.AST, cells: dict[str, Cells]) -> Any:
    match node:
        case ast.Constant(value=value):
            return np.float64(value)  # type: ignore[arg-type]
        case ast.Name(id=name):
            return cells[name]
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](_value(left, cells), _value(right, cells))
        case ast.UnaryOp(op=op, operand=operand):
            return _OPERATORS[type(op)](_value(operand, cells))
        case ast.Call(func=ast.Name(id=name), args=args):
            return _FUNCTIONS[name](*(_value(each, cells) for each in args))
    raise AssertionError(f"unchecked node: {type(node).__name__}")


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."
